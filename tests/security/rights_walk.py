"""Walks every address as everybody, on rows that are made once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpResponseBase
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from dashboard.access import OF_A_TEAM
from dashboard.models import Endpoint
from dashboard.models.team import Role, Team
from tests.factories import make_person
from tests.i18n import rows
from tests.i18n.rows import Rows
from tests.security.rights_table import PAGES, Page, Who

API = "api/v1/"
# For whom the endpoint of the rows does not exist.
_BLIND = frozenset({Who.NOBODY, Who.FOREIGN})


@dataclass(frozen=True, slots=True)
class Address:
    """One address as the resolver knows it, with the names of what stands in it."""

    name: str
    kwargs: tuple[str, ...]
    pattern: URLPattern

    @property
    def is_of_a_team(self) -> bool:
        return bool(OF_A_TEAM & set(self.kwargs))


def addresses() -> list[Address]:
    """Every address of a page; those of the API are operations, which have a table of their own."""
    return [
        Address(str(pattern.name), tuple(pattern.pattern.regex.groupindex), pattern)
        for prefix, pattern in every_pattern()
        if not prefix.startswith(API)
    ]


def every_pattern() -> Iterator[tuple[str, URLPattern]]:
    """Whatever the product answers to, with what its address begins with."""
    yield from _below(get_resolver("config.urls"), "")


def _below(resolver: URLResolver, prefix: str) -> Iterator[tuple[str, URLPattern]]:
    for each in resolver.url_patterns:
        if isinstance(each, URLResolver):
            yield from _below(each, f"{prefix}{each.pattern}")
        else:
            yield prefix, each


@dataclass(frozen=True, slots=True)
class World:
    """One of everything, owned by a team, and somebody of each kind."""

    made: Rows
    people: Mapping[Who, User]
    cookies: Mapping[Who, str]
    # One for all: a new one would make the whole stack of middleware anew.
    client: Client

    def named(self, name: str) -> Any:
        """What stands in an address under a name."""
        return self._named()[name]

    def _named(self) -> dict[str, Any]:
        made = self.made
        return {
            "slug": made.endpoint.slug,
            "run_id": made.run.pk,
            "probe": "format",
            "trial": made.trials[0],
            "step": 1,
            "metric": "parse_success",
            "note_id": made.note,
            "switch_id": made.switch,
            "incident_id": made.incident.pk,
            "request_id": made.requests[0],
            "window_id": made.window,
            "person_id": made.person,
            "prefix": made.token,
            "rule_id": made.rule,
            "channel_id": made.webhook.pk,
            "delivery_id": made.delivery,
            "team_id": made.team,
            "grant_id": made.grant,
            "token": made.invitation,
        }

    def path(self, address: Address) -> str:
        return reverse(address.name, kwargs={name: self.named(name) for name in address.kwargs})


def make_world() -> World:
    team, other = Team.objects.create(name="ours"), Team.objects.create(name="theirs")
    people = {
        Who.ADMINISTRATOR: User.objects.create_superuser("root"),
        Who.NOBODY: make_person("nobody"),
        Who.VIEWER: make_person("viewer", Role.VIEWER, team=team),
        Who.OPERATOR: make_person("operator", Role.OPERATOR, team=team),
        Who.APPROVER: make_person("approver", Role.APPROVER, team=team),
        Who.FOREIGN: make_person("foreigner", Role.OPERATOR, team=other),
    }
    made = rows.make(people[Who.ADMINISTRATOR])
    Endpoint.objects.update(team=team)
    cookies = {who: _cookie(person) for who, person in people.items()}
    return World(made, people, cookies, Client(raise_request_exception=False))


def _cookie(person: User) -> str:
    client = Client()
    client.force_login(person)
    return client.cookies[settings.SESSION_COOKIE_NAME].value


def wrong_answers(world: World) -> dict[str, str]:
    """Every address, method and person whose answer is not the one that the table says."""
    wrong = {}
    for address in addresses():
        page, path = PAGES[address.name], world.path(address)
        for method in ("GET", "POST"):
            for who in Who:
                answer = _ask(world, who, method, path)
                expected = _expected(page, address, method, who)
                if (found := _kind(answer, page)) != expected:
                    wrong[f"{method} {path} ({address.name}) as {who}"] = f"{found}, not {expected}"
    return wrong


def _ask(world: World, who: Who, method: str, path: str) -> HttpResponseBase:
    """What is answered; nothing of what it did is kept."""
    client = world.client
    client.cookies.clear()
    if who in world.cookies:
        client.cookies[settings.SESSION_COOKIE_NAME] = world.cookies[who]
    with transaction.atomic():
        answer = client.generic(method, path, content_type="application/x-www-form-urlencoded")
        transaction.set_rollback(True)
    return answer


def _kind(answer: HttpResponseBase, page: Page) -> str:
    status = answer.status_code
    if status == 302 and answer.headers["Location"].startswith("/login/?next="):
        return "sign in"
    return "allowed" if status in page.answers else str(status)


def _expected(page: Page, address: Address, method: str, who: Who) -> str:
    own, other = (page.get, page.post) if method == "GET" else (page.post, page.get)
    # Where a method means nothing, whoever may use the other one is told so.
    may = own if own is not None else other
    assert may is not None, f"{address.name}: who may?"
    if who is Who.ANONYMOUS and who not in may:
        return "sign in"
    if who not in may:
        if address.is_of_a_team and who in _BLIND:
            return "404"
        # Where the address names nothing of a team, it is enough to be somebody in one.
        if who is not Who.FOREIGN or Who.OPERATOR not in may:
            return "403"
    return "allowed" if own is not None else "405"
