"""A trace's shape: what each record holds, in which unit, and where the numbers that decide come from.

A trace is plain data, written as JSON. NaN and Infinity never occur; None means "does not exist". The numbers that decide
(p, q, coins, intervals, masses) are full float64, all others have five significant digits. p is the target's law, q the
draft's, both after temperature, top-k and top-p; what is called raw is at temperature 1, untruncated. Steps and positions
count from 1. A token's text holds bytes that are no UTF-8 as lone surrogates (\\udcf0 for byte f0), so that texts can be
joined.

mypy holds the code that makes and reads traces to these records, and `check` holds opened files to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Literal, NotRequired, TypeVar, get_args

from typing_extensions import TypedDict  # pydantic reads no other before Python 3.12

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema

FORMAT: Literal["specviz-trace"] = "specviz-trace"
VERSION: Literal[1] = 1

DraftKind = Literal["model", "lookup", "self", "noise"]
DraftState = Literal["accepted", "rejected", "discarded"]
FinalKind = Literal["residual", "bonus"]
KReason = Literal["length", "context", "proposals"]  # what first bound the number of drafts below K
Call = Literal["accept", "reject"]
Stop = Literal["length", "end", "context", "stopped", "error"]
STOPS: tuple[Stop, ...] = get_args(Stop)
Purpose = Literal["draft", "accept", "final"]  # what a random number is read for


class Places:
    """Tells pydantic what stands in each place of a short list: JSON has lists where Python would have a tuple."""

    def __init__(self, *types: object) -> None:
        self.types = types

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core import core_schema

        return core_schema.tuple_schema([handler.generate_schema(each) for each in self.types], strict=False)


# [step, position, purpose, u], which `overrides_of` reads
Override = Annotated[list[int | str | float], Places(int, int, Purpose, float)]


# --- the run ----------------------------------------------------------------------------------------------------------


class DraftOf(TypedDict):
    """What drafted: its kind, and the model's name or the kind again."""

    kind: DraftKind
    name: str


class RunSettings(TypedDict):
    """What a run was asked for. With the weights and the prompt it decides everything but the times."""

    label: str  # a name or group, free
    pair: str
    draft: DraftOf
    k: int  # drafts a step, at most
    temperature: float  # below 1e-6 is greedy
    top_k: int  # 0 is off
    top_p: float  # 1 is off
    seed: int  # key of Philox, from which every random number is read by its address
    max_new_tokens: int
    chat: bool  # whether the prompt went through the target's chat template
    end_ids: list[int]  # the target's; an accepted or drawn one ends the run
    top_m: int  # likeliest tokens of either law in a row, 0 from CSV
    fault: str | None  # the deliberate mistake it was made with, see `exactness.faults`
    overrides: list[Override]  # random numbers put in the place of the seed's


class SideWeights(TypedDict):
    """One model's weights: where they came from, their hash, and how they were run."""

    source: str | None  # None from CSV
    sha256: str | None
    dtype: str
    device: str
    cache: NotRequired[str]  # rollback, or recompute where the model's cache can't be rolled back


class Weights(TypedDict):
    """The two sides' weights; the draft's are None where no model drafts."""

    target: SideWeights
    draft: SideWeights | None


class Prompt(TypedDict):
    """The prompt as it was written, and as the target's ids."""

    text: str
    ids: list[int]


class PrefillMs(TypedDict):
    """Milliseconds that each model read the prompt for, all but its last token; in no step's time."""

    target: float | None
    draft: float | None


class CostsTiming(TypedDict):
    """How well a pair's costs are known: the bounds, in milliseconds, between which the middle of each figure's rounds lay."""

    rounds: int
    target_low: list[float]  # of a pass over R rows, as target_ms has them
    target_high: list[float]
    draft_low: float
    draft_high: float
    rest_low: float
    rest_high: float
    waited: float  # share of the time in which the computing waited for a core
    disturbed: str | None  # why nothing may be concluded from them, in words


class Costs(TypedDict):
    """Milliseconds measured for a loaded pair: a target pass over R = 1 ... K's limit + 1 rows, one draft forward, the rest.

    Medians of `timing`'s rounds; a trace that was made before those were kept has none.
    """

    target_ms: list[float]
    draft_ms: float
    rest_ms: float
    timing: NotRequired[CostsTiming]


class RaceTiming(TypedDict):
    """How well a measured speedup is known: both loops ran in turns, `rounds` times, and each round gives a ratio.

    The middle of the ratios (plain milliseconds a token / speculative ones) lay between low and high.
    """

    rounds: int
    low: float
    high: float
    waited: float  # share of the time in which the computing waited for a core
    disturbed: str | None  # why nothing may be concluded from it, in words


class Baseline(TypedDict):
    """What the plain loop did with the same settings: its tokens and its milliseconds without the prefill.

    With `timing`, these milliseconds and those of the trace's steps are of the same rounds, the median of each pass.
    """

    tokens: int
    ms: float
    token_ids: list[int]
    timing: NotRequired[RaceTiming]


# --- a step -----------------------------------------------------------------------------------------------------------


class ExaminedColumns(TypedDict, total=False):
    """Columns over a row's ids that a draft which was never examined does not have."""

    p_raw: list[float]
    q_raw: list[float]
    q_low: list[float]  # where each token's interval begins in the draft law
    low: list[float]  # and in the law that a final draw here would use


class DraftRow(ExaminedColumns):
    """What a chart of a draft's position needs: columns over `ids`, and the probability of all other tokens as rests."""

    ids: list[int]  # the likeliest of p, of q, and the tokens drawn there
    p: list[float]
    q: list[float]
    p_rest: float
    q_rest: float
    overlap_rest: float  # of sum min(p, q): the overlap of two rests is not the rest of the overlap


class BonusRow(TypedDict):
    """The same for a bonus, where nothing was drafted: what is of q does not exist."""

    ids: list[int]
    p: list[float]
    q: list[float] | None
    p_raw: list[float]
    q_raw: list[float] | None
    q_low: list[float] | None
    low: list[float]
    p_rest: float
    q_rest: float | None
    overlap_rest: float | None


class DraftCell(TypedDict):
    """One drafted token: how it was drawn, what the target thought of it, and the coin that decided.

    Never examined: no coin, overlap, mass and entropy_p. From CSV: no interval and no row, and no p where discarded.
    """

    id: int
    u_draft: float  # the uniform at (step, position, draft); it fell into [low, high)
    low: float | None
    high: float | None
    q: float  # at this token, and the width of its interval
    p: float | None  # at this token
    coin: float | None  # the uniform at (step, position, accept)
    state: DraftState  # accepted iff coin q < p (Leviathan et al., Algorithm 1; Chen et al., Algorithm 2)
    overlap: (
        float | None
    )  # sum of min(p, q), the chance that a draft is accepted here (Leviathan et al., 3.1)
    mass: float | None  # sum of max(p - q, 0), by which a residual is divided
    entropy_p: float | None  # in nats
    entropy_q: float | None
    call: Call | None  # what the reader predicted
    row: DraftRow | None


class Drawn(TypedDict):
    """How a final token was drawn: by which kind of draw, and where in its law the uniform fell."""

    kind: FinalKind
    id: int
    u: float  # the uniform at (step, accepted + 1, final); it fell into [low, high)
    low: float | None
    high: float | None


class FinalCell(Drawn):
    """The token drawn at the end of a step: a residual in a rejected draft's place, or a bonus after all accepted ones.

    A bonus has nothing of q and a row of its own; a residual's row is the rejected draft's. From CSV: no interval, no row.
    """

    p: float  # at this token
    q: float | None
    mass: float | None  # a residual's law is max(p - q, 0) / mass (Leviathan et al., Algorithm 1)
    overlap: float | None
    entropy_p: float | None  # in nats
    entropy_q: float | None
    fallback: bool  # the residual's mass was 0, and p itself was drawn from
    row: BonusRow | None


class StepMs(TypedDict):
    """A step's milliseconds of wall-clock: the draft's forwards, the target's pass, all else, and the whole.

    `waited` of the whole, the thread that computes had no core, or waited for another thread: near 0 on a quiet machine.
    """

    draft: float
    verify: float
    rest: float
    step: float
    waited: NotRequired[float]  # on a CPU; elsewhere waiting is how the thread works


class Totals(TypedDict):
    """Running totals at the end of a step: emitted tokens, target passes, draft forwards."""

    tokens: int
    target_passes: int
    draft_passes: int


class Outcome(TypedDict):
    """What a step drafted and decided: k drafts, at most one final draw, a second one only under a fault."""

    step: int
    k: int
    k_reason: KReason | None  # None where all K were drafted, and from CSV
    drafts: list[DraftCell]
    final: FinalCell | None  # None after an accepted end token
    extra: FinalCell | None


class Step(Outcome):
    """A step's outcome, with its times and the run's totals after it."""

    totals: Totals
    ms: StepMs


# --- the whole --------------------------------------------------------------------------------------------------------


class TraceData(TypedDict):
    """A run's record, from which every decision can be recomputed (`exactness.replay`)."""

    format: Literal["specviz-trace"]
    version: Literal[1]
    run_id: str
    parent: str | None  # the run_id of the run that a branch left
    created: str  # ISO 8601, UTC; empty from CSV
    settings: RunSettings
    weights: Weights
    machine: str  # in words; empty from CSV
    prompt: Prompt
    tokens: dict[str, str]  # {id: text} of every id that stands in the trace
    prefill_ms: PrefillMs
    costs: Costs | None
    baseline: Baseline | None
    steps: list[Step]
    token_ids: list[int]  # the output, its end token included
    stop: Stop  # end iff the last id is an end id, length iff max_new_tokens are out


def new_record(
    *,
    run_id: str,
    created: str,
    settings: RunSettings,
    weights: Weights,
    machine: str,
    prompt: Prompt,
    parent: str | None = None,
    costs: Costs | None = None,
    baseline: Baseline | None = None,
) -> TraceData:
    """Return the data of a trace of a run that has not made a step yet."""
    return {
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


# --- reading it -------------------------------------------------------------------------------------------------------

Value = TypeVar("Value")


def known(value: Value | None) -> Value:
    """Return a value that a trace may lack, for a reader who has seen to it that this one does not.

    >>> known(0.0)
    0.0
    """
    if value is None:
        raise ValueError("the trace lacks what its reader relies on")
    return value


def finals_of(step: Outcome) -> list[FinalCell]:
    """Return a step's final draws: one or none, and a second one only under a fault."""
    return [final for final in (step["final"], step["extra"]) if final is not None]


def ids_of(steps: Iterable[Outcome]) -> set[int]:
    """Return every token id that stands in some steps' cells and rows."""
    ids: set[int] = set()
    for step in steps:
        for cell in (*step["drafts"], *finals_of(step)):
            ids.add(cell["id"])
            ids.update(cell["row"]["ids"] if cell["row"] else ())
    return ids


def has_distributions(data: TraceData) -> bool:
    """Return whether the rows behind the numbers are there; a trace opened from CSV has none."""
    cells = all(draft["row"] is not None for step in data["steps"] for draft in step["drafts"])
    return cells and all(step["final"] is None or step["final"]["low"] is not None for step in data["steps"])


def why_no_branch(data: TraceData) -> str | None:
    """Return why no branch can go on from a run, wherever its models are loaded, in one sentence; None where one can."""
    if not has_distributions(data):
        return "This run came from a CSV file, which does not hold enough to go on from: open its JSON file."
    if data["settings"]["fault"]:
        return "A run with a deliberate mistake can't be branched: run it again without the mistake."
    return None


def overrides_of(settings: RunSettings) -> dict[tuple[int, int, str], float]:
    """Return a run's overrides as {(step, position, purpose): u}."""
    return {
        (int(step), int(position), str(purpose)): float(u)
        for step, position, purpose, u in settings["overrides"]
    }


def overrides_from(overrides: Mapping[tuple[int, int, str], float]) -> list[Override]:
    """Return overrides as a trace keeps them, in the order of their addresses.

    >>> overrides_from({(2, 1, "draft"): 0.5, (1, 3, "accept"): 0.25})
    [[1, 3, 'accept', 0.25], [2, 1, 'draft', 0.5]]
    """
    return [[*address, u] for address, u in sorted(overrides.items())]
