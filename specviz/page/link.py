"""A run's settings as the controls hold them, from a trace and from a link's query string."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specviz.decoding.options import DEFAULT_K, DEFAULT_SEED, DEFAULT_TOKENS
from specviz.errors import SpecVizError
from specviz.models.toy import DEFAULT_AGREEMENT
from specviz.page.choices import draft_choices, examples_of
from specviz.page.settings import CHAT
from specviz.record.shape import TraceData

NAMES = (
    "prompt", "pair", "draft", "k", "temperature", "top_k", "top_p", "max_new_tokens", "seed", "chat", "agreement",
)  # fmt: skip
NUMBERS = ("k", "temperature", "top_k", "top_p", "max_new_tokens", "seed", "agreement")
CHAT_WORDS = {value: words for words, value in CHAT.items()}
LOCKABLE = (*NAMES, "recorded")
EXACTNESS_SOURCES = ("screen", "toy", "table")  # what the exactness lab can be about


def default_values(pair: str) -> dict[str, Any]:
    """Return what the controls hold for a pair before anybody has touched them."""
    return {
        "prompt": examples_of(pair)[0], "pair": pair, "draft": draft_choices(pair)[0][1], "k": DEFAULT_K, "temperature": 0.8,
        "top_k": 0, "top_p": 1, "max_new_tokens": DEFAULT_TOKENS, "seed": DEFAULT_SEED, "chat": CHAT_WORDS[None],
        "agreement": DEFAULT_AGREEMENT,
    }  # fmt: skip


def values_of(data: TraceData) -> dict[str, Any]:
    """Return the controls' values that would make a trace's run again."""
    settings = data["settings"]
    same = {name: value for name, value in settings.items() if name in NAMES}
    return default_values(settings["pair"]) | same | {
        "prompt": data["prompt"]["text"],
        "draft": settings["draft"]["kind"],
        "chat": CHAT_WORDS[settings["chat"]],
    }  # fmt: skip


def values_in(query: Mapping[str, str], pair: str) -> dict[str, Any]:
    """Return the controls' values that a link asks for, the rest at a pair's defaults; raises SpecVizError."""
    asked = {name: query[name] for name in NAMES if name in query}
    values: dict[str, Any] = default_values(asked.get("pair", pair)) | asked
    for name in NUMBERS:
        values[name] = _number(name, values[name])
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
