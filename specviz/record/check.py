"""Checking that an opened file has a trace's shape: pydantic finds what is not as `shape` has it, one sentence says where."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, cast

from specviz.errors import SpecVizError
from specviz.record.shape import FORMAT, VERSION, DraftCell, FinalCell, Step, TraceData, ids_of

if TYPE_CHECKING:
    from pydantic_core import SchemaValidator

LONGEST_VALUE = 60
KINDS = {"dict_type": "a record", "list_type": "a list"}
COLUMNS = ("p", "q", "p_raw", "q_raw", "q_low", "low")

Place = tuple[str | int, ...]  # the names and indices that lead there


def checked(data: object) -> TraceData:
    """Return what a JSON file held if it is a trace, else raise SpecVizError: whatever reads it later may rely on it."""
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise SpecVizError("This is not a SpecViz trace: the JSON has no format “specviz-trace”.")
    version = data.get("version")
    if type(version) is not int or version != VERSION:
        newer = type(version) is int and version > VERSION
        advice = "update SpecViz to open it" if newer else f"this SpecViz reads version {VERSION}"
        raise SpecVizError(f"The trace is of version {_shown(version)}: {advice}.")
    trace = checked_shape(data)
    _check_distributions(trace)
    _check_ids(trace)
    return trace


def checked_shape(data: object) -> TraceData:
    """Return data as it is, more fields than a trace's included, if it has a trace's shape; else raise SpecVizError.

    A trace opened from CSV has it too.
    """
    from pydantic_core import ValidationError

    _check_texts(data)
    try:
        _shape().validate_python(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        raise SpecVizError(_sentence(first["type"], first["loc"], first["input"])) from None
    trace = cast(TraceData, data)  # and not what pydantic returns: a copy without the other fields
    _check_steps(trace)
    _check_costs(trace)
    return trace


@cache
def _shape() -> SchemaValidator:
    """Return pydantic's reading of `TraceData`: no type taken for another, no number that is not finite.

    pydantic is imported here, by whoever opens a file, so that nobody else waits for it. A list is given up at its first
    fault: a sentence has room for one, a large file for a million.
    """
    from pydantic import ConfigDict, TypeAdapter
    from pydantic_core import SchemaValidator

    # A TypedDict by itself would have to bring its own configuration; in a union it takes this one.
    schema = TypeAdapter(TraceData | None, config=ConfigDict(strict=True, allow_inf_nan=False)).core_schema
    _give_up_early(schema)
    return SchemaValidator(schema)


def _give_up_early(schema: object) -> None:
    if isinstance(schema, dict):
        if schema.get("type") == "list":
            schema["fail_fast"] = True
        for inner in schema.values():
            _give_up_early(inner)
    elif isinstance(schema, list):
        for inner in schema:
            _give_up_early(inner)


def _check_texts(data: object) -> None:
    """Check the tokens' texts: pydantic gives up a list at its first fault, but no dictionary."""
    tokens = data.get("tokens") if isinstance(data, dict) else None
    for token, text in tokens.items() if isinstance(tokens, dict) else ():
        if not isinstance(text, str):
            raise SpecVizError(
                f"The trace is damaged: in its tokens, the text of {_shown(token)} is {_shown(text)}."
            )


# --- what may still be wrong where every type is right ----------------------------------------------------------------


def _check_steps(trace: TraceData) -> None:
    """Check that each step has its k drafts, an examined draft its figures, and a column an entry for each id."""
    for index, step in enumerate(trace["steps"]):
        if step["k"] != len(step["drafts"]):
            raise SpecVizError(
                f"The trace is damaged: step {index + 1} says k {step['k']} but has {len(step['drafts'])} drafts."
            )
        for number, draft in enumerate(step["drafts"]):
            if draft["state"] != "discarded":
                _check_there(draft, ("coin", "overlap", "mass"), ("steps", index, "drafts", number))
        for at, cell in _cells(step, index):
            if cell["row"] is not None:
                _check_columns(cell["row"], len(cell["row"]["ids"]), (*at, "row"))


def _check_columns(row: Mapping[str, object], count: int, at: Place) -> None:
    for name in COLUMNS:
        column = row.get(name)
        if isinstance(column, list) and len(column) != count:
            raise SpecVizError(
                f"The trace is damaged: {_name((*at, name))} has {len(column)} entries for {count} ids."
            )


def _check_costs(trace: TraceData) -> None:
    rows = 1 + max((step["k"] for step in trace["steps"]), default=0)
    if trace["costs"] is not None and len(trace["costs"]["target_ms"]) < rows:
        raise SpecVizError(f"The trace is damaged: target_ms of its costs says nothing of {rows} rows.")


def _check_distributions(trace: TraceData) -> None:
    """Check that all is there that a CSV does not hold."""
    for index, step in enumerate(trace["steps"]):
        for at, cell in _cells(step, index):
            _check_there(cell, ("low", "high", "p"), at)
            if "u_draft" in cell:
                _check_there(cell, ("row",), at)


def _check_there(cell: Mapping[str, object], names: tuple[str, ...], at: Place) -> None:
    for name in names:
        if cell[name] is None:
            raise SpecVizError(_sentence("none", (*at, name), None))


def _cells(step: Step, index: int) -> Iterator[tuple[Place, DraftCell | FinalCell]]:
    """Yield the cells of a step and where they stand."""
    for number, draft in enumerate(step["drafts"]):
        yield ("steps", index, "drafts", number), draft
    for name, final in (("final", step["final"]), ("extra", step["extra"])):
        if final is not None:
            yield ("steps", index, name), final


def _check_ids(trace: TraceData) -> None:
    for token in [*trace["token_ids"], *trace["prompt"]["ids"], *ids_of(trace["steps"])]:
        if str(token) not in trace["tokens"]:
            raise SpecVizError(f"The trace is damaged: the token {_shown(token)} has no text in it.")


# --- sentences --------------------------------------------------------------------------------------------------------


def _sentence(fault: str, at: Place, value: object) -> str:
    """Return what is wrong at a place, in one sentence.

    >>> _sentence("missing", ("steps", 2, "totals"), {})
    'The trace is cut short or damaged: step 3 lacks totals.'
    >>> _sentence("int_type", ("settings", "k"), "x")
    "The trace is damaged: k of its settings is 'x'."
    >>> _sentence("float_type", ("steps", 0, "drafts", 1, "row", "p", 7), True)
    'The trace is damaged: there is True in p of row of draft 2 of step 1.'
    """
    if fault == "missing" and isinstance(at[-1], str):
        return f"The trace is cut short or damaged: {_name(at[:-1])} lacks {at[-1]}."
    if fault in KINDS:
        return f"The trace is damaged: {_name(at)} must be {KINDS[fault]}, not {_shown(value)}."
    if isinstance(at[-1], int):
        while isinstance(at[-1], int):
            at = at[:-1]
        return f"The trace is damaged: there is {_shown(value)} in {_name(at)}."
    return f"The trace is damaged: {_name(at)} is {_shown(value)}."


def _name(at: Place) -> str:
    """Return what a place is called.

    >>> _name(("steps", 2, "drafts", 0, "row", "p"))
    'p of row of draft 1 of step 3'
    """
    match at:
        case ():
            return "the trace"
        case (name,):
            return f"its {name}"
        case ("steps", int(index)):
            return f"step {index + 1}"
        case (*above, "drafts", int(index)):
            return f"draft {index + 1} of {_name(tuple(above))}"
        case (*above, name):
            return f"{name} of {_name(tuple(above))}"
    raise AssertionError(at)


def _shown(value: object) -> str:
    return reprlib.repr(value)[:LONGEST_VALUE]
