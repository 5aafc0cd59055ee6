"""How well a pair's draft is accepted on prompts it was not trained on, decoded for real, by kind of prompt and position.

Two hundred prompts of six kinds, the same on every machine. The figure that counts is the mean of sum(min(p, q)) over the
examined draft positions, p and q over the target's whole vocabulary: the acceptance rate without the coins' noise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from specviz.decoding.run import decode
from specviz.decoding.sampling import Sampling
from specviz.models.pairs import Pair
from specviz.record.shape import Step
from specviz.speed.held_out import SEED, Prompt, held_out_prompts

K, TOKENS = 4, 64
TEMPERATURES = (0.8, 1.0, 0.0)


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


def _by_kind(runs: Sequence[tuple[str, list[Step]]]) -> dict[str, Any]:
    kinds = dict.fromkeys(kind for kind, _ in runs)
    each = {kind: _figures([steps for k, steps in runs if k == kind]) for kind in kinds}
    return {"all": _figures([steps for _, steps in runs]), "by_kind": each}


def _figures(runs: Sequence[list[Step]]) -> dict[str, Any]:
    drafts = [draft for steps in runs for step in steps for draft in step["drafts"]]
    overlaps = [draft["overlap"] for draft in drafts if draft["overlap"] is not None]
    totals = [steps[-1]["totals"] for steps in runs if steps]
    tokens, passes = (sum(total[name] for total in totals) for name in ("tokens", "target_passes"))
    accepted = sum(draft["state"] == "accepted" for draft in drafts)
    return {
        "overlap": _mean(overlaps),
        "acceptance": accepted / len(overlaps) if overlaps else None,
        "tokens_per_pass": tokens / passes if passes else None,
        "examined": len(overlaps),
    }


def _by_position(runs: Sequence[list[Step]]) -> list[dict[str, Any]]:
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
