"""A trace as tidy CSV, one row a cell, and back."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

from specviz.errors import SpecVizError
from specviz.record import metrics
from specviz.record.check import checked_shape
from specviz.record.shape import (
    Call,
    DraftCell,
    DraftKind,
    DraftState,
    FinalCell,
    FinalKind,
    RunSettings,
    Step,
    StepMs,
    TraceData,
    Weights,
    known,
    new_record,
)

COLUMNS = (
    "run_id",
    "label",
    "pair",
    "draft",
    "prompt",
    "chat",
    "k",
    "temperature",
    "top_k",
    "top_p",
    "seed",
    "max_new_tokens",
    "device",
    "dtype",
    "fault",
    "overrides",
    "step",
    "position",
    "drafted",
    "state",
    "token_id",
    "token",
    "p_target",
    "p_draft",
    "ratio",
    "accept_prob",
    "coin",
    "draw_u",
    "draw_prob",
    "overlap",
    "residual_mass",
    "entropy_target",
    "entropy_draft",
    "output_index",
    "call",
    "draft_ms",
    "verify_ms",
    "step_ms",
    "tokens_total",
    "target_passes_total",
    "draft_passes_total",
    "tokens_per_pass",
    "speedup_modelled",
    "speedup_measured",
    "waited_ms",
    "speedup_modelled_low",
    "speedup_modelled_high",
    "speedup_measured_low",
    "speedup_measured_high",
    "speedup_doubt",
)
BEFORE_SPREADS = COLUMNS[: COLUMNS.index("waited_ms")]  # files that were made before timings had spreads


def csv_rows(data: TraceData) -> Iterator[dict[str, Any]]:
    """Yield a trace's CSV rows in order of step and position; what does not exist is left out."""
    constant = _csv_settings(data) | _csv_spreads(data)
    index = 0
    for step, figures in zip(data["steps"], metrics.speedups(data), strict=True):
        shared = (
            constant | _csv_step(step) | {name: value for name, value in figures.items() if value is not None}
        )
        for cell in _csv_cells(step, data["tokens"]):
            emitted = cell["state"] in ("accepted", "residual", "bonus")
            yield (
                shared
                | {name: value for name, value in cell.items() if value is not None}
                | ({"output_index": index} if emitted else {})
            )
            index += emitted


def _csv_settings(data: TraceData) -> dict[str, Any]:
    settings = data["settings"]
    return {
        "k": settings["k"],
        "temperature": settings["temperature"],
        "top_k": settings["top_k"],
        "top_p": settings["top_p"],
        "seed": settings["seed"],
        "max_new_tokens": settings["max_new_tokens"],
        "run_id": data["run_id"],
        "label": json.dumps(settings["label"]),
        "pair": settings["pair"],
        "draft": settings["draft"]["name"]
        if settings["draft"]["kind"] == "model"
        else settings["draft"]["kind"],
        "prompt": json.dumps(data["prompt"]["text"]),
        "chat": str(settings["chat"]).lower(),
        "device": data["weights"]["target"]["device"],
        "dtype": data["weights"]["target"]["dtype"],
        "overrides": json.dumps(settings["overrides"]) if settings["overrides"] else "",
    }


def _csv_spreads(data: TraceData) -> dict[str, Any]:
    """Return how well the whole run's speedups are known, with why nothing may be concluded from either."""
    figures = metrics.summary(data)
    bounds = {name: figures[name] for name in COLUMNS if name.endswith(("_low", "_high"))}
    doubts = [figures[f"speedup_{kind}_doubt"] for kind in ("measured", "modelled")]
    return {
        **{name: value for name, value in bounds.items() if value is not None},
        "speedup_doubt": next(filter(None, doubts), ""),
    }


def _csv_step(step: Step) -> dict[str, Any]:
    return {
        "step": step["step"],
        "drafted": step["k"],
        "draft_ms": step["ms"]["draft"],
        "verify_ms": step["ms"]["verify"],
        "step_ms": step["ms"]["step"],
        **({"waited_ms": step["ms"]["waited"]} if "waited" in step["ms"] else {}),
        "tokens_total": step["totals"]["tokens"],
        "target_passes_total": step["totals"]["target_passes"],
        "draft_passes_total": step["totals"]["draft_passes"],
    }


def _csv_cells(step: Step, tokens: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield a step's cells as CSV columns: its drafts in order, a residual after the draft that it replaces."""
    drafts, final = step["drafts"], step["final"]
    for position, draft in enumerate(drafts, start=1):
        p, q = draft["p"] if draft["state"] in metrics.EXAMINED else None, draft["q"]
        ratio = None if p is None or not q else p / q
        yield {
            "position": position,
            "state": draft["state"],
            "token_id": draft["id"],
            "token": json.dumps(tokens[str(draft["id"])]),
            "p_target": p,
            "p_draft": q,
            "ratio": ratio,
            "accept_prob": None if ratio is None else min(1.0, ratio),
            "coin": draft["coin"],
            "draw_u": draft["u_draft"],
            "draw_prob": q,
            "overlap": draft["overlap"],
            "residual_mass": draft["mass"],
            "entropy_target": draft["entropy_p"],
            "entropy_draft": draft["entropy_q"],
            "call": draft["call"],
        }
        if draft["state"] == "rejected" and final is not None:
            yield _csv_final(final, position, tokens)
    if final is not None and final["kind"] == "bonus":
        yield _csv_final(final, len(drafts) + 1, tokens)


def _csv_final(final: FinalCell, position: int, tokens: Mapping[str, str]) -> dict[str, Any]:
    return {
        "position": position,
        "state": final["kind"],
        "token_id": final["id"],
        "token": json.dumps(tokens[str(final["id"])]),
        "p_target": final["p"],
        "p_draft": final["q"],
        "draw_u": final["u"],
        "draw_prob": draw_probability(final),
        "overlap": final["overlap"],
        "residual_mass": final["mass"],
        "entropy_target": final["entropy_p"],
        "entropy_draft": final["entropy_q"],
    }


def draw_probability(final: FinalCell) -> float:
    """Return the probability that a final token was drawn with: max(p - q, 0) / mass for a residual, else p."""
    if final["kind"] == "bonus" or final["fallback"] or not final["mass"]:
        return final["p"]
    return max(final["p"] - known(final["q"]), 0.0) / final["mass"]


def from_csv_text(text: str) -> TraceData:
    """Return a trace's data from its CSV text, without intervals and rows; raises SpecVizError where it is none."""
    rows = list(csv.DictReader(io.StringIO(text), strict=False))
    header = (text.splitlines() or [""])[0]
    if header.split(",") not in (list(COLUMNS), list(BEFORE_SPREADS)):
        raise SpecVizError("This is not a SpecViz trace: the CSV's columns are not those of a trace.")
    if not rows:
        raise SpecVizError("The CSV holds no step of a run: there is nothing to show.")
    if not text.endswith("\n") or any(value is None for row in rows for value in row.values()):
        raise SpecVizError("The CSV is cut short: its last row is not whole.")
    if len({row["run_id"] for row in rows}) > 1:
        raise SpecVizError("The CSV holds more than one run: keep the rows of one run_id and open it again.")
    try:
        return checked_shape(_from_csv_rows(rows))
    except (SpecVizError, KeyError, ValueError, TypeError, AttributeError, IndexError, StopIteration):
        raise SpecVizError("The CSV is cut short or damaged: a row can't be read.") from None


def _from_csv_rows(rows: list[dict[str, str]]) -> TraceData:
    first = rows[0]
    kinds: dict[str, DraftKind] = {"lookup": "lookup", "self": "self", "noise": "noise"}
    settings: RunSettings = {
        "label": json.loads(first["label"]),
        "pair": first["pair"],
        "draft": {"kind": kinds.get(first["draft"], "model"), "name": first["draft"]},
        "k": int(first["k"]),
        "temperature": float(first["temperature"]),
        "top_k": int(first["top_k"]),
        "top_p": float(first["top_p"]),
        "seed": int(first["seed"]),
        "max_new_tokens": int(first["max_new_tokens"]),
        "chat": {"true": True, "false": False}[first["chat"]],
        "end_ids": [],
        "top_m": 0,
        "fault": None,
        "overrides": json.loads(first["overrides"]) if first["overrides"] else [],
    }
    weights: Weights = {
        "target": {"source": None, "sha256": None, "dtype": first["dtype"], "device": first["device"]},
        "draft": None,
    }
    data = new_record(
        run_id=first["run_id"],
        created="",
        settings=settings,
        weights=weights,
        machine="",
        prompt={"text": json.loads(first["prompt"]), "ids": []},
    )
    data["tokens"] = {row["token_id"]: json.loads(row["token"]) for row in rows}
    emitted = sorted((int(row["output_index"]), int(row["token_id"])) for row in rows if row["output_index"])
    if [index for index, _ in emitted] != list(range(int(rows[-1]["tokens_total"]))):
        raise ValueError("cells of the output are missing")
    data["token_ids"] = [token for _, token in emitted]
    numbers = dict.fromkeys(int(row["step"]) for row in rows)
    if list(numbers) != list(range(1, len(numbers) + 1)):
        raise ValueError("steps are missing")
    data["steps"] = [
        _step_from_csv([row for row in rows if int(row["step"]) == number]) for number in numbers
    ]
    data["stop"] = "length" if len(emitted) >= settings["max_new_tokens"] else "stopped"
    return data


def _float(cell: str) -> float | None:
    return float(cell) if cell else None


def _step_from_csv(rows: list[dict[str, str]]) -> Step:
    first = rows[0]
    drafts = [_draft_from_csv(row) for row in rows if row["state"] in ("accepted", "rejected", "discarded")]
    finals = [_final_from_csv(row) for row in rows if row["state"] in ("residual", "bonus")]
    if len(drafts) != int(first["drafted"]) or len(drafts) + len(finals) != len(rows) or len(finals) > 1:
        raise ValueError("cells are missing")
    draft, verify, whole = (float(first[name]) for name in ("draft_ms", "verify_ms", "step_ms"))
    ms: StepMs = {
        "draft": draft,
        "verify": verify,
        "rest": max(0.0, whole - draft - verify),
        "step": whole,
    }
    if first.get("waited_ms"):
        ms["waited"] = float(first["waited_ms"])
    return {
        "step": int(first["step"]),
        "k": len(drafts),
        "k_reason": None,
        "drafts": drafts,
        "final": finals[0] if finals else None,
        "extra": None,
        "ms": ms,
        "totals": {
            "tokens": int(first["tokens_total"]),
            "target_passes": int(first["target_passes_total"]),
            "draft_passes": int(first["draft_passes_total"]),
        },
    }


def _draft_from_csv(row: dict[str, str]) -> DraftCell:
    return {
        "id": int(row["token_id"]),
        "u_draft": float(row["draw_u"]),
        "low": None,
        "high": None,
        "q": float(row["p_draft"]),
        "p": _float(row["p_target"]),
        "coin": _float(row["coin"]),
        "state": cast(DraftState, row["state"]),
        "overlap": _float(row["overlap"]),
        "mass": _float(row["residual_mass"]),
        "entropy_p": _float(row["entropy_target"]),
        "entropy_q": _float(row["entropy_draft"]),
        "call": cast(Call, row["call"]) if row["call"] else None,
        "row": None,
    }


def _final_from_csv(row: dict[str, str]) -> FinalCell:
    mass = _float(row["residual_mass"])
    return {
        "kind": cast(FinalKind, row["state"]),
        "id": int(row["token_id"]),
        "u": float(row["draw_u"]),
        "low": None,
        "high": None,
        "p": float(row["p_target"]),
        "q": _float(row["p_draft"]),
        "mass": mass,
        "overlap": _float(row["overlap"]),
        "entropy_p": _float(row["entropy_target"]),
        "entropy_q": _float(row["entropy_draft"]),
        "fallback": mass == 0,
        "row": None,
    }
