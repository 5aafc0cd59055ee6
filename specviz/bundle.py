"""What the player is made of: scripts, styles and a template in `assets/`, and one message about a run.

The page puts these into Gradio, `standalone` into one file. Nothing here knows of either.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from specviz.fingerprint import fingerprint
from specviz.metrics import summary

ASSETS = Path(__file__).resolve().parents[1] / "assets"
PLAYER_SCRIPTS = (
    "player/run/numbers", "player/run/tokens", "player/run/cells", "player/draw/dom", "player/run/beats",
    "player/state/moves", "player/state/link", "player/draw/ribbon", "player/draw/grid", "player/draw/skyline",
    "player/draw/stepclock", "player/draw/transport", "player/draw/inspector/words", "player/draw/inspector/ruler", "player/draw/inspector/lanes",
    "player/run/mass", "player/draw/inspector/dots", "player/draw/inspector/inspector", "player/run/captions", "player/draw/speed",
    "player/draw/inspector/movable", "player/acts/branch", "player/acts/race", "player/run/score", "player/acts/predict",
    "player/draw/predict", "player/draw/endcard", "player/acts/phone", "player/acts/present", "player/draw/notes",
    "player/acts/lesson", "player/acts/share", "player/acts/input", "player/acts/learn", "player/main",
)  # fmt: skip
STYLES = (
    "player/styles/player",
    "player/styles/inspector",
    "page/styles/page",
    "player/styles/share",
    "player/styles/branch",
    "player/styles/predict",
)
LAST_STYLES = ("player/styles/phone", "player/styles/present")  # they override what stands before them


def asset(name: str) -> str:
    """Return the text of a file in `assets/`."""
    return (ASSETS / name).read_text(encoding="utf-8")


def scripts() -> str:
    """Return the player's scripts as one, in the order in which they need each other."""
    return "\n".join(asset(f"{name}.js") for name in PLAYER_SCRIPTS)


def styles(*labs: str) -> str:
    """Return the styles, those of the page's `labs` included, as elements for a document's head."""
    return "".join(f"<style>{asset(f'{name}.css')}</style>" for name in (*STYLES, *labs, *LAST_STYLES))


def whole_run(data: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Return the message that shows a whole run: its trace, figures and fingerprint, and `more` that is known of it."""
    return {"live": False, "trace": data, "figures": summary(data), "fingerprint": fingerprint(data), **more}


def as_json(value: Any) -> str:
    """Return JSON in which nothing looks like a tag, wherever it may be put."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
