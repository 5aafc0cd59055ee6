"""The way through ZeroGPU, with a stub of `spaces` that forks and pickles (tests/stubs), and the default pair's real weights."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from specviz.page.server import zero

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def space():
    """What became of a Space's process, see zero_space.py."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests" / "stubs")])
    environment = os.environ | {
        "PYTHONPATH": path,
        "SPACES_ZERO_GPU": "true",
        "OMP_NUM_THREADS": "1",
        "PORT": "7871",
    }
    command = [sys.executable, "-m", "tests.models.zero_space"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


def test_one_top_level_function_takes_the_gpu_for_seconds(space):
    assert space["functions"] == [["specviz.page.server.zero._compute", 30]]


def test_a_run_of_the_pages_handler_comes_back_step_by_step_as_plain_data(space):
    assert space["said"].endswith("target passes.")
    assert space["differences"] == []
    assert space["steps"] > 2
    assert space["stop"] == "length" and len(space["texts"][0]) == 12
    assert space["named"]


def test_the_endpoint_runs_there_too_and_says_the_same(space):
    assert space["texts"][0] == space["texts"][1]
    assert space["processes"] >= 3


def test_the_plain_loop_runs_there_too(space):
    assert space["plain"].startswith("The plain loop took")


def test_a_branch_runs_there_too(space):
    assert space["branch"] == [True, [1, 2], []]


def test_what_is_refused_there_keeps_its_sentence(space):
    assert space["refused"].startswith("The prompt is empty: write a few words")


def test_stop_ends_a_run_there_before_its_next_step(space):
    assert space["stopped"] == [1, [], "stopped", 1]


def test_the_toy_needs_no_gpu_and_nothing_is_timed_behind_a_visitors_back(space):
    assert space["toy"] == "toy"
    assert space["costs"] is False


def test_without_spaces_nothing_is_different():
    assert not zero.ACTIVE
    assert zero.on_gpu is zero._compute
    assert zero.device_for("smollm2-135m", "smollm2-135m") is None


def test_spaces_is_imported_before_anything_else_of_ours():
    code = "import sys; sys.modules['torch'] = None; import app"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests" / "stubs")])}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert "torch was imported before the `spaces` package" in done.stderr
