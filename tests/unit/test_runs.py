"""The runs that the server keeps: one run for a class, bounded in number and bytes, never one that did not end."""

from __future__ import annotations

import dataclasses
import threading
from typing import Any

import pytest

from specviz import Pair, Trace, decode, load_pair
from specviz.page.server.runs import Runs, key_of
from specviz.page.server.shelf import Shelf
from specviz.page.settings import Settings, read_settings
from specviz.page.step.handlers import Handlers
from specviz.page.updates import Waiting

VALUES = ("1 15 42", "toy", "model", 4, 0.8, 0, 1, 16, 7, None, 0.9)


def settings(**changed: Any) -> Settings:
    names = ("prompt", "pair", "draft", "k", "temperature", "top_k", "top_p", "max_new_tokens", "seed", "chat", "agreement")  # fmt: skip
    return read_settings(*(dict(zip(names, VALUES, strict=True)) | changed).values())


@pytest.fixture(scope="module")
def pair() -> Pair:
    return load_pair("toy")


@pytest.fixture(scope="module")
def trace(pair: Pair) -> Trace:
    return decode(pair, "1 15 42", max_new_tokens=8)


def test_the_same_request_has_the_same_key_and_any_other_another(pair: Pair) -> None:
    key = key_of(settings(), pair)
    assert key_of(settings(chat=False), pair) == key  # what the toy expects anyway
    others = [
        settings(prompt="1 15"), settings(k=5), settings(temperature=0.7), settings(top_k=5), settings(top_p=0.9),
        settings(max_new_tokens=17), settings(seed=8),
    ]  # fmt: skip
    keys = {key_of(other, pair) for other in others}
    target = dataclasses.replace(pair.target, dtype="bfloat16")
    keys |= {key_of(settings(), load_pair("toy", draft)) for draft in ("lookup", "self", "noise")}
    keys |= {key_of(settings(), load_pair("toy", agreement=0.5)), key_of(settings(), dataclasses.replace(pair, target=target))}  # fmt: skip
    assert len(keys - {key}) == len(others) + 5


def test_a_kept_run_comes_back_as_it_was_and_belongs_to_who_asked(trace: Trace) -> None:
    runs = Runs()
    runs.keep("a", trace)
    kept = runs.find("a")
    assert kept is not None and kept.data == trace.data
    kept.data["steps"].clear()
    again = runs.find("a")
    assert again is not None and again.data == trace.data


def test_the_oldest_goes_first_by_number_and_by_bytes(trace: Trace) -> None:
    runs = Runs(most_runs=2)
    for key in ("a", "b"):
        runs.keep(key, trace)
    assert runs.find("a")  # asked for again: now b is the oldest
    runs.keep("c", trace)
    assert [runs.find(key) is not None for key in "abc"] == [True, False, True]
    size = len(trace.to_json())
    runs = Runs(most_bytes=2 * size + 10)
    for key in ("a", "a", "b", "c"):
        runs.keep(key, trace)
    assert [runs.find(key) is not None for key in "abc"] == [False, True, True]
    runs = Runs(most_bytes=size - 1)
    runs.keep("a", trace)
    assert runs.find("a") is None and runs.begin("a")


@pytest.mark.parametrize("stop", ["stopped", "error"])
def test_a_run_that_did_not_end_is_not_kept(trace: Trace, stop: str) -> None:
    runs = Runs()
    runs.keep("a", Trace(trace.data | {"stop": stop}))
    assert runs.find("a") is None


def test_one_makes_it_and_the_others_wait(trace: Trace) -> None:
    runs = Runs()
    assert runs.begin("a") and runs.begin("b")
    waiting = runs.lines_until_settled("a")
    assert "Another visitor" in next(waiting)
    runs.end("a")  # without a run: it failed, so who waits makes it
    assert list(waiting) == []
    assert not runs.begin("a")
    waiting = runs.lines_until_settled("a")
    next(waiting)
    runs.keep("a", trace)
    assert list(waiting) == []
    assert runs.find("a")


class Clients:
    """Visitors of one page, each in a thread of its own, and how many runs they made."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.handlers = Handlers(Shelf())
        self.ends: dict[str, list[str]] = {}
        self.made: list[str] = []
        self.gate = threading.Event()
        follow = Handlers._follow

        def counted(handlers: Handlers, visitor: str, run: Any, what: str = "") -> Any:
            self.made.append(visitor)
            assert self.gate.wait(30)
            yield from follow(handlers, visitor, run, what)

        monkeypatch.setattr(Handlers, "_follow", counted)

    def visit(self, name: str, started: threading.Barrier | None = None) -> None:
        shown = []
        for update in self.handlers._run(name, VALUES):
            shown.append("waits" if isinstance(update, Waiting) else "shows")
            if isinstance(update, Waiting):
                if started is not None and shown.count("waits") == 1:
                    started.wait(30)
                threading.Event().wait(0.01)
        self.ends[name] = shown


def test_forty_clients_with_the_same_settings_cost_one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    clients = Clients(monkeypatch)
    waiting = threading.Barrier(40)  # the 39 that wait, and this test
    threads = [threading.Thread(target=clients.visit, args=(f"v{i}", waiting)) for i in range(40)]
    for thread in threads:
        thread.start()
    waiting.wait(30)
    clients.gate.set()
    for thread in threads:
        thread.join(30)
    assert len(clients.made) == 1
    assert len(clients.ends) == 40
    ids = {clients.handlers._shown[f"v{i}"] for i in range(40)}
    assert len(ids) == 1


def test_who_runs_the_same_again_measures_it_again_and_others_get_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clients = Clients(monkeypatch)
    clients.gate.set()
    ids = []
    for name in ("a", "b", "a", "b"):
        clients.visit(name)
        ids.append(clients.handlers._shown[name])
    assert clients.made == ["a", "a"]
    assert ids[0] == ids[1] != ids[2] == ids[3]


def test_one_who_waits_can_stop_and_if_the_first_stops_another_makes_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clients = Clients(monkeypatch)
    waiting = threading.Barrier(3)
    first, *others = (
        threading.Thread(target=clients.visit, args=(name, None if name == "first" else waiting))
        for name in ("first", "second", "third")
    )
    first.start()
    while not clients.made:
        first.join(0.01)
    for thread in others:
        thread.start()
    waiting.wait(30)
    clients.handlers._stopped.add("second")
    others[0].join(30)
    assert clients.ends["second"][-1] == "shows" and clients.made == ["first"]
    clients.handlers._stopped.add("first")
    clients.gate.set()
    for thread in (first, others[1]):
        thread.join(30)
    assert clients.made == ["first", "third"]
    key = key_of(settings(), clients.handlers.shelf.pair("toy", "model", 0.9))
    kept = clients.handlers.runs.find(key)
    assert kept is not None and kept.data["run_id"] == clients.handlers._shown["third"]
