"""The attempts of a run that are compared from run to run."""

from __future__ import annotations

from health.watch_counts import count_refusals, watched_rates
from probes.outcomes import FindingKind, Metric, Outcome, Verdict
from probes.suite import plan_trials
from tests.health.builders import attempt

GOOD, BAD = (Verdict(Metric.PARSE_SUCCESS, good=good) for good in (True, False))


def test_only_probes_of_every_suite_are_compared() -> None:
    """The harder probes of a full run would look like a degradation."""
    both = [attempt("format", verdicts=[GOOD, BAD]), attempt("tag_in_text", verdicts=[BAD] * 9)]

    counts = watched_rates(both, None)

    assert (counts[Metric.PARSE_SUCCESS].trials, counts[Metric.PARSE_SUCCESS].failures) == (2, 1)


def test_a_full_run_contains_the_light_probes() -> None:
    """Otherwise the counts of full runs would miss trials."""
    assert {trial.probe for trial in plan_trials("light")} <= {
        trial.probe for trial in plan_trials("full")
    }


def test_calls_in_the_text_format_that_is_always_used_went_well() -> None:
    """As in the charts: the parser is known, so the caller gets its call."""
    verdict = Verdict(Metric.PARSE_SUCCESS, good=False, parser="hermes")
    attempts = [attempt("format", verdicts=[verdict])]

    assert watched_rates(attempts, "hermes")[Metric.PARSE_SUCCESS].failures == 0
    assert watched_rates(attempts, None)[Metric.PARSE_SUCCESS].failures == 1


def test_void_attempts_have_no_trial() -> None:
    """An outage counts only towards availability, which is not watched."""
    void = attempt(
        "format", outcome=Outcome.VOID, verdicts=[Verdict(Metric.AVAILABILITY, good=False)]
    )

    with_trials = {metric for metric, rate in watched_rates([void], None).items() if rate.trials}

    assert with_trials == {Metric.AVAILABILITY}


def test_failed_closures_and_replays_are_refusals() -> None:
    """Both fail only if the endpoint answers 400."""
    verdicts = [
        Verdict(Metric.CLOSURE_ERROR, good=False),
        Verdict(Metric.CLOSURE_ERROR, good=True),
        Verdict(Metric.REASONING_REPLAY_ERROR, good=False),
        Verdict(Metric.SCHEMA_FAILURE, good=False),
        BAD,
    ]

    refusals = count_refusals([attempt("round_trip", verdicts=verdicts)])

    assert +refusals == {Metric.CLOSURE_ERROR: 1, Metric.REASONING_REPLAY_ERROR: 1}


def test_a_no_tools_answer_counts_as_a_refusal() -> None:
    """Once per attempt; an answer without a call is no refusal."""
    none = attempt("format", findings=[FindingKind.NO_TOOLS], verdicts=[BAD])
    prose = attempt("format", 2, findings=[FindingKind.NO_CALL], verdicts=[BAD])
    unwatched = attempt("tag_in_text", findings=[FindingKind.NO_TOOLS], verdicts=[BAD])

    assert count_refusals([none, prose, unwatched])[Metric.PARSE_SUCCESS] == 1
