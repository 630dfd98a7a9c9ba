"""Request options decide what the model is asked: other options are another profile."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from dashboard.charts.endpoint_changes import read_changes
from dashboard.core.errors import Refused
from dashboard.endpoints.as_code.apply_plan import Effect
from dashboard.endpoints.services import endpoints
from dashboard.models import AuditEntry, Endpoint, Notice, Profile, RolloutRequest
from dashboard.runs import services as runs
from dashboard.trust import modes, profiles, rollout_requests
from health.modes import Mode
from tests.dashboard.endpoints.as_code.builders import STEADY, apply_file, make_plan
from tests.dashboard.rollouts.builders import (
    make_profile_ready,
    make_ready_endpoint,
    policy_body,
    read_stage,
)
from tests.factories import make_endpoint
from tests.markup import assert_contains, assert_not_contains

pytestmark = pytest.mark.django_db

# Fields with which relays choose another model, and fields that change how it answers.
ROUTING: dict[str, dict[str, Any]] = {
    "models": {"models": ["other/model"]},
    "route": {"route": "fallback"},
    "provider": {"provider": {"order": ["cheap"], "allow_fallbacks": True}},
    "extra_body": {"extra_body": {"model": "other"}},
    "fallbacks": {"fallbacks": ["other"]},
    "metadata": {"metadata": {"tags": ["other"]}},
}
ANSWERING: dict[str, dict[str, Any]] = {
    "temperature": {"temperature": 2},
    "null is not absent": {"temperature": None},
    "true is not one": {"logprobs": 1},
    "one part of a nested value": {"chat_template_kwargs": {"enable_thinking": False}},
}
START = {"logprobs": True, "chat_template_kwargs": {"enable_thinking": True, "depth": 1}}


def change(endpoint: Endpoint, **fields: Any) -> endpoints.EndpointUpdate:
    return endpoints.update(endpoint, key=None, forget_key=False, **fields)


@pytest.mark.parametrize("options", [*ROUTING.values(), *ANSWERING.values()], ids=str)
def test_other_options_void_a_pending_request(
    ann: User, bea: User, options: dict[str, Any]
) -> None:
    """The stage does not rise on figures that were measured under other options."""
    endpoint = make_ready_endpoint(options=START)
    profile = endpoint.profile
    request = rollout_requests.request_promotion(profile, by=ann, reason="ready")

    change(endpoint, options={**START, **options})

    with pytest.raises(Refused, match="void"):
        rollout_requests.approve(request, by=bea, reason="yes")
    request.refresh_from_db()
    assert (request.state, read_stage(profile)) == (RolloutRequest.State.VOIDED, "shadow")
    (name,) = options
    assert [f"options.{name}"] == [part for part, _, _ in request.changed if "options" in part]


def test_the_audit_log_the_notice_and_the_page_name_the_changed_option(
    ann: User, signed_in: Client
) -> None:
    """With the value before and after."""
    endpoint = make_ready_endpoint(options={"temperature": 0})
    request = rollout_requests.request_promotion(endpoint.profile, by=ann, reason="ready")

    change(endpoint, options={"temperature": 2})

    entry = AuditEntry.objects.filter(action="rollout.voided").latest("id")
    assert "options.temperature: 0 -> 2" in entry.parsed_body["reason"]
    notice = Notice.objects.latest("id")
    assert "options.temperature: it was 0, and is 2 now" in notice.body["text"]
    page = signed_in.get(f"/rollouts/{request.pk}/")
    assert_contains(page, "Request options (temperature)")
    assert_not_contains(page, "The profile key")


def test_options_changed_past_the_services_are_found_at_the_decision(ann: User, bea: User) -> None:
    """The endpoint's own row is compared: it is what the next request is made of."""
    endpoint = make_ready_endpoint()
    profile = endpoint.profile
    request = rollout_requests.request_promotion(profile, by=ann, reason="ready")
    Endpoint.objects.update(options={"models": ["other"]}, dialect="plain")

    with pytest.raises(Refused, match="void"):
        rollout_requests.approve(request, by=bea, reason="yes")

    parts = {part for part, _, _ in request.changed}
    assert {"options.models", "target.dialect"} <= parts
    assert read_stage(profile) == "shadow"


def test_other_options_void_a_request_to_release_a_pinned_mode(ann: User, bea: User) -> None:
    """The mode was pinned against what is sent, so its release is bound to that too."""
    endpoint = make_ready_endpoint("full")
    switch = modes.switch_on(
        endpoint.profile, Mode.STRICT_SCHEMA, by=bea, reason="for good", pinned=True
    )
    request = rollout_requests.request_unpin(switch, by=ann, reason="fixed")

    change(endpoint, options={"temperature": 2})

    request.refresh_from_db()
    switch.refresh_from_db()
    assert (request.state, switch.off_at) == (RolloutRequest.State.VOIDED, None)


def test_a_long_value_that_differs_at_its_end_is_shown_to_differ(ann: User) -> None:
    """What is cut off for the page is told apart by its hash."""
    endpoint = make_ready_endpoint(options={"prompt": "x" * 900 + "a"})
    request = rollout_requests.request_promotion(endpoint.profile, by=ann, reason="ready")

    change(endpoint, options={"prompt": "x" * 900 + "b"})

    request.refresh_from_db()
    ((_, before, after),) = [each for each in request.changed if each[0].startswith("options")]
    assert before != after


@pytest.mark.parametrize("options", [*ROUTING.values(), *ANSWERING.values()], ids=str)
def test_other_options_open_a_profile_in_shadow_and_come_back(options: dict[str, Any]) -> None:
    """The old target stays in force, options included, until the new profile is promoted."""
    endpoint = make_ready_endpoint("full", options=START)
    before, active = policy_body(endpoint), runs.request_run(endpoint, by=None)
    assert before["target"]["options"] == START

    assert change(endpoint, options={**START, **options}).new_epoch

    new = endpoint.profile
    assert (new.epoch, new.stage, new.in_force) == (2, "shadow", False)
    assert new.options == {**START, **options}
    active.refresh_from_db()
    assert (active.state, active.reason) == ("abandoned", profiles.SUPERSEDED)
    after = policy_body(endpoint)
    assert (after["target"], after["risk"]) == (before["target"], before["risk"])
    assert after["candidate"]["target"] == {**before["target"], "options": {**START, **options}}
    assert after["candidate"]["changed_by"] == "operator"

    assert change(endpoint, options=START).new_epoch
    back = endpoint.profile
    assert (back.epoch, back.stage, back.in_force) == (1, "full", True)


def test_the_same_options_in_another_spelling_change_nothing() -> None:
    """Another order of names, or 1.0 for 1, is the same JSON."""
    endpoint = make_endpoint(options={"top_p": 1, "n": {"a": 1, "b": 2}})

    assert not change(endpoint, options={"n": {"b": 2, "a": 1}, "top_p": 1.0}).new_epoch
    assert not change(endpoint, max_concurrency=9, ttl=endpoint.ttl, price_input=3).new_epoch


def test_promotion_puts_the_new_options_in_force(ann: User, bea: User) -> None:
    """Until then, neither the stage nor the options of the policy are those of the edit."""
    endpoint = make_ready_endpoint("full")
    change(endpoint, options={"models": ["other"]})
    new = endpoint.profile
    make_profile_ready(new)
    request = rollout_requests.request_promotion(new, by=ann, reason="The new route is fine.")
    assert policy_body(endpoint)["target"]["options"] == {}

    rollout_requests.approve(request, by=bea, reason="yes")

    body = policy_body(endpoint)
    assert (body["stage"], body["target"]["options"]) == ("read_only", {"models": ["other"]})


def test_the_approver_sees_how_the_options_differ(ann: User, signed_in: Client) -> None:
    """Side by side, option by option, beside the options that the request is bound to."""
    endpoint = make_ready_endpoint("full", options={"temperature": 0, "seed": 7})
    change(endpoint, options={"temperature": 1, "models": ["<b>other</b>"], "seed": 7})
    make_profile_ready(endpoint.profile)
    request = rollout_requests.request_promotion(endpoint.profile, by=ann, reason="ready")

    page = signed_in.get(f"/rollouts/{request.pk}/")

    lines = {line.name: (line.before, line.after) for line in page.context["page"].diff_lines}
    assert lines["Request option temperature"] == ("0", "1")
    assert lines["Request option models"] == ("", '["<b>other</b>"]')
    assert "Request option seed" not in lines
    assert_contains(page, "&lt;b&gt;other&lt;/b&gt;")
    assert page.context["page"].bound_options == (
        '{"models": ["<b>other</b>"], "seed": 7, "temperature": 1}'
    )


def test_the_history_shows_the_edit_once() -> None:
    """The edit and the profile that it opened are one change."""
    endpoint = make_endpoint()

    change(endpoint, options={"temperature": 2})

    (changed,) = read_changes(endpoint, list(endpoint.profiles.all()))
    assert (changed.names, changed.is_theirs) == ("Request options", False)
    assert [(fact.before, fact.after) for fact in changed.facts] == [("{}", '{"temperature": 2}')]


def test_a_plan_says_that_other_options_open_a_profile() -> None:
    """Before anything is applied."""
    make_endpoint()
    text = f"{STEADY}    options:\n      models: [other]\n"

    assert Effect.NEW_PROFILE in make_plan(text).changing[0].effects

    apply_file(text)
    assert Endpoint.objects.get().profile.epoch == 2


def test_the_api_lists_the_options_of_each_profile(signed_in: Client) -> None:
    """The figures of a profile belong to the options that it names."""
    endpoint = make_endpoint(options={"temperature": 0})
    change(endpoint, options={"temperature": 2})

    answer = signed_in.get(f"/api/v1/endpoints/{endpoint.slug}/profiles")

    listed = json.loads(answer.content)["profiles"]
    assert [each["options"] for each in listed] == [{"temperature": 2}, {"temperature": 0}]


def test_the_upgrade_gives_each_profile_the_options_of_its_end() -> None:
    """Those of the endpoint now, or those before the first edit after the profile had ended."""
    endpoint = make_endpoint(options={"seed": 1})
    change(endpoint, model="m-2")
    change(endpoint, options={"seed": 2}, model="m-3")
    Profile.objects.update(options={})

    migration = import_module("dashboard.migrations.0026_profile_options_and_batch_digest")
    with connection.cursor() as cursor:
        cursor.execute(migration._COPY)

    profiles_in_order = endpoint.profiles.order_by("epoch")
    assert [each.options["seed"] for each in profiles_in_order] == [1, 1, 2]
