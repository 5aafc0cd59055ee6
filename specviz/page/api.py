"""The public endpoints `decode` and `csv`: the same run as the page's, for programs."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import gradio as gr

from specviz.errors import SpecVizError
from specviz.page.controls import CONTROLS, NAMES, REQUIRED
from specviz.page.server import zero
from specviz.page.server.shelf import Shelf
from specviz.page.settings import read_settings
from specviz.page.updates import MODEL
from specviz.record.trace import Trace


def build(shelf: Shelf) -> None:
    """Add the endpoints to the page that is being built."""

    def decode(**values: object) -> dict[str, Any]:
        """Decode a prompt speculatively and return the trace: every step's drafts, coins, probabilities and totals."""
        return dict(_trace(shelf, values).data)

    def csv(**values: object) -> str:
        """Decode a prompt speculatively and return the trace as CSV text, one row a cell."""
        return _trace(shelf, values).to_csv()

    for endpoint in (decode, csv):
        gr.api(
            _taking_controls(endpoint),
            api_name=endpoint.__name__,
            concurrency_id=MODEL,
            concurrency_limit=1,
        )


def _taking_controls(endpoint: Callable[..., Any]) -> Callable[..., Any]:
    """Return an endpoint that takes every control by its name, its default where it is left out."""

    @functools.wraps(endpoint)
    def called(*given: object) -> Any:
        return endpoint(**dict(zip(NAMES, given, strict=True)))

    parameters = [
        inspect.Parameter(
            control.name,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=inspect.Parameter.empty if control.default is REQUIRED else control.default,
            annotation=control.takes,
        )
        for control in CONTROLS
    ]
    returned = inspect.signature(endpoint, eval_str=True).return_annotation
    called.__signature__ = inspect.Signature(parameters, return_annotation=returned)  # type: ignore[attr-defined]
    called.__annotations__ = {each.name: each.annotation for each in parameters} | {"return": returned}
    return called


def _trace(shelf: Shelf, values: Mapping[str, object]) -> Trace:
    try:
        settings = read_settings(*(values[name] for name in NAMES))
        pair = shelf.pair(settings.pair, settings.draft, settings.agreement)
        with shelf.turn(pair.name), shelf.unloading(pair.name):
            costs = shelf.costs(pair.name, pair.draft_name)
            return zero.decode(pair, settings.prompt, replace(settings.options, costs=costs))
    except SpecVizError as error:
        raise gr.Error(str(error), print_exception=False) from None
