"""The beta distribution: the functions that the detector needs."""

from __future__ import annotations

from math import exp, lgamma, log, log1p

_TINY = 1e-300
_TERMS = 500
_STEPS = 100


def log_beta(a: float, b: float) -> float:
    """The logarithm of the beta function."""
    return lgamma(a) + lgamma(b) - lgamma(a + b)


def share_below(x: float, a: float, b: float) -> float:
    """The cumulative distribution of Beta(a, b) at x: the regularised incomplete beta function."""
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    front = exp(a * log(x) + b * log1p(-x) - log_beta(a, b))
    # The fraction converges fast on one side of the mean only; the other is its mirror image.
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(x, a, b) / a
    return 1 - front * _fraction(1 - x, b, a) / b


def quantile(share: float, a: float, b: float) -> float:
    """The quantile of Beta(a, b): the value below which this share lies."""
    low, high, guess = 0.0, 1.0, a / (a + b)
    for _ in range(_STEPS):
        missing = share - share_below(guess, a, b)
        low, high = (guess, high) if missing > 0 else (low, guess)
        # A Newton step, or bisection where the step would leave the bracket.
        better = guess + missing / max(_density(guess, a, b), _TINY)
        if not low < better < high:
            better = (low + high) / 2
        if abs(better - guess) <= 1e-16:
            break
        guess = better
    return guess


def _density(x: float, a: float, b: float) -> float:
    return exp((a - 1) * log(x) + (b - 1) * log1p(-x) - log_beta(a, b))


def _fraction(x: float, a: float, b: float) -> float:
    """The continued fraction of the incomplete beta function, by Lentz's method."""
    ratio_up, ratio_down = 1.0, _steady(1 - (a + b) * x / (a + 1))
    value = ratio_down
    for m in range(1, _TERMS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            ratio_down = _steady(1 + term * ratio_down)
            ratio_up = 1 + term / ratio_up
            ratio_up = ratio_up if abs(ratio_up) > _TINY else _TINY
            value *= ratio_down * ratio_up
        if abs(ratio_down * ratio_up - 1) < 1e-14:
            break
    return value


def _steady(value: float) -> float:
    return 1 / (value if abs(value) > _TINY else _TINY)
