"""The record's two files: both open again, and hold what they say."""

import dataclasses
import io
import json
import math

import pandas as pd
import pytest

from specviz import Sampling, SpecVizError, Trace, autoregress, decode, load_pair, measure_costs, resume
from specviz.record.csv import COLUMNS
from specviz.record.metrics import speedups

HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "=1+1",
    "NA",
    "",
    "nan",
    " ",
    "\n",
    '"',
    "a,b",
    "\u202eabc",
    "\udcf0",
    "\udc9f",
    "😀",
]


@pytest.fixture(scope="module")
def pair():
    return load_pair("toy")


@pytest.fixture(scope="module")
def trace(pair):
    return decode(
        pair,
        "1 15 42",
        k=4,
        max_new_tokens=40,
        label="=cmd|' /C calc'!A0",
        baseline=autoregress(pair.target, "1 15 42"),
    )


@pytest.fixture(scope="module")
def hostile(pair):
    texts = [text.encode("utf-8", errors="surrogateescape") for text in HOSTILE]
    pieces = lambda token: texts[token % len(texts)]  # noqa: E731
    return decode(
        dataclasses.replace(pair, target=dataclasses.replace(pair.target, pieces=pieces)),
        "1 15 42",
        max_new_tokens=40,
    )


def read(trace):
    return pd.read_csv(io.StringIO(trace.to_csv()))


def test_json_opens_again_as_the_same_trace(trace, tmp_path):
    path = tmp_path / "t.json"
    text = trace.to_json(path)
    assert Trace.from_json(path).data == Trace.from_json(text).data == trace.data
    assert text.isascii()
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("step", [1, 2])
def test_a_branch_opens_again_whatever_its_prompt_was(pair, step):
    trace = decode(pair, list(range(100)), k=2, max_new_tokens=12)  # more ids than stand in a step
    branch = resume(pair, trace, step=step, position=1, purpose="draft", u=0.5)
    assert Trace.from_json(branch.to_json()).data == branch.data


def test_csv_opens_again_as_the_same_grid(trace, tmp_path):
    path = tmp_path / "t.csv"
    trace.to_csv(path)
    again = Trace.from_csv(path)
    assert not again.has_distributions
    assert again.token_ids == trace.token_ids
    assert again.text == trace.text
    assert again.data["settings"]["label"] == trace.data["settings"]["label"]
    kept = ("id", "q", "coin", "state", "u_draft", "overlap", "mass")
    for ours, theirs in zip(trace.data["steps"], again.data["steps"], strict=True):
        assert [[draft[name] for name in kept] for draft in ours["drafts"]] == [
            [draft[name] for name in kept] for draft in theirs["drafts"]
        ]
        assert ours["totals"] == theirs["totals"]
        assert ours["final"]["kind"] == theirs["final"]["kind"]


def test_csv_is_one_row_a_cell_with_the_states_and_numbers_of_the_trace(trace):
    table = read(trace)
    assert list(table.columns) == list(COLUMNS)
    steps = trace.data["steps"]
    assert len(table) == sum(len(step["drafts"]) + 1 for step in steps)
    assert not table.duplicated(["run_id", "step", "position", "state"]).any()
    for state in ("accepted", "rejected", "discarded"):
        assert (table.state == state).sum() == sum(d["state"] == state for s in steps for d in s["drafts"])
    examined = table[table.state.isin(["accepted", "rejected"])]
    assert ((examined.coin * examined.p_draft < examined.p_target) == (examined.state == "accepted")).all()
    assert (examined.accept_prob == (examined.p_target / examined.p_draft).clip(upper=1)).all()
    residual = table[table.state == "residual"]
    assert (
        residual.draw_prob - (residual.p_target - residual.p_draft) / residual.residual_mass
    ).abs().max() < 1e-12
    assert table.fault.isna().all()


def test_calls_survive_both_files(trace):
    called = Trace(json.loads(trace.to_json()))
    drafts = [draft for step in called.data["steps"] for draft in step["drafts"]]
    for draft, call in zip(drafts, ["accept", "reject", None], strict=False):
        draft["call"] = call
    assert Trace.from_json(called.to_json()).data == called.data
    again = Trace.from_csv(called.to_csv())
    assert [draft["call"] for step in again.data["steps"] for draft in step["drafts"]] == [
        draft["call"] for draft in drafts
    ]
    table = read(called)
    assert table.call.dropna().tolist() == ["accept", "reject"]
    assert trace.data["steps"][0]["drafts"][0]["call"] is None


def test_what_does_not_exist_is_an_empty_cell(trace):
    table = read(trace)
    discarded, final = table[table.state == "discarded"], table[table.state.isin(["residual", "bonus"])]
    for column in (
        "p_target",
        "ratio",
        "accept_prob",
        "coin",
        "overlap",
        "residual_mass",
        "entropy_target",
        "output_index",
    ):
        assert discarded[column].isna().all(), column
    for column in ("ratio", "accept_prob", "coin"):
        assert final[column].isna().all(), column
    bonus = table[table.state == "bonus"]
    for column in ("p_draft", "overlap", "residual_mass", "entropy_draft"):
        assert bonus[column].isna().all(), column
    assert table.speedup_modelled.isna().all()
    assert "None" not in trace.to_csv()
    assert "nan" not in trace.to_csv().lower()


def test_the_text_is_rebuilt_from_the_rows(trace, hostile):
    for each in (trace, hostile):
        table = read(each)
        emitted = table[table.output_index.notna()].sort_values("output_index")
        assert emitted.output_index.tolist() == list(range(len(each.token_ids)))
        pieces = b"".join(
            json.loads(token).encode("utf-8", errors="surrogateescape") for token in emitted.token
        )
        assert pieces.decode("utf-8", errors="replace") == each.text


def test_no_token_is_code_for_a_spreadsheet_or_missing_for_pandas(hostile):
    table = read(hostile)
    assert table.token.notna().all()
    assert table.token.str.startswith('"').all()
    assert {json.loads(token) for token in table.token} <= set(HOSTILE)
    assert hostile.to_csv().isascii()


def test_running_totals_and_speedups_are_those_at_the_end_of_each_step(trace):
    last_rows = read(trace).groupby("step").last()
    assert last_rows.tokens_total.is_monotonic_increasing
    assert last_rows.tokens_total.iloc[-1] == len(trace.token_ids)
    assert last_rows.target_passes_total.tolist() == list(range(1, len(last_rows) + 1))
    assert (last_rows.tokens_per_pass == last_rows.tokens_total / last_rows.target_passes_total).all()
    early = last_rows.tokens_total < 8
    assert last_rows.speedup_measured[early].isna().all()
    assert last_rows.speedup_measured[~early].notna().all()


def test_runs_can_be_concatenated(trace, hostile):
    both = pd.concat([read(trace), read(hostile)])
    assert both.run_id.nunique() == 2
    with pytest.raises(SpecVizError, match="more than one run"):
        Trace.from_csv(trace.to_csv() + hostile.to_csv().split("\n", 1)[1])


def test_a_speedup_is_empty_without_costs_or_baseline_and_may_be_below_one(pair):
    costs = {"target_ms": [10.0] + [12.0] * 16, "draft_ms": 4.0, "rest_ms": 1.0}
    baseline = {"tokens": 8, "ms": 8e-9, "token_ids": [1] * 8}
    trace = decode(pair, "1 15 42", k=2, max_new_tokens=9, costs=costs, baseline=baseline)
    figures, spent = speedups(trace.data), 0.0
    for step, figure in zip(trace.data["steps"], figures, strict=True):
        spent += step["k"] * 0.4 + (1.2 if step["k"] else 1.0) + 0.1
        assert figure["speedup_modelled"] == pytest.approx(step["totals"]["tokens"] / spent)
    assert 0 < figures[-1]["speedup_measured"] < 1
    assert trace.metrics["speedup_modelled"] == figures[-1]["speedup_modelled"]
    ideal = sum(1 + 0.4 * step["k"] for step in trace.data["steps"])
    assert trace.metrics["speedup_ideal"] == pytest.approx(len(trace.token_ids) / ideal)


def test_costs_are_measured_for_every_number_of_rows(pair):
    costs = measure_costs(pair)
    assert len(costs["target_ms"]) == 17
    assert all(ms > 0 for ms in [*costs["target_ms"], costs["draft_ms"], costs["rest_ms"]])


def test_a_trace_holds_no_number_that_is_not_finite(trace):
    def numbers(value):
        if isinstance(value, dict):
            value = list(value.values())
        if isinstance(value, list):
            return [number for each in value for number in numbers(each)]
        return [value] if isinstance(value, float) else []

    found = numbers(trace.data)
    assert len(found) > 1000
    assert all(math.isfinite(number) for number in found)


def test_a_run_with_a_mistake_is_exported_as_json_only(trace):
    faulty = Trace(trace.data | {"settings": trace.data["settings"] | {"fault": "F1"}})
    with pytest.raises(SpecVizError, match="JSON only"):
        faulty.to_csv()
    assert Trace.from_json(faulty.to_json()).data["settings"]["fault"] == "F1"


# --- files that are no traces ------------------------------------------------------------------------------------------


def changed(trace, *path, to):
    data = json.loads(trace.to_json())
    target = data
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = to
    return json.dumps(data)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"a": 1}', "hello\nworld", '{"format": "specviz-trace"}', "\x00\x01\n"]
)
def test_what_is_no_trace_is_refused_in_a_sentence(text):
    with pytest.raises(SpecVizError, match=r"trace"):
        Trace.from_json(text if "\n" in text or text[:1] == "{" else text + "\n")


@pytest.mark.parametrize("opens", ["json", "csv"])
def test_a_trace_that_is_cut_short_anywhere_is_refused(trace, opens):
    text = trace.to_json() if opens == "json" else trace.to_csv()
    body = text.index("\n") + 1 if opens == "csv" else 1
    for end in [*range(body + 1, len(text), len(text) // 97), *range(len(text) - 60, len(text))]:
        if opens == "csv" and text[end - 1] == "\n":
            continue  # between two rows: see below
        with pytest.raises(SpecVizError, match=r"cut short|damaged"):
            (Trace.from_json if opens == "json" else Trace.from_csv)(text[:end])


def whole_steps(text):
    """Return after how many rows a CSV's steps end."""
    steps = pd.read_csv(io.StringIO(text)).step.tolist()
    return {row + 1 for row in range(len(steps) - 1) if steps[row] != steps[row + 1]}


def test_a_csv_that_is_cut_between_two_rows_of_a_step_is_refused_and_between_steps_is_a_shorter_run(trace):
    text = trace.to_csv()
    lines = text.splitlines(keepends=True)
    for rows in range(1, len(lines) - 1):
        shorter = "".join(lines[: rows + 1])
        if rows in whole_steps(text):
            assert (
                Trace.from_csv(shorter).token_ids == trace.token_ids[: len(Trace.from_csv(shorter).token_ids)]
            )
        else:
            with pytest.raises(SpecVizError, match=r"cut short|damaged"):
                Trace.from_csv(shorter)


def test_a_trace_of_a_newer_version_says_what_to_do(trace):
    with pytest.raises(SpecVizError, match="update SpecViz"):
        Trace.from_json(changed(trace, "version", to=2))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("steps", 0, "drafts", 0, "p"), "high"),
        (("steps", 0, "drafts", 0, "row"), None),
        (("steps", 0, "drafts", 0, "id"), 4711),
        (("steps", 0, "totals", "tokens"), 1.5),
        (("steps", 0, "k"), 3),
        (("steps", 1), None),
        (("settings", "k"), True),
        (("settings", "draft"), {}),
        (("stop"), "never"),
        (("tokens", "1"), 1),
        (("token_ids",), "1 2"),
    ],
)
def test_a_damaged_trace_is_refused_with_the_place(trace, path, value):
    with pytest.raises(SpecVizError, match=r"damaged|cut short"):
        Trace.from_json(changed(trace, *((path,) if isinstance(path, str) else path), to=value))


def test_a_number_that_json_does_not_know_is_refused(trace):
    with pytest.raises(SpecVizError):
        Trace.from_json(trace.to_json().replace('"temperature":0.8', '"temperature":NaN'))


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", ",".join(COLUMNS) + "\n"])
def test_a_csv_that_is_no_trace_is_refused(text):
    with pytest.raises(SpecVizError, match=r"not a SpecViz trace|no step|can't be read"):
        Trace.from_csv(text)


def test_a_missing_file_and_a_place_that_cannot_be_written_are_named(trace, tmp_path):
    with pytest.raises(SpecVizError, match=r"nowhere\.json can't be read"):
        Trace.from_json(tmp_path / "nowhere.json")
    with pytest.raises(SpecVizError, match="can't be written"):
        trace.to_json(tmp_path / "no" / "t.json")
    with pytest.raises(SpecVizError, match="not a text file"):
        (tmp_path / "b.json").write_bytes(b"\xff\xfe\x00")
        Trace.from_json(tmp_path / "b.json")


def test_an_emoji_spread_over_tokens_is_one_in_the_text_and_bytes_in_the_cells(pair):
    parts = [bytes([byte]) for byte in "😀".encode()]
    pieces = lambda token: parts[token % 4]  # noqa: E731
    cells = dataclasses.replace(pair, target=dataclasses.replace(pair.target, pieces=pieces))
    trace = decode(cells, [0, 1], max_new_tokens=4, sampling=Sampling(1.0))
    expected = b"".join(parts[token % 4] for token in trace.token_ids).decode("utf-8", errors="replace")
    assert trace.text == expected
    assert {trace.data["tokens"][str(token)] for token in trace.token_ids} <= {
        chr(0xDC00 + byte) for byte in "😀".encode()
    }
