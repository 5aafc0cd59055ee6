"""A run as one HTML file: nothing in it can end its script, reach a network, or act."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from specviz import Trace, bundle, decode, load_pair
from specviz.__main__ import main
from specviz.errors import SpecVizError
from specviz.record.html import to_frame, to_html

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "]]>",
    "\u2028",
    "\udcf0",
    "'\"`${alert(1)}{{x}}",
    "%s",
)


class Reader(HTMLParser):
    """The elements of a page as a browser reads them: (tag, attributes, text) in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None], str]] = []
        self._inside = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.found.append((tag, dict(attrs), ""))
        self._inside = True

    def handle_endtag(self, tag: str) -> None:
        self._inside = False

    def handle_data(self, data: str) -> None:
        if self._inside:
            tag, attributes, text = self.found[-1]
            self.found[-1] = (tag, attributes, text + data)

    def all(self, tag: str) -> list[tuple[str, dict[str, str | None], str]]:
        return [each for each in self.found if each[0] == tag]


@pytest.fixture(scope="module")
def trace() -> Trace:
    trace = decode(load_pair("toy"), "1 15 42", max_new_tokens=12, label='</title><script>x</script>"')
    for token, text in zip(list(trace.data["tokens"]), HOSTILE, strict=False):
        trace.data["tokens"][token] = text
    return trace


def test_the_page_holds_the_trace_as_data_and_one_script(trace: Trace) -> None:
    data, script = Reader(to_html(trace.data)).all("script")
    assert data[1]["type"] == "application/json"
    message = json.loads(data[2])
    assert message["trace"] == trace.data
    assert message["figures"] == trace.metrics
    assert script[1] == {} and bundle.script() in script[2]
    assert not re.search(r"</script|<!--", bundle.script(), re.IGNORECASE)


def test_its_policy_forbids_every_request_and_every_other_script(trace: Trace) -> None:
    page = Reader(to_html(trace.data))
    policy = next(each[1]["content"] for each in page.all("meta") if "http-equiv" in each[1])
    assert policy is not None
    digest = base64.b64encode(hashlib.sha256(page.all("script")[1][2].encode()).digest()).decode()
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == f"'sha256-{digest}'"
    assert set(rules) == {"default-src", "script-src", "style-src", "img-src", "base-uri", "form-action"}
    addresses = [value for _, attributes, _ in page.found for name, value in attributes.items() if name in ("src", "href", "action")]  # fmt: skip
    assert addresses == []


def test_a_query_and_a_label_stay_text(trace: Trace) -> None:
    query = '?beat=1.start&task="><script>x</script>\ud800'
    page = Reader(to_html(trace.data, query=query))
    player = next(each for each in page.found if each[1].get("class") == "sv-player")
    assert player[1]["data-query"] == query.replace("\ud800", "?")
    assert "data-standalone" in player[1]
    assert page.all("title")[0][2].startswith(f"SpecViz · {trace.data['settings']['label']} · toy, K 4")
    assert len(page.all("script")) == 2


def test_a_notebook_shows_the_same_page_in_a_frame(trace: Trace) -> None:
    shown = trace._repr_html_()
    assert shown == to_frame(trace.data)
    (frame,) = Reader(shown).found
    assert frame[0] == "iframe" and frame[1]["srcdoc"] == to_html(trace.data)
    assert "allow-same-origin" not in (frame[1]["sandbox"] or "")


def test_it_is_written_from_python_and_from_the_shell(trace: Trace, tmp_path: Path) -> None:
    assert trace.to_html(tmp_path / "a.html") == (tmp_path / "a.html").read_text(encoding="utf-8")
    path = tmp_path / "b.html"
    assert (
        main(["decode", "--pair", "toy", "--prompt", "1 15", "--max-new-tokens", "6", "--html", str(path)])
        == 0
    )
    assert json.loads(Reader(path.read_text()).all("script")[0][2])["trace"]["prompt"]["text"] == "1 15"
    with pytest.raises(SpecVizError, match="can't be written"):
        trace.to_html(tmp_path / "nowhere" / "a.html")
    assert main(["decode", "--pair", "toy", "--prompt", "1", "--html", str(tmp_path / "no" / "b.html")]) == 2
