"""What public engines got wrong, one behaviour a test; the reports are cited so that a symptom can be looked up.

More of them stand where their kind is tested: wrong laws in test_faults.py (HF #32867 and #47932, jaymody #3, mlx-node
PR #11, rtp-llm #1295, vLLM PR #13933, vLLM #40149, EAGLE #110; exact although thought biased: mlx-swift-lm #459,
mlx-lm #1709), vocabularies in test_enumeration.py (HF #45307, vLLM #7252), acceptance figures in test_worlds.py
(llama.cpp #14104, vLLM #10914), sliding windows, recurrent memories and closed runs in tests/models (HF #48280,
mlx-lm #1109, #1528), lengths, empty prompts and interleaved runs in tests/unit (HF #46993, #13774, vLLM #6038), another
tokenizer in tests/models/test_loading.py (HF #30728), emoji spread over tokens in tests/unit/test_trace.py (exo #1691).
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch

import specviz
from specviz import Pair, Sampling, Trace, autoregress, decode, load_pair, replay, start, with_draft
from specviz.decoding.drafters import drafter_of
from specviz.decoding.sampling import cumulative, residual
from specviz.exactness.enumeration import enumerate_runs, total_variation
from specviz.exactness.faults import without_rejected
from specviz.exactness.worlds import PROMPT as TABLE_PROMPT
from specviz.exactness.worlds import START, table_pair, tiny_model
from specviz.models.loaded import wrap
from specviz.record.metrics import speedups
from specviz.record.text import summary
from tests.exact.worlds import PROMPT, own_law, pair_with, reference_warp

ALMOST_1 = 1 - 2**-53
HOT = Sampling(1.0)
GREEDY = Sampling(0.0)
GRID = [Sampling(0.7), Sampling(1.3, top_k=3), Sampling(1.0, top_p=0.8), Sampling(0.9, 4, 0.9), GREEDY]


def wide_pair(vocab: int = 12, limit: int = 256) -> Pair:
    return Pair("wide", tiny_model(vocab, 2, limit=limit), tiny_model(vocab, 3, limit=limit), "model")


def cells(trace: Trace) -> list[dict]:
    return [draft for step in trace.data["steps"] for draft in step["drafts"]]


# --- the wrong law ----------------------------------------------------------------------------------------------------


# HF transformers #32867, #28166, jaymody/speculative-sampling #3: the assistant ran greedily while the target sampled.
def test_drafts_are_drawn_and_not_the_likeliest() -> None:
    pair = wide_pair()
    first = Counter(
        decode(pair, PROMPT, k=1, max_new_tokens=2, seed=seed, sampling=HOT).data["steps"][0]["drafts"][0][
            "id"
        ]
        for seed in range(60)
    )
    assert len(first) > 3


# HF #47932, DeepSpec #31, mlx-node PR #11: the law of the test was not the (rounded, truncated) law drawn from.
@pytest.mark.parametrize("sampling", GRID, ids=str)
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_the_row_that_a_draft_was_drawn_from_is_the_row_it_is_tested_with(sampling, dtype) -> None:
    draft = wrap(tiny_model(12, 3).model.to(dtype), name="draft")
    drafter = drafter_of(dataclasses.replace(wide_pair(), draft=draft))
    rules = specviz.EXACT
    proposal = drafter.propose(PROMPT, 4, lambda i: i / 5, lambda logits: rules.draft_law(logits, sampling))
    for law, ends, drawn in zip(proposal.tested, proposal.ends, proposal.draws, strict=True):
        assert float(law.sum()) == pytest.approx(1, abs=1e-12) and law.dtype == torch.float64
        assert torch.equal(ends, cumulative(law))
        assert float(law[drawn.id]) > 0
        assert drawn.high - drawn.low == pytest.approx(float(law[drawn.id]), abs=1e-12)


# HF #28166, vLLM #17876, #34497, llama.cpp #27972, 1Cat-vLLM #656: rows or their numbers belonged to other positions.
@pytest.mark.parametrize("sampling", GRID, ids=str)
def test_every_p_and_q_is_that_of_its_own_prefix(sampling: Sampling) -> None:
    pair = wide_pair()
    trace = decode(pair, PROMPT, k=3, max_new_tokens=24, seed=1, sampling=sampling)
    text = list(PROMPT)

    def law(model, ids) -> np.ndarray:
        with torch.inference_mode():
            return reference_warp(model.model(torch.tensor([ids])).logits[0, -1].numpy(), sampling)

    for step in trace.data["steps"]:
        drafted = [draft["id"] for draft in step["drafts"]]
        for i, draft in enumerate(step["drafts"]):
            prefix = [*text, *drafted[:i]]
            assert draft["p"] == pytest.approx(law(pair.target, prefix)[draft["id"]], abs=1e-12)
            assert draft["q"] == pytest.approx(law(pair.draft, prefix)[draft["id"]], abs=1e-12)
        accepted = [draft["id"] for draft in step["drafts"] if draft["state"] == "accepted"]
        text += accepted
        assert step["final"]["p"] == pytest.approx(law(pair.target, text)[step["final"]["id"]], abs=1e-12)
        text.append(step["final"]["id"])


# HF #28508: drafts were accepted whatever the coin said. 1bit-MONSTER #637: the ratio used the largest target logit.
@pytest.mark.parametrize("k", [1, 3])
def test_the_highest_coin_rejects_every_draft_that_the_target_likes_less(k: int) -> None:
    coins = {(step, i, "accept"): ALMOST_1 for step in range(1, 25) for i in range(1, k + 1)}
    examined = [
        draft
        for seed in range(5)
        for draft in cells(
            decode(wide_pair(), PROMPT, k=k, max_new_tokens=24, seed=seed, sampling=HOT, overrides=coins)
        )
        if draft["coin"] is not None
    ]
    assert {draft["state"] for draft in examined} == {"accepted", "rejected"}
    for draft in examined:
        assert (draft["state"] == "accepted") == (draft["p"] >= draft["q"])


# jaymody #9: at temperature 0 a draft passed because p(x) > q(x), although it was not the likeliest token.
def test_greedy_keeps_nothing_but_the_likeliest_token() -> None:
    p, q = [0.3, 0.5, 0.2], [0.7, 0.1, 0.2]
    pair = table_pair(*(dict.fromkeys((START, 0, 1, 2), row) for row in (p, q)))
    trace = decode(pair, TABLE_PROMPT, k=3, max_new_tokens=9, sampling=GREEDY)
    assert trace.token_ids == [1] * 9


# vllm-ascend #13766: the coin was 0 everywhere. feifeibear PR #8: the generator was seeded again before every coin.
def test_the_random_numbers_of_a_run_are_spread_out_and_all_different() -> None:
    trace = decode(wide_pair(), PROMPT, k=4, max_new_tokens=120, sampling=HOT)
    thrown = [draft["u_draft"] for draft in cells(trace)]
    thrown += [draft["coin"] for draft in cells(trace) if draft["coin"] is not None]
    thrown += [step["final"]["u"] for step in trace.data["steps"]]
    assert len(set(thrown)) == len(thrown) > 200
    assert np.histogram(thrown, bins=4, range=(0, 1))[0].min() > len(thrown) / 8


# sglang #31214, mistral.rs #2424: sampling was argmax in disguise. llama.cpp #5625: garbage at temperature > 0.
@pytest.mark.parametrize("temperature", [0.3, 0.7, 1.0, 2.0])
def test_sampling_samples(temperature: float) -> None:
    texts = {
        tuple(
            decode(wide_pair(), PROMPT, max_new_tokens=6, seed=seed, sampling=Sampling(temperature)).token_ids
        )
        for seed in range(40)
    }
    assert len(texts) > 10


# llama.cpp #5625, #5657: the law was right at some temperatures only.
@pytest.mark.parametrize("temperature", [1e-8, 0.3, 2.0])
def test_the_law_is_exact_at_temperatures_far_apart(temperature: float) -> None:
    pair, sampling = pair_with("equal", 3), Sampling(temperature)
    found = enumerate_runs(pair, PROMPT, k=2, max_new_tokens=3, sampling=sampling)
    reference = sampling if temperature > 1e-6 else GREEDY
    assert total_variation(found.law, own_law(pair.target, PROMPT, reference, 3)) < 1e-12


# vLLM #46665: a residual computed with logarithms of nearly equal laws lost what it was about.
@pytest.mark.parametrize("apart", [1e-9, 1e-6, 1e-3, 0.5])
def test_the_residual_of_nearly_equal_laws_is_exact(apart: float) -> None:
    p = torch.tensor([0.25, 0.25, 0.5], dtype=torch.float64)
    q = torch.tensor([0.25 - apart / 4, 0.25 - apart / 2, 0.5 + 3 * apart / 4], dtype=torch.float64)
    owed = [max(Fraction(a) - Fraction(b), Fraction(0)) for a, b in zip(p.tolist(), q.tolist(), strict=True)]
    law, mass = residual(p, q)
    assert law.tolist() == pytest.approx([float(x / sum(owed)) for x in owed], rel=1e-12)
    assert mass == pytest.approx(float(sum(owed)), rel=1e-12)


# vLLM PR #13933: a residual clamped at 0.00001 put out tokens that top-k forbids.
# pytorch #48841, #192577: multinomial draws tokens of probability 0.
def test_nothing_that_the_target_forbids_is_ever_put_out() -> None:
    pair = wide_pair()
    for seed in range(60):
        edge = {(s, i, "final"): (0.0, ALMOST_1)[seed % 2] for s in range(1, 9) for i in range(1, 5)}
        trace = decode(
            pair,
            PROMPT,
            k=3,
            max_new_tokens=8,
            seed=seed,
            sampling=Sampling(1.5, top_k=2),
            overrides=edge if seed % 3 else {},
        )
        for step in trace.data["steps"]:
            assert all(draft["p"] > 0 for draft in step["drafts"] if draft["state"] == "accepted")
            assert step["final"]["p"] > 0


# EAGLE #110, #183, #221: with a proposal that involves no chance, the residual is p without the rejected token.
def test_the_residual_of_a_one_hot_draft_is_the_rest_of_p() -> None:
    p = torch.tensor([0.5, 0.2, 0.3], dtype=torch.float64)
    for token in range(3):
        one_hot = torch.zeros(3, dtype=torch.float64)
        one_hot[token] = 1.0
        assert residual(p, one_hot)[0].tolist() == pytest.approx(
            without_rejected(p, one_hot, token)[0].tolist()
        )


# lattice #243: the first draft of a step was put out unverified.
@pytest.mark.parametrize("draft", ["equal", "noise", "lookup", "smaller", "trimmed"])
def test_greedy_output_is_the_targets_own_however_bad_the_draft(draft: str) -> None:
    pair = pair_with(draft, 4)
    plain = autoregress(pair.target, PROMPT, max_new_tokens=12, sampling=GREEDY)["token_ids"]
    for seed in range(5):
        trace = decode(pair, PROMPT, k=3, max_new_tokens=12, seed=seed, sampling=GREEDY)
        assert trace.token_ids == plain
    if draft == "noise":
        assert any(
            step["drafts"] and step["drafts"][0]["state"] == "rejected" for step in trace.data["steps"]
        )


# HF #39421, vLLM #8783, llama.cpp #27407: greedy output with a draft differed from the plain loop's.
def test_greedy_in_double_precision_is_the_plain_loop_to_the_last_token() -> None:
    pair = wide_pair()
    for seed in range(50):
        prompt = np.random.default_rng(seed).integers(12, size=5).tolist()
        plain = autoregress(pair.target, prompt, max_new_tokens=16, sampling=GREEDY)["token_ids"]
        assert decode(pair, prompt, k=4, max_new_tokens=16, sampling=GREEDY).token_ids == plain


# SGLang #28180, TRT-LLM #17701: penalties were applied to one side only. We offer none, so none may be applied.
def test_a_models_own_penalties_and_defaults_change_no_law() -> None:
    pair = wide_pair()
    before = decode(pair, PROMPT, max_new_tokens=8, sampling=HOT)
    config = pair.target.model.generation_config
    config.repetition_penalty, config.temperature, config.top_k = 5.0, 0.1, 1
    assert decode(pair, PROMPT, max_new_tokens=8, sampling=HOT).token_ids == before.token_ids


# --- caches -----------------------------------------------------------------------------------------------------------


# mlxcel #994, vLLM #9730: the draft's cache lost tokens, and acceptance decayed with every step.
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_draft_that_is_the_target_is_accepted_for_two_hundred_tokens(temperature: float) -> None:
    pair = dataclasses.replace(wide_pair(), draft=wide_pair().target)
    trace = decode(pair, PROMPT, k=4, max_new_tokens=200, sampling=Sampling(temperature))
    assert trace.metrics["acceptance_examined"] == 1
    assert [step["totals"]["tokens"] for step in trace.data["steps"]] == list(range(5, 201, 5))


# HF #48479, romsto #4: code written for an older cache broke with the next release.
def test_the_caches_are_only_used_through_their_public_face() -> None:
    sources = [path.read_text() for path in Path(specviz.__file__).parent.glob("**/*.py")]
    assert len(sources) > 10
    for name in ("key_cache", "value_cache", "legacy_cache", "cache_position"):
        assert not any(name in source for source in sources)


# --- stops and lengths ------------------------------------------------------------------------------------------------


# HF #47912, #47931, koboldcpp #1276, openvino.genai #1951: text after an end token in the middle of a block was kept.
@pytest.mark.parametrize("place", range(6))
def test_an_end_token_anywhere_in_a_block_of_accepted_drafts_ends_the_text(place: int) -> None:
    target = load_pair("toy", "self").target
    plain = autoregress(target, "1 15 42", max_new_tokens=8, sampling=GREEDY)["token_ids"]
    assert len(set(plain[:6])) == 6
    ending = dataclasses.replace(target, end_ids=frozenset({plain[place]}))
    trace = decode(Pair("toy", ending, ending, "self"), "1 15 42", k=5, max_new_tokens=8, sampling=GREEDY)
    assert trace.token_ids == plain[: place + 1] and trace.data["stop"] == "end"
    states = [draft["state"] for draft in trace.data["steps"][0]["drafts"]]
    assert states == ["accepted"] * min(place + 1, 5) + ["discarded"] * max(0, 4 - place)
    assert (trace.data["steps"][0]["final"] is None) == (place < 5)
    assert replay(trace) == []


# vLLM #27517, DeepSeek-R1 #151, open-r1 #462: the template wrote a beginning, and the tokenizer another.
def test_the_chat_template_and_the_tokenizer_write_one_beginning() -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.WordLevel({"<s>": 0, "hello": 1, "<unk>": 2}, "<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    backend.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<s>", unk_token="<unk>")
    tokenizer.chat_template = "{{ bos_token }}{% for m in messages %}{{ m.content }}{% endfor %}"
    model = wrap(tiny_model(3, 2).model, tokenizer, name="begins")
    assert model.encode("hello hello", True) == model.encode("hello hello", False) == [0, 1, 1]


# nanoGPT #738, gemma #562, candle #532: temperature 0 divided by 0; HF raises at 1e-40.
@pytest.mark.parametrize("temperature", [0.0, 1e-40, 1e-8, 1e-5])
def test_a_temperature_of_next_to_nothing_is_greedy(temperature: float) -> None:
    pair = wide_pair()
    greedy = autoregress(pair.target, PROMPT, max_new_tokens=12, sampling=GREEDY)["token_ids"]
    trace = decode(pair, PROMPT, k=3, max_new_tokens=12, sampling=Sampling(temperature))
    assert trace.token_ids == greedy
    assert "NaN" not in trace.to_json()


# --- random numbers ---------------------------------------------------------------------------------------------------


# mlx-vlm #2029, onnxruntime-genai #2528: a draw depended on how many were made before it, hence on K.
def test_the_number_at_an_address_does_not_depend_on_k() -> None:
    traces = [decode(wide_pair(), PROMPT, k=k, max_new_tokens=20, sampling=HOT) for k in (2, 5)]
    numbers = [
        {
            (step["step"], i): draft["u_draft"]
            for step in trace.data["steps"]
            for i, draft in enumerate(step["drafts"])
        }
        for trace in traces
    ]
    shared = numbers[0].keys() & numbers[1].keys()
    assert len(shared) > 6 and all(numbers[0][key] == numbers[1][key] for key in shared)


# HF #30853, #34693: which text comes out depends on the draft at T > 0, on nothing at T = 0.
def test_at_temperature_0_the_seed_does_not_matter() -> None:
    texts = {
        tuple(decode(wide_pair(), PROMPT, max_new_tokens=12, seed=seed, sampling=GREEDY).token_ids)
        for seed in range(10)
    }
    assert len(texts) == 1


# --- figures ----------------------------------------------------------------------------------------------------------


# TRT-LLM PR #14724, openvino.genai #3293: drafted tokens were reckoned from the maximum, as if none had stopped early.
@pytest.mark.parametrize("draft", ["lookup", "equal"])
def test_drafted_tokens_are_counted_and_not_reckoned(draft: str) -> None:
    pair, at_most = pair_with(draft, 4), 0
    traces = [decode(pair, PROMPT, k=3, max_new_tokens=9, seed=seed, sampling=HOT) for seed in range(10)]
    for trace in traces:
        assert trace.metrics["drafted"] == len(cells(trace))
        at_most += 3 * len(trace.data["steps"])
    assert sum(trace.metrics["drafted"] for trace in traces) < at_most


# vLLM PR #24322: a division by zero where nothing had been drafted. llama.cpp #3624: 94.7 % of hardly anything.
def test_a_rate_comes_with_its_denominator_or_not_at_all() -> None:
    nothing = decode(wide_pair(), PROMPT, max_new_tokens=1, sampling=HOT)
    assert nothing.metrics["acceptance_examined"] is None
    assert any("not measured of 0 examined" in line for line in summary(nothing))
    some = decode(wide_pair(), PROMPT, max_new_tokens=20, sampling=HOT)
    assert any(f"of {some.metrics['examined']} examined" in line for line in summary(some))


# vLLM #10914, #16665, mlc #2789: mean acceptance length with or without the bonus. lms #172: who drew which token.
def test_every_token_put_out_is_of_one_kind_and_a_pass_counts_its_final_token() -> None:
    trace = decode(wide_pair(), PROMPT, k=3, max_new_tokens=40, seed=2, sampling=HOT)
    figures = trace.metrics
    own = sum(not step["drafts"] for step in trace.data["steps"])
    assert figures["accepted"] + figures["residual"] + figures["bonus"] + own == figures["tokens"] == 40
    assert figures["tokens_per_pass"] == 1 + figures["accepted"] / figures["target_passes"]


# mlx-lm #1132, ik_llama #1630: checking five rows costs more than one, above all with a mixture of experts.
def test_the_modelled_speedup_charges_a_pass_for_its_rows() -> None:
    costs = {"target_ms": [10.0, *[40.0] * 16], "draft_ms": 1.0, "rest_ms": 0.0}
    trace = decode(with_draft(load_pair("toy"), "self"), "1 15 42", k=4, max_new_tokens=5, costs=costs)
    assert speedups(trace.data)[0]["speedup_modelled"] == pytest.approx(5 * 10 / (4 * 1 + 40))


# HF #40739, #28759: K was read from another object's configuration, and stayed there for the next call.
def test_k_is_the_one_asked_for_and_is_forgotten_afterwards() -> None:
    pair = wide_pair()
    for k in (5, 2, 7, 1):
        assert next(start(pair, PROMPT, k=k, max_new_tokens=20))["k"] == k
