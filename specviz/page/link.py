"""A run's settings as the controls hold them, from a trace and from a link's query string."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specviz.errors import SpecVizError
from specviz.page.controls import CHAT_WORDS, CONTROLS, NAMES, opening_values
from specviz.page.settings import agreement_in
from specviz.record.shape import TraceData

LOCKABLE = (*NAMES, "recorded")
EXACTNESS_SOURCES = ("screen", "toy", "table")  # what the exactness lab can be about


def values_of(data: TraceData) -> dict[str, Any]:
    """Return the controls' values that would make a trace's run again."""
    settings = data["settings"]
    same = {name: value for name, value in settings.items() if name in NAMES}
    return opening_values(settings["pair"]) | same | {
        "prompt": data["prompt"]["text"],
        "draft": settings["draft"]["kind"],
        "chat": CHAT_WORDS[settings["chat"]],
        "agreement": agreement_in(settings),
    }  # fmt: skip


def asked_of(data: TraceData) -> dict[str, Any]:
    """Return what the player has to know of a run's controls: `values_of`, and an agreement only where there was one."""
    settings = data["settings"]
    has_agreement = settings["pair"] == "toy" and settings["draft"]["kind"] == "model"
    return values_of(data) | ({} if has_agreement else {"agreement": None})


def values_in(query: Mapping[str, str], pair: str) -> dict[str, Any]:
    """Return the controls' values that a link asks for, the rest at a pair's defaults; raises SpecVizError."""
    asked = {name: query[name] for name in NAMES if name in query}
    values: dict[str, Any] = opening_values(asked.get("pair", pair)) | asked
    for control in CONTROLS:
        if control.is_number:
            values[control.name] = _number(control.name, values[control.name])
    return values


def locked_in(query: Mapping[str, str]) -> list[str]:
    """Return the names of the controls that a lesson's link locks, of those that there are."""
    asked = query.get("lock", "").split(",")
    return [name for name in LOCKABLE if name in asked]


def _number(name: str, value: Any) -> float:
    try:
        return float(value)
    except ValueError:
        raise SpecVizError(f"The link's {name} is {str(value)[:20]!r}, which is no number.") from None
