"""`toolgauge plan`, `apply` and `export`: endpoints as a YAML file.

Nothing of the project is imported before it is needed: `toolgauge --help` reads this file.
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
_STANDARD = "-"
_WHERE = (
    "Run it where the product runs, with its DATABASE_URL, SECRET_KEY and CREDENTIAL_KEYS; "
    "or on the machine where ./run is running, with its --data-dir."
)


def add_plan_arguments(parser: argparse.ArgumentParser) -> None:
    """What `toolgauge plan` can be told."""
    _add_file(parser, "the YAML file; - reads standard input")
    _add_prune(parser)
    parser.add_argument(
        "--exit-code", action="store_true", help="exit 1 where applying would change anything"
    )


def add_apply_arguments(parser: argparse.ArgumentParser) -> None:
    """What `toolgauge apply` can be told."""
    _add_file(parser, "the YAML file; - reads standard input")
    _add_prune(parser)
    parser.add_argument(
        "--expect",
        metavar="STATE",
        help="the `state` that plan printed; apply nothing, exit 1, where it is another by now",
    )


def add_export_arguments(parser: argparse.ArgumentParser) -> None:
    """What `toolgauge export` can be told."""
    _add_file(parser, "where to write; - writes to standard output")
    parser.add_argument("--force", action="store_true", help="write over a file that is there")


def plan(options: argparse.Namespace) -> int:
    """Show what applying the file would change; nothing is changed."""
    return with_database(options, _plan)


def apply(options: argparse.Namespace) -> int:
    """Make the registered endpoints what the file says, all or nothing."""
    return with_database(options, _apply)


def export(options: argparse.Namespace) -> int:
    """Write the registered endpoints to the file."""
    return with_database(options, _export)


def _add_file(parser: argparse.ArgumentParser, words: str) -> None:
    parser.add_argument("file", metavar="FILE", help=words)
    add_data_dir(parser)


def add_data_dir(parser: argparse.ArgumentParser) -> None:
    """Where the database of a product is found that runs on this machine."""
    parser.add_argument(
        "--data-dir",
        type=Path,
        default=Path(__file__).resolve().parent.parent / "var",
        help="of a product that runs on this machine; its database is used (var/)",
    )


def _add_prune(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--prune", action="store_true", help="remove endpoints that do not stand in the file"
    )


def with_database(options: argparse.Namespace, work: Callable[[argparse.Namespace], int]) -> int:
    """Do the work with the product's database; say what is wrong where it cannot be used."""
    import django
    from django.core.exceptions import ImproperlyConfigured
    from django.db import DatabaseError

    from dashboard.core import actor_context
    from launcher import running_product

    # Keys of endpoints come from what the caller has set, not from what is found for us below.
    options.variables = dict(os.environ)
    os.environ |= running_product.find_environment(options.data_dir, os.environ)
    os.environ |= {"DJANGO_SETTINGS_MODULE": "config.settings"}
    try:
        django.setup()
        with actor_context.acting_as(actor_context.command_actor()):
            return work(options)
    except (ImproperlyConfigured, ValueError) as exc:
        print_message(f"toolgauge: the settings cannot be used: {exc}\n{_WHERE}")
        return USAGE
    except DatabaseError as exc:
        print_message(f"toolgauge: the database cannot be used: {str(exc).strip()}\n{_WHERE}")
        return NO_VERDICT


def _plan(options: argparse.Namespace) -> int:
    from dashboard.core.errors import Refused
    from dashboard.endpoints.as_code import apply_plan

    declared = _declared(options)
    if declared is None:
        return USAGE
    try:
        made = apply_plan.make_plan(declared, prune=options.prune)
    except Refused as exc:
        print_message(f"toolgauge plan: {exc.message}")
        return USAGE
    _show(made)
    print_result(json.dumps(made.as_json(), indent=2, ensure_ascii=False))
    return BELOW if options.exit_code and made.changing else GOOD


def _apply(options: argparse.Namespace) -> int:
    from dashboard.core.errors import Refused
    from dashboard.endpoints.services import apply_file

    declared = _declared(options)
    if declared is None:
        return USAGE
    try:
        done = apply_file.apply_endpoints(
            declared, prune=options.prune, expected=options.expect, by=None
        )
    except apply_file.PlanOutdated as exc:
        _show(exc.plan)
        print_message(f"toolgauge apply: {exc.message}")
        print_result(
            json.dumps({"applied": False, **exc.plan.as_json()}, indent=2, ensure_ascii=False)
        )
        return BELOW
    except Refused as exc:
        print_message(f"toolgauge apply: {exc.message}")
        return USAGE
    _show(done)
    print_message("Applied." if done.changing else "There was nothing to change.")
    print_result(json.dumps({"applied": True, **done.as_json()}, indent=2, ensure_ascii=False))
    return GOOD


def _export(options: argparse.Namespace) -> int:
    from dashboard.endpoints.as_code import file_writer

    text = file_writer.export_endpoints(None)
    if options.file == _STANDARD:
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


def _declared(options: argparse.Namespace) -> Sequence[DeclaredEndpoint] | None:
    """What the file declares; None, and all that is wrong on both outputs, where it cannot be."""
    from dashboard.endpoints.as_code import file_reader
    from dashboard.endpoints.as_code.file_errors import InvalidFile

    try:
        data = _bytes(options.file, file_reader.MAX_BYTES)
        return file_reader.read_endpoints(
            file_reader.decode_file(data), variables=options.variables
        )
    except OSError as exc:
        print_message(f"toolgauge: {options.file} cannot be read: {exc.strerror}.")
    except InvalidFile as exc:
        _complain(options.file, exc)
    return None


def _bytes(name: str, most: int) -> bytes:
    # One more than is allowed, so that the reader can tell.
    if name == _STANDARD:
        return sys.stdin.buffer.read(most + 1)
    with Path(name).open("rb") as file:
        return file.read(most + 1)


def _complain(name: str, unreadable: InvalidFile) -> None:
    """As compilers do, so that editors can jump there."""
    for mistake in unreadable.mistakes:
        print_message(f"{name}:{mistake.line}:{mistake.column}: {mistake.message}")
    if unreadable.left_out:
        print_message(f"... and {unreadable.left_out} more mistakes.")
    errors = [
        {"line": mistake.line, "column": mistake.column, "message": mistake.message}
        for mistake in unreadable.mistakes
    ]
    print_result(json.dumps({"errors": errors}, indent=2, ensure_ascii=False))


def _show(made: Plan) -> None:
    from dashboard.endpoints.as_code.text import plan_lines

    for line in plan_lines(made):
        print_message(line)
