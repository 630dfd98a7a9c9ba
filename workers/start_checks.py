"""What a worker or a scheduler checks before it starts: that its servers are what it was told."""

from __future__ import annotations

import sys

import structlog

from launcher.server_urls import WrongServer, check_broker, check_database_settings

WRONG_SETTINGS = 2
log = structlog.get_logger()


def check_servers() -> None:
    """End with a sentence if a URL is wrong, or if there is no database.

    A broker that is down only delays runs, so it is waited for.
    """
    from django.conf import settings
    from django.db import connection

    try:
        check_database_settings(connection.get_connection_params())
        check_broker(settings.REDIS_URL)
    except WrongServer as exc:
        if exc.may_come_back:
            log.warning("%s Until then each worker executes runs one at a time.", exc)
            return
        sys.stderr.write(f"{exc}\n")
        raise SystemExit(WRONG_SETTINGS) from exc
