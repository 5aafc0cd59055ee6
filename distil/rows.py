"""The teacher's rows: text drawn by the target, with its likeliest next tokens, as shards on disk and as one prepared file."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np


@dataclass
class Rows:
    """Rows of text one after the other: row i is `tokens[start[i]:start[i + 1]]`, its first `prompt_len[i]` ids the prompt.

    `top_ids[j]`, `top_logp[j]`: the target's likeliest *next* tokens after index j with their log-probabilities at
    temperature 1, -inf where none was recorded (inside prompts, at a row's end). Ids are the target's until `prepare`
    translates `top_ids` (and `drawn`) into the head's, where -1 means "not in the head". `chat[i]`: through the template?
    """

    tokens: np.ndarray
    start: np.ndarray
    prompt_len: np.ndarray
    top_ids: np.ndarray
    top_logp: np.ndarray
    chat: np.ndarray

    def __len__(self) -> int:
        return len(self.prompt_len)

    def row(self, i: int) -> slice:
        return slice(int(self.start[i]), int(self.start[i + 1]))

    def scored(self, i: int) -> slice:
        """Where row i has the target's opinion: from its prompt's last token to its last token but one."""
        return slice(int(self.start[i]) + int(self.prompt_len[i]) - 1, int(self.start[i + 1]) - 1)

    def prompt(self, i: int) -> np.ndarray:
        return self.tokens[self.start[i] : self.start[i] + self.prompt_len[i]]

    def take(self, indices: np.ndarray) -> Rows:
        """The rows named by `indices`, in that order."""
        parts = [self.row(i) for i in indices]
        pick = np.concatenate([np.arange(p.start, p.stop) for p in parts]) if parts else np.zeros(0, np.int64)
        start = np.concatenate([[0], np.cumsum([p.stop - p.start for p in parts])]).astype(np.int64)
        return Rows(
            self.tokens[pick],
            start,
            self.prompt_len[indices],
            self.top_ids[pick],
            self.top_logp[pick],
            self.chat[indices],
        )


def join(parts: list[Rows]) -> Rows:
    """All rows of several, one after the other."""
    shift = np.cumsum([0] + [len(part.tokens) for part in parts])
    joined = {f.name: np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(Rows)}
    joined["start"] = np.concatenate(
        [part.start[:-1] + by for part, by in zip(parts, shift, strict=False)] + [shift[-1:]]
    )
    return Rows(**joined)


def read_shards(folder: Path, chat_start: list[int]) -> Rows:
    """Every `part-*.npz` of `folder`; a row is chat if it begins with `chat_start`, the ids that the template opens with."""
    files = sorted(folder.glob("part-*.npz"))
    if not files:
        raise SystemExit(f"No part-*.npz in {folder}: draw some with `python -m distil.sample` first.")
    shards = [np.load(f) for f in files]
    lengths = np.concatenate([np.diff(s["start"].astype(np.int64)) for s in shards])
    tokens = np.concatenate([s["tokens"] for s in shards]).astype(np.int32)
    start = np.concatenate([[0], np.cumsum(lengths)])
    head = len(chat_start)
    chat = np.array([tokens[a : a + head].tolist() == chat_start for a in start[:-1]])
    return Rows(
        tokens=tokens,
        start=start,
        prompt_len=np.concatenate([s["prompt_len"] for s in shards]).astype(np.int32),
        top_ids=np.concatenate([s["top_ids"] for s in shards]).astype(np.int32),
        top_logp=np.concatenate([s["top_logp"] for s in shards]),
        chat=chat,
    )


def cut(rows: Rows, length: int) -> Rows:
    """The rows with at most `length` tokens after each prompt."""
    ends = np.minimum(rows.start[1:], rows.start[:-1] + rows.prompt_len + length)
    pick = np.concatenate([np.arange(a, b) for a, b in zip(rows.start[:-1], ends, strict=True)])
    start = np.concatenate([[0], np.cumsum(ends - rows.start[:-1])])
    return replace(
        rows, tokens=rows.tokens[pick], start=start, top_ids=rows.top_ids[pick], top_logp=rows.top_logp[pick]
    )


def held_out(rows: Rows, one_in: int) -> np.ndarray:
    """Which rows are kept from training: all rows of a prompt or none, one prompt in `one_in`, chosen by a checksum."""
    return np.array(
        [zlib.crc32(rows.prompt(i).astype("<i4").tobytes()) % one_in == 0 for i in range(len(rows))]
    )


def save_rows(path: Path, rows: Rows, **extra: np.ndarray) -> None:
    np.savez(path, **{f.name: getattr(rows, f.name) for f in fields(rows)}, **extra)


def load_rows(path: Path) -> tuple[Rows, dict[str, np.ndarray]]:
    """The rows of a prepared file and whatever else it holds."""
    data = dict(np.load(path))
    rows = Rows(**{f.name: data.pop(f.name) for f in fields(Rows)})
    return rows, data
