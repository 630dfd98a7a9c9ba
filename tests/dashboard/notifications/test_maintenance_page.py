from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.test import Client
from django.utils import timezone

from dashboard.core.errors import Refused
from dashboard.models import Endpoint, MaintenanceWindow
from dashboard.notifications.services import maintenance
from tests.factories import make_endpoint, make_finished_run
from tests.markup import assert_contains

URL = "/settings/maintenance/"
HOUR = timedelta(hours=1)


def test_a_window_is_planned_for_one_endpoint(signed_in: Client, person: User) -> None:
    """The form sets endpoint, times in UTC and reason; the list shows them."""
    endpoint = make_endpoint()

    page = signed_in.post(URL, _form_data(endpoint="steady"), follow=True)

    window = MaintenanceWindow.objects.get()
    assert (window.endpoint, window.created_by) == (endpoint, person)
    assert_contains(page, "moving house")
    assert_contains(page, f"{window.starts_at:%H:%M}")


def test_a_window_without_an_endpoint_is_for_every_one(signed_in: Client) -> None:
    """A window without an endpoint applies to the whole fleet."""
    page = signed_in.post(URL, _form_data(), follow=True)

    assert MaintenanceWindow.objects.get().endpoint is None
    assert_contains(page, "<b>every endpoint</b>")


@pytest.mark.parametrize(
    ("start", "end", "message"),
    [
        (2 * HOUR, HOUR, "It must end after it begins."),
        (-2 * HOUR, -HOUR, "It would be over already."),
        (HOUR, timedelta(days=91), "At most 90 days"),
    ],
)
def test_invalid_times_are_refused(
    signed_in: Client, start: timedelta, end: timedelta, message: str
) -> None:
    """The form shows the refusal, and nothing is planned."""
    now = timezone.now()

    page = signed_in.post(
        URL, _form_data(starts_at=_input_value(now + start), ends_at=_input_value(now + end))
    )

    assert_contains(page, message)
    assert not MaintenanceWindow.objects.exists()


def test_a_window_does_not_start_in_the_past(db: None) -> None:
    """Notices before the planning were not suppressed."""
    now = timezone.now()

    window = _window(None, -5 * HOUR, HOUR)

    assert window.starts_at >= now


def test_a_reason_is_required(signed_in: Client) -> None:
    """A window without a reason is refused."""
    page = signed_in.post(URL, _form_data(reason=""))

    assert_contains(page, "This field is required.")
    assert not MaintenanceWindow.objects.exists()


def test_cancelling_ends_the_window(signed_in: Client, person: User) -> None:
    """An active window ends at once and shows who cancelled it."""
    endpoint = make_endpoint()
    window = _window(endpoint, -HOUR, HOUR)
    assert maintenance.is_in_maintenance(endpoint.pk)

    page = signed_in.post(f"{URL}{window.pk}/cancel/", follow=True)

    assert not maintenance.is_in_maintenance(endpoint.pk)
    assert_contains(page, "cancelled by alice")
    assert not maintenance.cancel_window(window, by=person)


@pytest.mark.parametrize(
    ("start", "end", "is_quiet"), [(-2, -1, False), (-1, 1, True), (1, 2, False)]
)
def test_a_window_is_active_by_the_clock_of_the_database(
    db: None, start: int, end: int, *, is_quiet: bool
) -> None:
    """Only an active window suppresses notices."""
    endpoint = make_endpoint()
    window = _window(endpoint, HOUR, 2 * HOUR)
    MaintenanceWindow.objects.filter(pk=window.pk).update(
        starts_at=Now() + start * HOUR, ends_at=Now() + end * HOUR
    )

    assert maintenance.is_in_maintenance(endpoint.pk) is is_quiet


def test_a_window_applies_to_its_endpoint_only(db: None) -> None:
    """Other endpoints are not affected, unless the window is for all."""
    one, other = make_endpoint(slug="one"), make_endpoint(slug="other")
    _window(one, -HOUR, HOUR)
    assert (maintenance.is_in_maintenance(one.pk), maintenance.is_in_maintenance(other.pk)) == (
        True,
        False,
    )

    _window(None, -HOUR, HOUR)

    assert maintenance.is_in_maintenance(other.pk)


def test_a_window_cancelled_before_its_start_is_not_in_charts(db: None) -> None:
    """Only the time that was actually suppressed counts."""
    endpoint, now = make_endpoint(), timezone.now()
    maintenance.cancel_window(_window(endpoint, HOUR, 2 * HOUR), by=None)
    shortened = _window(endpoint, -HOUR, HOUR)
    maintenance.cancel_window(shortened, by=None)

    windows = maintenance.windows_between(endpoint, now - 5 * HOUR, now + 5 * HOUR)

    assert windows == [shortened]
    assert windows[0].over_at < now + HOUR


def test_the_database_refuses_a_window_that_ends_before_it_begins(db: None) -> None:
    """A constraint refuses it even without the service."""
    now = timezone.now()

    with pytest.raises(IntegrityError), transaction.atomic():
        MaintenanceWindow.objects.create(starts_at=now, ends_at=now - HOUR, reason="x")


def test_the_service_refuses_an_empty_reason(db: None) -> None:
    """The service checks it without the form."""
    with pytest.raises(Refused, match="Say why"):
        maintenance.plan_window(None, timezone.now(), timezone.now() + HOUR, by=None, reason=" ")


def test_a_window_is_a_band_in_the_chart(signed_in: Client) -> None:
    """The chart shows the window with its reason."""
    endpoint = make_endpoint()
    make_finished_run(endpoint, at=timezone.now() - 3 * HOUR)
    make_finished_run(endpoint)
    _window(endpoint, -2 * HOUR, HOUR)

    layout = signed_in.get("/endpoints/steady/").context["figure"]["layout"]

    assert [shape["type"] for shape in layout["shapes"]] == ["rect"]
    assert layout["annotations"][0]["text"] == "maintenance"
    assert "moving house" in layout["annotations"][0]["hovertext"]


def _window(endpoint: Endpoint | None, start: timedelta, end: timedelta) -> MaintenanceWindow:
    now = timezone.now()
    return maintenance.plan_window(endpoint, now + start, now + end, by=None, reason="moving house")


def _form_data(**over: Any) -> dict[str, Any]:
    now = timezone.now()
    times = {"starts_at": _input_value(now), "ends_at": _input_value(now + 2 * HOUR)}
    return {"endpoint": "", "reason": "moving house", **times, **over}


def _input_value(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M}"
