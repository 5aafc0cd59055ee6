"""How often a busy machine makes the page say something false about speed: measurements beside bursts of other work, and alone.

    python -m scripts.false_verdicts alone v.json        # on a quiet machine: this is the truth
    python -m scripts.false_verdicts bursts v.json       # makes the bursts itself
    python -m scripts.false_verdicts report v.json       # what was stated, what was in doubt, and what was false

Measured are, in turn: the pair's costs, a race, and one block of the sweep. What the page states of each is counted, and how
much of that is false: v below 1, a speedup above its own tokens per pass, or one on the other side of 1 than the same
measurement on the quiet machine says. What is marked as in doubt states nothing, and is counted as that. Bursts are those of
`scripts.noise`. A measurement takes half a minute alone and up to two beside bursts; what was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from specviz import Pair, Sampling, Trace, load_pair, measure_costs, race
from specviz.models.catalogue import DEFAULT_PAIR
from specviz.record.doubts import doubt_of_costs
from specviz.speed.sweep import FIRST_KS, Task, sweep

PROMPT, TEMPERATURE, SEED = "Tell me a short story about a lighthouse.", 0.8, 7
TOKENS = 32
CERTAIN = 0.03  # a quiet median nearer to 1 than this has no side of 1

Statement = dict[str, Any]  # what: which figure; speedup or v; per_pass; doubt: why it is not stated


def states(pair: Pair) -> list[Statement]:
    """Measure once what the page measures, and return what it would state."""
    costs = measure_costs(pair)
    doubt, rows = doubt_of_costs(costs), costs["target_ms"]
    said: list[Statement] = [
        {"what": f"v({count})", "v": ms / rows[0], "doubt": doubt} for count, ms in enumerate(rows, start=1)
    ]
    sampling = Sampling(TEMPERATURE)
    timed: Trace = race(pair, PROMPT, sampling=sampling, seed=SEED, max_new_tokens=TOKENS, costs=costs)
    for kind in ("modelled", "measured"):
        said.append(_speedup(f"{kind} speedup", timed.metrics, kind))
    *_, cells = sweep(
        pair, Task(PROMPT, sampling, SEED, None, TOKENS), lambda: True, [(TEMPERATURE, FIRST_KS)]
    )
    for cell in cells:
        if cell.speedup:
            low, high = cell.speedup.low, cell.speedup.high
            said.append(
                {"what": f"sweep, K {cell.k}", "speedup": cell.speedup.median, "low": low, "high": high,
                 "per_pass": cell.tokens_per_pass, "doubt": cell.doubt}
            )  # fmt: skip
    return said


def _speedup(what: str, figures: dict[str, Any], kind: str) -> Statement:
    low, high = (figures[f"speedup_{kind}_{bound}"] for bound in ("low", "high"))
    return {
        "what": what, "speedup": figures[f"speedup_{kind}"], "low": low, "high": high,
        "per_pass": figures["tokens_per_pass"], "doubt": figures[f"speedup_{kind}_doubt"],
    }  # fmt: skip


def falsehoods(said: Statement, truth: dict[str, float]) -> list[str]:
    """Return what is false about a statement; nothing where it is in doubt, and so not stated."""
    if said["doubt"]:
        return []
    if "v" in said:
        return ["v below 1"] if said["v"] < 0.97 else []
    found = ["above its tokens per pass"] if said["speedup"] > said["per_pass"] * 1.03 else []
    true, side = truth.get(said["what"], 1.0), _side(said["low"], said["high"])
    if abs(true - 1) > CERTAIN and side == -_side(true, true):
        found.append("the wrong side of 1")
    return found


def _side(low: float, high: float) -> int:
    return 1 if low > 1 else -1 if high < 1 else 0


def truth_of(times: list[list[Statement]]) -> dict[str, float]:
    """Return each speedup's median over measurements that were not in doubt."""
    known: dict[str, list[float]] = {}
    for each in (said for once in times for said in once if "speedup" in said and not said["doubt"]):
        known.setdefault(each["what"], []).append(each["speedup"])
    return {what: statistics.median(values) for what, values in known.items()}


def report(name: str, times: list[list[Statement]], truth: dict[str, float]) -> None:
    """Print how many figures were stated, in doubt, and false, and each figure's spread among those that were stated."""
    every = [said for once in times for said in once]
    stated = [said for said in every if not said["doubt"]]
    false = Counter(what for said in stated for what in falsehoods(said, truth))
    print(
        f"{name}: {len(times)} measurements, {len(every)} figures, {len(stated)} stated, {len(every) - len(stated)} in doubt, "
        f"{sum(false.values())} false{': ' + str(dict(false)) if false else ''}"
    )
    for what in truth:
        values = [said["speedup"] for said in stated if said["what"] == what]
        if values:
            print(
                f"  {what}: {len(values)} of {len(times)} stated, {statistics.median(values):.2f} "
                f"({min(values):.2f} to {max(values):.2f}); alone {truth[what]:.2f}"
            )


def main() -> int:
    """Measure, or report; return the exit status: 1 where something false was stated."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=("alone", "bursts", "report"))
    parser.add_argument(
        "file", type=Path, help="every statement, as JSON; what is measured is added to it at once"
    )
    parser.add_argument("--times", type=int, default=20, help="measurements (20)")
    asked = parser.parse_args()
    kept: dict[str, list[list[Statement]]] = json.loads(asked.file.read_text()) if asked.file.exists() else {}
    if asked.what == "report":
        truth = truth_of(kept["alone"])
        for name, times in kept.items():
            report(name, times, truth)
        return int(any(falsehoods(said, truth) for times in kept.values() for once in times for said in once))
    pair = load_pair(DEFAULT_PAIR)
    if asked.what == "alone":
        _measure(pair, asked, kept)
        return 0
    with subprocess.Popen([sys.executable, "-m", "scripts.noise", "--seconds", "86400"]) as bursts:
        try:
            _measure(pair, asked, kept)
        finally:
            bursts.terminate()
    return 0


def _measure(pair: Pair, asked: argparse.Namespace, kept: dict[str, list[list[Statement]]]) -> None:
    """Measure until the file holds as many measurements as were asked for; what was stopped goes on there."""
    begun, done = time.monotonic(), kept.setdefault(asked.what, [])
    while len(done) < asked.times:
        done.append(states(pair))
        asked.file.write_text(json.dumps(kept))
        print(
            f"{asked.what}: {len(done)} of {asked.times}, {time.monotonic() - begun:.0f} s", file=sys.stderr
        )


if __name__ == "__main__":
    sys.exit(main())
