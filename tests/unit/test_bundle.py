"""The browser's modules as one script: every file has its layer and its place, and what can't be joined is refused in one sentence."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from specviz import bundle
from specviz.errors import SpecVizError

SCRIPTS = sorted(path.relative_to(bundle.ASSETS).as_posix() for path in bundle.ASSETS.rglob("*.js"))
PAGES = [name for name in SCRIPTS if name.startswith("page/")]
TYPES = "player/run/types.js"  # comments, which no script imports
HEAD = re.compile(r"^// \S")


def test_every_module_is_part_of_the_player_or_of_the_page() -> None:
    reached = {module.name for entry in (bundle.PLAYER, *PAGES) for module in bundle.modules(entry)}
    assert {*SCRIPTS} - reached == {TYPES}
    assert len(bundle.modules()) > 40 and len(PAGES) >= 6
    assert not re.search(r"^\s*[^/*\s]", (bundle.ASSETS / TYPES).read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("entry", [bundle.PLAYER, *PAGES])
def test_a_script_has_each_module_once_after_those_that_it_imports(entry: str) -> None:
    modules = bundle.modules(entry)
    order = [module.name for module in modules]
    assert order[-1] == entry and len({*order}) == len(order)
    for module in modules:
        for imported, names in module.imports.items():
            assert order.index(imported) < order.index(module.name)
            assert bundle.layer_of(imported) <= bundle.layer_of(module.name)
            for name in names:
                assert re.search(rf"\b{name}\b", module.text), (
                    f"{module.name} imports {name} and has no use for it"
                )
    joined = bundle.script(entry)
    assert not re.search(r"^(?:import|export)\b", joined, re.MULTILINE)
    assert joined.endswith(modules[-1].text)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_file_says_first_what_it_holds_and_has_no_long_line(name: str) -> None:
    lines = (bundle.ASSETS / name).read_text(encoding="utf-8").splitlines()
    assert HEAD.match(lines[0]), lines[0]
    assert [line for line in lines if len(line) > 140] == []


def test_a_test_of_the_scripts_has_no_long_line() -> None:
    tests = Path(__file__).parents[1] / "player"
    lines = [line for path in tests.glob("*.js") for line in path.read_text(encoding="utf-8").splitlines()]
    assert lines and [line for line in lines if len(line) > 140] == []


def test_only_what_a_component_starts_with_does_anything_by_itself() -> None:
    """A module of the player but its entry defines and nothing else, so that it can be read without a page."""
    for name in SCRIPTS:
        if name.startswith("player/") and name != bundle.PLAYER:
            text = (bundle.ASSETS / name).read_text(encoding="utf-8")
            acts = re.findall(
                r"^(?!import |export |const |let |async function |function |[/})\] ]).+", text, re.MULTILINE
            )
            assert acts == [], name


def test_what_a_run_is_needs_no_page() -> None:
    for name in SCRIPTS:
        if name.startswith("player/run/") and name != TYPES:
            text = re.sub(r"//.*|/\*.*?\*/", "", (bundle.ASSETS / name).read_text(encoding="utf-8"))
            assert not re.search(r"\b(?:document|window|element|props|watch|trigger)\b", text), name


# --- what can't be joined -------------------------------------------------------------------------------------------------


def folder_of(tmp_path: Path, **files: str) -> Path:
    """A folder with these modules; in a name two underscores stand for a slash."""
    for name, text in files.items():
        path = tmp_path / "player" / f"{name.replace('__', '/')}.js"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def refused(folder: Path) -> str:
    with pytest.raises(SpecVizError) as caught:
        bundle.script(folder=folder)
    said = str(caught.value)
    assert said.endswith(".") and "\n" not in said
    return said


def test_modules_are_joined_in_the_order_in_which_they_need_each_other(tmp_path: Path) -> None:
    folder = folder_of(
        tmp_path,
        main="// main\nimport { b } from './draw/b.js';\nimport { a } from './run/a.js';\n\nb(a);\n",
        draw__b="// b\nimport { a } from '../run/a.js';\n\nexport const b = (x) => x + a;\n",
        run__a="// a\nexport const a = 'import export';\nconst own = 1;\n",
    )
    assert bundle.script(folder=folder) == (
        "// a\nconst a = 'import export';\nconst own = 1;\n\n// b\n\nconst b = (x) => x + a;\n\n// main\n\nb(a);\n"
    )


def test_a_circle_is_refused(tmp_path: Path) -> None:
    folder = folder_of(
        tmp_path,
        main="import { a } from './run/a.js';\n",
        run__a="import { b } from './b.js';\nexport const a = () => b;\n",
        run__b="import { a } from './a.js';\nexport const b = () => a;\n",
    )
    assert refused(folder) == (
        "player/run/b.js imports player/run/a.js, which needs it in turn: "
        "player/run/a.js → player/run/b.js → player/run/a.js."
    )


@pytest.mark.parametrize(
    ("low", "high"), [("run", "state"), ("state", "draw"), ("draw", "acts"), ("run", "acts")]
)
def test_an_import_that_goes_up_is_refused(tmp_path: Path, low: str, high: str) -> None:
    folder = folder_of(
        tmp_path,
        main=f"import {{ a }} from './{low}/a.js';\n",
        **{f"{low}__a": f"import {{ b }} from '../{high}/b.js';\nexport const a = b;\n"},
        **{f"{high}__b": "export const b = 1;\n"},
    )
    said = f"player/{low}/a.js imports player/{high}/b.js, which is in a higher layer: imports only go down."
    assert refused(folder) == said


def test_a_script_of_no_layer_is_refused(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, main="import { a } from './misc/a.js';\n", misc__a="export const a = 1;\n")
    assert refused(folder).startswith("player/main.js imports player/misc/a.js, which is in no layer")


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, main="import { a } from './run/a.js';\n")
    assert refused(folder) == "player/main.js imports player/run/a.js, which is not there."


def test_a_name_that_is_not_exported_is_refused(tmp_path: Path) -> None:
    folder = folder_of(
        tmp_path, main="import { a, b } from './run/a.js';\n", run__a="export const a = 1;\nconst b = 2;\n"
    )
    assert refused(folder) == "player/main.js imports b from player/run/a.js, which does not export it."


def test_a_name_that_two_modules_define_is_refused(tmp_path: Path) -> None:
    folder = folder_of(
        tmp_path,
        main="import { a } from './run/a.js';\nconst same = a;\n",
        run__a="export const a = 1;\nasync function same() {}\n",
    )
    assert refused(folder) == (
        "player/run/a.js and player/main.js both define same: in one script they would be one."
    )


@pytest.mark.parametrize(
    "line",
    [
        "import * as a from './run/a.js';",
        "import { a as b } from './run/a.js';",
        "import './run/a.js';",
        "import {",
        "export { a };",
        "export default 1;",
        "  import { a } from './run/a.js';",
        "var a = 1;",
    ],
)
def test_a_line_that_can_not_be_joined_is_refused(tmp_path: Path, line: str) -> None:
    folder = folder_of(tmp_path, main=f"{line}\n", run__a="export const a = 1;\n")
    assert refused(folder).startswith(
        f"player/main.js has a line that can't be joined, {line.strip()!r}: write import"
    )


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, main="import { a } from './run/a.js';\n", run__a="export const a = 1;\n")
    (folder / "player" / "run" / "a.js").write_bytes(b"\xff\xfe")
    assert "a.js: install it again" in refused(folder)


def test_a_definition_of_several_names_is_refused(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, main="const [a, b] = [1, 2];\n")
    assert refused(folder) == "player/main.js defines several names at once: write one definition a name."
