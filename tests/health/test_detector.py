from __future__ import annotations

from datetime import timedelta
from math import exp, inf, log

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from health.detector import (
    LIVE,
    PROBE,
    QUIET,
    WARN,
    Baseline,
    BaselineState,
    Lane,
    LogSums,
    Verdict,
    alarm_threshold,
    alternatives,
    judge_sums,
    log_likelihood,
    log_mean,
    log_ratios,
    recovery_ratio,
    step_sums,
)
from health.power import log_binomial
from health.watch import watch_threshold

SIX_HOURLY = alarm_threshold(1460)
RATES = st.floats(0.02, 0.995)
THRESHOLDS = st.floats(4, 20)
LANES = st.sampled_from([PROBE, LIVE])
RUNS = st.integers(0, 40).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


def reference(successes: int, trials: int = 200) -> float:
    return Baseline(successes, trials).reference(per_run=10)


def sums_after(runs: list[tuple[int, int]], p_ref: float, lane: Lane = PROBE) -> LogSums:
    sums = QUIET
    for successes, trials in runs:
        sums = step_sums(sums, log_ratios(successes, trials, p_ref, SIX_HOURLY, lane=lane))
    return sums


@pytest.mark.parametrize(
    ("runs_per_year", "log_a"),
    [(365, 8.539), (1460, 9.925249), (8760, 11.717), (365 * 288, 14.202)],
    ids=["daily", "six-hourly", "hourly", "live"],
)
def test_the_threshold_follows_from_the_runs_per_year(runs_per_year: int, log_a: float) -> None:
    """Half a false alarm per profile per year, over seven metrics."""
    assert alarm_threshold(runs_per_year) == pytest.approx(log_a, abs=5e-4)


def test_a_profile_shares_the_budget_among_all_its_metrics() -> None:
    """Nine of them, while the published tables have seven."""
    assert watch_threshold(timedelta(hours=6)) == pytest.approx(log(9 * 1460 / 0.5))
    assert alarm_threshold(1460) == pytest.approx(log(20440))


@pytest.mark.parametrize(
    ("hours", "trials", "runs"),
    [(24, 200, 20), (6, 200, 20), (5, 200, 20), (3, 400, 40), (1, 600, 60)],
)
def test_frequent_runs_need_a_longer_baseline(hours: int, trials: int, runs: int) -> None:
    """Up to three times as long; daily and six-hourly baselines are as published."""
    lane = PROBE.at_cadence(365 * 24 / hours)

    assert (lane.frozen, lane.runs, lane.provisional) == (trials, runs, PROBE.provisional)
    assert LIVE.at_cadence(365 * 288) == LIVE


@pytest.mark.parametrize(
    ("successes", "p_ref"), [(200, 0.987261), (196, 0.955378), (190, 0.916449), (180, 0.857124)]
)
def test_a_baseline_gives_the_golden_reference(successes: int, p_ref: float) -> None:
    """Low in its interval, and lower than for independent trials."""
    assert reference(successes) == pytest.approx(p_ref, abs=2e-6)


@pytest.mark.parametrize(
    ("number", "golden"),
    [
        (0, (-0.7524, 0.4760, 1.0277, 1.4054, 1.9583, 3.0045)),
        (1, (-1.5704, 0.2390, 1.1798, 1.8618, 2.9029, 4.9768)),
        (2, (-4.3192, -1.5790, 0.1237, 1.4723, 3.6997, 5.6558)),
        (3, (-10.7960, -7.2076, -4.7047, -2.5789, 1.2190, 5.6558)),
    ],
    ids=["ten less", "twenty less", "half", "a tenth"],
)
def test_log_ratios_match_the_golden_vector(number: int, golden: tuple[float, ...]) -> None:
    """For 10, 9, 8, 7, 5 and 0 of ten; the last two alternatives reach the cap."""
    ratios = [log_ratios(x, 10, reference(196), SIX_HOURLY)[number] for x in (10, 9, 8, 7, 5, 0)]

    assert ratios == pytest.approx(golden, abs=2e-4)


@pytest.mark.parametrize(
    ("successes", "runs", "golden"),
    [
        (
            196,
            (10, 10, 9, 10, 8, 7, 8, 6, 7, 5),
            (-1.7537, -1.4292, 0.1231, -0.5490, 1.2431, 3.0394, 4.1054, 6.3115, 8.0462, 10.9118),
        ),
        (196, (10, 0, 0), (-1.7537, 5.2737, 10.7755)),
        (200, (10, 10, 9, 9, 8, 8), (-1.7296, -1.3994, 1.2104, 2.7774, 5.0887, 7.3926)),
        (
            190,
            (9, 9, 8, 8, 7, 7, 6, 6),
            (-0.7267, -0.0933, 0.9180, 1.6258, 2.7500, 3.8057, 5.3312, 6.9002),
        ),
    ],
    ids=["slow fall", "collapse", "perfect before", "less good before"],
)
def test_the_evidence_follows_the_golden_vector(
    successes: int, runs: tuple[int, ...], golden: tuple[float, ...]
) -> None:
    """Run by run; the alarm comes with the first value beyond the threshold."""
    p_ref = reference(successes)
    sums = [sums_after([(x, 10) for x in runs[: k + 1]], p_ref) for k in range(len(runs))]

    assert [log_mean(each) for each in sums] == pytest.approx(golden, abs=2e-4)
    alarms = [judge_sums(each, SIX_HOURLY) is Verdict.ALARM for each in sums]
    assert alarms == [value >= 9.9253 for value in golden]


def test_recovery_ratios_match_the_golden_vector() -> None:
    """Seven clean runs are proof enough, six are not."""
    ratios = [recovery_ratio(x, 10, reference(196)) for x in (10, 9, 8, 7, 5, 0)]

    assert ratios == pytest.approx((0.7524, -0.4760, -1.0277, -1.4054, -1.9583, -3.0045), abs=2e-4)
    assert 6 * ratios[0] < log(100) <= 7 * ratios[0]


@given(
    runs=st.lists(RUNS, min_size=1, max_size=8), which=st.integers(0, 7), p_ref=RATES, lane=LANES
)
def test_fewer_successes_never_lower_the_evidence(
    runs: list[tuple[int, int]], which: int, p_ref: float, lane: Lane
) -> None:
    """Whatever the runs before and after, also among runs of unequal size."""
    successes, trials = runs[which % len(runs)]
    worse = [*runs]
    worse[which % len(runs)] = (max(successes - 1, 0), trials)

    before, now = log_mean(sums_after(runs, p_ref, lane)), log_mean(sums_after(worse, p_ref, lane))

    assert now >= before - 1e-9


@given(run=RUNS, p_ref=RATES, log_threshold=THRESHOLDS, lane=LANES)
@example(run=(0, 40), p_ref=0.995, log_threshold=4, lane=PROBE)
def test_one_run_never_raises_the_alarm_from_quiet(
    run: tuple[int, int], p_ref: float, log_threshold: float, lane: Lane
) -> None:
    """However bad it is, one run is no degradation."""
    ratios = log_ratios(*run, p_ref, log_threshold, lane=lane)

    assert judge_sums(step_sums(QUIET, ratios), log_threshold) is not Verdict.ALARM


@given(log_threshold=THRESHOLDS, p_ref=st.floats(0.9, 0.99))
def test_two_runs_at_the_cap_do(log_threshold: float, p_ref: float) -> None:
    """Total failure is detected with the second run."""
    capped = log_ratios(0, 40, p_ref, log_threshold)
    assert max(capped) == (log_threshold + log(4)) / 2

    assert judge_sums(step_sums(step_sums(QUIET, capped), capped), log_threshold) is Verdict.ALARM


@pytest.mark.parametrize("rho", [0.0, 0.02, 0.05, 0.1])
@pytest.mark.parametrize("trials", [5, 10, 20])
def test_a_healthy_run_multiplies_the_sums_by_one_on_average_at_most(
    trials: int, rho: float
) -> None:
    """The bound behind the mean time to a false alarm, summed exactly over all outcomes."""
    largest = 0.0
    for successes in range(100, 201, 5):
        p_ref = Baseline(successes, 200).reference(per_run=trials)
        ratios = [log_ratios(x, trials, p_ref, SIX_HOURLY) for x in range(trials + 1)]
        for better in (0.0, 0.25, 0.5, 0.75):
            chances = distribution(p_ref + better * (1 - p_ref), trials, rho)
            largest = max(largest, *expectations(chances, ratios))

    assert largest <= 1 + 1e-4
    assert largest > 0.1


def test_a_higher_correlation_than_assumed_breaks_the_bound() -> None:
    """The sums above would notice a broken bound: with a true rho of 0.3 it does not hold."""
    p_ref = reference(190)
    ratios = [log_ratios(x, 10, p_ref, SIX_HOURLY) for x in range(11)]

    assert max(expectations(distribution(p_ref, 10, 0.3), ratios)) > 1.01


def distribution(rate: float, trials: int, rho: float) -> list[float]:
    if rho == 0:
        chances = [x * log(rate) + (trials - x) * log(1 - rate) for x in range(trials + 1)]
    else:
        chances = [log_likelihood(x, trials, rate, rho) for x in range(trials + 1)]
    probabilities = [exp(log_binomial(trials, x) + chance) for x, chance in enumerate(chances)]
    assert sum(probabilities) == pytest.approx(1, abs=1e-9)
    return probabilities


def expectations(chances: list[float], ratios: list[LogSums]) -> list[float]:
    return [
        sum(chance * exp(ratio[k]) for chance, ratio in zip(chances, ratios, strict=True))
        for k in range(len(QUIET))
    ]


def test_a_run_without_trials_has_ratios_of_one() -> None:
    """It must not be counted, because the sums would still grow."""
    assert log_ratios(0, 0, 0.95, SIX_HOURLY) == (0, 0, 0, 0)


def test_quiet_sums_are_no_warning() -> None:
    """No evidence is minus infinity and no warning."""
    assert log_mean(QUIET) == -inf
    assert judge_sums(QUIET, SIX_HOURLY) is Verdict.OK


@pytest.mark.parametrize(
    ("log_m", "verdict"),
    [
        (log(WARN) - 0.001, Verdict.OK),
        (log(WARN), Verdict.WARN),
        (SIX_HOURLY - 0.001, Verdict.WARN),
        (SIX_HOURLY, Verdict.ALARM),
    ],
    ids=["below warn", "warn", "below alarm", "alarm"],
)
def test_equality_counts(log_m: float, verdict: Verdict) -> None:
    """A sum at a threshold has reached it."""
    assert judge_sums((log_m,) * 4, SIX_HOURLY) is verdict


@pytest.mark.parametrize(
    ("trials", "runs", "baseline_state"),
    [
        (29, 20, BaselineState.NONE),
        (30, 1, BaselineState.PROVISIONAL),
        (200, 19, BaselineState.PROVISIONAL),
        (199, 20, BaselineState.PROVISIONAL),
        (200, 20, BaselineState.FROZEN),
    ],
)
def test_a_baseline_is_frozen_with_enough_trials_and_runs(
    trials: int, runs: int, baseline_state: BaselineState
) -> None:
    """Two hundred trials of one bad minute are no baseline."""
    assert Baseline(trials, trials, runs).known() is baseline_state


def test_alternatives_stay_possible() -> None:
    """No alternative is below 0.01, however low the reference."""
    assert alternatives(0.05) == (0.01, 0.01, 0.025, 0.01)
    assert alternatives(0.9) == pytest.approx((0.8, 0.7, 0.45, 0.09))
    assert alternatives(0.99, LIVE) == pytest.approx((0.97, 0.94, 0.79, 0.495))


@given(successes=st.integers(0, 200), lane=LANES)
def test_a_reference_is_never_at_the_ends(successes: int, lane: Lane) -> None:
    """A perfect baseline does not make the first failure a catastrophe."""
    assert 0.02 <= Baseline(successes, 200, 20).reference(lane) <= lane.highest


def test_no_reference_is_above_the_highest_of_its_lane() -> None:
    """Probes cannot tell 99 % from 100 %, live traffic not 99.5 %."""
    perfect = Baseline(10**6, 10**6, 10**4)

    assert perfect.reference(PROBE) == 0.99
    assert perfect.reference(LIVE) == 0.995


def test_correlated_trials_count_for_less() -> None:
    """The same successes in fewer, larger runs give a lower reference."""
    references = [Baseline(190, 200).reference(per_run=n) for n in (1, 5, 10, 20)]

    assert references == sorted(references, reverse=True)
    assert len(set(references)) == 4
