"""Ends a command that cannot use its settings or its servers with a sentence and exit code 2."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError

from dashboard.core.database_errors import is_unreachable, known_problem
from launcher import running_product
from launcher.server_urls import explain_database_error

WRONG_SETTINGS = 2


@contextmanager
def explain_failures() -> Iterator[None]:
    """Print one sentence in place of a traceback; other errors pass."""
    try:
        yield
    except ImproperlyConfigured as exc:
        sys.stderr.write(f"The settings cannot be used: {exc} {running_product.WHERE}\n")
    except OperationalError as exc:
        sentence = explain_database_error(exc) if is_unreachable(exc) else known_problem(exc)
        if sentence is None:
            raise
        sys.stderr.write(f"{sentence} {running_product.WHERE}\n")
    else:
        return
    raise SystemExit(WRONG_SETTINGS)
