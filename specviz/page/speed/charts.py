"""The charts of the tab "Speed": what a pass costs, how far drafts come, and what follows for the speed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import plotly.graph_objects as go

from specviz import theory
from specviz.bounds import MAX_K, MOST_ROWS
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
from specviz.record.shape import Costs

STEPS = 50
LEVELS = {"start": 0.5, "end": 6.0, "size": 0.5}
GREYS = [[0, "rgba(91,101,112,0)"], [1, "rgba(91,101,112,0.8)"]]
STAR = {"symbol": "star", "size": 17, "color": INK}
DIAMOND = {"symbol": "diamond", "size": 16, "color": BLUE}


class Ran(NamedTuple):
    """What a run gave at its K, and the words for it: "measured", or "recorded" where another process made it."""

    k: int
    value: float
    words: str


def passes_figure(costs: Costs, k: int) -> go.Figure:
    """Return a target pass's time over its rows, in units of one row, with c and o beside it and K + 1 rows ringed.

    Where the costs came with the bounds of their rounds, a bar behind each point shows them.
    """
    row_ms = costs["target_ms"][0]
    v = [ms / row_ms for ms in costs["target_ms"]]
    c, o = costs["draft_ms"] / row_ms, costs["rest_ms"] / row_ms
    rows = list(range(1, len(v) + 1))
    figure = go.Figure()
    if "timing" in costs:
        bounds = [
            (low / row_ms, high / row_ms)
            for low, high in zip(costs["timing"]["target_low"], costs["timing"]["target_high"], strict=True)
        ]
        figure.add_trace(go.Scatter(
            x=[x for row in rows for x in (row, row, None)], y=[y for pair in bounds for y in (*pair, None)], mode="lines",
            line={"color": BLUE, "width": 7}, opacity=0.35, hoverinfo="skip",
        ))  # fmt: skip
    line(figure, rows, v, BLUE, "%{x} rows: %{y:.2f}<extra></extra>", markers=True)
    mark(figure, k + 1, v[k], RING)
    level(figure, 1)
    for share, colour in ((c, ORANGE), (o, GREY)):
        figure.add_hline(y=share, line={"color": colour, "width": 3.5})
    drafting = f"one draft forward: c = {c:.2f}" if c else "drafting takes no forward: c = 0"
    key(
        figure,
        f"○ K + 1 = {k + 1} rows: v = {v[k]:.2f}",
        f"{ink(ORANGE, '━━')} {drafting}",
        f"{ink(GREY, '━━')} the rest of a step: o = {o:.2f}",
    )
    figure.update_xaxes(tickvals=[1, 3, 5, 9, 13, MOST_ROWS], range=[0.4, MOST_ROWS + 0.6])
    figure.update_yaxes(range=[0, ROOM * max(*v, c, o)])
    return finish(figure, "rows in the pass, R", f"time / one row ({row_ms:.3g} ms)")


def positions_figure(shares: Sequence[float], alpha: float) -> go.Figure:
    """Return the share of steps that kept the first i drafts, for i from 1, beside alpha^i."""
    positions = list(range(1, len(shares) + 1))
    predicted = theory.kept_so_far(alpha, len(shares))
    figure = go.Figure(go.Bar(
        x=positions, y=list(shares), marker={"color": ORANGE}, width=0.6, text=[f"{share:.2f}" for share in shares], textposition="inside",
        insidetextanchor="start", textangle=0, textfont={"size": 17}, constraintext="none", hovertemplate="first %{x} kept: %{y:.3f}<extra></extra>",
    ))  # fmt: skip
    figure.add_trace(go.Scatter(
        x=positions, y=predicted, mode="lines+markers", line={"color": INK, "width": 2, "dash": "dot"}, marker={"color": INK, "size": 11},
        hovertemplate="α^%{x} = %{y:.3f}<extra></extra>",
    ))  # fmt: skip
    key(figure, f"● α<sup>i</sup> with α = {alpha:.2f}")
    figure.update_xaxes(dtick=1 if len(shares) <= 8 else 2, range=[0.4, len(shares) + 0.6])
    figure.update_yaxes(range=[0, 1.12], tickvals=[0, 0.25, 0.5, 0.75, 1])
    return finish(figure, "the first i drafts of a step, i", "share that kept them all")


def tokens_figure(alpha: float, k: int, ran: Ran | None) -> go.Figure:
    """Return the expected tokens per target pass against K, and what a run gave."""
    ks = list(range(MAX_K + 1))
    expected = [theory.expected_tokens(alpha, each) for each in ks]
    figure = go.Figure()
    line(figure, ks, expected, INK, "K = %{x}: %{y:.2f}<extra></extra>")
    level(figure, 1)
    mark(figure, k, expected[k], RING)
    lines = [f"○ K = {k}: {expected[k]:.2f}"]
    if ran:
        mark(figure, ran.k, ran.value, DIAMOND)
        lines.append(f"{ink(BLUE, '◆')} {ran.words}: {ran.value:.2f}")
    key(figure, *lines)
    figure.update_yaxes(range=[0, ROOM * max(*expected, ran.value if ran else 0)])
    return finish(_ks(figure), "drafts a step, K", "tokens per target pass")


def speedup_figure(
    alpha: float,
    c: float,
    verify: Sequence[float] | None,
    rest: float,
    k: int,
    ran: Ran | None,
    in_doubt: bool = False,
) -> go.Figure:
    """Return the speedup against K: with a pair's costs where there are some (solid), Leviathan's ideal (dashed).

    Where the costs are `in_doubt`, no K is called the best.
    """
    ks = list(range(1, MAX_K + 1))
    ideal = [theory.speedup(alpha, each, c) for each in ks]
    modelled = [theory.speedup(alpha, each, c, verify[each], rest) for each in ks] if verify else ideal
    best = theory.best_k(alpha, c, verify, rest)
    figure = go.Figure()
    line(figure, ks, ideal, GREY, "ideal, K = %{x}: %{y:.2f}×<extra></extra>", dash="dash")
    if verify:
        line(figure, ks, modelled, INK, "modelled, K = %{x}: %{y:.2f}×<extra></extra>")
    level(figure, 1)
    mark(figure, k, modelled[k - 1], RING)
    lines = [f"{ink(GREY, '– –')} ideal: v = 1, o = 0"]
    if not in_doubt:
        if best[0]:
            mark(figure, *best, STAR)
        lines.append(f"★ best K = {best[0]}: {best[1]:.2f}×" if best[0] else "no K pays")
    if ran:
        mark(figure, ran.k, ran.value, DIAMOND)
        lines.append(f"{ink(BLUE, '◆')} {ran.words}: {ran.value:.2f}×")
    key(figure, *lines)
    figure.update_yaxes(range=[0, ROOM * max(1.0, *ideal, *modelled, ran.value if ran else 0)])
    return finish(_ks(figure), "drafts a step, K", "speedup, × plain decoding")


def map_figure(
    k: int, verify: float, rest: float, here: tuple[float, float], pair: tuple[float, float] | None
) -> go.Figure:
    """Return the speedup over (acceptance, c) at one K; `here` is (alpha, c) of the sliders, `pair` the run's own."""
    alphas = [i / STEPS for i in range(STEPS + 1)]
    surface = [[round(theory.speedup(alpha, k, c, verify, rest), 3) for alpha in alphas] for c in alphas]
    shared: dict[str, Any] = {"x": alphas, "y": alphas, "z": surface, "showscale": False}
    figure = go.Figure(go.Contour(
        **shared, contours={**LEVELS, "coloring": "fill", "showlabels": True, "labelfont": {"size": 16, "color": INK}, "labelformat": ".1f"},
        colorscale=GREYS, zmin=1, zmax=4, line={"width": 1, "color": GREY}, hovertemplate="α %{x:.2f}, c %{y:.2f}: %{z:.2f}×<extra></extra>",
    ))  # fmt: skip
    figure.add_trace(go.Contour(
        **shared, contours={"start": 1, "end": 1, "size": 1, "coloring": "none"}, line={"width": 4, "color": INK}, hoverinfo="skip",
    ))  # fmt: skip
    if pair and pair != here:
        mark(figure, *pair, {"symbol": "circle", "size": 12, "color": INK})
    mark(figure, *here, RING)
    words = "this pair" if pair == here else "here"
    lines = [f"○ {words}: {theory.speedup(*here[:1], k, here[1], verify, rest):.2f}×"]
    if pair and pair != here:
        lines.append(f"● this pair: {theory.speedup(*pair[:1], k, pair[1], verify, rest):.2f}×")
    key(figure, *lines, left=True)
    figure.update_xaxes(range=[0, 1], tickvals=[0, 0.25, 0.5, 0.75, 1])
    figure.update_yaxes(range=[0, 1], tickvals=[0, 0.25, 0.5, 0.75, 1])
    return finish(figure, "acceptance, α", "one draft forward, c")


def _ks(figure: go.Figure) -> go.Figure:
    return figure.update_xaxes(tickvals=[0, 2, 4, 8, 12, MAX_K], range=[-0.4, MAX_K + 0.4])
