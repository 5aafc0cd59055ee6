"""What the page does when a memory is full: a sentence, the pair let go, and the next run works."""

import dataclasses
import json
import subprocess
import sys
import types
import weakref
from threading import Event

import pytest
import torch

from specviz import Pair
from specviz.errors import OutOfMemory, SpecVizError
from specviz.models.loaded import wrap
from specviz.models.toy import toy_model
from specviz.page import api
from specviz.page.controls import NAMES
from specviz.page.exactness.greedy import greedy
from specviz.page.gallery import open_recorded
from specviz.page.server import shelf, zero
from specviz.page.server.shelf import Shelf
from specviz.page.settings import read_settings
from specviz.page.speed.lab import SpeedLab
from specviz.page.step.handlers import Handlers
from specviz.page.updates import OUTPUTS
from tests.conftest import tiny_model
from tests.models.test_loading import TOKENS, tokenizer
from tests.visits import finished, updates_of

NAME = "qwen3-4b"
ASKED = ("w3 w14", NAME, "lookup", 2, 1.0, 0, 1.0, 12, 7, False, 0.9)


class Loader:
    """Stands for `load_pair`: each time a model of its own, the first of which finds the memory full after `forwards`."""

    def __init__(self, forwards):
        self.forwards, self.loaded = forwards, []

    def __call__(self, name, **options):
        model = tiny_model("gpt2")
        if not self.loaded and self.forwards is None:
            self.loaded.append(weakref.ref(model))
            raise OutOfMemory(
                f"{name} does not fit into the memory of cuda: pick a smaller pair or another device."
            )
        if not self.loaded:
            model.register_forward_pre_hook(self.full)
        self.loaded.append(weakref.ref(model))
        return Pair(name, wrap(model, tokenizer(TOKENS), name="tiny"), None, "lookup")

    def full(self, module, inputs):
        self.forwards -= 1
        if self.forwards < 0:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")


@pytest.fixture
def loader(monkeypatch, request):
    monkeypatch.setattr(shelf, "POLL_S", 0.01)
    replaced = Loader(request.param)
    monkeypatch.setattr(shelf, "load_pair", replaced)
    return replaced


def told(updates):
    """Return the last status line of a handler's updates, {text, tone, share}."""
    lines = [update[OUTPUTS.index("status")] for update in updates_of(updates)]
    return json.loads([line for line in lines if isinstance(line, str)][-1])


@pytest.mark.parametrize("loader", [0, 4], indirect=True)
def test_a_run_that_fills_the_memory_lets_its_pair_go_and_the_next_run_works(loader):
    request, handlers = types.SimpleNamespace(session_hash="me"), Handlers(Shelf())
    said = told(handlers.run(request, *ASKED))
    assert said["tone"] == "error"
    assert said["text"].startswith(
        "The device ran out of memory in the middle of the run: shorten the prompt"
    )
    assert handlers.shelf.begun(NAME) is None
    assert told(handlers.run(request, *ASKED))["text"].endswith("target passes.")
    first, second = loader.loaded
    assert first() is None, "something still holds the weights of the pair that was let go"
    assert second() is not None


@pytest.mark.parametrize("loader", [4], indirect=True)
def test_the_weights_are_gone_by_the_time_the_sentence_is_shown(loader, monkeypatch):
    """Not only when the visitor's next event has cleared the last traces away."""
    monkeypatch.setattr(Shelf, "_measure", lambda self, pair: None)  # its thread wakes up when it wakes up
    request, handlers = types.SimpleNamespace(session_hash="me"), Handlers(Shelf())

    async def weights_when_told():
        async for update in handlers.run(request, *ASKED):
            if "out of memory" in str(update[OUTPUTS.index("status")]):
                return loader.loaded[0]()
        pytest.fail("nothing was said")

    assert finished(weights_when_told()) is None


@pytest.mark.parametrize("loader", [None], indirect=True)
def test_a_pair_that_does_not_fit_is_a_sentence_and_can_be_tried_again(loader):
    request, handlers = types.SimpleNamespace(session_hash="me"), Handlers(Shelf())
    said = told(handlers.run(request, *ASKED))
    assert (said["tone"], said["text"][:40]) == ("error", f"{NAME} does not fit into the memory of cuda"[:40])
    assert loader.loaded[0]() is None
    assert told(handlers.run(request, *ASKED))["text"].endswith("target passes.")


@pytest.mark.parametrize("loader", [4], indirect=True)
def test_the_endpoint_says_the_same_and_frees_the_turn(loader):
    import gradio

    kept = Shelf()
    with pytest.raises(gradio.Error, match="ran out of memory"):
        api._trace(kept, dict(zip(NAMES, ASKED, strict=True)))
    assert kept.begun(NAME) is None
    assert api._trace(kept, dict(zip(NAMES, ASKED, strict=True))).data["stop"] == "length"


@pytest.mark.parametrize("loader", [10**6], indirect=True)
def test_a_pair_that_was_let_go_is_not_kept_for_its_timings(loader):
    """A thread that waits for its turn to measure would hold the weights for as long."""
    kept = Shelf()
    pair = kept.pair(NAME, "lookup", 0.9)
    assert kept._holds(pair)
    with pytest.raises(OutOfMemory), kept.unloading(NAME):
        raise OutOfMemory("full")
    assert not kept._holds(pair)
    kept._measure(dataclasses.replace(pair, draft_kind="noise"))  # comes back at once, with nothing measured
    assert kept.costs(NAME, "noise") is None


@pytest.mark.parametrize("loader", [4], indirect=True)
def test_a_measurement_that_fills_the_memory_lets_its_pair_go_too(loader):
    kept = Shelf()
    with pytest.raises(OutOfMemory):
        list(kept.lines_until_measured(kept.pair(NAME, "lookup", 0.9)))
    assert kept.begun(NAME) is None


@pytest.mark.parametrize("loader", [10**6], indirect=True)
def test_nothing_is_measured_or_compared_on_a_gpu_that_is_only_lent(loader, monkeypatch):
    me, trace = types.SimpleNamespace(session_hash="me"), open_recorded("lookup")
    monkeypatch.setitem(zero._lent, trace.data["settings"]["pair"], None)
    kept = Shelf()
    lab = SpeedLab(kept)
    for told_by in (lab.measure(me, trace), lab.sweep(me, trace, "Once", 16), greedy(kept, trace)):
        assert "GPU is lent for one run at a time" in str(list(told_by)[-1])


def test_settings_of_these_tests_are_a_visitors():
    assert read_settings(*ASKED).pair == NAME
    with pytest.raises(SpecVizError):
        read_settings("", *ASKED[1:])


ENDS_WHILE_MEASURING = """
import time, torch
from specviz.models.toy import toy_model
from specviz.models.pairs import Pair
from specviz.page.server import shelf
begun = shelf.Event()
def measure(pair):
    begun.set()
    for _ in range(2000):
        torch.ones(200, 200) @ torch.ones(200, 200)
        yield 0.5
shelf.IDLE_S, shelf.measure_in_rounds = 0.0, measure
shelf.load_pair = lambda name, **_: Pair(name, toy_model(0.9), None, "lookup")
shelf.Shelf().load("smollm2-135m").done.wait()
begun.wait()
"""


def test_a_process_that_ends_while_a_pair_is_measured_ends_well():
    done = subprocess.run(
        [sys.executable, "-c", ENDS_WHILE_MEASURING], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_who_waits_for_a_run_comes_before_the_timing_of_a_pair(monkeypatch):
    """The timing gives way, is made again when nobody wants the model, and is known to be under way all the time."""
    begun, told, costs = Event(), [], {"target_ms": [1.0] * 17, "draft_ms": 0.5, "rest_ms": 0.1}

    def measure(pair):
        told.append("begun")
        while not (begun.is_set() and len(told) > 1):  # the first one goes on until it is told to give way
            begun.set()
            yield 0.5
        return costs

    monkeypatch.setattr(shelf, "IDLE_S", 0.0)
    monkeypatch.setattr(shelf, "POLL_S", 0.01)
    monkeypatch.setattr(shelf, "measure_in_rounds", measure)
    monkeypatch.setattr(shelf, "load_pair", lambda name, **_: Pair(name, toy_model(0.9), None, "lookup"))
    held = Shelf()
    held.load(NAME).done.wait()
    assert begun.wait(10)
    pair = held.load(NAME).pair
    with held.turn(NAME):
        assert held.is_measuring(pair.name, pair.draft_name)
        assert held.costs(pair.name, pair.draft_name) is None
    while held.is_measuring(pair.name, pair.draft_name):
        Event().wait(0.01)
    assert held.costs(pair.name, pair.draft_name) == costs
    assert told == ["begun", "begun"]
