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
from tests.dashboard.policy.builders import current, effective, let_pass, resolve, trusted
from tests.dashboard.runs.builders import attempt, carry_through
from tests.factories import make_endpoint

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


def test_an_endpoint_has_a_policy_from_the_beginning() -> None:
    """Before anything was measured it says: no tools."""
    endpoint = make_endpoint()

    policy = current(endpoint)

    assert policy.body["tool_call"]["format"] == "none"
    assert policy.body["profile"]["epoch"] == 1
    assert PolicyVersion.objects.get().version == policy.version


def test_resolving_again_changes_nothing() -> None:
    """A version is a change: whoever polls is not woken for nothing."""
    endpoint = trusted()
    before = current(endpoint).version

    resolve(endpoint)
    policy_renewal.renew_outdated()

    assert current(endpoint).version == before
    assert PolicyVersion.objects.count() == 2


def test_another_run_with_the_same_answers_is_no_new_version() -> None:
    """Nothing in a policy changes with every run."""
    made = [attempt(trial, Outcome.FAIL if trial == 2 else Outcome.PASS) for trial in (1, 2, 3)]
    endpoint = make_endpoint()
    carry_through(*made)
    before = current(endpoint)

    carry_through(*made)

    after = current(endpoint)
    assert after.version == before.version
    assert after.good_until != before.good_until


def test_reading_a_good_policy_is_one_statement() -> None:
    """Whoever asks every second must not cost more than a row."""
    endpoint = trusted()

    with CaptureQueriesContext(
        connection,
    ) as sent:
        current(endpoint)

    assert len(sent) == 1


def test_a_mode_is_in_the_policy_within_its_own_transaction() -> None:
    """Either both are there or neither."""
    endpoint = trusted()
    before = current(endpoint).version

    with transaction.atomic():
        modes.switch_on(endpoint.profile, Mode.NO_PARALLEL, by=None, reason="trying")
        assert effective(endpoint) == ["no_parallel"]
        assert current(endpoint).version > before
        transaction.set_rollback(True)

    assert effective(endpoint) == []
    assert current(endpoint).version == before


def test_switching_off_is_a_further_version() -> None:
    """The version never goes back, also where the answer does."""
    endpoint = trusted()
    alice = User.objects.create_user("alice")
    switch = modes.switch_on(endpoint.profile, Mode.NO_TOOLS, by=alice, reason="trying")
    on = current(endpoint)

    modes.switch_off(switch, by=alice, reason="tried")

    assert on.body["modes"]["manual"][0]["author"] == "alice"
    assert effective(endpoint) == []
    assert current(endpoint).version > on.version


def test_a_mode_runs_out_by_the_database_s_clock() -> None:
    """Nobody has to do anything but ask."""
    endpoint = trusted()
    modes.switch_on(endpoint.profile, Mode.NO_TOOLS, by=None, reason="trying", lasts=HOUR)
    before = current(endpoint)

    let_pass(2 * HOUR)

    after = current(endpoint)
    assert (before.body["risk"]["allowed"], effective(endpoint)) == ([], [])
    assert after.version > before.version
    assert ModeSwitch.objects.get().off_at is not None


def test_the_sweep_ends_what_nobody_asks_for() -> None:
    """Listeners hear of it too."""
    endpoint = trusted()
    modes.switch_on(endpoint.profile, Mode.NO_TOOLS, by=None, reason="trying", lasts=HOUR)
    let_pass(2 * HOUR)

    policy_renewal.renew_outdated()

    assert Policy.objects.get().body["modes"]["effective"] == []


def test_a_policy_is_good_until_the_first_thing_that_ends() -> None:
    """The mode before the profile, and neither where nothing is left to end."""
    endpoint = trusted()
    stale_at = current(endpoint).good_until
    modes.switch_on(endpoint.profile, Mode.NO_TOOLS, by=None, reason="trying", lasts=HOUR)
    runs_out_at = current(endpoint).good_until

    assert stale_at
    assert runs_out_at
    assert runs_out_at < stale_at
    measured_at = endpoint.profile.verified_at
    assert measured_at
    assert stale_at == measured_at + 2 * endpoint.ttl
    let_pass(14 * HOUR)
    assert current(endpoint).good_until is None


def test_a_profile_that_nobody_measured_lately_gets_the_conservative_default() -> None:
    """After twice its time to live, by the clock of the database, with a new version once."""
    endpoint = trusted()
    before = current(endpoint).version

    let_pass(13 * HOUR)

    stale = current(endpoint)
    assert stale.body["stale"] is True
    assert set(effective(endpoint)) == {mode.value for mode in CONSERVATIVE}
    assert stale.body["risk"]["allowed"] == ["read"]
    assert stale.version > before
    assert current(endpoint).version == stale.version


def test_a_shorter_time_to_live_makes_a_profile_stale_at_once() -> None:
    """Editing an endpoint resolves its policy."""
    endpoint = trusted()
    let_pass(2 * HOUR)

    endpoints.update(endpoint, key=None, forget_key=False, ttl=timedelta(minutes=30))

    assert current(endpoint).body["stale"] is True


def test_another_key_starts_from_nothing() -> None:
    """Where callers had no tools: what was known and switched on belongs to the old profile."""
    endpoint = trusted()
    Profile.objects.update(stage="shadow")
    modes.switch_on(endpoint.profile, Mode.NO_PARALLEL, by=None, reason="trying")
    before = current(endpoint).version

    endpoints.update(endpoint, key=None, forget_key=False, model="m-2")

    policy = current(endpoint)
    assert (policy.body["profile"]["model"], policy.body["profile"]["epoch"]) == ("m-2", 2)
    assert policy.body["stage"] == "shadow"
    assert policy.body["modes"]["manual"] == []
    assert policy.version > before


def test_the_version_grows_when_a_name_is_given_again() -> None:
    """A caller that knows version N of a name never sees a smaller one."""
    endpoint = trusted()
    before = current(endpoint).version

    endpoints.remove(endpoint)
    gone = current_policy(endpoint.slug)
    again = make_endpoint(slug=endpoint.slug)

    assert gone is None
    assert current(again).version > before


def test_a_missing_policy_is_resolved_when_it_is_wanted() -> None:
    """An endpoint from before there were policies is like any other."""
    endpoint = trusted()
    Policy.objects.all().delete()

    assert current(endpoint).body["stage"] == "full"


def test_a_rule_reaches_every_endpoint() -> None:
    """One edit, and no policy is left with the old rules."""
    fleet = [trusted(slug=f"e-{number}") for number in range(3)]
    before = [current(endpoint).version for endpoint in fleet]

    rule = tool_rules.add_rule(pattern="deploy_*", risk=Risk.WRITE, by=None)

    after = [current(endpoint) for endpoint in fleet]
    assert [p.body["risk"]["rules"] for p in after] == [
        [{"pattern": "deploy_*", "risk": "write"}]
    ] * 3
    assert all(p.version > version for p, version in zip(after, before, strict=True))
    tool_rules.remove_rule(rule)
    assert current(fleet[0]).body["risk"]["rules"] == []


def test_nobody_reads_old_rules_while_the_fleet_is_resolved_anew() -> None:
    """Between an edit and its last policy a reader resolves for itself."""
    endpoint = trusted()
    stored = Policy.objects.get(endpoint=endpoint).version

    with transaction.atomic():
        policies.outdate_all()
        ToolRule.objects.create(pattern="a", risk="read", position=1)

    assert Policy.objects.get(endpoint=endpoint).version == stored
    assert current(endpoint).body["risk"]["rules"] == [{"pattern": "a", "risk": "read"}]


def test_the_stored_answer_is_found_by_its_indexes() -> None:
    """However many endpoints there are, asking for one reads its rows and no others."""
    with connection.cursor() as cursor:
        cursor.execute(_FIVE_THOUSAND)
        cursor.execute("ANALYZE dashboard_endpoint, dashboard_policy")
    with CaptureQueriesContext(connection) as sent:
        assert current_policy("many-77") is not None

    (statement,) = [query["sql"] for query in sent]
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
