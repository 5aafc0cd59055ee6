"""Turn shards of teacher text into what training reads: `train.npz`, `heldout.npz`, `head.npz`.

    python -m distil.prepare --target FOLDER --samples SHARDS [MORE=3 ...] --out prepared

Chooses the head's ids (the most used, by the target's own probabilities), translates the teacher's ids into the head's, weights the
rows so that the six kinds of prompt count alike, and sets aside all rows of one prompt in forty. For some of those, of all kinds, the
target is run once more and its logits over the head are kept, so that the held-out overlap is over the full vocabulary: outside the
head q is 0.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from distil.prompts import KINDS, NEAR, kind_of, near_held_out
from distil.rows import Rows, cut, held_out, join, read_shards, save_rows

TEMPERATURES = (0.8, 1.0)
ASIDE = 0.3  # weight of a row that is no chat: a raw opening, where the target wanders
LIGHTEST, HEAVIEST = 0.4, 3.0  # a kind's weight stays between these


def template_start(tokenizer) -> list[int]:
    """The ids that every chat prompt of this tokenizer begins with ([-1], which matches nothing, without a template)."""
    if not tokenizer.chat_template:
        return [-1]
    a, b = (
        tokenizer.apply_chat_template(
            [{"role": "user", "content": text}], add_generation_prompt=True, tokenize=True, return_dict=True
        )["input_ids"]
        for text in ("apple", "Zebra")
    )
    same = 0
    while a[same] == b[same]:
        same += 1
    return list(a[:same])


def end_ids(tokenizer, model) -> list[int]:
    """Every id that may end a text: the configuration's and the tokenizer's."""
    listed = model.generation_config.eos_token_id
    ids = set(listed if isinstance(listed, list) else [listed]) | {tokenizer.eos_token_id}
    ids |= {i for t in ("<|im_end|>", "<|endoftext|>") if (i := tokenizer.get_vocab().get(t)) is not None}
    return sorted(i for i in ids if i is not None)


def choose_head(rows: Rows, weights: np.ndarray, vocabulary: int, size: int, always: list[int]) -> np.ndarray:
    """The `size` target ids with the most teacher probability in weighted rows, ascending, `always` among them; int64 [size]."""
    mass = np.zeros(vocabulary)
    weight = np.repeat(weights, np.diff(rows.start))[:, None]
    np.add.at(mass, rows.top_ids.ravel(), (weight * np.exp(rows.top_logp.astype(np.float64))).ravel())
    mass[always] = np.inf
    return np.sort(np.argsort(-mass, kind="stable")[:size]).astype(np.int64)


def to_head(ids: np.ndarray, id_map: np.ndarray, vocabulary: int) -> np.ndarray:
    """Target ids as head ids, -1 where the head has none."""
    inverse = np.full(vocabulary, -1, np.int32)
    inverse[id_map] = np.arange(len(id_map), dtype=np.int32)
    return inverse[ids]


def kinds(rows: Rows, tokenizer) -> np.ndarray:
    """The kind of each row's prompt, by the user's words alone where there is a template."""
    before = len(template_start(tokenizer))
    return np.array(
        [kind_of(tokenizer.decode(rows.prompt(i)[before * rows.chat[i] :])) for i in range(len(rows))]
    )


def row_weights(rows: Rows, kind: np.ndarray) -> np.ndarray:
    """How often each row is used in an epoch, on average: as much as makes its kind count for a sixth of the scored text."""
    scored = np.diff(rows.start) - rows.prompt_len
    weights = np.full(len(rows), ASIDE)
    for name in KINDS:
        these = rows.chat & (kind == name)
        share = scored[these].sum() / scored[rows.chat].sum()
        weight = float(np.clip(1 / len(KINDS) / max(share, 1e-9), LIGHTEST, HEAVIEST))
        weights[these] = weight
        print(f"{name}: {these.sum()} chat rows, {share:.1%} of the scored text, weight {weight:.2f}")
    return weights


def spread_over_kinds(kind: np.ndarray, size: int) -> np.ndarray:
    """`size` indices, as equally many of each kind as there are."""
    turn = np.zeros(len(kind), int)
    for name in set(kind):
        turn[kind == name] = np.arange((kind == name).sum())
    return np.sort(np.argsort(turn, kind="stable")[:size])


def nearest_prompt(rows: Rows, tokenizer) -> tuple[float, str]:
    """How near the rows' prompts come to the 200 prompts that a draft is judged by, 1 being the same text; and which one does."""
    return max(
        (near_held_out(text), text) for text in {tokenizer.decode(rows.prompt(i)) for i in range(len(rows))}
    )


@torch.inference_mode()
def target_rows(model, rows: Rows, id_map: np.ndarray) -> dict[str, np.ndarray]:
    """The target's law at every scored position: logits over the head [n, H] float16, log-normalisers [n, temperatures],
    and the best id's head id (-1 outside); the held-out measure needs no more."""
    logits, normaliser, best = [], [], []
    pick = torch.from_numpy(id_map)
    for i in range(len(rows)):
        ids = torch.from_numpy(rows.tokens[rows.row(i)].astype(np.int64))[None]
        keep = int(rows.start[i + 1] - rows.start[i] - rows.prompt_len[i] + 1)
        z = model(input_ids=ids, logits_to_keep=keep).logits[0, :-1].float()
        z = z - z.max(-1, keepdim=True).values
        logits.append(z[:, pick].half().numpy())
        normaliser.append(torch.stack([torch.logsumexp(z / t, -1) for t in TEMPERATURES], -1).numpy())
        best.append(z.argmax(-1).numpy())
    return {
        "logits": np.concatenate(logits),
        "normaliser": np.concatenate(normaliser),
        "best": to_head(np.concatenate(best), id_map, model.config.vocab_size),
    }


def weighted_folder(text: str) -> tuple[Path, float]:
    """FOLDER or FOLDER=WEIGHT."""
    folder, _, weight = text.partition("=")
    return Path(folder), float(weight or 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--target", type=Path, required=True, help="folder with the target's safetensors and tokenizer"
    )
    parser.add_argument(
        "--samples",
        type=weighted_folder,
        nargs="+",
        required=True,
        metavar="FOLDER[=WEIGHT]",
        help="folders with part-*.npz, and how often their rows are used in a pass (1)",
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--head", type=int, default=8192, help="rows of the draft's output head")
    parser.add_argument("--length", type=int, default=128, help="tokens of a row used, after its prompt")
    parser.add_argument(
        "--held-out-rows", type=int, default=96, help="chat rows that the target scores again"
    )
    parser.add_argument("--held-out-length", type=int, default=64, help="tokens of each, after its prompt")
    args = parser.parse_args()

    tokenizer = AutoTokenizer.from_pretrained(args.target)
    model = AutoModelForCausalLM.from_pretrained(args.target).eval()
    parts = [read_shards(folder, template_start(tokenizer)) for folder, _ in args.samples]
    rows = cut(join(parts), args.length)
    uses = np.concatenate(
        [np.full(len(part), use) for part, (_, use) in zip(parts, args.samples, strict=True)]
    )
    nearness, prompt = nearest_prompt(rows, tokenizer)
    print(f"The prompt nearest to a held-out one has {nearness:.2f} of its word pairs: {prompt!r}")
    if nearness >= NEAR:
        raise SystemExit(
            "The draft would be judged by a prompt that it was trained on: take that one out of the samples."
        )

    kind, out = kinds(rows, tokenizer), held_out(rows, one_in=40)
    train = rows.take(np.flatnonzero(~out))
    weights = uses[~out] * row_weights(train, kind[~out])
    aside = np.flatnonzero(out & rows.chat)
    test = cut(rows.take(aside[spread_over_kinds(kind[aside], args.held_out_rows)]), args.held_out_length)

    vocabulary = model.config.vocab_size
    id_map = choose_head(train, weights, vocabulary, args.head, end_ids(tokenizer, model))
    args.out.mkdir(parents=True, exist_ok=True)
    np.savez(args.out / "head.npz", id_map=id_map)
    for name, part, extra in (("train", train, {"weight": weights}), ("heldout", test, {})):
        extra |= {"drawn": to_head(np.append(part.tokens[1:], 0), id_map, vocabulary)}
        part.top_ids = to_head(part.top_ids, id_map, vocabulary)
        if part is test:
            extra |= target_rows(model, test, id_map)
        save_rows(args.out / f"{name}.npz", part, **extra)
        print(f"{name}: {len(part)} rows ({int(part.chat.sum())} chat), {len(part.tokens)} tokens")


if __name__ == "__main__":
    main()
