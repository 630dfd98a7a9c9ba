"""Issues an API token for a script and prints only the token to standard output."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser
from typing_extensions import override

from dashboard.core import durations
from dashboard.core.errors import Refused
from dashboard.models import Team
from dashboard.models.people import Scope
from dashboard.people.services import tokens


class Command(BaseCommand):
    help = "Make an API token and print it, this once."

    @override
    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="what the token is for")
        parser.add_argument(
            "--scope", action="append", choices=Scope.values, required=True, dest="scopes"
        )
        parser.add_argument("--lasts", default="", help="until it expires: 30m, 6h, 90d")
        parser.add_argument("--user", default="", help="whose token it is, and whose rights it has")
        parser.add_argument("--team", default="", help="whose endpoints alone it may touch")

    @override
    def handle(self, *args: Any, **options: Any) -> None:
        try:
            lasts = durations.parse_duration(options["lasts"]) if options["lasts"] else None
            by = User.objects.get_by_natural_key(options["user"]) if options["user"] else None
            team = Team.objects.get(name__iexact=options["team"]) if options["team"] else None
            token = tokens.issue_token(
                name=options["name"], scopes=options["scopes"], by=by, lasts=lasts, team=team
            )
        except ValueError as exc:
            raise CommandError("--lasts takes a number and a unit: 30m, 6h, 90d.") from exc
        except User.DoesNotExist as exc:
            raise CommandError(f"There is no user {options['user']!r}.") from exc
        except Team.DoesNotExist as exc:
            raise CommandError(f"There is no team {options['team']!r}.") from exc
        except Refused as exc:
            raise CommandError(exc.message) from exc
        self.stdout.write(token.text)
