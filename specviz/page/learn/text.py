"""The text of the tab "Learn": read from `assets/learn/`, its figures computed, its links checked, as plain data to draw.

A line of text may hold **bold**, *slanted*, {figure} and [words](link). Figures come from the recorded runs and from the
library's functions and are never typed in: `{opening.tokens_per_pass}`, `{opening@2.3.q}`, `{bias resample-from-p}`; `|%`
after one makes it a percentage. Links (`read_link`) light up a part of the page, or set the page up for an experiment.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl

from specviz import Trace, theory
from specviz.bundle import ASSETS, text_of
from specviz.decoding.rules import EXACT
from specviz.errors import SpecVizError
from specviz.exactness.faults import FAULTS, HOT, fault_named
from specviz.exactness.one_step import check_table, first_token, position_of_toy
from specviz.exactness.throws import check_trials
from specviz.models.catalogue import OWN_DRAFT
from specviz.models.trimmed import known_ids, vocabulary_size
from specviz.page.calculator import DEFAULTS as CALCULATOR
from specviz.page.calculator import FIELDS, Setup, setup_of
from specviz.page.choices import IDS
from specviz.page.controls import NAMES
from specviz.page.gallery import entry_of, open_recorded
from specviz.page.link import EXACTNESS_SOURCES
from specviz.page.settings import one_of
from specviz.record.html import as_json
from specviz.record.shape import known
from specviz.record.text import written
from specviz.speed import hardware

FOLDER = ASSETS / "learn"
TARGET_70B = hardware.Model(70e9, 16)
MACHINES = {"H100": "NVIDIA H100 SXM", "B200": "NVIDIA B200"}
SHOWN = (
    "cells", "final", "q", "p", "bracket", "ruler", "discarded", "balance", "lanes", "bar", "fold", "k", "temperature",
)  # fmt: skip
LABS = ("exactness", "speed", "hardware")

Data = dict[str, Any]


# --- figures ----------------------------------------------------------------------------------------------------------


def figure(text: str) -> str:
    """Return a figure of the text as it is printed; raises SpecVizError for a name that stands for none."""
    name, _, form = text.partition("|")
    value = _value(name.strip())
    if isinstance(value, str):
        return value
    if form == "%":
        return f"{100 * value:.0f} %"
    return f"{value:,}" if isinstance(value, int) else _decimals(value)


def _decimals(value: float) -> str:
    """Write two decimals, more digits below a hundredth and right below 1, one above ten."""
    if value >= 10:
        return f"{value:.1f}"
    if 0.995 <= value < 1:
        return written(value)[0]
    return f"{value:.2f}" if value >= 0.01 or value == 0 else f"{value:.1g}"


def _value(name: str) -> Any:
    word, *numbers = name.split()
    if word in FORMULAS:
        return FORMULAS[word](*numbers)
    run, at, place = name.partition("@")
    if at:
        step, position, key = place.split(".")
        return _of_draft(run, int(step), int(position), key)
    run, _, key = name.partition(".")
    return vocabulary_size(OWN_DRAFT) if run == "draft" else _of_run(run, key)


@lru_cache(maxsize=16)
def _run(name: str) -> tuple[Trace, dict[str, Any]]:
    trace = open_recorded(name)
    return trace, trace.metrics


def _of_run(name: str, key: str) -> Any:
    trace, metrics = _run(name)
    k = trace.data["settings"]["k"]
    if key == "rows":
        return k + 1
    if key == "unknown":
        sayable = known_ids(OWN_DRAFT)
        return sum(token not in sayable for token in trace.token_ids)
    if key in ("c", "v"):
        costs = known(trace.data["costs"])
        return (costs["draft_ms"] if key == "c" else costs["target_ms"][k]) / costs["target_ms"][0]
    if metrics.get(key) is None:
        raise SpecVizError(f"The recorded run {name} has no figure {key!r}.")
    return metrics[key]


def _of_draft(name: str, step: int, position: int, key: str) -> Any:
    trace, _ = _run(name)
    draft = trace.data["steps"][step - 1]["drafts"][position - 1]
    fields: Mapping[str, object] = draft
    special: dict[str, Callable[[], object]] = {
        "token": lambda: f"“{trace.data['tokens'][str(draft['id'])].strip()}”",
        "chance": lambda: min(1.0, known(draft["p"]) / draft["q"]),
        "verdict": lambda: {"accepted": "kept", "rejected": "rejected"}[draft["state"]],
    }
    return special[key]() if key in special else fields[key]


def _machine(name: str) -> hardware.Machine:
    return next(machine for machine in hardware.MACHINES if machine.name == MACHINES[name])


# What the tab "Hardware" shows for an experiment's fields, written as in a link: `{calculator gain hw-batch=64}`.
CALCULATED: Mapping[str, Callable[[Setup], float]] = {
    "gain": lambda setup: setup.gain(setup.k),
    "best": lambda setup: setup.gain(setup.best_k()),
    "best-k": lambda setup: setup.best_k(),
    "plain": lambda setup: setup.plain,
    "c": lambda setup: setup.draft_cost,
    "free": lambda setup: round(setup.free_rows),
    "operations": lambda setup: setup.operations_factor,
    "memory": lambda setup: setup.held / 1e9,
    "draft": lambda setup: setup.draft.bytes / 1e9,
    "cache": lambda setup: setup.cached * setup.target.cache / 1e9,
}


def _calculated(what: str, fields: str = "") -> float:
    return CALCULATED[what](setup_of(dict(parse_qsl(fields))))


@lru_cache(maxsize=1)
def _held_out() -> dict[str, float]:
    """Return the draft's mean overlap on the held-out prompts, by their kind and over all."""
    found = json.loads(text_of(ASSETS / "draft" / "held-out.json"))
    return {kind: each["overlap"] for kind, each in found["kinds"].items()}


def _learned(millions: str, field: str) -> str:
    """Return what the draft's log says of its overlap at its last evaluation within so many million tokens of training."""
    log = [json.loads(line) for line in text_of(ASSETS / "draft" / "log.jsonl").splitlines()]
    return f"{[each[field] for each in log if each['tokens'] <= float(millions) * 1e6][-1]:.3f}"


FORMULAS: Mapping[str, Callable[..., Any]] = {
    "learned": lambda millions: _learned(millions, "overlap_0.8"),
    "learned-train": lambda millions: _learned(millions, "train_overlap"),
    "held_out": lambda kind: f"{_held_out()[kind]:.3f}",
    "bias": lambda fault: check_table(fault_named(fault)).bias,
    "harmless": lambda: sum(fault.exact for fault in FAULTS.values()),
    "kept": lambda agreement: float(
        first_token(position_of_toy(IDS[0], float(agreement), HOT), EXACT).kept.sum()
    ),
    "tokens": lambda alpha, k: theory.expected_tokens(float(alpha), int(k)),
    "drafted": lambda alpha, k: (theory.expected_tokens(float(alpha), int(k)) - 1) / int(k),
    "passes": lambda alpha, k: 100 / theory.expected_tokens(float(alpha), int(k)),
    "reached": lambda alpha, place: float(alpha) ** (int(place) - 1),
    "speedup": lambda alpha, k, c, v=1: theory.speedup(float(alpha), int(k), float(c), float(v)),
    "operations": lambda alpha, k, c: theory.operations_factor(float(alpha), int(k), float(c)),
    "ceiling": lambda alpha: 1 / (1 - float(alpha)),
    "calculator": _calculated,
    "memory": lambda name: round(known(_machine(name).memory) / 1e9),
    "bandwidth": lambda name: f"{_machine(name).bytes_per_s / 1e12:g}",
    "rate": lambda name: hardware.plain_tokens_per_s(_machine(name), TARGET_70B),
}


# --- links ------------------------------------------------------------------------------------------------------------


def read_link(target: str) -> Data:
    """Return what a link does, checked; raises SpecVizError for one that leads nowhere.

    show:NAME outlines a part of the page. run:NAME@BEAT goes to a beat of a recorded run. set:K=V;K=V sets controls and
    runs nothing. exact:SOURCE/FAULT/TRIALS, or …/NAME@BEAT to stand at a recorded position first, switches the exactness
    lab. lab:NAME?ID=V opens a lab with fields set, `press` being a button. https://… leads away.
    """
    kind, _, rest = target.partition(":")
    if kind not in LINKS:
        raise SpecVizError(f"There is no link of the kind {kind!r}: choose one of {', '.join(LINKS)}.")
    return {"kind": kind, **LINKS[kind](rest)}


def _show(name: str) -> Data:
    return {"show": one_of("part of the page", name, SHOWN)}


def _run_link(rest: str) -> Data:
    name, _, beat = rest.partition("@")
    return {"recorded": entry_of(name).name, "beat": beat}


def _set_link(rest: str) -> Data:
    values = dict(part.split("=", 1) for part in rest.split(";"))
    for name in values:
        one_of("control", name, NAMES)
    return {"values": values}


def _exact_link(rest: str) -> Data:
    path, _, query = rest.partition("?")
    source, fault, trials, *place = path.split("/")
    how = fault_named(fault).sampling if fault else HOT
    ask = {
        "source": one_of("source", source, EXACTNESS_SOURCES),
        "fault": fault or None,
        "trials": check_trials(int(trials)),
        "toy": {"temperature": how.temperature, "top_k": how.top_k} | {name: float(value) for name, value in parse_qsl(query)},
    }  # fmt: skip
    return {"ask": ask} | (_run_link(place[0]) if place else {})


def _lab_link(rest: str) -> Data:
    name, _, query = rest.partition("?")
    fields = dict(parse_qsl(query))
    press = fields.pop("press", None)
    if name == "hardware" and fields:
        # An experiment is the whole calculator: no number stays from another one, or from the run on screen.
        setup_of(fields)
        fields = {field: f"{CALCULATOR[key]:g}" for field, key in FIELDS.items()} | fields
    return {"lab": one_of("lab", name, LABS), "press": press, "fields": fields}


LINKS: Mapping[str, Callable[[str], Data]] = {
    "show": _show,
    "run": _run_link,
    "set": _set_link,
    "exact": _exact_link,
    "lab": _lab_link,
    "https": lambda rest: {"url": f"https:{rest}"},
}


# --- a line of text ---------------------------------------------------------------------------------------------------

INLINE = re.compile(
    r"\[(?P<label>[^\]]+)\]\((?P<link>[^)\s][^)]*)\)|\*\*(?P<bold>.+?)\*\*|\*(?P<slanted>[^*]+)\*"
)


def inline(line: str) -> list[Data]:
    """Return a line as pieces {text, bold, slanted, link} in their order, figures filled in; only `text` is always there."""
    pieces: list[Data] = []
    at = 0
    line = re.sub(r"\{([^}]+)\}", lambda found: figure(found[1]), line)
    for found in INLINE.finditer(line):
        pieces.append({"text": line[at : found.start()]})
        if found["link"]:
            pieces.append({"text": found["label"], "link": read_link(found["link"])})
        else:
            style = "bold" if found["bold"] else "slanted"
            pieces.append({"text": found[style], style: True})
        at = found.end()
    pieces.append({"text": line[at:]})
    return [piece for piece in pieces if piece["text"]]


def _lines(name: str) -> list[str]:
    text = text_of(FOLDER / f"{name}.md")
    return [line for line in text.splitlines() if line.strip()]


# --- the files --------------------------------------------------------------------------------------------------------


def lesson() -> list[Data]:
    """Return the short text's sections: title, text, experiments, a question and its answer."""
    sections: list[Data] = []
    for line in _lines("lesson"):
        mark, _, rest = line.partition(": ")
        if line.startswith("# "):
            sections.append({"title": line[2:], "text": [], "tries": []})
        elif mark == "Try":
            sections[-1]["tries"].append(_try(rest))
        elif mark in ("Q", "A"):
            sections[-1]["question" if mark == "Q" else "answer"] = inline(rest)
        else:
            sections[-1]["text"].append(inline(line))
    return sections


def _try(line: str) -> Data:
    pieces = inline(line)
    if len(pieces) != 1 or "link" not in pieces[0]:
        raise SpecVizError(f"An experiment of the text is no link: {line!r}.")
    return pieces[0]


def questions() -> list[Data]:
    """Return the groups of questions: title, and for each question its number, title, answer, experiments, where it was asked."""
    groups: list[Data] = []
    for line in _lines("questions"):
        if line.startswith("# "):
            groups.append({"title": line[2:], "questions": []})
        elif found := re.match(r"## (\d+)\. (.*)", line):
            groups[-1]["questions"].append(
                {"number": int(found[1]), "title": found[2], "answer": [], "tries": []}
            )
        else:
            _add(groups[-1]["questions"][-1], line)
    return groups


def _add(entry: Data, line: str) -> None:
    if line.startswith("-> "):
        entry["tries"].append(_try(line[3:]))
    elif line.startswith("Asked: "):
        entry["asked"] = [_thread(name) for name in line[7:].split(", ")]
    else:
        entry["answer"].append(inline(line))


def _thread(name: str) -> Data:
    """Return the link of a GitHub thread from owner/repository#number; GitHub itself leads from an issue's address to a pull request's."""
    found = re.fullmatch(r"([\w.-]+/[\w.-]+)#(\d+)", name)
    if not found:
        raise SpecVizError(f"A question was asked at owner/repository#number, not at {name!r}.")
    link = {"kind": "https", "url": f"https://github.com/{found[1]}/issues/{found[2]}"}
    return {"text": f"{found[1]} #{found[2]}", "link": link}


def mistakes() -> list[Data]:
    """Return the classic mistakes: title, what is wrong, the switches that show it."""
    entries: list[Data] = []
    for line in _lines("mistakes"):
        if line.startswith("## "):
            entries.append({"title": line[3:], "answer": [], "tries": []})
        else:
            _add(entries[-1], line)
    return entries


def pairs_of(name: str) -> list[Data]:
    """Return the two columns of a file whose lines are split by a bar, the glossary for one."""
    return [dict(zip(("left", "right"), map(inline, line.split(" | ", 1)), strict=True)) for line in _lines(name)]  # fmt: skip


def text() -> Data:
    """Return all that the tab says; raises SpecVizError where a figure or a link of the text leads nowhere."""
    return {
        "lesson": lesson(),
        "sentences": [inline(line) for line in _lines("sentences")],
        "mistakes": mistakes(),
        "questions": questions(),
        "wrong": pairs_of("wrong"),
        "glossary": pairs_of("glossary"),
        "reading": pairs_of("reading"),
        "history": pairs_of("history"),
    }


def links(data: Any) -> Iterator[Data]:
    """Yield every link in a piece of the text's data."""
    if isinstance(data, dict):
        if isinstance(data.get("link"), dict):
            yield data["link"]
        for value in data.values():
            yield from links(value)
    elif isinstance(data, list):
        for value in data:
            yield from links(value)


@lru_cache(maxsize=1)
def as_text() -> str:
    """Return the whole text as JSON; reading it takes a second, once a process."""
    return as_json(text())
