"""The controls of a run, each a row of one table: settings, links, endpoints, locks, layout and CSS hooks are made from it.

A control's name is also its key in a link, its element's id, and the end of the CSS property `--was-NAME` in which the
page writes what it was.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from specviz.bounds import MAX_K, MAX_TEMPERATURE, SEED_LIMIT
from specviz.decoding.options import DEFAULT_K, DEFAULT_SEED, DEFAULT_TOKENS
from specviz.decoding.sampling import Sampling
from specviz.models.catalogue import DEFAULT_PAIR
from specviz.models.toy import DEFAULT_AGREEMENT
from specviz.page.choices import draft_choices, examples_of, pair_choices

MAX_NEW_TOKENS = 256
MAX_TOP_K = 1_000_000
CHAT = {"as the model expects": None, "chat template": True, "raw text": False}
CHAT_WORDS = {value: words for words, value in CHAT.items()}
REQUIRED = object()


@dataclass(frozen=True)
class Control:
    """A row: `kind` is what it looks like, `label` stands above it, `title` names it to a teacher who locks it.

    `words` say what is changed about the next run: alone, or before the new value where there is a number. `default` is
    what an endpoint takes, of type `takes`, where it is left out; `opens` returns what the page holds for a pair before
    anybody has touched it, where that is another value; `choices` are a menu's for a pair.
    """

    name: str
    kind: Literal["text", "menu", "slider", "number"]
    label: str
    title: str
    words: str
    takes: Any
    default: Any = REQUIRED
    low: float | None = None
    high: float | None = None
    step: float | None = None
    opens: Callable[[str], Any] | None = None
    choices: Callable[[str], Sequence[Any]] | None = None
    more: bool = True  # it stands under More

    @property
    def is_number(self) -> bool:
        """Whether its value is a number, which is said where it changes."""
        return self.kind in ("slider", "number")

    def opening(self, pair: str) -> Any:
        """Return what the page holds for a pair before anybody has touched it."""
        return self.opens(pair) if self.opens else self.default


_SAMPLING = Sampling()

CONTROLS = (
    Control("prompt", "text", "Prompt", "Prompt", "another prompt", str, opens=lambda pair: examples_of(pair)[0], more=False),
    Control("pair", "menu", "Pair", "Pair", "another pair", str, DEFAULT_PAIR, opens=str, choices=lambda _: pair_choices()),
    Control("draft", "menu", "Draft", "Draft", "another draft", str, "", opens=lambda pair: draft_choices(pair)[0][1],
            choices=draft_choices),
    Control("k", "slider", "K", "K", "K", int, DEFAULT_K, 0, MAX_K, 1, more=False),
    Control("temperature", "slider", "Temperature", "Temperature", "temperature", float, _SAMPLING.temperature, 0,
            MAX_TEMPERATURE, 0.05, more=False),
    Control("top_k", "number", "Top-k (0 is off)", "Top-k", "top-k", int, _SAMPLING.top_k, 0, MAX_TOP_K),
    Control("top_p", "number", "Top-p", "Top-p", "top-p", float, _SAMPLING.top_p, 0, 1, 0.05),
    Control("max_new_tokens", "number", "New tokens", "New tokens", "length", int, DEFAULT_TOKENS, 1, MAX_NEW_TOKENS),
    Control("seed", "number", "Seed", "Seed", "seed", int, DEFAULT_SEED, 0, SEED_LIMIT - 1),
    Control("chat", "menu", "Prompt is read", "Template", "another template", bool | None, None,
            opens=lambda _: CHAT_WORDS[None], choices=lambda _: list(CHAT)),
    Control("agreement", "slider", "Agreement of the toy draft", "Toy’s agreement", "agreement", float, DEFAULT_AGREEMENT,
            0, 1, 0.05),
)  # fmt: skip
NAMES = tuple(control.name for control in CONTROLS)
BY_NAME = {control.name: control for control in CONTROLS}


def opening_values(pair: str) -> dict[str, Any]:
    """Return what the controls hold for a pair before anybody has touched them."""
    return {control.name: control.opening(pair) for control in CONTROLS}


def bounds_of(name: str) -> tuple[int, int]:
    """Return the smallest and the largest whole number that a control takes."""
    control = BY_NAME[name]
    assert control.low is not None and control.high is not None, name
    return int(control.low), int(control.high)


def for_the_player() -> dict[str, Any]:
    """Return what the player has to know of the controls: [{name, words, title, is_number, more}], and chat's words."""
    columns = ("name", "words", "title", "is_number", "more")
    known = [{column: getattr(control, column) for column in columns} for control in CONTROLS]
    return {"controls": known, "chat": {json.dumps(value): words for value, words in CHAT_WORDS.items()}}


def style() -> str:
    """Return the CSS that writes beside each changed control what it was on the run on screen."""
    return "".join(f"#{name}::after {{ content: var(--was-{name}, none); }}\n" for name in NAMES)
