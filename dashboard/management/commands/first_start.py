"""Prepares a new installation: static files, partitions, an administrator and the demo."""

from __future__ import annotations

import secrets
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser
from typing_extensions import override

from dashboard.core import partitions
from dashboard.demo.demo_history import ProgressLine, register_with_history
from dashboard.demo.services import fleet, history
from dashboard.models import Endpoint
from dashboard.people.services import people


class Command(BaseCommand):
    help = "Prepare a fresh installation. Safe to run at every start."

    @override
    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--since",
            type=datetime.fromisoformat,
            metavar="TIMESTAMP",
            help="when the story of the simulated vendors began; their history is made up for it",
        )

    @override
    def handle(self, *args: Any, **options: Any) -> None:
        call_command("collectstatic", interactive=False, verbosity=0)
        partitions.ensure_partitions()
        if not User.objects.exists():
            self._create_administrator()
        if settings.DEMO and settings.SIMULATOR_URL and not Endpoint.objects.exists():
            names = self._register_fleet(options["since"])
            self.stdout.write(f"Registered the simulated fleet: {', '.join(names)}.")

    def _register_fleet(self, began: datetime | None) -> list[str]:
        if began is None:
            return list(fleet.register_fleet(settings.SIMULATOR_URL))
        line = ProgressLine(self._write, is_terminal=self.stdout.isatty())
        return register_with_history(
            settings.SIMULATOR_URL,
            began=began,
            store=history.store_simulated_run,
            report_progress=line.show,
        )

    def _write(self, text: str) -> None:
        self.stdout.write(text, ending="")
        # A progress line has no newline, so it would stay in the buffer.
        self.stdout.flush()

    def _create_administrator(self) -> None:
        password = secrets.token_urlsafe(15)
        people.create_first_administrator(password=password)
        self.stdout.write(
            "Created the first administrator. The password is shown this once:\n"
            f"    user      admin\n    password  {password}\n"
            "You choose another one when you have signed in."
        )
