"""The packed forward against the model's own, which is the reference."""

import pytest
import torch

from specviz import load_pair
from specviz.models.cursors import ModelCursor
from specviz.models.loaded import wrap
from specviz.models.packed import FIRST_CAPACITY, PackedCursor
from tests.conftest import tiny, tiny_model
from tests.models.prompts import EIGHT

TEXT = [3, 14, 15, 92, 65, 35, 89, 79]
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 1e4,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 16,
}
MODELS = {
    "llama": {},
    "llama, every head its own keys": {"num_key_value_heads": 4},
    "llama, wide heads": {"head_dim": 16},
    "llama, biases": {"attention_bias": True},
    "llama, tied head": {"tie_word_embeddings": True},
    "llama, scaled rotary embedding": {"rope_parameters": LLAMA3},
    "qwen2": {},
    "qwen3": {},
}


def model_of(name, **settings):
    model = tiny_model(name.split(",")[0], **MODELS[name] | settings)
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):  # zero in a new model, where a lost one would not be missed
            torch.nn.init.normal_(parameter)
    return model


def cursors(model):
    loaded = wrap(model, name="tiny")
    packed = loaded.cursor()
    assert isinstance(packed, PackedCursor)
    return packed, ModelCursor(model, loaded.limit, loaded.vocab)


def assert_same(ours, theirs):
    assert ours.shape == theirs.shape
    assert torch.allclose(ours, theirs, atol=2e-4, rtol=1e-4)


@pytest.mark.parametrize("name", MODELS)
def test_the_packed_forward_gives_the_models_own_logits(name):
    ours, theirs = cursors(model_of(name))
    for ids, rows in ((TEXT[:5], 0), (TEXT[5:6], 1), (TEXT[:5], 5), (TEXT, 3)):
        assert_same(ours.extend(ids, rows), theirs.extend(ids, rows))


@pytest.mark.parametrize("length", [0, 1, 7, 8])
def test_a_packed_cursor_rolls_back_to_any_length(length):
    ours, theirs = cursors(model_of("qwen2"))
    ours.extend(TEXT, 1)
    ours.rollback(length)
    assert ours.length == length
    assert_same(ours.extend([*TEXT[length:], 5], 1), theirs.extend([*TEXT, 5], 1))
    ours.rollback(99)
    assert ours.length == len(TEXT) + 1


def test_a_text_that_outgrows_the_first_room_keeps_what_was_read():
    ours, theirs = cursors(model_of("llama", max_position_embeddings=2 * FIRST_CAPACITY))
    long = [(7 * index) % 97 for index in range(FIRST_CAPACITY)]
    for ids in (TEXT, long, [1, 2, 3, 4, 5]):
        assert_same(ours.extend(ids, 1), theirs.extend(ids, 1))


def test_two_cursors_of_one_model_do_not_share_what_they_read():
    model = tiny("llama")
    first, second = model.cursor(), model.cursor()
    alone = first.extend(TEXT, 1)
    second.extend([5, 6], 1)
    first.rollback(0)
    assert torch.equal(first.extend(TEXT, 1), alone)


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("gpt2", {}),
        ("mistral", {}),
        ("gemma", {}),
        ("llama", {"dtype": torch.float64}),
        ("llama", {"hidden_act": "gelu"}),
        ("qwen2", {"use_sliding_window": True, "sliding_window": 8, "max_window_layers": 0}),
        ("llama", {"rope_parameters": {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0}}),
    ],
)
def test_what_it_does_not_compute_runs_through_the_models_own_forward(kind, settings):
    assert isinstance(tiny(kind, **settings).cursor(), ModelCursor)


def test_in_bfloat16_the_packed_target_is_as_near_to_float32_as_transformers_is(default_pair):
    half = load_pair("smollm2-135m", "lookup", device="cpu", dtype="bfloat16").target
    ours = theirs = 0.0
    for prompt in EIGHT:  # on one prompt, rounding makes either of them four times as far off as the other
        ids = half.encode(prompt, True)
        exact = ModelCursor(default_pair.target.model, 8192, half.vocab).extend(ids, 5)
        ours += float((half.cursor().extend(ids, 5).float() - exact).pow(2).mean())
        theirs += float(
            (ModelCursor(half.model, 8192, half.vocab).extend(ids, 5).float() - exact).pow(2).mean()
        )
    assert ours < 1.5 * theirs
