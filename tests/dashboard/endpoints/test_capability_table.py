from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from dashboard.core.labels import CAPABILITY_NAMES, capability_meaning
from dashboard.endpoints.capability_table import CapabilityRow, read_capability_table
from dashboard.models import Attempt, Endpoint, Profile, Run
from health.capability import Capability
from tests.factories import make_attempt, make_endpoint, make_finished_run
from tests.markup import assert_contains, assert_not_contains


def test_before_the_first_run_the_section_explains_itself(signed_in: Client) -> None:
    """Without a measurement the page explains why and links to a run, without a table."""
    make_endpoint()

    page = signed_in.get("/endpoints/steady/")

    assert_contains(page, "Nothing was measured yet. The first run that ends settles")
    assert_contains(page, "Plan a run")


def test_a_row_shows_value_confidence_date_and_evidence(signed_in: Client) -> None:
    """A capability shows its meaning, trials, interval and run, and links to its evidence."""
    endpoint = make_endpoint()
    run = measure(endpoint, error_repair=Capability("limited", 5, 4, ("error_repair/2",)))
    make_attempt(run, probe="error_repair", trial=2)

    page = signed_in.get("/endpoints/steady/")

    assert_contains(page, "corrects a refused call, but seldom at once")
    assert_contains(page, "4 of 5 agree")
    assert_contains(page, "37%–96%")
    assert_contains(page, f'href="/runs/{run.pk}/attempts/error_repair/2/"')


def test_unknown_and_derived_values_are_distinguished() -> None:
    """Without trials and value it is unknown; a value without trials is derived from others."""
    profile = Profile(capabilities={"schema_level": {"value": "none"}, "accepts": {"value": None}})

    table = read_capability_table(profile, None)

    assert table is not None
    states = {row.code: (row.is_known, row.is_derived) for row in table.rows}
    assert states == {"schema_level": (True, True), "accepts": (False, False)}


@pytest.mark.django_db
def test_deleted_evidence_is_not_linked() -> None:
    """Attempts that retention deleted are not linked."""
    endpoint = make_endpoint()
    run = measure(endpoint, error_repair=Capability("limited", 5, 4, ("error_repair/2", "odd")))
    make_attempt(run, probe="error_repair", trial=2)
    assert not _row(endpoint, "error_repair").is_evidence_deleted

    Attempt.objects.all().delete()

    assert _row(endpoint, "error_repair").is_evidence_deleted


def test_differences_from_the_earlier_profile_are_marked(signed_in: Client) -> None:
    """A changed value shows its earlier meaning."""
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
    ("field", "value", "phrase"),
    [
        ("tool_call_format", "openai", "on the wire, in the format openai"),
        ("result_role", "user_text", "used only as text in a user message"),
        ("image_result", "used_in_user_turn", "seen only in a user message after the result"),
        ("tool_call_format", "json_text", "as JSON in the text, which a parser reads"),
        ("supports_parallel_tool_use", False, "no"),
        ("tool_choice", ["auto", "none"], "auto, none"),
        ("tool_choice", [], "none"),
        ("accepts", {"strict": True, "developer": False}, "strict schemas: taken; developer"),
        ("id_forms", {"kimi": None}, "kimi: unknown"),
        ("parallel_switch", "no switch", "the format has none"),
        ("parallel", "any", "several calls, of one tool or of different tools"),
        ("schema_level", "unsettled", "not settled"),
        ("from_the_future", "\u202ex", "⟦U+202E⟧x"),
        ("schema_level", None, "unknown"),
    ],
)
def test_values_are_shown_as_phrases(field: str, value: object, phrase: str) -> None:
    """A code of the API is a phrase on the page; an unknown code is escaped."""
    assert capability_meaning(field, value).startswith(phrase)


SPLIT = {"unsettled": True, "trials": 3}


@pytest.mark.parametrize(
    ("code", "entry", "meaning"),
    [
        (
            "supports_parallel_tool_use",
            {**SPLIT, "value": None, "counts": {"true": 2, "false": 1}},
            "not settled: yes in 2, no in 1",
        ),
        (
            "tool_call_format",
            {**SPLIT, "value": "unsettled", "counts": {"openai": 3, "hermes": 4}},
            "not settled: openai in 3, hermes in 4",
        ),
        (
            "parser",
            {**SPLIT, "value": None, "counts": {"openai": 3, "hermes": 4}},
            "not settled: openai in 3, hermes in 4",
        ),
        (
            "parser",
            {"value": None, "trials": 10, "agree": 9, "counts": {"openai": 9, "hermes": 1}},
            "none: calls come on the wire, and 1 of 10 came as text",
        ),
        ("parser", {"value": None, "trials": 10}, "none needed: no call comes as text"),
        (
            "tool_choice",
            {**SPLIT, "value": ["auto"], "counts": {"none": {"true": 1, "false": 1}}},
            "auto; not settled: none",
        ),
    ],
)
def test_an_unsettled_value_shows_what_was_seen(
    code: str, entry: dict[str, Any], meaning: str
) -> None:
    """It is neither unknown nor a yes, and no parser is called unneeded beside leaked calls."""
    table = read_capability_table(Profile(capabilities={code: entry}), None)

    assert table is not None
    (row,) = table.rows
    assert (row.meaning, row.is_known) == (meaning, True)


def test_every_measured_capability_has_a_name() -> None:
    """A new capability is not shown as a code."""
    from health.capabilities import derive_capabilities

    assert derive_capabilities([], "openai").keys() == CAPABILITY_NAMES.keys()


def test_hostile_values_are_escaped(signed_in: Client) -> None:
    """A value that an endpoint sent is not markup."""
    measure(make_endpoint(), parser=Capability("<script>x</script>", 2, 2))

    assert_not_contains(signed_in.get("/endpoints/steady/"), "<script>x")


def measure(endpoint: Endpoint, **capabilities: Capability) -> Run:
    """A run that measured these capabilities for the current profile."""
    run = make_finished_run(endpoint)
    stored: dict[str, Any] = {
        name: {**capability.as_json(), "run": run.pk} for name, capability in capabilities.items()
    }
    profile = endpoint.profile
    Profile.objects.filter(pk=profile.pk).update(
        capabilities=stored, probe_version="tool-probe-v2", verified_at=run.finished_at
    )
    return run


def _row(endpoint: Endpoint, code: str) -> CapabilityRow:
    table = read_capability_table(endpoint.profile, None)
    assert table is not None
    return next(row for row in table.rows if row.code == code)
