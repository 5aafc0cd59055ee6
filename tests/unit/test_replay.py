"""A trace replays without a difference, and no changed digit of what decides goes unnoticed."""

import copy
import itertools
import json
import random

import pytest

from specviz import Sampling, SpecVizError, Trace, decode, load_pair, replay, resume
from specviz.__main__ import main

PROMPT = "1 15 42 7 1 15"
GRID = [
    (draft, k, Sampling(temperature, top_k, top_p))
    for draft, (k, (temperature, top_k, top_p)) in itertools.product(
        ("model", "lookup", "self", "noise"),
        zip(
            (0, 1, 2, 4, 7, 16, 4, 3, 5, 4),
            (
                (0.8, 0, 1),
                (0, 0, 1),
                (1, 0, 1),
                (0.8, 5, 1),
                (1.3, 0, 0.9),
                (2, 3, 0.7),
                (0.5, 0, 1),
                (1, 1, 1),
                (0.7, 0, 0.5),
                (1e-5, 0, 1),
            ),
            strict=True,
        ),
    )
]


@pytest.mark.parametrize(("draft", "k", "sampling"), GRID)
def test_every_run_replays_without_a_difference(draft, k, sampling):
    trace = decode(load_pair("toy", draft), PROMPT, k=k, sampling=sampling, seed=k, max_new_tokens=30)
    assert replay(trace) == []
    assert replay(Trace.from_json(trace.to_json())) == []


@pytest.mark.parametrize("step", range(1, 11))
def test_every_branch_replays_without_a_difference(step):
    pair = load_pair("toy")
    trace = decode(pair, PROMPT, k=4, max_new_tokens=30, seed=step)
    branch = resume(pair, trace, step=step, position=1, purpose="accept", u=0.97)
    again = resume(pair, branch, step=step, position=1, purpose="draft", u=0.03)
    assert replay(branch) == replay(again) == []


@pytest.fixture(scope="module", params=[("model", 0.8), ("noise", 1.2), ("lookup", 0.8), ("self", 1.0)])
def data(request):
    draft, temperature = request.param
    trace = decode(
        load_pair("toy", draft), PROMPT, k=4, sampling=Sampling(temperature), seed=5, max_new_tokens=24
    )
    assert replay(trace) == []
    return trace.data


def cells(data):
    for step in data["steps"]:
        yield from step["drafts"]
        if step["final"]:
            yield step["final"]


def decimals(value, count=9):
    """Yield `value` with each of its first `count` decimals that is written down changed by one."""
    shown = f"{value:.17f}"
    for place in range(count):
        digit = shown[2 + place]
        yield float(shown[: 2 + place] + str((int(digit) + 1) % 10) + shown[3 + place :])


def figures(value, count=5):
    """Yield `value` with each of its first `count` figures changed by one."""
    mantissa, exponent = f"{value:.16e}".split("e")
    spots = [i for i, mark in enumerate(mantissa) if mark.isdigit()][:count]
    for spot in spots:
        digit = (int(mantissa[spot]) + 1) % 10 or 1
        changed = mantissa[:spot] + str(digit) + mantissa[spot + 1 :]
        if changed != mantissa:
            yield float(f"{changed}e{exponent}")


def changes(data):
    for index, cell in enumerate(cells(data)):
        for name in ("coin", "u", "u_draft", "q", "low", "high"):
            if isinstance(cell.get(name), float):
                yield from ((index, name, value) for value in decimals(cell[name]))
        for name in ("p", "mass"):
            if isinstance(cell.get(name), float) and cell[name] > 1e-4:
                yield from ((index, name, value) for value in figures(cell[name]))
        yield from ((index, "id", (cell["id"] + step) % 100) for step in (1, 10, 50))
        if "state" in cell:
            yield from (
                (index, "state", state)
                for state in ("accepted", "rejected", "discarded")
                if state != cell["state"]
            )
        else:
            yield index, "kind", {"residual": "bonus", "bonus": "residual"}[cell["kind"]]


def test_no_changed_digit_id_or_state_goes_unnoticed(data):
    every = list(changes(data))
    picked = random.Random(0).sample(every, min(len(every), 1500))
    assert {name for _, name, _ in picked} >= {"id", "p", "low", "high", "u", "kind"}
    unnoticed = []
    wrong = copy.deepcopy(data)
    every_cell = list(cells(wrong))
    for index, name, value in picked:
        before, every_cell[index][name] = every_cell[index][name], value
        if value != before and replay(Trace(wrong)) == []:
            unnoticed.append((index, name, before, value))
        every_cell[index][name] = before
    assert unnoticed == []
    assert replay(Trace(wrong)) == []


@pytest.mark.parametrize("name", ["tokens", "target_passes", "draft_passes"])
def test_no_changed_total_goes_unnoticed(data, name):
    for index in range(len(data["steps"])):
        wrong = copy.deepcopy(data)
        wrong["steps"][index]["totals"][name] += 1
        assert replay(Trace(wrong)) != []


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data["token_ids"].__setitem__(3, (data["token_ids"][3] + 1) % 100),
        lambda data: data["token_ids"].pop(),
        lambda data: data["steps"].pop(),
        lambda data: data["steps"].pop(2),
        lambda data: data.__setitem__("stop", "end"),
        lambda data: data.__setitem__("stop", "stopped"),
        lambda data: data["settings"].__setitem__("seed", 6),
        lambda data: data["settings"].__setitem__("max_new_tokens", 25),
        lambda data: data["settings"]["overrides"].append([1, 1, "draft", 0.5]),
        lambda data: data["settings"]["end_ids"].append(data["token_ids"][0]),
        lambda data: data["steps"][0].__setitem__("k_reason", "length"),
        lambda data: data["steps"][0].__setitem__("final", None),
        lambda data: data["steps"][1].__setitem__("extra", data["steps"][0]["final"]),
    ],
)
def test_no_change_of_the_whole_goes_unnoticed(data, change):
    wrong = copy.deepcopy(data)
    change(wrong)
    assert replay(Trace(wrong)) != []


def test_a_csv_can_not_be_replayed_and_says_so():
    trace = decode(load_pair("toy"), PROMPT)
    with pytest.raises(SpecVizError, match="replay its JSON file"):
        replay(Trace.from_csv(trace.to_csv()))


def test_the_command_exits_with_one_where_something_differs(tmp_path, capsys):
    trace = decode(load_pair("toy"), PROMPT)
    path = tmp_path / "t.json"
    trace.to_json(path)
    assert main(["replay", str(path)]) == 0
    assert "no differences" in capsys.readouterr().out
    data = json.loads(path.read_text())
    data["steps"][0]["drafts"][0]["coin"] += 0.001
    path.write_text(json.dumps(data))
    assert main(["replay", str(path)]) == 1
    assert "random number" in capsys.readouterr().out
