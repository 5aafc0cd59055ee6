"""Every experiment of the short text, the mistakes and the sentences shows what the sentence beside it says.

An experiment is opened as the page opens it, by what its link says, and asked for the relation that the sentence states:
a sentence that is wrong, a figure that no longer fits it, or a link without a check fails. Links to the hardware lab have
their tests with that lab.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from specviz import EXACT, load_pair, theory
from specviz.bounds import MAX_K
from specviz.exactness.faults import FAULTS, HOT
from specviz.exactness.greedy import check_greedy
from specviz.exactness.one_step import check_position, check_table, position_of_toy
from specviz.exactness.worlds import START, P, Q
from specviz.page.choices import IDS
from specviz.page.exactness import lab as exactness_lab
from specviz.page.gallery import open_recorded
from specviz.page.learn import text as learn_text

LEARN = Path(__file__).resolve().parents[2] / "assets/learn"
FILES = ("lesson", "mistakes", "sentences", "wrong")
EXPERIMENT = re.compile(r"\]\(((?:run|exact|lab|set):[^)]+)\)")
ROUNDING = 1e-9

Shown = dict[str, Any]
Check = Callable[[Shown], None]
CHECKS: dict[str, Check] = {}


def says(link: str) -> Callable[[Check], Check]:
    """Take a function for the check of a link: it gets what the link opens."""

    def entered(check: Check) -> Check:
        assert link not in CHECKS
        CHECKS[link] = check
        return check

    return entered


def opened(link: str) -> Shown:
    """What a link shows: an answer of the exactness lab, a recorded run at a step, or a lab's fields."""
    asked = learn_text.read_link(link)
    trace = open_recorded(asked["recorded"]) if "recorded" in asked else None
    step = trace.data["steps"][int(asked["beat"].split(".")[0]) - 1] if trace else None
    if asked["kind"] == "exact":
        spot = step and {"step": step["step"], "position": states(step).index("rejected") + 1}
        shown = json.loads(exactness_lab.lab(asked["ask"] | {"spot": spot, "seed": 1}, trace))
        assert shown["problem"] is None
        return shown
    return {"trace": trace, "step": step, "fields": asked.get("fields"), "press": asked.get("press")}


def states(step: dict[str, Any]) -> list[str]:
    return [draft["state"] for draft in step["drafts"]]


def figure(name: str) -> float:
    """A figure of the text as it is printed, as a number."""
    printed = learn_text.figure(name)
    number = float(printed.removesuffix(" %").replace(",", ""))
    return number / 100 if printed.endswith("%") else number


def texts_of(fault: str | None) -> list[tuple[tuple[int, ...], float, float]]:
    """Each text of the small world with the probability that it should have and the one that it has."""
    check = check_table(FAULTS[fault] if fault else None)
    return list(zip(check.cells, check.target.tolist(), check.law.tolist(), strict=True))


def first_tokens(fault: str) -> list[tuple[float, float]]:
    """What the first token of the small world should be and is, by token."""
    texts = texts_of(fault)
    tokens = sorted({text[0] for text, _, _ in texts})
    return [
        (sum(p for text, p, _ in texts if text[0] == x), sum(law for text, _, law in texts if text[0] == x))
        for x in tokens
    ]


def is_exact(shown: Shown) -> None:
    assert shown["bias"] < ROUNDING and shown["throws"]["inside"]


def is_wrong(shown: Shown) -> None:
    """The law is off, and the throws that the link asks for see it."""
    assert shown["bias"] > 0.01 and not shown["throws"]["inside"]


def leaves_the_first_token_right(fault: str) -> None:
    for p, law in first_tokens(fault):
        assert law == pytest.approx(p, abs=ROUNDING)


def gives_the_drafts_favourites_too_much(fault: str) -> None:
    for (p, law), q in zip(first_tokens(fault), Q[START], strict=True):
        assert (law > p + ROUNDING) == (q > p)


# --- the draft --------------------------------------------------------------------------------------------------------


@says("run:opening@2.draft.4")
def four_tokens_are_drafted(shown: Shown) -> None:
    """It writes K tokens, each with its own q."""
    drafts = shown["step"]["drafts"]
    assert len(drafts) == 4 == shown["trace"].data["settings"]["k"]
    for draft in drafts:
        own = dict(zip(draft["row"]["ids"], draft["row"]["q"], strict=True))[draft["id"]]
        assert draft["q"] == pytest.approx(own, abs=1e-5) and own > 0


@says("run:lookup@4.draft.4")
def lookup_drafts_without_a_model(shown: Shown) -> None:
    assert shown["trace"].data["settings"]["draft"]["kind"] == "lookup"
    assert len(shown["step"]["drafts"]) == 4 and shown["trace"].metrics["draft_passes"] == 0


@says("exact:toy//100000?agreement=0")
def a_draft_that_knows_nothing_is_heard_and_the_law_is_the_targets(shown: Shown) -> None:
    """A bad draft is no argument where none of its guesses come out: here some do."""
    is_exact(shown)
    kept = sum(lane["kept"] for lane in shown["lanes"])
    assert kept == pytest.approx(figure("kept 0|%"), abs=0.005) and kept > 0.05
    # a draft that agrees is heard far more
    assert figure("kept 1|%") == 1 > figure("kept 0.9|%") > 3 * kept


@says("run:noise@1.draw")
def noise_costs_time(shown: Shown) -> None:
    metrics = shown["trace"].metrics
    assert shown["trace"].data["settings"]["draft"]["kind"] == "noise"
    assert metrics["acceptance_examined"] < 0.1 and metrics["speedup_measured"] < 1


# --- the pass and the coin --------------------------------------------------------------------------------------------


@says("run:opening@2.verify")
def p_arrives_in_all_columns(shown: Shown) -> None:
    assert all(draft["p"] is not None for draft in shown["step"]["drafts"])
    assert shown["trace"].metrics["target_passes"] == len(shown["trace"].data["steps"])


@says("run:opening@2.threshold.3")
def the_third_coin_rejects(shown: Shown) -> None:
    """Its numbers stand in the text; the guess after it is not looked at, and the step gives three tokens."""
    assert states(shown["step"]) == ["accepted", "accepted", "rejected", "discarded"]
    rejected, unseen = shown["step"]["drafts"][2:]
    assert rejected["p"] / rejected["q"] <= rejected["coin"] < 1
    assert figure("opening@2.3.chance|%") == pytest.approx(rejected["p"] / rejected["q"], abs=0.005)
    assert learn_text.figure("opening@2.3.verdict") == "rejected" and unseen["coin"] is None
    assert shown["step"]["final"]["kind"] == "residual"


# --- the replacement and the bonus ------------------------------------------------------------------------------------


@says("run:opening@2.owed")
def what_is_owed_is_what_is_missing(shown: Shown) -> None:
    """Both sums are the chance of a rejection, and what is owed to a token is what p has more than q."""
    final, row = shown["step"]["final"], shown["step"]["drafts"][2]["row"]
    assert final["mass"] == pytest.approx(1 - final["overlap"], abs=1e-6)
    owed = sum(max(0, p - q) for p, q in zip(row["p"], row["q"], strict=True)) + row["p_rest"]
    over = sum(max(0, q - p) for p, q in zip(row["p"], row["q"], strict=True)) + row["q_rest"]
    assert owed - row["overlap_rest"] == pytest.approx(final["mass"], abs=1e-3)
    assert over - row["overlap_rest"] == pytest.approx(final["mass"], abs=1e-3)
    assert final["p"] > final["q"]


@says("exact:table/resample-from-p/100000")
def from_p_gives_the_drafts_favourites_a_second_helping(shown: Shown) -> None:
    is_wrong(shown)
    assert shown["bias"] == pytest.approx(figure("bias resample-from-p"), abs=0.005)
    gives_the_drafts_favourites_too_much("resample-from-p")


@says("exact:screen/resample-from-p/100000/opening@2.owed")
def from_p_does_the_same_in_a_real_run(shown: Shown) -> None:
    is_wrong(shown)
    tokens = [lane for lane in shown["lanes"] if lane["count"] == 1]
    favourites = [lane for lane in tokens if lane["q"] > lane["p"] + 0.01]
    assert favourites and all(lane["law"] > 1.1 * lane["p"] for lane in favourites)
    short = [lane for lane in tokens if lane["law"] < lane["p"] - 0.002]
    assert short and all(lane["q"] < lane["p"] for lane in short)


@says("run:opening@1.draw")
def four_kept_and_a_bonus(shown: Shown) -> None:
    assert states(shown["step"]) == ["accepted"] * 4 and shown["step"]["final"]["kind"] == "bonus"
    assert shown["step"]["totals"]["tokens"] == 5 and shown["step"]["totals"]["target_passes"] == 1


@says("exact:table/bonus-after-rejection/100000")
def a_bonus_after_a_rejection_spoils_a_later_token(shown: Shown) -> None:
    is_wrong(shown)
    leaves_the_first_token_right("bonus-after-rejection")


# --- speed ------------------------------------------------------------------------------------------------------------


def costs_of_the_opening() -> tuple[float, list[float], float]:
    costs = open_recorded("opening").data["costs"]
    assert (
        costs is not None
        and len(costs["target_ms"]) == MAX_K + 1
        and all(ms > 0 for ms in costs["target_ms"])
    )
    one = costs["target_ms"][0]
    return costs["draft_ms"] / one, [ms / one for ms in costs["target_ms"]], costs["rest_ms"] / one


@says("lab:speed")
def the_pairs_costs_are_known(shown: Shown) -> None:
    """A cheap draft and rows that are nearly free, as the text says of this pair; and a run that was faster."""
    c, verify, _ = costs_of_the_opening()
    assert figure("opening.c|%") == pytest.approx(c, abs=0.005) and c < 0.2
    assert figure("opening.v") == pytest.approx(verify[4], abs=0.005) and 1 < verify[4] < 1.5
    assert open_recorded("opening").metrics["speedup_measured"] > 1


@says("run:opening@26.draw")
def three_figures_that_are_easily_mixed_up_differ(shown: Shown) -> None:
    metrics = shown["trace"].metrics
    names = ("acceptance_examined", "acceptance_drafted", "tokens_per_pass", "speedup_measured")
    examined, drafted, tokens, speedup = (metrics[name] for name in names)
    assert drafted < examined < 1 < speedup < tokens


@says("lab:speed?if-alpha=0.2&if-c=0.09&if-k=4")
def too_few_are_kept(shown: Shown) -> None:
    """Whatever run is on screen, one without costs too; and from some acceptance on it pays."""
    alpha, c, k = (float(shown["fields"][name]) for name in ("if-alpha", "if-c", "if-k"))
    own, verify, rest = costs_of_the_opening()
    assert c == pytest.approx(own, abs=0.006)
    for v, o in ((verify[int(k)], rest), (1.0, 0.0)):
        assert theory.speedup(alpha, int(k), c, v, o) < 1
        least = theory.break_even(int(k), c, v, o)
        assert least is not None and alpha < least < 0.5


# --- what exact means -------------------------------------------------------------------------------------------------


@says("exact:table//1000000")
def a_million_throws_of_the_right_rule(shown: Shown) -> None:
    is_exact(shown)
    assert shown["throws"]["trials"] == 1_000_000


@says("lab:exactness?press=greedy-check")
def at_temperature_0_the_texts_are_equal(shown: Shown) -> None:
    """With the toy, which is float64 and has no near-ties; above 0 the plain loop's text is another one."""
    assert shown["press"] == "greedy-check"
    assert check_greedy(load_pair("toy"), IDS[0], k=4, max_new_tokens=24).equal


def test_throwing_can_only_refute() -> None:
    """A mistake that is too small, and one that spoils later tokens only, go unseen where the text says so."""
    assert check_table(FAULTS["clamped-residual"], 1_000_000, 1).throws.inside  # type: ignore[union-attr]
    assert check_table(FAULTS["clamped-residual"]).bias > ROUNDING
    leaves_the_first_token_right("argmax-bonus")
    assert figure("harmless") == sum(fault.exact for fault in FAULTS.values()) == 5


# --- when it fails ----------------------------------------------------------------------------------------------------


@says("run:self@1.draw")
def the_target_drafts_for_itself(shown: Shown) -> None:
    """Kept nearly always, and slower: its draft costs as much as the target."""
    trace = shown["trace"]
    metrics, costs = trace.metrics, trace.data["costs"]
    assert metrics["acceptance_examined"] > 0.95 < metrics["overlap_mean"] < 1
    assert metrics["speedup_measured"] < 1 and metrics["tokens_per_pass"] > 4
    assert metrics["speedup_measured_doubt"] is None
    assert costs["draft_ms"] == pytest.approx(costs["target_ms"][0], rel=0.1)


@says("run:hot@2.draw")
def above_temperature_1_the_draft_can_not_say_much_of_what_comes_out(shown: Shown) -> None:
    hot, warm = shown["trace"], open_recorded("warm")
    assert hot.data["settings"]["temperature"] == 1.5 and warm.data["settings"]["temperature"] == 0.7
    assert hot.data["prompt"] == warm.data["prompt"]
    assert figure("hot.overlap_mean") < figure("warm.overlap_mean") - 0.05
    share_hot, share_warm = (figure(f"{name}.unknown") / figure(f"{name}.tokens") for name in ("hot", "warm"))
    assert share_hot > 0.4 and share_hot > 4 * share_warm
    assert hot.metrics["speedup_measured"] < 1 and hot.metrics["speedup_measured_doubt"] is None


def test_flat_laws_alone_do_not_overlap_less() -> None:
    """Why the text gives another reason: the toy's laws overlap more as they grow flat."""
    overlaps = []
    for temperature in (0.5, 1.0, 2.0):
        position = position_of_toy(IDS[0], 0.9, type(HOT)(temperature))
        overlaps.append(check_position(position, EXACT).kept.sum())  # type: ignore[union-attr]
    assert overlaps == sorted(overlaps) and overlaps[2] > overlaps[0] + 0.1


# --- the mistakes -----------------------------------------------------------------------------------------------------


@says("exact:table/argmax-draft/100000")
def a_certain_guess_is_kept_too_often(shown: Shown) -> None:
    is_wrong(shown)
    likeliest = Q[START].index(max(Q[START]))
    p, law = first_tokens("argmax-draft")[likeliest]
    assert p == P[START][likeliest] and law > p + 0.1


@says("exact:table/argmax-draft-one-hot/100000")
def a_one_hot_q_makes_it_right(shown: Shown) -> None:
    is_exact(shown)


@says("exact:table/argmax-bonus/100000")
def a_test_of_the_first_token_does_not_see_it(shown: Shown) -> None:
    is_wrong(shown)
    leaves_the_first_token_right("argmax-bonus")


@says("exact:table/coin-is-draft-uniform/100000")
def a_coin_that_is_the_drafts_number_is_seen_at_once(shown: Shown) -> None:
    is_wrong(shown)
    assert max(abs(p - law) for p, law in first_tokens("coin-is-draft-uniform")) > 0.1


@says("exact:table/one-coin/100000")
def one_coin_for_all_is_seen_in_one_step(shown: Shown) -> None:
    is_wrong(shown)
    leaves_the_first_token_right("one-coin")


@says("exact:table/sample-engine/100000")
def all_five_are_off_by_what_the_text_says(shown: Shown) -> None:
    is_wrong(shown)
    assert shown["bias"] == pytest.approx(figure("bias sample-engine"), abs=0.005)
    assert shown["bias"] > max(check_table(FAULTS[name]).bias for name in FAULTS if name != "sample-engine")


@says("exact:toy/sample-engine/100000")
def the_toys_law_is_wrong_too(shown: Shown) -> None:
    is_wrong(shown)
    assert sum(lane["count"] for lane in shown["lanes"]) == 100


# --- the sentences, which have no experiments --------------------------------------------------------------------------


def test_the_sentences_about_k() -> None:
    """Some K helps as soon as α > c; the best is finite if guesses cost something and some are rejected."""
    for alpha, c in ((0.3, 0.2), (0.8, 0.05), (0.95, 0.9)):
        assert max(theory.speedup(alpha, k, c) for k in range(1, 50)) > 1
        best = max(range(1, 2000), key=lambda k: theory.speedup(alpha, k, c))
        assert best < 100
    assert all(theory.speedup(0.2, k, 0.3) < 1 for k in range(1, 50))
    certain = [theory.speedup(1, k, 0.05) for k in range(1, 2000)]
    assert certain == sorted(certain) and certain[-1] < 1 / 0.05


def test_a_draft_that_reads_the_ids_otherwise_is_only_a_bad_draft() -> None:
    """Its logits are the target's in another order; the law that comes out is the target's all the same."""
    own = position_of_toy(IDS[0], 0.9, HOT)
    other = type(own)(own.target, own.target.flip(0), own.sampling, own.cell_of, own.ids)
    right, wrong = (check_position(place, EXACT) for place in (own, other))
    assert wrong.bias < ROUNDING and wrong.kept.sum() < right.kept.sum() - 0.2  # type: ignore[union-attr]


def test_what_is_compared_with_a_sample_is_exact_and_keeps_less() -> None:
    position = position_of_toy(IDS[0], 0.9, HOT)
    compared, coined = (check_position(position, rules) for rules in (FAULTS["exact-match"].rules, EXACT))
    assert compared.bias < ROUNDING and compared.kept.sum() < coined.kept.sum() - 0.1  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("speedup 0.8 4 0.07 2", 1.2, 2), ("reached 0.6 10|%", 0.005, 0.05), ("tokens 0.8 8", 3, 7), ("passes 0.7 8", 13, 40),
        ("ceiling 0.9", 9.99, 10.01), ("speedup 0.81 1 0.6", 1.05, 2), ("speedup 0.81 5 0.6", 0.5, 0.99), ("bias resample-from-p", 0.05, 1),
    ],
)  # fmt: skip
def test_a_figure_fits_the_sentence_that_it_stands_in(name: str, low: float, high: float) -> None:
    said = "".join((LEARN / f"{file}.md").read_text(encoding="utf-8") for file in FILES)
    assert f"{{{name}}}" in said and low <= figure(name) <= high


# --- none is left out ---------------------------------------------------------------------------------------------------


@cache
def experiments() -> frozenset[str]:
    found = {
        link
        for file in FILES
        for link in EXPERIMENT.findall((LEARN / f"{file}.md").read_text(encoding="utf-8"))
    }
    return frozenset(link for link in found if not link.startswith("lab:hardware"))


def test_every_experiment_has_a_check_and_every_check_its_experiment() -> None:
    assert {*CHECKS} == experiments()
    assert len(CHECKS) > 20


@pytest.mark.parametrize("link", CHECKS)
def test_an_experiment_shows_what_its_sentence_says(link: str) -> None:
    CHECKS[link](opened(link))
