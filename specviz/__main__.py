"""The command line: python -m specviz page | decode | replay | exactness | bench | pairs | fetch.

Exit status 0; 1 where `replay` found a difference, or `exactness` a law that is not what it should be; 2 with one line
on standard error that says what is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from specviz import Sampling, decode, measure_costs, race, replay
from specviz.bounds import MAX_K, MAX_TEMPERATURE, SEED_LIMIT
from specviz.decoding.options import DEFAULT_K, DEFAULT_SEED, DEFAULT_TOKENS
from specviz.errors import SpecVizError
from specviz.exactness.findings import HEAD, Finding, as_json, complaints, findings, law_table, line
from specviz.models.catalogue import DEFAULT_PAIR, availability, fetch_pair
from specviz.models.pairs import Pair, load_pair
from specviz.models.toy import DEFAULT_AGREEMENT
from specviz.record.files import write_file
from specviz.record.text import grid, summary
from specviz.record.trace import Trace
from specviz.speed.acceptance import draft_quality, report
from specviz.speed.bench import BENCH_TOKENS, bench, table

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
    commands.add_parser("page", help="serve the page at 127.0.0.1:7860, or at the port in PORT")
    to_decode = commands.add_parser("decode", help="run a prompt and print the token grid and the summary")
    _pair_options(to_decode)
    to_decode.add_argument(
        "--prompt", required=True, help="text, or token ids for the toy: --prompt '1 15 42'"
    )
    _run_options(to_decode, DEFAULT_TOKENS)
    template = to_decode.add_mutually_exclusive_group()
    template.add_argument(
        "--chat", action="store_const", const=True, dest="chat", help="use the chat template"
    )
    template.add_argument(
        "--raw", action="store_const", const=False, dest="chat", help="continue the raw text"
    )
    to_decode.add_argument("--label", default="", help="a free field in the trace: a name or a group")
    to_decode.add_argument(
        "--costs", action="store_true", help="measure the pair's costs, for the modelled speedup"
    )
    to_decode.add_argument(
        "--baseline", action="store_true", help="run the plain loop too, for the measured speedup"
    )
    to_decode.add_argument("--csv", metavar="FILE", help="write the step trace as CSV")
    to_decode.add_argument("--json", metavar="FILE", help="write the whole trace as JSON")
    to_decode.add_argument(
        "--html", metavar="FILE", help="write the run as one page that opens without a server"
    )

    to_replay = commands.add_parser(
        "replay", help="recompute every decision of a trace; exit status 1 if one differs"
    )
    to_replay.add_argument("trace", help="a trace's JSON file")

    to_exactness = commands.add_parser(
        "exactness", help="enumerate the law that the loop really produces, also with a classic mistake"
    )
    to_exactness.add_argument(
        "--fault", metavar="NAME", help="a classic mistake by its name, or all of them: all"
    )
    to_exactness.add_argument("--json", metavar="FILE", help="write the laws and their figures as JSON")

    to_bench = commands.add_parser(
        "bench",
        help="measure the engine on this machine, against transformers and against its forwards alone",
    )
    _pair_options(to_bench)
    _run_options(to_bench, BENCH_TOKENS)
    to_bench.add_argument(
        "--draft-quality",
        action="store_true",
        help="instead: how well the draft is accepted on 200 held-out prompts, by kind and position; takes long",
    )
    to_bench.add_argument("--json", metavar="FILE", help="write the figures as JSON")

    commands.add_parser("pairs", help="list the catalogue: what is here and what must be fetched")
    to_fetch = commands.add_parser("fetch", help="fetch a pair's weights")
    to_fetch.add_argument("pair")
    return whole


def _run_options(command: argparse.ArgumentParser, tokens: int) -> None:
    usual = Sampling()
    command.add_argument("-k", type=int, default=DEFAULT_K, help=f"draft length K, 0 to {MAX_K}")
    command.add_argument(
        "--temperature", type=float, default=usual.temperature, help=f"0 to {MAX_TEMPERATURE:g}, 0 is greedy"
    )
    command.add_argument("--top-k", type=int, default=usual.top_k, help="0 is off")
    command.add_argument("--top-p", type=float, default=usual.top_p, help="above 0, at most 1")
    command.add_argument("--max-new-tokens", type=int, default=tokens)
    command.add_argument("--seed", type=int, default=DEFAULT_SEED, help=f"0 to {SEED_LIMIT - 1}")


def _pair_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--pair", default=DEFAULT_PAIR, help="a name of the catalogue, or a folder with a model"
    )
    command.add_argument("--draft", help="model, lookup, self, noise, or a folder; by default the pair's own")
    command.add_argument("--device", help="cuda, cuda:1, mps or cpu; by default the fastest that is here")
    command.add_argument("--draft-device", help="where the draft model runs; by default the target's device")
    command.add_argument(
        "--dtype", help="float32, bfloat16, float16 or float64; by default what the device is native in"
    )
    command.add_argument(
        "--agreement", type=float, default=DEFAULT_AGREEMENT, help="how much the toy's draft agrees, 0 to 1"
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
    return load_pair(
        arguments.pair,
        arguments.draft,
        device=arguments.device,
        draft_device=arguments.draft_device,
        dtype=arguments.dtype,
        agreement=arguments.agreement,
    )


def _page(_: argparse.Namespace) -> NoReturn:
    from specviz.page import launch  # takes seconds, which no other command should

    launch.run()


def _decode(arguments: argparse.Namespace) -> int:
    for path in filter(None, (arguments.csv, arguments.json, arguments.html)):
        check_writable(path)
    sampling = Sampling(arguments.temperature, arguments.top_k, arguments.top_p)
    pair = _load(arguments)
    run = race if arguments.baseline else decode
    trace = run(
        pair,
        arguments.prompt,
        k=arguments.k,
        label=arguments.label,
        sampling=sampling,
        seed=arguments.seed,
        chat=arguments.chat,
        max_new_tokens=arguments.max_new_tokens,
        costs=measure_costs(pair) if arguments.costs else None,
    )
    for text in (*grid(trace), "", trace.text, "", *summary(trace)):
        print(text)
    if arguments.csv:
        trace.to_csv(arguments.csv)
    if arguments.json:
        trace.to_json(arguments.json)
    if arguments.html:
        trace.to_html(arguments.html)
    return 0


def check_writable(path: str) -> None:
    """Raise SpecVizError where a file can't be written, before a long run rather than after it."""
    target = Path(path)
    existing = target if target.exists() else target.parent
    if target.is_dir() or not existing.exists() or not os.access(existing, os.W_OK):
        raise SpecVizError(f"{path} can't be written: choose another place.")


def _replay(arguments: argparse.Namespace) -> int:
    trace = Trace.from_json(Path(arguments.trace))
    differences = replay(trace)
    for text in differences:
        print(text)
    cells = sum(len(step["drafts"]) + (step["final"] is not None) for step in trace.data["steps"])
    print(f"{len(trace.data['steps'])} steps, {cells} cells: {len(differences) or 'no'} differences")
    return DIFFERENCE if differences else 0


def _exactness(arguments: argparse.Namespace) -> int:
    if arguments.json:
        check_writable(arguments.json)
    found: list[Finding] = []
    for finding in findings(arguments.fault):
        if not found:
            print(HEAD)
        found.append(finding)
        print(line(finding), flush=True)
    if arguments.fault != "all":
        for text in law_table(found):
            print(text)
    if arguments.json:
        write_file(arguments.json, as_json(found))
    wrong = list(complaints(found))
    for text in wrong:
        print(text)
    return DIFFERENCE if wrong else 0


def _bench(arguments: argparse.Namespace) -> int:
    if arguments.json:
        check_writable(arguments.json)
    sampling = Sampling(arguments.temperature, arguments.top_k, arguments.top_p)
    options = {"k": arguments.k, "tokens": arguments.max_new_tokens, "seed": arguments.seed}
    pair = _load(arguments)
    if arguments.draft_quality:
        figures = draft_quality(pair, progress=_progress)
        print(report(figures))
    else:
        figures = bench(pair, sampling=sampling, progress=_progress, **options)
        for text in table(figures):
            print(text)
    if arguments.json:
        write_file(arguments.json, json.dumps(figures, indent=1) + "\n")
    return 0


def _progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _pairs(_: argparse.Namespace) -> int:
    for each in availability():
        size = f"{each.download / 1e6:,.0f} MB to fetch" if not each.here else "here"
        print(
            f"{each.entry.name:<14} {size:<18} {each.entry.title}; {each.entry.licence}; wants {each.entry.needs}"
        )
    return 0


def _fetch(arguments: argparse.Namespace) -> int:
    fetch_pair(arguments.pair, print)
    print(f"{arguments.pair} is here.")
    return 0


COMMANDS = {
    "page": _page,
    "decode": _decode,
    "replay": _replay,
    "exactness": _exactness,
    "bench": _bench,
    "pairs": _pairs,
    "fetch": _fetch,
}


if __name__ == "__main__":
    sys.exit(main())
