"""Files of the run on screen: label, calls, names; and what a browser may ask for."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest

from specviz import Trace, decode, load_pair
from specviz.errors import SpecVizError
from specviz.page import gallery
from specviz.page.link import LOCKABLE, locked_in
from specviz.page.step.share import MAX_CHARACTERS, MAX_LABEL, clean_label, export, file_name, signed

FORMULA = '=HYPERLINK("http://x/../a","b")</script>'


@pytest.fixture(scope="module")
def trace() -> Trace:
    return decode(load_pair("toy"), "1 15 42", max_new_tokens=12)


def asked(**more: Any) -> dict[str, Any]:
    return {"kind": "csv", "label": "", "calls": []} | more


def text_of(message: str) -> str:
    return json.loads(message)["text"]


def test_a_formula_as_label_is_text_in_the_csv_and_harmless_in_the_name(trace: Trace) -> None:
    message = json.loads(export(asked(label=FORMULA, run=trace.data["run_id"]), trace))
    rows = list(csv.DictReader(io.StringIO(message["text"])))
    assert {row["label"] for row in rows} == {json.dumps(FORMULA)}
    assert rows[0]["label"].startswith('"')
    assert (
        message["name"] == f"specviz-HYPERLINK_http_x_a_b_script-toy-k4-t0.8-seed7-{trace.data['run_id']}.csv"
    )
    assert trace.data["settings"]["label"] == ""


@pytest.mark.parametrize(
    "label", ["../../etc/passwd", "a\\b:c*?", "..", "\u202egnp", "CON\n", "x" * 500, "Łukasz 李"]
)
def test_a_label_leads_to_no_other_folder_and_fits_a_file_name(trace: Trace, label: str) -> None:
    name = file_name(signed(trace, label, []))
    assert name.startswith("specviz-") and len(name) < 150
    assert not set(name) & set('/\\:*?"<>|\n\u202e') and ".." not in name


def test_a_label_is_cut_and_stands_on_one_line() -> None:
    assert clean_label("  a\n\tb\u2028c\ud800 ") == "a b c"
    assert clean_label("x" * 500) == "x" * MAX_LABEL
    assert clean_label(None) == clean_label(7) == ""


def test_a_run_keeps_its_own_label_where_none_is_given(trace: Trace) -> None:
    labelled = Trace({**trace.data, "settings": trace.data["settings"] | {"label": "group 3"}})
    assert signed(labelled, " ", None).data["settings"]["label"] == "group 3"
    assert signed(labelled, "group 4", None).data["settings"]["label"] == "group 4"


def test_calls_go_into_their_cells_and_nowhere_else(trace: Trace) -> None:
    message = export(asked(calls=[[1, 1, "reject"], [2, 1, "accept"]], run=trace.data["run_id"]), trace)
    rows = list(csv.DictReader(io.StringIO(text_of(message))))
    called = {(row["step"], row["position"], row["state"]): row["call"] for row in rows if row["call"]}
    first = [trace.data["steps"][i]["drafts"][0]["state"] for i in (0, 1)]
    assert called == {("1", "1", first[0]): "reject", ("2", "1", first[1]): "accept"}
    data = json.loads(
        text_of(export(asked(kind="json", calls=[[1, 1, "reject"]], run=trace.data["run_id"]), trace))
    )
    assert data["steps"][0]["drafts"][0]["call"] == "reject"
    assert all(draft["call"] is None for step in trace.data["steps"] for draft in step["drafts"])


def test_the_run_is_a_recorded_one_or_the_visitors_own_or_what_is_sent_along(trace: Trace) -> None:
    entry = gallery.entries()[1]
    data = json.loads(text_of(export(asked(kind="json", recorded=entry.name), None)))
    assert data == gallery.open_recorded(entry.name).data
    page = text_of(export(asked(kind="html", recorded=entry.name, query="?beat=2.start"), None))
    assert entry.title in page and 'data-query="?beat=2.start"' in page
    own = json.loads(text_of(export(asked(kind="json", run=trace.data["run_id"]), trace)))
    assert own == trace.data
    sent = json.loads(text_of(export(asked(kind="json", trace=trace.to_json()), trace)))
    assert sent == trace.data


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ("", "could not be read"),
        ("{}", "could not be read"),
        ([], "could not be read"),
        (None, "could not be read"),
        (asked(calls=[[[[[[[[[]]]]]]]]]), "could not be read"),
        (asked(trace="x" * (MAX_CHARACTERS + 1)), "too large"),
        (asked(calls=["x" * (MAX_CHARACTERS // 2)] * 2), "too large"),
        (asked(kind=[]), "no kind of file"),
        (asked(kind="exe", recorded="opening"), "no kind of file"),
        (asked(recorded="../secret"), "no recorded run"),
        (asked(run="somebody else's"), "no longer has the run"),
        (asked(trace="/etc/passwd"), "did not arrive"),
        (asked(trace="{}"), "not a SpecViz trace"),
        (asked(recorded="opening", calls=[[1, 1, "maybe"]]), "predicted could not be read"),
        (asked(recorded="opening", calls=[[1, [], "accept"]]), "predicted could not be read"),
        (asked(recorded="opening", calls=[7]), "predicted could not be read"),
    ],
)
def test_anything_else_is_refused_in_a_sentence(wrong: Any, sentence: str) -> None:
    with pytest.raises(SpecVizError, match=sentence):
        export(wrong, None)


def test_a_deliberate_mistake_has_no_csv(trace: Trace) -> None:
    faulty = Trace({**trace.data, "settings": trace.data["settings"] | {"fault": "residual-p"}})
    with pytest.raises(SpecVizError, match="JSON only"):
        export(asked(run=trace.data["run_id"]), faulty)


def test_a_link_locks_only_what_there_is() -> None:
    assert locked_in({"lock": "k,nothing,seed,,recorded,run"}) == ["k", "seed", "recorded"]
    assert locked_in({}) == []
    assert set(LOCKABLE) == {"prompt", "pair", "draft", "k", "temperature", "top_k", "top_p", "max_new_tokens", "seed", "chat", "agreement", "recorded"}  # fmt: skip
