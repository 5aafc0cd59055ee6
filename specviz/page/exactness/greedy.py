"""The check at temperature 0: is the text the target's own greedy text?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from specviz import Trace
from specviz.decoding.options import DEFAULT_K, DEFAULT_TOKENS
from specviz.errors import SpecVizError
from specviz.exactness.greedy import GreedyCheck, check_greedy
from specviz.models import catalogue
from specviz.models.toy import DEFAULT_AGREEMENT
from specviz.page.controls import MAX_NEW_TOKENS
from specviz.page.exactness.ask import TOY_PROMPT
from specviz.page.server.shelf import TOY, Shelf
from specviz.page.settings import one_of
from specviz.record.html import as_json


def greedy_settings(trace: Trace | None) -> dict[str, Any]:
    """Return what is run at temperature 0: the run on screen's pair, draft, prompt and K, or the toy where there is none."""
    if trace is None:
        return {"pair": TOY, "draft": "model", "prompt": TOY_PROMPT, "k": DEFAULT_K, "max_new_tokens": DEFAULT_TOKENS, "chat": None}  # fmt: skip
    settings = trace.data["settings"]
    return {
        "pair": one_of("pair", settings["pair"], catalogue.CATALOGUE),
        "draft": one_of("draft", settings["draft"]["kind"], catalogue.DRAFT_KINDS),
        "prompt": trace.data["prompt"]["text"],
        "k": max(1, settings["k"]),
        "max_new_tokens": min(settings["max_new_tokens"], MAX_NEW_TOKENS),
        "chat": settings["chat"],
    }


def greedy(shelf: Shelf, trace: Trace | None) -> Iterator[str]:
    """Run the pair on screen at temperature 0 with and without its draft; yield what to show meanwhile and in the end."""
    try:
        asked = greedy_settings(trace)
        pair_name, draft = asked.pop("pair"), asked.pop("draft")
        yield as_json({"busy": "Getting the pair ready."})
        for line in shelf.lines_until_loaded(pair_name):
            yield as_json({"busy": line})
        pair = shelf.pair_here(pair_name, draft, DEFAULT_AGREEMENT)
        for line in shelf.lines_until_free(pair_name):
            yield as_json({"busy": line})
        try:
            yield as_json({"busy": "Running it at temperature 0, with the draft and without."})
            with shelf.unloading(pair_name):
                found = check_greedy(pair, asked.pop("prompt"), **asked)
        finally:
            shelf.free(pair_name)
        yield as_json(_greedy_words(found))
    except SpecVizError as error:
        yield as_json({"problem": str(error)})


def _greedy_words(found: GreedyCheck) -> dict[str, Any]:
    settings, tokens, contest = found.trace.data["settings"], found.trace.data["tokens"], found.contest
    draft = settings["draft"]
    return {
        "pair": settings["pair"],
        "draft": draft["name"] if draft["kind"] == "model" else draft["kind"],
        "k": settings["k"],
        "dtype": found.trace.data["weights"]["target"]["dtype"],
        "ours": [tokens[str(token)] for token in found.trace.token_ids],
        "plain": [tokens[str(token)] for token in found.plain],
        "equal": found.equal,
        "contest": contest
        and {
            "index": contest.index,
            "rows": contest.rows,
            "one_row": contest.one_row,
            "many_rows": contest.many_rows,
            "allowed": contest.allowed,
            "near_tie": contest.near_tie,
        },
    }
