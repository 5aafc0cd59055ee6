"""A trace as plain text for the shell: the token grid and the summary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

from specviz.record.shape import DraftCell, FinalCell, Step, finals_of, known
from specviz.record.trace import Trace

GLYPHS = {"accepted": "✓", "rejected": "✗", "discarded": "○", "residual": "↻", "bonus": "+"}
LEGEND = "✓ accepted  ✗ rejected  ○ discarded, never examined  ↻ residual (replacement)  + bonus"
LONGEST_TOKEN = 18


def visible(text: str) -> str:
    """Return a token's text on one line: space ␣, line break ↵, tab ⇥, other control characters and bytes escaped."""
    shown = text.replace(" ", "␣").replace("\n", "↵").replace("\t", "⇥") or "∅"
    return "".join(mark if mark.isprintable() else _escaped(mark) for mark in shown)


def _escaped(character: str) -> str:
    code = ord(character)
    return f"<0x{code - 0xDC00:02X}>" if 0xDC80 <= code <= 0xDCFF else f"\\u{code:04x}"


def grid(trace: Trace) -> Iterator[str]:
    """Yield the lines of the token grid: for each step its drafts, the verdicts with their numbers, and the final draw."""
    tokens = trace.data["tokens"]
    for step in trace.data["steps"]:
        yield f"step {step['step']}: {_yield(step)}"
        for position, draft in enumerate(step["drafts"], start=1):
            yield f"  {position:>2} {_cell(draft['state'], tokens[str(draft['id'])])} {_numbers(draft)}"
        for final in finals_of(step):
            yield f"   = {_cell(final['kind'], tokens[str(final['id'])])} {_final_numbers(final, bool(step['drafts']))}"
    yield LEGEND


def _yield(step: Step) -> str:
    if not step["drafts"]:
        return "1 token for one target pass (nothing drafted)"
    accepted = sum(draft["state"] == "accepted" for draft in step["drafts"])
    emitted = accepted + len(finals_of(step))
    return f"{emitted} token{'s' if emitted != 1 else ''} for one target pass ({accepted} of {step['k']} drafts accepted)"


def _cell(state: str, text: str) -> str:
    token = visible(text)
    token = token if len(token) <= LONGEST_TOKEN else token[: LONGEST_TOKEN - 1] + "…"
    return f"{GLYPHS[state]} {token:<{LONGEST_TOKEN}}"


def _numbers(draft: DraftCell) -> str:
    (q,) = written(draft["q"])
    if draft["coin"] is None or draft["p"] is None:
        return f"q {q}"
    sign = "<" if draft["state"] == "accepted" else "≥"
    (p,) = written(draft["p"])
    coin, ratio = written(draft["coin"], min(1.0, draft["p"] / draft["q"]) if draft["q"] else 1.0)
    return f"q {q}  p {p}  coin {coin} {sign} min(1, p/q) {ratio}"


def _final_numbers(final: FinalCell, drafted: bool) -> str:
    if final["kind"] == "residual":
        return f"drawn from norm(max(0, p − q)), mass {written(known(final['mass']))[0]}"
    return f"p {written(final['p'])[0]}" + ("" if drafted else "  the target's own draw, nothing drafted")


def written(*numbers: float) -> list[str]:
    """Return numbers with three digits, or as many as it takes to see which is the smaller, and which is not 0 and not 1.

    >>> written(0.5, 0.50001), written(0.9997)
    (['0.50000', '0.50001'], ['0.9997'])
    """
    for digits in range(3, 17):
        texts = [f"{number:.{digits}f}" for number in numbers]
        pairs = combinations([*zip(numbers, map(float, texts), strict=True), (0.0, 0.0), (1.0, 1.0)], 2)
        if all((one == other) == (seen == also) for (one, seen), (other, also) in pairs):
            return texts
    return [repr(number) for number in numbers]


def summary(trace: Trace) -> Iterator[str]:
    """Yield the lines of a run's figures, each with its definition; what was not measured is said to be so."""
    figures = trace.metrics
    yield f"{figures['tokens']} tokens, {figures['target_passes']} target passes, {figures['draft_passes']} draft passes; stopped: {trace.data['stop']}"
    yield from rereads(trace)
    expected = _figure(figures["expected_tokens_per_pass"])
    yield f"tokens per target pass {_figure(figures['tokens_per_pass'])} (theory at this acceptance rate: {expected})"
    yield (
        f"acceptance rate {_figure(figures['acceptance_examined'])} of {figures['examined']} examined, "
        f"{_figure(figures['acceptance_drafted'])} of {figures['drafted']} drafted, "
        f"mean overlap Σ min(p, q) {_figure(figures['overlap_mean'])}"
    )
    yield f"speedup modelled {_speedup(figures, 'modelled')}, measured {_speedup(figures, 'measured')}"
    for doubt in dict.fromkeys(figures[f"speedup_{kind}_doubt"] for kind in ("modelled", "measured")):
        if doubt:
            yield f"in doubt: {doubt}"


def _speedup(figures: Mapping[str, Any], kind: str) -> str:
    """Return a speedup with its bounds, where there are some."""
    value, low, high = (figures[f"speedup_{kind}{what}"] for what in ("", "_low", "_high"))
    bounds = "" if low is None else f" ({' to '.join(written(low, high))})"
    return f"{_figure(value, '×')}{bounds}"


def _figure(value: float | None, unit: str = "") -> str:
    return "not measured" if value is None else f"{written(value)[0]}{unit}"


def rereads(trace: Trace) -> Iterator[str]:
    """Say which model has no memory that can be cut back, where there is one."""
    weights = trace.data["weights"]
    sides = {} if weights is None else {"target": weights["target"], "draft": weights["draft"]}
    for name, side in sides.items():
        if side and side.get("cache") == "recompute":
            yield f"the {name}'s memory can't be cut back: each of its passes reads the whole text again"
