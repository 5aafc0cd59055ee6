"""Recompute every decision of a trace from its recorded numbers.

No model is asked: given p, q and the random numbers, the run is a matter of arithmetic, and anybody can check it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from specviz.decoding.coins import Coins
from specviz.decoding.rules import EXACT, Rules
from specviz.decoding.sampling import Draw
from specviz.errors import SpecVizError
from specviz.exactness.faults import fault_named
from specviz.record.csv import draw_probability
from specviz.record.shape import (
    BonusRow,
    DraftCell,
    DraftRow,
    FinalCell,
    RunSettings,
    Step,
    TraceData,
    finals_of,
    known,
    overrides_of,
)
from specviz.record.trace import Trace

Column = Literal["p", "q", "q_low", "low"]
TOLERANCE = 5e-10  # half of the ninth decimal
MASS_TOLERANCE = 1e-10  # the rounding of two sums over a whole vocabulary


def replay(trace: Trace) -> list[str]:
    """Return a sentence for each decision or number that does not follow from the others; none is a good trace.

    Checked: each random number against its address unless it was overridden; accepted iff u q < p; low <= u < high and
    high - low the probability of the draw (to half of the ninth decimal); every drawn id in its row, whose five-digit
    numbers agree with the full ones; mass + overlap = 1; states, totals and token_ids from the steps; why it stopped.
    A trace made with a fault is replayed by that fault's rules; how likely a draw was is left out where the fault
    changed the law that it was drawn from, of which the trace holds no more than the draw's interval.
    Raises SpecVizError for a trace opened from CSV, which holds too little, and for one with an unknown fault.
    """
    if not trace.has_distributions:
        raise SpecVizError(
            "This trace came from a CSV file, which does not hold the distributions: replay its JSON file."
        )
    settings = trace.data["settings"]
    rules = EXACT if settings["fault"] is None else fault_named(settings["fault"]).rules
    coins = Coins(settings["seed"], overrides_of(settings))
    found: list[str] = []
    emitted: list[int] = []
    passes = drafted = 0
    per_token = 0 if settings["draft"]["kind"] in ("lookup", "noise") else 1
    for number, step in enumerate(trace.data["steps"], start=1):
        found += [
            f"step {number}: {text}" for text in _step(step, number, coins, settings, len(emitted), rules)
        ]
        emitted += [draft["id"] for draft in step["drafts"] if draft["state"] == "accepted"]
        emitted += [final["id"] for final in finals_of(step)]
        passes, drafted = passes + 1, drafted + per_token * len(step["drafts"])
        totals = {"tokens": len(emitted), "target_passes": passes, "draft_passes": drafted}
        if step["totals"] != totals:
            found.append(f"step {number}: totals are {step['totals']}, the steps add up to {totals}")
        if set(emitted[:-1]) & set(settings["end_ids"]):
            found.append(f"step {number}: the run went on after an end token")
    return found + list(_whole(trace.data, emitted))


def _step(
    step: Step,
    number: int,
    coins: Coins,
    settings: RunSettings,
    before: int,
    rules: Rules,
) -> Iterator[str]:
    drafts = step["drafts"]
    if step["step"] != number or step["k"] != len(drafts):
        yield f"it says step {step['step']} and k {step['k']}, but is number {number} with {len(drafts)} drafts"
    kept = rules.kept([Draw(draft["id"], known(draft["low"]), known(draft["high"])) for draft in drafts])
    drawn_by_q = rules.draft_law is EXACT.draft_law
    accepted, open_ = 0, True
    for position, draft in enumerate(drafts, start=1):
        cell = f"position {position}"
        yield from _uniform(cell, draft["u_draft"], coins, rules.address(number, position, "draft"))
        yield from _interval(cell, draft["u_draft"], draft, draft["q"] if drawn_by_q else None)
        row, p, q = known(draft["row"]), known(draft["p"]), draft["q"]
        yield from _in_row(cell, draft["id"], row, p, q)
        state = "discarded"
        if open_ and position <= kept:
            yield from _column(cell, draft["id"], row, "q_low", known(draft["low"]))
            yield from _uniform(cell, draft["coin"], coins, rules.address(number, position, "accept"))
            passed = draft["coin"] is not None and rules.accept(draft["coin"], p, q)
            state = "accepted" if passed else "rejected"
            accepted += passed
            open_ = passed and draft["id"] not in settings["end_ids"]
            if rules.residual is EXACT.residual:
                yield from _mass(cell, draft)
        elif draft["coin"] is not None:
            yield f"{cell}: a coin was thrown for a draft that was never examined"
        if draft["state"] != state:
            yield f"{cell}: the state is {draft['state']}, the numbers say {state}"
    ended = accepted > 0 and drafts[accepted - 1]["id"] in settings["end_ids"]
    finals = finals_of(step)
    due = rules.finals(accepted, kept, ended)
    if finals and finals[0]["id"] in settings["end_ids"]:
        due = due[:1]
    if tuple(final["kind"] for final in finals) != due:
        kinds = " and ".join(final["kind"] for final in finals)
        yield f"the final draw is {kinds or None}, {' and '.join(due) or None} was due"
    else:
        for position, final in enumerate(finals, start=accepted + 1):
            yield from _uniform("final", final["u"], coins, rules.address(number, position, "final"))
            yield from _final(final, drafts[accepted] if final["kind"] == "residual" else None, rules)
    yield from _length(step, settings, before)


def _length(step: Step, settings: RunSettings, before: int) -> Iterator[str]:
    """Check k against K and the length that was left, and its reason as far as a trace can tell."""
    allowed = max(0, settings["max_new_tokens"] - before - 1)
    if step["k"] > min(settings["k"], allowed):
        yield f"{step['k']} tokens were drafted where at most {min(settings['k'], allowed)} could be"
    reason = (
        None if step["k"] == settings["k"] else "length" if step["k"] == allowed else ("context", "proposals")
    )
    if step["k_reason"] != reason and (not isinstance(reason, tuple) or step["k_reason"] not in reason):
        yield f"k is {step['k']} for the reason {step['k_reason']!r}, the settings say {reason!r}"


def _final(final: FinalCell, rejected: DraftCell | None, rules: Rules) -> Iterator[str]:
    """Check a replacement against the rejected draft, or a bonus (`rejected` is None) against its own row."""
    drawn_by_rule = (
        rules.bonus_law is EXACT.bonus_law if rejected is None else rules.residual is EXACT.residual
    )
    yield from _interval("final", final["u"], final, draw_probability(final) if drawn_by_rule else None)
    row: DraftRow | BonusRow = known(final["row"]) if rejected is None else known(rejected["row"])
    yield from _column("final", final["id"], row, "low", known(final["low"]))
    if rejected is None:
        yield from _in_row("final", final["id"], row, final["p"])
        return
    yield from _in_row("final", final["id"], row, final["p"], known(final["q"]))
    if drawn_by_rule:
        yield from _mass("final", final)
    if final["mass"] != rejected["mass"] or final["overlap"] != rejected["overlap"]:
        yield "final: mass or overlap differ from the rejected draft's"
    if final["fallback"] != (final["mass"] == 0):
        yield "final: fallback does not agree with the mass"


def _whole(data: TraceData, emitted: list[int]) -> Iterator[str]:
    settings = data["settings"]
    if data["token_ids"] != emitted:
        yield "token_ids are not what the steps emitted"
    ended = bool(emitted) and emitted[-1] in settings["end_ids"]
    if (data["stop"] == "end") != ended:
        yield f"it stopped with {data['stop']!r}, but the last token is {'an' if ended else 'no'} end token"
    full = len(emitted) >= settings["max_new_tokens"] and not ended
    if (data["stop"] == "length") != full:
        yield f"it stopped with {data['stop']!r} at {len(emitted)} of {settings['max_new_tokens']} tokens"


def _uniform(cell: str, u: float | None, coins: Coins, address: tuple[int, int, str]) -> Iterator[str]:
    if u != coins.u(*address):
        yield f"{cell}: the random number at {address} is {coins.u(*address)!r}, not {u!r}"


def _interval(cell: str, u: float, drawn: DraftCell | FinalCell, probability: float | None) -> Iterator[str]:
    low, high = known(drawn["low"]), known(drawn["high"])
    if not low <= u < high:
        yield f"{cell}: {u!r} is not in [{low!r}, {high!r})"
    if probability is not None and not abs(high - low - probability) < TOLERANCE:
        yield f"{cell}: the interval is {high - low!r} wide, its probability is {probability!r}"


def _mass(cell: str, drawn: DraftCell | FinalCell) -> Iterator[str]:
    if drawn["mass"] is None or drawn["overlap"] is None:
        yield f"{cell}: mass or overlap of an examined position is missing"
    elif not abs(drawn["mass"] + drawn["overlap"] - 1) < MASS_TOLERANCE:
        yield f"{cell}: mass {drawn['mass']!r} and overlap {drawn['overlap']!r} do not add up to 1"


def _in_row(
    cell: str, token: int, row: DraftRow | BonusRow, p: float, q: float | None = None
) -> Iterator[str]:
    yield from _column(cell, token, row, "p", p)
    if q is not None:
        yield from _column(cell, token, row, "q", q)


def _column(cell: str, token: int, row: DraftRow | BonusRow, name: Column, value: float) -> Iterator[str]:
    """Check a full number against the five-digit one that its row has for the same token."""
    column: list[float] | None = row.get(name)
    if token not in row["ids"]:
        yield f"{cell}: token {token} does not stand in its row"
    elif column is None:
        yield f"{cell}: its row lacks {name}"
    elif float(f"{value:.5g}") != column[row["ids"].index(token)]:
        yield f"{cell}: {name} is {value!r}, its row says {column[row['ids'].index(token)]!r}"
