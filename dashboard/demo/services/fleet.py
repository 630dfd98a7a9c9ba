"""Registering the simulated fleet, and taking it out again."""

from __future__ import annotations

from django.db import transaction

from dashboard.audit import services as audit
from dashboard.demo.demo_fleet import KEY, MAX_CONCURRENCY, TTL, FleetMember, build_fleet
from dashboard.demo.queries import filter_simulated
from dashboard.endpoints.services import endpoints
from dashboard.models import Endpoint
from dashboard.models.audit import Action
from probes.secret import Secret


@transaction.atomic
def register_fleet(
    simulator_url: str, *, onboarding_runs: int | None = None
) -> dict[str, Endpoint]:
    """Register the fleet, or what is missing of it; return the new endpoints by their names.

    A name that is taken stays with whoever has it.
    """
    members = build_fleet(simulator_url)
    names = [member.slug for member in members]
    taken = set(Endpoint.objects.kept().filter(slug__in=names).values_list("slug", flat=True))
    made = {
        member.slug: _create_endpoint(member, onboarding_runs)
        for member in members
        if member.slug not in taken
    }
    if made:
        values = {"registered": sorted(made)}
        audit.record(Action.DEMO_CHANGED, subject="demo", after=values)
    return made


@transaction.atomic
def remove_fleet() -> list[str]:
    """Take out every simulated endpoint, those that a person registered included; their names.

    What stands at the vendors' address measures nothing real, whoever put it there. The page
    that asks names each of them first.
    """
    # Locked, so that of two who ask at once the second finds nothing left.
    simulated = list(filter_simulated(Endpoint.objects.kept()).select_for_update().order_by("slug"))
    for endpoint in simulated:
        endpoints.remove(endpoint)
    names = [endpoint.slug for endpoint in simulated]
    if names:
        values = {"registered": names}
        audit.record(Action.DEMO_CHANGED, subject="demo", before=values)
    return names


def _create_endpoint(member: FleetMember, onboarding_runs: int | None) -> Endpoint:
    return endpoints.create(
        slug=member.slug,
        provider=member.provider,
        base_url=member.base_url,
        model=member.model,
        options={},
        ttl=TTL,
        max_concurrency=MAX_CONCURRENCY,
        enabled=True,
        key=Secret(KEY),
        onboarding_runs=onboarding_runs,
    )
