"""The tests in tests/player, run by the node that Playwright's wheel carries: no browser, no page."""

from __future__ import annotations

import os
import re
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "player"


def node() -> Path | None:
    """Where Playwright's node lies, or None."""
    found = find_spec("playwright")
    place = Path(found.origin).parent / "driver" / "node" if found and found.origin else None
    return next(
        (each for each in (place, place and place.with_suffix(".exe")) if each and each.is_file()), None
    )


def test_the_player_s_modules() -> None:
    program = node()
    if program is None:
        why = "Playwright's node is not here, so the tests in tests/player can't run"
        if os.environ.get("CI") == "true":
            pytest.fail(why)
        pytest.skip(why)
    files = sorted(str(path) for path in FOLDER.glob("*.test.js"))
    quiet = "--disable-warning=MODULE_TYPELESS_PACKAGE_JSON"  # no package.json says that these are modules
    command = [str(program), quiet, "--test", "--test-reporter=tap", *files]
    ran = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=120, check=False)
    counts = dict(re.findall(r"^# (tests|pass|fail|cancelled|skipped|todo) (\d+)$", ran.stdout, re.MULTILINE))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert int(counts["pass"]) >= len(files) > 0, ran.stdout
    assert counts["tests"] == counts["pass"], ran.stdout
