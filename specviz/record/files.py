"""Text files in and out, each failure in one sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from specviz.errors import SpecVizError


def write_file(path: str | Path, text: str) -> None:
    """Write UTF-8 text without a mark; raises SpecVizError where it can't be written."""
    try:
        Path(path).write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise SpecVizError(f"{path} can't be written ({error.strerror}): choose another place.") from None


def read_file(source: str | Path) -> str:
    """Return the text of a file, or `source` itself where it is a text and no path; raises SpecVizError."""
    if isinstance(source, str) and (source.lstrip()[:1] == "{" or "\n" in source):
        return source
    try:
        return Path(source).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SpecVizError(f"{source} can't be read ({error.strerror}): check the file's name.") from None
    except UnicodeDecodeError:
        raise SpecVizError(f"{source} is not a SpecViz trace: it is not a text file.") from None


def parse_json(text: str) -> Any:
    def refuse(constant: str) -> Any:
        raise ValueError(constant)

    try:
        return json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError):
        raise SpecVizError(
            "This is not a SpecViz trace, or it is cut short: it can't be read as JSON."
        ) from None
