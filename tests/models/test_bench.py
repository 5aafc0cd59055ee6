"""The bench's loops on tiny models: `transformers` is run as it says it is, and with the same law as we."""

import dataclasses

import pytest
import torch

from specviz import Sampling, autoregress, decode
from specviz.models.loaded import wrap
from specviz.models.pairs import Pair
from specviz.models.trimmed import TrimmedModel
from specviz.speed.bench import engines
from specviz.speed.bench.engines import Workload
from specviz.speed.bench.full_head import with_full_head
from specviz.speed.bench.tiny import tiny_pair as small_pair
from tests.conftest import tiny, tiny_model, tiny_pair

PROMPT = [3, 14, 15, 92, 65, 35]
GREEDY = Workload(Sampling(0.0), 21, 7)
IDS = torch.arange(96, 0, -3)


def trimmed_pair():
    """A target with 97 ids, and a draft that answers over 32 of them in an order of its own."""
    target, other = tiny(), tiny_model("llama", seed=1)
    head = torch.nn.Linear(32, len(IDS), bias=False)
    head.weight.data = other.lm_head.weight[IDS].clone()
    model = TrimmedModel(other.model, head, IDS)
    return Pair("tiny", target, wrap(model, name="trimmed", id_map=model.id_map), "model")


def test_a_full_head_says_what_the_trimmed_one_does():
    pair = trimmed_pair()
    full = dataclasses.replace(pair, draft=with_full_head(pair.draft, pair.target))
    short, long = (each.draft.cursor().extend(PROMPT, 3) for each in (pair, full))
    assert long.shape == (3, 97)
    torch.testing.assert_close(long[:, IDS], short)
    lacking = sorted(set(range(97)) - set(IDS.tolist()))
    assert bool((long[:, lacking] == -torch.inf).all())
    traces = [decode(each, PROMPT, k=4, max_new_tokens=40) for each in (pair, full)]
    assert traces[0].token_ids == traces[1].token_ids
    assert [step["k"] for step in traces[0].data["steps"]] == [step["k"] for step in traces[1].data["steps"]]


@pytest.mark.parametrize("k", [2, 5])
def test_the_assistant_proposes_k_tokens_a_round_whatever_its_confidence(k):
    pair = tiny_pair(draft="self")  # everything is accepted
    timed = engines.assisted_generate(
        pair.target, pair.draft, k, PROMPT, dataclasses.replace(GREEDY, tokens=6 * k + 6)
    )
    assert (timed.tokens, timed.passes) == (5 * k + 5, 5)


def test_a_full_head_assists_transformers():
    pair = trimmed_pair()
    full = with_full_head(pair.draft, pair.target)
    work = Workload(Sampling(), 100, 7)
    timed = engines.assisted_generate(pair.target, full, 4, PROMPT, work)
    assert timed.passes <= timed.tokens < 100
    ours = decode(dataclasses.replace(pair, draft=full), PROMPT, k=4, max_new_tokens=400).metrics
    theirs = [
        engines.assisted_generate(pair.target, full, 4, PROMPT, dataclasses.replace(work, seed=s))
        for s in range(4)
    ]
    per_pass = sum(each.tokens for each in theirs) / sum(each.passes for each in theirs)
    assert per_pass == pytest.approx(ours["tokens_per_pass"], rel=0.15)


def test_the_models_own_generation_settings_are_off_and_come_back(monkeypatch):
    target = tiny()
    settings = target.model.generation_config
    settings.update(repetition_penalty=50.0, no_repeat_ngram_size=1, max_length=3)
    text = []
    put = engines.Clock.put
    monkeypatch.setattr(
        engines.Clock, "put", lambda self, ids: (text.extend(ids.flatten().tolist()), put(self, ids))
    )
    timed = engines.plain_generate(target, PROMPT, GREEDY)
    assert (timed.tokens, timed.passes) == (20, 20)
    plain = autoregress(target, PROMPT, sampling=Sampling(0.0), max_new_tokens=21)
    assert text == [*PROMPT, *plain["token_ids"]]
    assert target.model.generation_config is settings and settings.repetition_penalty == 50.0


def test_an_end_token_ends_every_loop():
    target = tiny()
    text = autoregress(target, PROMPT, sampling=Sampling(0.0), max_new_tokens=21)["token_ids"]
    end = text[12]
    pair = Pair("tiny", dataclasses.replace(target, end_ids=frozenset({end})), target, "self")
    length = text.index(end) + 1
    assert engines.plain_loop(pair.target, PROMPT, GREEDY).tokens == length
    assert engines.speculative_loop(pair, 1, PROMPT, GREEDY).tokens == length
    assert engines.plain_generate(pair.target, PROMPT, GREEDY).tokens == length - 1
    assert engines.assisted_generate(pair.target, target, 1, PROMPT, GREEDY).tokens == length - 2


def test_the_floor_ends_where_the_run_did():
    pair, cursors = tiny_pair(), []

    def remembered():
        cursors.append(pair.target.cursor())
        return cursors[-1]

    tape = engines.Tape(dataclasses.replace(pair, target=dataclasses.replace(pair.target, cursor=remembered)))
    timed = engines.speculative_loop(tape.pair, 4, PROMPT, Workload(Sampling(), 30, 7))
    assert timed.tokens == 30 and timed.steps
    assert tape.replay() > 0
    run, again = (cursor.extend([5], 1) for cursor in cursors)
    torch.testing.assert_close(run, again)


def test_about_seven_of_ten_drafts_of_the_tiny_pair_are_accepted():
    metrics = decode(small_pair(), PROMPT, k=4, max_new_tokens=400).metrics
    assert 0.6 < metrics["acceptance_examined"] < 0.8
