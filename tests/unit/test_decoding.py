"""The run's book-keeping on the toy: lengths, stops, end tokens, addresses, branches."""

import dataclasses
import math
from concurrent.futures import ThreadPoolExecutor

import pytest

from specviz import Sampling, SpecVizError, autoregress, decode, load_pair, replay, resume, start
from specviz.models.toy import ToyCursor, toy_model

PROMPT = "1 15 42"


def toy(draft="model", *, end_ids=(), limit=None, draft_limit=None, agreement=0.9):
    pair = load_pair("toy", draft, agreement=agreement)
    target = dataclasses.replace(pair.target, end_ids=frozenset(end_ids), cursor=_cursor(1.0, limit))
    model = (
        dataclasses.replace(pair.draft, cursor=_cursor(agreement, draft_limit)) if draft == "model" else None
    )
    return dataclasses.replace(pair, target=target, draft=model or (target if draft == "self" else None))


def _cursor(agreement, limit):
    def make():
        cursor = ToyCursor(agreement)
        cursor.limit = limit or cursor.limit
        return cursor

    return make


def states(trace):
    return [[draft["state"] for draft in step["drafts"]] for step in trace.data["steps"]]


@pytest.mark.parametrize("k", [0, 1, 2, 5, 8, 16])
@pytest.mark.parametrize("tokens", [1, 2, 3, 7, 20])
def test_a_run_emits_exactly_the_tokens_asked_for(k, tokens):
    trace = decode(toy(), PROMPT, k=k, max_new_tokens=tokens)
    assert len(trace.token_ids) == tokens
    assert trace.data["stop"] == "length"
    assert replay(trace) == []
    assert all(step["k"] <= k for step in trace.data["steps"])


def test_the_last_token_is_never_drafted_and_says_why():
    last = decode(toy("self"), PROMPT, k=4, max_new_tokens=6).data["steps"][-1]
    assert (last["k"], last["k_reason"]) == (0, "length")
    assert last["final"]["kind"] == "bonus"


def test_k_zero_is_the_plain_loop_with_its_draws():
    options = {"max_new_tokens": 30, "sampling": Sampling(1.3), "seed": 3}
    trace = decode(toy(), PROMPT, k=0, **options)
    assert trace.token_ids == autoregress(toy().target, PROMPT, **options)["token_ids"]
    assert trace.metrics["acceptance_examined"] is None
    assert [step["k_reason"] for step in trace.data["steps"]] == [None] * 30


@pytest.mark.parametrize("temperature", [0.0, 0.5, 1.0, 1.7])
def test_the_target_as_its_own_draft_is_always_accepted(temperature):
    trace = decode(toy("self"), PROMPT, k=4, max_new_tokens=41, sampling=Sampling(temperature))
    assert trace.metrics["acceptance_examined"] == 1
    assert trace.metrics["tokens_per_pass"] == pytest.approx(
        41 / 9
    )  # eight steps of five, and the last token


@pytest.mark.parametrize("draft", ["model", "lookup", "self", "noise"])
def test_greedy_text_does_not_depend_on_the_draft(draft):
    greedy = {"sampling": Sampling(0.0), "max_new_tokens": 40}
    plain = autoregress(toy().target, PROMPT, **greedy)["token_ids"]
    assert decode(toy(draft), PROMPT, k=5, **greedy).token_ids == plain


def test_the_run_stops_at_the_targets_context_and_never_beyond():
    for limit in range(5, 16):
        trace = decode(toy(limit=limit), PROMPT, k=4, max_new_tokens=100)
        assert len(trace.token_ids) + 3 == limit
        assert trace.data["stop"] == "context"
        assert replay(trace) == []


def test_a_draft_with_a_shorter_context_falls_silent_and_the_target_goes_on():
    trace = decode(toy(draft_limit=10), PROMPT, k=4, max_new_tokens=20)
    assert len(trace.token_ids) == 20
    late = [step for step in trace.data["steps"] if step["totals"]["tokens"] > 8]
    assert late
    assert {(step["k"], step["k_reason"]) for step in late[:-1]} == {(0, "context")}
    assert replay(trace) == []


@pytest.mark.parametrize("prompt", [" ".join(["7"] * 5), " ".join(["7"] * 9)])
def test_a_prompt_that_fills_either_context_is_refused(prompt):
    for pair in (toy(limit=5), toy(draft_limit=5)):
        with pytest.raises(SpecVizError, match=r"reads at most 5.*shorten the prompt"):
            decode(pair, prompt)


def test_an_accepted_end_token_ends_the_run_there_and_discards_what_follows():
    free = decode(toy("self"), PROMPT, k=5, max_new_tokens=12, sampling=Sampling(0.0))
    end = free.token_ids[2]
    trace = decode(toy("self", end_ids=[end]), PROMPT, k=5, max_new_tokens=12, sampling=Sampling(0.0))
    assert trace.token_ids == free.token_ids[:3]
    assert states(trace) == [["accepted"] * 3 + ["discarded"] * 2]
    assert trace.data["steps"][0]["final"] is None
    assert trace.data["stop"] == "end"
    assert str(end) not in trace.text.split()
    assert replay(trace) == []


def test_an_end_token_accepted_at_the_last_position_brings_no_bonus():
    free = decode(toy("self"), PROMPT, k=3, max_new_tokens=12, sampling=Sampling(0.0))
    trace = decode(
        toy("self", end_ids=[free.token_ids[2]]), PROMPT, k=3, max_new_tokens=12, sampling=Sampling(0.0)
    )
    assert states(trace) == [["accepted"] * 3]
    assert trace.data["steps"][0]["final"] is None
    assert trace.token_ids == free.token_ids[:3]


def test_a_rejected_end_token_is_an_ordinary_rejection_and_a_drawn_one_ends_the_run():
    trace = decode(
        toy("model", end_ids=[72]), PROMPT, k=4, max_new_tokens=12
    )  # the toy's first draft, rejected
    first = trace.data["steps"][0]
    assert (first["drafts"][0]["id"], first["drafts"][0]["state"]) == (72, "rejected")
    assert first["final"]["kind"] == "residual"
    ended = decode(toy("model", end_ids=[first["final"]["id"]]), PROMPT, k=4, max_new_tokens=12)
    assert ended.token_ids == [first["final"]["id"]]
    assert ended.data["stop"] == "end"
    assert ended.text == ""


def test_every_number_comes_from_its_address_and_all_coins_differ():
    trace = decode(toy(), PROMPT, k=4, max_new_tokens=60)
    cells = [draft for step in trace.data["steps"] for draft in step["drafts"]]
    coins = [draft["coin"] for draft in cells if draft["coin"] is not None]
    draws = [draft["u_draft"] for draft in cells] + [step["final"]["u"] for step in trace.data["steps"]]
    assert len({*coins, *draws}) == len(coins) + len(draws)


def test_an_overridden_coin_decides_and_is_recorded():
    kept = decode(toy(), PROMPT, k=4, max_new_tokens=8, overrides={(1, 1, "accept"): 0.0})
    assert states(kept)[0][0] == "accepted"
    assert kept.data["settings"]["overrides"] == [[1, 1, "accept", 0.0]]
    assert replay(kept) == []


def test_interleaved_runs_are_the_same_as_separate_ones():
    pair = toy()
    one, other = start(pair, PROMPT, seed=1), start(pair, PROMPT, seed=2)
    for _ in zip(one, other, strict=False):
        pass
    for run, seed in ((one, 1), (other, 2)):
        for _ in run:
            pass
        assert run.trace.token_ids == decode(pair, PROMPT, seed=seed).token_ids


def test_a_run_whose_every_step_happens_in_a_new_thread_gives_the_same_trace():
    run = start(toy(), PROMPT)
    while True:
        with ThreadPoolExecutor(1) as pool:
            if pool.submit(next, run, None).result() is None:
                break
    assert without_times(run.trace) == without_times(decode(toy(), PROMPT))


def without_times(trace):
    return [{name: value for name, value in step.items() if name != "ms"} for step in trace.data["steps"]]


def test_stop_keeps_what_there_is():
    run = start(toy(), PROMPT)
    next(run), next(run)
    run.stop()
    assert list(run) == []
    assert run.trace.data["stop"] == "stopped"
    assert len(run.trace.data["steps"]) == 2
    assert replay(run.trace) == []
    assert run.trace.to_csv().count("\n") > 2


@pytest.mark.parametrize("purpose", ["draft", "accept", "final"])
def test_a_branch_keeps_the_earlier_steps_and_goes_on_from_the_changed_number(purpose):
    trace = decode(toy(), PROMPT, k=4, max_new_tokens=24)
    step = next(s for s in trace.data["steps"][2:] if s["final"] and s["drafts"])
    position = len([d for d in step["drafts"] if d["coin"] is not None]) if purpose == "final" else 1
    branch = resume(toy(), trace, step=step["step"], position=position, purpose=purpose, u=0.999)
    before = step["step"] - 1
    assert branch.data["steps"][:before] == trace.data["steps"][:before]
    assert branch.data["parent"] == trace.data["run_id"] != branch.data["run_id"]
    assert branch.data["settings"]["overrides"] == [[step["step"], position, purpose, 0.999]]
    assert replay(branch) == []


def test_a_branch_with_the_number_that_was_there_is_the_same_run():
    trace = decode(toy(), PROMPT, k=4, max_new_tokens=24)
    u = trace.data["steps"][3]["drafts"][0]["coin"]
    branch = resume(toy(), trace, step=4, position=1, purpose="accept", u=u)
    assert without_times(branch) == without_times(trace)


@pytest.mark.parametrize(
    "where", [{"step": 0}, {"step": 99}, {"position": 0}, {"position": 6}, {"purpose": "x"}, {"u": 1.0}]
)
def test_a_branch_at_an_address_that_is_not_there_is_refused(where):
    trace = decode(toy(), PROMPT, k=4, max_new_tokens=24)
    with pytest.raises(SpecVizError):
        resume(toy(), trace, **{"step": 2, "position": 1, "purpose": "accept", "u": 0.5} | where)


def test_a_branch_with_another_draft_is_refused():
    trace = decode(toy(), PROMPT)
    with pytest.raises(SpecVizError, match="same draft"):
        resume(toy("lookup"), trace, step=2, position=1, purpose="accept", u=0.5)


@pytest.mark.parametrize(
    "options",
    [{"k": k} for k in (-1, 17, 1.5, "4", None, True)]
    + [{"max_new_tokens": n} for n in (0, -1, 1.5, "9", None)]
    + [{"seed": s} for s in (-1, 2**53, 0.5, "1")],
)
def test_settings_out_of_range_are_refused_in_one_sentence(options):
    with pytest.raises(SpecVizError, match="must be a whole number"):
        decode(toy(), PROMPT, **options)


@pytest.mark.parametrize("prompt", ["", "   ", "\n\t"])
def test_a_blank_prompt_is_refused(prompt):
    with pytest.raises(SpecVizError, match="prompt is empty"):
        decode(toy(), prompt)


@pytest.mark.parametrize("prompt", ["one", "1 two", "100", "-1", "1.5", "١", [], [100], [-1], [True], ["1"]])
def test_a_toy_prompt_that_is_no_list_of_ids_is_refused(prompt):
    with pytest.raises(SpecVizError, match=r"ids|no tokens"):
        decode(toy(), prompt)


def test_a_toy_prompt_may_be_text_or_ids():
    assert decode(toy(), "1, 15 42").token_ids == decode(toy(), [1, 15, 42]).token_ids


class BrokenCursor(ToyCursor):
    def extend(self, ids, rows):
        logits = super().extend(ids, rows)
        if self.length > 6:
            logits[-1, 3] = math.nan
        return logits


def test_logits_that_turn_nan_stop_the_run_in_a_sentence_and_keep_what_there_is():
    pair = toy("lookup")
    pair = dataclasses.replace(
        pair, target=dataclasses.replace(pair.target, cursor=lambda: BrokenCursor(1.0))
    )
    run = start(pair, PROMPT)
    with pytest.raises(SpecVizError, match="not finite"):
        list(run)
    assert run.trace.data["stop"] == "error"
    assert len(run.trace.data["steps"]) >= 3
    assert list(run) == []
    assert replay(run.trace) == []


def test_the_draft_is_fed_what_it_lacks_and_never_an_extra_forward():
    fed = []

    class Counting(ToyCursor):
        def extend(self, ids, rows):
            fed.append(len(ids))
            return super().extend(ids, rows)

    pair = toy()
    pair = dataclasses.replace(pair, draft=dataclasses.replace(toy_model(0.9), cursor=lambda: Counting(0.9)))
    trace = decode(pair, PROMPT, k=4, max_new_tokens=60)
    assert len(fed) - 1 == trace.data["steps"][-1]["totals"]["draft_passes"]
    assert set(fed[1:]) == {1, 2}
    assert trace.metrics["bonus"] > 0
