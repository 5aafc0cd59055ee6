"""The record of a run: everything that the page shows, and everything that is needed to check it.

A trace is plain data (`Trace.data`), written as JSON that replays everything or as a tidy CSV of one row a cell; what it
holds, field by field, stands in `shape`.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from specviz.errors import SpecVizError
from specviz.record import html, metrics
from specviz.record.check import checked
from specviz.record.csv import COLUMNS, csv_rows, from_csv_text
from specviz.record.files import parse_json, read_file, write_file
from specviz.record.shape import Outcome, TraceData, has_distributions, ids_of


class Trace:
    """A run's record; `data` is the plain data that is written, see `TraceData`."""

    def __init__(self, data: TraceData) -> None:
        self.data = data

    @property
    def token_ids(self) -> list[int]:
        """The output's ids, an end token included."""
        return list(self.data["token_ids"])

    @property
    def text(self) -> str:
        """The output's text without the end token; bytes that are no UTF-8 become U+FFFD."""
        ends = set(self.data["settings"]["end_ids"])
        return join_pieces(
            self.data["tokens"][str(token)] for token in self.data["token_ids"] if token not in ends
        )

    @property
    def metrics(self) -> dict[str, Any]:
        """The run's figures, see `metrics.summary`."""
        return metrics.summary(self.data)

    @property
    def has_distributions(self) -> bool:
        """Whether the rows behind the numbers are there; a trace opened from CSV has none."""
        return has_distributions(self.data)

    def name_tokens(self, pieces: Callable[[int], bytes], *steps: Outcome) -> None:
        """Add the texts of the ids that stand in the given steps, in the prompt and in the baseline."""
        tokens = self.data["tokens"]
        baseline = self.data["baseline"]
        written = baseline["token_ids"] if baseline else []
        ids = ids_of(steps) if steps else {*self.data["prompt"]["ids"], *written}
        for token in ids:
            if str(token) not in tokens:
                tokens[str(token)] = pieces(token).decode("utf-8", errors="surrogateescape")

    def to_json(self, path: str | Path | None = None) -> str:
        """Return the trace as JSON text, and write it to `path` where one is given; raises SpecVizError if it can't."""
        text = json.dumps(self.data, allow_nan=False, separators=(",", ":"))
        if path is not None:
            write_file(path, text)
        return text

    def to_csv(self, path: str | Path | None = None) -> str:
        """Return the trace as CSV text, one row a cell, and write it to `path` where one is given.

        Raises SpecVizError where the file can't be written, or for a run with a deliberate mistake, whose wrong numbers
        must not be mixed up with right ones.
        """
        if self.data["settings"]["fault"]:
            raise SpecVizError("A run with a deliberate mistake is exported as JSON only.")
        buffer = io.StringIO()
        writer = csv.DictWriter(buffer, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(csv_rows(self.data))
        if path is not None:
            write_file(path, buffer.getvalue())
        return buffer.getvalue()

    def to_html(self, path: str | Path | None = None) -> str:
        """Return the run as one HTML page with the player in it, and write it to `path`; raises SpecVizError if it can't.

        The page opens from disk and makes no request.
        """
        return html.to_html(self.data, path)

    def _repr_html_(self) -> str:
        return html.to_frame(self.data)

    @classmethod
    def from_json(cls, source: str | Path) -> Trace:
        """Open a trace's JSON, given as a path or as text; raises SpecVizError where it is not a whole trace."""
        return cls(checked(parse_json(read_file(source))))

    @classmethod
    def from_csv(cls, source: str | Path) -> Trace:
        """Open a trace's CSV, given as a path or as text: the grid, without the distributions behind it.

        Raises SpecVizError where it is not a trace's CSV, is cut short, or holds more than one run.
        """
        return cls(from_csv_text(read_file(source)))


def join_pieces(texts: Iterable[str]) -> str:
    """Join tokens' texts, whose lone surrogates stand for bytes, into one readable string."""
    return b"".join(text.encode("utf-8", errors="surrogateescape") for text in texts).decode(
        "utf-8", errors="replace"
    )
