"""The record of a run: everything that the page shows, and everything that is needed to check it.

A trace is plain data (`Trace.data`: dicts, lists, strings, numbers, None), written as JSON that replays everything or
as a tidy CSV of one row a cell. NaN and Infinity never occur; None means "does not exist"; JSON is ASCII-escaped.

    {format, version, run_id, parent, created,
     settings: {label, pair, draft: {kind, name}, k, temperature, top_k, top_p, seed, max_new_tokens, chat, end_ids,
                top_m, fault, overrides: [[step, position, purpose, u]]},
     weights: {target: {source, sha256, dtype, device, cache}, draft: ... or None}, machine, prompt: {text, ids},
     tokens: {id: text}, prefill_ms: {target, draft}, costs, baseline,
     steps: [{step, k, k_reason, drafts, final, extra, ms: {draft, verify, rest, step},
              totals: {tokens, target_passes, draft_passes}}],
     token_ids, stop: length | end | context | stopped | error}

A token's text holds bytes that are no UTF-8 as lone surrogates (\\udcf0 for byte f0), so that texts can be joined.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypedDict

from specviz.errors import SpecVizError
from specviz.record import metrics

FORMAT, VERSION = "specviz-trace", 1
STOPS = ("length", "end", "context", "stopped", "error")

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
)


class Costs(TypedDict):
    """Milliseconds measured for a loaded pair: a target pass over R = 1 ... 17 rows, one draft forward, the rest."""

    target_ms: list[float]
    draft_ms: float
    rest_ms: float


class Baseline(TypedDict):
    """What the plain loop did with the same settings: its tokens and its milliseconds without the prefill."""

    tokens: int
    ms: float
    token_ids: list[int]


class Trace:
    """A run's record; `data` is the plain data that is written, see the module's text."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data

    @property
    def token_ids(self) -> list[int]:
        """The output's ids, an end token included."""
        return list(self.data["token_ids"])

    @property
    def text(self) -> str:
        """The output's text without the end token; bytes that are no UTF-8 become U+FFFD."""
        ends = set(self.data["settings"]["end_ids"])
        return join_pieces(
            self.data["tokens"][str(token)] for token in self.data["token_ids"] if token not in ends
        )

    @property
    def metrics(self) -> dict[str, Any]:
        """The run's figures, see `metrics.summary`."""
        return metrics.summary(self.data)

    @property
    def has_distributions(self) -> bool:
        """Whether the rows behind the numbers are there; a trace opened from CSV has none."""
        return all(
            draft["row"] is not None for step in self.data["steps"] for draft in step["drafts"]
        ) and all(step["final"] is None or step["final"]["low"] is not None for step in self.data["steps"])

    def name_tokens(self, pieces: Callable[[int], bytes], *steps: Mapping[str, Any]) -> None:
        """Add the texts of the ids that stand in the given steps, in the prompt and in the baseline."""
        tokens = self.data["tokens"]
        ids = (
            ids_of(steps)
            if steps
            else {*self.data["prompt"]["ids"], *(self.data["baseline"] or {}).get("token_ids", [])}
        )
        for token in ids:
            if str(token) not in tokens:
                tokens[str(token)] = pieces(token).decode("utf-8", errors="surrogateescape")

    def to_json(self, path: str | Path | None = None) -> str:
        """Return the trace as JSON text, and write it to `path` where one is given; raises SpecVizError if it can't."""
        text = json.dumps(self.data, allow_nan=False, separators=(",", ":"))
        if path is not None:
            write_file(path, text)
        return text

    def to_csv(self, path: str | Path | None = None) -> str:
        """Return the trace as CSV text, one row a cell, and write it to `path` where one is given.

        Raises SpecVizError where the file can't be written, or for a run with a deliberate mistake, whose wrong numbers
        must not be mixed up with right ones.
        """
        if self.data["settings"]["fault"]:
            raise SpecVizError("A run with a deliberate mistake is exported as JSON only.")
        buffer = io.StringIO()
        writer = csv.DictWriter(buffer, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(csv_rows(self.data))
        if path is not None:
            write_file(path, buffer.getvalue())
        return buffer.getvalue()

    def to_html(self, path: str | Path | None = None) -> str:
        """Return the run as one HTML page with the player in it, and write it to `path`; raises SpecVizError if it can't.

        The page opens from disk and makes no request.
        """
        from specviz.record import html  # which needs this module

        return html.to_html(self, path)

    def _repr_html_(self) -> str:
        from specviz.record import html

        return html.to_frame(self)

    @classmethod
    def from_json(cls, source: str | Path) -> Trace:
        """Open a trace's JSON, given as a path or as text; raises SpecVizError where it is not a whole trace."""
        return cls(_checked(_parse(read_file(source))))

    @classmethod
    def from_csv(cls, source: str | Path) -> Trace:
        """Open a trace's CSV, given as a path or as text: the grid, without the distributions behind it.

        Raises SpecVizError where it is not a trace's CSV, is cut short, or holds more than one run.
        """
        return cls(from_csv_text(read_file(source)))


def new_trace(
    *,
    run_id: str,
    created: str,
    settings: dict[str, Any],
    weights: dict[str, Any],
    machine: str,
    prompt: dict[str, Any],
    parent: str | None = None,
    costs: Costs | None = None,
    baseline: Baseline | None = None,
) -> Trace:
    """Return the trace of a run that has not made a step yet."""
    return Trace(
        {
            "format": FORMAT,
            "version": VERSION,
            "run_id": run_id,
            "parent": parent,
            "created": created,
            "settings": settings,
            "weights": weights,
            "machine": machine,
            "prompt": prompt,
            "tokens": {},
            "prefill_ms": {"target": None, "draft": None},
            "costs": costs,
            "baseline": baseline,
            "steps": [],
            "token_ids": [],
            "stop": "stopped",
        }
    )


def ids_of(steps: Any) -> set[int]:
    """Return every token id that stands in some steps' cells and rows."""
    ids: set[int] = set()
    for step in steps:
        for cell in [*step["drafts"], step["final"], step["extra"]]:
            if cell is not None:
                ids.add(cell["id"])
                ids.update(cell["row"]["ids"] if cell["row"] else ())
    return ids


def join_pieces(texts: Any) -> str:
    """Join tokens' texts, whose lone surrogates stand for bytes, into one readable string."""
    return b"".join(text.encode("utf-8", errors="surrogateescape") for text in texts).decode(
        "utf-8", errors="replace"
    )


# --- files ------------------------------------------------------------------------------------------------------------


def write_file(path: str | Path, text: str) -> None:
    """Write UTF-8 text without a mark; raises SpecVizError where it can't be written."""
    try:
        Path(path).write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise SpecVizError(f"{path} can't be written ({error.strerror}): choose another place.") from None


def read_file(source: str | Path) -> str:
    """Return the text of a file, or `source` itself where it is a text and no path; raises SpecVizError."""
    if isinstance(source, str) and (source.lstrip()[:1] == "{" or "\n" in source):
        return source
    try:
        return Path(source).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SpecVizError(f"{source} can't be read ({error.strerror}): check the file's name.") from None
    except UnicodeDecodeError:
        raise SpecVizError(f"{source} is not a SpecViz trace: it is not a text file.") from None


def _parse(text: str) -> Any:
    def refuse(constant: str) -> Any:
        raise ValueError(constant)

    try:
        return json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError):
        raise SpecVizError(
            "This is not a SpecViz trace, or it is cut short: it can't be read as JSON."
        ) from None


# --- what a trace has to look like ------------------------------------------------------------------------------------

_number = (int, float)
_maybe = (int, float, type(None))
_STEP = {"step": int, "k": int, "drafts": list, "ms": dict, "totals": dict}
_DRAFT = {
    "id": int,
    "u_draft": _number,
    "low": _number,
    "high": _number,
    "q": _number,
    "p": _number,
    "state": str,
}
_DRAFT |= {
    "coin": _maybe,
    "overlap": _maybe,
    "mass": _maybe,
    "entropy_p": _maybe,
    "entropy_q": _maybe,
    "row": dict,
}
_FINAL = {"kind": str, "id": int, "u": _number, "low": _number, "high": _number, "p": _number, "q": _maybe}
_FINAL |= {"mass": _maybe, "overlap": _maybe, "entropy_p": _maybe, "entropy_q": _maybe, "fallback": bool}
_TOP = {
    "run_id": str,
    "created": str,
    "settings": dict,
    "weights": dict,
    "machine": str,
    "prompt": dict,
    "tokens": dict,
}
_TOP |= {"prefill_ms": dict, "steps": list, "token_ids": list, "stop": str}
_SETTINGS = {
    "label": str,
    "pair": str,
    "draft": dict,
    "k": int,
    "temperature": _number,
    "top_k": int,
    "top_p": _number,
}
_SETTINGS |= {
    "seed": int,
    "max_new_tokens": int,
    "chat": bool,
    "end_ids": list,
    "top_m": int,
    "overrides": list,
}


def _checked(data: Any) -> dict[str, Any]:
    """Return data if it has a trace's shape, else raise SpecVizError: what is drawn later may rely on it."""
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise SpecVizError("This is not a SpecViz trace: the JSON has no format “specviz-trace”.")
    if data.get("version") != VERSION:
        newer = isinstance(data.get("version"), int) and data["version"] > VERSION
        advice = "update SpecViz to open it" if newer else f"this SpecViz reads version {VERSION}"
        raise SpecVizError(f"The trace is of version {data.get('version')}: {advice}.")
    _shape(data, _TOP, "the trace", ("parent", "costs", "baseline"))
    _shape(data["settings"], _SETTINGS, "its settings", ("fault",))
    _shape(data["prompt"], {"text": str, "ids": list}, "its prompt")
    _shape(data["settings"]["draft"], {"kind": str, "name": str}, "its draft")
    _shape(data["weights"], {"target": dict}, "its weights", ("draft",))
    if data["stop"] not in STOPS:
        raise SpecVizError(f"The trace is damaged: its stop is {data['stop']!r}.")
    if not all(isinstance(text, str) for text in data["tokens"].values()):
        raise SpecVizError("The trace is damaged: a token's text is not a text.")
    for step in data["steps"]:
        _check_step(step)
    _check_ids(data)
    return data


def _check_step(step: Any) -> None:
    where = f"step {step.get('step') if isinstance(step, dict) else '?'}"
    _shape(step, _STEP, where, ("k_reason", "final", "extra"))
    _shape(step["ms"], dict.fromkeys(("draft", "verify", "rest", "step"), _number), where)
    _shape(step["totals"], dict.fromkeys(("tokens", "target_passes", "draft_passes"), int), where)
    if step["k"] != len(step["drafts"]):
        raise SpecVizError(
            f"The trace is damaged: {where} says k {step['k']} but has {len(step['drafts'])} drafts."
        )
    for draft in step["drafts"]:
        _shape(draft, _DRAFT, where, ("call",))
        _shape(draft["row"], {"ids": list, "p": list, "q": list}, where, ("p_rest", "q_rest", "overlap_rest"))
    for final in (step["final"], step["extra"]):
        if final is not None:
            _shape(final, _FINAL, where, ("row",))
            if final["row"] is not None:
                _shape(
                    final["row"],
                    {"ids": list, "p": list, "p_raw": list, "low": list},
                    where,
                    ("q", "q_raw", "q_low"),
                )


def _check_ids(data: dict[str, Any]) -> None:
    ids = [*data["token_ids"], *data["prompt"]["ids"], *ids_of(data["steps"])]
    for token in ids:
        if isinstance(token, bool) or not isinstance(token, int) or str(token) not in data["tokens"]:
            raise SpecVizError(f"The trace is damaged: the token {token!r} has no text in it.")


def _shape(data: Any, fields: Mapping[str, Any], where: str, others: tuple[str, ...] = ()) -> None:
    if not isinstance(data, dict):
        raise SpecVizError(f"The trace is damaged: {where} is not a record.")
    for name in (*fields, *others):
        if name not in data:
            raise SpecVizError(f"The trace is cut short or damaged: {where} lacks {name}.")
    for name, kind in fields.items():
        value = data[name]
        allowed = kind if isinstance(kind, tuple) else (kind,)
        wrong_bool = isinstance(value, bool) and bool not in allowed
        if (
            wrong_bool
            or not isinstance(value, kind)
            or (isinstance(value, float) and not math.isfinite(value))
        ):
            raise SpecVizError(f"The trace is damaged: {name} of {where} is {value!r:.60}.")


# --- CSV --------------------------------------------------------------------------------------------------------------


def csv_rows(data: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a trace's CSV rows in order of step and position; what does not exist is left out."""
    constant = _csv_settings(data)
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


def _csv_settings(data: Mapping[str, Any]) -> dict[str, Any]:
    settings = data["settings"]
    names = ("k", "temperature", "top_k", "top_p", "seed", "max_new_tokens")
    return {name: settings[name] for name in names} | {
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


def _csv_step(step: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "step": step["step"],
        "drafted": step["k"],
        "draft_ms": step["ms"]["draft"],
        "verify_ms": step["ms"]["verify"],
        "step_ms": step["ms"]["step"],
        "tokens_total": step["totals"]["tokens"],
        "target_passes_total": step["totals"]["target_passes"],
        "draft_passes_total": step["totals"]["draft_passes"],
    }


def _csv_cells(step: Mapping[str, Any], tokens: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield a step's cells as CSV columns: its drafts in order, a residual after the draft that it replaces."""
    drafts, final = step["drafts"], step["final"]
    for position, draft in enumerate(drafts, start=1):
        examined = draft["state"] in metrics.EXAMINED
        yield {
            "position": position,
            "state": draft["state"],
            "token_id": draft["id"],
            "token": json.dumps(tokens[str(draft["id"])]),
            "p_target": draft["p"] if examined else None,
            "p_draft": draft["q"],
            "ratio": draft["p"] / draft["q"] if examined and draft["q"] else None,
            "accept_prob": min(1.0, draft["p"] / draft["q"]) if examined and draft["q"] else None,
            "coin": draft["coin"],
            "draw_u": draft["u_draft"],
            "draw_prob": draft["q"],
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


def _csv_final(final: Mapping[str, Any], position: int, tokens: Mapping[str, str]) -> dict[str, Any]:
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


def draw_probability(final: Mapping[str, Any]) -> float:
    """Return the probability that a final token was drawn with: max(p - q, 0) / mass for a residual, else p."""
    if final["kind"] == "bonus" or final["fallback"] or not final["mass"]:
        return final["p"]
    return max(final["p"] - final["q"], 0.0) / final["mass"]


def from_csv_text(text: str) -> dict[str, Any]:
    """Return a trace's data from its CSV text, without intervals and rows; raises SpecVizError where it is none."""
    rows = list(csv.DictReader(io.StringIO(text), strict=False))
    header = (text.splitlines() or [""])[0]
    if header.split(",") != list(COLUMNS):
        raise SpecVizError("This is not a SpecViz trace: the CSV's columns are not those of a trace.")
    if not rows:
        raise SpecVizError("The CSV holds no step of a run: there is nothing to show.")
    if not text.endswith("\n") or any(value is None for row in rows for value in row.values()):
        raise SpecVizError("The CSV is cut short: its last row is not whole.")
    if len({row["run_id"] for row in rows}) > 1:
        raise SpecVizError("The CSV holds more than one run: keep the rows of one run_id and open it again.")
    try:
        return _from_csv_rows(rows)
    except (KeyError, ValueError, TypeError, AttributeError, IndexError, StopIteration):
        raise SpecVizError("The CSV is cut short or damaged: a row can't be read.") from None


def _from_csv_rows(rows: list[dict[str, str]]) -> dict[str, Any]:
    first = rows[0]
    kind = first["draft"] if first["draft"] in ("lookup", "self", "noise") else "model"
    settings = {
        "label": json.loads(first["label"]),
        "pair": first["pair"],
        "draft": {"kind": kind, "name": first["draft"]},
        **{name: int(first[name]) for name in ("k", "top_k", "seed", "max_new_tokens")},
        **{name: float(first[name]) for name in ("temperature", "top_p")},
        "chat": {"true": True, "false": False}[first["chat"]],
        "end_ids": [],
        "top_m": 0,
        "fault": None,
        "overrides": json.loads(first["overrides"]) if first["overrides"] else [],
    }
    weights = {
        "target": {"source": None, "sha256": None, "dtype": first["dtype"], "device": first["device"]},
        "draft": None,
    }
    trace = new_trace(
        run_id=first["run_id"],
        created="",
        settings=settings,
        weights=weights,
        machine="",
        prompt={"text": json.loads(first["prompt"]), "ids": []},
    )
    data = trace.data
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


def _step_from_csv(rows: list[dict[str, str]]) -> dict[str, Any]:
    first = rows[0]
    drafts = [_draft_from_csv(row) for row in rows if row["state"] in ("accepted", "rejected", "discarded")]
    finals = [_final_from_csv(row) for row in rows if row["state"] in ("residual", "bonus")]
    if len(drafts) != int(first["drafted"]) or len(drafts) + len(finals) != len(rows) or len(finals) > 1:
        raise ValueError("cells are missing")
    draft, verify, whole = (float(first[name]) for name in ("draft_ms", "verify_ms", "step_ms"))
    return {
        "step": int(first["step"]),
        "k": len(drafts),
        "k_reason": None,
        "drafts": drafts,
        "final": finals[0] if finals else None,
        "extra": None,
        "ms": {"draft": draft, "verify": verify, "rest": max(0.0, whole - draft - verify), "step": whole},
        "totals": {
            "tokens": int(first["tokens_total"]),
            "target_passes": int(first["target_passes_total"]),
            "draft_passes": int(first["draft_passes_total"]),
        },
    }


def _draft_from_csv(row: dict[str, str]) -> dict[str, Any]:
    return {
        "id": int(row["token_id"]),
        "u_draft": float(row["draw_u"]),
        "low": None,
        "high": None,
        "q": float(row["p_draft"]),
        "p": _float(row["p_target"]),
        "coin": _float(row["coin"]),
        "state": row["state"],
        "overlap": _float(row["overlap"]),
        "mass": _float(row["residual_mass"]),
        "entropy_p": _float(row["entropy_target"]),
        "entropy_q": _float(row["entropy_draft"]),
        "call": row["call"] or None,
        "row": None,
    }


def _final_from_csv(row: dict[str, str]) -> dict[str, Any]:
    mass = _float(row["residual_mass"])
    return {
        "kind": row["state"],
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
