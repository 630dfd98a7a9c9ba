from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from dashboard.endpoints.services import endpoints
from dashboard.models import Endpoint, ModeSwitch, Policy, PolicyVersion, Profile, ToolRule
from dashboard.trust import modes, policies, policy_renewal, tool_rules
from dashboard.trust.policy_renewal import current_policy
from health.modes import CONSERVATIVE, Mode
from health.risk import Risk
from probes.outcomes import Outcome
from tests.dashboard.policy.builders import (
    effective_modes,
    make_trusted_endpoint,
    move_into_past,
    read_policy,
    resolve_policy,
)
from tests.dashboard.runs.builders import build_attempt, complete_run
from tests.factories import make_endpoint

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


def test_a_new_endpoint_has_a_policy() -> None:
    """Before anything was measured it allows no tools."""
    endpoint = make_endpoint()

    policy = read_policy(endpoint)

    assert policy.body["tool_call"]["format"] == "none"
    assert policy.body["profile"]["epoch"] == 1
    assert PolicyVersion.objects.get().version == policy.version


def test_resolving_again_changes_nothing() -> None:
    """A version means a change, so clients that poll see none without one."""
    endpoint = make_trusted_endpoint()
    before = read_policy(endpoint).version

    resolve_policy(endpoint)
    policy_renewal.renew_outdated()

    assert read_policy(endpoint).version == before
    assert PolicyVersion.objects.count() == 2


def test_another_run_with_the_same_answers_is_no_new_version() -> None:
    """No part of a policy changes with every run."""
    attempts = [
        build_attempt(trial, Outcome.FAIL if trial == 2 else Outcome.PASS) for trial in (1, 2, 3)
    ]
    endpoint = make_endpoint()
    complete_run(*attempts)
    before = read_policy(endpoint)

    complete_run(*attempts)

    after = read_policy(endpoint)
    assert after.version == before.version
    assert after.good_until != before.good_until


def test_reading_a_good_policy_is_one_statement() -> None:
    """A client that polls every second must not cost more than one row."""
    endpoint = make_trusted_endpoint()

    with CaptureQueriesContext(connection) as queries:
        read_policy(endpoint)

    assert len(queries) == 1


def test_a_mode_is_in_the_policy_within_its_own_transaction() -> None:
    """Both are committed, or neither is."""
    endpoint = make_trusted_endpoint()
    before = read_policy(endpoint).version

    with transaction.atomic():
        modes.switch_on(endpoint.profile, Mode.NO_PARALLEL, by=None, reason="trying")
        assert effective_modes(endpoint) == ["no_parallel"]
        assert read_policy(endpoint).version > before
        transaction.set_rollback(True)

    assert effective_modes(endpoint) == []
    assert read_policy(endpoint).version == before


def test_switching_off_is_a_new_version() -> None:
    """The version grows even if the policy is the same as before."""
    endpoint = make_trusted_endpoint()
    alice = User.objects.create_user("alice")
    switch = modes.switch_on(endpoint.profile, Mode.NO_TOOLS, by=alice, reason="trying")
    on = read_policy(endpoint)

    modes.switch_off(switch, by=alice, reason="tried")

    assert on.body["modes"]["manual"][0]["author"] == "alice"
    assert effective_modes(endpoint) == []
    assert read_policy(endpoint).version > on.version


def test_a_mode_expires_by_the_database_s_clock() -> None:
    """Reading the policy is enough."""
    endpoint = make_trusted_endpoint()
    modes.switch_on(endpoint.profile, Mode.NO_TOOLS, by=None, reason="trying", lasts=HOUR)
    before = read_policy(endpoint)

    move_into_past(2 * HOUR)

    after = read_policy(endpoint)
    assert (before.body["risk"]["allowed"], effective_modes(endpoint)) == ([], [])
    assert after.version > before.version
    assert ModeSwitch.objects.get().off_at is not None


def test_the_sweep_expires_modes_of_policies_that_are_not_read() -> None:
    """Listeners are notified too."""
    endpoint = make_trusted_endpoint()
    modes.switch_on(endpoint.profile, Mode.NO_TOOLS, by=None, reason="trying", lasts=HOUR)
    move_into_past(2 * HOUR)

    policy_renewal.renew_outdated()

    assert Policy.objects.get().body["modes"]["effective"] == []


def test_a_policy_is_good_until_the_first_expiry() -> None:
    """The mode expires before the profile is stale; after both there is no end."""
    endpoint = make_trusted_endpoint()
    stale_at = read_policy(endpoint).good_until
    modes.switch_on(endpoint.profile, Mode.NO_TOOLS, by=None, reason="trying", lasts=HOUR)
    runs_out_at = read_policy(endpoint).good_until

    assert stale_at
    assert runs_out_at
    assert runs_out_at < stale_at
    measured_at = endpoint.profile.verified_at
    assert measured_at
    assert stale_at == measured_at + 2 * endpoint.ttl
    move_into_past(14 * HOUR)
    assert read_policy(endpoint).good_until is None


def test_a_stale_profile_gets_the_conservative_default() -> None:
    """It is stale after twice its TTL, by the database's clock, and gets one new version."""
    endpoint = make_trusted_endpoint()
    before = read_policy(endpoint).version

    move_into_past(13 * HOUR)

    stale = read_policy(endpoint)
    assert stale.body["stale"] is True
    assert set(effective_modes(endpoint)) == {mode.value for mode in CONSERVATIVE}
    assert stale.body["risk"]["allowed"] == ["read"]
    assert stale.version > before
    assert read_policy(endpoint).version == stale.version


def test_a_shorter_ttl_makes_a_profile_stale_at_once() -> None:
    """Editing an endpoint resolves its policy."""
    endpoint = make_trusted_endpoint()
    move_into_past(2 * HOUR)

    endpoints.update(endpoint, key=None, forget_key=False, ttl=timedelta(minutes=30))

    assert read_policy(endpoint).body["stale"] is True


def test_another_key_starts_without_modes_and_capabilities() -> None:
    """If callers had no tools, modes and capabilities stay with the old profile."""
    endpoint = make_trusted_endpoint()
    Profile.objects.update(stage="shadow")
    modes.switch_on(endpoint.profile, Mode.NO_PARALLEL, by=None, reason="trying")
    before = read_policy(endpoint).version

    endpoints.update(endpoint, key=None, forget_key=False, model="m-2")

    policy = read_policy(endpoint)
    assert (policy.body["profile"]["model"], policy.body["profile"]["epoch"]) == ("m-2", 2)
    assert policy.body["stage"] == "shadow"
    assert policy.body["modes"]["manual"] == []
    assert policy.version > before


def test_the_version_grows_when_a_slug_is_reused() -> None:
    """A caller that knows version N of a slug never sees a smaller one."""
    endpoint = make_trusted_endpoint()
    before = read_policy(endpoint).version

    endpoints.remove(endpoint)
    gone = current_policy(endpoint.slug)
    again = make_endpoint(slug=endpoint.slug)

    assert gone is None
    assert read_policy(again).version > before


def test_a_missing_policy_is_resolved_when_it_is_read() -> None:
    """An endpoint that is older than policies works like any other."""
    endpoint = make_trusted_endpoint()
    Policy.objects.all().delete()

    assert read_policy(endpoint).body["stage"] == "full"


def test_a_rule_reaches_every_endpoint() -> None:
    """After one edit no policy has the old rules."""
    fleet = [make_trusted_endpoint(slug=f"e-{number}") for number in range(3)]
    before = [read_policy(endpoint).version for endpoint in fleet]

    rule = tool_rules.add_rule(pattern="deploy_*", risk=Risk.WRITE, by=None)

    after = [read_policy(endpoint) for endpoint in fleet]
    assert [p.body["risk"]["rules"] for p in after] == [
        [{"pattern": "deploy_*", "risk": "write"}]
    ] * 3
    assert all(p.version > version for p, version in zip(after, before, strict=True))
    tool_rules.remove_rule(rule)
    assert read_policy(fleet[0]).body["risk"]["rules"] == []


def test_old_rules_are_not_read_while_the_fleet_is_resolved() -> None:
    """Reading a policy that the edit has not reached yet resolves it."""
    endpoint = make_trusted_endpoint()
    stored = Policy.objects.get(endpoint=endpoint).version

    with transaction.atomic():
        policies.outdate_all()
        ToolRule.objects.create(pattern="a", risk="read", position=1)

    assert Policy.objects.get(endpoint=endpoint).version == stored
    assert read_policy(endpoint).body["risk"]["rules"] == [{"pattern": "a", "risk": "read"}]


def test_a_stored_policy_is_read_by_indexes() -> None:
    """Reading one policy reads its rows and no others, however many endpoints there are."""
    with connection.cursor() as cursor:
        cursor.execute(_FIVE_THOUSAND)
        cursor.execute("ANALYZE dashboard_endpoint, dashboard_policy")
    with CaptureQueriesContext(connection) as queries:
        assert current_policy("many-77") is not None

    (statement,) = [query["sql"] for query in queries]
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {statement}")
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert plan.count("Index Scan") == 2
    assert "Seq Scan" not in plan
    assert Endpoint.objects.count() == 5000


_FIVE_THOUSAND = """
WITH made AS (
    INSERT INTO dashboard_endpoint (slug, provider, base_url, model, options, ttl,
        max_concurrency, enabled, fruitless, onboarding_left)
    SELECT 'many-' || n, 'openai', 'http://127.0.0.1:9/v1', 'm', '{}', '6 hours', 2, true, 0, 0
    FROM generate_series(1, 5000) AS n RETURNING id)
INSERT INTO dashboard_policy (endpoint_id, version, body)
SELECT id, nextval('dashboard_policy_number'), '{}' FROM made
"""
