"""Learn: every question has its answer, every experiment leads somewhere, every figure is computed."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from specviz import SpecVizError, theory
from specviz.exactness.faults import FAULTS
from specviz.exactness.one_step import LATER_TOKENS, WHOLE_LOGITS, WHOLE_VOCABULARY, check_table
from specviz.page.controls import NAMES
from specviz.page.exactness import lab as exactness_lab
from specviz.page.gallery import open_recorded
from specviz.page.learn import tab as learn_tab
from specviz.page.learn import text as learn_text
from specviz.page.page import build_page
from specviz.page.server.shelf import Shelf

ASSETS = Path(__file__).resolve().parents[2] / "assets"


@cache
def text() -> dict[str, Any]:
    return json.loads(learn_text.as_text())


def links() -> list[dict[str, Any]]:
    return list(learn_text.links(text()))


def words(pieces: list[dict[str, Any]]) -> str:
    return "".join(piece["text"] for piece in pieces)


def everything_said() -> str:
    found: list[str] = []

    def walk(data: Any) -> None:
        if isinstance(data, dict):
            found.extend([data["text"]] if isinstance(data.get("text"), str) else [])
            for value in data.values():
                walk(value)
        elif isinstance(data, list):
            for value in data:
                walk(value)

    walk(text())
    return "\n".join(found)


def rejected_at(step: dict[str, Any]) -> int:
    """The position that the player shows where a step's rejection is told."""
    return [draft["state"] for draft in step["drafts"]].index("rejected") + 1


def beats(name: str) -> set[str]:
    """The names of a recorded run's beats, as the player makes them."""
    names = set()
    for step in open_recorded(name).data["steps"]:
        number, drafts, final = step["step"], step["drafts"], step["final"]
        names |= {f"{number}.start", f"{number}.verify"}
        names |= {f"{number}.draft.{i}" for i in range(1, len(drafts) + 1)}
        examined = [i for i, draft in enumerate(drafts, 1) if draft["coin"] is not None]
        names |= {f"{number}.{kind}.{i}" for kind in ("threshold", "coin") for i in examined}
        names |= {f"{number}.owed"} if final and final["kind"] == "residual" else set()
        names |= {f"{number}.draw"} if final else set()
    return names


def test_all_fifty_questions_have_an_answer_and_an_experiment_and_nearly_all_a_thread_where_they_were_asked() -> (
    None
):
    questions = [question for group in text()["questions"] for question in group["questions"]]
    assert [question["number"] for question in questions] == list(range(1, 51))
    assert [question["number"] for question in questions if not question.get("asked")] == [12, 21, 29]
    for question in questions:
        assert question["tries"], question["title"]
        for thread in question.get("asked", []):
            assert re.fullmatch(r"https://github\.com/[\w.-]+/[\w.-]+/issues/\d+", thread["link"]["url"]), (
                thread
            )
        assert sum(len(words(line)) for line in question["answer"]) > 60, question["title"]


def test_every_section_ends_with_something_to_try_and_a_question_with_its_answer() -> None:
    assert len(text()["lesson"]) == 9
    for section in text()["lesson"]:
        assert section["text"] and section["tries"] and section["question"] and section["answer"]
    assert len(text()["sentences"]) == 10 and len(text()["glossary"]) > 20


def test_the_classic_mistakes_each_have_their_switch() -> None:
    switched = [[link["ask"]["fault"] for link in learn_text.links(each)] for each in text()["mistakes"]]
    assert len(switched) == 6 and all(switched)
    assert {"argmax-draft", "resample-from-p", "bonus-after-rejection", "argmax-bonus", "coin-is-draft-uniform", "sample-engine"} <= {
        fault for faults in switched for fault in faults
    }  # fmt: skip


def test_every_beat_that_a_link_goes_to_exists() -> None:
    asked = [link for link in links() if "recorded" in link]
    assert len(asked) > 30
    for link in asked:
        assert link["beat"] in beats(link["recorded"]), link


def test_every_switch_that_a_link_sets_shows_what_it_promises() -> None:
    asked = [link for link in links() if link["kind"] == "exact"]
    assert len(asked) > 15
    for link in asked:
        trace, spot = None, None
        if "recorded" in link:
            trace = open_recorded(link["recorded"])
            step = int(link["beat"].split(".")[0])
            spot = {"step": step, "position": rejected_at(trace.data["steps"][step - 1])}
        shown = json.loads(exactness_lab.lab(link["ask"] | {"spot": spot, "trials": None}, trace))
        assert shown["problem"] is None, (link, shown["problem"])
        fault = FAULTS.get(link["ask"]["fault"])
        assert (shown["bias"] > 1e-6) == (fault is not None and not fault.exact), link
    names = {*LATER_TOKENS, *WHOLE_LOGITS, *WHOLE_VOCABULARY}
    assert not names & {link["ask"]["fault"] for link in asked if link["ask"]["source"] == "screen"}


def test_every_field_and_button_that_a_link_names_is_on_the_page() -> None:
    page = build_page(Shelf(), "toy")
    ids = {component["props"].get("elem_id") for component in page.config["components"]}
    for link in links():
        if link["kind"] == "lab":
            wanted = {*link["fields"], link["press"] or "tabs", f"tab-{link['lab']}"}
            assert wanted <= ids, link
        if link["kind"] == "set":
            assert {*link["values"]} <= {*NAMES}
            learn_tab.controls(link["values"])
    page.close()


def test_the_words_that_light_up_are_known_to_the_script() -> None:
    script = (ASSETS / "page/learn/learn.js").read_text(encoding="utf-8")
    known = re.findall(r"(\w+): '", re.search(r"const SHOWS = \{(.*?)\};", script, re.DOTALL)[1])  # type: ignore[index]
    assert {*known} == {*learn_text.SHOWN} == {link["show"] for link in links() if link["kind"] == "show"}


def test_figures_are_computed_and_none_is_left_open() -> None:
    said = everything_said()
    assert not re.search(r"[{}]|\*\*|\]\(", said)
    opening, self_drafted = open_recorded("opening").metrics, open_recorded("self").metrics
    assert f"{opening['tokens_per_pass']:.2f} tokens a pass" in said
    assert f"{self_drafted['speedup_measured']:.2f} times the speed" in said
    assert f"= {100 / theory.expected_tokens(0.7, 8):.1f}. Not 100/8" in said
    assert f"{check_table(FAULTS['resample-from-p']).bias:.2f}" in said


@pytest.mark.parametrize(
    ("link", "says"),
    [
        ("run:nothing@1.start", "no recorded run"), ("exact:moon/one-coin/100", "no source"), ("exact:table/nothing/100", "no fault"), ("exact:table/one-coin/0", "number of trials"),
        ("set:speed=3", "no control"), ("lab:kitchen", "no lab"), ("show:moon", "no part of the page"), ("javascript:alert(1)", "no link of the kind"),
    ],
)  # fmt: skip
def test_a_link_that_leads_nowhere_is_an_error(link: str, says: str) -> None:
    with pytest.raises(SpecVizError, match=says):
        learn_text.read_link(link)


def test_a_figure_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(SpecVizError, match="no figure"):
        learn_text.figure("opening.beauty")
    assert learn_text.figure("opening.acceptance_examined|%") == f"{100 * open_recorded('opening').metrics['acceptance_examined']:.0f} %"  # fmt: skip


def test_setting_one_control_leaves_the_others_alone() -> None:
    updates = dict(zip(NAMES, learn_tab.controls({"k": "1"}), strict=True))
    assert updates["k"] == 1 and all("__type__" in value for name, value in updates.items() if name != "k")


def test_what_leads_away_is_a_thread_or_a_paper() -> None:
    away = [link["url"] for link in links() if link["kind"] == "https"]
    assert len(away) > 80
    assert all(re.match(r"https://(github\.com|arxiv\.org/abs)/", url) for url in away)
    assert len(text()["reading"]) == 6 and len(text()["history"]) == 5
    for paper in text()["reading"]:
        assert [piece["link"]["kind"] for piece in paper["left"]] == ["https"]


def test_a_thread_without_an_owner_is_refused() -> None:
    with pytest.raises(SpecVizError, match="owner/repository#number"):
        learn_text._thread("vLLM #7627")


def test_the_held_out_figures_are_those_of_the_drafts_card() -> None:
    """They were measured once, with the command that the card names; the card's table says the same."""
    kinds = json.loads((ASSETS / "draft/held-out.json").read_text(encoding="utf-8"))["kinds"]
    card = (ASSETS / "draft/README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| 0\.8 \| (?:all )?(\d+) ?(\w*) \| (.*) \|$", card, re.MULTILINE)
    assert len(rows) == len(kinds) == 7
    singular = {"stories": "story", "": "all"}
    for prompts, name, cells in rows:
        found = kinds[singular.get(name, name if name in kinds else name.removesuffix("s"))]
        overlap, acceptance, tokens, examined = cells.replace("*", "").replace(",", "").split(" | ")
        assert found == {
            "prompts": int(prompts), "overlap": float(overlap), "acceptance": float(acceptance),
            "tokens_per_pass": float(tokens), "examined": int(examined),
        }  # fmt: skip


def test_glossary_rows_stand_in_order() -> None:
    terms = ["".join(piece["text"] for piece in row["left"]) for row in text()["glossary"]]
    assert terms == sorted(terms, key=str.lower)
    assert {
        "c",
        "v",
        "o",
        "tree",
        "prompt lookup",
        "sample-and-match",
        "entropy",
        "owed",
        "looked at",
    } <= set(terms)
