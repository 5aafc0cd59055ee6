"""The distillation's parts that can be wrong without anybody noticing: the loss, the rows, the prompts, the schedule."""

import random

import numpy as np
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from distil.losses import BUCKET_OVERLAP, Batch, distillation_losses, target_law
from distil.prompts import KINDS, NEAR, kind_of, near_held_out, prompt
from distil.rows import Rows, cut, held_out, join
from distil.sample import continue_rows, save_shard
from distil.student import cut_student
from distil.train import epoch_batches, learning_rate
from specviz import load_pair
from specviz.speed.acceptance import draft_quality, report
from specviz.speed.held_out import Prompt, held_out_prompts


def some_batch(n=6, vocabulary=50, m=4, seed=0):
    torch.manual_seed(seed)
    top = torch.stack([torch.randperm(vocabulary)[:m] for _ in range(n)])
    top[0, 1] = -1
    logp = torch.log_softmax(torch.randn(n, m + 3), -1)[:, :m].sort(-1, descending=True).values
    return Batch(top, logp, torch.tensor([3, -1, 7, 8, 9, 10])), torch.randn(n, vocabulary)


def plain_losses(logits, batch, temperature, tail):
    """The same losses written with autograd alone."""
    log_q = torch.log_softmax(logits / temperature, -1)
    known = batch.top >= 0
    p = target_law(batch, temperature, tail) * known
    picked = log_q.gather(1, batch.top.clamp_min(0))
    q = picked.exp() * known
    p_rest, q_rest = 1 - p.sum(-1), (1 - q.sum(-1)).clamp_min(1e-6)
    loss = -(p * picked).sum(-1) - p_rest * q_rest.log()
    in_rest = (batch.drawn >= 0) & ~(batch.top == batch.drawn[:, None]).any(-1)
    drawn = log_q.gather(1, batch.drawn.clamp_min(0)[:, None])[:, 0] - q_rest.log()
    overlap = torch.minimum(p, q).sum(-1) + BUCKET_OVERLAP * torch.minimum(p_rest, q_rest)
    return loss - drawn.clamp_max(0) * in_rest, overlap


def test_the_handwritten_gradient_is_autograds():
    batch, logits = some_batch()
    gradients = []
    for losses in (plain_losses, distillation_losses):
        z = logits.clone().requires_grad_()
        cross_entropy, overlap = losses(z, batch, 0.8, 0.3)
        (cross_entropy.mean() + (overlap**2).mean()).backward()
        gradients.append((cross_entropy.detach(), overlap.detach(), z.grad))
    for mine, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(mine, theirs, atol=1e-6, rtol=1e-5)


def test_the_loss_leaves_the_logits_alone():
    batch, logits = some_batch()
    before = logits.clone()
    distillation_losses(logits, batch, 1.0, 0.3)
    assert torch.equal(logits, before)


def test_target_law_is_exact_where_the_whole_law_is_known():
    logp = torch.log_softmax(torch.randn(3, 5), -1)
    batch = Batch(torch.arange(5).repeat(3, 1), logp, torch.zeros(3, dtype=torch.long))
    torch.testing.assert_close(
        target_law(batch, 0.8, 0.3), torch.softmax(logp / 0.8, -1), atol=1e-4, rtol=1e-4
    )


def some_rows():
    lengths, prompts = [5, 7, 4], [2, 3, 2]
    n = sum(lengths)
    return Rows(
        tokens=np.arange(n, dtype=np.int32),
        start=np.concatenate([[0], np.cumsum(lengths)]),
        prompt_len=np.array(prompts, np.int32),
        top_ids=np.tile(np.arange(n, dtype=np.int32)[:, None], (1, 2)),
        top_logp=np.zeros((n, 2), np.float16),
        chat=np.array([True, False, True]),
    )


def test_rows_are_taken_joined_and_cut():
    rows = some_rows()
    assert rows.take(np.array([2, 0])).tokens.tolist() == [12, 13, 14, 15, 0, 1, 2, 3, 4]
    both = join([rows, rows])
    assert len(both) == 6 and both.tokens[both.row(4)].tolist() == rows.tokens[rows.row(1)].tolist()
    short = cut(rows, 1)
    assert [short.tokens[short.row(i)].tolist() for i in range(3)] == [[0, 1, 2], [5, 6, 7, 8], [12, 13, 14]]


def test_rows_of_one_prompt_are_kept_from_training_together():
    rows = join([some_rows(), some_rows()])
    out = held_out(rows, one_in=2)
    assert out[:3].tolist() == out[3:].tolist()


def test_an_epoch_uses_each_row_as_often_as_its_weight_says():
    rows = join([some_rows()] * 40)
    weight = np.tile([2.0, 0.0, 1.0], 40)
    used = np.concatenate([np.concatenate(step) for step in epoch_batches(rows, weight, 0, 30, 1)])
    assert np.bincount(used, minlength=len(rows)).tolist() == weight.astype(int).tolist()


def test_the_learning_rate_rises_and_ends_at_a_hundredth():
    rates = [learning_rate(1.0, share) for share in np.linspace(0, 1, 101)]
    peak = int(np.argmax(rates))
    assert peak <= 3 and rates[-1] == pytest.approx(0.01)
    assert all(a >= b for a, b in zip(rates[peak:], rates[peak + 1 :], strict=False))


def test_the_200_held_out_prompts_are_distinct_and_of_six_kinds():
    prompts = held_out_prompts()
    assert len({each.text for each in prompts}) == 200
    assert {each.kind for each in prompts} == set(KINDS)
    assert prompts == held_out_prompts()


def test_no_training_prompt_is_near_a_held_out_one():
    rng = random.Random(0)
    drawn = [prompt(rng) for _ in range(600)]
    assert {kind for kind, _ in drawn} == set(KINDS)
    assert max(near_held_out(text) for _, text in drawn) < NEAR
    assert near_held_out(held_out_prompts()[0].text) == 1


def test_the_kind_shows_in_a_prompts_words():
    rng = random.Random(1)
    drawn = [prompt(rng) for _ in range(600)]
    assert sum(kind_of(text) == kind for kind, text in drawn) > 0.85 * len(drawn)


@pytest.fixture
def target():
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=50,
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=3,
        num_attention_heads=2,
        num_key_value_heads=1,
        tie_word_embeddings=True,
    )
    return LlamaForCausalLM(config).eval()


def test_rows_sampled_together_have_the_law_of_the_row_alone(target, tmp_path):
    prompts = [[3, 4, 5, 6, 7], [8, 9], [10, 11, 12]]
    rows = continue_rows(target, prompts, torch.full((3, 1), 0.8), 6, {2}, torch.Generator().manual_seed(0))
    for known, (written, ids, logp) in zip(prompts, rows, strict=True):
        z = target(input_ids=torch.tensor([known + written])).logits[0, len(known) - 1 : -1].detach()
        top = torch.log_softmax(z, -1).topk(8)
        assert np.array_equal(ids, top.indices.numpy())
        np.testing.assert_allclose(logp, top.values.numpy(), atol=1e-5)
    assert save_shard(tmp_path / "part-000000.npz", prompts, rows) == sum(len(w) for w, _, _ in rows)


def test_a_student_cut_with_all_layers_and_ids_is_the_target(target):
    student = cut_student(target, [0, 1, 2], torch.arange(50))
    ids = torch.tensor([[1, 5, 9, 3]])
    mine = student(ids, torch.ones_like(ids, dtype=torch.bool))
    torch.testing.assert_close(mine, target(input_ids=ids).logits[0], atol=1e-5, rtol=1e-5)


def test_draft_quality_counts_examined_positions_only():
    quality = draft_quality(load_pair("toy"), [Prompt("a", "1 2 3"), Prompt("b", "4 5")], (0.8, 0.0))
    result = quality["temperatures"]["0.8"]
    assert result["all"]["examined"] == sum(at["examined"] for at in result["by_position"])
    assert result["all"]["examined"] == sum(each["examined"] for each in result["by_kind"].values())
    greedy = quality["temperatures"]["0"]["all"]
    assert greedy["overlap"] == pytest.approx(greedy["acceptance"])
    assert "0.8" in report(quality)
