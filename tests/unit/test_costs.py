"""What a pair's forwards cost."""

import itertools

from specviz import load_pair, measure_costs
from specviz.speed import costs


def test_what_disturbs_the_machine_for_a_moment_changes_no_figure(monkeypatch):
    calls = itertools.count()

    def disturbed(reader, rows):
        return 900.0 if 45 <= next(calls) < 70 else float(rows)

    monkeypatch.setattr(costs.Reader, "pass_ms", disturbed)
    measured = measure_costs(load_pair("toy"))
    assert measured["target_ms"] == [float(rows) for rows in range(1, 18)]
    assert measured["draft_ms"] == 1.0
