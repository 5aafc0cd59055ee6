"""What happens in the tab "Hardware": a calculator of what memory and arithmetic allow, on a machine of one's choice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import gradio as gr

from specviz import Trace, theory
from specviz.page import messages
from specviz.page.calculator import DEFAULTS, GIGA, NUMBERS, Setup, listed, of_name, read_setup, shown
from specviz.page.hardware.charts import (
    batch_figure,
    byte_unit,
    bytes_figure,
    roofline_figure,
)
from specviz.page.messages import Card, Grid, GridCell
from specviz.page.server.shelf import Shelf
from specviz.page.updates import Update, refusing
from specviz.record.metrics import summary
from specviz.speed import hardware
from specviz.speed.hardware import MACHINES, Machine, Model
from specviz.speed.this_machine import measure_this_machine

THIS = "this machine"
OWN = "my own numbers"
TOKENS = 100
LONG_CONTEXT = 32_000
CALCULATED = ("status", "fit", "source", "cards", "roofline", "bytes", "batch_chart", "changes")
PICTURES = ("roofline", "bytes", "batch_chart")
HEADS = ("free up to", "plain, tokens/s", "with K, tokens/s", "gain", "best K", "memory")


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
            messages.status(*fit(setup)),
            messages.panel(lines=[self._source(given), *_of_products(setup)]),
            messages.panel(cards_of(setup), lines=[bytes_sentence(setup)]),
            roofline_figure(machine, target, setup.batch, setup.k, setup.context),
            bytes_figure(target, draft, setup.alpha, setup.k, TOKENS, setup.context),
            batch_figure(machine, target, draft, setup.alpha, setup.k, setup.batch, setup.context),
            messages.panel(grid=changes(setup)),
        )

    def _source(self, given: Mapping[str, Any]) -> str:
        """Return where the machine's figures are from; changed ones are nobody's but the visitor's."""
        here = given["machine"] == THIS and self._here
        if here and (given["bandwidth"], given["peak"]) == shown(here)[:2]:
            return f"{here.source}. Balance {here.balance:.3g} FLOP/byte."
        if known := listed(given):
            whose = "" if known.name == given["machine"] else f"The numbers are those of {known.name}. "
            return f"{whose}{known.source}. Balance {known.balance:.3g} FLOP/byte."
        if given["machine"] == THIS and not here:
            return f"{THIS.capitalize()} has not been measured yet."
        return "Your own numbers."

    def choose(self, *values: Any) -> Update:
        """Put a machine's figures into the fields and calculate; returns bandwidth, peak, memory, and the rest."""
        given = _named(values)
        if given["machine"] == THIS and self._here is None:
            line = messages.status(
                f"{THIS.capitalize()} has not been measured yet: press “Measure this machine”."
            )
            return (*[gr.skip()] * len(NUMBERS), *_told(line))
        known = self._here if given["machine"] == THIS else of_name(given["machine"])
        if known is None:
            return (*[gr.skip()] * len(NUMBERS), *self._calculated(given))
        given |= dict(zip(NUMBERS, shown(known), strict=True))
        return (*shown(known), *self._calculated(given))

    def measure(self, request: gr.Request, *values: Any) -> Iterator[Update]:
        """Measure this machine, now; returns machine, bandwidth, peak, memory, and the rest."""
        work = self.shelf.claimed(str(request.session_hash), "A measurement", self._measure(_named(values)))
        yield from refusing(work, lambda line: (*[gr.skip()] * (1 + len(NUMBERS)), *_told(line)))

    def _measure(self, given: dict[str, Any]) -> Iterator[Update]:
        for line in self.shelf.lines_until_free(THIS):
            yield (*[gr.skip()] * (1 + len(NUMBERS)), *_told(messages.status(line, "busy")))
        try:
            busy = messages.status(
                "Measuring: reading a large matrix, multiplying two. A second or two.", "busy"
            )
            yield (*[gr.skip()] * (1 + len(NUMBERS)), *_told(busy))
            self._here = measure_this_machine()
        finally:
            self.shelf.free(THIS)
        given["machine"] = THIS
        given |= dict(zip(NUMBERS, shown(self._here), strict=True))
        menu = gr.update(choices=self.machines(), value=THIS)
        yield (menu, *shown(self._here), *self._calculated(given))


def _named(values: Sequence[Any]) -> dict[str, Any]:
    return dict(zip(DEFAULTS, values, strict=True))


def _told(line: str) -> Update:
    """Say something beside results that still hold."""
    return (line, *[gr.skip()] * (len(CALCULATED) - 1))


def _refused(line: str) -> Update:
    """Say what can't be used, and take away what was calculated from other numbers: without cards no picture is seen."""
    blank = {"status": line, "fit": messages.status("")} | dict.fromkeys(PICTURES, gr.skip())
    return tuple(blank.get(name, messages.panel()) for name in CALCULATED)


# --- figures and sentences --------------------------------------------------------------------------------------------


def fit(setup: Setup) -> tuple[str, str]:
    """Return whether the models and their caches fit into the machine's memory, and the line's tone."""
    parts = [f"target {_in_gb(setup.target.bytes)}"]
    if setup.k:
        parts.append(f"draft {_in_gb(setup.draft.bytes)}")
    caches = setup.held - sum(model.bytes for model in setup.models)
    if caches:
        parts.append(f"KV cache{'s' * bool(setup.k)} {_in_gb(caches)}")
    needs = f"{' + '.join(parts)} = {_in_gb(setup.held)}"
    memory = setup.peak.memory
    if memory is None:
        return f"It takes {needs}. How much memory the machine has is not given.", "quiet"
    if setup.held <= memory:
        return f"It fits: {needs} of {_in_gb(memory)}.", "quiet"
    machines = hardware.machines_needed(memory, setup.held)
    alone = replace(setup, k=0).held <= memory
    without = " Without the draft it would fit." if alone else ""
    return (
        f"It does not fit: {needs}, and one such machine has {_in_gb(memory)}. It takes {machines:,} or more of them.{without} "
        "All figures below are for one, as if it had the memory."
    ), "error"  # fmt: skip


def cards_of(setup: Setup) -> list[Card]:
    """Return the calculator's figures, each with how it comes about."""
    target, batch, k = setup.target, setup.batch, setup.k
    ours = setup.plain * setup.gain(k)
    free = setup.free_rows
    checked = batch * (k + 1)
    return [
        Card("the target's weights", size(target.bytes), (f"{_billions(target)} × {target.bits:g} bit / 8.",)),
        Card("without a draft, at most", f"{_rate(setup.plain)} tokens/s", (_why_plain(setup),)),
        Card(f"with K = {k}, α = {setup.alpha:.2f}", f"{_rate(ours)} tokens/s", (f"{ours / setup.plain:.2f}× plain decoding, at most.", f"Draft: {_billions(setup.draft)}.")),
        Card("a draft pass, c", f"{setup.draft_cost:.2f}", (f"Of a target pass. Its weights: {setup.draft.bytes / target.bytes:.2f} of the target's.",)),
        Card("arithmetic is free up to", f"{free:,.0f} row{'s' * (round(free) != 1)}", (_why_free(setup), f"This step checks {checked}: {'free' if checked <= free else 'not free'}.")),
        Card("arithmetic for a token", f"{setup.operations_factor:.2f}×", ("Speculation spends more of it: Leviathan et al., Theorem 3.11.",)),
    ]  # fmt: skip


def _of_products(setup: Setup) -> list[str]:
    """Return what to know where 8-bit products are asked for of a machine whose peak for them nobody said."""
    if setup.products == 16 or setup.peak.eight_bit > 1:
        return []
    return [
        "8-bit products are taken to be as fast as 16-bit ones here: if they are not, put their peak into TFLOP/s."
    ]


def _why_plain(setup: Setup) -> str:
    if hardware.intensity(setup.target, setup.batch, setup.cached) >= setup.machine.balance:
        why = "Arithmetic is the limit: the batch fills the units"
    elif setup.target.active < 1:
        why = "Bandwidth / the weights that the experts of this batch touch"
    else:
        why = "Bandwidth / weights"
    read = setup.target.cache * setup.cached
    if read and "Bandwidth" in why:
        why += f" and {size(read)} of cache"
    if setup.machine.overhead_s:
        why += ", with the overhead"
    return f"{why}." if setup.batch == 1 else f"{why}, for all {setup.batch} together."


def _why_free(setup: Setup) -> str:
    """Return how the number of free rows comes about; the short formula holds only where a pass reads just all weights."""
    if setup.target.active < 1:
        return "Where the arithmetic takes longer than reading the experts that so many rows touch."
    if setup.target.cache * setup.context:
        return "Balance × bytes read / 2 operations a weight."
    return "Balance × bits / 16."


def bytes_sentence(setup: Setup) -> str:
    """Return how often 100 tokens of one text read the weights and the cache, without a draft and with one."""
    plain, _ = hardware.bytes_moved(setup.target, setup.draft, setup.alpha, 0, TOKENS, setup.context)
    ours, drafts = hardware.bytes_moved(
        setup.target, setup.draft, setup.alpha, setup.k, TOKENS, setup.context
    )
    once = plain / TOKENS
    passes = TOKENS / theory.expected_tokens(setup.alpha, setup.k)
    read = f"One text: {TOKENS} tokens read {size(once)} {TOKENS} times: {size(plain)}."
    return f"{read} With K = {setup.k} the target is read {passes:.0f} times: {size(ours)}, and {size(drafts)} of the draft's."


def changes(setup: Setup) -> Grid:
    """Return what fewer bits, a batch, a mixture of experts and a long text do, each change alone."""
    eight, four = (
        replace(setup, products=16, target=replace(setup.target, bits=bits), draft=replace(setup.draft, bits=bits))
        for bits in (8, 4)
    )  # fmt: skip
    experts = replace(setup, target=replace(setup.target, active=0.1))
    variants = [("as set", setup), ("8-bit weights", eight)]
    if setup.peak.eight_bit > 1:
        variants.append(("8-bit weights and products", replace(eight, products=8)))
    variants += [
        ("4-bit weights", four),
        ("batch 16", replace(setup, batch=16)),
        ("batch 64", replace(setup, batch=64)),
        *((f"MoE, 10 % active, batch {batch}", replace(experts, batch=batch)) for batch in sorted({setup.batch, 64})),
        (f"{LONG_CONTEXT:,} tokens of context", replace(setup, context=LONG_CONTEXT)),
    ]  # fmt: skip
    return Grid(
        "What changes it, one thing at a time", "", HEADS, [(name, _change(each)) for name, each in variants]
    )


def _change(setup: Setup) -> list[GridCell]:
    best = setup.best_k()
    here = setup.gain(setup.k)
    return [
        GridCell(f"{setup.free_rows:,.0f}", _rows_note(setup)),
        GridCell(_rate(setup.plain)),
        GridCell(_rate(setup.plain * here)),
        GridCell(f"{here:.2f}×", shade=round(min(1.0, max(0.0, (here - 1) / 1.5)), 3)),
        GridCell(str(best), f"{setup.gain(best):.2f}×" if best else "none pays"),
        GridCell(size(setup.held), _memory_note(setup)),
    ]


def _rows_note(setup: Setup) -> str:
    note = f"rows; a step has {setup.batch * (setup.k + 1)}"
    return f"{note}, each reads more" if setup.target.active < 1 else note


def _memory_note(setup: Setup) -> str:
    memory = setup.peak.memory
    if memory is None:
        return ""
    machines = hardware.machines_needed(memory, setup.held)
    return "fits" if machines == 1 else f"{machines:,} machines"


def _in_gb(count: float) -> str:
    """Return a number of bytes in GB to one decimal, so that the terms of a sum add up as they stand there."""
    return f"{count / GIGA:,.1f} GB"


def size(count: float) -> str:
    """Return a number of bytes in words."""
    unit, name = byte_unit(count)
    return f"{count / unit:.3g} {name}"


def _rate(tokens: float) -> str:
    return f"{tokens:.0f}" if tokens >= 10 else f"{tokens:.2g}"


def _billions(model: Model) -> str:
    return f"{model.parameters / GIGA:.3g} B parameters"
