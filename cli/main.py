"""The `toolgauge` command. Exit: 0 good, 1 below the bar, 2 wrong usage, 3 no verdict."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cli import audit, detect, endpoints
from simulators.options import add_options

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
    options = _build_parser().parse_args(arguments)
    run: Callable[[argparse.Namespace], int] = options.run
    return run(options)


# Handlers import what they need themselves: `parse` must not wait for Django, nor `--help` for
# anything.


def _serve_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--port",
        type=_parse_port,
        default=8000,
        help="of the web pages; 0 takes any free one (8000)",
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
    parser.add_argument(
        "--port", type=_parse_port, default=8900, help="0 takes any free one (8900)"
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (127.0.0.1)")
    add_options(parser)


def _simulate(options: argparse.Namespace) -> int:
    from launcher.ports import free_port
    from simulators.server import serve
    from simulators.vendors.vendor import LATENCY

    port = options.port or free_port()
    sys.stderr.write(f"Simulated vendors at http://{options.host}:{port}\n")
    latency = options.latency or LATENCY
    clock = {"speed": options.speed, "since": options.since}
    if not serve(options.host, port, latency=latency, **clock):
        return 0
    sys.stderr.write("Give another --port, or --port 0 for any free one.\n")
    return 2


def _gateway_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=_parse_port, default=8100, help="to listen on (8100)")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (127.0.0.1)")


def _gateway(options: argparse.Namespace) -> int:
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from gateway.server import run_gateway

    return run_gateway(options.host, options.port)


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
    from cli.parse import run

    try:
        return run(options, sys.stdin.buffer, sys.stdout, sys.stderr)
    except BrokenPipeError:
        # The reader of our output has closed it, as `head` does. Nothing may flush at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _translate_arguments(parser: argparse.ArgumentParser) -> None:
    # Listed here, so that --help need not load the adapters; a test compares them.
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
    from cli.translate import run

    return run(options)


def _probe_arguments(parser: argparse.ArgumentParser) -> None:
    # Listed here, so that --help need not load the suite; a test compares them.
    providers = [
        *("anthropic", "openai", "openai_responses", "deepseek", "minimax", "glm", "qwen"),
        *("kimi", "mistral", "gemini", "ollama"),
    ]
    parser.add_argument("--provider", required=True, choices=providers)
    parser.add_argument("--base-url", required=True, metavar="URL")
    parser.add_argument("--model", required=True)
    parser.add_argument("--api-key-env", metavar="VAR", help="the variable that holds the API key")
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="K=V",
        help="a request field, its value as JSON or text; may be given several times",
    )
    parser.add_argument(
        "--dialect", default="", metavar="NAME", help="the dialect to speak (the provider's own)"
    )
    template = parser.add_mutually_exclusive_group()
    template.add_argument(
        "--chat-template",
        type=Path,
        metavar="FILE",
        help="the model's chat template, for an engine that does not show it",
    )
    template.add_argument(
        "--chat-template-hash", default="", metavar="SHA256", help="the hash of that file instead"
    )
    parser.add_argument("--suite", choices=["light", "full"], default="full")
    parser.add_argument(
        "--samples", type=_number_up_to(1000), metavar="N", help="tries of every probe of the suite"
    )
    parser.add_argument("--seed", default="0", help="draws the same questions again (0)")
    parser.add_argument(
        "--concurrency",
        type=_number_up_to(100),
        default=8,
        metavar="N",
        help="requests at once (8)",
    )
    parser.add_argument(
        "--max-requests",
        type=_number_up_to(1_000_000),
        metavar="N",
        help="in all (twice the first round)",
    )
    parser.add_argument(
        "--deadline",
        type=_parse_seconds,
        default=900.0,
        metavar="S",
        help="for the whole run (900)",
    )
    parser.add_argument(
        "--plan",
        action="store_true",
        help="print requests, expected tokens and token ceiling, send nothing",
    )
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true", help="the profile as JSON (the default)")
    output.add_argument("--markdown", action="store_true", help="tables for a pull request")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write a JUnit report")
    parser.add_argument(
        "--transcript", type=Path, metavar="FILE", help="write the run for `toolgauge replay`"
    )
    parser.add_argument(
        "--fail-under",
        action="append",
        default=[],
        metavar="METRIC=VALUE",
        help="exit 1 where the metric is on the bad side of the value",
    )
    parser.add_argument(
        "--against", type=Path, metavar="FILE", help="exit 1 where it got worse since that profile"
    )


def _probe(options: argparse.Namespace) -> int:
    from cli.probe.command import run

    return run(options)


def _replay_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths", nargs="*", type=Path, metavar="PATH", help="files or folders (those shipped)"
    )


def _replay(options: argparse.Namespace) -> int:
    from cli.replay import run

    return run(options)


def _selfcheck_arguments(parser: argparse.ArgumentParser) -> None:
    """The command has no arguments."""


def _selfcheck(options: argparse.Namespace) -> int:
    from cli.selfcheck.command import run

    return run(options)


def _doctor_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="the checks as JSON")
    parser.add_argument("--strict", action="store_true", help="exit 1 for warnings too")
    parser.add_argument(
        "--data-dir",
        type=Path,
        help="of a product that runs on this machine; its servers are looked at (var/)",
    )


def _doctor(options: argparse.Namespace) -> int:
    from cli.doctor import run

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
    Subcommand("probe", "measure how an endpoint calls tools", _probe_arguments, _probe),
    Subcommand("replay", "run recorded transcripts offline", _replay_arguments, _replay),
    Subcommand("selfcheck", "prove that every probe can fail", _selfcheck_arguments, _selfcheck),
    Subcommand(
        "detect",
        "say what the detector makes of a history of runs",
        detect.add_arguments,
        detect.run,
    ),
    Subcommand(
        "plan",
        "show what a YAML file of endpoints would change",
        endpoints.add_plan_arguments,
        endpoints.plan,
    ),
    Subcommand(
        "apply",
        "make the endpoints what a YAML file says",
        endpoints.add_apply_arguments,
        endpoints.apply,
    ),
    Subcommand(
        "export",
        "write the endpoints to a YAML file",
        endpoints.add_export_arguments,
        endpoints.export,
    ),
    Subcommand(
        "audit",
        "check the audit log, print its head",
        audit.add_arguments,
        audit.run,
    ),
    Subcommand("simulate", "serve the simulated vendors", _simulate_arguments, _simulate),
    Subcommand("gateway", "serve live traffic under policy", _gateway_arguments, _gateway),
    Subcommand("doctor", "say what is wrong and what to do", _doctor_arguments, _doctor),
)


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="toolgauge", description="Measures how well model endpoints call tools."
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for subcommand in SUBCOMMANDS:
        subparser = commands.add_parser(
            subcommand.name, help=subcommand.help, description=subcommand.help.capitalize() + "."
        )
        subcommand.add_arguments(subparser)
        subparser.set_defaults(run=subcommand.run)
    return parser


def _parse_port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65_535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port; give a number from 0 to 65535")
    return int(text)


def _number_up_to(limit: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not (text.isascii() and text.isdecimal()) or not 0 < int(text) <= limit:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to {limit}")
        return int(text)

    return parse


def _parse_seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0
    if not 0 < seconds <= 86_400:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds up to 86400")
    return seconds


if __name__ == "__main__":
    sys.exit(main())
