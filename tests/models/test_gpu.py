"""On a GPU: loading, placement, event timings, exactness, a full memory.

`pytest -m gpu` runs it on an NVIDIA GPU, in well under ten minutes: the models are tiny, and the default pair's weights
are used where they are here. SPECVIZ_TEST_DEVICE=cpu (or mps) runs the same there, as far as it goes.
"""

import os

import pytest
import torch

from specviz import Pair, Sampling, SpecVizError, autoregress, decode, load_pair, measure_costs, replay, start
from specviz.errors import OutOfMemory
from specviz.exactness.enumeration import enumerate_runs
from specviz.exactness.worlds import tiny_model as fixture_model
from specviz.models import fetching
from specviz.models.catalogue import READ_BACK
from specviz.models.devices import RAN_OUT, best_dtype, free_memory, memory_by_place, memory_errors, resolve
from specviz.models.loaded import wrap
from tests.conftest import tiny, tiny_model
from tests.exact.worlds import PROMPT as ENUMERATED
from tests.exact.worlds import own_law
from tests.models.test_loading import FAMILIES, save
from tests.models.test_loop import PROMPT, assert_same_greedy, reference

DEVICE = os.environ.get("SPECVIZ_TEST_DEVICE", "cuda")
CUDA = DEVICE.startswith("cuda")

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(CUDA and not torch.cuda.is_available(), reason="needs an NVIDIA GPU"),
]
needs_cuda = pytest.mark.skipif(not CUDA, reason="is about CUDA")


def on(device, seed=0, kind="llama", dtype=torch.float32):
    return wrap(tiny_model(kind, seed=seed, dtype=dtype).to(device), name="tiny")


def pair_on(device, draft_device=None):
    return Pair("tiny", on(device), on(draft_device or device, seed=1), "model")


@pytest.mark.parametrize("kind", FAMILIES)
def test_each_family_loads_in_the_dtype_that_is_native_and_runs(tmp_path, kind):
    target = save(tmp_path / "t", kind, shard="20KB", **FAMILIES[kind])
    draft = save(tmp_path / "d", kind, seed=1, vocab=93, **FAMILIES[kind] | {"tie_word_embeddings": True})
    pair = load_pair(target, draft, device=DEVICE)
    trace = decode(pair, "w3 w14 w15", k=4, max_new_tokens=30)
    assert replay(trace) == []
    facts = trace.data["weights"]["target"]
    assert facts["dtype"] == str(best_dtype(DEVICE)).removeprefix("torch.")
    assert torch.device(facts["device"]).type == torch.device(DEVICE).type


@pytest.mark.parametrize("draft_device", [DEVICE, "cpu"])
def test_both_models_may_sit_on_different_devices(tmp_path, draft_device):
    pair = load_pair(
        save(tmp_path / "t"), save(tmp_path / "d", seed=1), device=DEVICE, draft_device=draft_device
    )
    trace = decode(pair, "w3 w14 w15", k=4, max_new_tokens=40, sampling=Sampling(1.0))
    assert replay(trace) == []
    kinds = [torch.device(trace.data["weights"][side]["device"]).type for side in ("target", "draft")]
    assert kinds == [torch.device(DEVICE).type, torch.device(draft_device).type]
    assert pair.draft.dtype == str(best_dtype(draft_device)).removeprefix("torch.")


def test_greedy_text_is_that_of_the_cpu():
    trace = decode(pair_on(DEVICE), PROMPT, max_new_tokens=40, sampling=Sampling(0.0))
    model = tiny("llama").model
    assert_same_greedy(model, PROMPT, trace.token_ids, reference(model, PROMPT, 40))


@pytest.mark.skipif(DEVICE.startswith("mps"), reason="mps has no float64")
def test_the_law_of_whole_texts_is_the_targets_own():
    """Enumerated in float64 on the device, compared with the same model on the CPU."""
    target, draft = fixture_model(3, 2, end_id=2), fixture_model(3, 3)
    own = own_law(target, ENUMERATED, Sampling(1.0), 3)
    pair = Pair(
        "tiny", wrap(target.model.to(DEVICE), name="t"), wrap(draft.model.to(DEVICE), name="d"), "model"
    )
    found = enumerate_runs(pair, ENUMERATED, k=2, max_new_tokens=3, sampling=Sampling(1.0))
    assert found.law.keys() == own.keys()
    assert sum(abs(found.law[text] - own[text]) for text in own) < 1e-9


def test_forwards_are_timed_within_the_step():
    trace = decode(pair_on(DEVICE), PROMPT, max_new_tokens=40)
    for step in trace.data["steps"]:
        assert 0 < step["ms"]["verify"] <= step["ms"]["step"]
    assert all(ms > 0 for ms in measure_costs(Pair("tiny", on(DEVICE), None, "lookup"))["target_ms"])


def test_the_plain_loop_and_every_kind_of_draft_run():
    target = on(DEVICE)
    assert autoregress(target, PROMPT, max_new_tokens=12)["tokens"] == 12
    for kind in ("lookup", "self", "noise"):
        pair = Pair("tiny", target, target if kind == "self" else None, kind)
        assert replay(decode(pair, PROMPT, max_new_tokens=12)) == []


@needs_cuda
def test_a_target_larger_than_the_card_is_spread(tmp_path, monkeypatch):
    """The card is told to be small: the layers that it has no room for go to the machine's memory, and the run is exact."""
    folder = save(tmp_path / "t", shard="20KB")
    monkeypatch.setattr("specviz.models.loaded.must_spread", lambda size, device: True)
    monkeypatch.setattr(
        "specviz.models.loaded.memory_by_place", lambda: {0: 60_000, "cpu": memory_by_place()["cpu"]}
    )
    pair = load_pair(folder, "self", device="cuda", dtype="float32")
    trace = decode(pair, "w3 w14 w15", k=4, max_new_tokens=20, sampling=Sampling(0.0))
    assert replay(trace) == []
    assert trace.data["weights"]["target"]["device"] == "cpu+cuda:0"
    whole = decode(
        load_pair(folder, "self", device="cpu", dtype="float32"),
        "w3 w14 w15",
        max_new_tokens=20,
        sampling=Sampling(0.0),
    )
    assert trace.token_ids[:8] == whole.token_ids[:8]


@needs_cuda
def test_a_card_that_is_really_full_is_one_sentence_and_is_free_again(tmp_path):
    """Asks for more than there is: nothing is filled, the allocator refuses at once."""
    before = free_memory(0)
    with pytest.raises(OutOfMemory, match="ran out of memory"), memory_errors(RAN_OUT):
        kept = torch.empty(before // 4, dtype=torch.uint8, device="cuda")
        torch.empty(2 * before, dtype=torch.uint8, device=kept.device)
    del kept
    assert free_memory(0) >= before - 2**26
    run = start(pair_on(DEVICE), PROMPT, max_new_tokens=8)
    assert len(list(run)) >= 1


@needs_cuda
def test_a_card_that_does_not_exist_is_refused():
    with pytest.raises(SpecVizError, match="not available here: use cuda:0"):
        resolve(f"cuda:{torch.cuda.device_count()}", None)


@pytest.mark.skipif(fetching.locate(READ_BACK) is None, reason="needs the default pair's weights")
def test_the_default_pair_shares_its_embedding_and_runs():
    pair = load_pair("smollm2-135m", "model", device=DEVICE)
    assert pair.draft.model.get_input_embeddings() is pair.target.model.get_input_embeddings()
    trace = decode(pair, "Once upon a time", k=4, max_new_tokens=48, chat=False)
    assert replay(trace) == []
    assert trace.metrics["acceptance_examined"] > 0.2
