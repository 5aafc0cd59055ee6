"""The real loop on tiny random models of real architectures, with their caches."""

import dataclasses
import threading

import pytest
import torch

from specviz import Pair, Sampling, SpecVizError, autoregress, decode, replay, start
from specviz.decoding.coins import Coins
from specviz.decoding.drafters import drafter_of
from specviz.decoding.sampling import warp
from specviz.decoding.step import Terms, speculate
from specviz.models.cursors import ModelCursor
from specviz.models.loaded import wrap
from tests.conftest import tiny, tiny_model, tiny_pair

ARCHITECTURES = ["llama", "qwen2", "mistral", "gemma", "gpt_neox", "gpt2"]
DRAFTS = ["model", "lookup", "self", "noise"]
PROMPT = [3, 14, 15, 92, 65, 35, 89, 79, 3, 14]
NEAR_TIE = 1e-3


def reference(model, prompt, tokens):
    """Return the greedy ids of `transformers` itself, without any processor of its generation config."""
    from transformers import GenerationConfig

    config = GenerationConfig(do_sample=False, max_new_tokens=tokens, pad_token_id=0)
    ids = torch.tensor([prompt])
    out = model.generate(ids, attention_mask=torch.ones_like(ids), generation_config=config)
    return out[0, len(prompt) :].tolist()


def uncached(model, sequence):
    """Return the logits after every token of a sequence, from one forward without a cache."""
    with torch.inference_mode():
        return model(input_ids=torch.tensor([sequence]), use_cache=False).logits[0]


def assert_same_greedy(model, prompt, ours, theirs):
    """Two greedy texts may differ only from a near-tie of the target's two best logits on."""
    for index, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
        if mine != other:
            best = uncached(model, [*prompt, *ours[:index]])[-1].float().topk(2).values
            assert float(best[0] - best[1]) < NEAR_TIE, f"token {index} is {mine}, generate says {other}"
            return


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("draft", DRAFTS)
def test_greedy_text_is_that_of_transformers_generate(architecture, draft):
    pair = tiny_pair(architecture, draft)
    trace = decode(pair, PROMPT, k=4, max_new_tokens=40, sampling=Sampling(0.0))
    assert_same_greedy(pair.target.model, PROMPT, trace.token_ids, reference(pair.target.model, PROMPT, 40))
    assert replay(trace) == []


@pytest.mark.parametrize("architecture", [*ARCHITECTURES, "mamba"])
def test_recorded_laws_are_those_of_an_uncached_forward(architecture):
    """Caches, rollback and positions: every p and q equals what the model says about the very same prefix."""
    # A recurrent model on a CPU goes through its text token by token: few tokens, and a draft that is accepted.
    draft, tokens = ("self", 8) if architecture == "mamba" else ("model", 30)
    pair = tiny_pair(architecture, draft, dtype=torch.float64)
    how = Sampling(0.9, 20, 0.95)
    trace = decode(pair, PROMPT, k=4, max_new_tokens=tokens, sampling=how, seed=3)
    sequence = list(PROMPT)
    assert any(draft["state"] == "accepted" for step in trace.data["steps"] for draft in step["drafts"])
    for step in trace.data["steps"]:
        drafted = [draft["id"] for draft in step["drafts"]]
        p = warp(uncached(pair.target.model, [*sequence, *drafted])[len(sequence) - 1 :], how)
        q = warp(uncached(pair.draft.model, [*sequence, *drafted])[len(sequence) - 1 :], how)
        for index, draft in enumerate(step["drafts"]):
            assert draft["p"] == pytest.approx(float(p[index, draft["id"]]), abs=1e-9)
            assert draft["q"] == pytest.approx(float(q[index, draft["id"]]), abs=1e-9)
        if step["final"]["kind"] == "bonus":
            assert step["final"]["p"] == pytest.approx(float(p[len(drafted), step["final"]["id"]]), abs=1e-9)
        sequence += [draft["id"] for draft in step["drafts"] if draft["state"] == "accepted"] + [
            step["final"]["id"]
        ]


@pytest.mark.parametrize("temperature", [0.0, 0.7, 1.0, 1.5])
def test_the_target_as_its_own_draft_is_always_accepted_in_float32(temperature):
    trace = decode(tiny_pair("llama", "self"), PROMPT, k=4, max_new_tokens=51, sampling=Sampling(temperature))
    assert trace.metrics["acceptance_examined"] == 1
    assert trace.metrics["tokens_per_pass"] == pytest.approx(51 / 11)


@pytest.mark.parametrize("vocabularies", [(97, 61), (61, 97)])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_vocabularies_of_different_size_are_exact_and_never_feed_an_unknown_id(vocabularies, temperature):
    target, draft = (tiny("llama", vocab=size, seed=seed) for seed, size in enumerate(vocabularies))
    pair = Pair("tiny", target, draft, "model")
    prompt = [token % min(vocabularies) for token in PROMPT]
    trace = decode(pair, prompt, k=4, max_new_tokens=40, sampling=Sampling(temperature))
    assert replay(trace) == []
    assert max(draft["id"] for step in trace.data["steps"] for draft in step["drafts"]) < min(vocabularies)
    if temperature == 0:
        assert_same_greedy(target.model, prompt, trace.token_ids, reference(target.model, prompt, 40))


def test_a_memory_that_cannot_be_cut_back_is_recomputed_and_the_trace_says_so():
    pair = tiny_pair("mamba", "model")
    trace = decode(pair, PROMPT, k=4, max_new_tokens=8, sampling=Sampling(0.0))
    assert trace.data["weights"]["target"]["cache"] == "recompute"
    assert (
        trace.token_ids
        == autoregress(pair.target, PROMPT, max_new_tokens=8, sampling=Sampling(0.0))["token_ids"]
    )
    assert tiny_pair("llama", "self").weights()["target"]["cache"] == "rollback"


def test_after_a_step_neither_cache_holds_more_than_the_text_without_its_last_token():
    pair = tiny_pair("llama", "model")
    target, drafter = pair.target.cursor(), drafter_of(pair)
    sequence, coins = list(PROMPT), Coins(1)
    target.extend(sequence[:-1], 0)
    drafter.prefill(sequence[:-1])
    for step in range(1, 12):
        verdict = speculate(target, drafter, sequence, 4, step, Terms(coins, Sampling(1.0), frozenset()))
        sequence += verdict.emitted
        assert target.length == len(sequence) - 1
        assert len(sequence) - 2 <= drafter._cursor.length <= len(sequence) - 1


@pytest.mark.parametrize("length", range(10))
def test_a_cursor_rolls_back_to_any_length(length):
    model = tiny_model("mistral")
    cursor = ModelCursor(model, 128, 97)
    cursor.extend(PROMPT, 1)
    cursor.rollback(length)
    assert cursor.length == length
    again = cursor.extend(PROMPT[length:], len(PROMPT) - length)
    assert torch.allclose(again, uncached(model, PROMPT)[length:], atol=1e-4)
    cursor.rollback(99)
    assert cursor.length == len(PROMPT)


def test_a_sliding_window_is_rewound_exactly_when_it_is_full():
    pair = tiny_pair("mistral", "model")  # its window is 8 tokens, the text five times as long
    trace = decode(pair, PROMPT, k=4, max_new_tokens=40, sampling=Sampling(0.0))
    assert_same_greedy(pair.target.model, PROMPT, trace.token_ids, reference(pair.target.model, PROMPT, 40))


def test_a_run_whose_every_step_happens_in_a_new_thread_is_the_same_and_leaves_no_gradient():
    pair = tiny_pair("gemma", "model")
    run = start(pair, PROMPT, k=4, max_new_tokens=30)
    steps, alive = [], True
    while alive:
        thread = threading.Thread(target=lambda: steps.append(next(run, None)))
        thread.start()
        thread.join()
        alive = steps[-1] is not None
    expected = decode(pair, PROMPT, k=4, max_new_tokens=30)
    assert run.trace.token_ids == expected.token_ids
    assert [step["drafts"] for step in run.trace.data["steps"]] == [
        step["drafts"] for step in expected.data["steps"]
    ]
    cache = run._target._cache
    tensors = [tensor for layer in cache.layers for tensor in (layer.keys, layer.values)]
    assert tensors
    assert not any(tensor.requires_grad for tensor in tensors)


def test_a_run_closed_midway_leaves_nothing_behind():
    pair = tiny_pair("llama", "model")
    fresh = decode(pair, PROMPT, max_new_tokens=30).token_ids
    run = start(pair, PROMPT, max_new_tokens=30)
    next(run)
    del run
    assert decode(pair, PROMPT, max_new_tokens=30).token_ids == fresh


def test_the_end_ids_are_the_targets_alone():
    target, draft = tiny("llama", seed=0, eos_token_id=[5, 7]), tiny("llama", seed=1, eos_token_id=3)
    assert target.end_ids == {5, 7}
    trace = decode(Pair("tiny", target, draft, "model"), PROMPT, max_new_tokens=20)
    assert trace.data["settings"]["end_ids"] == [5, 7]


def test_a_model_that_answers_with_nan_is_refused_in_a_sentence():
    model = tiny_model("llama")
    with torch.no_grad():
        model.lm_head.weight[3] = float("nan")
    with pytest.raises(SpecVizError, match="not finite"):
        decode(Pair("tiny", wrap(model, name="broken"), None, "lookup"), PROMPT)


def test_bfloat16_is_read_as_the_numbers_that_it_is():
    pair = tiny_pair("llama", "self", dtype=torch.bfloat16)
    trace = decode(pair, PROMPT, k=4, max_new_tokens=30, sampling=Sampling(0.8))
    assert replay(trace) == []
    assert trace.data["weights"]["target"]["dtype"] == "bfloat16"
    assert trace.metrics["acceptance_examined"] > 0.8


def test_no_library_warns_of_an_interface_that_goes_away(recwarn):
    decode(tiny_pair("llama", "model"), PROMPT, max_new_tokens=8)
    assert [str(warning.message) for warning in recwarn if issubclass(warning.category, FutureWarning)] == []


def test_a_draft_with_another_limit_bounds_the_drafting_alone():
    target = tiny("llama", seed=0)
    draft = tiny("llama", seed=1, max_position_embeddings=16)
    pair = dataclasses.replace(tiny_pair("llama", "model"), target=target, draft=draft)
    trace = decode(pair, PROMPT, k=4, max_new_tokens=30, sampling=Sampling(0.0))
    assert_same_greedy(target.model, PROMPT, trace.token_ids, reference(target.model, PROMPT, 30))
    assert trace.data["steps"][-2]["k_reason"] == "context"
