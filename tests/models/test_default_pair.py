"""The default target, with its real weights."""

import io
import json

import pandas as pd
import pytest
import torch

from specviz import Sampling, autoregress, decode, replay, resume, with_draft
from specviz.exactness.greedy import NEAR
from specviz.models.catalogue import has_own_draft
from specviz.page import gallery
from specviz.page.exactness.greedy import greedy_settings
from tests.models.prompts import EIGHT, FIFTY
from tests.models.test_loop import assert_same_greedy, reference

DRAFTS = [*(["model"] if has_own_draft("smollm2-135m") else []), "lookup", "self", "noise"]


@pytest.fixture(scope="module")
def greedy(default_pair):
    """The greedy ids of `transformers` for a prompt, computed once for all drafts."""
    known = {}

    def ids(prompt, tokens):
        if (prompt, tokens) not in known:
            known[prompt, tokens] = reference(
                default_pair.target.model, default_pair.target.encode(prompt, True), tokens
            )
        return known[prompt, tokens]

    return ids


def check_greedy(pair, prompt, tokens, greedy):
    trace = decode(pair, prompt, k=4, max_new_tokens=tokens, sampling=Sampling(0.0))
    assert_same_greedy(
        pair.target.model, trace.data["prompt"]["ids"], trace.token_ids, greedy(prompt, tokens)
    )


@pytest.mark.parametrize("draft", DRAFTS)
def test_greedy_text_is_that_of_transformers_generate(default_pair, greedy, draft):
    for prompt in EIGHT:
        check_greedy(with_draft(default_pair, draft), prompt, 16, greedy)


def closest_call(pair, asked):
    """How near the target's two best logits come to each other in its greedy text, in near-ties of bfloat16 at that size."""
    ids = pair.target.encode(asked["prompt"], asked["chat"])
    text = autoregress(pair.target, asked["prompt"], max_new_tokens=asked["max_new_tokens"], sampling=Sampling(0.0), chat=asked["chat"])["token_ids"]  # fmt: skip
    best = pair.target.cursor().extend([*ids, *text[:-1]], len(text)).topk(2).values.double()
    unit = torch.finfo(torch.bfloat16).eps * 2.0 ** best[:, 0].abs().log2().floor()
    return float(((best[:, 0] - best[:, 1]) / (NEAR * unit)).min())


def test_the_prompt_that_is_compared_first_is_far_from_a_near_tie(default_pair):
    opening = gallery.open_recorded(gallery.entries()[0].name)
    asked = greedy_settings(opening)
    assert closest_call(default_pair, asked) > 1.5
    assert closest_call(default_pair, asked | {"prompt": opening.data["prompt"]["text"]}) < 1


@pytest.mark.full
@pytest.mark.parametrize("draft", DRAFTS)
@pytest.mark.parametrize("prompt", FIFTY)
def test_greedy_text_is_that_of_transformers_generate_on_fifty_prompts(default_pair, greedy, draft, prompt):
    check_greedy(with_draft(default_pair, draft), prompt, 16, greedy)


@pytest.mark.parametrize("temperature", [0.0, 0.8, 1.5])
def test_the_target_as_its_own_draft_is_always_accepted(default_pair, temperature):
    trace = decode(
        with_draft(default_pair, "self"), EIGHT[0], k=4, max_new_tokens=16, sampling=Sampling(temperature)
    )
    assert trace.metrics["acceptance_examined"] == 1
    assert [step["totals"]["tokens"] for step in trace.data["steps"]] == [5, 10, 15, 16]


@pytest.mark.parametrize("draft", DRAFTS)
@pytest.mark.parametrize("how", [Sampling(0.8), Sampling(1.0, 20, 0.9)])
def test_a_run_replays_and_its_csv_rebuilds_the_text(default_pair, draft, how):
    trace = decode(with_draft(default_pair, draft), EIGHT[1], k=4, max_new_tokens=24, sampling=how)
    assert replay(trace) == []
    table = pd.read_csv(io.StringIO(trace.to_csv()))
    emitted = table[table.output_index.notna()].sort_values("output_index")
    ends = trace.data["settings"]["end_ids"]
    pieces = [json.loads(token) for token in emitted[~emitted.token_id.isin(ends)].token]
    assert (
        b"".join(piece.encode("utf-8", "surrogateescape") for piece in pieces).decode("utf-8", "replace")
        == trace.text
    )
    assert trace.text == default_pair.tokenizer.decode([t for t in trace.token_ids if t not in ends])


def test_the_chat_template_brings_no_second_beginning(default_pair):
    ids = default_pair.target.encode("Hello", True)
    assert ids == default_pair.tokenizer.encode(default_pair.tokenizer.decode(ids))
    assert (
        ids.count(default_pair.tokenizer.convert_tokens_to_ids("<|im_start|>")) == 3
    )  # system, user, assistant
    assert default_pair.target.encode("Hello", False) == default_pair.tokenizer.encode("Hello")


def test_an_end_token_ends_the_text_and_is_left_out_of_it(default_pair):
    trace = decode(
        default_pair, "Answer with one word: what is the capital of France?", k=4, sampling=Sampling(0.0)
    )
    assert trace.data["stop"] == "end"
    assert trace.token_ids[-1] in trace.data["settings"]["end_ids"]
    assert "<|im_end|>" not in trace.text
    assert "Paris" in trace.text
    table = pd.read_csv(io.StringIO(trace.to_csv()))
    assert table.output_index.max() == len(trace.token_ids) - 1


def test_a_branch_of_a_real_run_shares_its_beginning(default_pair):
    pair = with_draft(default_pair, "noise")
    trace = decode(pair, EIGHT[2], k=2, max_new_tokens=8)
    branch = resume(pair, trace, step=3, position=1, purpose="accept", u=0.0)
    assert branch.data["steps"][:2] == trace.data["steps"][:2]
    assert branch.data["steps"][2]["drafts"][0]["state"] == "accepted"
    assert replay(branch) == []


def test_every_token_of_the_vocabulary_has_its_bytes(default_pair):
    tokenizer, pieces = default_pair.tokenizer, default_pair.target.pieces
    for text in ("Grüße, 世界! 😀\n\tdef f(x):  # Ω", " leading", "trailing ", "<|im_end|>"):
        assert b"".join(pieces(token) for token in tokenizer.encode(text)).decode() == text
    assert pieces(151999) == "⟨id 151999⟩".encode()
