"""The runs that the server has finished of late, so that a class on one link costs one run.

A run is known by everything that decides what comes out of it: its settings without the label, the weights' hashes, dtype
and device. Whoever asks for one that is being made waits for it; whoever asks first makes it.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterator
from threading import Lock

from specviz import Pair, Trace
from specviz.page.settings import Settings
from specviz.record.shape import STOPS

MOST_RUNS = 64
MOST_BYTES = 64_000_000
FINISHED = frozenset(STOPS) - {"stopped", "error"}
BEING_MADE = "Another visitor's run with the same settings is being made: it will be shown here too."


def key_of(settings: Settings, pair: Pair) -> str:
    """Return what two requests share exactly when they ask for the same run."""
    options, sampling = settings.options, settings.options.sampling
    chat = pair.target.has_template if options.chat is None else options.chat
    return json.dumps(
        {
            "prompt": settings.prompt, "pair": pair.name, "draft": [pair.draft_kind, pair.draft_name], "k": options.k,
            "temperature": sampling.temperature, "top_k": sampling.top_k, "top_p": sampling.top_p, "chat": chat,
            "max_new_tokens": options.max_new_tokens, "seed": options.seed, "weights": pair.weights(),
        }
    )  # fmt: skip


class Runs:
    """The latest finished runs as JSON text, bounded in number and bytes, and which others are being made.

    Every method may be called from any thread.
    """

    def __init__(self, most_runs: int = MOST_RUNS, most_bytes: int = MOST_BYTES) -> None:
        self._most_runs, self._most_bytes = most_runs, most_bytes
        self._texts: OrderedDict[str, str] = OrderedDict()
        self._bytes = 0
        self._being_made: set[str] = set()
        self._lock = Lock()

    def find(self, key: str) -> Trace | None:
        """Return a finished run, a copy of its own for each caller, or None."""
        with self._lock:
            text = self._texts.get(key)
            if text is not None:
                self._texts.move_to_end(key)
        return None if text is None else Trace(json.loads(text))

    def forget(self, key: str) -> None:
        """Drop a finished run, so that it is made again."""
        with self._lock:
            self._bytes -= len(self._texts.pop(key, ""))

    def begin(self, key: str) -> bool:
        """Whether the caller is to make the run, and then to `end` it; otherwise it is there, or somebody is making it."""
        with self._lock:
            if key in self._texts or key in self._being_made:
                return False
            self._being_made.add(key)
            return True

    def lines_until_settled(self, key: str) -> Iterator[str]:
        """Yield what is going on until a run is there, or the caller is to make it because nobody else does."""
        while not self.begin(key) and key not in self._texts:
            yield BEING_MADE

    def keep(self, key: str, trace: Trace) -> None:
        """Keep a run that came to its end; one that was stopped or failed is not kept, so that it is made again."""
        if trace.data["stop"] not in FINISHED:
            return
        text = trace.to_json()  # ASCII: as many bytes as characters
        with self._lock:
            self._bytes += len(text) - len(self._texts.pop(key, ""))
            self._texts[key] = text
            while len(self._texts) > self._most_runs or self._bytes > self._most_bytes:
                self._bytes -= len(self._texts.popitem(last=False)[1])

    def end(self, key: str) -> None:
        """Say that the caller no longer makes the run, whether it was kept or not."""
        with self._lock:
            self._being_made.discard(key)
