"""The maximum cost of a run before it is requested: requests, tokens, money, daily budget."""

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
    def text(self) -> str:
        places = 2 if self.amount >= 1 else 4
        return f"{self.amount:,.{places}f} {self.currency}"


@dataclass(frozen=True, slots=True)
class RemainingBudget:
    """What remains of today's budget; None means no limit."""

    requests: int | None
    tokens: int | None

    @property
    def is_limited(self) -> bool:
        return self.requests is not None or self.tokens is not None


@dataclass(frozen=True, slots=True)
class SuitePlan:
    """One suite: its maximum cost, and the cost of its last run."""

    suite: str
    attempts: int
    requests: int
    tokens: int
    cost: Cost | None = None
    last_run: Run | None = None
    last_cost: Cost | None = None
    refusal: str = ""

    @property
    def purpose(self) -> str:
        return str(_PURPOSES[self.suite])

    @property
    def last_tokens(self) -> int:
        return self.last_run.input_tokens + self.last_run.output_tokens if self.last_run else 0

    @property
    def last_duration(self) -> str:
        if self.last_run is None or not (self.last_run.started_at and self.last_run.finished_at):
            return ""
        return durations.format_rough_duration(self.last_run.finished_at - self.last_run.started_at)


@dataclass(frozen=True, slots=True)
class RunPlan:
    """Both suites, the remaining budget of today, and the active run."""

    suites: tuple[SuitePlan, ...]
    remaining: RemainingBudget
    active: Run | None

    def for_suite(self, suite: str) -> SuitePlan:
        return next(plan for plan in self.suites if plan.suite == suite)


def read_plan(endpoint: Endpoint) -> RunPlan:
    """The plan of both suites as of now, in four queries."""
    remaining = _remaining_budget(endpoint)
    active = endpoint.runs.active().first()
    return RunPlan(
        suites=tuple(_plan_suite(endpoint, suite, remaining) for suite in SUITES),
        remaining=remaining,
        active=active,
    )


def _remaining_budget(endpoint: Endpoint) -> RemainingBudget:
    spent = Spend.objects.today(endpoint)
    requests, tokens = (spent.requests, spent.tokens) if spent else (0, 0)
    return RemainingBudget(
        _subtract_spent(endpoint.daily_requests, requests),
        _subtract_spent(endpoint.daily_tokens, tokens),
    )


def _subtract_spent(limit: int | None, spent: int) -> int | None:
    return None if limit is None else max(limit - spent, 0)


def _plan_suite(endpoint: Endpoint, suite: str, remaining: RemainingBudget) -> SuitePlan:
    ceiling = runs.price_ceiling(suite)
    finished = Run.objects.of(endpoint).filter(suite=suite, state=State.FINISHED, simulated=False)
    last_run = finished.newest_first().first()
    return SuitePlan(
        suite=suite,
        attempts=len(plan_trials(suite)),
        requests=ceiling.requests,
        tokens=ceiling.tokens,
        cost=_cost(endpoint, ceiling.requests * MAX_PROMPT_TOKENS, ceiling.requests * MAX_TOKENS),
        last_run=last_run,
        last_cost=_cost(endpoint, last_run.input_tokens, last_run.output_tokens)
        if last_run
        else None,
        refusal=_refusal(remaining, ceiling.requests, ceiling.tokens),
    )


def _refusal(remaining: RemainingBudget, requests: int, tokens: int) -> str:
    """Why today's budget does not allow the run; empty if it does."""
    if remaining.requests is not None and requests > remaining.requests:
        return _(
            "Today's budget has {left} requests left, and this run may take {needed}. "
            "Raise the budget, or wait for the next day (UTC)."
        ).format(left=intcomma(remaining.requests), needed=intcomma(requests))
    if remaining.tokens is not None and tokens > remaining.tokens:
        return _(
            "Today's budget has {left} tokens left, and this run may take {needed}. "
            "Raise the budget, or wait for the next day (UTC)."
        ).format(left=intcomma(remaining.tokens), needed=intcomma(tokens))
    return ""


def _prices(endpoint: Endpoint) -> tuple[Decimal, Decimal] | None:
    prices = endpoint.price_input, endpoint.price_output
    return None if prices == (None, None) else (prices[0] or Decimal(), prices[1] or Decimal())


def _cost(endpoint: Endpoint, input_tokens: int, output_tokens: int) -> Cost | None:
    prices = _prices(endpoint)
    if prices is None:
        return None
    amount = (input_tokens * prices[0] + output_tokens * prices[1]) / _MILLION
    return Cost(amount, endpoint.currency)
