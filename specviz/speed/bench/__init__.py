"""Measure the engine on this machine against `transformers`, against its own plain loop and against its forwards alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from specviz.decoding.options import DEFAULT_K, DEFAULT_SEED, RunOptions, encode
from specviz.decoding.sampling import Sampling
from specviz.errors import SpecVizError
from specviz.models.pairs import Pair
from specviz.speed.bench.engines import Workload
from specviz.speed.bench.loops import measure
from specviz.speed.bench.prompts import TEXTS, random_ids
from specviz.speed.bench.ratios import figures
from specviz.speed.bench.table import table
from specviz.speed.bench.tiny import tiny_pair

__all__ = ["BENCH_TOKENS", "bench", "table"]

BENCH_TOKENS = 128


def bench(
    pair: Pair,
    *,
    k: int = DEFAULT_K,
    sampling: Sampling | None = None,
    tokens: int = BENCH_TOKENS,
    seed: int = DEFAULT_SEED,
    prompts: Sequence[str | Sequence[int]] | None = None,
    progress: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """Measure a pair and, under `tiny`, one so small that the engines' own time dominates; see `ratios` for the figures.

    `prompts` are texts or token ids; by default eight texts, for the toy eight lists of its ids. Raises
    SpecVizError where K is 0 or an option is out of range.
    """
    asked = RunOptions(k=k, max_new_tokens=tokens, sampling=sampling or Sampling(), seed=seed)
    if asked.k == 0:
        raise SpecVizError("The bench measures drafting: K must be at least 1.")
    work = Workload(asked.sampling, asked.max_new_tokens, asked.seed)
    if prompts is None:
        prompts = random_ids(pair.target.vocab) if pair.target.model is None else TEXTS
    ids = [encode(pair.target, prompt, None)[0] for prompt in prompts]
    tiny = tiny_pair(pair.target.device)
    return {
        "machine": pair.machine(),
        "threads": torch.get_num_threads(),
        **_report(pair, ids, k, work, progress),
        "tiny": _report(tiny, random_ids(tiny.target.vocab, len(ids)), k, work, progress),
    }


def _report(
    pair: Pair, prompts: Sequence[Sequence[int]], k: int, work: Workload, progress: Callable[[str], None]
) -> dict[str, Any]:
    return {
        "pair": pair.name,
        "draft": pair.draft_name,
        "dtype": pair.target.dtype,
        "k": k,
        "temperature": work.sampling.temperature,
        "top_k": work.sampling.top_k,
        "top_p": work.sampling.top_p,
        "seed": work.seed,
        "tokens": work.tokens,
        "prompts": len(prompts),
        **figures(measure(pair, prompts, k, work, progress), k),
    }
