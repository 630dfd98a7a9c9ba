from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from dashboard.core.errors import Refused
from dashboard.endpoints.services import endpoints
from dashboard.models import Credential, Endpoint, Run
from dashboard.runs import credentials, schedule
from probes.secret import Secret
from tests.dashboard.runs.conftest import FIELDS

KEY = Secret("sk-planted-0123456789")


@pytest.fixture
def endpoint(db: None) -> Endpoint:
    return endpoints.create(**FIELDS)


def change(endpoint: Endpoint, **over: Any) -> endpoints.EndpointUpdate:
    fields = {name: getattr(endpoint, name) for name in endpoints.FIELDS}
    return endpoints.update(endpoint, **{"key": None, "forget_key": False, **fields, **over})


def test_a_new_endpoint_is_due_at_once_under_its_first_profile(endpoint: Endpoint) -> None:
    """Creating an endpoint opens epoch 1, and the scheduler starts a run."""
    assert endpoint.profile.epoch == 1
    assert schedule.schedule_due() == 1


def test_a_slug_is_unique_until_its_endpoint_is_removed(endpoint: Endpoint) -> None:
    """Two endpoints never have the same slug; removing one frees it."""
    with pytest.raises(Refused, match="already an endpoint called 'one'"):
        endpoints.create(**FIELDS)

    endpoints.remove(endpoint)

    assert endpoints.create(**FIELDS).slug == "one"


@pytest.mark.parametrize(
    "base_url", ["https://127.0.0.1:9/v1", "http://localhost:9/v1", "http://127.0.0.1:10/v1"]
)
def test_another_scheme_host_or_port_wipes_the_stored_key(
    endpoint: Endpoint, base_url: str
) -> None:
    """A stored key is never sent to a host that it was not entered for."""
    credentials.store_key(endpoint, KEY)

    updated = change(endpoint, base_url=base_url)

    assert updated.key_wiped
    assert not Credential.objects.exists()


def test_another_path_keeps_the_stored_key(endpoint: Endpoint) -> None:
    """The key belongs to the origin, not to the path."""
    credentials.store_key(endpoint, KEY)

    updated = change(endpoint, base_url="http://127.0.0.1:9/other")

    assert not updated.key_wiped
    assert credentials.read_key(updated.endpoint) == KEY


def test_a_key_entered_with_the_new_host_is_kept(endpoint: Endpoint) -> None:
    """Changing host and key together stores the new key for the new host."""
    credentials.store_key(endpoint, KEY)
    new_key = Secret("sk-another-0123456789")

    updated = change(endpoint, base_url="http://localhost:9/v1", key=new_key)

    assert not updated.key_wiped
    assert credentials.read_key(updated.endpoint) == new_key


def test_a_sealed_key_pasted_onto_another_endpoint_does_not_open(endpoint: Endpoint) -> None:
    """The seal covers the endpoint and the origin, not only the bytes."""
    credentials.store_key(endpoint, KEY)
    other = endpoints.create(**{**FIELDS, "slug": "two"})
    stolen = Credential.objects.get(endpoint=endpoint)

    Credential.objects.create(endpoint=other, origin=stolen.origin, sealed=stolen.sealed)

    with pytest.raises(Refused, match="does not open"):
        credentials.read_key(other)


def test_an_old_credential_key_still_opens_after_a_new_one_was_put_first(
    endpoint: Endpoint, settings: Any
) -> None:
    """Credential keys can be rotated: the first one encrypts, all of them decrypt."""
    credentials.store_key(endpoint, KEY)
    old = settings.CREDENTIAL_KEYS

    settings.CREDENTIAL_KEYS = [b"n" * 32, *old]
    assert credentials.read_key(endpoint) == KEY

    settings.CREDENTIAL_KEYS = [b"n" * 32]
    with pytest.raises(Refused, match="enter the credential again"):
        credentials.read_key(endpoint)


def test_a_changed_key_field_opens_a_new_profile_and_stops_the_old_run(endpoint: Endpoint) -> None:
    """A new model opens a new profile: the old run is superseded by a full run."""
    schedule.schedule_due()

    updated = change(endpoint, model="other")
    schedule.schedule_due()

    old, new = Run.objects.order_by("id")
    assert updated.new_epoch
    assert (old.state, old.reason) == ("abandoned", "superseded by a changed profile key")
    assert (new.state, new.trigger, new.suite, new.key_epoch) == ("queued", "key_change", "full", 2)


def test_a_changed_ttl_keeps_the_profile(endpoint: Endpoint) -> None:
    """Only provider, model, endpoint and chat template form the profile key."""
    updated = change(endpoint, ttl=timedelta(hours=1), max_concurrency=9, slug="renamed")

    assert not updated.new_epoch
    assert updated.endpoint.profile.epoch == 1


def test_a_removed_endpoint_loses_its_key_and_its_run(endpoint: Endpoint) -> None:
    """Removal deletes the credential, ends the run and stops the schedule."""
    credentials.store_key(endpoint, KEY)
    schedule.schedule_due()

    endpoints.remove(endpoint)

    assert not Credential.objects.exists()
    assert Run.objects.get().reason == "the endpoint was removed"
    assert schedule.schedule_due() == 0


def test_an_edit_does_not_overwrite_a_concurrent_edit(endpoint: Endpoint) -> None:
    """The second of two concurrent edits is refused."""
    endpoint.refresh_from_db()
    seen = endpoint.updated_at
    change(endpoint, model="first", seen=seen)

    with pytest.raises(Refused, match="Somebody else changed this endpoint"):
        change(endpoint, model="second", seen=seen)

    endpoint.refresh_from_db()
    assert endpoint.model == "first"
