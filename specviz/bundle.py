"""Joins the browser's modules into one script, and its styles into one head.

`assets/` holds ES modules: the player in four layers, each of which imports only from itself and from those before it, and
the page's own scripts, which import from the player. A browser never sees them as modules: from an entry this follows the
lines `import { names } from './x.js';`, drops them and the word `export`, and puts everything into one script, each module
after those that it imports. No node is needed. What can't be joined is refused in one sentence that names both files: a
circle, an import from a higher layer, a file that is not there, a name that is not exported, a name that two modules have.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path, PurePosixPath
from posixpath import normpath

from specviz.errors import SpecVizError

PLAYER = "player/main.js"


def _find_assets() -> Path:
    """Return the folder of scripts, styles, gallery, lesson and draft: in an installed package, or beside it in a checkout."""
    package = Path(__file__).resolve().parent
    checkout = package.parent / "assets"
    return checkout if (checkout / PLAYER).is_file() else package / "assets"


ASSETS = _find_assets()
# From the lowest to the highest: a module imports from its own layer and from those before it.
LAYERS = ("player/run", "player/state", "player/draw", "player/acts", "page", PLAYER)
STYLES = (
    "player/styles/player.css",
    "player/styles/inspector.css",
    "page/styles/page.css",
    "player/styles/share.css",
    "player/styles/branch.css",
    "player/styles/predict.css",
)
# They override what stands before them, the labs' included.
LAST_STYLES = ("player/styles/phone.css", "player/styles/present.css")

_IMPORT = re.compile(r"import \{ (\w+(?:, \w+)*) \} from '(\.[^']*\.js)';\n?")
_DEFINED = re.compile(r"^(export )?(?:const|let|class|(?:async )?function\*?) +(\w+|\S)", re.MULTILINE)


@dataclass
class Module:
    """A script: what it imports by file, what it defines, what of that it exports, and its text without both words."""

    name: str
    imports: dict[str, list[str]] = field(default_factory=dict)
    defined: list[str] = field(default_factory=list)
    exported: set[str] = field(default_factory=set)
    text: str = ""


def asset(name: str) -> str:
    """Return the text of a file in `assets/`; raises SpecVizError where this installation lacks it."""
    return text_of(ASSETS / name)


def text_of(file: Path) -> str:
    """Return the text of a file that belongs to SpecViz; raises SpecVizError where this installation lacks it."""
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise SpecVizError(f"This installation of SpecViz lacks {file}: install it again.") from None


def styles(*labs: str) -> str:
    """Return the styles, those of the page's `labs` included, as elements for a document's head."""
    return "".join(f"<style>{asset(name)}</style>" for name in (*STYLES, *labs, *LAST_STYLES))


def script(entry: str = PLAYER, folder: Path = ASSETS) -> str:
    """Return a module of `folder` and all that it needs as one script.

    Raises SpecVizError where the modules can't be joined.
    """
    return "\n".join(module.text for module in modules(entry, folder))


def modules(entry: str = PLAYER, folder: Path = ASSETS) -> list[Module]:
    """Return a module and all that it needs, each after those that it imports; raises SpecVizError as `script` does."""
    joined: dict[str, Module] = {}

    @cache
    def opened(name: str) -> Module:
        return read(name, folder)

    def join(module: Module, way: tuple[str, ...]) -> None:
        if module.name in joined:
            return
        for name in module.imports:
            _check(module, name, way, folder)
            imported = opened(name)
            _check_names(module, imported)
            join(imported, (*way, name))
        joined[module.name] = module

    join(opened(entry), (entry,))
    owners: dict[str, str] = {}
    for module in joined.values():
        for name in module.defined:
            if name in owners:
                raise SpecVizError(
                    f"{owners[name]} and {module.name} both define {name}: in one script they would be one."
                )
            owners[name] = module.name
    return [*joined.values()]


def read(name: str, folder: Path = ASSETS) -> Module:
    """Return a module by its path in `folder`; raises SpecVizError where a line of it can't be joined."""
    module = Module(name)
    kept = []
    for line in text_of(folder / name).splitlines(keepends=True):
        found = _IMPORT.fullmatch(line)
        if found:
            file = normpath(str(PurePosixPath(name).parent / found[2]))
            module.imports.setdefault(file, []).extend(found[1].split(", "))
        elif re.match(
            r"\s*import\b(?!\()|var\b|export (?!(?:const|let|class|async function|function)\b)", line
        ):
            raise SpecVizError(
                f"{name} has a line that can't be joined, {line.strip()!r}: "
                "write import { names } from './file.js'; or export before a definition."
            )
        else:
            kept.append(line)
    text = "".join(kept)
    for exported, defined in _DEFINED.findall(text):
        module.defined.append(defined)
        if exported:
            module.exported.add(defined)
    if not all(defined.isidentifier() for defined in module.defined):
        raise SpecVizError(f"{name} defines several names at once: write one definition a name.")
    module.text = re.sub(r"^export (?=\w)", "", text, flags=re.MULTILINE)
    return module


def layer_of(name: str) -> int | None:
    """Return how high a module stands: the number of its layer, counted from the lowest; None where it is in none."""
    heights = (height for height, layer in enumerate(LAYERS) if name == layer or name.startswith(f"{layer}/"))
    return next(heights, None)


def _check(module: Module, name: str, way: tuple[str, ...], folder: Path) -> None:
    """Refuse what a module may not import; `way` leads to it from the entry."""
    if not (folder / name).is_file():
        raise SpecVizError(f"{module.name} imports {name}, which is not there.")
    height, own = layer_of(name), layer_of(module.name)
    if height is None:
        raise SpecVizError(
            f"{module.name} imports {name}, which is in no layer: those are {', '.join(LAYERS)}."
        )
    if own is not None and height > own:
        raise SpecVizError(f"{module.name} imports {name}, which is in a higher layer: imports only go down.")
    if name in way:
        circle = " → ".join((*way[way.index(name) :], name))
        raise SpecVizError(f"{module.name} imports {name}, which needs it in turn: {circle}.")


def _check_names(module: Module, imported: Module) -> None:
    """Refuse what a module imports by a name that is not exported."""
    for name in module.imports[imported.name]:
        if name not in imported.exported:
            raise SpecVizError(
                f"{module.name} imports {name} from {imported.name}, which does not export it."
            )
