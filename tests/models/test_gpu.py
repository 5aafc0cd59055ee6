"""On a GPU: placement, event timings, exactness on tiny models (pytest -m gpu)."""

import pytest
import torch

from specviz import Pair, Sampling, decode, measure_costs, replay
from specviz.models import wrap
from tests.conftest import tiny, tiny_model
from tests.models.test_loop import PROMPT, assert_same_greedy, reference

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU"),
]


def on(device, seed=0):
    return wrap(tiny_model("llama", seed=seed).to(device), name="tiny")


@pytest.mark.parametrize("draft_device", ["cuda:0", "cpu"])
def test_both_models_may_sit_on_different_devices(draft_device):
    pair = Pair("tiny", on("cuda:0"), on(draft_device, seed=1), "model")
    trace = decode(pair, PROMPT, k=4, max_new_tokens=40, sampling=Sampling(1.0))
    assert replay(trace) == []
    assert (trace.data["weights"]["target"]["device"], trace.data["weights"]["draft"]["device"]) == (
        "cuda:0",
        draft_device,
    )


def test_greedy_text_is_that_of_the_cpu():
    trace = decode(
        Pair("tiny", on("cuda:0"), on("cuda:0", seed=1), "model"),
        PROMPT,
        max_new_tokens=40,
        sampling=Sampling(0.0),
    )
    model = tiny("llama").model
    assert_same_greedy(model, PROMPT, trace.token_ids, reference(model, PROMPT, 40))


def test_forwards_are_timed_by_events_within_the_step():
    trace = decode(Pair("tiny", on("cuda:0"), on("cuda:0", seed=1), "model"), PROMPT, max_new_tokens=40)
    for step in trace.data["steps"]:
        assert 0 < step["ms"]["verify"] <= step["ms"]["step"]
    assert all(ms > 0 for ms in measure_costs(Pair("tiny", on("cuda:0"), None, "lookup"))["target_ms"])
