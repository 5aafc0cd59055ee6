"""Checking that an opened file has a trace's shape."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, cast

from specviz.errors import SpecVizError
from specviz.record.shape import FORMAT, STOPS, VERSION, TraceData, ids_of

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


def checked(data: Any) -> TraceData:
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
    return cast(TraceData, data)


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
