"""Devices: what is chosen, what is refused, and what happens when their memory is full."""

import weakref

import pytest
import torch

from specviz import Pair, Sampling, SpecVizError, autoregress, decode, start
from specviz.errors import OutOfMemory
from specviz.models import devices
from specviz.models.devices import best_dtype, memory_by_place, memory_errors, must_spread, resolve
from tests.conftest import tiny, tiny_pair

GB = 10**9


@pytest.fixture
def two_cards(monkeypatch):
    """A machine with two GPUs of 24 GB, of the first of which 4 are taken."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(
        torch.cuda, "mem_get_info", lambda card: ((20 * GB, 24 * GB), (24 * GB, 24 * GB))[card]
    )
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda card: 0)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda card: 0)


def test_devices_and_dtypes_are_chosen_or_checked():
    assert resolve("cpu", "float64") == ("cpu", torch.float64)
    assert resolve("cpu", None) == ("cpu", best_dtype("cpu"))
    assert best_dtype("cpu") in (torch.float32, torch.bfloat16)
    absent = "mps" if not torch.backends.mps.is_available() else "xpu"
    for device in ("cuda:99", "toaster", absent, "cuda:-1", "cpu:x"):
        with pytest.raises(SpecVizError, match=r"cpu"):
            resolve(device, None)
    with pytest.raises(SpecVizError, match="dtype must be one of"):
        resolve("cpu", "int4")


def test_half_precision_is_chosen_where_it_is_native(monkeypatch, two_cards):
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: True)
    assert resolve(None, None) == ("cuda", torch.bfloat16)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: including_emulation)
    assert best_dtype("cuda:1") == torch.float16
    monkeypatch.setattr(devices, "_cpu_flags", lambda: {"avx2"})
    assert best_dtype("cpu") == torch.float32
    monkeypatch.setattr(devices, "_cpu_flags", lambda: {"avx512_bf16"})
    assert best_dtype("cpu") == torch.bfloat16


def test_a_gpu_that_is_not_there_is_refused_and_those_that_are_named(two_cards):
    assert resolve("cuda:1", "float16") == ("cuda:1", torch.float16)
    with pytest.raises(SpecVizError, match="'cuda:2' is not available here: use cuda:0, cuda:1"):
        resolve("cuda:2", "float16")


def test_weights_larger_than_the_card_are_spread_unless_a_card_was_named(two_cards):
    assert not must_spread(15 * GB, "cuda")
    assert must_spread(17 * GB, "cuda")
    assert not must_spread(17 * GB, "cuda:0")
    assert not must_spread(17 * GB, "cpu")
    places = memory_by_place()
    assert (places[0], places[1]) == (16 * GB, int(19.2 * GB))
    assert places["cpu"] > 10**8


# --- a full memory ----------------------------------------------------------------------------------------------------


class FullMemory(torch.nn.Module):
    """A model that runs as long as it is let, then finds the memory full; `held` is what a forward allocates."""

    def __init__(self, model, forwards, error):
        super().__init__()
        self.inner, self.config, self.left, self.error = model, model.config, forwards, error
        self.held = None

    def get_input_embeddings(self):
        return self.inner.get_input_embeddings()

    def forward(self, input_ids, logits_to_keep, cache=None, use_cache=None):
        if not self.left:
            activations = torch.zeros(4)
            self.held = weakref.ref(activations)
            raise self.error
        self.left -= 1
        return self.inner(
            input_ids=input_ids, logits_to_keep=logits_to_keep, cache=cache, use_cache=use_cache
        )


ERRORS = [
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.\nSee documentation"),
    RuntimeError("[enforce fail at alloc_cpu.cpp:124] DefaultCPUAllocator: can't allocate memory"),
    RuntimeError("MPS backend out of memory (MPS allocated: 9 GB)"),
    MemoryError(),
]


def filling(forwards, error=ERRORS[0]):
    import dataclasses

    from specviz.models.loaded import wrap

    whole = tiny("llama")
    model = FullMemory(whole.model, forwards, error)
    return model, dataclasses.replace(wrap(model, name="full"), limit=whole.limit)


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: f"{type(error).__name__} {str(error)[:8]}")
def test_a_memory_that_is_full_in_the_middle_of_a_run_is_one_sentence_and_the_steps_stay(error):
    model, target = filling(3, error)
    run = start(
        Pair("full", target, None, "noise"), [3, 14, 15], k=2, max_new_tokens=20, sampling=Sampling(1.0)
    )
    with pytest.raises(
        OutOfMemory, match="ran out of memory in the middle of the run: shorten the prompt"
    ) as caught:
        list(run)
    assert "\n" not in str(caught.value)
    assert len(run.trace.data["steps"]) == 2
    assert run.trace.data["stop"] == "error"
    assert model.held() is None


@pytest.mark.parametrize("forwards", [0, 2])
def test_a_memory_that_is_full_at_the_prompt_or_in_the_plain_loop_is_the_same_sentence(forwards):
    with pytest.raises(OutOfMemory):
        autoregress(filling(forwards)[1], [3, 14, 15], max_new_tokens=8)
    if not forwards:
        with pytest.raises(OutOfMemory):
            start(Pair("full", filling(0)[1], None, "lookup"), [3, 14, 15])


def test_a_full_memory_outside_the_forwards_is_the_same_sentence(monkeypatch):
    def full(*arguments):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr("specviz.decoding.recording.record", full)
    with pytest.raises(OutOfMemory):
        decode(tiny_pair("llama", "noise"), [3, 14, 15])


def test_other_errors_pass_through():
    with pytest.raises(RuntimeError, match="mat1 and mat2"), memory_errors("full"):
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")
    with pytest.raises(SpecVizError, match="the sentence"), memory_errors("full"):
        raise SpecVizError("the sentence that says out of memory")
