"""Walks every address of the pages as everybody."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.conf import settings
from django.http import HttpResponseBase
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from dashboard.core.permissions import TEAM_PARAMETERS
from tests.security.rights_table import PAGES, Page, Who
from tests.security.rights_world import BLIND, World, sent

API = "api/v1/"


@dataclass(frozen=True, slots=True)
class Address:
    """One address as the resolver knows it, with the names of what stands in it."""

    name: str
    kwargs: tuple[str, ...]
    pattern: URLPattern

    @property
    def is_of_a_team(self) -> bool:
        return bool(TEAM_PARAMETERS & set(self.kwargs))


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


def path_of(address: Address, world: World) -> str:
    return reverse(address.name, kwargs={name: world.named(name) for name in address.kwargs})


def wrong_answers(world: World) -> dict[str, str]:
    """Every address, method and person whose answer is not the one that the table says."""
    wrong = {}
    for address in addresses():
        page, path = PAGES[address.name], path_of(address, world)
        for method in ("GET", "POST"):
            for who in Who:
                answer = _ask(world, who, method, path)
                expected = _expected(page, address, method, who)
                if (found := _kind(answer, page)) != expected:
                    wrong[f"{method} {path} ({address.name}) as {who}"] = f"{found}, not {expected}"
    return wrong


def unknown_methods(world: World) -> dict[str, int]:
    """Every address that answers an administrator to a method that no page has."""
    values = {}
    for address in addresses():
        path = path_of(address, world)
        for method in ("PUT", "PATCH", "DELETE"):
            status = _ask(world, Who.ADMINISTRATOR, method, path).status_code
            if status not in {404, 405}:
                values[f"{method} {path} ({address.name})"] = status
    return values


def _ask(world: World, who: Who, method: str, path: str) -> HttpResponseBase:
    world.client.cookies.clear()
    if who in world.cookies:
        world.client.cookies[settings.SESSION_COOKIE_NAME] = world.cookies[who]
    return sent(world.client, method, path, "", content_type="application/x-www-form-urlencoded")


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
    if who in page.unseen and own is not None:
        return "404"
    if who not in may:
        if address.is_of_a_team and who in BLIND:
            return "404"
        # Where the address names nothing of a team, it is enough to be somebody in one.
        if who is not Who.FOREIGN or Who.OPERATOR not in may:
            return "403"
    return "allowed" if own is not None else "405"
