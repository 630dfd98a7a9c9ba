"""The Celery app. A message only wakes a worker; the queue of runs is in Postgres."""

from __future__ import annotations

import logging.config
import os
from typing import Any

from celery import Celery
from celery.signals import beat_init, celeryd_init, setup_logging

from workers import shutdown, start_checks  # noqa: F401 -- shutdown before the pool forks
from workers.timer import ScheduleTimer

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
# Celery runs Django's checks at each start and ignores their result. They import all pages and
# the API, which takes as long as the rest of the start. `./run check` and `migrate` run them.
os.environ.setdefault("CELERY_SKIP_CHECKS", "yes")

app = Celery("toolgauge", include=["workers.notifying", "workers.probing", "workers.upkeep"])
app.config_from_object("workers.celeryconfig")
app.steps["worker"].add(ScheduleTimer)


@celeryd_init.connect
def check_worker(instance: Any, **_kwargs: Any) -> None:
    """Before anything else: a worker with wrong settings ends with a sentence."""
    # The banner is printed past our logging, and a full disk would end the worker there.
    instance.quiet = True
    start_checks.check_servers()


@beat_init.connect
def check_beat(**_kwargs: Any) -> None:
    start_checks.check_servers()


@setup_logging.connect
def use_our_logging(**_kwargs: Any) -> None:
    """Keep Celery from installing its own handlers, which would bypass the redaction."""
    from django.conf import settings

    logging.config.dictConfig(settings.LOGGING)
