"""What a run would cost, before anybody asks for it: requests, tokens, money, and the budget."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dashboard.core import durations
from dashboard.models import Endpoint, Run, Spend
from dashboard.models.run import State
from dashboard.runs import services as runs
from probes.suite import SUITES, plan_trials
from probes.suite.question_builder import MAX_TOKENS
from probes.suite.sampling import MAX_PROMPT_TOKENS

_MILLION = 1_000_000
_PURPOSES = {
    "light": gettext_lazy("The questions of every scheduled run: does it still hold?"),
    "full": gettext_lazy("Every question, more often: settles the capability profile."),
}


@dataclass(frozen=True, slots=True)
class Cost:
    """An amount of money in the currency of the endpoint's prices."""

    amount: Decimal
    currency: str

    @property
    def words(self) -> str:
        places = 2 if self.amount >= 1 else 4
        return f"{self.amount:,.{places}f} {self.currency}"


@dataclass(frozen=True, slots=True)
class Left:
    """What the day has left; None is no limit."""

    requests: int | None
    tokens: int | None

    @property
    def is_limited(self) -> bool:
        return self.requests is not None or self.tokens is not None


@dataclass(frozen=True, slots=True)
class Planned:
    """One suite: the most that it can cost, and what its last run came to."""

    suite: str
    attempts: int
    requests: int
    tokens: int
    cost: Cost | None = None
    last: Run | None = None
    last_cost: Cost | None = None
    refusal: str = ""

    @property
    def purpose(self) -> str:
        return str(_PURPOSES[self.suite])

    @property
    def last_tokens(self) -> int:
        return self.last.input_tokens + self.last.output_tokens if self.last else 0

    @property
    def last_took(self) -> str:
        if self.last is None or not (self.last.started_at and self.last.finished_at):
            return ""
        return durations.format_rough_duration(self.last.finished_at - self.last.started_at)


@dataclass(frozen=True, slots=True)
class Plan:
    """Both suites, with what is left of the day and what runs already."""

    suites: tuple[Planned, ...]
    left: Left
    active: Run | None

    def of(self, suite: str) -> Planned:
        return next(planned for planned in self.suites if planned.suite == suite)


def read(endpoint: Endpoint) -> Plan:
    """What would happen now. Four queries."""
    left = _left(endpoint)
    active = endpoint.runs.active().first()
    return Plan(
        suites=tuple(_planned(endpoint, suite, left) for suite in SUITES),
        left=left,
        active=active,
    )


def _left(endpoint: Endpoint) -> Left:
    spent = Spend.objects.today(endpoint)
    requests, tokens = (spent.requests, spent.tokens) if spent else (0, 0)
    return Left(_rest(endpoint.daily_requests, requests), _rest(endpoint.daily_tokens, tokens))


def _rest(limit: int | None, spent: int) -> int | None:
    return None if limit is None else max(limit - spent, 0)


def _planned(endpoint: Endpoint, suite: str, left: Left) -> Planned:
    ceiling = runs.ceiling(suite)
    finished = Run.objects.of(endpoint).filter(suite=suite, state=State.FINISHED, simulated=False)
    last = finished.newest_first().first()
    return Planned(
        suite=suite,
        attempts=len(plan_trials(suite)),
        requests=ceiling.requests,
        tokens=ceiling.tokens,
        cost=_cost(endpoint, ceiling.requests * MAX_PROMPT_TOKENS, ceiling.requests * MAX_TOKENS),
        last=last,
        last_cost=_cost(endpoint, last.input_tokens, last.output_tokens) if last else None,
        refusal=_refusal(left, ceiling.requests, ceiling.tokens),
    )


def _refusal(left: Left, requests: int, tokens: int) -> str:
    """Why the day's budget does not allow it; empty where it does."""
    if left.requests is not None and requests > left.requests:
        return _(
            "Today's budget has {left} requests left, and this run may take {needed}. "
            "Raise the budget, or wait for the next day (UTC)."
        ).format(left=intcomma(left.requests), needed=intcomma(requests))
    if left.tokens is not None and tokens > left.tokens:
        return _(
            "Today's budget has {left} tokens left, and this run may take {needed}. "
            "Raise the budget, or wait for the next day (UTC)."
        ).format(left=intcomma(left.tokens), needed=intcomma(tokens))
    return ""


def _prices(endpoint: Endpoint) -> tuple[Decimal, Decimal] | None:
    told = endpoint.price_input, endpoint.price_output
    return None if told == (None, None) else (told[0] or Decimal(), told[1] or Decimal())


def _cost(endpoint: Endpoint, input_tokens: int, output_tokens: int) -> Cost | None:
    prices = _prices(endpoint)
    if prices is None:
        return None
    amount = (input_tokens * prices[0] + output_tokens * prices[1]) / _MILLION
    return Cost(amount, endpoint.currency)
