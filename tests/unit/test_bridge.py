"""The bridge between the page and the player: Gradio's events and props, one global, and no script in Python's strings."""

from __future__ import annotations

import json
import re

import gradio as gr
import pytest

from specviz import bundle
from specviz.page import late
from specviz.page.page import build_page
from specviz.page.parts import head
from specviz.page.server.shelf import Shelf

BRIDGE = "player/state/bridge.js"
PAGE = "page/page.js"
SCRIPTS = sorted(path.relative_to(bundle.ASSETS).as_posix() for path in bundle.ASSETS.rglob("*.js"))
COMMENT = re.compile(r"^ *//[^\n]*|(?<=[;{,]) +//[^\n]*|/\*.*?\*/", re.MULTILINE | re.DOTALL)
# A call of a function and nothing more: its name, which Gradio calls, or the same with JSON for its first arguments.
CALL = re.compile(r"specviz\.(\w+)|\(\.\.\.given\) => specviz\.(\w+)\((.+), given\)")


def code_of(name: str) -> str:
    return COMMENT.sub("", bundle.asset(name))


def offered() -> set[str]:
    """The functions that the page's script offers to Gradio's events."""
    listed = re.search(r"^offer\(\{\n(.*?)^\}\);", code_of(PAGE), re.MULTILINE | re.DOTALL)
    assert listed
    return {*re.findall(r"^  (\w+)[:,]", listed[1], re.MULTILINE)}


@pytest.fixture(scope="module")
def page() -> gr.Blocks:
    return build_page(Shelf(), "toy")


def test_no_component_is_there_only_to_be_pressed_or_written_by_a_script(page: gr.Blocks) -> None:
    fields = (gr.Textbox, gr.Number, gr.JSON, gr.Button)
    unseen = [
        block for block in page.blocks.values()
        if getattr(block, "visible", True) == "hidden" or (isinstance(block, fields) and block.visible is False)
    ]  # fmt: skip
    buttons = {block.elem_id for block in unseen if isinstance(block, gr.Button)}
    assert buttons == {"stop", "sweep-stop"}  # which the server shows when there is something to stop
    assert all(late.CARRIER in block.elem_classes for block in unseen if not isinstance(block, gr.Button))


def test_an_event_s_script_is_a_call_of_a_function_that_the_page_offers(page: gr.Blocks) -> None:
    scripts = [str(event.js) for event in page.fns.values() if event.js]
    assert scripts and page.js is None
    called = set()
    for text in scripts:
        found = CALL.fullmatch(text)
        assert found, text
        called.add(found[1] or found[2])
        json.loads(f"[{found[3] or ''}]")
    assert called == offered()


def test_nothing_that_is_left_in_the_global_takes_the_place_of_a_function() -> None:
    left = {*re.findall(r"\bmeeting\(\)\.(\w+)", code_of(BRIDGE))}
    assert left == {"spot", "wanted"}
    assert not left & offered()


def test_what_the_player_triggers_is_heard_by_a_handler_and_nothing_is_dropped(page: gr.Blocks) -> None:
    triggered = {*re.findall(r"trigger\('(\w+)'", code_of(BRIDGE))}
    player = next(
        block for block in page.blocks.values() if getattr(block, "js_on_load", "") == bundle.script()
    )
    heard = {
        name: event.trigger_mode
        for event in page.fns.values()
        for source, name in event.targets
        if source == player._id
    }
    assert heard == dict.fromkeys(triggered, "multiple") and triggered == {"branch", "export", "undo"}


@pytest.mark.parametrize("name", [each for each in SCRIPTS if each != BRIDGE])
def test_only_the_bridge_touches_the_global_the_events_on_window_and_what_gradio_gives_the_player(
    name: str,
) -> None:
    code = code_of(name)
    assert not re.search(r"\bspecviz", code)
    assert "CustomEvent" not in code
    if name.startswith("player/"):
        assert not re.search(r"\b(?:trigger|watch)\(|\bprops\b", code)


def test_the_bridge_names_every_event_between_components_that_there_is() -> None:
    said: set[str] = set()
    listened: set[str] = set()
    for name in SCRIPTS:
        said |= {*re.findall(r"\bannounce\('(\w+)'", code_of(name))}
        listened |= {*re.findall(r"\bheard\('(\w+)'", code_of(name))}
    documented = re.search(r"event `specviz:NAME` on window:\n//(.*)", bundle.asset(BRIDGE))
    assert documented
    named = {*re.findall(r"\w+(?=[,.])", documented[1])}
    assert said == listened == named


def test_the_head_s_script_can_not_end_the_head() -> None:
    scripts = re.findall(r"<script>(.*?)</script>", head(), re.DOTALL)
    assert len(scripts) == 1 and scripts[0].startswith("(() => {") and scripts[0].endswith("})();")
    assert bundle.script(PAGE) in scripts[0]
    assert not re.search(r"</|<!--", scripts[0])
