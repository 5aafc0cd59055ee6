"""Run by `test_zero.py` in a process of its own: app.py as a ZeroGPU Space has it, then what visitors do there.

Prints one line of JSON that says what came of it.
"""

import json
import os
import types

import app  # noqa: F401  imports spaces first
from specviz import Trace, replay
from specviz.decoding.options import RunOptions
from specviz.errors import SpecVizError
from specviz.page import api, launch
from specviz.page.controls import NAMES
from specviz.page.server import zero
from specviz.page.step.handlers import Handlers
from specviz.page.updates import OUTPUTS
from tests.visits import updates_of

ASKED = ("Once upon a time", "smollm2-135m", "model", 4, 0.8, 0, 1.0, 12, 7, False, 0.9)


def player(updates):
    """Return what a handler's updates showed in the player, whole runs and live windows, and the last status line."""
    shown = [
        json.loads(each[OUTPUTS.index("player")])
        for each in updates
        if isinstance(each[OUTPUTS.index("player")], str)
    ]
    said = [
        each[OUTPUTS.index("status")] for each in updates if isinstance(each[OUTPUTS.index("status")], str)
    ]
    return shown, json.loads(said[-1])["text"]


def serve_without_a_browser():
    """Go through `launch.serve` as far as the page being served, and return its shelf."""
    kept = {}
    launch.launch = lambda page, **options: kept.update(loaded=list(zero._lent))
    launch.build_page = lambda shelf, *arguments: (
        kept.update(shelf=shelf) or types.SimpleNamespace(block_thread=lambda: None)
    )
    assert launch.serve() == 0
    assert kept["loaded"] == ["smollm2-135m"], "the pair has to be loaded before the page is served"
    return kept["shelf"]


def main():
    import spaces

    shelf = serve_without_a_browser()
    handlers, visitor = Handlers(shelf), types.SimpleNamespace(session_hash="me")
    shown, said = player(updates_of(handlers.run(visitor, *ASKED)))
    trace = Trace(shown[-1]["trace"])
    again = api._trace(shelf, dict(zip(NAMES, ASKED, strict=True)))
    plain = list(handlers.time_plain_loop(visitor, trace))
    refused = None
    try:
        zero.begin(shelf.pair("smollm2-135m", "self", 0.9), " ", RunOptions())
    except SpecVizError as error:
        refused = str(error)
    toy = api._trace(shelf, dict(zip(NAMES, ("1 15 42", "toy", *ASKED[2:]), strict=True)))

    stopped = zero.begin(
        shelf.pair("smollm2-135m", "self", 0.9), "Once", RunOptions(max_new_tokens=200, seed=1)
    )
    first = next(stopped)
    stopped.stop()
    own = shelf.pair("smollm2-135m", "model", 0.9)
    branch = zero.start_branch(own, trace, step=1, position=1, purpose="draft", u=0.5)
    steps = [step["step"] for step in branch]
    print(
        json.dumps(
            {
                "functions": spaces.seen["functions"],
                "processes": len(set(spaces.seen["pids"]) - {os.getpid()}),
                "said": said,
                "differences": replay(trace),
                "steps": len(trace.data["steps"]),
                "texts": [trace.data["token_ids"], again.data["token_ids"]],
                "named": all(str(token) in trace.data["tokens"] for token in trace.data["token_ids"]),
                "stop": trace.data["stop"],
                "plain": player(plain)[1],
                "refused": refused,
                "toy": toy.data["settings"]["pair"],
                "stopped": [
                    first["step"],
                    list(stopped),
                    stopped.trace.data["stop"],
                    len(stopped.trace.data["steps"]),
                ],
                "branch": [
                    branch.trace.data["parent"] == trace.data["run_id"],
                    steps[:2],
                    replay(branch.trace),
                ],
                "costs": shelf.is_measuring("smollm2-135m", "smollm2-135m-draft"),
            }
        )
    )


if __name__ == "__main__":
    main()
