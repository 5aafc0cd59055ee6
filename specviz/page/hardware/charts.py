"""The charts of the tab "Hardware": the roofline, the bytes that are moved, and what a batch does to the gain."""

from __future__ import annotations

from math import log10

import plotly.graph_objects as go

from specviz.bounds import MAX_K
from specviz.page.charts import (
    BLUE,
    GREY,
    INK,
    ORANGE,
    RING,
    ROOM,
    finish,
    ink,
    key,
    level,
    line,
    mark,
)  # fmt: skip
from specviz.speed import hardware
from specviz.speed.hardware import Machine, Model

BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
DOT = {"symbol": "circle", "size": 16, "color": BLUE}
TERA = 1e12


def roofline_figure(machine: Machine, target: Model, batch: int, k: int, context: float) -> go.Figure:
    """Return what a machine can do at each intensity, with a plain pass and one over K + 1 rows on it; both axes in decades.

    An overhead puts the passes below the roof.
    """
    cached = batch * context
    plain, checked = (hardware.intensity(target, rows, cached) for rows in (batch, batch * (k + 1)))
    done, done_checked = (reached(machine, target, rows, cached) for rows in (batch, batch * (k + 1)))
    lowest = min(0.5, plain / 2)
    highest = 4 * max(machine.balance, checked)
    figure = go.Figure()
    roof = [lowest, machine.balance, highest]
    line(
        figure,
        roof,
        [_attained(machine, x) for x in roof],
        INK,
        "%{x:.3g} FLOP/byte: %{y:.3g} TFLOP/s<extra></extra>",
    )
    figure.add_shape(
        type="line", x0=machine.balance, x1=machine.balance, y0=_attained(machine, lowest), y1=machine.flops / TERA,
        line={"color": GREY, "width": 2.5, "dash": "dot"},
    )  # fmt: skip
    mark(figure, plain, done / TERA, DOT)
    mark(figure, checked, done_checked / TERA, RING)
    key(
        figure,
        f"{ink(BLUE, '●')} plain, {_rows(batch)}: {percent(done / machine.flops)} busy",
        f"○ checking {_rows(batch * (k + 1))}: {percent(done_checked / machine.flops)} busy",
        f"{ink(GREY, '┄┄')} balance: {machine.balance:.3g} FLOP/byte",
        left=True,
    )
    figure.update_xaxes(type="log", dtick=1, exponentformat="none")
    figure.update_yaxes(
        type="log",
        dtick=1,
        exponentformat="none",
        range=_decades(min(_attained(machine, lowest), done / TERA), machine.flops / TERA),
    )
    return finish(figure, "FLOP for each byte read", "TFLOP/s at most")


def _attained(machine: Machine, intensity: float) -> float:
    return min(machine.flops, machine.bytes_per_s * intensity) / TERA


def reached(machine: Machine, model: Model, rows: float, cached: float) -> float:
    """Return the operations a second of a pass, at most."""
    return hardware.operations(model, rows) / hardware.pass_seconds(machine, model, rows, cached)


def percent(share: float) -> str:
    """Return a share as a percentage with two digits."""
    return f"{100 * share:.2g} %" if share < 0.995 else "100 %"


def _rows(rows: int) -> str:
    return f"{rows} row{'s' * (rows != 1)}"


def _decades(low: float, high: float) -> list[float]:
    """Return a logarithmic axis's range, with a decade and a half above the data for the key."""
    return [log10(low) - 0.2, log10(high) + 1.6]


def bytes_figure(target: Model, draft: Model, alpha: float, k: int, tokens: int, context: float) -> go.Figure:
    """Return the bytes read for some tokens, without a draft and with one."""
    plain, _ = hardware.bytes_moved(target, draft, alpha, 0, tokens, context)
    ours, drafts = hardware.bytes_moved(target, draft, alpha, k, tokens, context)
    unit, name = byte_unit(plain)
    sides = ["with a draft", "plain"]
    figure = go.Figure()
    for colour, values in ((BLUE, [ours, plain]), (ORANGE, [drafts, 0.0])):
        figure.add_trace(go.Bar(
            y=sides, x=[value / unit for value in values], orientation="h", marker={"color": colour}, width=0.55, hovertemplate=f"%{{x:.3g}} {name}<extra></extra>",
        ))  # fmt: skip
    for side, total in zip(sides, (ours + drafts, plain), strict=True):
        figure.add_annotation(
            x=total / unit, y=side, text=f"<b>{total / unit:.3g} {name}</b>", xanchor="left", xshift=8, showarrow=False, font={"size": 18, "color": INK},
        )  # fmt: skip
    figure.update_layout(barmode="stack", yaxis_showgrid=False)
    figure.update_xaxes(range=[0, 1.3 * max(plain, ours + drafts) / unit])
    return finish(figure, f"read for {tokens} tokens, {name}", "")


def byte_unit(size: float) -> tuple[float, str]:
    """Return the unit that a number of bytes is best told in."""
    for unit, name in ((1e15, "PB"), (1e12, "TB"), (1e9, "GB")):
        if size >= unit:
            return unit, name
    return 1e6, "MB"


def batch_figure(
    machine: Machine, target: Model, draft: Model, alpha: float, k: int, batch: int, context: float
) -> go.Figure:
    """Return the gain over plain decoding against the batch, at K and at the K that is best for each batch."""
    at_k = [hardware.gain(machine, target, draft, alpha, k, each, context) for each in BATCHES]
    best = [
        max(
            hardware.gain(machine, target, draft, alpha, each_k, each, context) for each_k in range(MAX_K + 1)
        )
        for each in BATCHES
    ]
    here = hardware.gain(machine, target, draft, alpha, k, batch, context)
    figure = go.Figure()
    line(figure, BATCHES, best, GREY, "batch %{x}, best K: %{y:.2f}×<extra></extra>", dash="dash")
    line(figure, BATCHES, at_k, INK, f"batch %{{x}}, K = {k}: %{{y:.2f}}×<extra></extra>")
    level(figure, 1)
    mark(figure, batch, here, RING)
    key(figure, f"○ batch {batch}, K = {k}: {here:.2f}×", f"{ink(GREY, '– –')} the best K for each batch")
    figure.update_xaxes(type="log", tickvals=BATCHES[::2], tickangle=0)
    figure.update_yaxes(range=[0, ROOM * max(*at_k, *best, here)])
    return finish(figure, "sequences together, the batch", "× plain decoding")
