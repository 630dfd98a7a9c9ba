"""Calls that begin to leak as text: the worst of them must not pass for a text format."""

from __future__ import annotations

from django.contrib.auth.models import User

from dashboard.demo.player import SimulatedRun
from dashboard.demo.services import history
from dashboard.models import Endpoint, RunMetric, Watch
from dashboard.trust import detection
from probes.fingerprint import EngineFacts
from probes.outcomes import Attempt, Metric, Verdict
from tests.dashboard.runs.builders import attempt
from tests.dashboard.trust.builders import BEGAN, EVERY, PARSE, the_incident


def test_a_run_in_which_every_call_leaks_is_a_failure_where_calls_came_on_the_wire(
    endpoint: Endpoint,
) -> None:
    """Ten leaks in ten are worse than five, not an endpoint that speaks another format."""
    past = _Calls(endpoint)
    past.runs(20, "openai")

    past.runs(2, "hermes")

    assert _parsed(endpoint)[-2:] == [(10, 10), (10, 10)]
    assert the_incident(endpoint.profile).severity == 3


def test_an_endpoint_whose_calls_came_as_text_from_the_start_does_well_with_it(
    endpoint: Endpoint,
) -> None:
    """A caller who knows the format can read every call, and one on the wire as well."""
    past = _Calls(endpoint)

    past.runs(3, "hermes")
    past.runs(2, "openai")
    past.runs(1, "qwen_xml")

    assert endpoint.profile.text_format == "hermes"
    assert [failures for _, failures in _parsed(endpoint)] == [0, 0, 0, 0, 0, 10]


def test_a_leak_that_was_accepted_as_normal_counts_as_success_from_then_on(
    endpoint: Endpoint, ann: User
) -> None:
    """The baseline begins anew: runs that were judged by the wire say nothing about it."""
    past = _Calls(endpoint)
    past.runs(20, "openai")
    past.runs(4, "hermes")
    profile = endpoint.profile

    detection.accept_baseline(profile, PARSE, by=ann, note="The relay has no parser any more.")
    past.runs(1, "hermes")

    assert Watch.objects.state_of(profile).gauge(PARSE).baseline.successes == 10
    assert _parsed(endpoint)[-1] == (10, 0)


class _Calls:
    """Runs whose ten calls come in a format: the wire's, or one of text."""

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
    said = Verdict(PARSE, good=on_wire, parser="" if on_wire else form)
    made = (Verdict(Metric.AVAILABILITY, good=True), said)
    return attempt(trial, verdicts=made, facts={"formats": [form]})


def _parsed(endpoint: Endpoint) -> list[tuple[int, int]]:
    """Trials and failures of each run."""
    rows = RunMetric.objects.of(endpoint).filter(metric="parse_success").order_by("run_id")
    return list(rows.values_list("trials", "failures"))
