"""The `toolgauge` command. Exit: 0 good, 1 below the bar, 2 wrong usage, 3 no verdict."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Subcommand:
    """One line of `toolgauge --help`."""

    name: str
    help: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a subcommand and return its exit code."""
    options = _parser().parse_args(arguments)
    run: Callable[[argparse.Namespace], int] = options.run
    return run(options)


# What a handler needs is imported inside it: `parse` must not wait for Django, nor `--help`
# for anything.


def _serve_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--port", type=_port, default=8000, help="of the web pages; 0 takes any free one (8000)"
    )
    parser.add_argument(
        "--data-dir",
        type=Path,
        default=PROJECT / "var",
        help="where the database, keys and logs live (var/)",
    )
    parser.add_argument(
        "--no-demo",
        dest="demo",
        action="store_false",
        help="do not register the simulated vendors on the first start",
    )


def _serve(options: argparse.Namespace) -> int:
    from launcher.serve import serve

    return serve(port=options.port, data_dir=options.data_dir, demo=options.demo)


def _simulate_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=_port, default=8900, help="0 takes any free one (8900)")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (127.0.0.1)")


def _simulate(options: argparse.Namespace) -> int:
    from launcher.ports import free_port
    from simulators.server import serve

    port = options.port or free_port()
    sys.stderr.write(f"Simulated vendors at http://{options.host}:{port}\n")
    return 2 if serve(options.host, port) else 0


def _parse_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--format", default="auto", metavar="NAME", help="the text format, or auto (auto)"
    )
    parser.add_argument(
        "--tools", type=Path, metavar="FILE", help="JSON list of the tools offered, OpenAI form"
    )
    parser.add_argument(
        "--stream",
        type=int,
        metavar="SEED",
        help="feed the text in random pieces of 1 to 8 characters; the output is the same",
    )
    parser.add_argument(
        "--jsonl", action="store_true", help="read JSON lines: id, text, tools, prefill, truncated"
    )


def _parse(options: argparse.Namespace) -> int:
    from config.parse_command import run

    try:
        return run(options, sys.stdin.buffer, sys.stdout, sys.stderr)
    except BrokenPipeError:
        # Who read our output has left, as `head` does. Nothing may be left to flush at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _translate_arguments(parser: argparse.ArgumentParser) -> None:
    # Named here, so that --help need not load the adapters; a test compares.
    formats = ["anthropic", "gemini", "ollama", "openai", "openai_responses"]
    parser.add_argument("--from", dest="source", required=True, choices=formats)
    parser.add_argument("--to", dest="target", required=True, choices=formats)
    parser.add_argument(
        "--kind",
        choices=["auto", "request", "reply"],
        default="auto",
        help="what stands on standard input; auto goes by its fields",
    )


def _translate(options: argparse.Namespace) -> int:
    from config.translate_command import run

    return run(options)


SUBCOMMANDS = (
    Subcommand("serve", "run the whole product on this machine", _serve_arguments, _serve),
    Subcommand("parse", "find the tool calls in a model's text", _parse_arguments, _parse),
    Subcommand(
        "translate",
        "write a request or reply of one wire format in another",
        _translate_arguments,
        _translate,
    ),
    Subcommand("simulate", "serve the simulated vendors", _simulate_arguments, _simulate),
)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="toolgauge", description="Measures how well model endpoints call tools."
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for subcommand in SUBCOMMANDS:
        own = commands.add_parser(
            subcommand.name, help=subcommand.help, description=subcommand.help.capitalize() + "."
        )
        subcommand.add_arguments(own)
        own.set_defaults(run=subcommand.run)
    return parser


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65_535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port; give a number from 0 to 65535")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
