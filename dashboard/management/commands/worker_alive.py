"""Health check of a worker container: a worker of this host looked for work recently."""

from __future__ import annotations

import socket
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from typing_extensions import override

from dashboard.runs import workers


class Command(BaseCommand):
    help = "Exit 0 when a worker of this host was seen in the last 90 seconds."

    @override
    def handle(self, *args: Any, **options: Any) -> None:
        if not workers.count_alive(within=timedelta(seconds=90), host=socket.gethostname()):
            raise CommandError("No worker of this host has looked for work in the last 90 seconds.")
