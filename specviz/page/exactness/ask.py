"""What the exactness lab is asked for, checked, and the place of the run on screen that it is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from specviz import Sampling, Trace
from specviz.bounds import real, whole
from specviz.errors import SpecVizError
from specviz.exactness.faults import Fault, fault_named
from specviz.exactness.one_step import (
    Position,
    position_of_row,
)
from specviz.exactness.throws import check_trials
from specviz.models.toy import DEFAULT_AGREEMENT
from specviz.page.link import EXACTNESS_SOURCES
from specviz.page.settings import one_of
from specviz.record.shape import known

MOST_SEED = 2**31
TOY_PROMPT = "1 15 42"


@dataclass(frozen=True)
class Ask:
    """What the browser wants to see, checked: a source, a mistake or none, how many throws, which place."""

    source: str
    fault: Fault | None
    trials: int | None
    seed: int
    spot: Mapping[str, Any] | None
    prompt: str
    agreement: float
    sampling: Sampling

    def again(self) -> dict[str, Any]:
        """Return it as the record that the browser sends."""
        return {
            "source": self.source, "fault": self.fault and self.fault.name, "trials": self.trials, "seed": self.seed,
            "toy": {"prompt": self.prompt, "agreement": self.agreement, **asdict(self.sampling)},
        }  # fmt: skip


def read_ask(given: object) -> Ask:
    """Return what a browser asks for, or raise SpecVizError at the first thing that can't be used.

    A record with `source` (screen, toy, table), `fault` (a name or None), `trials` (None: the exact law alone), `seed`,
    `spot` {step, position, state} and `toy` {prompt, agreement, temperature, top_k, top_p}, all of them optional.
    """
    asked = as_mapping(given)
    own = as_mapping(asked.get("toy"))
    trials, spot, prompt = asked.get("trials"), asked.get("spot"), own.get("prompt", TOY_PROMPT)
    return Ask(
        source=one_of("source", asked.get("source", EXACTNESS_SOURCES[0]), EXACTNESS_SOURCES),
        fault=None if asked.get("fault") is None else fault_named(asked["fault"]),
        trials=None if trials is None else check_trials(trials),
        seed=whole("The throw's number", asked.get("seed", 0), 0, MOST_SEED),
        spot=spot if isinstance(spot, Mapping) else None,
        prompt=prompt[:200] if isinstance(prompt, str) else "",
        agreement=real("The agreement", own.get("agreement", DEFAULT_AGREEMENT), 0, 1),
        sampling=Sampling(
            real("The temperature", own.get("temperature", 1), 0, 2),
            whole("Top-k", own.get("top_k", 0), 0, 100),
            real("Top-p", own.get("top_p", 1), 0, 1),
        ),
    )


def as_mapping(given: object) -> Mapping[str, Any]:
    return given if isinstance(given, Mapping) else {}


@dataclass(frozen=True)
class Place:
    """A position, what it is called, and the texts of its tokens."""

    position: Position
    title: str
    tokens: Mapping[str, str]


def place_on_screen(trace: Trace | None, spot: Mapping[str, Any] | None) -> Place:
    """Return the selected position of a trace, the first examined draft where none is; raises SpecVizError.

    A replacement stands for the rejected draft that it replaces.
    """
    if trace is None:
        raise SpecVizError(
            "There is no run on screen yet: press Run in the first tab, or choose the toy or the three tokens here."
        )
    if trace.data["settings"]["fault"]:
        raise SpecVizError(
            "The run on screen was made with a deliberate mistake: choose another run, the toy, or the three tokens."
        )
    if not trace.has_distributions:
        raise SpecVizError(
            "The run on screen came from a CSV, which holds no distributions: open its JSON, or choose the toy or the three tokens."
        )
    step, position = _selected(trace, spot)
    draft = trace.data["steps"][step - 1]["drafts"][position - 1]
    if draft["coin"] is None:
        raise SpecVizError(
            "No coin was tossed for that draft, so nothing was decided there: select one that was kept or rejected."
        )
    settings = trace.data["settings"]
    title = f"Step {step}, position {position} of the run on screen (temperature {settings['temperature']:g})"
    return Place(position_of_row(known(draft["row"])), title, trace.data["tokens"])


def _selected(trace: Trace, spot: Mapping[str, Any] | None) -> tuple[int, int]:
    steps = trace.data["steps"]
    if spot is None:
        examined = (
            (step["step"], index)
            for step in steps
            for index, draft in enumerate(step["drafts"], start=1)
            if draft["coin"] is not None
        )
        found = next(examined, None)
        if found is None:
            raise SpecVizError(
                "Nothing was drafted in this run, so there is nothing to decide: choose a K above 0."
            )
        return found
    step = whole("The selected step", spot.get("step"), 1, max(1, len(steps)))
    drafts = steps[step - 1]["drafts"] if steps else []
    position = whole("The selected position", spot.get("position"), 1, len(drafts) + 1)
    if position > len(drafts):
        raise SpecVizError(
            "That is the target's own draw from p, nothing was drafted there: select a draft that was kept or rejected."
        )
    return step, position
