from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.db import IntegrityError, connection, transaction
from pytest_django.fixtures import DjangoAssertNumQueries

from dashboard.core.errors import Refused
from dashboard.core.sql import execute
from dashboard.endpoints.as_code import drift
from dashboard.endpoints.as_code.apply_plan import Action, Effect
from dashboard.endpoints.services import endpoints
from dashboard.endpoints.services.apply_file import PlanOutdated, apply_endpoints
from dashboard.models import Applied, Credential, Endpoint
from dashboard.runs import credentials
from probes.secret import Secret
from tests.dashboard.endpoints.as_code.builders import NEW, STEADY, apply_file, make_plan, read_file
from tests.factories import make_endpoint

KEY = "sk-abcdefghijklmnop"
pytestmark = pytest.mark.django_db


def test_a_plan_lists_created_changed_unchanged_and_missing() -> None:
    """Making a plan writes nothing."""
    make_endpoint()
    make_endpoint(slug="other", ttl=timedelta(hours=1))
    make_endpoint(slug="unnamed")
    other = STEADY.split("endpoints:\n")[1].replace("steady", "other")

    plan = make_plan(STEADY + NEW + other)

    assert {step.slug: step.action for step in plan.steps} == {
        "fresh": Action.CREATE,
        "other": Action.CHANGE,
        "steady": Action.UNCHANGED,
        "unnamed": Action.MISSING,
    }
    (change,) = plan.steps_with(Action.CHANGE)[0].changes
    assert (change.name, change.old, change.new) == ("ttl", "1h", "6h")
    assert not Applied.objects.exists()


def test_applying_twice_changes_nothing_more() -> None:
    """The second apply of the same file has an empty plan."""
    make_endpoint(ttl=timedelta(hours=1))

    apply_file(STEADY + NEW)
    second = apply_file(STEADY + NEW)

    fresh = Endpoint.objects.get(slug="fresh")
    assert (fresh.base_url, fresh.model) == ("https://host.example", "4")
    assert Endpoint.objects.get(slug="steady").ttl == timedelta(hours=6)
    assert (second.changing, second.adopted) == ([], 0)


def test_an_apply_is_all_or_nothing() -> None:
    """A step that fails rolls the earlier steps back."""
    # Removals come last, and this constraint refuses them.
    execute("ALTER TABLE dashboard_endpoint ADD CONSTRAINT kept CHECK (removed_at IS NULL)")
    make_endpoint()
    make_endpoint(slug="zz")
    changed = STEADY.replace("m-1", "m-2") + NEW

    with pytest.raises(IntegrityError, match="kept"), transaction.atomic():
        apply_file(changed, prune=True)

    assert Endpoint.objects.get(slug="steady").model == "m-1"
    assert not Endpoint.objects.filter(slug="fresh").exists()


@pytest.mark.parametrize(
    ("line", "effects"),
    [
        (("m-1", "m-2"), [Effect.NEW_PROFILE]),
        (("/v1", "/v2"), [Effect.NEW_PROFILE]),
        ((":9/", ":10/"), [Effect.KEY_DELETED, Effect.NEW_PROFILE]),
        (("max_concurrency: 2", "max_concurrency: 3"), []),
    ],
    ids=["model", "path", "host", "concurrency"],
)
def test_a_plan_predicts_the_effects_of_a_change(
    line: tuple[str, str], effects: list[Effect]
) -> None:
    """A new profile and a deleted key happen as planned."""
    endpoint = make_endpoint(key=Secret(KEY))

    plan = apply_file(STEADY.replace(*line))

    (step,) = plan.changing
    assert step.effects == effects
    assert (endpoint.profile.epoch == 2) == (Effect.NEW_PROFILE in effects)
    assert credentials.has_key(endpoint) == (Effect.KEY_DELETED not in effects)


def test_endpoints_that_are_not_in_the_file_are_kept_unless_pruned() -> None:
    """Pruning removes them with their keys, as planned."""
    make_endpoint()
    make_endpoint(slug="gone", key=Secret(KEY))

    assert make_plan(STEADY).counts["remove"] == 0
    apply_file(STEADY)
    assert Endpoint.objects.kept().count() == 2
    plan = apply_file(STEADY, prune=True)

    (step,) = plan.changing
    assert (step.action, step.effects) == (Action.REMOVE, [Effect.ENDED, Effect.KEY_WIPED])
    assert [endpoint.slug for endpoint in Endpoint.objects.kept()] == ["steady"]


def test_an_empty_file_removes_nothing() -> None:
    """A template that rendered to nothing must not remove all endpoints."""
    make_endpoint()

    with pytest.raises(Refused, match="would remove all"):
        apply_file("version: 1\nendpoints: {}\n", prune=True)

    assert Endpoint.objects.kept().exists()


def test_an_apply_is_bound_to_the_expected_plan() -> None:
    """After a concurrent change the apply is refused with the current plan."""
    endpoint = make_endpoint(ttl=timedelta(hours=1))
    state = make_plan(STEADY).state
    endpoints.update(endpoint, key=None, forget_key=False, max_concurrency=7)

    with pytest.raises(PlanOutdated) as caught:
        apply_file(STEADY, expected=state)

    (step,) = caught.value.plan.changing
    assert {change.name for change in step.changes} == {"ttl", "max_concurrency"}
    assert Endpoint.objects.get().max_concurrency == 7
    apply_file(STEADY, expected=caught.value.plan.state)
    assert Endpoint.objects.get().max_concurrency == 2


def test_a_change_outside_of_the_file_does_not_outdate_the_plan() -> None:
    """A new endpoint that is not in the file does not matter."""
    make_endpoint(ttl=timedelta(hours=1))
    state = make_plan(STEADY).state
    make_endpoint(slug="elsewhere")

    apply_file(STEADY, expected=state)

    assert Endpoint.objects.get(slug="steady").ttl == timedelta(hours=6)


def test_a_key_is_read_from_the_environment_and_kept_without_it() -> None:
    """A key is stored, not changed by the same key, and kept without the line."""
    make_endpoint()
    text = STEADY + "    api_key_env: TEAM_KEY\n"

    first = apply_file(text, TEAM_KEY=KEY)
    same = apply_file(text, TEAM_KEY=KEY)
    other = apply_file(text, TEAM_KEY=KEY[::-1])
    silent = apply_file(STEADY)

    assert [len(plan.changing) for plan in (first, same, other, silent)] == [1, 0, 1, 0]
    assert Credential.objects.get().hint == KEY[::-1][-4:]
    assert KEY not in str(first.as_json())


def test_a_key_in_the_file_is_stored_for_the_new_host() -> None:
    """The plan has the effect, and the key can be read for the new host."""
    endpoint = make_endpoint(key=Secret(KEY))
    text = STEADY.replace(":9/", ":10/") + "    api_key_env: TEAM_KEY\n"

    plan = apply_file(text, TEAM_KEY=KEY)

    assert plan.changing[0].effects == [Effect.KEY_STORED, Effect.NEW_PROFILE]
    endpoint.refresh_from_db()
    assert credentials.read_key(endpoint) == Secret(KEY)


def test_true_is_not_one_in_options() -> None:
    """Python compares them as equal; a vendor does not."""
    make_endpoint(options={"logprobs": 1})

    plan = make_plan(STEADY + "    options: {logprobs: true}\n")

    assert [change.name for change in plan.changing[0].changes] == ["options"]


def test_edits_after_an_apply_are_listed_by_field() -> None:
    """Applying the file again ends the drift."""
    apply_file(STEADY)
    endpoint = Endpoint.objects.get()
    assert drift.read_drift(endpoint) == []

    endpoint = endpoints.update(
        endpoint, key=None, forget_key=False, ttl=timedelta(minutes=30)
    ).endpoint

    assert drift.read_drift(endpoint) == [drift.EditedField("ttl", "6h", "30m")]
    (change,) = make_plan(STEADY).changing[0].changes
    assert change.edited_here
    apply_file(STEADY)
    assert drift.read_drift(Endpoint.objects.get()) == []


def test_an_endpoint_without_a_file_has_no_drift() -> None:
    """Edits of it are not drift."""
    endpoint = make_endpoint()

    endpoint = endpoints.update(endpoint, key=None, forget_key=False, model="m-9").endpoint

    assert drift.read_drift(endpoint) == []


def test_the_drift_of_many_endpoints_is_one_query(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    """A list of endpoints needs one query."""
    registered = [make_endpoint(slug=f"e-{n}") for n in range(5)]
    apply_file(STEADY.replace("steady", "e-3"))
    Endpoint.objects.filter(slug="e-3").update(model="m-9")

    with django_assert_num_queries(1):
        drift_by_endpoint = drift.read_drift_by_endpoint(endpoint.pk for endpoint in registered)

    assert [each.name for edits in drift_by_endpoint.values() for each in edits] == ["model"]


def test_a_plan_is_one_query_for_a_long_file(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    """This includes the comparison of keys."""
    bodies = STEADY.split("endpoints:\n")[1] + "    api_key_env: TEAM_KEY\n"
    text = "version: 1\nendpoints:\n" + "".join(
        bodies.replace("steady", f"e-{n}") for n in range(9)
    )
    apply_file(text, TEAM_KEY=KEY)

    with django_assert_num_queries(1):
        make_plan(text, TEAM_KEY=KEY)


@pytest.mark.django_db(transaction=True)
def test_concurrent_applies_are_serialised() -> None:
    """The second apply waits for the first and finds nothing to do."""
    file = read_file(STEADY + NEW)
    state = make_plan(STEADY + NEW).state
    start, ends = threading.Barrier(2), list[object]()

    def apply_once() -> None:
        start.wait()
        try:
            ends.append(apply_endpoints(file, prune=False, expected=state, by=None))
        except PlanOutdated as exc:
            ends.append(exc.plan.changing)
        finally:
            connection.close()

    threads = [threading.Thread(target=apply_once) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [] in ends
    assert Endpoint.objects.kept().count() == 2
    assert Applied.objects.count() == 2
