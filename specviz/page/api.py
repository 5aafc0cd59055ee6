"""The public endpoints `decode` and `csv`: the same run as the page's, for programs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gradio as gr

from specviz.decoding.options import DEFAULT_K, DEFAULT_SEED, DEFAULT_TOKENS
from specviz.errors import SpecVizError
from specviz.models import catalogue
from specviz.models.toy import DEFAULT_AGREEMENT
from specviz.page.server import zero
from specviz.page.server.shelf import Shelf
from specviz.page.settings import read_settings
from specviz.page.updates import MODEL
from specviz.record.trace import Trace


def build(shelf: Shelf) -> None:
    """Add the endpoints to the page that is being built."""

    def decode(
        prompt: str, pair: str = catalogue.DEFAULT_PAIR, draft: str = "", k: int = DEFAULT_K, temperature: float = 0.8, top_k: int = 0,
        top_p: float = 1.0, max_new_tokens: int = DEFAULT_TOKENS, seed: int = DEFAULT_SEED, chat: bool | None = None,
        agreement: float = DEFAULT_AGREEMENT,
    ) -> dict[str, Any]:  # fmt: skip
        """Decode a prompt speculatively and return the trace: every step's drafts, coins, probabilities and totals."""
        return dict(
            _trace(
                shelf,
                prompt,
                pair,
                draft,
                k,
                temperature,
                top_k,
                top_p,
                max_new_tokens,
                seed,
                chat,
                agreement,
            ).data
        )

    def csv(
        prompt: str, pair: str = catalogue.DEFAULT_PAIR, draft: str = "", k: int = DEFAULT_K, temperature: float = 0.8, top_k: int = 0,
        top_p: float = 1.0, max_new_tokens: int = DEFAULT_TOKENS, seed: int = DEFAULT_SEED, chat: bool | None = None,
        agreement: float = DEFAULT_AGREEMENT,
    ) -> str:  # fmt: skip
        """Decode a prompt speculatively and return the trace as CSV text, one row a cell."""
        return _trace(
            shelf, prompt, pair, draft, k, temperature, top_k, top_p, max_new_tokens, seed, chat, agreement
        ).to_csv()

    for endpoint in (decode, csv):
        gr.api(endpoint, api_name=endpoint.__name__, concurrency_id=MODEL, concurrency_limit=1)


def _trace(shelf: Shelf, *values: object) -> Trace:
    try:
        settings = read_settings(*values)
        pair = shelf.pair(settings.pair, settings.draft, settings.agreement)
        with shelf.turn(pair.name), shelf.unloading(pair.name):
            costs = shelf.costs(pair.name, pair.draft_name)
            return zero.decode(pair, settings.prompt, replace(settings.options, costs=costs))
    except SpecVizError as error:
        raise gr.Error(str(error), print_exception=False) from None
