"""The measurement of this machine counts the bytes and the operations that it times."""

from __future__ import annotations

import pytest
import torch

from specviz.speed import this_machine


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_bandwidth_and_peak_are_bytes_and_operations_over_the_measured_seconds(monkeypatch, dtype):
    seconds = iter([0.5, 0.25])
    monkeypatch.setattr(this_machine, "_median_s", lambda device, work: (work(), next(seconds))[1])
    monkeypatch.setitem(this_machine.READ_BYTES, "cpu", 1 << 20)
    monkeypatch.setitem(this_machine.SIDE, "cpu", 64)
    found = this_machine.measure_machine("cpu", dtype)
    assert found.bytes_per_s == (1 << 20) / 0.5
    assert found.flops == 2 * 64**3 / 0.25
    assert "measured in this process" in found.source
    assert str(dtype).removeprefix("torch.") in found.source


def test_the_work_is_really_done_and_its_first_time_left_out(monkeypatch):
    done = []

    class Watch:
        def __init__(self, device):
            pass

        def __enter__(self):
            done.append("begun")

        def __exit__(self, *_):
            done.append("ended")

        def take_ms(self):
            return {1: 9000.0, 2: 10.0, 3: 30.0, 4: 20.0, 5: 50.0, 6: 40.0}[done.count("ended")]

    monkeypatch.setattr(this_machine, "Stopwatch", Watch)
    assert this_machine._median_s(torch.device("cpu"), lambda: done.append("work")) == 0.03
    assert done[:3] == ["begun", "work", "ended"]
    assert done.count("work") == this_machine.REPEATS + 1
