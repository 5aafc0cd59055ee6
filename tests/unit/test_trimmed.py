"""A trimmed draft's folder: what loads, what is refused, and that the loaded model drafts exactly."""

import dataclasses
import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import LlamaConfig, LlamaForCausalLM

from specviz import SpecVizError, decode, replay
from specviz.models.catalogue import OWN_DRAFT
from specviz.models.cursors import ModelCursor
from specviz.models.loaded import wrap
from specviz.models.pairs import Pair
from specviz.models.trimmed import DESCRIPTION, FORMAT, MAP, load_trimmed, read_description
from specviz.models.weights import sha256_of

VOCAB, WIDTH, HEAD = 50, 16, 12


def tiny_config(**changes):
    settings = {
        "vocab_size": VOCAB,
        "hidden_size": WIDTH,
        "intermediate_size": 24,
        "num_hidden_layers": 3,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "max_position_embeddings": 96,
        "eos_token_id": 2,
        "tie_word_embeddings": True,
    }
    return LlamaConfig(**(settings | changes))


def tiny_target(seed=0, **changes):
    torch.manual_seed(seed)
    model = LlamaForCausalLM(tiny_config(**changes))
    return wrap(model, name="tiny", sha256="a" * 64)


def write_draft(folder: Path, target, ids=None, serves=None, **description):
    """A draft cut from the target's first and last layer, as distil.export writes it."""
    folder.mkdir(exist_ok=True)
    ids = torch.arange(0, 2 * HEAD, 2) if ids is None else torch.tensor(ids)
    body = target.model.model
    files = {
        "head.safetensors": {"head.weight": target.model.lm_head.weight[ids % VOCAB].detach().clone()},
        MAP: {"id_map": ids.to(torch.int32)},
        "layer-0.safetensors": {"norm.weight": body.norm.weight.detach().clone()},
    }
    for new, old in enumerate((0, 2)):
        state = body.layers[old].state_dict().items()
        tensors = {f"layers.{new}.{name}": tensor.clone() for name, tensor in state}
        files.setdefault(f"layer-{new}.safetensors", {}).update(tensors)
    for name, tensors in files.items():
        save_file(tensors, folder / name)
    config = {k: v for k, v in tiny_config(num_hidden_layers=2).to_diff_dict().items() if v is not None}
    for key in (
        "vocab_size",
        "eos_token_id",
        "bos_token_id",
        "architectures",
        "dtype",
        "transformers_version",
    ):
        config.pop(key, None)
    text = {
        "format": FORMAT,
        "version": 1,
        "name": "tiny-draft",
        "serves": serves or [{"name": "tiny", "sha256": "a" * 64}],
        "config": config | {"model_type": "llama"},
        "files": {name: sha256_of(folder / name) for name in files},
    }
    (folder / DESCRIPTION).write_text(json.dumps(text | description))
    return folder


@pytest.fixture
def target():
    return tiny_target()


@pytest.fixture
def folder(tmp_path, target):
    return write_draft(tmp_path / "draft", target)


def as_pair(target, folder):
    model = load_trimmed(folder, target)
    return Pair("tiny", target, wrap(model, name="tiny-draft", id_map=model.id_map), "model")


def test_shares_the_targets_embedding_and_maps_back(target, folder):
    model = load_trimmed(folder, target)
    assert model.get_input_embeddings() is target.model.get_input_embeddings()
    assert model.id_map.tolist() == list(range(0, 2 * HEAD, 2))
    assert model.config.eos_token_id == 2 and model.config.max_position_embeddings == 96


def test_step_by_step_equals_all_at_once_and_a_rollback_is_undone(target, folder):
    cursor = ModelCursor(load_trimmed(folder, target), 96, HEAD)
    whole = cursor.extend([5, 9, 2, 7], 4)
    assert whole.shape == (4, HEAD)
    cursor.rollback(2)
    again = torch.cat([cursor.extend([2], 1), cursor.extend([7], 1)])
    torch.testing.assert_close(again, whole[2:], atol=1e-5, rtol=1e-5)


def test_it_reads_ids_that_its_head_lacks(target, folder):
    model = load_trimmed(folder, target)
    one, other = (ModelCursor(model, 96, HEAD).extend([4, token], 1) for token in (VOCAB - 1, VOCAB - 3))
    assert not torch.allclose(one, other)


def test_every_proposal_is_in_the_map_and_the_run_replays(target, folder):
    trace = decode(as_pair(target, folder), [1, 4, 8], k=4, max_new_tokens=40, chat=False)
    drafts = [draft for step in trace.data["steps"] for draft in step["drafts"]]
    assert {draft["id"] for draft in drafts} <= set(range(0, 2 * HEAD, 2))
    assert not replay(trace)  # the drawn row is the tested row: no decision differs
    for draft in drafts:
        assert draft["high"] - draft["low"] == pytest.approx(draft["q"], abs=1e-9)


def refused(folder, target, words):
    with pytest.raises(SpecVizError, match=words) as caught:
        load_trimmed(folder, target)
    assert "\n" not in str(caught.value)


def test_no_description(tmp_path, target):
    refused(tmp_path, target, "holds no draft.json")


def test_description_of_something_else(folder, target):
    (folder / DESCRIPTION).write_text("{}")
    refused(folder, target, "doesn't describe a trimmed draft")


def test_description_cut_short(folder, target):
    (folder / DESCRIPTION).write_text((folder / DESCRIPTION).read_text()[:40])
    refused(folder, target, "can't be read as JSON")


def test_missing_map(folder, target):
    (folder / MAP).unlink()
    refused(folder, target, f"lacks {MAP}")


def test_missing_layer(folder, target):
    (folder / "layer-1.safetensors").unlink()
    refused(folder, target, "lacks layer-1")


@pytest.mark.parametrize("name", ["head.safetensors", "layer-0.safetensors", MAP])
@pytest.mark.parametrize("damage", ["flip", "cut"])
def test_damaged_file(folder, target, name, damage):
    data = bytearray((folder / name).read_bytes())
    data[-1] ^= 1
    (folder / name).write_bytes(data if damage == "flip" else data[:-3])
    refused(folder, target, f"{name} is damaged")


def test_target_that_it_does_not_serve(folder, target):
    other = dataclasses.replace(target, name="other", sha256="b" * 64)
    refused(folder, other, "was made for tiny, not for other")
    refused(folder, dataclasses.replace(other, sha256=None), "was made for tiny, not for other")


def test_a_target_is_known_by_its_name_or_by_its_hash(folder, target):
    load_trimmed(folder, dataclasses.replace(target, name="a copy"))
    load_trimmed(folder, dataclasses.replace(target, sha256="b" * 64))


def test_other_width(folder):
    refused(folder, tiny_target(hidden_size=32, intermediate_size=24), "16 wide and tiny is 32")


def test_map_beyond_the_targets_vocabulary(tmp_path, target):
    refused(write_draft(tmp_path / "draft", target, ids=[3, VOCAB]), target, f"names id {VOCAB}")


def test_map_that_names_an_id_twice(tmp_path, target):
    refused(write_draft(tmp_path / "draft", target, ids=[3, 7, 3]), target, "twice")


def test_files_that_do_not_fit_their_description(folder, target):
    text = json.loads((folder / DESCRIPTION).read_text())
    text["config"]["intermediate_size"] = 20
    (folder / DESCRIPTION).write_text(json.dumps(text))
    refused(folder, target, "don't fit")


def test_the_shipped_draft_is_whole():
    description = read_description(OWN_DRAFT)
    for name, recorded in description["files"].items():
        assert sha256_of(OWN_DRAFT / name) == recorded
        assert (OWN_DRAFT / name).stat().st_size < 10_000_000
    ids = load_file(OWN_DRAFT / MAP)["id_map"].tolist()
    assert len(set(ids)) == len(ids) == 8192 and {0, 2} <= set(ids)
