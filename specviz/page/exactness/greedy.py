"""The check at temperature 0: is the text the target's own greedy text?"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Mapping
from typing import Any

from specviz import Trace
from specviz.bounds import MAX_K, whole
from specviz.decoding.options import DEFAULT_K, DEFAULT_TOKENS
from specviz.errors import SpecVizError
from specviz.exactness.greedy import GreedyCheck, Progress, checking
from specviz.models import catalogue
from specviz.models.pairs import in_float32
from specviz.models.toy import DEFAULT_AGREEMENT
from specviz.page import gallery
from specviz.page.controls import MAX_NEW_TOKENS
from specviz.page.exactness.ask import TOY_PROMPT, as_mapping
from specviz.page.server.shelf import TOY, Shelf
from specviz.page.settings import one_of
from specviz.record.html import as_json

# The opening lesson was found for its coins. At temperature 0 its two best logits come so near to each other that bfloat16 parts the
# texts on many machines; of this run's prompt they never do: `test_the_prompt_that_is_compared_first_is_far_from_a_near_tie`.
STEADY = "code"
TELL_EVERY_S = 0.15


def greedy_settings(trace: Trace | None) -> dict[str, Any]:
    """Return what is run at temperature 0: the run on screen's pair, draft, prompt and K, or the toy where there is none.

    In the opening lesson's place stands the recorded run `STEADY`.
    """
    if trace is None:
        return {"pair": TOY, "draft": "model", "prompt": TOY_PROMPT, "k": DEFAULT_K, "max_new_tokens": DEFAULT_TOKENS, "chat": None}  # fmt: skip
    return _settings_in(gallery.open_recorded(STEADY) if _is_opening(trace) else trace)


def _settings_in(trace: Trace) -> dict[str, Any]:
    settings = trace.data["settings"]
    return read_greedy(
        {
            "pair": settings["pair"],
            "draft": settings["draft"]["kind"],
            "prompt": trace.data["prompt"]["text"],
            "k": max(1, settings["k"]),
            "max_new_tokens": min(settings["max_new_tokens"], MAX_NEW_TOKENS),
            "chat": settings["chat"],
        }
    )


def read_greedy(given: object) -> dict[str, Any]:
    """Return what the browser sends to have it compared again, checked; raises SpecVizError."""
    asked = as_mapping(given)
    prompt, chat = asked.get("prompt"), asked.get("chat")
    return {
        "pair": one_of("pair", asked.get("pair"), catalogue.CATALOGUE),
        "draft": one_of("draft", asked.get("draft"), catalogue.DRAFT_KINDS),
        "prompt": prompt if isinstance(prompt, str) else "",
        "k": whole("K", asked.get("k"), 1, MAX_K),
        "max_new_tokens": whole("The number of new tokens", asked.get("max_new_tokens"), 1, MAX_NEW_TOKENS),
        "chat": chat if isinstance(chat, bool) else None,
    }


def _is_opening(trace: Trace) -> bool:
    recorded = gallery.entries()
    return bool(recorded) and trace.data["run_id"] == f"gallery-{recorded[0].name}"


def greedy(shelf: Shelf, trace: Trace | None) -> Iterator[str]:
    """Run the pair on screen at temperature 0 with and without its draft; yield what to show meanwhile and in the end."""
    try:
        instead = trace is not None and _is_opening(trace)
        yield from _compared(
            shelf, greedy_settings(trace), steady=gallery.entry_of(STEADY).title if instead else None
        )
    except SpecVizError as error:
        yield as_json({"problem": str(error)})


def greedy_again(shelf: Shelf, given: object) -> Iterator[str]:
    """Compare again what the browser sends: `asked`, its settings, or the opening lesson; `float32` in that precision."""
    try:
        sent = as_mapping(given)
        wide = sent.get("float32") is True
        lesson = gallery.entries()[0].name
        asked = read_greedy(sent.get("asked")) if wide else _settings_in(gallery.open_recorded(lesson))
        yield from _compared(shelf, asked, wide=wide)
    except SpecVizError as error:
        yield as_json({"problem": str(error)})


def _compared(
    shelf: Shelf, asked: Mapping[str, Any], *, wide: bool = False, steady: str | None = None
) -> Iterator[str]:
    """Compare what was asked for and tell how far it is; `steady` names the recorded run that it is, where that needs saying."""
    options = dict(asked)
    pair_name, draft = options.pop("pair"), options.pop("draft")
    yield as_json({"busy": "Getting the pair ready."})
    for line in shelf.lines_until_loaded(pair_name):
        yield as_json({"busy": line})
    pair = shelf.pair_here(pair_name, draft, DEFAULT_AGREEMENT)
    for line in shelf.lines_until_free(pair_name):
        yield as_json({"busy": line})
    try:
        with shelf.unloading(pair_name):
            if wide:
                yield as_json({"busy": "Making a copy of the target in float32."})
                pair = in_float32(pair)
            found = yield from _told(checking(pair, options.pop("prompt"), **options))
    finally:
        shelf.free(pair_name)
    yield as_json({**_greedy_words(found), "asked": dict(asked), "steady": steady})


def _told(going: Generator[Progress, None, GreedyCheck]) -> Generator[str, None, GreedyCheck]:
    """Say now and then how far a comparison is, and return what it found."""
    last = 0.0
    while True:
        try:
            there = next(going)
        except StopIteration as end:
            return end.value
        if time.monotonic() - last < TELL_EVERY_S:
            continue
        last = time.monotonic()
        who = "with the draft" if there.with_draft else "the target alone"
        line = f"Temperature 0, {who}: {there.tokens} of {there.most} tokens."
        share = (there.tokens / there.most + there.with_draft) / 2
        yield as_json({"busy": line, "share": round(share, 3)})


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
