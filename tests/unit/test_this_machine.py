"""The measurement of this machine counts the bytes and the operations that it times."""

from __future__ import annotations

import pytest
import torch

from specviz.errors import SpecVizError
from specviz.speed import this_machine
from specviz.speed.cores import Lap
from specviz.timing import Spread


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_bandwidth_and_peak_are_bytes_and_operations_over_the_measured_seconds(monkeypatch, dtype):
    seconds = iter([Spread(0.5, 0.49, 0.51), Spread(0.25, 0.25, 0.26)])
    monkeypatch.setattr(this_machine, "_quiet_s", lambda device, work: (work(), next(seconds))[1])
    monkeypatch.setitem(this_machine.READ_BYTES, "cpu", 1 << 20)
    monkeypatch.setitem(this_machine.SIDE, "cpu", 64)
    found = this_machine.measure_machine("cpu", dtype)
    assert found.bytes_per_s == (1 << 20) / 0.5
    assert found.flops == 2 * 64**3 / 0.25
    assert "measured in this process" in found.source
    assert "within 4%" in found.source
    assert str(dtype).removeprefix("torch.") in found.source


class Watch:
    """A stopwatch that tells what a test wants, one time after another."""

    def __init__(self, times):
        self.times = iter(times)

    def __call__(self, device):
        return self

    def __enter__(self):
        pass

    def __exit__(self, *_):
        pass

    def take_ms(self):
        return next(self.times)


def cores_that_tell(monkeypatch, waited):
    waits = iter(waited)

    class Told:
        def begin(self):
            pass

        def lap(self):
            return Lap(20.0, next(waits))

    monkeypatch.setattr(this_machine, "Cores", Told)


def test_the_work_is_really_done_its_first_time_left_out_and_disturbed_times_too(monkeypatch):
    done = []
    monkeypatch.setattr(this_machine, "Stopwatch", Watch([9000.0, 800.0, *[20.0] * 4, *[21.0] * 5]))
    cores_that_tell(monkeypatch, [15.0] + [0.0] * 9)
    found = this_machine._quiet_s(torch.device("cpu"), lambda: done.append("work"))
    assert found == (0.021, 0.02, 0.021)
    assert len(done) == this_machine.REPEATS + 2


@pytest.mark.parametrize(
    ("times", "waited"), [([20.0] * 99, [9.0] * 99), ([float(ms) for ms in range(20, 119, 9)], [0.0] * 99)]
)
def test_a_machine_that_is_busy_is_not_measured(monkeypatch, times, waited):
    now = iter(range(99))
    monkeypatch.setattr(this_machine.time, "monotonic", lambda: next(now) / 10)
    monkeypatch.setattr(this_machine, "Stopwatch", Watch(times))
    cores_that_tell(monkeypatch, waited)
    with pytest.raises(SpecVizError, match="busy with other work"):
        this_machine._quiet_s(torch.device("cpu"), lambda: None)
