"""The page's branch and race on the default pair itself, a few tokens each."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest

from specviz import Pair, decode, replay
from specviz.page.server import shelf as shelf_module
from specviz.page.server.shelf import Shelf
from specviz.page.step.handlers import Handlers
from specviz.page.updates import OUTPUTS

VISITOR = SimpleNamespace(session_hash="somebody", query_params={})
PROMPT = "The old keeper lit the lamp. The old keeper lit"


@pytest.fixture
def page(default_pair: Pair, monkeypatch: pytest.MonkeyPatch) -> Handlers:
    monkeypatch.setattr(shelf_module, "load_pair", lambda *_, **__: default_pair)
    monkeypatch.setattr(Shelf, "_measure", lambda *_: None)
    shelf = Shelf()
    shelf.load(default_pair.name).done.wait()
    return Handlers(shelf)


def last(events: Any) -> tuple[Any, dict[str, Any]]:
    """The trace that is kept at the end, and the message that the player gets."""
    shown = dict(zip(OUTPUTS, list(events)[-1], strict=True))
    return shown["trace"], json.loads(shown["player"])


def test_a_branch_of_the_default_pair_goes_on_from_its_coin(default_pair: Pair, page: Handlers) -> None:
    own = decode(default_pair, PROMPT, max_new_tokens=16, chat=False)
    step = next(
        each for each in own.data["steps"] if each["drafts"] and each["drafts"][0]["state"] == "accepted"
    )
    change = {"step": step["step"], "position": 1, "purpose": "accept", "u": 0.9999}
    branch, message = last(page.branch(VISITOR, gr.EventData(None, {**change, "trace": own.to_json()}), None))  # type: ignore[arg-type]
    assert message["trace"]["parent"] == own.data["run_id"]
    assert replay(branch) == []
    shared = sum(each["totals"]["tokens"] for each in own.data["steps"][step["step"] - 2 : step["step"] - 1])
    assert branch.token_ids[:shared] == own.token_ids[:shared]
    assert branch.data["steps"][step["step"] - 1]["drafts"][0]["state"] == (
        "accepted" if 0.9999 * step["drafts"][0]["q"] < step["drafts"][0]["p"] else "rejected"
    )


def test_a_race_of_the_default_pair_measures_both_loops(page: Handlers) -> None:
    values = (PROMPT, "smollm2-135m", "lookup", 4, 0.8, 0, 1, 16, 7, "raw text", 0.9)
    trace, message = last(page.race(VISITOR, *values))  # type: ignore[arg-type]
    assert replay(trace) == []
    assert len(message["race"]["ms"]) == message["trace"]["baseline"]["tokens"] == 16
    assert message["figures"]["speedup_measured"] > 0
