"""Loading pairs from folders: the real loaders on tiny checkpoints, whole and damaged."""

import json

import pytest
import torch

from specviz import SpecVizError, decode, load_pair, replay
from specviz.models import best_dtype, resolve
from tests.conftest import tiny_model


def tokenizer(words):
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    raw = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="w0"))
    raw.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=raw, unk_token="w0")


WORDS = [f"w{i}" for i in range(90)]


def save(folder, kind="llama", words=WORDS, shard="5GB", **settings):
    tiny_model(kind, **settings).save_pretrained(folder, max_shard_size=shard)
    tokenizer(words).save_pretrained(folder)
    return str(folder)


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
@pytest.mark.parametrize("shard", ["5GB", "20KB"])
def test_two_folders_are_a_pair(tmp_path, kind, shard):
    target, draft = save(tmp_path / "t", kind, shard=shard), save(tmp_path / "d", kind, seed=1, vocab=93)
    pair = load_pair(target, draft, device="cpu", dtype="float32")
    trace = decode(pair, "w3 w14 w15", max_new_tokens=12)
    assert replay(trace) == []
    assert trace.data["settings"]["draft"] == {"kind": "model", "name": "d"}
    assert len(trace.data["weights"]["target"]["sha256"]) == 64
    expected = tiny_model(kind)(input_ids=torch.tensor([[3, 14, 15]])).logits
    loaded = pair.target.model(input_ids=torch.tensor([[3, 14, 15]])).logits
    assert torch.equal(loaded, expected)


def refused(*arguments, match):
    with pytest.raises(SpecVizError, match=match) as caught:
        load_pair(*arguments, device="cpu")
    assert "\n" not in str(caught.value)


def test_a_draft_with_another_tokenizer_is_refused_and_told_why(tmp_path):
    target = save(tmp_path / "t")
    draft = save(tmp_path / "d", words=[*WORDS[:10][::-1], *WORDS[10:]])
    refused(target, draft, match="does not share t's tokenizer")


def test_weights_that_are_cut_short_are_refused(tmp_path):
    folder = save(tmp_path / "t")
    path = tmp_path / "t" / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    refused(folder, match="damaged|cut short")


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


def test_weights_that_are_not_here_name_the_command_that_fetches_them(tmp_path, monkeypatch):
    monkeypatch.setenv("SPECVIZ_HOME", str(tmp_path))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    refused("smollm2-1.7b", match="specviz fetch smollm2-1.7b")


def test_devices_and_dtypes_are_chosen_or_checked():
    assert resolve("cpu", "float64") == ("cpu", torch.float64)
    assert resolve("cpu", None) == ("cpu", best_dtype("cpu"))
    assert best_dtype("cpu") in (torch.float32, torch.bfloat16)
    for device in ("cuda:99", "toaster", "mps" if not torch.backends.mps.is_available() else "xpu"):
        with pytest.raises(SpecVizError):
            resolve(device, None)
