"""What the menus offer: the catalogue's pairs, what can draft for each, and prompts to begin with."""

from __future__ import annotations

from specviz.models import catalogue
from specviz.models.fetching import size_text

DRAFTS = {"lookup": "prompt lookup", "self": "the target itself", "noise": "noise"}
PROSE = (
    "Tell me a short story about a lighthouse keeper.",
    "Count from one to twenty in words.",
    "Write a Python function that returns the n-th Fibonacci number.",
    "Repeat this line three times: the old keeper lit the lamp and waited for the storm.",
)
IDS = ("1 15 42", "7 7 7 7", "99 0 50 25 12")


def pair_choices() -> list[tuple[str, str]]:
    """Return (text, name) for every pair of the catalogue: what must be fetched, how much that is, what it wants."""
    return [(_pair_text(line), line.entry.name) for line in catalogue.availability()]


def _pair_text(line: catalogue.Availability) -> str:
    if line.entry.name == "toy":
        return line.entry.title
    fetched = "here" if line.here else f"{size_text(line.download)} to fetch"
    return f"{line.entry.title} · {fetched} · wants {line.entry.needs}"


def draft_choices(pair: str) -> list[tuple[str, str]]:
    """Return (text, kind) for everything that can draft for a pair, its default first."""
    own = (
        [("the toy's own draft" if pair == "toy" else "its own draft model", "model")]
        if catalogue.has_own_draft(pair)
        else []
    )
    return own + [(text, kind) for kind, text in DRAFTS.items()]


def examples_of(pair: str) -> list[str]:
    """Return prompts to begin with; the toy reads token ids."""
    return list(IDS if pair == "toy" else PROSE)
