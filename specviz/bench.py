"""Measure the engine on this machine: how much of its wall-clock is spent outside the models' forwards."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Any

from specviz.decoding import decode
from specviz.metrics import engine_overhead
from specviz.pairs import Pair

PROMPTS = (
    "Tell me a story about a lighthouse.",
    "Explain photosynthesis to a child.",
    "Write a list of five things to pack for a hike.",
    "Write a Python function that reverses a string.",
)
K, TOKENS, SEED = 4, 128, 7


def bench(pair: Pair) -> dict[str, Any]:
    """Run each prompt with K = 4 for 128 tokens, traces on, and return the figures as {median, low, high}.

    engine_overhead is the share of the steps' wall-clock outside the forwards, a ratio within one run; the first run
    of a process warms up and is not counted.
    """
    decode(pair, PROMPTS[0], k=K, max_new_tokens=16, seed=SEED)
    traces = [decode(pair, prompt, k=K, max_new_tokens=TOKENS, seed=SEED) for prompt in PROMPTS]
    figures = [trace.metrics for trace in traces]
    return {
        "pair": pair.name,
        "draft": pair.draft_name,
        "machine": pair.machine(),
        "dtype": pair.target.dtype,
        "k": K,
        "tokens": TOKENS,
        "prompts": len(PROMPTS),
        "engine_overhead": spread([engine_overhead(trace.data["steps"]) for trace in traces]),
        "rest_ms": spread([step["ms"]["rest"] for trace in traces for step in trace.data["steps"]]),
        "step_ms": spread([step["ms"]["step"] for trace in traces for step in trace.data["steps"]]),
        "acceptance": spread([each["acceptance_examined"] for each in figures]),
        "tokens_per_pass": spread([each["tokens_per_pass"] for each in figures]),
    }


def spread(values: list[float | None]) -> dict[str, float] | None:
    """Return {median, low, high} of what was measured, None where nothing was."""
    measured = [value for value in values if value is not None]
    if not measured:
        return None
    return {"median": statistics.median(measured), "low": min(measured), "high": max(measured)}


def table(figures: dict[str, Any]) -> Iterator[str]:
    """Yield the figures as lines for the shell: a median with its low and high, or what was not measured."""
    for name, value in figures.items():
        if isinstance(value, dict):
            yield f"{name:<16} {value['median']:.4g}  ({value['low']:.4g} to {value['high']:.4g})"
        else:
            yield f"{name:<16} {'not measured' if value is None else value}"
