"""README.md and docs/: short enough, no dead link, and what they say of commands, columns, pairs and folders is so."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from specviz import decode, load_pair
from specviz.__main__ import main, parser
from tests.unit import test_layout

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
DOCS = sorted((ROOT / "docs").glob("*.md"))
PAGES = [README, *DOCS]
LAYOUT = ROOT / "docs" / "layout.md"
FOLDERS = ("app.py", "specviz", "assets", "docs", "distil", "scripts", "tests")
LONGEST_README = 150
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FLOORS = re.compile(r"<!-- floors: .* -->\n```\n(.*?)```\n<!-- end of floors -->", re.S)


def named(page: Path) -> str:
    return page.name


def prose(page: Path) -> str:
    """A page without its blocks of code."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """What a link may name after #, as GitHub and the Hub make it of each heading."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def dead_links(page: Path) -> list[str]:
    """The relative links of a page that lead to no file, or to no heading of one."""
    dead = []
    for link in LINK.findall(prose(page)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            dead.append(link)
    return dead


def table(page: Path, head: str) -> list[list[str]]:
    """The rows of the table whose first head this is."""
    rows = re.search(rf"^\| {head} \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", page.read_text(encoding="utf-8"), re.M)
    assert rows, f"{page.name} has no table with the head {head}"
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows[1].splitlines()]


def in_ticks(text: str) -> list[str]:
    return re.findall(r"`([^`\n]+)`", text)


def test_the_readme_is_short() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= LONGEST_README


def test_the_readme_names_every_page() -> None:
    linked = set(LINK.findall(prose(README)))
    assert {f"docs/{page.name}" for page in DOCS} <= linked


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_no_relative_link_is_dead(page: Path) -> None:
    assert dead_links(page) == []


def test_a_dead_link_is_found(tmp_path: Path) -> None:
    other, page = tmp_path / "other.md", tmp_path / "page.md"
    other.write_text("# A heading, with `code`\n")
    page.write_text(
        "# Here\n[1](other.md#a-heading-with-code) [2](other.md#gone) ![3](gone.png) [4](#here) [5](https://example.org)\n"
    )
    assert dead_links(page) == ["other.md#gone", "gone.png"]


def test_the_space_installs_the_gradio_that_is_required_here() -> None:
    front = README.read_text(encoding="utf-8").split("---\n")[1]
    version = re.search(r"^sdk_version: (\S+)$", front, re.M)
    assert version and f"gradio=={version[1]}\n" in (ROOT / "requirements.txt").read_text()
    app = re.search(r"^app_file: (\S+)$", front, re.M)
    assert app and (ROOT / app[1]).exists()


# --- what is said of the code -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_command_is_one(page: Path) -> None:
    blocks = [text for _, text in FENCE.findall(page.read_text(encoding="utf-8"))]
    lines = [line for block in blocks for line in block.splitlines() if line.startswith("python -m specviz ")]
    for line in lines:
        parser().parse_args(shlex.split(line, comments=True)[3:])


@pytest.mark.parametrize("page", ["README.md", "docs/api.md"])
def test_the_python_of_a_page_runs(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On the toy, which needs no weights; csv.md then reads what it wrote. What asks a server is not run."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for at in (page, "docs/csv.md"):
        blocks = [
            text for word, text in FENCE.findall((ROOT / at).read_text(encoding="utf-8")) if word == "python"
        ]
        for block in blocks:
            code = block.replace('"smollm2-135m"', '"toy"').replace('"Once upon a time"', '"1 15 42"')
            compiled = compile(code, at, "exec")
            if "gradio_client" not in code:
                exec(compiled, names)
    assert {"t.csv", "t.html"} <= {path.name for path in tmp_path.iterdir()}
    assert str(names["text"]).strip() == names["trace"].text.strip()  # type: ignore[attr-defined]


def test_the_csvs_columns_are_those_of_its_page() -> None:
    header = decode(load_pair("toy"), "1 15 42", max_new_tokens=2).to_csv().splitlines()[0]
    described = [name for row in table(ROOT / "docs" / "csv.md", "column") for name in row[0].split(", ")]
    assert described == header.split(",")


def test_every_pair_of_the_catalogue_is_on_its_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pairs"]) == 0
    pairs = {line.split()[0] for line in capsys.readouterr().out.splitlines()}
    described = {name for row in table(ROOT / "docs" / "catalogue.md", "pair") for name in in_ticks(row[0])}
    assert described == pairs


# --- the layout -------------------------------------------------------------------------------------------------------


def floors_of_the_page() -> list[list[str]]:
    """The floors that docs/layout.md lists, from the top, each with its rooms."""
    block = FLOORS.search(LAYOUT.read_text(encoding="utf-8"))
    assert block, "docs/layout.md has lost the block between its two comments on floors"
    return [line.split(", ") for line in block[1].splitlines()]


def test_the_layout_lists_each_room_once() -> None:
    rooms = [room for floor in floors_of_the_page() for room in floor]
    assert len(rooms) == len(set(rooms))


def test_the_floors_are_those_that_the_imports_are_held_to() -> None:
    _, *below_the_face = test_layout.FLOORS
    assert floors_of_the_page() == [list(rooms) for rooms in below_the_face]


def test_the_floors_are_all_the_rooms_there_are() -> None:
    rooms = {room for floor in floors_of_the_page() for room in floor}
    there = {path.stem for path in (ROOT / "specviz").iterdir() if path.suffix == ".py" or path.is_dir()}
    assert rooms == {name for name in there if not name.startswith("__")}


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_file_and_folder_that_is_named_is_there(page: Path) -> None:
    found = [f"/{name}" for name in FOLDERS]
    for name in FOLDERS:
        found += [f"/{path.relative_to(ROOT)}" for path in (ROOT / name).rglob("*")]
    # NAME stands for a name of one's own
    names = [name for name in in_ticks(prose(page)) if "NAME" not in name]
    named_here = [name for name in names if re.fullmatch(r"[\w./-]+(\.(py|js|css)|/)", name)]
    missing = [
        name for name in named_here if not any(path.endswith(f"/{name.rstrip('/')}") for path in found)
    ]
    assert missing == []


def test_a_folder_that_is_listed_is_listed_whole() -> None:
    for place, holds in table(LAYOUT, "folder"):
        lists = [name.split() for name in in_ticks(holds) if " " in name]
        for listed in lists:
            folder = ROOT / in_ticks(place)[0]
            there = {path.stem for path in folder.glob("*.py")} - {"__init__"}
            assert set(listed) == there, f"docs/layout.md lists {folder.name} otherwise than it is"


def test_nothing_is_left_to_be_checked() -> None:
    assert "⟨check⟩" not in LAYOUT.read_text(encoding="utf-8")
