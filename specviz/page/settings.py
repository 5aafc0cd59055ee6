"""What a visitor asked for, checked before anything is done with it. No bound of a widget is trusted."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from specviz import Sampling
from specviz.bounds import real, whole
from specviz.decoding.options import RunOptions
from specviz.errors import SpecVizError
from specviz.models import catalogue
from specviz.models.toy import DEFAULT_AGREEMENT, agreement_of
from specviz.page.choices import draft_choices
from specviz.page.controls import CHAT, NAMES, bounds_of
from specviz.record.shape import RunSettings, overrides_of

MAX_PROMPT_CHARACTERS = 8000


@dataclass(frozen=True)
class Settings:
    """What a run is made of: a prompt, a pair with a draft, and options in their bounds."""

    prompt: str
    pair: str
    draft: str
    agreement: float
    options: RunOptions


def one_of(name: str, value: object, choices: Collection[str]) -> str:
    """Return a value that is one of the choices, or raise SpecVizError: no other names, and no folders, from a page."""
    if not isinstance(value, str) or value not in choices:
        raise SpecVizError(f"There is no {name} {str(value)[:40]!r}: choose one of {', '.join(choices)}.")
    return value


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


def read_settings(*values: object) -> Settings:
    """Return the settings that the values of `CONTROLS`, in their order, ask for; raises SpecVizError at the first bad one."""
    given: dict[str, Any] = dict(zip(NAMES, values, strict=True))
    draft = given["draft"] or draft_choices(str(given["pair"]))[0][1]
    top_k = whole("Top-k", given["top_k"], *bounds_of("top_k"))
    tokens = whole("The number of new tokens", given["max_new_tokens"], *bounds_of("max_new_tokens"))
    return Settings(
        prompt=read_prompt(given["prompt"]),
        pair=one_of("pair", given["pair"], catalogue.CATALOGUE),
        draft=one_of("draft", draft, catalogue.DRAFT_KINDS),
        agreement=real("The agreement", given["agreement"], *bounds_of("agreement")),
        options=RunOptions(
            k=given["k"],
            max_new_tokens=tokens,
            sampling=Sampling(given["temperature"], top_k, given["top_p"]),
            seed=given["seed"],
            chat=read_chat(given["chat"]),
        ),
    )


def options_of(given: RunSettings) -> RunOptions:
    """Return the options that a trace's settings name, so that the same run can be made again."""
    return RunOptions(
        k=given["k"],
        overrides=overrides_of(given),
        sampling=Sampling(given["temperature"], given["top_k"], given["top_p"]),
        max_new_tokens=given["max_new_tokens"],
        seed=given["seed"],
        chat=given["chat"],
    )


def agreement_in(given: RunSettings) -> float:
    """Return the agreement of the toy draft that a trace's settings name, the default where they name no toy draft."""
    is_toy_draft = given["pair"] == "toy" and given["draft"]["kind"] == "model"
    return agreement_of(given["draft"]["name"]) if is_toy_draft else DEFAULT_AGREEMENT
