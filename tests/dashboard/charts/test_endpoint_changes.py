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
    """Nothing that changed is told as such."""
    make_endpoint()

    page = signed_in.get("/endpoints/steady/")

    assert_contains(page, "There was no incident so far that a change could explain.")
    assert_contains(page, "Nothing changed since it was registered.")


def test_an_edit_is_ours_and_names_who_made_it(signed_in: Client, person: User) -> None:
    """What somebody edited is in the list with old and new, who and when; a key is never told."""
    endpoint = make_endpoint()
    edit(endpoint, by=person, options={"stop": "<b>"}, key=Secret("sk-abcdefgh"))

    page = signed_in.get("/endpoints/steady/")

    assert_contains(page, "The endpoint was edited")
    assert_contains(page, "by alice")
    assert_contains(page, "{&quot;stop&quot;: &quot;&lt;b&gt;&quot;}")
    assert_contains(page, "a new one was given")
    assert "abcdefgh" not in str(EndpointEdit.objects.get().changes)


@pytest.mark.django_db
def test_saving_without_a_change_is_no_edit() -> None:
    """A form that was saved as it was leaves no trace."""
    endpoint = make_endpoint()

    edit(endpoint, ttl=endpoint.ttl, options={})

    assert not EndpointEdit.objects.exists()


@pytest.mark.django_db
def test_an_edit_that_opens_a_profile_is_told_once(django_user_model: Any) -> None:
    """Key change and edit are one line: ours, with its author and all that it changed."""
    endpoint, bob = make_endpoint(), make_person("bob", Role.OPERATOR)

    edit(endpoint, by=bob, model="m-2", ttl=timedelta(hours=1))

    (told,) = read(endpoint)
    assert (told.is_theirs, told.by) == (False, "bob")
    assert {(f.code, f.before, f.after) for f in told.facts} == {
        ("model", "m-1", "m-2"),
        ("ttl", "6h", "1h"),
    }


@pytest.mark.django_db
def test_facts_of_one_run_are_one_line_beside_their_runs() -> None:
    """Old and new of each fact, with how the runs before and after went."""
    endpoint = make_endpoint()
    before = make_finished_run(endpoint, at=timezone.now() - timedelta(hours=2))
    after = make_finished_run(endpoint, passed=1, failed=4, at=timezone.now() - timedelta(hours=1))
    tell(after, "server", "nginx", "envoy")
    tell(after, "model", "m-1", "m-1-mini")

    (told,) = read(endpoint)

    assert told.is_theirs
    assert {fact.code for fact in told.facts} == {"server", "model"}
    assert told.before == endpoint_changes.RunResult(before.pk, 5, 5)
    assert told.after == endpoint_changes.RunResult(after.pk, 1, 5)


@pytest.mark.django_db
def test_another_suite_is_ours() -> None:
    """A suite that asks otherwise explains other figures."""
    endpoint = make_endpoint()
    make_finished_run(endpoint, at=timezone.now() - timedelta(hours=2), suite_version="v0")
    make_finished_run(endpoint, suite_version="v1")

    (told,) = read(endpoint)

    assert (told.is_theirs, told.names) == (False, "Suite")


@pytest.mark.parametrize(
    ("theirs", "ours", "words"),
    [
        (True, False, "They changed in the 24 h before “Parse success fell"),
        (False, True, "We changed in the 24 h before “Parse success fell"),
        (True, True, "Both sides changed in the 24 h before “Parse success fell"),
        (False, False, "Nothing of ours changed in the 24 h before “Parse success fell"),
    ],
)
@pytest.mark.django_db
def test_one_sentence_says_which_side_changed(theirs: bool, ours: bool, words: str) -> None:
    """What lies in the day before the last incident is laid to one side, to both or to none."""
    endpoint = make_endpoint()
    incident = degrade(endpoint)
    if theirs:
        tell(Run.objects.get(pk=incident.opened_by), "server", "a", "b")
    if ours:
        note(endpoint, incident, "options")

    assert sentence(endpoint).startswith(words)


@pytest.mark.django_db
def test_a_budget_explains_no_fall() -> None:
    """Edits that no request feels are in the list and in no verdict."""
    endpoint = make_endpoint()
    note(endpoint, degrade(endpoint), "daily_tokens")

    assert sentence(endpoint).startswith("Nothing of ours changed")
    assert len(read(endpoint)) == 1


def edit(endpoint: Endpoint, **over: Any) -> None:
    endpoints.update(endpoint, **{"key": None, "forget_key": False, **over})
    endpoint.refresh_from_db()


def read(endpoint: Endpoint) -> list[endpoint_changes.EndpointChange]:
    return endpoint_changes.read_changes(endpoint, list(endpoint.profiles.order_by("-epoch")))


def sentence(endpoint: Endpoint) -> str:
    return change_attribution.attribution_text(endpoint, endpoint.profile, read(endpoint))


def tell(run: Run, fact: str, before: str, after: str) -> None:
    """What the endpoint told in that run, and never before."""
    told = {"fact": fact, "before": before, "after": after, "at": run.finished_at}
    FingerprintChange.objects.create(profile=run.profile, run=run, **told)


def note(endpoint: Endpoint, incident: Incident, field: str) -> None:
    """An edit shortly before an incident."""
    at = incident.opened_at - timedelta(hours=3)
    EndpointEdit.objects.create(endpoint=endpoint, changes=[[field, "1", "2"]], at=at)
