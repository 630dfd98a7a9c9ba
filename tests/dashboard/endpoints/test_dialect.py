"""The dialect of an endpoint and its declared chat template, from every side that sets them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from dashboard.charts.endpoint_changes import read_changes
from dashboard.endpoints.as_code import file_writer
from dashboard.endpoints.as_code.apply_plan import Effect
from dashboard.endpoints.forms import TryForm
from dashboard.endpoints.services import endpoints
from dashboard.endpoints.try_out import try_request
from dashboard.models import AuditEntry, Endpoint, EndpointEdit, RolloutRequest, Run
from dashboard.models.people import Role
from dashboard.runs import schedule
from dashboard.runs import services as runs
from dashboard.trust import profiles, rollout_requests
from probes.dialects import BY_FORMAT
from probes.errors import TargetError
from probes.fingerprint import EngineFacts
from tests.dashboard.endpoints.as_code.builders import STEADY, apply_file, make_plan
from tests.dashboard.rollouts.builders import make_ready_endpoint, policy_body
from tests.dashboard.runs.builders import make_endpoints_due, start_next_run
from tests.factories import make_endpoint, make_person
from tests.markup import assert_contains, assert_not_contains

pytestmark = pytest.mark.django_db
A, B = "a" * 64, "b" * 64


def change(endpoint: Endpoint, **fields: Any) -> endpoints.EndpointUpdate:
    return endpoints.update(endpoint, key=None, forget_key=False, **fields)


def report_template(chat_template_hash: str) -> bool:
    """Start a run whose endpoint shows this template; False if it opens another profile."""
    make_endpoints_due()
    schedule.schedule_due()
    return profiles.record_engine_facts(start_next_run(), EngineFacts(chat_template_hash, {}))


def templates(endpoint: Endpoint) -> list[tuple[int, str, str]]:
    every = endpoint.profiles.order_by("epoch")
    return [(each.epoch, each.chat_template_hash[:1], each.declaration) for each in every]


def test_a_run_speaks_the_chosen_dialect() -> None:
    """The worker probes with it, and its profile says so."""
    endpoint = make_endpoint(dialect="deepseek_v32")
    runs.request_run(endpoint, by=None)
    lease = runs.claim_run(owner="test")
    assert lease is not None
    work = runs.start_run(lease)

    assert work is not None
    assert work.target.resolve_dialect().name == "deepseek_v32"
    assert endpoint.profile.dialect == "deepseek_v32"


def test_another_dialect_opens_a_profile_in_shadow_and_comes_back() -> None:
    """What was measured in one dialect says nothing about another: trust does not carry over."""
    endpoint = make_ready_endpoint("full")
    before, active = policy_body(endpoint), runs.request_run(endpoint, by=None)

    assert change(endpoint, dialect="plain").new_epoch

    new = endpoint.profile
    assert (new.epoch, new.stage, new.dialect, new.in_force) == (2, "shadow", "plain", False)
    active.refresh_from_db()
    assert (active.state, active.reason) == ("abandoned", profiles.SUPERSEDED)
    schedule.schedule_due()
    waiting = Run.objects.get(state="queued")
    assert (waiting.trigger, waiting.suite, waiting.profile) == ("key_change", "full", new)
    # The old way of asking stays in force until the new one is promoted.
    after = policy_body(endpoint)
    assert (after["target"], after["risk"]) == (before["target"], before["risk"])
    assert after["candidate"]["target"] == {**before["target"], "dialect": "plain"}
    assert after["candidate"]["changed_by"] == "operator"

    assert change(endpoint, dialect="").new_epoch
    assert (endpoint.profile.epoch, endpoint.profile.stage, endpoint.profile.in_force) == (
        *(1, "full", True),
    )


def test_another_dialect_voids_a_pending_request() -> None:
    """A decision is bound to the profile that was measured."""
    alice = make_person("alice", Role.OPERATOR)
    endpoint = make_ready_endpoint()
    request = rollout_requests.request_promotion(endpoint.profile, by=alice, reason="ready")

    change(endpoint, dialect="plain")

    request.refresh_from_db()
    assert request.state == RolloutRequest.State.VOIDED


def test_an_edit_that_leaves_the_dialect_changes_no_profile() -> None:
    """A budget or a name is not sent."""
    endpoint = make_endpoint(dialect="plain", chat_template_hash=A)

    assert not change(endpoint, max_concurrency=7, dialect="plain", chat_template_hash=A).new_epoch


def test_edits_of_both_stand_in_the_history_and_in_the_audit_log() -> None:
    """With the value before and after."""
    endpoint = make_endpoint()

    change(endpoint, dialect="plain", chat_template_hash=A)

    assert EndpointEdit.objects.get().changes == [
        ["dialect", "", "plain"],
        ["chat_template_hash", "", A],
    ]
    entry = AuditEntry.objects.filter(action="endpoint.changed").get()
    assert json.loads(entry.body)["after"] == {"dialect": "plain", "chat_template_hash": A}
    (changed,) = read_changes(endpoint, list(endpoint.profiles.all()))
    assert not changed.is_theirs
    assert changed.names == "Dialect, Chat template"


def test_a_dialect_of_another_wire_format_is_refused() -> None:
    """Also when only the provider changes."""
    with pytest.raises(TargetError, match="does not fit"):
        make_endpoint(dialect="anthropic_bound")
    endpoint = make_endpoint(dialect="plain")
    with pytest.raises(TargetError, match="does not fit"):
        change(endpoint, provider="anthropic")


def test_the_form_offers_the_dialects_by_wire_format(signed_in: Client) -> None:
    """A format with one dialect leaves nothing to choose."""
    endpoint = make_endpoint(dialect="plain", chat_template_hash=A)

    page = signed_in.get(f"/endpoints/{endpoint.slug}/edit/")

    for wire_format, dialects in BY_FORMAT.items():
        if len(dialects) > 1:
            assert_contains(page, f'<optgroup label="{wire_format}">')
    assert_contains(page, '<option value="plain" selected>')
    assert_contains(page, A)
    assert_not_contains(page, '<optgroup label="gemini">')


def test_try_it_asks_in_the_chosen_dialect(signed_in: Client, vendor_url: str) -> None:
    """The unsaved choice of the form holds, and one that does not fit sends nothing."""
    form = {"provider": "minimax", "base_url": f"{vendor_url}/minimax/v1", "model": "sim-m2"}
    form |= {"key": "sim-key", "options": "{}"}

    tried = TryForm({**form, "dialect": "plain"})
    assert tried.is_valid()
    assert try_request.build_target(tried.cleaned_data, None).resolve_dialect().name == "plain"
    data = {**form, "dialect": "minimax_anthropic"}
    page = signed_in.post("/endpoints/new/try/", data, headers={"HX-Request": "true"})
    assert_contains(page, "does not fit the provider")
    assert_not_contains(page, "It works")


def test_a_file_sets_both_and_its_export_changes_nothing() -> None:
    """The plan says that a new profile begins."""
    make_endpoint()
    text = f"{STEADY}    dialect: plain\n    chat_template_hash: {A.upper()}\n"

    (step,) = make_plan(text).changing
    assert [(each.name, each.new) for each in step.changes] == [
        ("dialect", "plain"),
        ("chat_template_hash", A),
    ]
    assert Effect.NEW_PROFILE in step.effects
    apply_file(text)

    endpoint = Endpoint.objects.get()
    assert (endpoint.dialect, endpoint.chat_template_hash) == ("plain", A)
    exported = file_writer.export_endpoints(None)
    assert "    dialect: plain\n" in exported
    assert make_plan(exported).changing == []
    # A file without them is complete: both are gone again.
    assert Effect.NEW_PROFILE in make_plan(STEADY).changing[0].effects


def test_a_declared_template_opens_a_profile_until_the_endpoint_shows_one() -> None:
    """Then the shown one is the key, and declarations change nothing."""
    endpoint = make_endpoint()
    assert change(endpoint, chat_template_hash=A).new_epoch
    assert change(endpoint, chat_template_hash=B).new_epoch
    assert change(endpoint, chat_template_hash=A).new_epoch
    assert templates(endpoint) == [(1, "", ""), (2, "a", "open"), (3, "b", "open")]
    assert endpoint.profile.epoch == 2

    assert report_template(A)

    assert templates(endpoint)[1] == (2, "a", "confirmed")
    assert not change(endpoint, chat_template_hash=B).new_epoch
    assert not change(endpoint, chat_template_hash="").new_epoch


def test_a_declaration_that_is_taken_back_leaves_the_template_unknown() -> None:
    """The profile of the declared template does not stand for the unknown one."""
    endpoint = make_endpoint(chat_template_hash=A)

    assert change(endpoint, chat_template_hash="").new_epoch

    assert templates(endpoint) == [(1, "a", "open"), (2, "", "")]


def test_a_shown_template_wins_over_a_declared_one(signed_in: Client) -> None:
    """Before the first verdict nothing was measured under the declared one; the page tells it."""
    endpoint = make_endpoint(chat_template_hash=A)
    assert_contains(signed_in.get(endpoint.get_absolute_url()), "(declared)")

    assert report_template(B)

    assert templates(endpoint) == [(1, "b", "")]
    page = signed_in.get(endpoint.get_absolute_url())
    assert_contains(page, "The endpoint shows another template than the declared one")
    assert not change(endpoint, max_concurrency=7).new_epoch


def test_a_template_shown_after_a_verdict_is_another_profile() -> None:
    """What was measured under the declaration stays as history."""
    endpoint = make_ready_endpoint("full", chat_template_hash=A)

    assert not report_template(B)

    assert templates(endpoint) == [(1, "a", "open"), (2, "b", "")]
    assert policy_body(endpoint)["candidate"]["changed_by"] == "vendor"


def test_another_declared_template_is_conservative_at_once() -> None:
    """Callers already talk to it: no older target is left to stay in force."""
    endpoint = make_ready_endpoint("full", chat_template_hash=A)

    change(endpoint, chat_template_hash=B)

    body = policy_body(endpoint)
    assert body["candidate"]["changed_by"] == "operator"
    assert body["risk"]["allowed"] == ["read"]
    assert any("Another chat template was declared" in reason for reason in body["reasons"])


def test_the_policy_falls_back_on_the_chosen_dialect() -> None:
    """The rule of an unmeasured endpoint is that of the dialect it is asked in."""
    own = make_endpoint(slug="own", provider="deepseek")
    chosen = make_endpoint(slug="chosen", provider="deepseek", dialect="deepseek_v32")

    assert policy_body(own)["replay"]["rule"] == "all_turns"
    assert policy_body(chosen)["replay"]["rule"] == "same_turn"
    assert json.dumps(policy_body(chosen)["target"]).count("deepseek_v32") == 1


def test_the_page_suggests_a_dialect_and_switches_nothing(signed_in: Client) -> None:
    """An operator decides; once it is chosen, the suggestion is gone."""
    endpoint = make_endpoint(provider="deepseek")
    measured = {"value": "required_same_turn", "trials": 2, "agree": 2}
    endpoint.profiles.update(capabilities={"reasoning_replay": measured})

    page = signed_in.get(endpoint.get_absolute_url())
    assert_contains(page, "Suggested dialect")
    assert_contains(page, "deepseek_v32")
    assert endpoint.profile.dialect == ""

    change(endpoint, dialect="deepseek_v32")
    assert_not_contains(signed_in.get(endpoint.get_absolute_url()), "Suggested dialect")


def test_try_it_names_the_dialect_that_a_refusal_asks_for(
    signed_in: Client, vendor_url: str
) -> None:
    """The chosen dialect then works."""
    form = {"provider": "openai", "base_url": f"{vendor_url}/with/endpoint-mismatch/open/v1"}
    form |= {"model": "sim-steady", "key": "", "options": "{}"}

    def try_out(dialect: str) -> Any:
        data = {**form, "dialect": dialect}
        return signed_in.post("/endpoints/new/try/", data, headers={"HX-Request": "true"})

    assert_contains(try_out(""), "Choose the dialect openai_reasoning")
    assert_contains(try_out("openai_reasoning"), "It works")
