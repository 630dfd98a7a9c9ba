"""The scheduler says itself that it is alive; its pulse waits for no worker."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from dashboard.models import Pulse
from dashboard.runs import pulses
from tests.live import broker, eventually, process

pytestmark = pytest.mark.django_db(transaction=True)


def beats() -> bool:
    return Pulse.objects.filter(duty=pulses.BEAT).exists()


def test_a_scheduler_is_heard_while_every_worker_is_busy(tmp_path: Path) -> None:
    """No worker handles its messages here, as when all of them execute runs."""
    with pytest.raises(CommandError):
        call_command("scheduler_alive")
    command = [sys.executable, "-m", "celery", "-A", "workers", "beat", "--pidfile", ""]

    with process(command, tmp_path / "beat.log"):
        eventually(beats)
        eventually(lambda: broker().llen("celery"))

    call_command("scheduler_alive")
