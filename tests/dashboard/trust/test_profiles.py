"""One profile a key: epochs, what the endpoint tells of itself, what was measured."""

from __future__ import annotations

import pytest

from dashboard.core.errors import LeaseLost
from dashboard.models import Endpoint, FingerprintChange, Profile, Run, RunMetric
from dashboard.runs import attempts, schedule
from dashboard.runs import services as runs
from dashboard.trust import finish as results
from dashboard.trust import profiles
from probes.fingerprint import EngineFacts
from probes.outcomes import Metric, Outcome, Verdict
from tests.dashboard.runs.builders import attempt, carry_through, due_now, expire, observed, started

TOLD = EngineFacts("a" * 64, {"engine": "b100", "model": "m-1"})


def begin(engine: EngineFacts = TOLD) -> runs.Lease:
    """A run that has begun and asked the endpoint what it is."""
    due_now()
    schedule.schedule_due()
    lease = started()
    profiles.record_engine_facts(lease, engine)
    return lease


def finish(lease: runs.Lease) -> Run:
    attempts.record(lease, attempt())
    results.finish_run(lease)
    return Run.objects.get(pk=lease.run_id)


def test_a_new_profile_is_in_shadow(endpoint: Endpoint) -> None:
    """Nothing that was not measured is trusted."""
    assert endpoint.profile.stage == "shadow"


def test_the_first_template_that_is_told_becomes_part_of_the_key(endpoint: Endpoint) -> None:
    """Unknown is not another template: the profile stays."""
    before = bytes(endpoint.profile.key_hash)

    finish(begin())

    assert endpoint.profile.epoch == 1
    assert endpoint.profile.chat_template_hash == "a" * 64
    assert bytes(endpoint.profile.key_hash) != before


def test_another_template_opens_a_new_profile_and_supersedes_the_run(endpoint: Endpoint) -> None:
    """What the run would measure belongs to the new key; the old history stays readable."""
    finish(begin())

    lease = begin(EngineFacts("b" * 64, TOLD.facts))
    with pytest.raises(LeaseLost):
        attempts.record(lease, attempt())
    schedule.schedule_due()

    run = Run.objects.get(pk=lease.run_id)
    old, new = Profile.objects.order_by("epoch")
    assert (run.state, run.reason) == ("abandoned", "superseded by a changed profile key")
    assert (new.epoch, new.chat_template_hash, new.stage) == (2, "b" * 64, "shadow")
    assert old.ended_at is not None
    assert old.metrics.count() > 0
    waiting = Run.objects.get(state="queued")
    assert (waiting.trigger, waiting.suite, waiting.key_epoch) == ("key_change", "full", 2)


def test_a_template_that_is_told_no_longer_is_no_other_template(endpoint: Endpoint) -> None:
    """An engine that hides its template for a while keeps its profile."""
    finish(begin())
    finish(begin(EngineFacts("", {"engine": "b100"})))

    assert endpoint.profile.epoch == 1
    assert endpoint.profile.chat_template_hash == "a" * 64


def test_an_edit_of_the_ttl_keeps_a_template_that_was_told(endpoint: Endpoint) -> None:
    """The key is compared with its template, not without."""
    from tests.dashboard.endpoints.test_services import change

    finish(begin())
    endpoint.refresh_from_db()

    assert not change(endpoint, max_concurrency=7).new_epoch


def test_a_new_engine_is_annotated_and_triggers_a_full_run(endpoint: Endpoint) -> None:
    """Another version under the same key may explain a change, so it is looked at in full."""
    finish(begin())

    run = finish(begin(EngineFacts("a" * 64, {"engine": "b200", "model": "m-1"})))
    schedule.schedule_due()

    change = FingerprintChange.objects.get()
    assert (change.fact, change.before, change.after) == ("engine", "b100", "b200")
    assert run.suite == "light"
    follow_up = Run.objects.get(state="queued")
    assert (follow_up.trigger, follow_up.suite) == ("fingerprint", "full")


def test_a_fact_that_was_not_told_before_is_a_change_too(endpoint: Endpoint) -> None:
    """An engine that begins to name itself is another one, or has another front."""
    finish(begin(EngineFacts("", {"server": "nginx"})))

    finish(begin(EngineFacts("", {"server": "nginx", "engine": "b100"})))

    change = FingerprintChange.objects.get()
    assert (change.fact, change.before, change.after) == ("engine", "", "b100")


def test_an_engine_that_was_seen_before_is_no_change(endpoint: Endpoint) -> None:
    """A pool of two versions is told of once, not at every run."""
    for version in ("b100", "b200", "b100", "b200"):
        finish(begin(EngineFacts("", {"engine": version})))

    assert FingerprintChange.objects.count() == 1


def test_a_fact_with_ever_new_values_stops_being_told(endpoint: Endpoint) -> None:
    """A build number that differs every time must not cost a full run every time."""
    for version in range(15):
        finish(begin(EngineFacts("", {"engine": f"b{version}"})))

    assert FingerprintChange.objects.count() == 9


def test_a_fact_in_the_answers_counts_as_well(endpoint: Endpoint) -> None:
    """The model that an answer names is part of the fingerprint."""
    carry_through(attempt(1, fingerprint={"model": "m-1"}))
    carry_through(attempt(1, fingerprint={"model": "m-1-quantised"}))

    assert FingerprintChange.objects.get().after == "m-1-quantised"
    assert endpoint.profile.fingerprint["model"] == "m-1-quantised"


def test_a_worker_without_the_lease_cannot_change_the_profile(endpoint: Endpoint) -> None:
    """What a zombie read about the engine opens no epoch."""
    finish(begin())
    due_now()
    schedule.schedule_due()
    lease = started()
    expire(lease)

    with pytest.raises(LeaseLost):
        profiles.record_engine_facts(lease, EngineFacts("b" * 64, {}))

    assert endpoint.profile.epoch == 1


def test_a_finished_run_leaves_its_capabilities_with_their_evidence(endpoint: Endpoint) -> None:
    """Each field has its value, its sample, and the run and attempts that show it."""
    run = carry_through(*(attempt(n, facts={"formats": ["openai"]}) for n in range(1, 5)))

    profile = endpoint.profile
    field = profile.capabilities["tool_call_format"]
    assert (field["value"], field["trials"], field["run"]) == ("openai", 4, run.pk)
    assert field["evidence"][0] == "format/1"
    assert (profile.probe_version, profile.verified_at) == ("tool-probe-v1", run.finished_at)


def test_a_light_run_does_not_forget_what_a_full_one_found(endpoint: Endpoint) -> None:
    """A field that was not tried keeps its value and its date."""
    full = carry_through(
        attempt(1, facts={"formats": ["openai"]}),
        attempt(1, probe="parallel_mixed", facts={"calls": 2}),
    )
    before = endpoint.profile.capabilities["supports_parallel_tool_use"]
    assert before["run"] == full.pk

    light = carry_through(attempt(1, facts={"formats": ["openai"]}))

    found = endpoint.profile.capabilities
    assert found["supports_parallel_tool_use"] == before
    assert found["tool_call_format"]["run"] == light.pk


def test_calls_that_always_come_as_text_count_as_read(endpoint: Endpoint) -> None:
    """The profile settles on the parser; a leak is a failure only beside calls on the wire."""
    leaked = (Verdict(Metric.PARSE_SUCCESS, good=False, parser="hermes"),)
    run = carry_through(
        *(
            attempt(n, Outcome.FAIL, verdicts=leaked, facts={"formats": ["hermes"]})
            for n in range(1, 4)
        )
    )

    figure = RunMetric.objects.get(run=run, metric="parse_success")
    assert endpoint.profile.capabilities["parser"]["value"] == "hermes"
    assert (figure.trials, figure.failures) == (3, 0)
    assert [verdict.good for verdict in observed()] == [True, True, True]
