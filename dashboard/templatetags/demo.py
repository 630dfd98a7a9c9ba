"""Tags for the simulated fleet, and for pages without endpoints."""

from __future__ import annotations

from dataclasses import dataclass

from django import template
from django.conf import settings
from django.template.context import RequestContext

from dashboard.core import durations
from dashboard.core.permissions import Right, actor_of
from dashboard.demo import queries as demo
from dashboard.demo.demo_fleet import PATHS
from dashboard.endpoints import presets
from dashboard.endpoints.presets import Preset
from dashboard.models import Endpoint
from dashboard.runs import services as runs

register = template.Library()


@dataclass(frozen=True, slots=True)
class SimulatedFleet:
    count: int  # of simulated endpoints
    can_start: bool


@dataclass(frozen=True, slots=True)
class FirstRun:
    """Facts for the page without endpoints."""

    presets: tuple[Preset, ...]
    requests: int
    tokens: str
    baseline_runs: int
    baseline_every: str
    simulated: int
    can_start: bool


@register.filter
def is_simulated(endpoint: Endpoint) -> bool:
    return demo.is_simulated(endpoint)


@register.simple_tag(takes_context=True)
def simulated_fleet(context: RequestContext) -> SimulatedFleet:
    readable = Endpoint.objects.kept().of_teams(actor_of(context.request).teams(Right.READ))
    return SimulatedFleet(demo.filter_simulated(readable).count(), demo.has_simulated_vendors())


@register.simple_tag
def first_run() -> FirstRun:
    max_cost = runs.price_ceiling("full")
    return FirstRun(
        presets=presets.PRESETS[:4],
        requests=max_cost.requests,
        tokens=f"{max_cost.tokens:,}",
        baseline_runs=settings.BASELINE_RUNS - 1,
        baseline_every=durations.format_rough_duration(settings.BASELINE_EVERY),
        simulated=len(PATHS),
        can_start=demo.has_simulated_vendors(),
    )
