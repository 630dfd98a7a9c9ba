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
from dashboard.endpoints.services import apply_file, endpoints
from dashboard.models import Applied, Credential, Endpoint
from dashboard.runs import credentials
from probes.secret import Secret
from tests.dashboard.endpoints.as_code.builders import NEW, STEADY, applied, declared, planned
from tests.factories import make_endpoint

KEY = "sk-abcdefghijklmnop"
pytestmark = pytest.mark.django_db


def test_a_plan_says_what_is_created_changed_unchanged_and_missing() -> None:
    """Nothing is written by looking."""
    make_endpoint()
    make_endpoint(slug="other", ttl=timedelta(hours=1))
    make_endpoint(slug="unnamed")
    other = STEADY.split("endpoints:\n")[1].replace("steady", "other")

    plan = planned(STEADY + NEW + other)

    assert {step.slug: step.action for step in plan.steps} == {
        "fresh": Action.CREATE,
        "other": Action.CHANGE,
        "steady": Action.UNCHANGED,
        "unnamed": Action.MISSING,
    }
    (change,) = plan.of(Action.CHANGE)[0].changes
    assert (change.name, change.old, change.new) == ("ttl", "1h", "6h")
    assert not Applied.objects.exists()


def test_applying_makes_it_so_and_a_second_time_changes_nothing() -> None:
    """The same file twice is the same as once."""
    make_endpoint(ttl=timedelta(hours=1))

    applied(STEADY + NEW)
    second = applied(STEADY + NEW)

    fresh = Endpoint.objects.get(slug="fresh")
    assert (fresh.base_url, fresh.model) == ("https://host.example", "4")
    assert Endpoint.objects.get(slug="steady").ttl == timedelta(hours=6)
    assert (second.changing, second.adopted) == ([], 0)


def test_an_apply_is_all_or_nothing() -> None:
    """What a later step refuses takes the earlier ones back."""
    # Nothing can be removed now, which is the last that an apply does.
    execute("ALTER TABLE dashboard_endpoint ADD CONSTRAINT kept CHECK (removed_at IS NULL)")
    make_endpoint()
    make_endpoint(slug="zz")
    changed = STEADY.replace("m-1", "m-2") + NEW

    with pytest.raises(IntegrityError, match="kept"), transaction.atomic():
        applied(changed, prune=True)

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
def test_a_plan_foretells_what_a_change_causes(
    line: tuple[str, str], effects: list[Effect]
) -> None:
    """A new profile, a key that goes: what was foretold is what happens."""
    endpoint = make_endpoint(key=Secret(KEY))

    plan = applied(STEADY.replace(*line))

    (step,) = plan.changing
    assert step.effects == effects
    assert (endpoint.profile.epoch == 2) == (Effect.NEW_PROFILE in effects)
    assert credentials.has_key(endpoint) == (Effect.KEY_DELETED not in effects)


def test_endpoints_that_are_not_in_the_file_are_kept_unless_asked() -> None:
    """Pruning says so in the plan and takes the key along."""
    make_endpoint()
    make_endpoint(slug="gone", key=Secret(KEY))

    assert planned(STEADY).counts["remove"] == 0
    applied(STEADY)
    assert Endpoint.objects.kept().count() == 2
    plan = applied(STEADY, prune=True)

    (step,) = plan.changing
    assert (step.action, step.effects) == (Action.REMOVE, [Effect.ENDED, Effect.KEY_WIPED])
    assert [endpoint.slug for endpoint in Endpoint.objects.kept()] == ["steady"]


def test_an_empty_file_removes_nothing() -> None:
    """A template that rendered to nothing must not empty the fleet."""
    make_endpoint()

    with pytest.raises(Refused, match="would remove all"):
        applied("version: 1\nendpoints: {}\n", prune=True)

    assert Endpoint.objects.kept().exists()


def test_an_apply_is_bound_to_what_was_shown() -> None:
    """Who changed an endpoint in between is not overruled; the fresh plan comes back."""
    endpoint = make_endpoint(ttl=timedelta(hours=1))
    shown = planned(STEADY).state
    endpoints.update(endpoint, key=None, forget_key=False, max_concurrency=7)

    with pytest.raises(apply_file.Outdated) as caught:
        applied(STEADY, expected=shown)

    (step,) = caught.value.plan.changing
    assert {change.name for change in step.changes} == {"ttl", "max_concurrency"}
    assert Endpoint.objects.get().max_concurrency == 7
    applied(STEADY, expected=caught.value.plan.state)
    assert Endpoint.objects.get().max_concurrency == 2


def test_a_change_that_does_not_concern_the_file_is_no_hindrance() -> None:
    """Somebody else's new endpoint makes no plan outdated."""
    make_endpoint(ttl=timedelta(hours=1))
    shown = planned(STEADY).state
    make_endpoint(slug="elsewhere")

    applied(STEADY, expected=shown)

    assert Endpoint.objects.get(slug="steady").ttl == timedelta(hours=6)


def test_a_key_comes_from_the_environment_and_stays_without_one() -> None:
    """Stored when given, unchanged when the same, kept when the line is gone."""
    make_endpoint()
    text = STEADY + "    api_key_env: TEAM_KEY\n"

    first = applied(text, TEAM_KEY=KEY)
    same = applied(text, TEAM_KEY=KEY)
    other = applied(text, TEAM_KEY=KEY[::-1])
    silent = applied(STEADY)

    assert [len(plan.changing) for plan in (first, same, other, silent)] == [1, 0, 1, 0]
    assert Credential.objects.get().hint == KEY[::-1][-4:]
    assert KEY not in str(first.as_json())


def test_a_key_goes_along_to_another_host_when_the_file_names_it() -> None:
    """The plan says that it is stored, and it fits the new host."""
    endpoint = make_endpoint(key=Secret(KEY))
    text = STEADY.replace(":9/", ":10/") + "    api_key_env: TEAM_KEY\n"

    plan = applied(text, TEAM_KEY=KEY)

    assert plan.changing[0].effects == [Effect.KEY_STORED, Effect.NEW_PROFILE]
    endpoint.refresh_from_db()
    assert credentials.read_key(endpoint) == Secret(KEY)


def test_true_is_not_one_in_options() -> None:
    """Python takes them for equal; a vendor does not."""
    make_endpoint(options={"logprobs": 1})

    plan = planned(STEADY + "    options: {logprobs: true}\n")

    assert [change.name for change in plan.changing[0].changes] == ["options"]


def test_what_is_edited_after_an_apply_is_told_field_by_field() -> None:
    """And no more once the file was applied again."""
    applied(STEADY)
    endpoint = Endpoint.objects.get()
    assert drift.of(endpoint) == []

    endpoint = endpoints.update(
        endpoint, key=None, forget_key=False, ttl=timedelta(minutes=30)
    ).endpoint

    assert drift.of(endpoint) == [drift.Edited("ttl", "6h", "30m")]
    (change,) = planned(STEADY).changing[0].changes
    assert change.edited_here
    applied(STEADY)
    assert drift.of(Endpoint.objects.get()) == []


def test_an_endpoint_that_no_file_set_is_not_marked() -> None:
    """It can be edited as one likes."""
    endpoint = make_endpoint()

    endpoint = endpoints.update(endpoint, key=None, forget_key=False, model="m-9").endpoint

    assert drift.of(endpoint) == []


def test_edits_of_many_endpoints_are_one_query(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    """A list of a thousand asks once."""
    made = [make_endpoint(slug=f"e-{n}") for n in range(5)]
    applied(STEADY.replace("steady", "e-3"))
    Endpoint.objects.filter(slug="e-3").update(model="m-9")

    with django_assert_num_queries(1):
        found = drift.of_all(endpoint.pk for endpoint in made)

    assert [each.name for edits in found.values() for each in edits] == ["model"]


def test_a_plan_is_one_query_however_long_the_file(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    """Also with keys to compare."""
    bodies = STEADY.split("endpoints:\n")[1] + "    api_key_env: TEAM_KEY\n"
    text = "version: 1\nendpoints:\n" + "".join(
        bodies.replace("steady", f"e-{n}") for n in range(9)
    )
    applied(text, TEAM_KEY=KEY)

    with django_assert_num_queries(1):
        planned(text, TEAM_KEY=KEY)


@pytest.mark.django_db(transaction=True)
def test_two_applies_at_once_end_as_one_after_the_other() -> None:
    """The second waits, sees what the first did, and has nothing left to do."""
    file = declared(STEADY + NEW)
    state = planned(STEADY + NEW).state
    start, ends = threading.Barrier(2), list[object]()

    def go() -> None:
        start.wait()
        try:
            ends.append(apply_file.apply(file, prune=False, expected=state, by=None))
        except apply_file.Outdated as exc:
            ends.append(exc.plan.changing)
        finally:
            connection.close()

    threads = [threading.Thread(target=go) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [] in ends
    assert Endpoint.objects.kept().count() == 2
    assert Applied.objects.count() == 2
