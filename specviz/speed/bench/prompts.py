"""What the loops are given to go on from."""

from __future__ import annotations

import torch

# Chat models answer these at length, so that few runs end before their tokens are out.
TEXTS = (
    "Tell me a long story about a lighthouse.",
    "Explain photosynthesis to a child, step by step.",
    "Write a list of ten things to pack for a hike, and say why for each.",
    "Write a letter to a friend about a journey through Norway.",
    "Write a Python function that reverses a string, and explain every line.",
    "Describe how bread is made, from the field to the table.",
    "Tell me about the history of clocks.",
    "Write an essay about why people make music.",
)


def random_ids(vocab: int, count: int = len(TEXTS), length: int = 40) -> list[list[int]]:
    """Return `count` prompts for a model without words: `length` token ids each, the same on every call."""
    return torch.randint(vocab, (count, length), generator=torch.Generator().manual_seed(0)).tolist()
