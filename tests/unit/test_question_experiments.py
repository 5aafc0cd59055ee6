"""Every experiment of the questions shows what its answer says; the hardware lab's links are checked with that lab."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from specviz import theory
from specviz.page.controls import NAMES
from specviz.page.gallery import open_recorded
from specviz.page.learn import text as learn_text
from tests.unit.test_lesson_experiments import figure, is_exact, is_wrong, opened

LEARN = Path(__file__).resolve().parents[2] / "assets/learn"
EXPERIMENT = re.compile(r"\]\(((?:run|exact|lab|set):[^)]+)\)")

Shown = dict[str, Any]
Check = Callable[[Shown], None]
CHECKS: dict[str, Check] = {}


def says(*links: str) -> Callable[[Check], Check]:
    def entered(check: Check) -> Check:
        for link in links:
            assert link not in CHECKS
            CHECKS[link] = check
        return check

    return entered


def links() -> list[str]:
    text = (LEARN / "questions.md").read_text(encoding="utf-8")
    return [link for link in dict.fromkeys(EXPERIMENT.findall(text)) if not link.startswith("lab:hardware")]


def sliders(shown: Shown) -> dict[str, float]:
    return {name.removeprefix("if-"): float(value) for name, value in shown["fields"].items()}


def drafts(shown: Shown) -> list[dict[str, Any]]:
    return shown["step"]["drafts"]


def states(shown: Shown) -> list[str]:
    return [draft["state"] for draft in drafts(shown)]


def metrics(name: str) -> dict[str, Any]:
    return open_recorded(name).metrics


# --- right laws and wrong ones ----------------------------------------------------------------------------------------

says(
    "exact:table//100000", "exact:table/argmax-draft-one-hot/100000", "exact:table/draft-at-temperature-1/100000",
    "exact:table/stop-after-unsure-draft/100000", "exact:table/exact-match/100000",
)(is_exact)  # fmt: skip
says(
    "exact:table/argmax-draft/100000", "exact:table/resample-from-p/100000", "exact:table/resample-without-rejected/100000",
    "exact:table/lenience-0.5/100000", "exact:table/inverted-ratio/100000", "exact:table/tested-untruncated/100000",
    "exact:table/drop-unsure-draft/100000",
)(is_wrong)  # fmt: skip


@says("exact:toy/tested-untruncated/100000")
def q_before_top_k_is_wrong_on_the_toy_too(shown: Shown) -> None:
    assert shown["bias"] > 0.005 and not shown["throws"]["inside"]


@says("exact:toy/clamped-residual/1000000")
def a_residual_that_is_never_zero_gives_mass_to_what_is_owed_nothing(shown: Shown) -> None:
    assert 1e-6 < shown["bias"] < 0.05


@says("exact:screen/exact-match/100000/opening@2.threshold.3")
def equal_draws_are_rarer_than_the_overlap(shown: Shown) -> None:
    is_exact(shown)
    draft = open_recorded("opening").data["steps"][1]["drafts"][2]
    row = draft["row"]
    equal = sum(p * q for p, q in zip(row["p"], row["q"], strict=True)) + row["p_rest"] * row["q_rest"]
    assert equal < draft["overlap"]


@says("exact:toy//100000?agreement=0")
def some_guesses_of_a_draft_that_knows_nothing_come_out_and_the_law_is_the_targets(shown: Shown) -> None:
    is_exact(shown)
    assert sum(lane["kept"] for lane in shown["lanes"]) > 0.05


# --- recorded runs ----------------------------------------------------------------------------------------------------


@says("run:cold@1.coin.2")
def at_temperature_0_no_coin_matters(shown: Shown) -> None:
    for step in shown["trace"].data["steps"]:
        assert all(
            draft["p"] in (0.0, 1.0) and draft["q"] == 1.0
            for draft in step["drafts"]
            if draft["coin"] is not None
        )


@says("run:warm@1.coin.2")
def above_it_coins_decide(shown: Shown) -> None:
    assert shown["trace"].data["prompt"]["text"] == open_recorded("cold").data["prompt"]["text"]
    every = [
        draft
        for step in shown["trace"].data["steps"]
        for draft in step["drafts"]
        if draft["coin"] is not None
    ]
    assert any(0 < draft["p"] < draft["q"] for draft in every)


@says("run:opening@2.owed")
def what_is_owed_is_nothing_where_the_draft_says_at_least_as_much(shown: Shown) -> None:
    row = drafts(shown)[states(shown).index("rejected")]["row"]
    owed = [max(0.0, p - q) for p, q in zip(row["p"], row["q"], strict=True)]
    assert 0.0 in owed and max(owed) > 0
    assert shown["step"]["final"]["kind"] == "residual"


@says("run:self@1.draw", "run:self@1.verify")
def one_model_is_nearly_one_law_and_a_slow_draft(shown: Shown) -> None:
    found = shown["trace"].metrics
    assert 0.95 < found["overlap_mean"] < 1
    assert figure("self.acceptance_examined") > 0.9
    assert found["speedup_measured"] < 1


@says("run:opening@2.threshold.3")
def a_guess_with_p_below_q(shown: Shown) -> None:
    guess = drafts(shown)[2]
    assert guess["p"] < guess["q"] and guess["p"] / guess["q"] <= 1
    assert guess["overlap"] == pytest.approx(1 - guess["mass"], abs=1e-4)


@says("run:noise@1.draw")
def noise_is_late_not_worse(shown: Shown) -> None:
    assert shown["trace"].metrics["accepted"] / shown["trace"].metrics["examined"] < 0.1
    assert shown["trace"].metrics["tokens_per_pass"] < 1.2


@says("run:opening@1.verify", "run:opening@1.draw")
def one_pass_gives_five_rows_and_the_bonus_is_the_last(shown: Shown) -> None:
    assert states(shown) == ["accepted"] * 4 and shown["step"]["final"]["kind"] == "bonus"
    assert all(draft["p"] is not None for draft in drafts(shown))
    assert shown["step"]["totals"]["target_passes"] == 1
    assert shown["step"]["totals"]["tokens"] == 5


@says("run:opening@2.coin.3", "run:opening@2.draw")
def after_the_rejection_a_guess_is_not_looked_at(shown: Shown) -> None:
    assert states(shown) == ["accepted", "accepted", "rejected", "discarded"]
    assert drafts(shown)[3]["coin"] is None
    assert shown["step"]["ms"]["verify"] > 0


@says("run:opening@2.verify", "run:opening@2.draft.1")
def every_cell_is_one_id_for_both(shown: Shown) -> None:
    for draft in drafts(shown):
        assert draft["id"] in draft["row"]["ids"]
        assert len(draft["row"]["p"]) == len(draft["row"]["q"]) == len(draft["row"]["ids"])


@says("run:names@1.draw")
def the_draft_that_lacks_tokens_made_this_run(shown: Shown) -> None:
    assert shown["trace"].data["settings"]["draft"] == {"kind": "model", "name": "smollm2-135m-draft"}


@says("run:opening@26.draw")
def three_figures_of_one_run(shown: Shown) -> None:
    found = shown["trace"].metrics
    assert found["acceptance_drafted"] < found["acceptance_examined"] < 1 < found["tokens_per_pass"]
    assert found["tokens"] / found["target_passes"] == found["tokens_per_pass"]


@says("run:lookup@2.draw")
def lookup_found_less_than_k(shown: Shown) -> None:
    assert len(drafts(shown)) < shown["trace"].data["settings"]["k"]
    assert shown["step"]["k_reason"] == "proposals"


@says("run:lookup@4.draw", "run:lookup@4.draft.4")
def lookup_copies(shown: Shown) -> None:
    assert shown["trace"].data["settings"]["draft"]["kind"] == "lookup"
    assert len(drafts(shown)) == 4
    assert shown["trace"].metrics["acceptance_examined"] > 0.5


@says("run:code@1.draw", "run:code@1.draft.4")
def code_is_drafted_by_the_model(shown: Shown) -> None:
    assert shown["trace"].data["settings"]["draft"]["kind"] == "model"
    assert "class Point" in shown["trace"].data["prompt"]["text"]


@says("run:hot@2.draw")
def hot_overlaps_less_than_warm(shown: Shown) -> None:
    assert metrics("hot")["overlap_mean"] < metrics("warm")["overlap_mean"]
    assert figure("hot.unknown") / figure("hot.tokens") > 0.25


# --- the speed lab and the controls -----------------------------------------------------------------------------------


@says("lab:exactness?press=greedy-check")
def the_button_is_the_comparisons(shown: Shown) -> None:
    assert shown["press"] == "greedy-check"


@says("lab:speed")
def the_lab_opens_with_the_runs_own_values(shown: Shown) -> None:
    assert shown["fields"] == {}


@says("lab:speed?if-alpha=0.8&if-k=8")
def three_numbers_for_one_alpha(shown: Shown) -> None:
    at = sliders(shown)
    tokens = theory.expected_tokens(at["alpha"], int(at["k"]))
    assert figure("tokens 0.8 8") == pytest.approx(tokens, abs=0.005)
    assert figure("drafted 0.8 8") == pytest.approx((tokens - 1) / 8, abs=0.005)
    assert figure("drafted 0.8 8") < 0.8


@says("lab:speed?if-alpha=0.4&if-c=0.14&if-k=1")
def the_best_k_is_1(shown: Shown) -> None:
    at = sliders(shown)
    assert theory.best_k(at["alpha"], at["c"])[0] == 1
    assert theory.best_k(0.4, 1 / 7) == (1, pytest.approx(figure("speedup 0.4 1 0.142857"), abs=0.005))


@says("lab:speed?if-alpha=0.6&if-k=8")
def eight_is_past_the_best(shown: Shown) -> None:
    at = sliders(shown)
    best, gain = theory.best_k(at["alpha"], 0.09)
    assert 1 < best < at["k"] and theory.speedup(at["alpha"], 8, 0.09) < gain


@says("lab:speed?if-alpha=0.81&if-c=0.6&if-k=5")
def five_loses_where_one_gains(shown: Shown) -> None:
    at = sliders(shown)
    assert theory.speedup(at["alpha"], 5, at["c"]) < 1 < theory.speedup(at["alpha"], 1, at["c"])
    assert figure("speedup 0.81 5 0.6") < 1 < figure("speedup 0.81 1 0.6")


@says("lab:speed?if-c=0.4")
def a_larger_c_gains_less(shown: Shown) -> None:
    for alpha in (0.4, 0.6, 0.8):
        assert theory.best_k(alpha, sliders(shown)["c"])[1] < theory.best_k(alpha, 0.1)[1]


@says("lab:speed?if-alpha=0.82&if-c=0.11&if-k=7")
def the_largest_draft_gains_less_than_the_smallest(shown: Shown) -> None:
    at = sliders(shown)
    assert theory.speedup(at["alpha"], 7, at["c"]) < theory.speedup(0.75, 7, 0.02)


@says("lab:speed?if-alpha=0.75&if-c=0.02&if-k=7")
def the_smallest_draft_by_the_formula(shown: Shown) -> None:
    at = sliders(shown)
    assert theory.speedup(at["alpha"], 7, at["c"]) == pytest.approx(figure("speedup 0.75 7 0.02"), abs=0.005)


@says("set:pair=toy;prompt=1 15 42;seed=8", "set:k=1", "set:k=12")
def controls_that_exist(shown: Shown) -> None:
    assert shown["step"] is None


def test_every_experiment_of_the_questions_is_checked() -> None:
    assert set(links()) == set(CHECKS)
    assert len(CHECKS) > 40


@pytest.mark.parametrize("link", sorted(CHECKS))
def test_an_experiment_shows_what_its_answer_says(link: str) -> None:
    if link.startswith("set:"):
        assert set(learn_text.read_link(link)["values"]) <= set(NAMES)
    CHECKS[link](opened(link))


# --- figures that are filled in carry the condition under which their sentence is true ---------------------------------

# figure of a recorded run, of the draft, or of its log -> whether the sentences that it stands in are true of it
CONDITIONS: dict[str, Callable[[], bool]] = {
    "self.overlap_mean": lambda: 0.9 < metrics("self")["overlap_mean"] < 1,  # a guess could have been rejected
    "self.accepted": lambda: metrics("self")["accepted"] > 0.9 * metrics("self")["examined"],
    "self.examined": lambda: metrics("self")["examined"] > 20,
    "self.acceptance_examined": lambda: figure("self.acceptance_examined") > 0.9,  # near 1, a free test of an engine
    "self.acceptance_examined|%": lambda: metrics("self")["speedup_measured"] < 1,  # kept, and slower
    "self.speedup_measured": lambda: metrics("self")["speedup_measured"] < 1,
    "noise.accepted": lambda: metrics("noise")["accepted"] < 0.1 * metrics("noise")["examined"],
    "noise.examined": lambda: metrics("noise")["examined"] > 20,
    "draft.vocabulary": lambda: int(learn_text.figure("draft.vocabulary").replace(",", "")) < 49_152,
    "opening.rows": lambda: figure("opening.rows") == 5,
    "opening.v": lambda: 1 <= figure("opening.v") < 1.3,  # cheap, and it has limits
    "lookup.acceptance_examined|%": lambda: metrics("lookup")["acceptance_examined"] > 0.5,
    "cold.overlap_mean": lambda: metrics("cold")["overlap_mean"] > metrics("warm")["overlap_mean"],  # colder is larger
    "warm.overlap_mean": lambda: metrics("warm")["overlap_mean"] > metrics("hot")["overlap_mean"],  # a draft that lacks tokens
    "hot.overlap_mean": lambda: metrics("hot")["overlap_mean"] < metrics("cold")["overlap_mean"],
    "hot.unknown": lambda: figure("hot.unknown") > 0.25 * figure("hot.tokens"),
    "hot.tokens": lambda: figure("hot.tokens") > 20,
    "held_out code": lambda: figure("held_out code") > figure("held_out story"),  # code can be guessed
    "held_out letter": lambda: figure("held_out letter") > figure("held_out question"),
    "held_out story": lambda: figure("held_out story") < figure("held_out all"),
    "held_out question": lambda: figure("held_out question") < figure("held_out all"),
    "held_out all": lambda: 0.3 < figure("held_out all") < 0.7,
    "learned 0.95": lambda: figure("learned 0.95") < figure("learned 2.2"),
    "learned 2.2": lambda: figure("learned 2.2") < figure("learned 3.2"),
    "learned 3.2": lambda: figure("learned 3.2") > 0.4,
    "learned-train 3.2": lambda: figure("learned-train 3.2") > figure("learned 3.2") + 0.05,  # too little text
}  # fmt: skip
FORMULAS = (
    "calculator",
    "tokens",
    "drafted",
    "passes",
    "speedup",
    "operations",
    "bias",
)  # theirs are exact, and tested


def test_every_figure_that_is_filled_in_has_its_condition() -> None:
    text = (LEARN / "questions.md").read_text(encoding="utf-8")
    filled = {name for name in re.findall(r"\{([^}]+)\}", text) if name.split()[0] not in FORMULAS}
    assert filled == set(CONDITIONS)


@pytest.mark.parametrize("name", CONDITIONS)
def test_a_figure_fits_its_sentence(name: str) -> None:
    assert CONDITIONS[name]()


def test_some_sixty_guesses_know_alpha_to_about_an_eighth() -> None:
    examined = metrics("opening")["examined"]
    assert 40 < examined < 80
    assert 1.96 * (0.25 / examined) ** 0.5 == pytest.approx(0.12, abs=0.02)
