"""Health check of a scheduler container: a scheduler recorded recently that it is alive."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db.models.functions import Now
from typing_extensions import override

from dashboard.models import Pulse
from dashboard.runs import pulses

WITHIN = timedelta(seconds=90)


class Command(BaseCommand):
    help = "Exit 0 when a scheduler was seen in the last 90 seconds."

    @override
    def handle(self, *args: Any, **options: Any) -> None:
        if not Pulse.objects.filter(duty=pulses.BEAT, at__gte=Now() - WITHIN).exists():
            raise CommandError("No scheduler has recorded itself in the last 90 seconds.")
