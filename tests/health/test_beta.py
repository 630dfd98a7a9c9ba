from __future__ import annotations

from math import comb, exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.beta import log_beta, quantile, share_below

SHAPES = st.floats(0.5, 2000)
SHARES = st.floats(0.001, 0.999)
PLACES = st.floats(0.01, 0.99)


@pytest.mark.parametrize(
    ("a", "b", "value"),
    [(1, 1, 1.0), (2, 3, 1 / 12), (5, 5, 1 / 630), (0.5, 0.5, 3.14159265358979)],
)
def test_the_beta_function_has_its_known_values(a: float, b: float, value: float) -> None:
    """Integers match factorials, halves match pi."""
    assert exp(log_beta(a, b)) == pytest.approx(value, rel=1e-12)


@given(share=SHARES, b=SHAPES)
def test_a_quantile_with_one_success_has_a_closed_form(share: float, b: float) -> None:
    """The distribution of Beta(1, b) at x is 1 - (1 - x)^b."""
    assert quantile(share, 1, b) == pytest.approx(1 - (1 - share) ** (1 / b), rel=1e-7)


@given(share=SHARES, a=SHAPES)
def test_a_quantile_with_one_failure_has_a_closed_form(share: float, a: float) -> None:
    """The distribution of Beta(a, 1) at x is x^a."""
    assert quantile(share, a, 1) == pytest.approx(share ** (1 / a), rel=1e-9)


@given(share=SHARES, a=SHAPES, b=SHAPES)
def test_swapping_successes_and_failures_mirrors_the_quantile(
    share: float, a: float, b: float
) -> None:
    """The 10 % quantile of Beta(a, b) is one minus the 90 % quantile of Beta(b, a)."""
    assert quantile(share, a, b) == pytest.approx(1 - quantile(1 - share, b, a), abs=1e-7)


@given(share=SHARES, a=SHAPES, b=SHAPES)
def test_the_quantile_undoes_the_share_below(share: float, a: float, b: float) -> None:
    """`share_below` inverts `quantile`."""
    assert share_below(quantile(share, a, b), a, b) == pytest.approx(share, abs=1e-9)


@given(x=PLACES, a=st.integers(1, 60), b=st.integers(1, 60))
def test_the_share_below_is_a_binomial_tail(x: float, a: int, b: int) -> None:
    """For integer shapes: the chance of at least a successes in a + b - 1 trials of rate x."""
    trials = a + b - 1
    tail = sum(comb(trials, k) * x**k * (1 - x) ** (trials - k) for k in range(a, trials + 1))

    assert share_below(x, a, b) == pytest.approx(tail, abs=1e-10)


@pytest.mark.parametrize(("x", "share"), [(-1.0, 0.0), (0.0, 0.0), (1.0, 1.0), (2.0, 1.0)])
def test_nothing_lies_beyond_the_ends(x: float, share: float) -> None:
    """Rates outside of 0 to 1 have a share of 0 or 1."""
    assert share_below(x, 0.5, 3) == share


@given(x=PLACES, more=PLACES, a=SHAPES, b=SHAPES)
def test_more_lies_below_a_higher_place(x: float, more: float, a: float, b: float) -> None:
    """The share never falls, also where the two halves of the computation meet."""
    low, high = sorted((x, more))

    assert share_below(low, a, b) <= share_below(high, a, b) + 1e-12
