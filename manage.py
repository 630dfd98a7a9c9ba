#!/usr/bin/env python
"""Django's command line, with the settings of the product that runs on this machine."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"


def main() -> int:
    _use_own_packages()
    from django.db import OperationalError

    from launcher import running_product

    folder = running_product.default_folder(os.environ)
    os.environ |= running_product.find_environment(folder, os.environ)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        _execute()
    except OperationalError as exc:
        reason = str(exc).strip()
        sys.stderr.write(f"The database cannot be used: {reason}\n{running_product.WHERE}\n")
        return 3
    return 0


def _execute() -> None:
    from django.core.management import execute_from_command_line

    from dashboard.core import actor_context
    from dashboard.core.command_failures import explain_failures

    with actor_context.acting_as(actor_context.command_actor()), explain_failures():
        execute_from_command_line(sys.argv)


def _use_own_packages() -> None:
    """Start again with the interpreter that ./run has set up, if this one lacks our packages."""
    if importlib.util.find_spec("django") is not None:
        return
    python = VENV / "bin/python"
    if Path(sys.prefix) == VENV or not python.exists():
        sys.exit("The packages of Toolgauge are not installed. ./run installs them in .venv.")
    os.execv(python, [str(python), *sys.argv])  # noqa: S606 -- our own interpreter, no shell


if __name__ == "__main__":
    sys.exit(main())
