import pytest

from specviz.record.metrics import by_position, engine_overhead, summary


def step(*states, tokens, overlap=0.5, final="bonus"):
    drafts = [{"state": state, "overlap": None if state == "discarded" else overlap} for state in states]
    return {
        "k": len(states),
        "drafts": drafts,
        "final": {"kind": final} if final else None,
        "ms": {"draft": 1.0, "verify": 6.0, "rest": 3.0, "step": 10.0},
        "totals": {"tokens": tokens, "target_passes": 1, "draft_passes": len(states)},
    }


def data(*steps, k=4):
    return {"steps": list(steps), "settings": {"k": k}, "costs": None, "baseline": None}


def test_the_three_acceptance_figures_have_three_denominators():
    # the worked example of the engines' vocabulary: accepted [4, 0, 2, 1, 4] of [4, 4, 4, 3, 4] drafted
    a, r, d = "accepted", "rejected", "discarded"
    steps = [
        step(a, a, a, a, tokens=5),
        step(r, d, d, d, tokens=6, final="residual"),
        step(a, a, r, d, tokens=9, final="residual"),
        step(a, r, d, tokens=11, final="residual"),
        step(a, a, a, a, tokens=16, overlap=0.9),
    ]
    figures = summary(data(*steps))
    assert (figures["accepted"], figures["examined"], figures["drafted"]) == (11, 14, 19)
    assert figures["acceptance_examined"] == pytest.approx(0.786, abs=5e-4)
    assert figures["acceptance_drafted"] == pytest.approx(0.579, abs=5e-4)
    assert figures["overlap_mean"] == pytest.approx((10 * 0.5 + 4 * 0.9) / 14)
    assert [(p["examined"], p["accepted"]) for p in by_position(steps)] == [(5, 4), (4, 3), (3, 2), (2, 2)]
    assert (figures["residual"], figures["bonus"]) == (3, 2)


def test_nothing_drafted_has_no_acceptance_rather_than_zero():
    figures = summary(data(step(tokens=1)))
    assert figures["acceptance_examined"] is figures["acceptance_drafted"] is figures["overlap_mean"] is None
    assert figures["bonus"] == 0  # the target's own draw is no bonus of drafting
    empty = summary(data())
    assert empty["tokens"] == 0
    assert empty["tokens_per_pass"] is empty["speedup_measured"] is None


def test_the_overhead_is_the_share_of_time_outside_the_forwards():
    assert engine_overhead([step(tokens=1), step(tokens=2)]) == pytest.approx(0.3)
    assert engine_overhead([]) is None
