"""The first start with a demo: its history is stored once and marked as simulated."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from re import search
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from dashboard.models import Attempt, Endpoint, Run
from dashboard.people.services import tokens
from tests.dashboard.demo.story_player import FLEET
from tests.markup import assert_contains, assert_not_contains

NEW_PASSWORD = "a long enough sentence 7"


def first_start(settings: Any, static_files: Path, **options: Any) -> str:
    settings.DEMO, settings.SIMULATOR_URL = True, "http://127.0.0.1:8900"
    settings.STATIC_ROOT = static_files
    output = StringIO()
    call_command("first_start", stdout=output, **options)
    return output.getvalue()


@pytest.mark.django_db
def test_a_first_start_stores_the_history_once(settings: Any, static_files: Path) -> None:
    """Every run is simulated and in the given time span; a second start adds none."""
    began = datetime.now(UTC) - timedelta(minutes=100)

    output = first_start(settings, static_files, since=began)
    first_start(settings, static_files, since=began)

    assert "simulated vendors: 100 %\nRegistered the simulated fleet: demo-steady" in output
    runs = list(Run.objects.all())
    assert {run.endpoint.slug for run in runs} == set(FLEET)
    assert all(run.simulated for run in runs)
    assert all(run.finished_at and began < run.created_at < run.finished_at for run in runs)
    assert max(run.created_at for run in runs) < datetime.now(UTC)
    assert Attempt.objects.count() == sum(run.planned for run in runs)


@pytest.mark.django_db
def test_the_printed_password_must_be_changed_first(settings: Any, static_files: Path) -> None:
    """Pages redirect to the password form until it is changed; API tokens keep working."""
    output = first_start(settings, static_files)
    match = search(r"user +admin\n +password +(\S+)", output)
    assert match is not None
    printed, browser = match[1], Client()
    assert browser.login(username="admin", password=printed)

    assert browser.get("/").headers["Location"] == "/settings/password/"
    part = browser.get("/fleet/rows/", headers={"HX-Request": "true"})
    assert part.headers["HX-Redirect"] == "/settings/password/"
    assert_contains(browser.get("/settings/password/"), "drawn by a machine")
    token = tokens.issue_token(name="ci", scopes=["read"], by=User.objects.get()).text
    api = browser.get("/api/v1/endpoints", headers={"Authorization": f"Bearer {token}"})
    assert api.status_code == 200
    form = {"old_password": printed} | dict.fromkeys(
        ("new_password1", "new_password2"), NEW_PASSWORD
    )
    browser.post("/settings/password/", form)

    assert Client().login(username="admin", password=NEW_PASSWORD)
    assert browser.get("/").status_code == 200
    assert_not_contains(browser.get("/settings/password/"), "drawn by a machine")


@pytest.mark.django_db
def test_without_a_start_time_there_is_no_history(settings: Any, static_files: Path) -> None:
    """The fleet is registered without runs."""
    first_start(settings, static_files)

    assert Endpoint.objects.count() == len(FLEET)
    assert not Run.objects.exists()
