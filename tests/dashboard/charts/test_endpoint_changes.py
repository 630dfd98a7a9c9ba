from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from dashboard.charts import endpoint_changes
from dashboard.endpoints import change_attribution
from dashboard.endpoints.services import endpoints
from dashboard.models import Endpoint, EndpointEdit, FingerprintChange, Incident, Run
from dashboard.models.people import Role
from probes.secret import Secret
from tests.dashboard.incidents.builders import degrade
from tests.factories import make_endpoint, make_finished_run, make_person
from tests.markup import assert_contains


def test_without_changes_the_section_says_so(signed_in: Client) -> None:
    """The page says that there were no incidents and no changes."""
    make_endpoint()

    page = signed_in.get("/endpoints/steady/")

    assert_contains(page, "There was no incident so far that a change could explain.")
    assert_contains(page, "Nothing changed since it was registered.")


def test_an_edit_is_ours_and_names_its_author(signed_in: Client, person: User) -> None:
    """The list has the old and new values and the author; the API key is never shown."""
    endpoint = make_endpoint()
    edit(endpoint, by=person, options={"stop": "<b>"}, key=Secret("sk-abcdefgh"))

    page = signed_in.get("/endpoints/steady/")

    assert_contains(page, "Profile 2 began")
    assert_contains(page, "by alice")
    assert_contains(page, "{&quot;stop&quot;: &quot;&lt;b&gt;&quot;}")
    assert_contains(page, "a new one was given")
    assert "abcdefgh" not in str(EndpointEdit.objects.get().changes)


@pytest.mark.django_db
def test_saving_without_a_change_is_no_edit() -> None:
    """A form that was saved unchanged is not recorded."""
    endpoint = make_endpoint()

    edit(endpoint, ttl=endpoint.ttl, options={})

    assert not EndpointEdit.objects.exists()


@pytest.mark.django_db
def test_an_edit_that_opens_a_profile_is_listed_once(django_user_model: Any) -> None:
    """Key change and edit are one entry, with its author and all changed fields."""
    endpoint, bob = make_endpoint(), make_person("bob", Role.OPERATOR)

    edit(endpoint, by=bob, model="m-2", ttl=timedelta(hours=1))

    (change,) = read(endpoint)
    assert (change.is_theirs, change.by) == (False, "bob")
    assert {(f.code, f.before, f.after) for f in change.facts} == {
        ("model", "m-1", "m-2"),
        ("ttl", "6h", "1h"),
    }


@pytest.mark.django_db
def test_facts_of_one_run_are_one_entry_with_its_runs() -> None:
    """The entry has the changed facts and the results of the runs before and after."""
    endpoint = make_endpoint()
    before = make_finished_run(endpoint, at=timezone.now() - timedelta(hours=2))
    after = make_finished_run(endpoint, passed=1, failed=4, at=timezone.now() - timedelta(hours=1))
    change_fingerprint(after, "server", "nginx", "envoy")
    change_fingerprint(after, "model", "m-1", "m-1-mini")

    (change,) = read(endpoint)

    assert change.is_theirs
    assert {fact.code for fact in change.facts} == {"server", "model"}
    assert change.before == endpoint_changes.RunResult(before.pk, 5, 5)
    assert change.after == endpoint_changes.RunResult(after.pk, 1, 5)


@pytest.mark.django_db
def test_another_suite_is_ours() -> None:
    """Another suite version is a change of ours."""
    endpoint = make_endpoint()
    make_finished_run(endpoint, at=timezone.now() - timedelta(hours=2), suite_version="v0")
    make_finished_run(endpoint, suite_version="v1")

    (change,) = read(endpoint)

    assert (change.is_theirs, change.names) == (False, "Suite")


@pytest.mark.parametrize(
    ("theirs", "ours", "text"),
    [
        (True, False, "They changed in the 24 h before “Parse success fell"),
        (False, True, "We changed in the 24 h before “Parse success fell"),
        (True, True, "Both sides changed in the 24 h before “Parse success fell"),
        (False, False, "Nothing of ours changed in the 24 h before “Parse success fell"),
    ],
)
@pytest.mark.django_db
def test_one_sentence_says_which_side_changed(theirs: bool, ours: bool, text: str) -> None:
    """Changes in the day before the last incident are attributed to one side, both or none."""
    endpoint = make_endpoint()
    incident = degrade(endpoint)
    if theirs:
        change_fingerprint(Run.objects.get(pk=incident.opened_by), "server", "a", "b")
    if ours:
        edit_before(incident, endpoint, "options")

    assert sentence(endpoint).startswith(text)


@pytest.mark.django_db
def test_a_changed_budget_explains_no_incident() -> None:
    """Edits without an effect on requests are listed but not attributed."""
    endpoint = make_endpoint()
    edit_before(degrade(endpoint), endpoint, "daily_tokens")

    assert sentence(endpoint).startswith("Nothing of ours changed")
    assert len(read(endpoint)) == 1


def edit(endpoint: Endpoint, **over: Any) -> None:
    endpoints.update(endpoint, **{"key": None, "forget_key": False, **over})
    endpoint.refresh_from_db()


def read(endpoint: Endpoint) -> list[endpoint_changes.EndpointChange]:
    return endpoint_changes.read_changes(endpoint, list(endpoint.profiles.order_by("-epoch")))


def sentence(endpoint: Endpoint) -> str:
    return change_attribution.attribution_text(endpoint, endpoint.profile, read(endpoint))


def change_fingerprint(run: Run, fact: str, before: str, after: str) -> None:
    """Record a fact that the endpoint reported in that run for the first time."""
    values = {"fact": fact, "before": before, "after": after, "at": run.finished_at}
    FingerprintChange.objects.create(profile=run.profile, run=run, **values)


def edit_before(incident: Incident, endpoint: Endpoint, field: str) -> None:
    """Record an edit shortly before an incident."""
    at = incident.opened_at - timedelta(hours=3)
    EndpointEdit.objects.create(endpoint=endpoint, changes=[[field, "1", "2"]], at=at)
