"""The Hardware tab: the article's figures, what changes them, this machine measured or not, and numbers that are none."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from specviz import theory
from specviz.page.gallery import entries, open_recorded
from specviz.page.hardware import lab as hardware_lab
from specviz.page.hardware.charts import batch_figure, bytes_figure, roofline_figure
from specviz.page.hardware.lab import CALCULATED, DEFAULTS, OWN, THIS, HardwareLab, read_setup
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
    assert found["without a draft, at most"] == "24 tokens/s"
    assert found["arithmetic is free up to"] == "295 rows"
    assert part(update, "cards")["lines"][0].startswith(
        "100 tokens read 140 GB 100 times: 14 TB. With K = 4, 30 times: 4.16 TB"
    )
    setup = read_setup(DEFAULTS)
    ours = hardware.speculative_tokens_per_s(setup.machine, setup.target, setup.draft, 0.8, 4)
    assert found["with K = 4, α = 0.80"] == f"{ours:.0f} tokens/s"
    assert "NVIDIA H100 datasheet" in part(update, "source")["lines"][0]


def test_fewer_bits_a_batch_and_experts_change_it_one_at_a_time(lab):
    rows = {row["head"]: row["cells"] for row in part(lab.calculate(*given()), "changes")["grid"]["rows"]}
    assert [rows[name][0]["text"] for name in ("as set", "8-bit weights", "4-bit weights")] == [
        "295",
        "148",
        "74",
    ]
    assert [rows[name][1]["text"] for name in ("as set", "8-bit weights", "4-bit weights")] == [
        "24",
        "48",
        "96",
    ]
    gains = {name: float(cells[3]["text"].rstrip("×")) for name, cells in rows.items()}
    assert gains["batch 64"] < gains["batch 16"] == gains["as set"]
    assert gains["MoE, 10 % active"] < 1  # a draft of 8 billion beside 7 billion active
    assert rows["MoE, 10 % active"][4]["text"] == "0"


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
        ({"batch": 0}, "batch"), ({"batch": 10**9}, "batch"), ({"k": 17}, "K must be"), ({"alpha": 1.5}, "acceptance"), ({"bits": 0}, "size of a weight"),
    ],
)  # fmt: skip
def test_sizes_of_zero_negative_and_absurd_are_refused_and_what_was_drawn_stays(lab, change, complaint):
    status, *rest = lab.calculate(*given(**change))
    assert json.loads(status)["tone"] == "error"
    assert complaint in json.loads(status)["text"]
    assert all(each == {"__type__": "update"} for each in rest)


@pytest.mark.parametrize(
    "extreme",
    [{"target": 1e-6, "draft": 1e-6}, {"target": 1e5, "active": 0.001}, {"alpha": 0, "k": 16}, {"alpha": 1, "k": 16, "batch": 512}, {"bandwidth": 1e-3}, {"peak": 1e-3}],
)  # fmt: skip
def test_extreme_sizes_in_range_are_calculated(lab, extreme):
    update = lab.calculate(*given(**extreme))
    assert part(update, "status")["text"] == ""
    for figure in update[3:6]:
        assert "NaN" not in figure.to_json()
        assert "Infinity" not in figure.to_json()


def test_a_machine_of_the_menu_brings_its_figures_and_their_source(lab):
    bandwidth, peak, *update = lab.choose(*given(machine="NVIDIA L4"))
    assert (bandwidth, peak) == (300, 121)
    assert "NVIDIA L4 datasheet" in part(update, "source")["lines"][0]
    update = lab.calculate(*given(bandwidth=1000.0))
    assert part(update, "source")["lines"] == ["Your own numbers."]
    _, _, *update = lab.choose(*given(machine=OWN))
    assert part(update, "source")["lines"] == ["Your own numbers."]


def test_this_machine_is_not_measured_yet_until_it_is(lab, monkeypatch):
    assert (f"{THIS}, not measured yet", THIS) in lab.machines()
    _, _, status, *rest = lab.choose(*given(machine=THIS))
    assert "not been measured yet: press" in json.loads(status)["text"]
    assert all(each == {"__type__": "update"} for each in rest)
    here = Machine(THIS, 10e9, 0.05e12, "measured in this process, float32: test")
    monkeypatch.setattr(hardware_lab, "measure_this_machine", lambda: here)
    *_, (menu, bandwidth, peak, *update) = lab.measure(ME, *given())
    assert (bandwidth, peak) == (10, 0.05)
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
    setup = read_setup(DEFAULTS)
    roof, plain, checked = roofline_figure(setup.machine, setup.target, 1, 4).data
    assert (plain.x[0], checked.x[0]) == (1, 5)
    assert plain.y[0] == pytest.approx(3.35)
    assert max(roof.y) == 989
    target, draft = bytes_figure(setup.target, setup.draft, 0.8, 4, 100).data
    assert list(target.x) == pytest.approx([14 / 3.3616, 14])
    assert list(draft.x) == pytest.approx([400 / 3.3616 * 0.016, 0])
    best, at_k, ring = batch_figure(setup.machine, setup.target, setup.draft, 0.8, 4, 1).data
    assert ring.y[0] == at_k.y[0] == pytest.approx(theory.speedup(0.8, 4, 8 / 70))
    assert at_k.y[-1] < 1 <= min(best.y)
