"""The command line: python -m specviz decode | replay | bench | pairs | fetch.

Exit status 0; 1 where `replay` found a difference; 2 with one line on standard error that says what is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from specviz.errors import SpecVizError

if TYPE_CHECKING:  # importing it for real would load torch before it is needed
    from specviz.pairs import Pair

DIFFERENCE, WRONG_INPUT = 1, 2


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaints are one line."""

    def error(self, message: str) -> NoReturn:
        raise SpecVizError(f"{message[:1].upper()}{message[1:]}: see {self.prog} --help.")


def parser() -> Parser:
    """Return the parser of all commands."""
    whole = Parser(
        prog="python -m specviz", description="Speculative decoding, exact, with every step recorded."
    )
    commands = whole.add_subparsers(dest="command", required=True, parser_class=Parser)
    decode = commands.add_parser("decode", help="run a prompt and print the token grid and the summary")
    _pair_options(decode)
    decode.add_argument("--prompt", required=True, help="text, or token ids for the toy: --prompt '1 15 42'")
    decode.add_argument("-k", type=int, default=4, help="draft length K, 0 to 16")
    decode.add_argument("--temperature", type=float, default=0.8, help="0 to 2, 0 is greedy")
    decode.add_argument("--top-k", type=int, default=0, help="0 is off")
    decode.add_argument("--top-p", type=float, default=1.0, help="above 0, at most 1")
    decode.add_argument("--max-new-tokens", type=int, default=64)
    decode.add_argument("--seed", type=int, default=7, help="0 to 2^53 - 1")
    template = decode.add_mutually_exclusive_group()
    template.add_argument(
        "--chat", action="store_const", const=True, dest="chat", help="use the chat template"
    )
    template.add_argument(
        "--raw", action="store_const", const=False, dest="chat", help="continue the raw text"
    )
    decode.add_argument("--label", default="", help="a free field in the trace: a name or a group")
    decode.add_argument(
        "--costs", action="store_true", help="measure the pair's costs, for the modelled speedup"
    )
    decode.add_argument(
        "--baseline", action="store_true", help="run the plain loop too, for the measured speedup"
    )
    decode.add_argument("--csv", metavar="FILE", help="write the step trace as CSV")
    decode.add_argument("--json", metavar="FILE", help="write the whole trace as JSON")

    replay = commands.add_parser(
        "replay", help="recompute every decision of a trace; exit status 1 if one differs"
    )
    replay.add_argument("trace", help="a trace's JSON file")

    bench = commands.add_parser("bench", help="measure the engine on this machine")
    _pair_options(bench)
    bench.add_argument("--json", metavar="FILE", help="write the figures as JSON")

    commands.add_parser("pairs", help="list the catalogue: what is here and what must be fetched")
    fetch = commands.add_parser("fetch", help="fetch a pair's weights")
    fetch.add_argument("pair")
    return whole


def _pair_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--pair", default="smollm2-135m", help="a name of the catalogue, or a folder with a model"
    )
    command.add_argument("--draft", help="model, lookup, self, noise, or a folder; by default the pair's own")
    command.add_argument("--device", help="cuda, cuda:1, mps or cpu; by default the fastest that is here")
    command.add_argument(
        "--dtype", help="float32, bfloat16, float16 or float64; by default what the device is native in"
    )
    command.add_argument(
        "--agreement", type=float, default=0.9, help="how much the toy's draft agrees, 0 to 1"
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status; a SpecVizError becomes one line on standard error."""
    try:
        arguments = parser().parse_args(argv)
        quiet()
        return COMMANDS[arguments.command](arguments)
    except SpecVizError as error:
        print(f"specviz: {' '.join(str(error).split())}", file=sys.stderr)
        return WRONG_INPUT
    except BrokenPipeError:  # the reader of our output went away, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("specviz: interrupted.", file=sys.stderr)
        return WRONG_INPUT


def quiet() -> None:
    """Keep progress bars and advice of the libraries out of our output."""
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()


def _load(arguments: argparse.Namespace) -> Pair:
    from specviz.pairs import load_pair

    return load_pair(
        arguments.pair,
        arguments.draft,
        device=arguments.device,
        dtype=arguments.dtype,
        agreement=arguments.agreement,
    )


def _decode(arguments: argparse.Namespace) -> int:
    from specviz import Sampling, autoregress, decode, measure_costs
    from specviz.display import grid, summary

    for path in filter(None, (arguments.csv, arguments.json)):
        check_writable(path)
    sampling = Sampling(arguments.temperature, arguments.top_k, arguments.top_p)
    pair = _load(arguments)
    options = {"sampling": sampling, "seed": arguments.seed, "chat": arguments.chat}
    options |= {"max_new_tokens": arguments.max_new_tokens}
    trace = decode(
        pair,
        arguments.prompt,
        k=arguments.k,
        label=arguments.label,
        costs=measure_costs(pair) if arguments.costs else None,
        baseline=autoregress(pair.target, arguments.prompt, **options) if arguments.baseline else None,
        **options,
    )
    for line in (*grid(trace), "", trace.text, "", *summary(trace)):
        print(line)
    if arguments.csv:
        trace.to_csv(arguments.csv)
    if arguments.json:
        trace.to_json(arguments.json)
    return 0


def check_writable(path: str) -> None:
    """Raise SpecVizError where a file can't be written, before a long run rather than after it."""
    target = Path(path)
    existing = target if target.exists() else target.parent
    if target.is_dir() or not existing.exists() or not os.access(existing, os.W_OK):
        raise SpecVizError(f"{path} can't be written: choose another place.")


def _replay(arguments: argparse.Namespace) -> int:
    from specviz.replay import replay
    from specviz.trace import Trace

    trace = Trace.from_json(Path(arguments.trace))
    differences = replay(trace)
    for line in differences:
        print(line)
    cells = sum(len(step["drafts"]) + (step["final"] is not None) for step in trace.data["steps"])
    print(f"{len(trace.data['steps'])} steps, {cells} cells: {len(differences) or 'no'} differences")
    return DIFFERENCE if differences else 0


def _bench(arguments: argparse.Namespace) -> int:
    from specviz.bench import bench

    if arguments.json:
        check_writable(arguments.json)
    figures = bench(_load(arguments))
    for name, value in figures.items():
        if isinstance(value, dict):
            print(f"{name:<16} {value['median']:.4g}  ({value['low']:.4g} to {value['high']:.4g})")
        else:
            print(f"{name:<16} {'not measured' if value is None else value}")
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 0


def _pairs(_: argparse.Namespace) -> int:
    from specviz.pairs import catalogue

    for line in catalogue():
        size = f"{line.download / 1e6:,.0f} MB to fetch" if not line.here else "here"
        print(f"{line.entry.name:<14} {size:<18} {line.entry.title}; wants {line.entry.needs}")
    return 0


def _fetch(arguments: argparse.Namespace) -> int:
    from specviz.pairs import fetch_pair

    fetch_pair(arguments.pair, print)
    print(f"{arguments.pair} is here.")
    return 0


COMMANDS = {"decode": _decode, "replay": _replay, "bench": _bench, "pairs": _pairs, "fetch": _fetch}


if __name__ == "__main__":
    sys.exit(main())
