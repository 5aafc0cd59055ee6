"""A control is one row: what is made from the table has every row, and nothing else names the controls one by one."""

import inspect
import json
import re

import pytest

from specviz import Sampling, SpecVizError, bundle, decode, load_pair
from specviz.page import controls, messages, parts
from specviz.page.controls import BY_NAME, CONTROLS, NAMES, opening_values
from specviz.page.link import LOCKABLE, values_in
from specviz.page.page import build_page
from specviz.page.server.shelf import Shelf
from specviz.page.settings import read_settings


@pytest.fixture(scope="module")
def page():
    return build_page(Shelf(), "toy")


@pytest.mark.parametrize("pair", ["toy", "smollm2-135m"])
def test_what_a_page_opens_with_is_a_run_that_can_be_made(pair):
    settings = read_settings(*opening_values(pair).values())
    assert (settings.pair, settings.options.k, settings.options.seed) == (pair, 4, 7)


def test_every_control_stands_on_the_page_under_its_name_with_its_label_and_range(page):
    there = {block.elem_id: block for block in page.blocks.values() if getattr(block, "elem_id", None)}
    for control in CONTROLS:
        block = there[control.name]
        assert block.label == control.label
        if control.kind == "slider":
            assert (block.minimum, block.maximum, block.step) == (control.low, control.high, control.step)


@pytest.mark.parametrize("name", ["decode", "csv"])
def test_an_endpoint_takes_every_control_with_its_default(page, name):
    endpoint = next(event for event in page.fns.values() if event.api_name == name)
    taken = inspect.signature(endpoint.fn).parameters
    assert tuple(taken) == NAMES
    for control in CONTROLS:
        default = taken[control.name].default
        assert (
            default is inspect.Parameter.empty
            if control.default is controls.REQUIRED
            else default == control.default
        )
    assert set(page.get_api_info()["named_endpoints"][f"/{name}"]["parameters"][0]) >= {
        "parameter_name",
        "type",
    }


@pytest.mark.parametrize(
    "control", [each for each in CONTROLS if each.is_number and each.name != "agreement"], ids=str
)
def test_a_value_beyond_a_rows_range_is_refused_in_a_sentence_with_its_bounds(control):
    values = opening_values("toy")
    for beyond in (control.low - 1, control.high + 1, "x", None, True):
        with pytest.raises(SpecVizError, match=r"must be .*(from [\d.]+ to [\d,.]+|above 0 and at most 1)"):
            read_settings(*(values | {control.name: beyond}).values())


def test_links_locks_styles_and_the_player_know_every_row():
    assert set(values_in({}, "toy")) == set(NAMES) == {*LOCKABLE} - {"recorded"}
    assert re.findall(r"#(\w+)::after \{ content: var\(--was-(\w+), none\); \}", parts.head()) == [
        (name, name) for name in NAMES
    ]
    told = json.loads(parts.facts(**controls.for_the_player()))
    assert [each["name"] for each in told["controls"]] == list(NAMES)
    assert told["chat"] == {"null": "as the model expects", "true": "chat template", "false": "raw text"}


def test_no_script_lists_the_controls_names_again_and_no_style_writes_what_they_were():
    rare = [name for name in NAMES if "_" in name] + ["agreement"]
    for path in bundle.ASSETS.rglob("*.js"):
        named = [name for name in rare if re.search(rf"['\"]{name}['\"]", path.read_text(encoding="utf-8"))]
        assert len(named) < 2, (path, named)
    assert "--was-" not in bundle.asset("page/styles/page.css")


def test_a_name_is_a_key_an_id_and_the_end_of_a_css_property():
    assert len(BY_NAME) == len(CONTROLS)
    assert all(re.fullmatch(r"[a-z][a-z_]*", name) for name in NAMES)


def test_what_the_player_is_told_of_a_run_would_make_it_again():
    for draft, agreement in (("model", 0.7), ("noise", None)):
        pair = load_pair("toy", draft, agreement=0.7)
        trace = decode(pair, "1 15 42", k=3, max_new_tokens=6, seed=5, sampling=Sampling(0.5, 7, 0.9))
        told = json.loads(messages.finished(trace))["asked"]
        assert tuple(told) == NAMES and told["agreement"] == agreement
        assert json.loads(messages.live(trace, 0))["asked"] == told
        settings = read_settings(*(told | {"agreement": agreement or 0}).values())
        again = decode(
            load_pair("toy", settings.draft, agreement=settings.agreement),
            settings.prompt,
            **vars(settings.options),
        )
        assert again.token_ids == trace.token_ids
