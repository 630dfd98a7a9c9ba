"""No page says anything that the catalogue does not hold."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dashboard.models import Channel, Endpoint, Incident, Run
from dashboard.urls import urlpatterns
from tests.i18n import pseudo, rows
from tests.i18n.reading import unmarked
from tests.i18n.rows import Rows
from tests.i18n.visits import NO_PAGES, Visit, empty, strangers, visits


@pytest.fixture
def strangers_client(client: Client, db: None, settings: Any, tmp_path: Path) -> Client:
    """A browser that reads the made-up language alone, of an administrator."""
    pseudo.write(tmp_path)
    settings.LOCALE_PATHS = [tmp_path]
    # Slow by design, and no page shows a hash.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.LANGUAGES = [*settings.LANGUAGES, (pseudo.CODE, "Esperanto")]
    client.defaults["HTTP_ACCEPT_LANGUAGE"] = pseudo.CODE
    client.force_login(User.objects.create_superuser("alice"))
    return client


def test_every_address_is_a_page_to_look_at_or_none() -> None:
    """Whoever adds one says here how to look at it."""
    names = {str(pattern.name) for pattern in urlpatterns}

    assert names == NO_PAGES | set(visits(_no_rows()))


@pytest.mark.usefixtures("static_files")
def test_no_page_says_what_was_never_translated(strangers_client: Client, settings: Any) -> None:
    """Every text, label, tooltip and chart title comes out of the catalogue."""
    settings.SIMULATOR_URL = "http://127.0.0.1:9"
    made = rows.make(User.objects.get())

    assert _unmarked(strangers_client, itertools.chain(*visits(made).values())) == {}


@pytest.mark.usefixtures("static_files")
def test_pages_without_anything_to_show_are_translated(strangers_client: Client) -> None:
    """What is said where there is nothing yet, and to whom has not signed in."""
    found = _unmarked(strangers_client, empty())
    strangers_client.logout()

    assert found | _unmarked(strangers_client, strangers()) == {}


def _no_rows() -> Rows:
    run, incident = Run(pk=1), Incident(pk=1)
    numbers = ("note", "switch", "automatic", "window", "me", "person", "rule", "delivery")
    more = ("team", "grant", "factor", "pinned", "entry")
    given: dict[str, Any] = dict.fromkeys((*numbers, *more), 1)
    return Rows(
        endpoint=Endpoint(slug="x"),
        run=run,
        active=run,
        stopped=(),
        incident=incident,
        ended=(),
        requests=(1, 1, 1),
        token="x",
        invitation="x",
        webhook=Channel(pk=1),
        **given,
    )


def _unmarked(client: Client, looks: Iterable[Visit]) -> dict[str, list[str]]:
    """By what was asked, what was not translated there."""
    values: dict[str, list[str]] = {}
    for look in looks:
        values[f"{look.path} {look.given or ''}"] = _look(client, look)
    return {path: texts for path, texts in values.items() if texts}


def _look(client: Client, look: Visit) -> list[str]:
    if look.given is None:
        answer = client.get(look.path, headers=look.headers)
    else:
        answer = client.post(look.path, look.given, headers=look.headers, follow=True)
    assert answer.status_code in {200, 204}, look
    assert answer.headers["Content-Language"] == pseudo.CODE
    return unmarked(answer.content.decode(), data=rows.DATA)
