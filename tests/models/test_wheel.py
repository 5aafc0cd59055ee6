"""What `pip install` gives: a wheel of this tree, installed into an empty folder and used from another one."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from specviz import Trace

ROOT = Path(__file__).resolve().parents[2]
PARTS = (
    "specviz",
    "assets",
    "pyproject.toml",
    "requirements.txt",
    "requirements-dev.txt",
    "README.md",
    "LICENSE",
)


def pip(*arguments: object) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel, built from a copy: building leaves folders behind."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for part in PARTS:
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
        copy(ROOT / part, source / part)
    pip("wheel", source, "--no-deps", "--no-build-isolation", "--wheel-dir", out)
    return next(out.glob("specviz-*.whl"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """The folder that the wheel is installed into; what it depends on comes from here."""
    folder = tmp_path_factory.mktemp("installed")
    pip("install", wheel, "--no-deps", "--target", folder)
    return folder


def python(installed: Path, where: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=where,
        env=os.environ | {"PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_wheel_holds_every_module_and_everything_in_assets(wheel):
    held = set(zipfile.ZipFile(wheel).namelist())
    tracked = subprocess.run(
        ["git", "ls-files", "specviz", "assets"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    wanted = {f"specviz/{file}" if file.startswith("assets/") else file for file in tracked}
    assert wanted - held == set()


def test_an_installed_pair_drafts_with_its_own_draft_and_writes_a_page_from_anywhere(
    default_pair, installed, tmp_path
):
    done = python(
        installed, tmp_path, "-m", "specviz", "decode", "--prompt", "Once upon a time", "--max-new-tokens", "8",
        "--html", "run.html", "--json", "run.json",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert Trace.from_json(tmp_path / "run.json").data["settings"]["draft"]["kind"] == "model"
    page = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert "sv-player" in page and "export const" not in page and len(page) > 100_000


SHOWN = """
import specviz
from specviz.page import gallery
from specviz.page.learn.text import as_text
from specviz.page.page import build_page
from specviz.page.server.shelf import Shelf
trace = specviz.decode(specviz.load_pair("toy"), "1 15 42", max_new_tokens=4)
assert "<iframe" in trace._repr_html_()
build_page(Shelf(), "toy", gallery.entries()[0].name)
assert as_text()
print(specviz.__file__, len(gallery.entries()))
"""


def test_an_installed_page_and_notebook_have_their_scripts_gallery_and_lesson(installed, tmp_path):
    done = python(installed, tmp_path, "-c", SHOWN)
    assert done.returncode == 0, done.stderr
    file, recorded = done.stdout.split()
    assert Path(file).is_relative_to(installed)
    assert int(recorded) == len([*(ROOT / "assets" / "gallery").glob("*.json")]) - 1


@pytest.mark.parametrize(
    ("lost", "arguments", "sentence"),
    [
        ("draft", ["decode", "--prompt", "Once"], "lacks smollm2-135m's own draft"),
        (
            "player",
            ["decode", "--pair", "toy", "--prompt", "1", "--html", "a.html"],
            "main.js: install it again",
        ),
        ("player", ["page"], "main.js: install it again"),
        ("gallery", ["page"], "index.json: install it again"),
    ],
)
def test_what_an_installation_lacks_is_one_sentence_that_names_it(
    default_pair, installed, tmp_path, lost, arguments, sentence
):
    damaged = shutil.copytree(installed, tmp_path / "damaged")
    shutil.rmtree(damaged / "specviz" / "assets" / lost)
    done = python(damaged, tmp_path, "-m", "specviz", *arguments)
    assert done.returncode == 2
    assert sentence in done.stderr and done.stderr.count("\n") == 1, done.stderr
