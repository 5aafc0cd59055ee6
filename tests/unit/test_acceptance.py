"""The measurement of a draft, on the toy: its figures are those of the runs, and the command prints and writes them."""

import json

import pytest

from specviz import Sampling, decode, load_pair
from specviz.__main__ import main
from specviz.speed import acceptance as quality
from specviz.speed import held_out

PROMPTS = [held_out.Prompt("one", "1 15 42"), held_out.Prompt("one", "7 8"), held_out.Prompt("other", "99")]


def test_the_figures_are_those_of_the_runs():
    pair = load_pair("toy")
    result = quality.draft_quality(pair, PROMPTS, [0.8])["temperatures"]["0.8"]
    overlaps = {"one": [], "other": []}
    for number, prompt in enumerate(PROMPTS, start=1):
        options = {"k": quality.K, "max_new_tokens": quality.TOKENS, "seed": held_out.SEED + number}
        trace = decode(pair, prompt.text, sampling=Sampling(0.8), **options)
        drafts = [draft for step in trace.data["steps"] for draft in step["drafts"]]
        overlaps[prompt.kind] += [draft["overlap"] for draft in drafts if draft["coin"] is not None]
    for kind, values in overlaps.items():
        assert result["by_kind"][kind]["overlap"] == pytest.approx(sum(values) / len(values))
        assert result["by_kind"][kind]["examined"] == len(values)
    assert result["all"]["examined"] == sum(at["examined"] for at in result["by_position"])


def test_the_command_prints_and_writes_the_figures(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(quality, "held_out_prompts", lambda: PROMPTS)
    assert main(["bench", "--pair", "toy", "--draft-quality", "--json", str(tmp_path / "q.json")]) == 0
    printed = capsys.readouterr().out
    figures = json.loads((tmp_path / "q.json").read_text())
    assert set(figures["temperatures"]) == {"0.8", "1", "0"}
    assert f"{figures['temperatures']['0.8']['all']['overlap']:.3f}" in printed
