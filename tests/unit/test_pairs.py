"""The catalogue: what it offers, what it says of it, and that nothing in it depends on what a Hub's branch holds today."""

import re

import pytest

from specviz.models import catalogue, fetching
from specviz.models.catalogue import CATALOGUE, availability
from specviz.page.choices import pair_choices

SOURCES = [source for entry in CATALOGUE.values() for source in (*entry.target, *entry.draft)]


@pytest.fixture
def nothing_here(monkeypatch):
    monkeypatch.setattr(fetching, "locate", lambda source: None)


def test_every_model_of_the_hub_is_pinned_to_a_revision_and_every_wheel_to_a_hash():
    for source in SOURCES:
        if source.kind == "hub":
            assert re.fullmatch(r"[0-9a-f]{40}", source.revision or ""), source.repo
        else:
            assert re.fullmatch(r"[0-9a-f]{64}", source.sha256) and "==" in source.package
    assert len({source.revision for source in SOURCES if source.kind == "hub"}) == 11


def test_every_pair_says_how_big_it_is_what_it_wants_and_under_which_licence():
    for entry in CATALOGUE.values():
        assert entry.needs and entry.licence
    assert all(source.size > 50_000_000 for source in SOURCES)


def test_what_is_here_need_not_be_fetched(monkeypatch):
    monkeypatch.setattr(fetching, "locate", lambda source: "here" if "SmolLM2-135M" in source.repo else None)
    lines = {line.entry.name: line for line in availability()}
    assert lines["smollm2-135m"].here and lines["smollm2-135m"].download == 0
    assert not lines["smollm2-360m"].here and lines["smollm2-360m"].download == 727_000_000


def test_the_menu_says_what_must_be_fetched_how_much_and_what_hardware_it_wants(nothing_here):
    menu = {name: text for text, name in pair_choices()}
    assert menu["qwen3-4b"] == "Qwen3 4B with 0.6B · 9.6 GB to fetch · wants a GPU with 12 GB"
    assert menu["smollm2-135m"] == "SmolLM2 135M Instruct · 93 MB to fetch · wants a laptop's CPU"
    assert menu["toy"] == "Toy: 100 tokens, no weights"
    assert list(menu) == list(CATALOGUE)


def test_a_gpu_brings_the_pair_that_is_worth_one_to_the_top(monkeypatch, nothing_here):
    monkeypatch.setattr(catalogue, "best_device", lambda: "cuda")
    names = [line.entry.name for line in availability()]
    assert names[0] == "smollm2-1.7b"
    assert sorted(names) == sorted(CATALOGUE)


def test_the_space_preloads_the_revision_that_the_catalogue_names():
    from pathlib import Path

    readme = (Path(__file__).parents[2] / "README.md").read_text()
    preloaded = re.search(r"preload_from_hub:\n  - (\S+) (\S+) (\w+)\n", readme)
    assert preloaded, "the README's first lines preload no pinned model"
    assert (preloaded[1], preloaded[3]) == (
        catalogue.SMOLLM2_135M.repo,
        catalogue.SMOLLM2_135M.revision,
    )
    wanted = {
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    }
    assert set(preloaded[2].split(",")) >= wanted
