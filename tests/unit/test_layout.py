"""The house: imports only go down its floors, no two files need each other, and no tab leans on another."""

import ast
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# From the roof down. Rooms of one floor stand beside each other: neither imports the other. docs/layout.md shows this list.
FLOORS = (
    ("__init__", "__main__"),
    ("page",),
    ("speed", "exactness"),
    ("decoding",),
    ("record", "models"),
    ("bundle",),
    ("theory",),
    ("timing",),
    ("bounds",),
    ("errors",),
)


def modules_in(root: Path) -> dict[str, ast.Module]:
    """Return every module of the package `specviz` below `root` by its dotted name."""
    found = {}
    for path in sorted((root / "specviz").rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = ast.parse(path.read_text(encoding="utf-8"))
    return found


def imports_of(name: str, modules: Mapping[str, ast.Module]) -> Iterator[str]:
    """Yield the modules that one imports, wherever in it; a name of the public face counts as the file that defines it."""
    for node in ast.walk(modules[name]):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name in modules)
        elif isinstance(node, ast.ImportFrom):
            for each in node.names:
                whole = f"{node.module}.{each.name}"
                if whole in modules:
                    yield whole
                elif node.module == "specviz":
                    yield behind(each.name, modules) or node.module
                elif node.module in modules:
                    yield node.module


def behind(name: str, modules: Mapping[str, ast.Module]) -> str | None:
    """Return the module from which the public face has a name."""
    for node in modules["specviz"].body:
        if isinstance(node, ast.ImportFrom) and name in {each.name for each in node.names}:
            return node.module
    return None


def floor_of(module: str) -> tuple[int, str]:
    """Return how deep a module's room lies, and the room."""
    _, _, rest = module.partition(".")
    room = rest.split(".")[0] or "__init__"
    return next(depth for depth, rooms in enumerate(FLOORS) if room in rooms), room


def climbs(modules: Mapping[str, ast.Module]) -> list[str]:
    """Return a sentence for every import that goes up, or to a room beside."""
    return [
        f"{name} imports {other}, which lies {'above' if floor_of(other)[0] < floor_of(name)[0] else 'beside'} it."
        for name in modules
        for other in imports_of(name, modules)
        if floor_of(other)[1] != floor_of(name)[1] and floor_of(other)[0] <= floor_of(name)[0]
    ]


def circles(modules: Mapping[str, ast.Module]) -> list[str]:
    """Return a sentence for every import that closes a circle."""
    found, done = [], set()

    def visit(name: str, way: tuple[str, ...]) -> None:
        if name in way:
            found.append(f"{way[-1]} imports {name}, which needs it: {' → '.join(way[way.index(name) :])}.")
        elif name not in done:
            for other in sorted(set(imports_of(name, modules)) - {name}):
                visit(other, (*way, name))
            done.add(name)

    for name in modules:
        visit(name, ())
    return found


def leaning_tabs(modules: Mapping[str, ast.Module]) -> list[str]:
    """Return a sentence for every tab of the page that imports another."""
    tabs = {
        name.removesuffix(".tab")
        for name in modules
        if name.startswith("specviz.page.") and name.endswith(".tab")
    }

    def tab_of(name: str) -> str | None:
        return next((tab for tab in tabs if name == tab or name.startswith(f"{tab}.")), None)

    return [
        f"{name} imports {other}: a tab needs no other tab."
        for name in modules
        for other in imports_of(name, modules)
        if tab_of(name) and tab_of(other) and tab_of(name) != tab_of(other)
    ]


def test_imports_only_go_down():
    assert climbs(modules_in(ROOT)) == []


def test_no_two_files_need_each_other():
    assert circles(modules_in(ROOT)) == []


def test_no_tab_leans_on_another():
    assert leaning_tabs(modules_in(ROOT)) == []


def test_every_file_has_a_room_and_every_room_is_there():
    modules = modules_in(ROOT)
    assert {floor_of(name)[1] for name in modules} == {room for rooms in FLOORS for room in rooms}


def test_every_folder_is_installed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    folders = [path.parent.relative_to(ROOT).parts for path in (ROOT / "specviz").rglob("__init__.py")]
    assert sorted(project["packages"]) == sorted([*(".".join(parts) for parts in folders), "specviz.assets"])


def test_only_the_page_imports_gradio_or_plotly_and_only_what_computes_imports_torch():
    for name, tree in modules_in(ROOT).items():
        roots = {
            each.split(".")[0]
            for node in ast.walk(tree)
            for each in (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else []
            )
        }
        room = floor_of(name)[1]
        if room != "page":
            assert not roots & {"gradio", "plotly"}, name
        if room in ("page", "record", "theory", "bounds", "errors", "bundle"):
            assert "torch" not in roots, name


# --- the same, on houses that are built wrong ---------------------------------------------------------------------------


@pytest.fixture
def house(tmp_path):
    """Return a function that builds a house of files {path: text} and reads it."""

    def build(**files: str) -> dict[str, ast.Module]:
        for path, text in {"__init__": "", **files}.items():
            file = tmp_path / "specviz" / f"{path.replace('__', '/') if path != '__init__' else path}.py"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return modules_in(tmp_path)

    return build


@pytest.mark.parametrize(
    "text",
    [
        "from specviz.decoding.run import start",
        "from specviz.decoding import run",
        "import specviz.decoding.run",
        "def later():\n    from specviz.decoding.run import start",
        "from specviz import start",
    ],
)
def test_an_import_that_goes_up_is_named_with_both_files_however_it_is_written(house, text):
    modules = house(
        __init__="from specviz.decoding.run import start", decoding__run="start = 1", models__toy=text
    )
    assert climbs(modules) == ["specviz.models.toy imports specviz.decoding.run, which lies above it."]


def test_a_room_beside_is_not_imported(house):
    modules = house(speed__costs="from specviz.exactness import faults", exactness__faults="")
    assert climbs(modules) == ["specviz.speed.costs imports specviz.exactness.faults, which lies beside it."]


def test_a_circle_is_named_with_both_files(house):
    modules = house(
        record__trace="from specviz.record import html", record__html="from specviz.record.trace import Trace"
    )
    (sentence,) = circles(modules)
    assert "specviz.record.trace" in sentence and "specviz.record.html" in sentence


def test_a_tab_that_leans_on_another_is_named(house):
    modules = house(
        page__learn__tab="from specviz.page.step import handlers", page__step__handlers="", page__step__tab=""
    )
    assert leaning_tabs(modules) == [
        "specviz.page.learn.tab imports specviz.page.step.handlers: a tab needs no other tab."
    ]
