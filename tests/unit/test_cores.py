"""Whether the computing had the cores: what the system says of the threads, and the thread's own clock where it says nothing."""

from __future__ import annotations

import pytest

from specviz.speed import cores
from specviz.speed.cores import Cores, Lap, share_waited


class Machine:
    """Threads as the system tells of them, and the two clocks, all in milliseconds."""

    def __init__(self, folder, monkeypatch):
        self.folder, self.now, self.own = folder, 0.0, 0.0
        monkeypatch.setattr(cores, "TASKS", folder)
        monkeypatch.setattr(cores.time, "perf_counter", lambda: self.now / 1e3)
        monkeypatch.setattr(cores.time, "thread_time", lambda: self.own / 1e3)

    def thread(self, name, ran, waited):
        (self.folder / name).mkdir(exist_ok=True)
        (self.folder / name / "schedstat").write_text(f"{int(ran * 1e6)} {int(waited * 1e6)} 12\n")


@pytest.fixture
def machine(tmp_path, monkeypatch):
    return Machine(tmp_path, monkeypatch)


def test_only_threads_that_compute_are_waited_with(machine):
    machine.thread("1", 100, 5)
    machine.thread("2", 100, 5)
    machine.thread("3", 0, 0)
    watch = Cores()
    machine.now, machine.own = 20.0, 20.0
    machine.thread("1", 119, 5.1)
    machine.thread("2", 117, 9.0)  # the other worker lost its core for a while
    machine.thread("3", 0.1, 15.0)  # the server's own thread waits all the time, and takes nothing
    lap = watch.lap()
    assert (lap.ms, round(lap.waited_ms, 6)) == (20.0, 4.1)
    assert not lap.is_quiet
    machine.now = 40.0
    machine.thread("1", 139, 5.1)
    machine.thread("2", 117, 29.0)  # it never had a core, but it is known to compute
    assert round(watch.lap().waited_ms, 6) == 20.0
    machine.now = 60.0
    machine.thread("1", 159, 5.2)
    assert watch.lap().is_quiet


def test_a_thread_that_is_new_and_a_short_lap_say_nothing_about_before(machine):
    watch = Cores()
    machine.thread("1", 100, 50)  # what it waited before this lap is not of this lap
    machine.now = 2.0
    assert watch.lap().waited_ms == 0
    machine.now = 4.0
    machine.thread("1", 102, 51)
    assert watch.lap().waited_ms == 0  # too short to tell who computes


def test_where_the_system_says_nothing_the_threads_own_clock_does(machine):
    watch = Cores()
    machine.now, machine.own = 30.0, 22.0
    assert watch.lap() == Lap(30.0, 8.0)
    machine.now, machine.own = 60.0, 52.0
    assert watch.lap().is_quiet


def test_a_quiet_machine_waits_a_little_too():
    assert Lap(30.0, 1.0).is_quiet
    assert not Lap(30.0, 1.2).is_quiet
    assert Lap(2.0, 0.5).is_quiet


def test_this_machines_own_threads_are_read():
    watch = Cores()
    sum(range(300_000))
    lap = watch.lap()
    assert lap.ms > 0 and lap.waited_ms >= 0


def test_no_more_than_all_of_the_time_is_waited():
    assert share_waited([Lap(10.0, 1.0), Lap(30.0, 9.0)]) == 0.25
    assert share_waited([Lap(10.0, 19.0)]) == 1.0  # two threads at once
    assert share_waited([]) == 0.0
