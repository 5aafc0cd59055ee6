"""The shell as its users meet it: what it prints, its exit status, and one sentence for every mistake."""

import json
import subprocess
import sys

import pandas as pd
import pytest

from specviz.__main__ import main
from specviz.record.text import visible

TOY = ["decode", "--pair", "toy", "--prompt", "1 15 42"]


def fails(capsys, *arguments):
    """Run a command that has to fail, and return its one line."""
    assert main(list(arguments)) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "Traceback" not in printed.err
    assert printed.err.count("\n") == 1
    return printed.err


def test_the_toys_steps_are_printed_with_their_numbers(capsys):
    assert main([*TOY, "-k", "4", "--max-new-tokens", "12"]) == 0
    printed = capsys.readouterr().out
    assert "step 1: 1 token for one target pass (0 of 4 drafts accepted)" in printed
    assert "✗ ␣72" in printed
    assert "coin 0.845 ≥ min(1, p/q)" in printed
    assert "tokens per target pass" in printed
    assert "measured not measured" in printed


def test_both_files_are_written_and_hold_the_same_run(tmp_path, capsys):
    csv, json_ = tmp_path / "t.csv", tmp_path / "t.json"
    assert (
        main([*TOY, "--csv", str(csv), "--json", str(json_), "--label", "group 3", "--baseline", "--costs"])
        == 0
    )
    data, table = json.loads(json_.read_text()), pd.read_csv(csv)
    assert table.tokens_total.iloc[-1] == len(data["token_ids"]) == 64
    assert json.loads(table.label[0]) == "group 3"
    assert table.speedup_measured.notna().any() and table.speedup_modelled.notna().all()
    assert main(["replay", str(json_)]) == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--prompt", ""], "prompt is empty"),
        (["--prompt", "  "], "prompt is empty"),
        (["--prompt", "one"], "token ids from 0 to 99"),
        (["-k", "17"], "K must be a whole number from 0 to 16"),
        (["-k", "-1"], "K must be"),
        (["-k", "x"], "invalid int value"),
        (["--temperature", "3"], "temperature must be a number from 0 to 2"),
        (["--temperature", "nan"], "temperature must be a number"),
        (["--temperature", "hot"], "invalid float value"),
        (["--top-p", "0"], "Top-p must be above 0"),
        (["--top-k", "-2"], "must be a whole number of at least 0, not -2"),
        (["--max-new-tokens", "0"], "new tokens must be a whole number of at least 1"),
        (["--seed", "-1"], "seed must be"),
        (["--pair", "gpt5"], "no pair 'gpt5'"),
        (["--draft", "gpt5"], "no draft 'gpt5'"),
        (["--agreement", "2"], "agreement must be a number from 0 to 1"),
        (["--pair", "smollm2-1.7b"], "not here"),
        (["--device", "gpu7", "--pair", "smollm2-135m"], "no device called 'gpu7'"),
        (["--dtype", "int4", "--pair", "smollm2-135m"], "dtype must be one of"),
        (["--chat"], "no chat template"),
        (["--prompt", "1 " * 5000], "shorten the prompt"),
        (["--csv", "/nowhere/t.csv"], "can't be written"),
        (["--json", "/"], "can't be written"),
        (["--nonsense"], "Unrecognized arguments"),
    ],
)
def test_every_mistake_is_answered_in_one_sentence(capsys, monkeypatch, tmp_path, arguments, sentence):
    monkeypatch.setenv("SPECVIZ_HOME", str(tmp_path))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    assert sentence in fails(capsys, *TOY, *arguments)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "required"),
        (["decode"], "required"),
        (["dance"], "invalid choice"),
        (["replay", "nowhere.json"], "can't be read"),
        (["fetch", "gpt5"], "no pair 'gpt5'"),
    ],
)
def test_commands_that_do_not_exist_or_lack_something_are_answered_in_one_sentence(
    capsys, arguments, sentence
):
    assert sentence in fails(capsys, *arguments)


@pytest.mark.parametrize("content", ["", "{}", "run_id,label\n1,2\n", "\x00"])
def test_replaying_what_is_no_trace_is_answered_in_one_sentence(capsys, tmp_path, content):
    path = tmp_path / "t.json"
    path.write_text(content)
    assert "trace" in fails(capsys, "replay", str(path))


def test_the_catalogue_says_what_is_here_and_how_big_the_rest_is(capsys):
    assert main(["pairs"]) == 0
    printed = capsys.readouterr().out
    assert "toy            here" in printed
    assert "16,200 MB to fetch" in printed
    assert "Apache-2.0; wants a GPU with 20 GB" in printed


def test_the_module_is_a_program():
    command = [sys.executable, "-m", "specviz", *TOY, "--max-new-tokens", "4"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert subprocess.run([*command, "-k", "99"], capture_output=True, check=False).returncode == 2


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (" the", "␣the"),
        ("\n\n", "↵↵"),
        ("\t", "⇥"),
        ("", "∅"),
        ("\udcf0", "<0xF0>"),
        ("\u202e", "\\u202e"),
        ("é", "é"),
        ("\x07", "\\u0007"),
    ],
)
def test_every_token_is_visible_on_one_line(text, shown):
    assert visible(text) == shown
