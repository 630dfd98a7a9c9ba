"""A worker outlives the trouble of its database: it says what is wrong and tries again later."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from django.db import Error, InterfaceError, OperationalError, close_old_connections

from dashboard.core.database_errors import explain_error

log = structlog.get_logger()


@contextmanager
def survive_database_errors() -> Iterator[None]:
    """Log an error of the database in place of raising it; the obligation is still a row."""
    close_old_connections()
    try:
        yield
    except Error as exc:
        is_trouble = isinstance(exc, OperationalError | InterfaceError)
        log.warning(explain_error(exc), error=" ".join(str(exc).split()), exc_info=not is_trouble)
    finally:
        close_old_connections()
