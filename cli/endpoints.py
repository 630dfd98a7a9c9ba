"""`toolgauge plan`, `apply` and `export`: endpoints as a YAML file.

Imports of the project are inside the functions: `toolgauge --help` loads this file.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cli.terminal import print_message, print_result

if TYPE_CHECKING:
    from dashboard.endpoints.as_code.apply_plan import Plan
    from dashboard.endpoints.as_code.file_errors import InvalidFile
    from dashboard.endpoints.as_code.file_reader import DeclaredEndpoint

GOOD, BELOW, USAGE, NO_VERDICT = 0, 1, 2, 3
_STDIO = "-"


def add_plan_arguments(parser: argparse.ArgumentParser) -> None:
    _add_file_argument(parser, "the YAML file; - reads standard input")
    _add_prune_argument(parser)
    parser.add_argument(
        "--exit-code", action="store_true", help="exit 1 where applying would change anything"
    )


def add_apply_arguments(parser: argparse.ArgumentParser) -> None:
    _add_file_argument(parser, "the YAML file; - reads standard input")
    _add_prune_argument(parser)
    parser.add_argument(
        "--expect",
        metavar="STATE",
        help="the `state` that plan printed; apply nothing, exit 1, where it is another by now",
    )


def add_export_arguments(parser: argparse.ArgumentParser) -> None:
    _add_file_argument(parser, "where to write; - writes to standard output")
    parser.add_argument("--force", action="store_true", help="write over a file that is there")


def plan(options: argparse.Namespace) -> int:
    """Print what applying the file would change, without changing anything."""
    return run_with_database(options, _plan)


def apply(options: argparse.Namespace) -> int:
    """Make the registered endpoints what the file says, all or nothing."""
    return run_with_database(options, _apply)


def export(options: argparse.Namespace) -> int:
    """Write the registered endpoints to the file."""
    return run_with_database(options, _export)


def _add_file_argument(parser: argparse.ArgumentParser, help_text: str) -> None:
    parser.add_argument("file", metavar="FILE", help=help_text)
    add_data_dir_argument(parser)


def add_data_dir_argument(parser: argparse.ArgumentParser) -> None:
    """Add --data-dir, which locates the database of a product that runs on this machine."""
    parser.add_argument(
        "--data-dir",
        type=Path,
        help="of a product that runs on this machine; its database is used (var/)",
    )


def _add_prune_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--prune", action="store_true", help="remove endpoints that do not stand in the file"
    )


def run_with_database(
    options: argparse.Namespace, command: Callable[[argparse.Namespace], int]
) -> int:
    """Run the command with the product's database; print what is wrong if it cannot be used."""
    import django
    from django.core.exceptions import ImproperlyConfigured
    from django.db import DatabaseError

    from dashboard.core import actor_context
    from launcher import running_product

    # Keys of endpoints come from the caller's environment, not from the one added below.
    options.variables = dict(os.environ)
    folder = options.data_dir or running_product.default_folder(os.environ)
    os.environ |= running_product.find_environment(folder, os.environ)
    os.environ |= {"DJANGO_SETTINGS_MODULE": "config.settings"}
    try:
        django.setup()
        with actor_context.acting_as(actor_context.command_actor()):
            return command(options)
    except (ImproperlyConfigured, ValueError) as exc:
        reason = f"the settings cannot be used: {exc}"
        print_message(f"toolgauge: {reason}\n{running_product.WHERE}")
        return USAGE
    except DatabaseError as exc:
        reason = f"the database cannot be used: {str(exc).strip()}"
        print_message(f"toolgauge: {reason}\n{running_product.WHERE}")
        return NO_VERDICT


def _plan(options: argparse.Namespace) -> int:
    from dashboard.core.errors import Refused
    from dashboard.endpoints.as_code import apply_plan

    declared = _read_file(options)
    if declared is None:
        return USAGE
    try:
        changes = apply_plan.make_plan(declared, prune=options.prune)
    except Refused as exc:
        print_message(f"toolgauge plan: {exc.message}")
        return USAGE
    _print_plan(changes)
    print_result(json.dumps(changes.as_json(), indent=2, ensure_ascii=False))
    return BELOW if options.exit_code and changes.changing else GOOD


def _apply(options: argparse.Namespace) -> int:
    from dashboard.core.errors import Refused
    from dashboard.endpoints.services import apply_file

    declared = _read_file(options)
    if declared is None:
        return USAGE
    try:
        changes = apply_file.apply_endpoints(
            declared, prune=options.prune, expected=options.expect, by=None
        )
    except apply_file.PlanOutdated as exc:
        _print_plan(exc.plan)
        print_message(f"toolgauge apply: {exc.message}")
        print_result(
            json.dumps({"applied": False, **exc.plan.as_json()}, indent=2, ensure_ascii=False)
        )
        return BELOW
    except Refused as exc:
        print_message(f"toolgauge apply: {exc.message}")
        return USAGE
    _print_plan(changes)
    print_message("Applied." if changes.changing else "There was nothing to change.")
    print_result(json.dumps({"applied": True, **changes.as_json()}, indent=2, ensure_ascii=False))
    return GOOD


def _export(options: argparse.Namespace) -> int:
    from dashboard.endpoints.as_code import file_writer

    text = file_writer.export_endpoints(None)
    if options.file == _STDIO:
        sys.stdout.buffer.write(text.encode())
        return GOOD
    path = Path(options.file)
    try:
        with path.open("w" if options.force else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        print_message(f"toolgauge export: {path} is there already. Give --force to write over it.")
        return USAGE
    except OSError as exc:
        print_message(f"toolgauge export: {path} cannot be written: {exc.strerror}.")
        return USAGE
    print_result(json.dumps({"file": str(path), "bytes": len(text.encode())}))
    return GOOD


def _read_file(options: argparse.Namespace) -> Sequence[DeclaredEndpoint] | None:
    """The endpoints that the file declares; None, after all mistakes were printed, if invalid."""
    from dashboard.endpoints.as_code import file_reader
    from dashboard.endpoints.as_code.file_errors import InvalidFile

    try:
        data = _read_bytes(options.file, file_reader.MAX_BYTES)
        return file_reader.read_endpoints(
            file_reader.decode_file(data), variables=options.variables
        )
    except OSError as exc:
        print_message(f"toolgauge: {options.file} cannot be read: {exc.strerror}.")
    except InvalidFile as exc:
        _print_mistakes(options.file, exc)
    return None


def _read_bytes(name: str, limit: int) -> bytes:
    # One byte more than the limit, so that the reader can detect an excess.
    if name == _STDIO:
        return sys.stdin.buffer.read(limit + 1)
    with Path(name).open("rb") as file:
        return file.read(limit + 1)


def _print_mistakes(name: str, unreadable: InvalidFile) -> None:
    """Print mistakes in the format of compilers, so that editors can jump to them."""
    for mistake in unreadable.mistakes:
        print_message(f"{name}:{mistake.line}:{mistake.column}: {mistake.message}")
    if unreadable.left_out:
        print_message(f"... and {unreadable.left_out} more mistakes.")
    errors = [
        {"line": mistake.line, "column": mistake.column, "message": mistake.message}
        for mistake in unreadable.mistakes
    ]
    print_result(json.dumps({"errors": errors}, indent=2, ensure_ascii=False))


def _print_plan(changes: Plan) -> None:
    from dashboard.endpoints.as_code.text import plan_lines

    for line in plan_lines(changes):
        print_message(line)
