"""Draw text from a target with its likeliest next tokens, for a draft to learn from.

    python -m distil.sample --target FOLDER --out samples --seed 10 --minutes 30

Writes samples/part-SSNNNN.npz (SS: seed), see distil.rows. Run again with the same seed it goes on after the last shard. Several
processes side by side, each with a seed of its own and OMP_NUM_THREADS=1, use several cores.
"""

from __future__ import annotations

import argparse
import os
import random
import time
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, DynamicCache

from distil.prepare import end_ids
from distil.prompts import prompt

TOP = 8
TEMPERATURES = (0.6, 0.8, 0.8, 1.0)  # a row is drawn at one of these


def encoded(tokenizer, text: str) -> list[int]:
    """A prompt's ids, through the chat template where there is one."""
    if not tokenizer.chat_template:
        return tokenizer(text)["input_ids"]
    message = [{"role": "user", "content": text}]
    return tokenizer.apply_chat_template(message, add_generation_prompt=True, return_dict=True)["input_ids"]


def draw(logits: torch.Tensor, temperatures: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """One id a row [rows] from logits [rows, V], by inverse CDF at each row's temperature [rows, 1]."""
    ends = torch.softmax(logits / temperatures, -1).double().cumsum(-1)
    u = torch.rand(len(logits), 1, generator=generator, dtype=torch.float64) * ends[:, -1:]
    return torch.searchsorted(ends, u, right=True).clamp_(max=logits.shape[-1] - 1)[:, 0]


@torch.inference_mode()
def continue_rows(
    model,
    prompts: list[list[int]],
    temperatures: torch.Tensor,
    length: int,
    stop: set[int],
    generator: torch.Generator,
) -> list[tuple[list[int], np.ndarray, np.ndarray]]:
    """For each prompt, what the target wrote (at most `length` ids, its end token included), and at each place its top ids
    [n, TOP] and their log-probabilities at temperature 1."""
    width = max(map(len, prompts))
    ids = torch.zeros(len(prompts), width, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for row, known in enumerate(prompts):
        ids[row, width - len(known) :] = torch.tensor(known)
        mask[row, width - len(known) :] = 1
    place = (mask.cumsum(1) - 1).clamp_(min=0)
    cache = DynamicCache(config=model.config)
    alive = list(range(len(prompts)))
    written: list[list[int]] = [[] for _ in prompts]
    tops: list[list[tuple[np.ndarray, np.ndarray]]] = [[] for _ in prompts]
    for _ in range(length):
        out = model(
            input_ids=ids,
            attention_mask=mask,
            position_ids=place,
            cache=cache,
            use_cache=True,
            logits_to_keep=1,
        )
        logits = out.logits[:, -1].float()
        top = logits.topk(TOP, -1)
        logp = (top.values - torch.logsumexp(logits, -1, keepdim=True)).numpy()
        new = draw(logits, temperatures, generator)
        for r, row in enumerate(alive):
            written[row].append(int(new[r]))
            tops[row].append((top.indices[r].numpy(), logp[r]))
        keep = torch.tensor([r for r, token in enumerate(new.tolist()) if token not in stop])
        if not len(keep):
            break
        if len(keep) < len(alive):
            cache.batch_select_indices(keep)
            alive = [alive[r] for r in keep.tolist()]
            new, mask, place, temperatures = new[keep], mask[keep], place[keep], temperatures[keep]
        ids = new[:, None]
        mask = torch.cat([mask, torch.ones_like(ids)], 1)
        place = place[:, -1:] + 1
    return [
        (w, np.array([i for i, _ in t]), np.array([p for _, p in t]))
        for w, t in zip(written, tops, strict=True)
    ]


def save_shard(
    path: Path, prompts: list[list[int]], rows: list[tuple[list[int], np.ndarray, np.ndarray]]
) -> int:
    """Write one shard atomically; returns how many tokens the target wrote."""
    lengths = [len(known) + len(written) for known, (written, _, _) in zip(prompts, rows, strict=True)]
    start = np.cumsum([0, *lengths])
    top_ids = np.zeros((start[-1], TOP), np.int32)
    top_logp = np.full((start[-1], TOP), -np.inf, np.float16)
    tokens: list[int] = []
    for known, begin, (written, ids, logp) in zip(prompts, start[:-1], rows, strict=True):
        at = slice(begin + len(known) - 1, begin + len(known) - 1 + len(written))
        top_ids[at], top_logp[at] = ids, logp
        tokens += [*known, *written]
    partial = path.with_suffix(".partial")
    with partial.open("wb") as file:
        np.savez_compressed(
            file,
            tokens=np.array(tokens, np.int32),
            start=start.astype(np.uint32),
            prompt_len=np.array([len(known) for known in prompts], np.int32),
            top_ids=top_ids,
            top_logp=top_logp,
        )
    os.replace(partial, path)
    return sum(len(written) for written, _, _ in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--target", type=Path, required=True, help="folder with the target's safetensors and tokenizer"
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--rows", type=int, default=64, help="prompts at a time")
    parser.add_argument("--length", type=int, default=128, help="tokens to write after a prompt, at most")
    args = parser.parse_args()

    tokenizer = AutoTokenizer.from_pretrained(args.target)
    model = AutoModelForCausalLM.from_pretrained(args.target).eval()
    stop = set(end_ids(tokenizer, model))
    args.out.mkdir(parents=True, exist_ok=True)
    part = len(list(args.out.glob(f"part-{args.seed:02d}[0-9][0-9][0-9][0-9].npz")))
    begun, total = time.monotonic(), 0
    while time.monotonic() - begun < args.minutes * 60:
        rng = random.Random(args.seed * 10_000 + part)
        prompts = [encoded(tokenizer, prompt(rng)[1]) for _ in range(args.rows)]
        temperatures = torch.tensor([[rng.choice(TEMPERATURES)] for _ in prompts])
        generator = torch.Generator().manual_seed(args.seed * 10_000 + part)
        rows = continue_rows(model, prompts, temperatures, args.length, stop, generator)
        total += save_shard(args.out / f"part-{args.seed:02d}{part:04d}.npz", prompts, rows)
        part += 1
        print(f"{part} shards, {total} tokens, {total / (time.monotonic() - begun):.0f} a second", flush=True)


if __name__ == "__main__":
    main()
