"""What a fresh installation needs: static files, partitions, an administrator, something to see."""

from __future__ import annotations

import secrets
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import BaseCommand
from typing_extensions import override

from dashboard import demo
from dashboard.models import Endpoint
from dashboard.services import partitions


class Command(BaseCommand):
    help = "Prepare a fresh installation. Safe to run at every start."

    @override
    def handle(self, *args: Any, **options: Any) -> None:
        call_command("collectstatic", interactive=False, verbosity=0)
        partitions.ensure()
        if not User.objects.exists():
            self._create_administrator()
        if settings.DEMO and settings.SIMULATOR_URL and not Endpoint.objects.exists():
            names = demo.register(settings.SIMULATOR_URL)
            self.stdout.write(f"Registered the simulated fleet: {', '.join(names)}.")

    def _create_administrator(self) -> None:
        password = secrets.token_urlsafe(15)
        User.objects.create_superuser("admin", password=password)
        self.stdout.write(
            "Created the first administrator. The password is shown this once:\n"
            f"    user      admin\n    password  {password}"
        )
