"""What a visitor asked for, checked before anything is done with it. No bound of a widget is trusted."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from specviz import Sampling
from specviz.errors import SpecVizError
from specviz.models import catalogue
from specviz.page.choices import draft_choices

MAX_PROMPT_CHARACTERS = 8000
MAX_NEW_TOKENS = 256
MAX_TOP_K = 1_000_000
CHAT = {"as the model expects": None, "chat template": True, "raw text": False}


@dataclass(frozen=True)
class Settings:
    """A run's settings, all of them in range; temperature and top-p are checked by `Sampling`."""

    prompt: str
    pair: str
    draft: str
    k: int
    max_new_tokens: int
    sampling: Sampling
    seed: int
    chat: bool | None
    agreement: float

    def options(self) -> dict[str, Any]:
        """Return what `start` and `decode` take by name."""
        names = ("k", "max_new_tokens", "sampling", "seed", "chat")
        return {name: getattr(self, name) for name in names}


def whole(name: str, value: object, low: int, high: int) -> int:
    """Return a whole number between low and high, or raise SpecVizError; 4.0 counts as 4."""
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float))
        or value != value
        or not low <= value <= high
        or value % 1
    ):
        raise SpecVizError(f"{name} must be a whole number from {low} to {high}.")
    return int(value)


def real(name: str, value: object, low: float, high: float) -> float:
    """Return a number between low and high, or raise SpecVizError."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
        raise SpecVizError(f"{name} must be a number from {low:g} to {high:g}.")
    return float(value)


def one_of(name: str, value: object, choices: Collection[str]) -> str:
    """Return a value that is one of the choices, or raise SpecVizError: no other names, and no folders, from a page."""
    if value not in choices:
        raise SpecVizError(f"There is no {name} {str(value)[:40]!r}: choose one of {', '.join(choices)}.")
    return str(value)


def read_chat(chat: object) -> bool | None:
    """Return whether the chat template is used, None being what the model expects; takes the menu's words too."""
    if isinstance(chat, str) and chat in CHAT:
        return CHAT[chat]
    if chat is None or isinstance(chat, bool):
        return chat
    raise SpecVizError("Chat must be true, false or empty.")


def read_prompt(prompt: object) -> str:
    """Return the prompt if it has words and is not too long for this page, or raise SpecVizError."""
    if not isinstance(prompt, str) or not prompt.strip():
        raise SpecVizError("The prompt is empty: write a few words for the model to go on from.")
    if len(prompt) > MAX_PROMPT_CHARACTERS:
        raise SpecVizError(
            f"The prompt has {len(prompt):,} characters, but this page takes {MAX_PROMPT_CHARACTERS:,}: shorten it."
        )
    return prompt


def read_settings(
    prompt: object, pair: object, draft: object, k: object, temperature: object, top_k: object, top_p: object,
    max_new_tokens: object, seed: object, chat: object, agreement: object,
) -> Settings:  # fmt: skip
    """Return the settings, or raise SpecVizError at the first that can't be used."""
    sampling = Sampling(
        temperature=real("The temperature", temperature, 0, 2),
        top_k=whole("Top-k", top_k, 0, MAX_TOP_K),
        top_p=real("Top-p", top_p, 0, 1),
    )
    return Settings(
        prompt=read_prompt(prompt),
        pair=one_of("pair", pair, catalogue.CATALOGUE),
        draft=one_of("draft", draft or draft_choices(str(pair))[0][1], catalogue.DRAFT_KINDS),
        k=whole("K", k, 0, 16),
        max_new_tokens=whole("The number of new tokens", max_new_tokens, 1, MAX_NEW_TOKENS),
        sampling=sampling,
        seed=whole("The seed", seed, 0, 2**53 - 1),
        chat=read_chat(chat),
        agreement=real("The agreement", agreement, 0, 1),
    )


def plain_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `autoregress` takes by name, from a trace's settings."""
    sampling = Sampling(temperature=given["temperature"], top_k=given["top_k"], top_p=given["top_p"])
    return {"sampling": sampling} | {name: given[name] for name in ("max_new_tokens", "seed", "chat")}
