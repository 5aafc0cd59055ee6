"""What happens in the tab "Hardware": a calculator of what memory and arithmetic allow, on a machine of one's choice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import gradio as gr

from specviz import Trace, theory
from specviz.bounds import MAX_K, positive, real, whole
from specviz.page import messages
from specviz.page.hardware.charts import batch_figure, byte_unit, bytes_figure, gain, percent, roofline_figure
from specviz.page.messages import Card, Grid, GridCell
from specviz.page.server.shelf import Shelf
from specviz.page.settings import one_of
from specviz.page.updates import Update, refusing
from specviz.record.metrics import summary
from specviz.speed import hardware
from specviz.speed.hardware import MACHINES, Machine, Model
from specviz.speed.this_machine import measure_this_machine

THIS = "this machine"
OWN = "my own numbers"
BITS = (16, 8, 4)
TOKENS = 100
MOST_BATCH = 512
GIGA, TERA = 1e9, 1e12
DEFAULTS: dict[str, Any] = {
    "machine": "NVIDIA H100 SXM", "bandwidth": 3350.0, "peak": 989.0, "target": 70.0, "bits": 16, "active": 100.0, "draft": 8.0,
    "alpha": 0.8, "k": 4, "batch": 1,
}  # fmt: skip
CALCULATED = ("status", "source", "cards", "roofline", "bytes", "batch_chart", "changes")
HEADS = ("free up to", "plain, tokens/s", "with K, tokens/s", "gain", "best K")


@dataclass(frozen=True)
class Setup:
    """What is calculated with: a machine, two models, and how they are used."""

    machine: Machine
    target: Model
    draft: Model
    alpha: float
    k: int
    batch: int


def read_setup(values: Mapping[str, Any]) -> Setup:
    """Return the controls' values in range, or raise SpecVizError at the first that can't be used."""
    bandwidth = positive("The bandwidth", values["bandwidth"], 1e6, "GB/s")
    peak = positive("The peak arithmetic", values["peak"], 1e6, "TFLOP/s")
    target = positive("The target's size", values["target"], 1e5, "billion parameters")
    draft = positive("The draft's size", values["draft"], 1e5, "billion parameters")
    bits = int(one_of("size of a weight", str(values["bits"]), [str(bits) for bits in BITS]))
    active = positive("The active share", values["active"], 100, "%") / 100
    return Setup(
        machine=hardware.machine_from(str(values["machine"]), bandwidth, peak, ""),
        target=Model(target * GIGA, bits, active),
        draft=Model(draft * GIGA, bits),
        alpha=real("The acceptance", values["alpha"], 0, 1),
        k=whole("K", values["k"], 0, MAX_K),
        batch=whole("The batch", values["batch"], 1, MOST_BATCH),
    )


class HardwareLab:
    """The tab's handlers; what was measured of this machine is kept for everybody."""

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self._here: Machine | None = None

    def machines(self) -> list[tuple[str, str]]:
        """Return the menu's (text, value): datasheets, this machine with what it is known to do, and free numbers."""
        known = f"{THIS}, {'measured' if self._here else 'not measured yet'}"
        return [*((each.name, each.name) for each in MACHINES), (known, THIS), (OWN, OWN)]

    def open(self, trace: Trace | None, seen: str | None, *values: Any) -> Update:
        """Calculate when the tab is opened; a new run on screen brings its acceptance and K. Returns seen, alpha, k, and the rest."""
        given = _named(values)
        run_id = trace.data["run_id"] if trace else None
        if trace is None or run_id == seen:
            return (seen, gr.skip(), gr.skip(), *self._calculated(given))
        alpha = summary(trace.data)["acceptance_examined"]
        given |= {"k": trace.data["settings"]["k"]} | ({} if alpha is None else {"alpha": round(alpha, 2)})
        return (run_id, given["alpha"], given["k"], *self._calculated(given))

    def calculate(self, *values: Any) -> Update:
        """Draw everything for the controls' values, or say which of them can't be used."""
        return self._calculated(_named(values))

    def _calculated(self, given: Mapping[str, Any]) -> Update:
        return next(refusing(self._results(given), _refused))

    def _results(self, given: Mapping[str, Any]) -> Iterator[Update]:
        setup = read_setup(given)
        machine, target, draft = setup.machine, setup.target, setup.draft
        yield (
            messages.status(""),
            messages.panel(lines=[self._source(given)]),
            messages.panel(cards_of(setup), lines=[bytes_sentence(setup)]),
            roofline_figure(machine, target, setup.batch, setup.k),
            bytes_figure(target, draft, setup.alpha, setup.k, TOKENS),
            batch_figure(machine, target, draft, setup.alpha, setup.k, setup.batch),
            messages.panel(grid=changes(setup)),
        )

    def _source(self, given: Mapping[str, Any]) -> str:
        """Return where the machine's figures are from; changed ones are nobody's but the visitor's."""
        known = self._known(given["machine"])
        if known and (given["bandwidth"], given["peak"]) == _shown(known):
            return f"{known.source}. Balance {known.balance:.3g} FLOP/byte."
        return (
            "Your own numbers."
            if known or given["machine"] == OWN
            else f"{THIS.capitalize()} has not been measured yet."
        )

    def _known(self, name: Any) -> Machine | None:
        if name == THIS:
            return self._here
        return next((each for each in MACHINES if each.name == name), None)

    def choose(self, *values: Any) -> Update:
        """Put a machine's figures into the fields and calculate; returns bandwidth, peak, and the rest."""
        given = _named(values)
        if given["machine"] == THIS and self._here is None:
            line = messages.status(
                f"{THIS.capitalize()} has not been measured yet: press “Measure this machine”."
            )
            return (gr.skip(), gr.skip(), line, *[gr.skip()] * (len(CALCULATED) - 1))
        known = self._known(given["machine"])
        if known is None:
            return (gr.skip(), gr.skip(), *self._calculated(given))
        given["bandwidth"], given["peak"] = _shown(known)
        return (given["bandwidth"], given["peak"], *self._calculated(given))

    def measure(self, request: gr.Request, *values: Any) -> Iterator[Update]:
        """Measure this machine, now; returns machine, bandwidth, peak, and the rest."""
        work = self.shelf.claimed(str(request.session_hash), "A measurement", self._measure(_named(values)))
        yield from refusing(work, lambda line: (*[gr.skip()] * 3, *_refused(line)))

    def _measure(self, given: dict[str, Any]) -> Iterator[Update]:
        for line in self.shelf.lines_until_free(THIS):
            yield (*[gr.skip()] * 3, *_refused(messages.status(line, "busy")))
        try:
            busy = messages.status(
                "Measuring: reading a large matrix, multiplying two. A second or two.", "busy"
            )
            yield (*[gr.skip()] * 3, *_refused(busy))
            self._here = measure_this_machine()
        finally:
            self.shelf.free(THIS)
        given["machine"] = THIS
        given["bandwidth"], given["peak"] = _shown(self._here)
        menu = gr.update(choices=self.machines(), value=THIS)
        yield (menu, given["bandwidth"], given["peak"], *self._calculated(given))


def _named(values: Sequence[Any]) -> dict[str, Any]:
    return dict(zip(DEFAULTS, values, strict=True))


def _refused(line: str) -> Update:
    return (line, *[gr.skip()] * (len(CALCULATED) - 1))


def _shown(machine: Machine) -> tuple[float, float]:
    """Return a machine's bandwidth and peak as the fields have them, GB/s and TFLOP/s, to four digits."""
    return float(f"{machine.bytes_per_s / GIGA:.4g}"), float(f"{machine.flops / TERA:.4g}")


# --- figures and sentences --------------------------------------------------------------------------------------------


def cards_of(setup: Setup) -> list[Card]:
    """Return the calculator's figures, each with how it comes about."""
    machine, target, batch, k = setup.machine, setup.target, setup.batch, setup.k
    plain = hardware.plain_tokens_per_s(machine, target, batch)
    ours = hardware.speculative_tokens_per_s(machine, target, setup.draft, setup.alpha, k, batch)
    free = hardware.free_rows(machine, target)
    checked = batch * (k + 1)
    used = min(1.0, hardware.intensity(target, batch) / machine.balance)
    spent = theory.operations_factor(
        setup.alpha, k, setup.draft.parameters / (target.parameters * target.active)
    )
    return [
        Card("the target's weights", size(target.bytes), (f"{_billions(target)} × {target.bits:g} bit / 8.",)),
        Card("without a draft, at most", f"{_rate(plain)} tokens/s", (_why_plain(setup),)),
        Card(f"with K = {k}, α = {setup.alpha:.2f}", f"{_rate(ours)} tokens/s", (f"{ours / plain:.2f}× plain decoding, at most.", f"Draft: {_billions(setup.draft)}.")),
        Card("arithmetic is free up to", f"{free:.0f} row{'s' * (round(free) != 1)}", (f"Balance × bits / 16. This step checks {checked}: {'free' if checked <= free else 'not free'}.",)),
        Card("arithmetic units busy", percent(used), ("In a plain pass: the rest of the time they wait for weights.",)),
        Card("arithmetic for a token", f"{spent:.2f}×", ("Speculation spends more of it: Leviathan et al., Theorem 3.11.",)),
    ]  # fmt: skip


def _why_plain(setup: Setup) -> str:
    if hardware.intensity(setup.target, setup.batch) >= setup.machine.balance:
        return "Arithmetic is the limit: the batch fills the units."
    if setup.target.active < 1:
        return "Bandwidth / the weights that the experts of this batch touch."
    return (
        "Bandwidth / weights."
        if setup.batch == 1
        else f"Bandwidth / weights, for all {setup.batch} together."
    )


def bytes_sentence(setup: Setup) -> str:
    """Return how often 100 tokens read the weights, without a draft and with one."""
    plain, _ = hardware.bytes_moved(setup.target, setup.draft, setup.alpha, 0, TOKENS)
    ours, drafts = hardware.bytes_moved(setup.target, setup.draft, setup.alpha, setup.k, TOKENS)
    once = plain / TOKENS
    read = f"{TOKENS} tokens read {size(once)} {TOKENS} times: {size(plain)}."
    return f"{read} With K = {setup.k}, {ours / once:.0f} times: {size(ours)}, and {size(drafts)} of the draft's."


def changes(setup: Setup) -> Grid:
    """Return what fewer bits, a batch and a mixture of experts do, each change alone."""
    half = replace(setup.target, bits=8), replace(setup.draft, bits=8)
    quarter = replace(setup.target, bits=4), replace(setup.draft, bits=4)
    variants = [
        ("as set", setup),
        ("8-bit weights", replace(setup, target=half[0], draft=half[1])),
        ("4-bit weights", replace(setup, target=quarter[0], draft=quarter[1])),
        ("batch 16", replace(setup, batch=16)),
        ("batch 64", replace(setup, batch=64)),
        ("MoE, 10 % active", replace(setup, target=replace(setup.target, active=0.1))),
    ]
    return Grid(
        "What changes it, one thing at a time", "", HEADS, [(name, _change(each)) for name, each in variants]
    )


def _change(setup: Setup) -> list[GridCell]:
    machine, target, draft = setup.machine, setup.target, setup.draft
    gains = [gain(machine, target, draft, setup.alpha, k, setup.batch) for k in range(MAX_K + 1)]
    best = max(range(MAX_K + 1), key=lambda k: (gains[k], -k))
    plain = hardware.plain_tokens_per_s(machine, target, setup.batch)
    here = gains[setup.k]
    return [
        GridCell(f"{hardware.free_rows(machine, target):.0f}", _rows_note(setup)),
        GridCell(_rate(plain)),
        GridCell(_rate(plain * here)),
        GridCell(f"{here:.2f}×", shade=round(min(1.0, max(0.0, (here - 1) / 1.5)), 3)),
        GridCell(str(best), f"{gains[best]:.2f}×" if best else "none pays"),
    ]


def _rows_note(setup: Setup) -> str:
    note = f"rows; a step has {setup.batch * (setup.k + 1)}"
    return f"{note}, each reads more" if setup.target.active < 1 else note


def size(count: float) -> str:
    """Return a number of bytes in words."""
    unit, name = byte_unit(count)
    return f"{count / unit:.3g} {name}"


def _rate(tokens: float) -> str:
    return f"{tokens:.0f}" if tokens >= 10 else f"{tokens:.2g}"


def _billions(model: Model) -> str:
    return f"{model.parameters / GIGA:.3g} B parameters"
