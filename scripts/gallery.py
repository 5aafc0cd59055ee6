"""Record the gallery: assets/gallery/*.json, one trace of the default pair a run, and index.json, which the page's menu reads.

Usage, from the repository's root: python -m scripts.gallery [FOLDER]

Run it again whenever the draft changes, on a machine that does nothing else: the same weights give the same runs, only their
milliseconds differ, and what is in doubt of those is printed. The texts are the models' own, so read them before you publish them.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from specviz import Pair, Sampling, Trace, decode, load_pair, measure_costs, race, start, with_draft
from specviz.decoding.coins import Coins
from specviz.errors import SpecVizError
from specviz.record.shape import Costs

FOLDER = Path(__file__).resolve().parents[1] / "assets" / "gallery"
K = 4
TOKENS = 64
SEEDS = range(1, 3001)

# What a hot model blurts out at random, and what no class needs to read.
UNFIT = re.compile(
    r"\b(kill|murder|suicid|dead|death|die[ds]?\b|dying|blood|gun|weapon|bomb|war\b|drug|alcohol|drunk|sex|nud[ei]|porn|rape|abus"
    r"|nazi|hitler|terror|hate|racis|slave|damn|hell\b|shit|fuck|bitch|cancer|inpatient|patient|burn)",
    re.IGNORECASE,
)

LIGHTHOUSE = "Tell me a short fairy tale about a lighthouse keeper. Begin with: Once upon a time"
LINE = "The old keeper lit the lamp, looked out over the grey sea and waited for the storm.\n"
COPIES = LINE * 2
SEA = "Describe the sea early in the morning."


@dataclass(frozen=True)
class Plan:
    """What to record: a prompt, what drafts for it, how, and the first of its seeds with which it `ends` as it should."""

    name: str
    title: str
    look_for: str
    prompt: str
    draft: str = "model"
    temperature: float = 0.7
    tokens: int = TOKENS
    chat: bool = True
    seeds: Iterable[int] = range(7, 107)
    ends: Callable[[Trace], bool] | None = None


def states(step: dict[str, Any]) -> list[str]:
    """Return the states of a step's cells, the final draw's last."""
    return [draft["state"] for draft in step["drafts"]] + ([step["final"]["kind"]] if step["final"] else [])


OPENING = (["accepted"] * K + ["bonus"], ["accepted", "accepted", "rejected", "discarded", "residual"])


def tells_the_story(trace: Trace) -> bool:
    """Whether the first two steps are what the captions tell: all kept, then a third draft rejected.

    That one is a visible token, likely enough to be seen in a chart, and its coin had something to decide.
    """
    first, second = trace.data["steps"][:2]
    if (states(first), states(second)) != OPENING:
        return False
    rejected = second["drafts"][2]
    visible = any(character.isalnum() for character in trace.data["tokens"][str(rejected["id"])])
    return visible and rejected["q"] > 0.05 and 0.1 < rejected["p"] / rejected["q"] < 0.9


def copies_the_line(trace: Trace) -> bool:
    """Whether the target did repeat the line, if not all of it."""
    return LINE.split(", ")[1].strip() in trace.text


def ends_inside_a_block(trace: Trace) -> bool:
    """Whether the end token was kept with drafts after it that no coin was tossed for."""
    last = trace.data["steps"][-1]
    return trace.data["stop"] == "end" and last["final"] is None and states(last)[-1] == "discarded"


PLANS = (
    Plan(
        "opening",
        "The opening lesson",
        "Its seed was chosen by a script, so that the first two steps show all five outcomes.",
        LIGHTHOUSE,
        seeds=SEEDS,
    ),
    Plan(
        "code",
        "Boilerplate code",
        "Where does the draft guess whole lines, and at which tokens does it stumble?",
        "Write a Python class Point with x and y, with the methods __init__, __add__ and __repr__.",
        temperature=0.3,
    ),
    Plan(
        "copies",
        "A line that stands twice in the prompt",
        "The target shortens the line, and repeats it in its short form. Does the small draft see that coming?",
        COPIES,
        temperature=0.3,
        tokens=40,
        ends=copies_the_line,
        chat=False,
    ),
    Plan(
        "lookup",
        "The same prompt, with prompt lookup as draft",
        "No draft model at all: it proposes what followed the same words before. When is that a good guess?",
        COPIES,
        draft="lookup",
        temperature=0.3,
        tokens=40,
        ends=copies_the_line,
        chat=False,
    ),
    Plan(
        "names",
        "Names and numbers",
        "Where a name or a number begins, nobody can guess; how does the draft do in the middle of one?",
        "List eight cities in Italy, each with the number of people who live there.",
    ),
    Plan(
        "cold",
        "Temperature 0",
        "Both models name one favourite: the same one is kept, another one rejected. No coin is needed.",
        SEA,
        temperature=0.0,
    ),
    Plan(
        "warm",
        "Temperature 0.7",
        "The same prompt with coins. Which rejections would have been kept with another coin?",
        SEA,
    ),
    Plan(
        "hot",
        "Temperature 1.5",
        "The same prompt with flat laws: how much of p and q still overlaps, and what becomes of the text?",
        SEA,
        temperature=1.5,
        tokens=32,
    ),
    Plan(
        "self",
        "The target drafts for itself",
        "One model on both sides: p and q differ by rounding alone, nearly every draft is kept. Is that faster? Look at the step's clock.",
        SEA,
        draft="self",
        tokens=40,
    ),
    Plan(
        "noise",
        "Noise drafts",
        "The draft knows nothing, so nearly nothing is kept. Is the text any worse for it?",
        SEA,
        draft="noise",
        tokens=40,
    ),
    Plan(
        "ending",
        "An end inside a block",
        "In the last step the end token is kept: what was drafted after it is not used, and there is no final draw.",
        "Say good morning to the class in one short sentence.",
        seeds=SEEDS,
        ends=ends_inside_a_block,
    ),
)


def record(pair: Pair, costs: Costs | None, plan: Plan) -> Trace:
    """Record a plan with the first of its seeds whose text is fit for a class and ends as it should; else SpecVizError."""
    for seed in plan.seeds:
        options = options_of(plan, seed)
        trace = decode(pair, plan.prompt, costs=costs, **options)
        if not UNFIT.search(trace.text) and (plan.ends is None or plan.ends(trace)):
            timed = race(pair, plan.prompt, costs=costs, **options)
            timed.data["run_id"] = f"gallery-{plan.name}"
            return timed
    raise SpecVizError(f"No seed gives the run {plan.name!r} what it has to show: change its prompt.")


def options_of(plan: Plan, seed: int) -> dict[str, Any]:
    """Return what `decode` takes for a plan."""
    sampling = Sampling(temperature=plan.temperature)
    return {"k": K, "max_new_tokens": plan.tokens, "sampling": sampling, "seed": seed, "chat": plan.chat}


def opening_seeds(pair: Pair, plan: Plan) -> Iterator[int]:
    """Yield those of a plan's seeds with which the captions' story happens."""
    seen: list[dict[str, Any]] = []
    for seed in plan.seeds:
        if any(must_reject(first, seed) for first in seen):
            continue
        run = start(pair, plan.prompt, **options_of(plan, seed))
        seen.append(next(run))
        if states(seen[-1]) != OPENING[0]:
            continue
        next(run)
        if tells_the_story(run.trace):
            yield seed


def must_reject(first: dict[str, Any], seed: int) -> bool:
    """Whether a seed rejects a draft in its first step, as far as another seed's first step tells.

    The laws of a first step depend on the prompt and on the drafts alone, so as long as the seed's own numbers draft the
    same tokens, its coins say what becomes of them. It spares the models most of the search.
    """
    coins = Coins(seed)
    for position, draft in enumerate(first["drafts"], start=1):
        if not draft["low"] <= coins.u(1, position, "draft") < draft["high"]:
            return False
        if not coins.u(1, position, "accept") * draft["q"] < draft["p"]:
            return True
    return False


def main(folder: Path = FOLDER) -> None:
    """Record every plan, write the traces and the index, and print the texts."""
    folder.mkdir(parents=True, exist_ok=True)
    pair = load_pair(draft="model")
    measured: dict[str, Costs] = {}
    for plan in PLANS:
        drafted = pair if plan.draft == "model" else with_draft(pair, plan.draft)
        if plan.name == "opening":
            plan = replace(plan, seeds=opening_seeds(drafted, plan))
        if plan.draft not in measured:
            measured[plan.draft] = measure_costs(drafted)
        trace = record(drafted, measured[plan.draft], plan)
        trace.to_json(folder / f"{plan.name}.json")
        figures = trace.metrics
        print(f"{plan.name}: seed {trace.data['settings']['seed']}, {figures['tokens']} tokens in {figures['target_passes']} passes; "
              f"{figures['speedup_measured_doubt'] or 'no doubt'}; {figures['speedup_modelled_doubt'] or 'no doubt'}\n{trace.text}\n", flush=True)  # fmt: skip
    index = [{"name": plan.name, "title": plan.title, "look_for": plan.look_for} for plan in PLANS]
    (folder / "index.json").write_text(
        json.dumps(index, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
