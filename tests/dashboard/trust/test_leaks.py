"""Calls that start to leak as text: a complete leak must not count as a text format."""

from __future__ import annotations

from django.contrib.auth.models import User

from dashboard.demo.player import SimulatedRun
from dashboard.demo.services import history
from dashboard.models import Endpoint, RunMetric, Watch
from dashboard.trust import detection
from probes.fingerprint import EngineFacts
from probes.outcomes import Attempt, Metric, Verdict
from tests.dashboard.runs.builders import build_attempt
from tests.dashboard.trust.builders import BEGAN, EVERY, PARSE, the_incident


def test_a_run_in_which_every_call_leaks_is_a_failure_where_calls_came_on_the_wire(
    endpoint: Endpoint,
) -> None:
    """Ten leaks in ten are worse than five, and not another format."""
    past = _CallRuns(endpoint)
    past.runs(20, "openai")

    past.runs(2, "hermes")

    assert _parse_counts(endpoint)[-2:] == [(10, 10), (10, 10)]
    assert the_incident(endpoint.profile).severity == 3


def test_calls_that_came_as_text_from_the_start_are_no_failures(
    endpoint: Endpoint,
) -> None:
    """A caller that knows the format can parse every call, and calls on the wire as well."""
    past = _CallRuns(endpoint)

    past.runs(3, "hermes")
    past.runs(2, "openai")
    past.runs(1, "qwen_xml")

    assert endpoint.profile.text_format == "hermes"
    assert [failures for _, failures in _parse_counts(endpoint)] == [0, 0, 0, 0, 0, 10]


def test_a_leak_that_was_accepted_as_normal_counts_as_success_from_then_on(
    endpoint: Endpoint, ann: User
) -> None:
    """The baseline starts over: runs judged by the wire format say nothing about it."""
    past = _CallRuns(endpoint)
    past.runs(20, "openai")
    past.runs(4, "hermes")
    profile = endpoint.profile

    detection.accept_baseline(profile, PARSE, by=ann, note="The relay has no parser any more.")
    past.runs(1, "hermes")

    assert Watch.objects.state_of(profile).gauge(PARSE).baseline.successes == 10
    assert _parse_counts(endpoint)[-1] == (10, 0)


class _CallRuns:
    """Makes runs of ten calls in a format: that of the wire, or a text format."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint, self.at = endpoint, BEGAN

    def runs(self, times: int, form: str) -> None:
        for _ in range(times):
            self.at += EVERY
            run = SimulatedRun(
                slug=self.endpoint.slug,
                at=self.at,
                trigger="ttl",
                suite="light",
                seed=1,
                engine=EngineFacts("", {}),
                attempts=tuple(_call(form, trial) for trial in range(1, 11)),
                every=EVERY,
            )
            history.store_simulated_run(self.endpoint, run)


def _call(form: str, trial: int) -> Attempt:
    on_wire = form == "openai"
    parsed = Verdict(PARSE, good=on_wire, parser="" if on_wire else form)
    verdicts = (Verdict(Metric.AVAILABILITY, good=True), parsed)
    return build_attempt(trial, verdicts=verdicts, facts={"formats": [form]})


def _parse_counts(endpoint: Endpoint) -> list[tuple[int, int]]:
    """Trials and failures of each run."""
    rows = RunMetric.objects.of(endpoint).filter(metric="parse_success").order_by("run_id")
    return list(rows.values_list("trials", "failures"))
