"""The Hardware tab: the article's figures, what changes them, this machine measured or not, and numbers that are none."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from specviz import theory
from specviz.page.calculator import DEFAULTS, read_setup
from specviz.page.gallery import entries, open_recorded
from specviz.page.hardware import lab as hardware_lab
from specviz.page.hardware.charts import batch_figure, bytes_figure, roofline_figure
from specviz.page.hardware.lab import CALCULATED, OWN, THIS, HardwareLab
from specviz.page.server.shelf import Shelf
from specviz.speed import hardware
from specviz.speed.hardware import Machine

ME = SimpleNamespace(session_hash="me")


@pytest.fixture
def lab():
    return HardwareLab(Shelf())


def given(**changes):
    return tuple((DEFAULTS | changes).values())


def part(update, name):
    return json.loads(update[-len(CALCULATED) :][CALCULATED.index(name)])


def figures(update):
    return {card["title"]: card["value"] for card in part(update, "cards")["cards"]}


def test_the_defaults_are_the_articles_figures(lab):
    update = lab.calculate(*given())
    found = figures(update)
    assert found["the target's weights"] == "140 GB"
    assert found["without a draft, at most"] == "57 tokens/s"
    assert found["arithmetic is free up to"] == "282 rows"
    assert part(update, "cards")["lines"][0].startswith(
        "One text: 100 tokens read 140 GB 100 times: 14 TB. With K = 4 the target is read 30 times: 4.17 TB"
    )
    setup = read_setup(DEFAULTS)
    ours = hardware.speculative_tokens_per_s(setup.machine, setup.target, setup.draft, 0.8, 4, 1, 1000)
    assert found["with K = 4, α = 0.80"] == f"{ours:.0f} tokens/s"
    assert "NVIDIA DGX B200 datasheet" in part(update, "source")["lines"][0]
    assert part(update, "fit") | {"share": 0} == {
        "text": "It fits: target 140.0 GB + draft 16.0 GB + KV caches 0.5 GB = 156.5 GB of 180.0 GB.", "tone": "quiet", "share": 0, "tells": False,
    }  # fmt: skip


H100 = {"machine": "NVIDIA H100 SXM", "bandwidth": 3350.0, "peak": 989.0, "memory": 80.0}


def test_without_a_cache_an_h100_has_the_articles_figures_and_does_not_hold_the_model(lab):
    update = lab.calculate(*given(**H100, context=0))
    found = figures(update)
    assert (found["without a draft, at most"], found["arithmetic is free up to"]) == (
        "24 tokens/s",
        "295 rows",
    )
    told = part(update, "fit")
    assert told["tone"] == "error"
    assert told["text"].startswith(
        "It does not fit: target 140.0 GB + draft 16.0 GB = 156.0 GB, and one such machine has 80.0 GB. It takes 2 or more"
    )


@pytest.mark.parametrize(
    ("changes", "tone", "says"),
    [
        ({"target": 140}, "error", "It takes 2 or more"),
        ({"memory": 150}, "error", "Without the draft it would fit."),
        ({"memory": 150, "k": 0}, "quiet", "It fits: target 140.0 GB + KV cache 0.3 GB = 140.3 GB"),
        ({"batch": 64}, "error", "KV caches 29.4 GB = 185.4 GB"),
        ({"batch": 50, "context": 1000}, "quiet", "It fits"),
        ({"memory": None}, "quiet", "How much memory the machine has is not given."),
        ({"memory": 0}, "quiet", "How much memory the machine has is not given."),
    ],
)
def test_the_page_says_whether_weights_and_caches_fit_and_how_many_machines_it_takes(
    lab, changes, tone, says
):
    told = part(lab.calculate(*given(**changes)), "fit")
    assert told["tone"] == tone
    assert says in told["text"]


def test_an_overhead_makes_a_small_draft_dear_and_says_so(lab):
    soup = {**H100, "target": 8.03, "draft": 1.24, "context": 0}
    bare, with_overhead = (lab.calculate(*given(**soup, overhead=ms)) for ms in (0, 5.25))
    assert figures(bare)["a draft pass, c"] == "0.15"
    assert figures(with_overhead)["a draft pass, c"] == "0.60"
    assert bare[CALCULATED.index("roofline")].data[1].y[0] == pytest.approx(3.35)
    assert with_overhead[CALCULATED.index("roofline")].data[1].y[0] < 1.7  # below the roof


def test_8_bit_products_double_the_peak_of_a_machine_that_has_them_and_need_8_bit_weights(lab):
    eight = {**H100, "bits": 8, "draft_bits": 8, "context": 0}
    assert figures(lab.calculate(*given(**eight)))["arithmetic is free up to"] == "148 rows"
    assert figures(lab.calculate(*given(**eight, products=8)))["arithmetic is free up to"] == "295 rows"
    mine = eight | {"machine": OWN, "bandwidth": 3351.0, "products": 8}
    assert figures(lab.calculate(*given(**mine)))["arithmetic is free up to"] == "148 rows"
    assert "as fast as 16-bit ones" in part(lab.calculate(*given(**mine)), "source")["lines"][1]
    assert len(part(lab.calculate(*given(**eight, products=8)), "source")["lines"]) == 1
    for wide in ({"bits": 16}, {"draft_bits": 16}):
        status = part(lab.calculate(*given(**(eight | {"products": 8} | wide))), "status")
        assert "8-bit products need weights of at most 8 bits" in status["text"]


def test_the_note_under_the_free_rows_is_the_formula_that_gives_them(lab):
    def card(**changes):
        cards = part(lab.calculate(*given(**changes)), "cards")["cards"]
        return next(each for each in cards if each["title"] == "arithmetic is free up to")

    dense = card(**H100, context=0)
    assert (dense["value"], dense["notes"][0]) == ("295 rows", "Balance × bits / 16.")
    cached = card(**H100)
    assert (cached["value"], cached["notes"][0]) == (
        "296 rows",
        "Balance × bytes read / 2 operations a weight.",
    )
    sparse = card(**H100, active=10, context=0)
    assert (sparse["value"], "experts" in sparse["notes"][0]) == ("2,952 rows", True)
    busy = {"batch": 16, "context": 0}
    assert card(**busy)["notes"][1] == "This step checks 80: free."
    assert card(batch=64, context=0)["notes"][1] == "This step checks 320: not free."


def test_fewer_bits_a_batch_and_experts_change_it_one_at_a_time(lab):
    grid = part(lab.calculate(*given(**H100, context=0)), "changes")["grid"]
    rows = {row["head"]: row["cells"] for row in grid["rows"]}
    bits = ("as set", "8-bit weights", "8-bit weights and products", "4-bit weights")
    assert [rows[name][0]["text"] for name in bits] == ["295", "148", "295", "74"]
    assert [rows[name][1]["text"] for name in bits] == ["24", "48", "48", "96"]
    assert [rows[name][5]["note"] for name in bits] == ["2 machines", "fits", "fits", "fits"]
    gains = {name: float(cells[3]["text"].rstrip("×")) for name, cells in rows.items()}
    assert gains["batch 64"] < gains["batch 16"] == gains["as set"]
    # a draft of 8 billion beside 7 billion active: one text alone is slower, 64 touch all experts anyway
    assert gains["MoE, 10 % active, batch 1"] < 1 < 2 < gains["MoE, 10 % active, batch 64"]
    assert rows["MoE, 10 % active, batch 1"][4]["text"] == "0"
    assert gains["32,000 tokens of context"] < gains["as set"]
    own = part(lab.calculate(*given(machine=OWN, bandwidth=1.0)), "changes")["grid"]["rows"]
    assert "8-bit weights and products" not in [row["head"] for row in own]


def test_k_0_is_plain_decoding(lab):
    update = lab.calculate(*given(k=0))
    assert part(update, "changes")["grid"]["rows"][0]["cells"][3]["text"] == "1.00×"
    found = figures(update)
    assert found["with K = 0, α = 0.80"] == found["without a draft, at most"]
    assert found["arithmetic for a token"] == "1.00×"


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"target": 0}, "target's size must be above 0"), ({"target": -70}, "target's size"), ({"target": 1e300}, "target's size"),
        ({"target": None}, "target's size"), ({"target": float("nan")}, "target's size"), ({"draft": 0}, "draft's size"), ({"bandwidth": 0}, "bandwidth"),
        ({"bandwidth": float("inf")}, "bandwidth"), ({"peak": -1}, "peak arithmetic"), ({"active": 0}, "active share"), ({"active": 101}, "active share"),
        ({"batch": 0}, "batch"), ({"batch": 10**9}, "batch"), ({"k": 17}, "K must be"), ({"alpha": 1.5}, "acceptance"), ({"bits": 0}, "target weight's size"),
        ({"draft_bits": 33}, "draft weight's size"), ({"memory": -1}, "memory"), ({"memory": float("nan")}, "memory"), ({"overhead": -1}, "overhead"),
        ({"overhead": None}, "overhead"), ({"context": -1}, "context"), ({"context": 0.5}, "context"), ({"context": float("inf")}, "context"),
        ({"cache": -1}, "target's cache"), ({"draft_cache": None}, "draft's cache"), ({"products": 4}, "size of a product")
    ],
)  # fmt: skip
def test_sizes_of_zero_negative_and_absurd_are_refused_and_no_other_numbers_results_stay(
    lab, change, complaint
):
    update = lab.calculate(*given(**change))
    assert part(update, "status")["tone"] == "error"
    assert complaint in part(update, "status")["text"]
    assert part(update, "fit")["text"] == ""
    for name in ("source", "cards", "changes"):
        assert part(update, name) == {"cards": [], "grid": None, "lines": []}


@pytest.mark.parametrize(
    "extreme",
    [{"target": 1e-6, "draft": 1e-6}, {"target": 1e5, "active": 0.001}, {"alpha": 0, "k": 16}, {"alpha": 1, "k": 16, "batch": 512}, {"bandwidth": 1e-3}, {"peak": 1e-3},
     {"context": 10_000_000, "batch": 512}, {"overhead": 1e4}, {"memory": 1e-6}, {"bits": 0.1}],
)  # fmt: skip
def test_extreme_sizes_in_range_are_calculated(lab, extreme):
    update = lab.calculate(*given(**extreme))
    assert part(update, "status")["text"] == ""
    for figure in update[4:7]:
        assert "NaN" not in figure.to_json()
        assert "Infinity" not in figure.to_json()


def test_a_machine_of_the_menu_brings_its_figures_and_their_source(lab):
    bandwidth, peak, memory, *update = lab.choose(*given(machine="NVIDIA L4"))
    assert (bandwidth, peak, memory) == (300, 121, 24)
    assert "NVIDIA L4 datasheet" in part(update, "source")["lines"][0]
    update = lab.calculate(*given(bandwidth=1000.0))
    assert part(update, "source")["lines"] == ["Your own numbers."]
    bandwidth, peak, memory, *update = lab.choose(*given(machine=OWN, bandwidth=1.0))
    assert bandwidth == peak == memory == {"__type__": "update"}
    assert part(update, "source")["lines"] == ["Your own numbers."]
    update = lab.calculate(*given(machine=OWN, bandwidth=3350.0, peak=989.0, memory=80.0))
    told = part(update, "source")["lines"][0]  # as an experiment leaves them, which can't set the menu
    assert told.startswith("The numbers are those of NVIDIA H100 SXM. NVIDIA H100 datasheet")
    assert part(lab.calculate(*given(**H100)), "source")["lines"][0].startswith("NVIDIA H100 datasheet")


def test_this_machine_is_not_measured_yet_until_it_is(lab, monkeypatch):
    assert (f"{THIS}, not measured yet", THIS) in lab.machines()
    bandwidth, peak, memory, status, *rest = lab.choose(*given(machine=THIS))
    assert "not been measured yet: press" in json.loads(status)["text"]
    assert all(each == {"__type__": "update"} for each in (bandwidth, peak, memory, *rest))
    here = Machine(THIS, 10e9, 0.05e12, "measured in this process, float32: test")
    monkeypatch.setattr(hardware_lab, "measure_this_machine", lambda: here)
    *_, (menu, bandwidth, peak, memory, *update) = lab.measure(ME, *given())
    assert (bandwidth, peak, memory) == (10, 0.05, None)
    assert (f"{THIS}, measured", THIS) in menu["choices"]
    assert part(update, "source")["lines"][0].startswith("measured in this process")
    assert lab.shelf._turn.acquire(blocking=False)


def test_a_run_brings_its_acceptance_and_k_once(lab):
    run = open_recorded(entries()[0].name)
    seen, alpha, k, *_ = lab.open(run, None, *given())
    assert (seen, alpha, k) == (run.data["run_id"], round(run.metrics["acceptance_examined"], 2), 4)
    _, alpha, k, *update = lab.open(run, seen, *given(alpha=0.1, k=2))
    assert alpha == k == {"__type__": "update"}
    assert "with K = 2, α = 0.10" in figures(update)
    seen, alpha, _, *update = lab.open(None, None, *given())
    assert seen is None
    assert "with K = 4, α = 0.80" in figures(update)


def test_the_figures_hold_what_the_theory_says():
    setup = read_setup(DEFAULTS | H100)
    roof, plain, checked = roofline_figure(setup.machine, setup.target, 1, 4, 0).data
    assert (plain.x[0], checked.x[0]) == (1, 5)
    assert plain.y[0] == pytest.approx(3.35)
    assert max(roof.y) == 989
    target, draft = bytes_figure(setup.target, setup.draft, 0.8, 4, 100, 0).data
    assert list(target.x) == pytest.approx([14 / 3.3616, 14])
    assert list(draft.x) == pytest.approx([400 / 3.3616 * 0.016, 0])
    best, at_k, ring = batch_figure(setup.machine, setup.target, setup.draft, 0.8, 4, 1, 0).data
    assert ring.y[0] == at_k.y[0] == pytest.approx(theory.speedup(0.8, 4, 8 / 70))
    assert at_k.y[-1] < 1 <= min(best.y)
