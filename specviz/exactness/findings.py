"""What the enumeration finds in two small worlds, for the algorithm and for each classic mistake.

In the table's world one step is enumerated and continued by the target, which is what the exact reference figures are
given for; with the tiny models whole runs are, with their caches, their end token and their length limit.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from specviz.decoding.rules import EXACT, Rules
from specviz.decoding.sampling import Sampling
from specviz.exactness.enumeration import (
    Enumeration,
    Law,
    NextLaw,
    continued,
    enumerate_runs,
    enumerate_step,
    shortened,
    table_law,
    total_variation,
    uncached_law,
)
from specviz.exactness.faults import FAULTS, HOT, Fault, fault_named
from specviz.exactness.worlds import FOUR, FOUR_DRAFT, PROMPT, P, Q, Table, table_pair, tiny_pair

TOKENS = 3
K = 2
TINY_PROMPT = [0, 1]
ROUNDING = 1e-12


@dataclass(frozen=True)
class Finding:
    """The law that a loop produced in one world beside the target's own, over texts of three tokens.

    `fault` is None for the algorithm itself; `paths` is how many runs it took.
    """

    world: str
    fault: Fault | None
    sampling: Sampling
    k: int
    paths: int
    law: Law
    target: Law

    @property
    def first(self) -> float:
        """The total variation of the first token's law."""
        return total_variation(shortened(self.law, 1), shortened(self.target, 1))

    @property
    def three(self) -> float:
        """The total variation of the law of the first three tokens."""
        return total_variation(self.law, self.target)

    @property
    def exact(self) -> bool:
        """Whether the law is the target's own, up to rounding."""
        return self.three < ROUNDING

    def data(self) -> dict[str, Any]:
        """Return the finding as plain data for JSON; a text is written as its ids with a space between."""
        return {
            "world": self.world,
            "fault": self.fault and self.fault.name,
            "row": self.fault and self.fault.row,
            "does": self.fault and self.fault.does,
            "why": self.fault and self.fault.why,
            "exact": self.exact,
            "k": self.k,
            "temperature": self.sampling.temperature,
            "top_k": self.sampling.top_k,
            "top_p": self.sampling.top_p,
            "paths": self.paths,
            "total_variation": {"first_token": self.first, "three_tokens": self.three},
            "target": _written(self.target),
            "law": _written(self.law),
        }


def _written(law: Law) -> dict[str, float]:
    return {" ".join(map(str, text)): weight for text, weight in sorted(law.items())}


def in_table(world: str, p: Table, q: Table, fault: Fault | None) -> Finding:
    """Enumerate one step in a table's world, at the fault's settings, and let the target continue it."""
    rules, how, k = _settings(fault)
    found = enumerate_step(table_pair(p, q), PROMPT, k=k, sampling=how, rules=rules)
    return _finding(world, fault, found, table_law(p, how), ())


def with_tiny_models(fault: Fault | None) -> Finding:
    """Enumerate whole runs of a pair of tiny `transformers` models, at the fault's settings."""
    rules, how, k = _settings(fault)
    pair = tiny_pair()
    found = enumerate_runs(pair, TINY_PROMPT, k=k, max_new_tokens=TOKENS, sampling=how, rules=rules)
    return _finding(
        "tiny model", fault, found, uncached_law(pair.target, TINY_PROMPT, how), pair.target.end_ids
    )


def _settings(fault: Fault | None) -> tuple[Rules, Sampling, int]:
    return (fault.rules, fault.sampling, fault.k) if fault else (EXACT, HOT, K)


def _finding(
    world: str, fault: Fault | None, found: Enumeration, own: NextLaw, end_ids: frozenset[int] | tuple[()]
) -> Finding:
    _, how, k = _settings(fault)
    law = continued(found.law, own, TOKENS, end_ids)
    target = continued({(): 1.0}, own, TOKENS, end_ids)
    return Finding(world, fault, how, k, found.paths, law, target)


def findings(name: str | None) -> Iterator[Finding]:
    """Yield what is found for the algorithm, then for a fault, or for each of them where the name is "all".

    Raises SpecVizError for an unknown fault.
    """
    chosen: list[Fault | None] = [None]
    if name is not None:
        chosen += FAULTS.values() if name == "all" else [fault_named(name)]
    for fault in chosen:
        yield in_table("three tokens", P, Q, fault)
        if fault is None or fault.k == 1:
            yield in_table("four tokens", FOUR, FOUR_DRAFT, fault)
        yield with_tiny_models(fault)


def complaints(found: Sequence[Finding]) -> Iterator[str]:
    """Yield a sentence for what ought to be exact and is not, and for a mistake that no world shows."""
    for finding in found:
        if not finding.exact and (finding.fault is None or finding.fault.exact):
            yield f"{_name(finding)} is exact, but in the world of the {finding.world} its law is off by {finding.three:.3g}."
    for fault in {finding.fault: None for finding in found if finding.fault and not finding.fault.exact}:
        if all(finding.exact for finding in found if finding.fault is fault):
            yield f"{fault.name} is a mistake, but its law is right in every world here."


def _name(finding: Finding) -> str:
    return finding.fault.name if finding.fault else "the algorithm"


_LINE = "{:<9}{:<27}{:<14}{:>6}   {:<15}{}"
HEAD = "Total variation between the law produced and the target's own:\n" + _LINE.format(
    "row", "rules", "world", "paths", "first token", "three tokens"
)


def line(finding: Finding) -> str:
    """Return a finding as a line under HEAD."""
    row = finding.fault.row if finding.fault else ""
    tv = (f"{finding.first:.6g}", f"{finding.three:.6g}")
    return _LINE.format(row, _name(finding), finding.world, finding.paths, *tv)


def law_table(found: Sequence[Finding]) -> Iterator[str]:
    """Yield the lines of each finding's law, one text a line, beside the target's own."""
    columns = "{:<10}{:>10}{:>10}{:>12}"
    for finding in found:
        yield f"\n{_name(finding)}, {finding.world}"
        if finding.fault:
            yield f"{finding.fault.does} {finding.fault.why}"
        yield columns.format("text", "target", "produced", "difference")
        for text in sorted({*finding.law, *finding.target}):
            own, produced = finding.target.get(text, 0.0), finding.law.get(text, 0.0)
            off = produced - own
            numbers = (f"{own:.6f}", f"{produced:.6f}", f"{off:+.6f}" if abs(off) > ROUNDING else "0")
            yield columns.format(" ".join(map(str, text)), *numbers)


def as_json(found: Sequence[Finding]) -> str:
    """Return the findings as JSON text."""
    return json.dumps([finding.data() for finding in found], indent=1) + "\n"
