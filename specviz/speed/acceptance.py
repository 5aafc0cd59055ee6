"""How well a pair's draft is accepted on prompts it was not trained on, decoded for real, by kind of prompt and position.

Two hundred prompts of six kinds, the same on every machine. The figure that counts is the mean of sum(min(p, q)) over the
examined draft positions, p and q over the target's whole vocabulary: the acceptance rate without the coins' noise.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from specviz.decoding.run import decode
from specviz.decoding.sampling import Sampling
from specviz.models.pairs import Pair

K, TOKENS, SEED = 4, 64, 7
TEMPERATURES = (0.8, 1.0, 0.0)

# kind -> how many prompts, the forms, the subjects that fill them
KINDS: dict[str, tuple[int, tuple[str, ...], tuple[str, ...]]] = {
    "story": (
        34,
        (
            "Tell a bedtime story in which {} learns something new.",
            "Make up a funny tale with {} as the hero.",
            "Invent a short adventure for {}.",
        ),
        (
            "a hedgehog with a torn umbrella",
            "the smallest pirate on the ship",
            "a shy postman",
            "a snail who wants to win a race",
            "twin sisters on a farm",
            "a grandmother and her kite",
            "a penguin in a hotel",
            "a boy with a blue balloon",
            "the last steam engine",
            "a tailor with magic thread",
            "a lonely snowman",
            "an owl that can't sleep",
        ),
    ),
    "question": (
        34,
        (
            "How does {} work?",
            "Can you tell my class how {} came about?",
            "What makes {} so useful?",
        ),
        (
            "a refrigerator",
            "a rainbow",
            "the alphabet",
            "a thermometer",
            "soap",
            "an elevator",
            "the postal service",
            "a compass",
            "a microscope",
            "concrete",
            "a pair of glasses",
            "the zipper",
        ),
    ),
    "list": (
        33,
        (
            "List seven things that I need for {}.",
            "Name five mistakes to avoid in {}, one a line.",
            "Give me ten short ideas for {}.",
        ),
        (
            "a weekend of camping",
            "a school play",
            "moving to a new flat",
            "a surprise party",
            "painting a bedroom",
            "a job interview",
            "a picnic in the park",
            "a science fair",
            "keeping a hamster",
            "a rainy afternoon indoors",
            "repairing an old chair",
        ),
    ),
    "letter": (
        33,
        (
            "Write a polite letter to {}.",
            "Draft a thank-you note for {}.",
            "Help me write an email to ask {} for a meeting next week.",
        ),
        (
            "my landlord",
            "a retired teacher",
            "the town council",
            "our football coach",
            "the head of a museum",
            "a neighbour who fed my cat",
            "the customer service of a shoe shop",
            "a pen friend in Norway",
            "my dentist",
            "a volunteer at the animal shelter",
            "the manager of a bookshop",
        ),
    ),
    "code": (
        33,
        (
            "Write a Python function that {}.",
            "Show me in JavaScript how one {}.",
            "Write a small program that {}, with comments.",
        ),
        (
            "counts the vowels in a string",
            "converts Celsius to Fahrenheit",
            "finds the largest number in an array",
            "checks whether a word is a palindrome",
            "rolls two dice",
            "removes duplicates and keeps the order",
            "computes the area of a circle",
            "reads a file line by line",
            "merges two dictionaries",
            "prints a multiplication table",
            "tells whether a year is a leap year",
        ),
    ),
    "continuation": (
        33,
        (
            "Continue this text: {}",
            "Here is how my essay starts. Please go on. {}",
            "Finish the paragraph: {}",
        ),
        (
            "The ferry left the harbour before dawn, and nobody on deck said a word.",
            "Most people think that a desert is empty, but",
            "When the lights went out in the theatre,",
            "There are two ways to cut an onion. The first",
            "My grandfather kept every newspaper he ever bought, because",
            "The market opens at six, and by seven",
            "In spring the hills behind our house turn yellow, and",
            "A good question is worth more than a good answer, since",
            "Nobody had used the telephone box for years, until",
            "To fix a flat tyre you first",
            "The bus was late again, so we",
        ),
    ),
}


@dataclass(frozen=True)
class Prompt:
    """One held-out prompt and its kind."""

    kind: str
    text: str


def held_out_prompts() -> list[Prompt]:
    """Return the 200 prompts: of each kind a fixed random choice among its forms and subjects, each at most once."""
    chosen = []
    for kind, (count, forms, subjects) in KINDS.items():
        every = [form.format(subject) for form in forms for subject in subjects]
        chosen += [Prompt(kind, text) for text in random.Random(SEED).sample(every, count)]
    return chosen


def draft_quality(
    pair: Pair,
    prompts: Sequence[Prompt] | None = None,
    temperatures: Sequence[float] = TEMPERATURES,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Decode every prompt at every temperature (K = 4, 64 tokens, the template iff there is one) and return the figures.

    `temperatures` maps each to its `figures`: overlap, acceptance, tokens per target pass and how many positions were
    examined, over all and by kind, and by position the overlap and how many were examined. At temperature 0 both laws
    are one-hot, so overlap and acceptance are the share of positions where the draft's best token is the target's.
    """
    prompts = held_out_prompts() if prompts is None else prompts
    results = {}
    for temperature in temperatures:
        runs = []
        for number, prompt in enumerate(prompts, start=1):
            sampling = Sampling(temperature=temperature)
            trace = decode(
                pair, prompt.text, k=K, max_new_tokens=TOKENS, sampling=sampling, seed=SEED + number
            )
            runs.append((prompt.kind, trace.data["steps"]))
            if number % 20 == 0:
                overlap = _figures([steps for _, steps in runs])["overlap"]
                progress(
                    f"temperature {temperature:g}: {number} of {len(prompts)} prompts, overlap {overlap:.3f}"
                )
        results[f"{temperature:g}"] = _by_kind(runs) | {
            "by_position": _by_position([steps for _, steps in runs])
        }
    facts = {
        "pair": pair.name,
        "draft": pair.draft_name,
        "dtype": pair.target.dtype,
        "machine": pair.machine(),
    }
    return facts | {"prompts": len(prompts), "k": K, "max_new_tokens": TOKENS, "temperatures": results}


def _by_kind(runs: Sequence[tuple[str, list[dict[str, Any]]]]) -> dict[str, Any]:
    kinds = dict.fromkeys(kind for kind, _ in runs)
    each = {kind: _figures([steps for k, steps in runs if k == kind]) for kind in kinds}
    return {"all": _figures([steps for _, steps in runs]), "by_kind": each}


def _figures(runs: Sequence[list[dict[str, Any]]]) -> dict[str, Any]:
    examined = [
        draft for steps in runs for step in steps for draft in step["drafts"] if draft["overlap"] is not None
    ]
    totals = [steps[-1]["totals"] for steps in runs if steps]
    tokens, passes = (sum(total[name] for total in totals) for name in ("tokens", "target_passes"))
    accepted = sum(draft["state"] == "accepted" for draft in examined)
    return {
        "overlap": _mean([draft["overlap"] for draft in examined]),
        "acceptance": accepted / len(examined) if examined else None,
        "tokens_per_pass": tokens / passes if passes else None,
        "examined": len(examined),
    }


def _by_position(runs: Sequence[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    positions = []
    for index in range(K):
        at = [step["drafts"][index] for steps in runs for step in steps if index < len(step["drafts"])]
        overlaps = [draft["overlap"] for draft in at if draft["overlap"] is not None]
        positions.append({"position": index + 1, "overlap": _mean(overlaps), "examined": len(overlaps)})
    return positions


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def report(quality: dict[str, Any]) -> str:
    """Return the figures as a table for the shell, one line a temperature and kind."""
    lines = [
        f"{quality['pair']} with {quality['draft']}, {quality['dtype']}: {quality['prompts']} held-out prompts, "
        f"K = {quality['k']}, at most {quality['max_new_tokens']} tokens",
        f"{'temperature':<12} {'prompts':<14} {'overlap':>8} {'acceptance':>11} {'tokens/pass':>12} {'examined':>9}",
    ]
    for temperature, result in quality["temperatures"].items():
        for kind, figures in {"all": result["all"], **result["by_kind"]}.items():
            cells = [_shown(figures[name]) for name in ("overlap", "acceptance", "tokens_per_pass")]
            lines.append(
                f"{temperature:<12} {kind:<14} {cells[0]:>8} {cells[1]:>11} {cells[2]:>12} {figures['examined']:>9}"
            )
        places = [
            f"{at['position']}: {_shown(at['overlap'])} ({at['examined']})" for at in result["by_position"]
        ]
        lines.append(f"{temperature:<12} overlap by position (examined)  {', '.join(places)}")
    return "\n".join(lines)


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
