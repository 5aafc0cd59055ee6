"""A short hash of what a run gave, so that two machines can tell whether they ran the same, and from which step on not.

Hashed are the outcomes alone: every drafted id with its state, every final draw, why the run stopped. The numbers behind
them differ in their last digits from machine to machine and would make equal runs look different.
"""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64encode

from specviz.record.shape import Outcome, TraceData, finals_of

# The steps after which a character stands for everything up to there: each one at first, then further apart.
CHECKPOINTS = (*range(1, 33), 36, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256)
WHOLE = 8  # characters of the hash of the whole run


def fingerprint(data: TraceData) -> str:
    """Return a run's fingerprint: 8 characters for all of it, a dot, one for the run up to each checkpoint it reached.

    Characters are those of base64url, six bits each; at most 54 in all. Of two runs that part at a checkpoint, one in 64
    has the same character there by chance, and seems to part at the next one.

    >>> from specviz import decode, load_pair
    >>> trace = decode(load_pair("toy"), "1 15 42", k=4, max_new_tokens=8)
    >>> fingerprint(trace.data) == fingerprint(trace.data | {"run_id": "another", "machine": "another"})
    True
    """
    running = hashlib.sha256()
    characters = []
    for step in data["steps"]:
        running.update(_outcome(step).encode())
        if step["step"] in CHECKPOINTS:
            characters.append(_base64(running.digest())[0])
    running.update(data["stop"].encode())
    return f"{_base64(running.digest())[:WHOLE]}.{''.join(characters)}"


def _outcome(step: Outcome) -> str:
    drafts = [f"{draft['id']} {draft['state']}" for draft in step["drafts"]]
    finals = [f"{final['id']} {final['kind']}" for final in finals_of(step)]
    return f"{', '.join(drafts)}; {', '.join(finals)}\n"


def _base64(digest: bytes) -> str:
    return urlsafe_b64encode(digest).decode()
