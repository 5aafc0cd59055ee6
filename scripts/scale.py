"""Measure what a token costs as the context, K and the vocabulary grow, and how much memory it takes, and draw it.

python -m scripts.scale --json docs/scale.json --png docs/scale.png        # about five minutes on two cores

Context and K: the default pair, on chat prompts for K, on the held-out prompts one after the other for the context.
Vocabulary: random weights in the default target's shape, with its first two layers as the draft. Every point is measured
in a process of its own, so that its memory is its own.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import resource
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from PIL import Image, ImageDraw, ImageFont

from specviz.__main__ import quiet
from specviz.decoding.options import DEFAULT_K, DEFAULT_SEED, encode
from specviz.decoding.sampling import Sampling
from specviz.models.devices import best_dtype
from specviz.models.loaded import wrap
from specviz.models.pairs import Pair, load_pair
from specviz.speed.bench.engines import Timed, Workload, plain_loop, speculative_loop
from specviz.speed.bench.prompts import TEXTS, random_ids
from specviz.speed.held_out import held_out_prompts

WORK = Workload(Sampling(), 64, DEFAULT_SEED)
VALUES = {
    "context": (64, 256, 1024, 2048, 4000),
    "k": (1, 2, 3, 4, 6, 8, 12, 16),
    "vocabulary": (32_000, 49_152, 152_000),
}
TITLES = {
    "context": "context, tokens",
    "k": "draft length K",
    "vocabulary": "vocabulary, ids (random weights)",
}
SHORT = Workload(Sampling(), 8, DEFAULT_SEED)


# --- measuring --------------------------------------------------------------------------------------------------------


def measure(point: tuple[str, int]) -> dict[str, Any]:
    """Measure one point: milliseconds a token of both loops, of ours also outside the forwards, and memory in MB."""
    quiet()
    kind, value = point
    pair = random_pair(value) if kind == "vocabulary" else load_pair()
    k = value if kind == "k" else DEFAULT_K
    prompts = {"context": lambda: [context(pair, value)], "k": lambda: chats(pair)}.get(
        kind, lambda: random_ids(value, 2)
    )()
    plain_loop(pair.target, prompts[0][:32], SHORT)
    speculative_loop(pair, k, prompts[0][:32], SHORT)
    plain = [plain_loop(pair.target, prompt, WORK) for prompt in prompts]
    ours = [speculative_loop(pair, k, prompt, WORK) for prompt in prompts]
    tokens = sum(run.tokens for run in ours)
    return {
        kind: value,
        "machine": pair.machine(),
        "dtype": pair.target.dtype,
        "plain_ms": per_token(plain),
        "speculative_ms": per_token(ours),
        "outside_ms": sum(run.ms * run.overhead for run in ours) / tokens,
        "tokens_per_pass": tokens / sum(run.passes for run in ours),
        "memory_mb": resident_mb(),
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def per_token(runs: Sequence[Timed]) -> float:
    return sum(run.ms for run in runs) / sum(run.tokens for run in runs)


def chats(pair: Pair) -> list[list[int]]:
    return [encode(pair.target, text, None)[0] for text in TEXTS[:3]]


def context(pair: Pair, length: int) -> list[int]:
    """Return `length` ids of the held-out prompts, one a line, again from the first where they are used up."""
    text = "\n".join(prompt.text for prompt in held_out_prompts())
    ids = encode(pair.target, text, False)[0]
    return (ids * (length // len(ids) + 1))[:length]


def random_pair(vocab: int) -> Pair:
    """Return random weights in the shape of SmolLM2 135M with another vocabulary, and its first two layers as a draft."""
    from transformers import LlamaConfig, LlamaForCausalLM

    shape = {
        "hidden_size": 576,
        "intermediate_size": 1536,
        "num_attention_heads": 9,
        "num_key_value_heads": 3,
    }
    ids = {"vocab_size": vocab, "bos_token_id": None, "eos_token_id": None, "pad_token_id": None}
    torch.manual_seed(0)
    target = LlamaForCausalLM(LlamaConfig(num_hidden_layers=30, tie_word_embeddings=True, **shape, **ids))
    with torch.device("meta"):  # none of its own weights is used
        draft = LlamaForCausalLM(LlamaConfig(num_hidden_layers=2, tie_word_embeddings=True, **shape, **ids))
    target = target.to(best_dtype("cpu"))
    draft.lm_head = target.lm_head
    for name in ("embed_tokens", "norm", "rotary_emb"):
        setattr(draft.model, name, getattr(target.model, name))
    draft.model.layers = target.model.layers[:2]
    return Pair("random", wrap(target, name="random"), wrap(draft, name="random-draft"), "model")


def resident_mb() -> float:
    """Return the megabytes that this process holds now."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def measure_all() -> dict[str, Any]:
    """Measure every point, each in a new process, and return the figures by what grows."""
    points = [(kind, value) for kind, values in VALUES.items() for value in values]
    found: dict[str, Any] = {kind: [] for kind in VALUES}
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        for (kind, value), each in zip(points, pool.imap(measure, points), strict=True):
            print(f"{kind} {value}: {each['speculative_ms']:.1f} ms a token", file=sys.stderr, flush=True)
            facts = {name: each.pop(name) for name in ("machine", "dtype")}
            found[kind].append(each)
    settings = {"k": DEFAULT_K, "temperature": WORK.sampling.temperature, "tokens": WORK.tokens}
    return {"settings": settings | facts} | found


# --- drawing ----------------------------------------------------------------------------------------------------------

WIDTH, HEIGHT, MARGIN, GAP = 1500, 900, 80, 110
TOP, BOTTOM = 110, 80
INK, GRID, PAPER = "#222222", "#dddddd", "#ffffff"
TIMES = {
    "plain_ms": ("plain loop", "#0072B2"),
    "speculative_ms": ("speculative loop", "#E69F00"),
    "outside_ms": ("of it outside the forwards", "#222222"),
}
MEMORY = {"memory_mb": ("memory", "#555555")}


def draw(found: dict[str, Any]) -> Image.Image:
    """Draw milliseconds a token above and megabytes below, each against the context, K and the vocabulary."""
    picture = Image.new("RGB", (WIDTH, HEIGHT), PAPER)
    pen = ImageDraw.Draw(picture)
    facts = found["settings"]
    heading = f"{facts['machine']}, {facts['dtype']}; temperature {facts['temperature']}, K {facts['k']} where it is not on the axis"
    pen.text((MARGIN, 14), heading, fill=INK, font=font(18))
    x = MARGIN
    for name, colour in [*TIMES.values()]:
        pen.line([(x, 58), (x + 34, 58)], fill=colour, width=4)
        pen.text((x + 44, 58), name, fill=INK, font=font(18), anchor="lm")
        x += 90 + pen.textlength(name, font=font(18))
    wide = (WIDTH - 2 * MARGIN - 2 * GAP) / 3
    high = (HEIGHT - TOP - BOTTOM - GAP) / 2
    for row, (series, unit) in enumerate(((TIMES, "ms a token"), (MEMORY, "MB of memory, whole process"))):
        most = max(each[key] for kind in VALUES for each in found[kind] for key in series) * 1.08
        for column, kind in enumerate(VALUES):
            corner = (MARGIN + column * (wide + GAP), TOP + row * (high + GAP))
            panel(pen, corner, (wide, high), found[kind], kind, series, unit, most)
    return picture


def panel(
    pen: ImageDraw.ImageDraw,
    corner: tuple[float, float],
    size: tuple[float, float],
    points: list[dict[str, float]],
    kind: str,
    series: dict[str, tuple[str, str]],
    unit: str,
    most: float,
) -> None:
    """Draw one chart: values side by side to the right, 0 to `most` upwards."""
    left, top = corner
    bottom = top + size[1]
    step = nice(most / 4)
    for level in range(int(most / step) + 1):
        y = bottom - size[1] * level * step / most
        pen.line([(left, y), (left + size[0], y)], fill=GRID)
        pen.text((left - 10, y), f"{level * step:,.0f}", fill=INK, font=font(16), anchor="rm")
    places = [left + size[0] * (index + 0.5) / len(points) for index in range(len(points))]
    for x, point in zip(places, points, strict=True):
        pen.text((x, bottom + 10), f"{point[kind]:,}", fill=INK, font=font(16), anchor="ma")
    for key, (_, colour) in series.items():
        line = [(x, bottom - size[1] * point[key] / most) for x, point in zip(places, points, strict=True)]
        pen.line(line, fill=colour, width=3, joint="curve")
        for x, y in line:
            pen.ellipse([x - 4, y - 4, x + 4, y + 4], fill=colour)
    pen.text((left, top - 8), unit, fill=INK, font=font(16), anchor="lb")
    pen.text((left + size[0] / 2, bottom + 36), TITLES[kind], fill=INK, font=font(18), anchor="ma")


def nice(step: float) -> float:
    """Return the next of 1, 2, 5, 10, 20, ... that is at least `step`."""
    size = 10.0 ** math.floor(math.log10(step))
    return next(size * factor for factor in (1, 2, 5, 10) if size * factor >= step)


def font(size: int) -> Any:
    return ImageFont.load_default(size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, required=True, help="where the figures go")
    parser.add_argument("--png", type=Path, required=True, help="where the picture goes")
    parser.add_argument("--draw", action="store_true", help="only draw the figures that --json holds")
    arguments = parser.parse_args()
    if not arguments.draw:
        arguments.json.write_text(json.dumps(measure_all(), indent=1) + "\n")
    draw(json.loads(arguments.json.read_text())).save(arguments.png, optimize=True)


if __name__ == "__main__":
    main()
