"""A trace's shape: whatever an opened file has that a trace has not is refused in one sentence, which says where.

The table of damages is made from the records in `shape`: a field that is added there is damaged here.
"""

import ast
import csv
import io
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import pytest
from pydantic_core import ValidationError
from typing_extensions import is_typeddict

from specviz import Sampling, SpecVizError, Trace, autoregress, decode, load_pair
from specviz.record import shape
from specviz.record.check import _shape as shape_in_pydantic
from specviz.record.check import checked
from specviz.record.csv import COLUMNS
from tests.unit.test_doubts import costs, with_race

ROOT = Path(__file__).resolve().parents[2]
COSTS = costs([1.0] * 17)
NAN, INFINITY = math.nan, math.inf
WRONG = {
    int: (None, True, 1.5, NAN, "1", [], {}),
    float: (None, True, NAN, INFINITY, -INFINITY, "0.5", [], {}),
    str: (None, True, 1, 0.5, [], {}),
    bool: (None, 1, 0.0, "true", [], {}),
    list: (None, True, 1, "12", {}),
    dict: (None, True, 1, "{}", []),
}


@pytest.fixture(scope="module")
def text():
    """The JSON of a run in which everything that a trace may hold exists."""
    pair = load_pair("toy")
    sampling = Sampling(1.2)
    trace = decode(
        pair, "1 15 42", k=4, max_new_tokens=30, sampling=sampling, seed=3, overrides={(2, 1, "accept"): 0.99},
        costs=COSTS, baseline=autoregress(pair.target, "1 15 42", max_new_tokens=8, sampling=sampling),
    )  # fmt: skip
    trace.data["baseline"]["timing"] = with_race(trace.data, 1.2)["baseline"]["timing"]
    steps = trace.data["steps"]
    bonus = next(step["final"] for step in steps if step["final"]["kind"] == "bonus")
    next(step for step in steps if step["drafts"][0]["state"] == "rejected")["extra"] = bonus
    trace.data["parent"] = "another"
    states = {draft["state"] for step in steps for draft in step["drafts"]}
    assert states == {"accepted", "rejected", "discarded"}
    return trace.to_json()


@pytest.fixture
def data(text):
    return json.loads(text)


# --- the table --------------------------------------------------------------------------------------------------------


class Place(NamedTuple):
    """One field of one record in a trace, or one place of a list: where it is, and what may stand there."""

    record: str
    field: str
    holder: Any
    key: Any
    kind: Any

    @property
    def kinds(self) -> tuple[Any, ...]:
        return get_args(self.kind) if get_origin(self.kind) in (Union, UnionType) else (self.kind,)


def bare(kind: Any) -> Any:
    return get_args(kind)[0] if get_origin(kind) in (Annotated, NotRequired) else kind


def places(record: Any, kind: Any) -> Iterator[Place]:
    """Yield every field in a record and in those below it, and the last place of every list."""
    for field, its_kind in get_type_hints(kind).items():
        if field in record:
            place = Place(kind.__name__, field, record, field, bare(its_kind))
            yield place
            yield from below(place)


def below(place: Place) -> Iterator[Place]:
    value = place.holder[place.key]
    for kind in place.kinds:
        if is_typeddict(kind) and value is not None:
            yield from places(value, kind)
        elif get_origin(kind) is list and value:
            inner = get_args(kind)[0]
            last = len(value) - 1
            for index in range(len(value)) if is_typeddict(inner) else (last,):
                each = place._replace(holder=value, key=index, kind=bare(inner))
                yield each
                yield from below(each)
        elif get_origin(kind) is dict and value:
            yield place._replace(holder=value, key=max(value), kind=get_args(kind)[1])


def wrong_for(place: Place) -> Iterator[Any]:
    """Yield values that may not stand at a place."""
    if get_origin(place.kind) is Literal:
        yield from (None, True, 0, "", "never", [], {})
        return
    if place.kinds == (int, str, float):  # a place of an override, whose last is a number
        yield from WRONG[float]
        return
    allowed = {dict if is_typeddict(kind) else get_origin(kind) or kind for kind in place.kinds}
    if Literal in allowed:
        yield from (True, 0, "", "never", [], {})
        return
    (own,) = allowed - {NoneType}
    yield from (value for value in WRONG[own] if not (value is None and NoneType in allowed))


def first_of_each(data: Any) -> list[Place]:
    """Return every kind of place once, a residual's and a bonus's apart."""
    found: dict[Any, Place] = {}
    for place in places(data, shape.TraceData):
        cell = place.holder if isinstance(place.holder, dict) else {}
        is_missing = isinstance(place.holder, dict) and place.holder[place.key] is None
        found.setdefault(
            (*place[:2], str(place.kind), is_missing, cell.get("kind"), cell.get("state")), place
        )
    return list(found.values())


def refusal(data: Any) -> str:
    """Return the sentence with which data is refused, empty where it is not."""
    try:
        checked(data)
    except SpecVizError as error:
        return str(error)
    return ""


def is_clear(sentence: str, field: str) -> bool:
    begins = sentence.startswith(("The trace is ", "This is not a SpecViz trace"))
    return (
        begins
        and field.removesuffix("s") in sentence
        and sentence.endswith(".")
        and "\n" not in sentence
        and len(sentence) < 200
    )


def unclear(data: Any, change: Callable[[Place], Iterator[Callable[[], None]]]) -> list[str]:
    """Make every change at every place, one at a time; return those that were not refused in a clear sentence."""
    found = []
    for place in first_of_each(data):
        before = dict(place.holder) if isinstance(place.holder, dict) else list(place.holder)
        for make in change(place):
            make()
            sentence = refusal(data)
            if not is_clear(sentence, place.field):
                now = (
                    place.holder[place.key]
                    if not isinstance(place.holder, dict)
                    else place.holder.get(place.key, "missing")
                )
                found.append(f"{place.record}.{place.field} {now!r}: {sentence!r}")
            if isinstance(before, dict):
                place.holder.update(before)
            else:
                place.holder[:] = before
    assert refusal(data) == ""
    return found


def test_the_table_knows_every_field_of_every_record(data):
    met = {(place.record, place.field) for place in first_of_each(data)}
    records = [each for each in vars(shape).values() if is_typeddict(each) and each is not shape.TypedDict]
    inherited = {"ExaminedColumns", "Drawn", "Outcome"}  # what others are made of
    assert met == {
        (each.__name__, field)
        for each in records
        for field in get_type_hints(each)
        if each.__name__ not in inherited
    }


def test_no_wrong_value_is_taken_for_a_right_one(data):
    def changes(place: Place) -> Iterator[Callable[[], None]]:
        for value in wrong_for(place):
            yield lambda value=value: place.holder.__setitem__(place.key, value)

    assert unclear(data, changes) == []


def test_no_field_may_be_missing_but_those_that_need_not_be_there(data):
    may_be_missing = {
        ("SideWeights", "cache"),
        ("StepMs", "waited"),
        ("Costs", "timing"),
        ("Baseline", "timing"),
        *(("DraftRow", name) for name in get_type_hints(shape.ExaminedColumns)),
    }

    def changes(place: Place) -> Iterator[Callable[[], None]]:
        if (
            isinstance(place.holder, dict)
            and (place.record, place.field) not in may_be_missing
            and place.key == place.field
        ):
            yield lambda: place.holder.pop(place.key)

    assert unclear(data, changes) == []


def test_a_draft_that_was_examined_has_its_figures_and_what_a_csv_lacks_is_there(data):
    def changes(place: Place) -> Iterator[Callable[[], None]]:
        needed = {"FinalCell": ("low", "high", "p"), "DraftCell": ("low", "high", "p", "row")}.get(
            place.record, ()
        )
        if place.record == "DraftCell" and place.holder["state"] != "discarded":
            needed = (*needed, "coin", "overlap", "mass")
        if place.field in needed:
            yield lambda: place.holder.__setitem__(place.key, None)

    assert unclear(data, changes) == []


def test_a_column_has_an_entry_for_each_id(data):
    def changes(place: Place) -> Iterator[Callable[[], None]]:
        column = place.holder[place.key]
        if place.record.endswith("Row") and place.key == place.field != "ids" and isinstance(column, list):
            yield lambda: place.holder.__setitem__(place.key, column[:-1])

    assert unclear(data, changes) == []


# --- single sentences -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        (("settings", "k"), "x", "The trace is damaged: k of its settings is 'x'."),
        (("settings", "draft"), {}, "The trace is cut short or damaged: draft of its settings lacks kind."),
        (("settings", "draft", "kind"), "guess", "The trace is damaged: kind of draft of its settings is 'guess'."),
        (("settings", "overrides"), [[1]], "The trace is damaged: there is [1] in overrides of its settings."),
        (("settings", "overrides"), [[1, 1, "throw", 0.5]], "The trace is damaged: there is 'throw' in overrides of its settings."),
        (("weights",), None, "The trace is damaged: its weights must be a record, not None."),
        (("steps", 1), [], "The trace is damaged: step 2 must be a record, not []."),
        (("steps", 2), {"step": 3}, "The trace is cut short or damaged: step 3 lacks k."),
        (("steps", 2, "drafts", 1, "row", "p", 0), "1", "The trace is damaged: there is '1' in p of row of draft 2 of step 3."),
        (("steps", 2, "k"), 7, "The trace is damaged: step 3 says k 7 but has 4 drafts."),
        (("costs", "target_ms"), [1.0, 1.0], "The trace is damaged: target_ms of its costs says nothing of 5 rows."),
        (("tokens",), {}, r"The trace is damaged: the token \d+ has no text in it."),
        (("tokens",), {"1": None}, "The trace is damaged: in its tokens, the text of '1' is None."),
        (("stop",), "never", "The trace is damaged: its stop is 'never'."),
        (("stop",), "x" * 10_000, "The trace is damaged: its stop is 'xxxxxxxxxxxx...xxxxxxxxxxxxx'."),
        (("version",), True, "The trace is of version True: this SpecViz reads version 1."),
        (("version",), 2, "The trace is of version 2: update SpecViz to open it."),
        (("format",), None, "This is not a SpecViz trace: the JSON has no format “specviz-trace”."),
    ],
)  # fmt: skip
def test_a_sentence_says_what_is_wrong_and_where(data, path, value, sentence):
    holder = data
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    with pytest.raises(SpecVizError, match=f"^{sentence}$" if "\\d" in sentence else None) as refused:
        checked(data)
    assert str(refused.value) == sentence or "\\d" in sentence
    assert (
        refused.value.__context__ is None or refused.value.__suppress_context__
    )  # nobody sees pydantic's own words


@pytest.mark.parametrize("data", [None, [], "", 0, True])
def test_what_is_no_record_at_all_is_no_trace(data):
    assert is_clear(refusal(data), "format")


def test_a_number_too_large_to_be_finite_and_nesting_without_end_are_refused(text):
    with pytest.raises(SpecVizError, match="temperature of its settings is inf"):
        Trace.from_json(text.replace('"temperature":1.2', '"temperature":1e999'))
    with pytest.raises(SpecVizError, match="temperature of its settings is 1000"):
        Trace.from_json(text.replace('"temperature":1.2', f'"temperature":1{"0" * 400}'))
    for depth in (100, 900, 100_000):
        with pytest.raises(SpecVizError, match="trace"):
            Trace.from_json(text.replace('"temperature":1.2', f'"temperature":{"[" * depth}{"]" * depth}'))


def test_a_list_is_given_up_at_its_first_fault(data):
    data["steps"][0]["drafts"][0]["row"]["p"] = [""] * 10_000
    assert is_clear(refusal(data), "p of row of draft 1 of step 1")
    with pytest.raises(ValidationError) as found:
        shape_in_pydantic().validate_python(data)
    assert found.value.error_count() == 1  # and not so many that a large file fills the memory
    data["tokens"] = dict.fromkeys(map(str, range(10_000)), 0)
    assert refusal(data) == "The trace is damaged: in its tokens, the text of '0' is 0."


# --- what is accepted -------------------------------------------------------------------------------------------------


def test_other_fields_are_accepted_everywhere_and_stay(data):
    for place in list(places(data, shape.TraceData)):
        value = place.holder[place.key]
        if isinstance(value, dict) and place.field != "tokens":
            value["of a later version"] = [None]
    data["another"] = {}
    assert checked(data) is data
    assert data["another"] == {} and data["steps"][0]["drafts"][0]["row"]["of a later version"] == [None]


def test_a_whole_number_may_stand_for_any_other_and_a_lone_surrogate_for_a_byte(data):
    count = 0
    for place in list(places(data, shape.TraceData)):
        value = place.holder[place.key]
        if isinstance(value, float):
            place.holder[place.key], count = round(value), count + 1
    data["settings"]["label"] = data["prompt"]["text"] = data["tokens"]["1"] = "\udcf0"
    assert count > 100
    assert checked(data) is data


def test_every_recorded_run_opens_as_it_is():
    paths = [path for path in (ROOT / "assets" / "gallery").glob("*.json") if path.stem != "index"]
    assert len(paths) > 5
    for path in paths:
        assert Trace.from_json(path).data == json.loads(path.read_text())


def test_a_csv_has_the_same_shape_and_what_has_not_is_refused(text):
    trace = Trace.from_json(text)
    for step in trace.data["steps"]:
        step["extra"] = None
    lines = trace.to_csv().splitlines()
    assert Trace.from_csv("\n".join(lines) + "\n").token_ids

    def damaged(column: str, value: str) -> str:
        row = next(number for number, line in enumerate(lines) if ",accepted," in line)
        cells = next(csv.reader([lines[row]]))
        cells[COLUMNS.index(column)] = value
        written = io.StringIO()
        csv.writer(written, lineterminator="").writerow(cells)
        return "\n".join([*lines[:row], written.getvalue(), *lines[row + 1 :]]) + "\n"

    assert Trace.from_csv(damaged("call", "accept")).token_ids
    for column, value in (
        ("p_draft", "nan"),
        ("coin", "inf"),
        ("call", "perhaps"),
        ("overlap", ""),
        ("verify_ms", "1e999"),
    ):
        with pytest.raises(SpecVizError, match="CSV is cut short or damaged"):
            Trace.from_csv(damaged(column, value))


def test_pydantic_is_imported_by_nobody_who_opens_no_file():
    for path in (ROOT / "specviz").rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        at_once = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
        names = {alias.name for node in at_once for alias in node.names} | {
            getattr(node, "module", None) or "" for node in at_once
        }
        assert not {name for name in names if name.split(".")[0] in ("pydantic", "pydantic_core")}, path
