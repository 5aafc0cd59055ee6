"""The figure under a run: its speedups, step by step."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from specviz.page.charts import BLUE, GREY, ORANGE, plain
from specviz.record.metrics import speedups, summary
from specviz.record.shape import TraceData


def speed_figure(data: TraceData) -> go.Figure:
    """Return a run's cumulative figures over its steps: tokens per target pass, and beside it the speedups there are.

    A speedup that is in doubt is not drawn: a line looks like something known.
    """
    cumulative, figures = speedups(data), summary(data)
    lines = [
        ("tokens per target pass, so far", "tokens_per_pass", BLUE, "solid"),
        ("modelled speedup, so far (× plain decoding)", "speedup_modelled", ORANGE, "solid"),
        ("measured speedup, so far (× plain decoding)", "speedup_measured", BLUE, "dash"),
    ]
    shown = [
        line
        for line in lines
        if any(each[line[1]] is not None for each in cumulative) and not figures.get(f"{line[1]}_doubt")
    ]
    figure = make_subplots(
        rows=1, cols=max(1, len(shown)), horizontal_spacing=0.06, subplot_titles=[line[0] for line in shown]
    )
    steps = [step["step"] for step in data["steps"]]
    for column, (title, key, colour, dash) in enumerate(shown, start=1):
        _line(figure, column, steps, [each[key] for each in cumulative], title, colour, dash)
    figure.update_annotations(font={"size": 16})
    figure.update_xaxes(title_text="step", rangemode="tozero", showgrid=False, zeroline=False)
    figure.update_yaxes(rangemode="tozero", zeroline=False)
    figure.update_layout(margin={"l": 44, "r": 16, "t": 36, "b": 44}, font={"size": 15}, hovermode="x")
    return plain(figure, 280)


def _line(
    figure: go.Figure,
    column: int,
    steps: Sequence[int],
    values: Sequence[float | None],
    name: str,
    colour: str,
    dash: str,
) -> None:
    line = {"color": colour, "width": 3, "dash": dash}
    mode = "lines" if len(steps) > 1 else "markers"
    trace = go.Scatter(
        x=steps, y=values, name=name, mode=mode, line=line, hovertemplate="step %{x}: %{y:.2f}<extra></extra>"
    )
    figure.add_trace(trace, row=1, col=column)
    figure.add_hline(y=1, row=1, col=column, line={"color": GREY, "width": 1.5, "dash": "dot"})
