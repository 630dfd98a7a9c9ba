"""One profile per key: epochs, facts that the endpoint reports, and measured capabilities."""

from __future__ import annotations

import pytest

from dashboard.core.errors import LeaseLost
from dashboard.models import Endpoint, FingerprintChange, Profile, Run, RunMetric
from dashboard.runs import attempts, schedule
from dashboard.runs import services as runs
from dashboard.trust import finish as results
from dashboard.trust import profiles
from probes.fingerprint import EngineFacts
from probes.outcomes import Attempt, Metric, Outcome, Verdict
from tests.dashboard.runs.builders import (
    build_attempt,
    complete_run,
    expire_lease,
    make_endpoints_due,
    read_stored_verdicts,
    start_next_run,
)

REPORTED = EngineFacts("a" * 64, {"engine": "b100", "model": "m-1"})


def begin_run(engine: EngineFacts = REPORTED) -> runs.Lease:
    """Start a run and record the facts of its engine."""
    make_endpoints_due()
    schedule.schedule_due()
    lease = start_next_run()
    profiles.record_engine_facts(lease, engine)
    return lease


def finish_run(lease: runs.Lease) -> Run:
    attempts.record_attempt(lease, build_attempt())
    results.finish_run(lease)
    return Run.objects.get(pk=lease.run_id)


def test_a_new_profile_is_in_shadow(endpoint: Endpoint) -> None:
    """An endpoint is not trusted before it was measured."""
    assert endpoint.profile.stage == "shadow"


def test_the_first_reported_template_becomes_part_of_the_key(endpoint: Endpoint) -> None:
    """It was unknown before, so the profile stays the same."""
    before = bytes(endpoint.profile.key_hash)

    finish_run(begin_run())

    assert endpoint.profile.epoch == 1
    assert endpoint.profile.chat_template_hash == "a" * 64
    assert bytes(endpoint.profile.key_hash) != before


def test_another_template_opens_a_new_profile_and_supersedes_the_run(endpoint: Endpoint) -> None:
    """Results of the run would belong to the new key; the old history stays readable."""
    finish_run(begin_run())

    lease = begin_run(EngineFacts("b" * 64, REPORTED.facts))
    with pytest.raises(LeaseLost):
        attempts.record_attempt(lease, build_attempt())
    schedule.schedule_due()

    run = Run.objects.get(pk=lease.run_id)
    old, new = Profile.objects.order_by("epoch")
    assert (run.state, run.reason) == ("abandoned", "superseded by a changed profile key")
    assert (new.epoch, new.chat_template_hash, new.stage) == (2, "b" * 64, "shadow")
    assert old.ended_at is not None
    assert old.metrics.count() > 0
    waiting = Run.objects.get(state="queued")
    assert (waiting.trigger, waiting.suite, waiting.key_epoch) == ("key_change", "full", 2)


def test_a_template_that_comes_back_resumes_its_profile(endpoint: Endpoint) -> None:
    """A host that serves two templates in turn has two profiles, not one per change."""
    finish_run(begin_run())
    for template in ("b", "a", "b"):
        begin_run(EngineFacts(template * 64, REPORTED.facts))
        Endpoint.objects.update(fruitless=0)

    assert endpoint.profiles.count() == 2
    assert (endpoint.profile.epoch, endpoint.profile.chat_template_hash) == (2, "b" * 64)


def test_a_template_that_is_no_longer_reported_is_no_change(endpoint: Endpoint) -> None:
    """An engine that omits its template for a while keeps its profile."""
    finish_run(begin_run())
    finish_run(begin_run(EngineFacts("", {"engine": "b100"})))

    assert endpoint.profile.epoch == 1
    assert endpoint.profile.chat_template_hash == "a" * 64


def test_an_edit_of_other_fields_keeps_a_reported_template(endpoint: Endpoint) -> None:
    """The template is part of the key that an edit compares."""
    from tests.dashboard.endpoints.test_services import change

    finish_run(begin_run())
    endpoint.refresh_from_db()

    assert not change(endpoint, max_concurrency=7).new_epoch


def test_a_new_engine_is_annotated_and_triggers_a_full_run(endpoint: Endpoint) -> None:
    """Another version under the same key may explain a change, so a full run follows."""
    finish_run(begin_run())

    run = finish_run(begin_run(EngineFacts("a" * 64, {"engine": "b200", "model": "m-1"})))
    schedule.schedule_due()

    change = FingerprintChange.objects.get()
    assert (change.fact, change.before, change.after) == ("engine", "b100", "b200")
    assert run.suite == "light"
    follow_up = Run.objects.get(state="queued")
    assert (follow_up.trigger, follow_up.suite) == ("fingerprint", "full")


def test_a_fact_that_was_not_reported_before_is_a_change_too(endpoint: Endpoint) -> None:
    """An engine that starts to name itself was replaced, or its proxy was."""
    finish_run(begin_run(EngineFacts("", {"server": "nginx"})))

    finish_run(begin_run(EngineFacts("", {"server": "nginx", "engine": "b100"})))

    change = FingerprintChange.objects.get()
    assert (change.fact, change.before, change.after) == ("engine", "", "b100")


def test_an_engine_that_was_seen_before_is_no_change(endpoint: Endpoint) -> None:
    """A pool of two versions is one change, not one per run."""
    for version in ("b100", "b200", "b100", "b200"):
        finish_run(begin_run(EngineFacts("", {"engine": version})))

    assert FingerprintChange.objects.count() == 1


def test_a_fact_with_ever_new_values_stops_being_a_change(endpoint: Endpoint) -> None:
    """A build number that always differs must not trigger a full run every time."""
    for version in range(15):
        finish_run(begin_run(EngineFacts("", {"engine": f"b{version}"})))

    assert FingerprintChange.objects.count() == 9


def test_a_fact_in_the_responses_counts_as_well(endpoint: Endpoint) -> None:
    """The model that a response names is part of the fingerprint."""
    complete_run(build_attempt(1, fingerprint={"model": "m-1"}))
    complete_run(build_attempt(1, fingerprint={"model": "m-1-quantised"}))

    assert FingerprintChange.objects.get().after == "m-1-quantised"
    assert endpoint.profile.fingerprint["model"] == "m-1-quantised"


def test_a_worker_without_the_lease_cannot_change_the_profile(endpoint: Endpoint) -> None:
    """Facts that a zombie worker read open no epoch."""
    finish_run(begin_run())
    make_endpoints_due()
    schedule.schedule_due()
    lease = start_next_run()
    expire_lease(lease)

    with pytest.raises(LeaseLost):
        profiles.record_engine_facts(lease, EngineFacts("b" * 64, {}))

    assert endpoint.profile.epoch == 1


def test_a_finished_run_stores_capabilities_with_their_evidence(endpoint: Endpoint) -> None:
    """Each has its value, its sample, and the run and attempts that show it."""
    run = complete_run(*(build_attempt(n, facts={"formats": ["openai"]}) for n in range(1, 5)))

    profile = endpoint.profile
    field = profile.capabilities["tool_call_format"]
    assert (field["value"], field["trials"], field["run"]) == ("openai", 4, run.pk)
    assert field["evidence"][0] == "format/1"
    assert (profile.probe_version, profile.verified_at) == ("tool-probe-v2", run.finished_at)


def test_a_light_run_keeps_capabilities_that_only_a_full_run_measures(endpoint: Endpoint) -> None:
    """A capability that was not tried keeps its value and its run."""
    full = complete_run(
        build_attempt(1, facts={"formats": ["openai"]}),
        build_attempt(1, probe="parallel_mixed", facts={"calls": 2}),
    )
    before = endpoint.profile.capabilities["supports_parallel_tool_use"]
    assert before["run"] == full.pk

    light = complete_run(build_attempt(1, facts={"formats": ["openai"]}))

    capabilities = endpoint.profile.capabilities
    assert capabilities["supports_parallel_tool_use"] == before
    assert capabilities["tool_call_format"]["run"] == light.pk


def schema_attempts(**fits: bool | None) -> list[Attempt]:
    """One attempt of each schema probe, beside a call that arrives."""
    facts = {probe: {"fits": value, "simplified": value} for probe, value in fits.items()}
    asked = [build_attempt(1, probe=probe, facts=each) for probe, each in facts.items()]
    return [build_attempt(1, facts={"formats": ["openai"]}), *asked]


@pytest.mark.parametrize(
    "light",
    [
        # Only the full suite asks for references.
        {"schema_types": True, "schema_nested": True},
        # The nested question got no answer.
        {"schema_types": True, "schema_nested": None},
    ],
)
def test_a_light_run_leaves_a_schema_level_that_it_cannot_measure(
    endpoint: Endpoint, light: dict[str, bool | None]
) -> None:
    """Otherwise callers would send references again after every light run."""
    complete_run(*schema_attempts(schema_types=True, schema_nested=True, schema_ref=False))
    before = endpoint.profile.capabilities["schema_level"]
    assert before["value"] == "simple_object"

    complete_run(*schema_attempts(**light))

    assert endpoint.profile.capabilities["schema_level"] == before


def test_calls_that_always_come_as_text_count_as_parsed(endpoint: Endpoint) -> None:
    """The profile adopts the parser; a leak is a failure only where calls come on the wire."""
    leaked = (Verdict(Metric.PARSE_SUCCESS, good=False, parser="hermes"),)
    run = complete_run(
        *(
            build_attempt(n, Outcome.FAIL, verdicts=leaked, facts={"formats": ["hermes"]})
            for n in range(1, 4)
        )
    )

    figure = RunMetric.objects.get(run=run, metric="parse_success")
    assert endpoint.profile.capabilities["parser"]["value"] == "hermes"
    assert (figure.trials, figure.failures) == (3, 0)
    assert [verdict.good for verdict in read_stored_verdicts()] == [True, True, True]
