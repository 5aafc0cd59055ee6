"""The figures as Markdown, for the shell and for docs/bench.md alike."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

NAMES = {
    "engine_overhead": "share of our time outside the forwards, K = {k}",
    "vs_floor": "speed against the forwards alone, K = {k}",
    "vs_plain_loop": "speed against our plain loop, K = {best_k}",
    "possible": "the closed form's speedup, K = {best_k}",
    "of_possible": "share of it reached",
    "vs_transformers_generate": "our plain loop's speed against `transformers` generate",
    "vs_transformers_assisted": "speed against `transformers` assisted, same draft, K = {k}",
    "acceptance": "accepted / examined drafts, K = {k}",
    "tokens_per_pass": "tokens per target pass, K = {k}",
    "draft_cost": "a draft forward, in one-row target passes (c)",
    "verify_cost": "a pass over {rows} rows, in the same (v)",
    "step_ms": "a step, ms, K = {k}",
    "rest_ms": "of it outside the forwards, ms",
}


def table(report: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of a report: machine and settings, then for each pair its loops, its figures and its notes."""
    yield f"{report['machine']}."
    yield from _pair(report)
    if report["tiny"] is not None:
        yield ""
        yield from _pair(report["tiny"])


def _pair(one: dict[str, Any]) -> Iterator[str]:
    yield (
        f"{one['pair']} with {one['draft']}, {one['dtype']}: K {one['k']}, temperature {one['temperature']:g}, top-k {one['top_k']}, "
        f"top-p {one['top_p']:g}, at most {one['tokens']} tokens on each of {one['prompts']} prompts. Median (low to high)."
    )
    yield ""
    loops = [
        (
            name,
            number(each["tokens_per_second"]),
            number(each["pass_ms"]),
            f"{each['tokens']} / {each['passes']}",
        )
        for name, each in one["loops"].items()
    ]
    yield from _aligned([("loop", "tokens per second", "ms a target pass", "tokens / passes"), *loops])
    yield ""
    names = {"k": one["k"], "best_k": one["best_k"], "rows": one["k"] + 1}
    rows = [(words.format(**names), number(one[name])) for name, words in NAMES.items()]
    yield from _aligned([("figure", "value"), *rows])
    for note in one["notes"]:
        yield ""
        yield f"{note[0].upper()}{note[1:]}."


def number(value: dict[str, float] | None) -> str:
    """Return a median with its low and high, or that nothing was measured."""
    if value is None:
        return "not measured"
    median, low, high = (
        f"{value[name]:{',.0f' if value[name] >= 1000 else '.3g'}}" for name in ("median", "low", "high")
    )
    return f"{median} ({low} to {high})"


def _aligned(rows: list[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in rows
    ]
    yield lines[0]
    yield "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    yield from lines[1:]
