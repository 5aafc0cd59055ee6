"""What a run may be asked for: the options, their defaults and bounds, and the prompt as token ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

from specviz.decoding.coins import Address
from specviz.decoding.rules import Rules
from specviz.decoding.sampling import Sampling
from specviz.errors import SpecVizError
from specviz.models.loaded import LoadedModel
from specviz.record.shape import Baseline, Costs

MAX_K = 16
DEFAULT_K = 4
DEFAULT_TOKENS = 64
DEFAULT_SEED = 7


class Options(TypedDict, total=False):
    """What `start` and `decode` take by name, with the same defaults in Python, in the shell and on the page."""

    k: int
    max_new_tokens: int
    sampling: Sampling
    seed: int
    chat: bool | None
    label: str
    overrides: Mapping[Address, float]
    rules: Rules
    costs: Costs | None
    baseline: Baseline | None


def check_room(sequence: Sequence[int], target_limit: int, draft_limit: int, prompt_length: int) -> None:
    """Raise SpecVizError where a prompt does not leave room for one token in either model's context."""
    limit = min(target_limit, draft_limit)
    if prompt_length >= limit:
        which = "target" if target_limit <= draft_limit else "draft"
        raise SpecVizError(
            f"The prompt has {prompt_length} tokens, but the {which} model reads at most {limit}, the new ones included: "
            "shorten the prompt."
        )


def encode(
    target: LoadedModel, prompt: str | Sequence[int], chat: bool | None
) -> tuple[list[int], str, bool]:
    """Return a prompt's ids, its text and whether the chat template was used; raises SpecVizError for a bad one."""
    if isinstance(prompt, str):
        if not prompt.strip():
            raise SpecVizError("The prompt is empty: write a few words for the model to go on from.")
        wants_chat = target.has_template if chat is None else bool(chat)
        ids, text = target.encode(prompt, wants_chat), prompt
    else:
        wants_chat, ids = False, list(prompt)
        if any(
            isinstance(token, bool) or not isinstance(token, int) or not 0 <= token < target.vocab
            for token in ids
        ):
            raise SpecVizError(f"Token ids of a prompt must be whole numbers from 0 to {target.vocab - 1}.")
        text = target.text(ids)
    if not ids:
        raise SpecVizError("The prompt has no tokens: write a few words for the model to go on from.")
    return ids, text, wants_chat


def _whole(name: str, value: object, low: int, high: int | None) -> int:
    if (
        isinstance(value, bool)
        or not isinstance(value, int)
        or value < low
        or (high is not None and value > high)
    ):
        bounds = f"from {low} to {high}" if high is not None else f"of at least {low}"
        raise SpecVizError(f"{name} must be a whole number {bounds}, not {value!r}.")
    return value


def check_k(k: object) -> int:
    """Return the draft length K if it is a whole number from 0 to 16, else raise SpecVizError."""
    return _whole("K", k, 0, MAX_K)


def check_length(tokens: object) -> int:
    """Return max_new_tokens if it is a whole number of at least 1, else raise SpecVizError."""
    return _whole("The number of new tokens", tokens, 1, None)
