"""No page has a text that is not in the catalogue."""

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
from tests.i18n.page_visits import NOT_PAGES, Visit, empty_pages, page_visits, public_pages
from tests.i18n.rows import Rows
from tests.i18n.untranslated_texts import find_untranslated


@pytest.fixture
def pseudo_client(client: Client, db: None, settings: Any, tmp_path: Path) -> Client:
    """An administrator's browser that accepts only the pseudo-language."""
    pseudo.write_catalogue(tmp_path)
    settings.LOCALE_PATHS = [tmp_path]
    # Hashing is slow by design, and no page shows a hash.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.LANGUAGES = [*settings.LANGUAGES, (pseudo.CODE, "Esperanto")]
    client.defaults["HTTP_ACCEPT_LANGUAGE"] = pseudo.CODE
    client.force_login(User.objects.create_superuser("alice"))
    return client


def test_every_address_is_a_page_to_look_at_or_none() -> None:
    """Every URL has an entry in tests/i18n/page_visits.py."""
    names = {str(pattern.name) for pattern in urlpatterns}

    assert names == NOT_PAGES | set(page_visits(_no_rows()))


@pytest.mark.timeout(600)  # it visits all pages
@pytest.mark.usefixtures("static_files")
def test_no_page_says_what_was_never_translated(pseudo_client: Client, settings: Any) -> None:
    """Every text, label, tooltip and chart title comes from the catalogue."""
    settings.SIMULATOR_URL = "http://127.0.0.1:9"
    all_rows = rows.make_rows(User.objects.get())

    assert _find_untranslated(pseudo_client, itertools.chain(*page_visits(all_rows).values())) == {}


@pytest.mark.usefixtures("static_files")
def test_pages_without_anything_to_show_are_translated(pseudo_client: Client) -> None:
    """Empty states, and pages before the sign-in."""
    untranslated = _find_untranslated(pseudo_client, empty_pages())
    pseudo_client.logout()

    assert untranslated | _find_untranslated(pseudo_client, public_pages()) == {}


def _no_rows() -> Rows:
    run, incident = Run(pk=1), Incident(pk=1)
    numbers = ("note", "switch", "automatic", "window", "me", "person", "rule", "delivery")
    other_numbers = ("team", "grant", "factor", "pinned", "entry")
    ids: dict[str, Any] = dict.fromkeys((*numbers, *other_numbers), 1)
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
        **ids,
    )


def _find_untranslated(client: Client, visits: Iterable[Visit]) -> dict[str, list[str]]:
    """The untranslated texts per visit."""
    values: dict[str, list[str]] = {}
    for visit in visits:
        values[f"{visit.path} {visit.data or ''}"] = _visit_page(client, visit)
    return {path: texts for path, texts in values.items() if texts}


def _visit_page(client: Client, visit: Visit) -> list[str]:
    if visit.data is None:
        answer = client.get(visit.path, headers=visit.headers)
    else:
        answer = client.post(visit.path, visit.data, headers=visit.headers, follow=True)
    assert answer.status_code in {200, 204}, visit
    assert answer.headers["Content-Language"] == pseudo.CODE
    return find_untranslated(answer.content.decode(), data=rows.DATA)
