"""Requests every URL of the pages as every persona."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.conf import settings
from django.http import HttpResponseBase
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from dashboard.core.permissions import TEAM_PARAMETERS
from tests.security.rights_table import PAGES, PageRights, Persona
from tests.security.rights_world import WITHOUT_ACCESS, World, send_and_roll_back

API = "api/v1/"


@dataclass(frozen=True, slots=True)
class Address:
    """One URL as the resolver knows it, with the names of its parameters."""

    name: str
    kwargs: tuple[str, ...]
    pattern: URLPattern

    @property
    def is_of_a_team(self) -> bool:
        return bool(TEAM_PARAMETERS & set(self.kwargs))


def list_addresses() -> list[Address]:
    """Every URL of a page; the API's operations have a table of their own."""
    return [
        Address(str(pattern.name), tuple(pattern.pattern.regex.groupindex), pattern)
        for prefix, pattern in list_patterns()
        if not prefix.startswith(API)
    ]


def list_patterns() -> Iterator[tuple[str, URLPattern]]:
    """Every URL pattern of the product, with its prefix."""
    yield from _walk_patterns(get_resolver("config.urls"), "")


def _walk_patterns(resolver: URLResolver, prefix: str) -> Iterator[tuple[str, URLPattern]]:
    for pattern in resolver.url_patterns:
        if isinstance(pattern, URLResolver):
            yield from _walk_patterns(pattern, f"{prefix}{pattern.pattern}")
        else:
            yield prefix, pattern


def build_path(address: Address, world: World) -> str:
    return reverse(address.name, kwargs={name: world.parameter(name) for name in address.kwargs})


def find_wrong_answers(world: World) -> dict[str, str]:
    """Every URL, method and persona whose answer differs from the table."""
    wrong = {}
    for address in list_addresses():
        page, path = PAGES[address.name], build_path(address, world)
        for method in ("GET", "POST"):
            for persona in Persona:
                answer = _request_as(world, persona, method, path)
                expected = _expected_answer(page, address, method, persona)
                if (kind := _answer_kind(answer, page)) != expected:
                    wrong[f"{method} {path} ({address.name}) as {persona}"] = (
                        f"{kind}, not {expected}"
                    )
    return wrong


def find_unknown_methods(world: World) -> dict[str, int]:
    """Every URL that answers an administrator to a method that no page has."""
    values = {}
    for address in list_addresses():
        path = build_path(address, world)
        for method in ("PUT", "PATCH", "DELETE"):
            status = _request_as(world, Persona.ADMINISTRATOR, method, path).status_code
            if status not in {404, 405}:
                values[f"{method} {path} ({address.name})"] = status
    return values


def _request_as(world: World, persona: Persona, method: str, path: str) -> HttpResponseBase:
    world.client.cookies.clear()
    if persona in world.cookies:
        world.client.cookies[settings.SESSION_COOKIE_NAME] = world.cookies[persona]
    return send_and_roll_back(
        world.client, method, path, "", content_type="application/x-www-form-urlencoded"
    )


def _answer_kind(answer: HttpResponseBase, page: PageRights) -> str:
    status = answer.status_code
    if status == 302 and answer.headers["Location"].startswith("/login/?next="):
        return "sign in"
    return "allowed" if status in page.answers else str(status)


def _expected_answer(page: PageRights, address: Address, method: str, persona: Persona) -> str:
    own, other = (page.get, page.post) if method == "GET" else (page.post, page.get)
    # A persona that may use the other method gets 405, not 403.
    may = own if own is not None else other
    assert may is not None, f"{address.name}: who may?"
    if page.is_for_programs and (own is None or persona is Persona.ANONYMOUS):
        return "405" if own is None else "401"
    if persona is Persona.ANONYMOUS and persona not in may:
        return "sign in"
    if persona in page.unseen and own is not None:
        return "404"
    if persona not in may:
        if address.is_of_a_team and persona in WITHOUT_ACCESS:
            return "404"
        # If the URL names nothing that a team owns, a role in any team is enough.
        if persona is not Persona.FOREIGN or Persona.OPERATOR not in may:
            return "403"
    return "allowed" if own is not None else "405"
