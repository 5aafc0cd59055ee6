"""Draw a run's learning curves: held-out overlap and greedy agreement over the tokens trained on, from RUN/log.jsonl.

python -m distil.curves --run run --out assets/draft/curves.png
"""

from __future__ import annotations

import argparse
import itertools
import json
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 1200, 700, 90, 250, 60, 80
INK, GRID, PAPER = "#222222", "#dddddd", "#ffffff"
CURVES = {
    "overlap_0.8": ("held-out overlap, T = 0.8", "#0072B2"),
    "overlap_1.0": ("held-out overlap, T = 1", "#56B4E9"),
    "greedy": ("held-out greedy agreement", "#E69F00"),
    "train_overlap": ("training overlap (known part)", "#888888"),
}


def read_log(path: Path) -> list[dict]:
    """The log's evaluations after some training."""
    lines = [line for line in map(json.loads, path.read_text().splitlines()) if line["train_loss"]]
    if not lines:
        raise SystemExit(f"{path} is empty: nothing has been evaluated yet.")
    return lines


def draw(lines: list[dict]) -> Image.Image:
    """A picture of WIDTH x HEIGHT pixels: millions of tokens to the right, shares of 1 upwards, a dotted line an epoch's start."""
    picture = Image.new("RGB", (WIDTH, HEIGHT), PAPER)
    pen, font = ImageDraw.Draw(picture), ImageFont.load_default(18)
    most = max(line["tokens"] for line in lines) or 1
    highest = max(line[name] for line in lines for name in CURVES) * 1.1

    def place(tokens: float, value: float) -> tuple[float, float]:
        x = LEFT + (WIDTH - LEFT - RIGHT) * tokens / most
        return x, HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / highest

    for tenth in range(int(highest * 10) + 1):
        x, y = place(0, tenth / 10)
        pen.line([(x, y), place(most, tenth / 10)], fill=GRID)
        pen.text((x - 12, y), f"{tenth / 10:.1f}", fill=INK, font=font, anchor="rm")
    for fifth in range(6):
        x, y = place(most * fifth / 5, 0)
        pen.text((x, y + 10), f"{most * fifth / 5e6:.1f}", fill=INK, font=font, anchor="ma")
    for before, line in itertools.pairwise(lines):
        if line["epoch"] > before["epoch"]:
            x, y = place(line["tokens"], 0)
            pen.line([(x, y), (x, TOP)], fill=GRID)
            pen.text((x, TOP - 4), f"pass {line['epoch'] + 1}", fill="#999999", font=font, anchor="mb")
    label_at = HEIGHT
    for name, (_, colour) in sorted(CURVES.items(), key=lambda curve: lines[-1][curve[0]]):
        points = [place(line["tokens"], line[name]) for line in lines]
        pen.line(points, fill=colour, width=3, joint="curve")
        label_at = min(points[-1][1], label_at - 22)  # from below, none on another
        pen.text(
            (points[-1][0] + 10, label_at), f"{lines[-1][name]:.3f}", fill=colour, font=font, anchor="lm"
        )
    for row, (title, colour) in enumerate(CURVES.values()):
        y = HEIGHT - BOTTOM - 110 + 24 * row
        pen.line([(WIDTH - RIGHT - 330, y), (WIDTH - RIGHT - 300, y)], fill=colour, width=4)
        pen.text((WIDTH - RIGHT - 290, y), title, fill=INK, font=font, anchor="lm")
    pen.text(
        ((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 20),
        "million tokens trained on",
        fill=INK,
        font=font,
        anchor="mb",
    )
    return picture


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="a .png")
    args = parser.parse_args()
    draw(read_log(args.run / "log.jsonl")).save(args.out)


if __name__ == "__main__":
    main()
