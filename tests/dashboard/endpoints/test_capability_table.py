from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from dashboard.core.labels import CAPABILITY_NAMES, capability_meaning
from dashboard.endpoints import capability_table
from dashboard.models import Attempt, Endpoint, Profile, Run
from health.capabilities import Capability
from tests.factories import make_attempt, make_endpoint, make_finished_run
from tests.markup import assert_contains, assert_not_contains


def test_before_the_first_run_the_section_says_what_will_be_there(signed_in: Client) -> None:
    """Nothing measured is words and a way on, not an empty table."""
    make_endpoint()

    page = signed_in.get("/endpoints/steady/")

    assert_contains(page, "Nothing was measured yet. The first run that ends settles")
    assert_contains(page, "Plan a run")


def test_a_field_says_value_confidence_date_and_why(signed_in: Client) -> None:
    """Words, trials, interval and run of a field, and a link to what settled it."""
    endpoint = make_endpoint()
    run = measure(endpoint, error_repair=Capability("limited", 5, 4, ("error_repair/2",)))
    make_attempt(run, probe="error_repair", trial=2)

    page = signed_in.get("/endpoints/steady/")

    assert_contains(page, "corrects a refused call, but seldom at once")
    assert_contains(page, "4 of 5 agree")
    assert_contains(page, "37%–96%")
    assert_contains(page, f'href="/runs/{run.pk}/attempts/error_repair/2/"')


def test_what_is_unknown_and_what_follows_are_told_apart() -> None:
    """No trial and no value is unknown; a value without trials follows from other fields."""
    endpoint = Profile(capabilities={"schema_level": {"value": "none"}, "accepts": {"value": None}})

    found = capability_table.read(endpoint, None)

    assert found is not None
    told = {field.code: (field.is_known, field.follows) for field in found.fields}
    assert told == {"schema_level": (True, True), "accepts": (False, False)}


@pytest.mark.django_db
def test_evidence_whose_time_is_over_is_no_dead_link() -> None:
    """Attempts that were deleted are not linked to."""
    endpoint = make_endpoint()
    run = measure(endpoint, error_repair=Capability("limited", 5, 4, ("error_repair/2", "odd")))
    make_attempt(run, probe="error_repair", trial=2)
    assert not _field(endpoint, "error_repair").is_gone

    Attempt.objects.all().delete()

    assert _field(endpoint, "error_repair").is_gone


def test_what_differs_from_the_profile_before_is_marked(signed_in: Client) -> None:
    """A reader sees at once what another key changed, and what it was."""
    endpoint = make_endpoint()
    measure(endpoint, error_repair=Capability("reliable", 5, 5))
    endpoint.profiles.update(ended_at=timezone.now())
    old = endpoint.profiles.get()
    fields = {"provider": "openai", "model": "m-2", "endpoint_url": old.endpoint_url}
    Profile.objects.create(endpoint=endpoint, epoch=2, key_hash=b"k", **fields)
    measure(endpoint, error_repair=Capability("none", 5, 5), schema_level=Capability("none", 1, 1))

    page = signed_in.get("/endpoints/steady/")

    assert_contains(page, "1 differs from profile 1.")
    assert_contains(page, "profile 1: corrects a refused call at the first try")


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("tool_call_format", "openai", "on the wire, in the format openai"),
        ("tool_call_format", "json_text", "as JSON in the text, which a parser reads"),
        ("supports_parallel_tool_use", False, "no"),
        ("tool_choice", ["auto", "none"], "auto, none"),
        ("tool_choice", [], "none"),
        ("accepts", {"strict": True, "developer": False}, "strict schemas: taken; developer"),
        ("id_forms", {"kimi": None}, "kimi: unknown"),
        ("parallel_switch", "no switch", "the format has none"),
        ("from_the_future", "\u202ex", "⟦U+202E⟧x"),
        ("schema_level", None, "unknown"),
    ],
)
def test_values_are_told_in_words(field: str, value: object, words: str) -> None:
    """What the API tells as codes is a phrase here; what nobody foresaw is inert."""
    assert capability_meaning(field, value).startswith(words)


def test_every_field_that_is_measured_has_a_name() -> None:
    """A new capability does not reach people as a code."""
    from health.capabilities import derive_capabilities

    assert derive_capabilities([], "openai").keys() == CAPABILITY_NAMES.keys()


def test_hostile_values_are_inert(signed_in: Client) -> None:
    """What an endpoint made us store is text."""
    measure(make_endpoint(), parser=Capability("<script>x</script>", 2, 2))

    assert_not_contains(signed_in.get("/endpoints/steady/"), "<script>x")


def measure(endpoint: Endpoint, **found: Capability) -> Run:
    """A run that measured these fields, under the present profile."""
    run = make_finished_run(endpoint)
    told: dict[str, Any] = {name: {**c.as_json(), "run": run.pk} for name, c in found.items()}
    profile = endpoint.profile
    Profile.objects.filter(pk=profile.pk).update(
        capabilities=told, probe_version="tool-probe-v1", verified_at=run.finished_at
    )
    return run


def _field(endpoint: Endpoint, code: str) -> capability_table.Field:
    found = capability_table.read(endpoint.profile, None)
    assert found is not None
    return next(field for field in found.fields if field.code == code)
