"""What a run may be asked for: the options, their defaults and bounds, and the prompt as token ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypedDict

from specviz.bounds import MAX_K, whole
from specviz.decoding.coins import Address, check_overrides, check_seed
from specviz.decoding.rules import EXACT, Rules
from specviz.decoding.sampling import Sampling
from specviz.errors import SpecVizError
from specviz.models.loaded import LoadedModel
from specviz.record.shape import Baseline, Costs

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


@dataclass(frozen=True)
class RunOptions:
    """The same, checked once and for all where they enter; `max_new_tokens` is at least 1, K from 0 to `MAX_K`.

    Raises SpecVizError for an option that is out of its bounds.
    """

    k: int = DEFAULT_K
    max_new_tokens: int = DEFAULT_TOKENS
    sampling: Sampling = field(default_factory=Sampling)
    seed: int = DEFAULT_SEED
    chat: bool | None = None
    label: str = ""
    overrides: Mapping[Address, float] = field(default_factory=dict)
    rules: Rules = EXACT
    costs: Costs | None = None
    baseline: Baseline | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole("K", self.k, 0, MAX_K))
        object.__setattr__(self, "max_new_tokens", whole("The number of new tokens", self.max_new_tokens, 1))
        object.__setattr__(self, "seed", check_seed(self.seed))
        object.__setattr__(self, "overrides", check_overrides(self.overrides))


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
