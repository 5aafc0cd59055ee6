"""What the charts share: plotly figures without a theme, whose text and lines take their colours from the page's styles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

BLUE, ORANGE, GREY, INK = "#0072b2", "#e69f00", "#5b6570", "#15191e"
CLEAR = "rgba(0,0,0,0)"
LAB_HEIGHT = 380
KEY_LINE = 24
ROOM = 1.45  # how much higher than the data a figure is, for its key
RING = {"symbol": "circle-open", "size": 22, "color": INK, "line": {"width": 3, "color": INK}}


def plain(figure: go.Figure, height: int) -> go.Figure:
    """Return a figure of a given height without a theme, a legend or a background; as wide as its place."""
    return figure.update_layout(
        template="none", height=height, autosize=True, paper_bgcolor=CLEAR, plot_bgcolor=CLEAR, showlegend=False,
        font_family="system-ui, sans-serif",
    )  # fmt: skip


def line(
    figure: go.Figure,
    x: Sequence[float],
    y: Sequence[float],
    colour: str,
    hover: str,
    dash: str = "solid",
    markers: bool = False,
) -> None:
    """Draw a line."""
    figure.add_trace(go.Scatter(
        x=list(x), y=list(y), mode="lines+markers" if markers else "lines", line={"color": colour, "width": 4, "dash": dash},
        marker={"size": 9}, hovertemplate=hover,
    ))  # fmt: skip


def mark(figure: go.Figure, x: float, y: float, marker: Mapping[str, Any]) -> None:
    """Put one mark."""
    figure.add_trace(go.Scatter(x=[x], y=[y], mode="markers", marker=dict(marker), hoverinfo="skip"))


def ink(colour: str, text: str) -> str:
    """Return text in a colour, for a key."""
    return f'<span style="color:{colour}">{text}</span>'


def level(figure: go.Figure, y: float) -> None:
    """Draw a dotted line across."""
    figure.add_hline(y=y, line={"color": GREY, "width": 2.5, "dash": "dot"})


def key(figure: go.Figure, *lines: str, left: bool = False) -> None:
    """Say what the marks are, above the data, in the corner on the right or the left."""
    side = "left" if left else "right"
    for number, line in enumerate(lines):
        figure.add_annotation(
            x=0.02 if left else 1, y=1, xref="paper", yref="paper", xanchor=side, yanchor="top", yshift=-KEY_LINE * number,
            text=line, showarrow=False, align=side, font={"size": 17, "color": INK},
        )  # fmt: skip


def finish(figure: go.Figure, x: str, y: str) -> go.Figure:
    """Return a lab's figure with its axes named; it takes no zoom and no drag, which a touch screen needs for scrolling."""
    axis: dict[str, Any] = {
        "zeroline": False,
        "title_font": {"size": 17},
        "tickfont": {"size": 16},
        "fixedrange": True,
    }
    figure.update_xaxes(title_text=x, showgrid=False, **axis)
    figure.update_yaxes(title_text=y, gridcolor="#d5dbe1", automargin=True, title_standoff=10, **axis)
    figure.update_layout(
        margin={"l": 62, "r": 18, "t": 14, "b": 56}, dragmode=False, hoverlabel={"font": {"size": 16}}
    )
    return plain(figure, LAB_HEIGHT)
