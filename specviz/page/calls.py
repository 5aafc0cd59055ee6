"""How Gradio's events call the functions of `assets/page/page.js`: the only JavaScript that Python writes."""

from __future__ import annotations

import json
from typing import Any


def call(name: str, *told: Any) -> str:
    """Return what calls a function for the `js` of an event: with the event's inputs, or with `told` and then those as one list."""
    if not told:
        return f"specviz.{name}"
    return f"(...given) => specviz.{name}({', '.join(json.dumps(each) for each in told)}, given)"
