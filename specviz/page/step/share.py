"""What a visitor takes away: the run on screen as CSV, JSON or HTML, with a label and the calls of predict mode."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any
from uuid import uuid4

from specviz import Trace
from specviz.errors import SpecVizError
from specviz.page.gallery import entry_of
from specviz.page.settings import one_of
from specviz.page.step.files import message_in, named_run
from specviz.record.html import as_json, to_html
from specviz.record.shape import Call, DraftCell, RunSettings, Step

MAX_CHARACTERS = 16_000_000
MAX_LABEL = 60
MAX_QUERY = 4000
TOO_LARGE = "The run on screen is too large to be sent for a file: run a shorter one."
UNREADABLE = "Which file was wanted could not be read: press the button again."
CALLS: dict[str, Call] = {"accept": "accept", "reject": "reject"}
TYPES = {"csv": "text/csv", "json": "application/json", "html": "text/html"}


def export(asked: object, kept: Trace | None) -> str:
    """Return a file as the message {name, type, text, nonce}; raises SpecVizError.

    `asked` is a record {kind: csv|json|html, label, calls: [[step, position, accept|reject]], query} and where the run
    is, see `named_run`. `query` is the link's, for where the HTML file opens.
    """
    data = message_in(asked, MAX_CHARACTERS, TOO_LARGE, UNREADABLE)
    kind = one_of("kind of file", data.get("kind"), TYPES)
    trace = signed(named_run(data, kept), data.get("label"), data.get("calls"))
    try:
        text = _text(trace, kind, data)
    except (LookupError, TypeError, ValueError, ArithmeticError):
        raise SpecVizError("The run on screen is damaged: its numbers can't be written.") from None
    return as_json(
        {
            "name": f"{file_name(trace)}.{kind}",
            "type": f"{TYPES[kind]};charset=utf-8",
            "text": text,
            "nonce": uuid4().hex,
        }
    )


def refused(why: str) -> str:
    """Return the message that there is no file."""
    return as_json({"error": why, "nonce": uuid4().hex})


def _text(trace: Trace, kind: str, data: Mapping[str, Any]) -> str:
    if kind == "csv":
        return trace.to_csv()
    if kind == "json":
        return trace.to_json()
    recorded = data.get("recorded")
    about = {**asdict(entry_of(recorded)), "first": False} if isinstance(recorded, str) else None
    return to_html(trace.data, query=str(data.get("query", ""))[:MAX_QUERY], recorded=about)


def signed(trace: Trace, label: object, calls: object) -> Trace:
    """Return a trace with a name or group as its label, and with what its reader called, where there is any."""
    settings = trace.data["settings"]
    signed_settings: RunSettings = {**settings, "label": clean_label(label) or settings["label"]}
    called = {(step, position): call for step, position, call in _calls(calls)}
    steps = [_called(step, called) for step in trace.data["steps"]] if called else trace.data["steps"]
    return Trace({**trace.data, "settings": signed_settings, "steps": steps})


def clean_label(label: object) -> str:
    """Return a label on one line and not too long; what it says is its writer's business."""
    words = re.sub(
        r"[\x00-\x1f\x7f-\x9f\s\u2028\u2029\ud800-\udfff]+", " ", label if isinstance(label, str) else ""
    )
    return words.strip()[:MAX_LABEL].strip()


def _calls(calls: object) -> Iterable[tuple[int, int, Call]]:
    for each in calls if isinstance(calls, list) else ():
        if (
            not isinstance(each, list)
            or [type(value) for value in each] != [int, int, str]
            or each[2] not in CALLS
        ):
            raise SpecVizError("What was predicted could not be read: reload the page and predict again.")
        yield each[0], each[1], CALLS[each[2]]


def _called(step: Step, called: Mapping[tuple[int, int], Call]) -> Step:
    drafts: list[DraftCell] = [
        {**draft, "call": called.get((step["step"], position), draft["call"])}
        for position, draft in enumerate(step["drafts"], start=1)
    ]
    return {**step, "drafts": drafts}


def file_name(trace: Trace) -> str:
    """Return a file's name that says whose run it is and what was run, a deliberate mistake included, of letters, digits and harmless signs."""
    settings = trace.data["settings"]
    label = re.sub(r"[\W_]+", "_", settings["label"])[:MAX_LABEL].strip("_")
    mistake = f"-MISTAKE-{settings['fault']}" if settings["fault"] else ""
    run = f"{settings['pair']}{mistake}-k{settings['k']}-t{settings['temperature']:g}-seed{settings['seed']}-{trace.data['run_id']}"
    return "-".join(filter(None, ("specviz", label, re.sub(r"[^A-Za-z0-9.-]+", "_", run))))
