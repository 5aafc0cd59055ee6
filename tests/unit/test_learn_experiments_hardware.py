"""Every experiment that Learn opens in the tab Hardware shows what its sentence says."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from specviz import theory
from specviz.errors import SpecVizError
from specviz.page.calculator import DEFAULTS, FIELDS, Setup, setup_of
from specviz.page.hardware.lab import CALCULATED, HardwareLab, fit
from specviz.page.learn import text as learn_text
from specviz.page.server.shelf import Shelf
from specviz.speed.hardware import MACHINES, pass_seconds


def tries(data: Any) -> Iterator[tuple[str, dict[str, str]]]:
    """Every link into the tab: its words, and the fields that it fills."""
    if isinstance(data, dict):
        link = data.get("link")
        if isinstance(link, dict) and link.get("lab") == "hardware":
            yield data["text"], link["fields"]
        for value in data.values():
            yield from tries(value)
    elif isinstance(data, list):
        for value in data:
            yield from tries(value)


def question(number: int) -> dict[str, Any]:
    return next(each for group in learn_text.questions() for each in group["questions"] if each["number"] == number)  # fmt: skip


def said(number: int) -> str:
    return " ".join(piece["text"] for line in question(number)["answer"] for piece in line)


def gains(setup: Setup) -> str:
    """The gain as the answers print it."""
    return f"{setup.gain(setup.k):.2f} ×"


def fits(setup: Setup) -> bool:
    return fit(setup)[1] == "quiet"


# --- what each experiment has to show: the answer's words, and its links in their order -----------------------------------


def the_faster_machine_gains_less(answer: str, slow: Setup, fast: Setup) -> None:
    assert fast.machine.bytes_per_s > 10 * slow.machine.bytes_per_s
    assert fast.gain(4) < 1.5 < slow.gain(4)
    assert fast.draft_cost > 2 * slow.draft_cost
    assert f"at most {gains(slow)} on an L4 and {gains(fast)} on a B200" in answer
    assert f"c is {slow.draft_cost:.2f} and {fast.draft_cost:.2f}" in answer
    without = [setup.gain(4) for setup in (bare(slow), bare(fast))]
    assert without[0] == pytest.approx(without[1])  # "without a fixed cost both would gain the same"


def bare(setup: Setup) -> Setup:
    return replace(setup, peak=replace(setup.peak, overhead_s=0.0))


def a_large_batch_gains_less_then_nothing(answer: str, many: Setup, more: Setup) -> None:
    one = setup_of({"hw-bits": "8", "hw-draft-bits": "8"})
    assert (many.batch, more.batch) == (64, 128)
    assert one.gain(4) > 2 > many.gain(4) > 1 > more.gain(4)
    assert 0 < many.best_k() < one.best_k()  # "with a smaller K"
    assert (
        setup_of({"hw-bits": "8", "hw-draft-bits": "8", "hw-batch": "512"}).best_k() == 0
    )  # "none pays any more"
    assert all(fits(setup) for setup in (one, many, more))
    assert f"gains {gains(one)} at batch 1 and {gains(many)} at 64" in answer
    assert f"K = {many.best_k()} would gain {many.gain(many.best_k()):.2f} ×" in answer
    assert f"K = 4 loses, {gains(more)}" in answer


def experts_gain_in_batches_only(answer: str, one: Setup, many: Setup) -> None:
    dense = setup_of({"hw-bits": "8", "hw-draft-bits": "8", "hw-batch": "64"})
    assert one.target.active == many.target.active == 0.1
    assert one.best_k() == 0  # "little or nothing"
    assert one.draft_cost > 1  # "c is large too"
    rows = [pass_seconds(one.machine, one.target, count, 1000) for count in (1, 5)]
    assert rows[1] > 3 * rows[0]  # "v is large"
    assert many.gain(4) > dense.gain(4) > 1
    assert 5 * many.batch < many.free_rows  # "the arithmetic still has room"
    assert (
        f"{gains(one)} at batch 1 and {gains(many)} at batch 64, where the dense model has {gains(dense)}"
        in answer
    )


def a_copy_pays_by_its_bits(answer: str, four: Setup, eight: Setup) -> None:
    assert four.target.parameters == four.draft.parameters == eight.draft.parameters
    assert four.alpha == eight.alpha == 0.95
    assert four.draft_cost == pytest.approx(0.25, abs=0.02)
    assert eight.draft_cost == pytest.approx(0.5, abs=0.01)
    assert four.gain(4) > 2 > eight.gain(4) > 1
    assert f"4-bit copy gains {gains(four)} at K = 4, the 8-bit one {gains(eight)}" in answer
    assert theory.best_k(0.95, 1.0)[1] == 1  # "can at best break even"


def arithmetic_is_added_and_reading_saved(answer: str, setup: Setup) -> None:
    assert (setup.alpha, setup.k) == (0.5, 4)
    factor = theory.operations_factor(0.5, 4, 8 / 70)
    assert factor > 2
    assert f"{factor:.2f} times as much" in answer
    assert card(setup_fields(setup), "arithmetic for a token") == f"{factor:.2f}×"


def it_takes_more_memory(answer: str, h100: Setup, full: Setup) -> None:
    opening = setup_of({})
    assert h100.peak.memory == 80e9
    assert not fits(h100)
    assert "It takes 2 or more of them" in fit(h100)[0]
    assert fits(opening)
    assert full.batch == 64
    assert not fits(full)
    assert f"{opening.held / 1e9:.1f} GB, of which {opening.draft.bytes / 1e9:.1f} GB are the draft" in answer
    assert f"it is {full.held / 1e9:.1f} GB" in answer
    assert (
        f"{opening.target.cache / 1e3:.0f} KB in the target's cache and {opening.draft.cache / 1e3:.0f} KB"
        in answer
    )


def only_the_target_got_cheaper(answer: str, target: Setup, both: Setup) -> None:
    wide = setup_of({})
    assert target.draft_cost == pytest.approx(4 * wide.draft_cost, rel=0.02)
    assert target.gain(4) < 1.3 < 2 < both.gain(4)
    assert both.gain(4) == pytest.approx(wide.gain(4), rel=0.01)  # "quantise the draft as well"
    assert f"make c {target.draft_cost:.2f} instead of {wide.draft_cost:.2f}" in answer
    assert f"gains {gains(target)} instead of {gains(wide)}" in answer


def an_overhead_makes_it_1_7_times(answer: str, measured: Setup, without: Setup) -> None:
    assert measured.target.parameters / measured.draft.parameters == pytest.approx(6.5, abs=0.05)
    assert pytest.approx(1.68, abs=0.005) == 65.90 / 39.28
    assert 1 / measured.draft_cost == pytest.approx(1.68, abs=0.01)
    assert 1 / without.draft_cost > 6
    assert measured.gain(4) < 1 < measured.gain(1) < 1.2 < 2 < without.gain(4)
    assert without.plain > 5 * 39  # "most of a pass is something else"
    assert f"Reading the weights would allow {without.plain:.1f}" in answer
    assert f"the best K is {measured.best_k()}, {measured.gain(measured.best_k()):.2f} ×" in answer


def a_long_text_makes_the_draft_dear_unless_its_cache_is_small(
    answer: str, whole: Setup, window: Setup
) -> None:
    short = setup_of({"hw-bits": "8", "hw-draft-bits": "8"})
    assert whole.context == window.context == 128_000
    assert window.draft.cache == 0
    assert whole.gain(4) < short.gain(4) < window.gain(4)
    assert whole.free_rows > 1.5 * short.free_rows  # "more rows are free"
    assert fits(whole)
    assert f"{whole.target.cache * 128_000 / 1e9:.1f} GB, read in every pass" in answer
    assert f"{whole.free_rows:.0f} instead of {short.free_rows:.0f}" in answer
    assert f"falls from {short.gain(4):.2f} to {gains(whole)}" in answer
    assert f"a short window only it is {gains(window)}" in answer


EXPERIMENTS: dict[int, Callable[..., None]] = {
    33: the_faster_machine_gains_less,
    34: a_large_batch_gains_less_then_nothing,
    35: experts_gain_in_batches_only,
    37: a_copy_pays_by_its_bits,
    40: arithmetic_is_added_and_reading_saved,
    41: it_takes_more_memory,
    42: only_the_target_got_cheaper,
    43: an_overhead_makes_it_1_7_times,
    44: a_long_text_makes_the_draft_dear_unless_its_cache_is_small,
}


@pytest.mark.parametrize("number", EXPERIMENTS)
def test_the_experiments_of_an_answer_show_what_it_says(number):
    setups = [setup_of(fields) for _, fields in tries(question(number)["tries"])]
    EXPERIMENTS[number](said(number), *setups)


def test_no_experiment_in_the_tab_is_without_its_relation():
    numbers = {
        each["number"] for group in learn_text.questions() for each in group["questions"] if [*tries(each)]
    }
    assert numbers == {*EXPERIMENTS, 32}  # 32: the roofline as the tab opens
    other = [words for words, _ in tries(learn_text.text() | {"questions": []})]
    assert other == [
        "See the bound move with the machine", "70 billion weights do not fit into one H100", "Nine rows on the roofline",
    ]  # fmt: skip


# --- the lesson, and what the tab shows as it opens -----------------------------------------------------------------------


def test_the_lessons_bound_moves_with_the_machine_and_its_machine_holds_the_model():
    text = " ".join(piece["text"] for line in learn_text.lesson()[0]["text"] for piece in line)
    machines = {each.name: each for each in MACHINES}
    b200, h100 = machines["NVIDIA B200"], machines["NVIDIA H100 SXM"]
    assert b200.memory >= 140e9 > h100.memory
    assert f"holds them, with {b200.memory / 1e9:.0f} GB" in text
    assert f"with {h100.memory / 1e9:.0f} GB, can't even hold them" in text
    assert f"more than {b200.bytes_per_s / 140e9:.1f} tokens a second of one text" in text
    assert (
        setup_of({}).plain <= b200.bytes_per_s / 140e9
    )  # the tab's own figure, with its cache, keeps the bound
    bounds = {setup_of({"hw-bandwidth": f"{each.bytes_per_s / 1e9:g}"}).plain for each in MACHINES}
    assert len(bounds) == len(MACHINES)
    _, fields = next(each for each in tries(learn_text.lesson()) if each[1])
    assert not fits(setup_of(fields))


def test_five_rows_and_nine_are_as_cheap_as_one_on_the_roofline():
    _, fields = next(each for each in tries(learn_text.lesson()) if each[0] == "Nine rows on the roofline")
    setup = setup_of(fields)
    assert setup.k + 1 == 9
    one, five, nine = (pass_seconds(setup.machine, setup.target, rows, setup.context) for rows in (1, 5, 9))
    assert one == five == nine


# --- what a link fills in -------------------------------------------------------------------------------------------------


def setup_fields(setup: Setup) -> dict[str, str]:
    return {"hw-alpha": str(setup.alpha), "hw-k": str(setup.k)}


def card(fields: dict[str, str], title: str) -> str:
    """What the tab shows in a card once the fields are filled in."""
    values = DEFAULTS | {FIELDS[name]: float(text) for name, text in fields.items()}
    update = HardwareLab(Shelf()).calculate(*values.values())
    shown = json.loads(update[CALCULATED.index("cards")])["cards"]
    return next(each["value"] for each in shown if each["title"] == title)


def test_the_tab_shows_for_a_link_what_its_figures_are_computed_from():
    for words, fields in tries(learn_text.text()):
        if fields:
            setup = setup_of(fields)
            assert card(fields, "a draft pass, c") == f"{setup.draft_cost:.2f}", words
            speed = setup.plain * setup.gain(setup.k)
            shown = card(fields, f"with K = {setup.k}, α = {setup.alpha:.2f}")
            assert shown == f"{speed:.0f} tokens/s", words


def test_an_experiment_fills_in_the_whole_calculator_so_that_nothing_stays_from_another():
    fields = learn_text.read_link("lab:hardware?hw-batch=64")["fields"]
    assert {*fields} == {*FIELDS}
    assert fields["hw-batch"] == "64"
    assert (fields["hw-alpha"], fields["hw-k"], fields["hw-memory"]) == ("0.8", "4", "180")
    assert learn_text.read_link("lab:hardware")["fields"] == {}


@pytest.mark.parametrize("wrong", ["hw-batches=64", "hw-batch=0", "hw-target=0"])
def test_a_link_with_a_field_or_a_number_that_cant_be_used_is_an_error(wrong):
    with pytest.raises(SpecVizError):
        learn_text.read_link(f"lab:hardware?{wrong}")


def test_the_formula_ranks_the_papers_drafts_as_measured_and_overrates_the_largest():
    large, small = theory.speedup(0.82, 7, 0.11), theory.speedup(0.75, 7, 0.02)
    assert small > large > 1.2 * 1.7
    assert f"{large:.2f} and {small:.2f}" in said(36)
