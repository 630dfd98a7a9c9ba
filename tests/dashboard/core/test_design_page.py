from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from dashboard.core.design_views import PARTS

TEMPLATES = Path(__file__).resolve().parents[3] / "templates" / "design"


def test_the_living_page_shows_every_part_with_its_markup(
    signed_in: Client, settings: Settings
) -> None:
    """In development the page shows each part and its source."""
    settings.DEBUG = True

    page = signed_in.get("/design/").content.decode()

    assert all(f'id="{name}"' in page for name in PARTS)
    assert "&lt;dialog id=&quot;design-dialog&quot;" in page
    assert '<dialog id="design-dialog"' in page


def test_the_living_page_has_an_entry_for_each_part() -> None:
    assert {path.stem for path in TEMPLATES.glob("*.html")} == {*PARTS, "page"}


def test_the_living_page_exists_only_in_development(signed_in: Client) -> None:
    """In production its URLs answer 404."""
    assert signed_in.get("/design/").status_code == 404
    assert signed_in.post("/design/toast/", {"level": "error"}).status_code == 404


@pytest.mark.django_db
def test_who_is_not_signed_in_does_not_see_the_living_page(
    client: Client, settings: Settings
) -> None:
    """The page needs a sign-in like all others."""
    settings.DEBUG = True

    assert client.get("/design/").headers["Location"] == "/login/?next=/design/"


@pytest.mark.parametrize(
    ("requested", "level"), [("error", "error"), ("success", "success"), ("<script>", "info")]
)
def test_a_toast_comes_as_an_event_with_the_answer(
    signed_in: Client, settings: Settings, requested: str, level: str
) -> None:
    """The header carries text and level; unknown levels become info."""
    settings.DEBUG = True

    answer = signed_in.post("/design/toast/", {"level": requested})

    values = {"text": f"This is what {level} looks like.", "level": level}
    assert json.loads(answer.headers["HX-Trigger"]) == {"toast": values}
