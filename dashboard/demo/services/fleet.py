"""Registers and removes the simulated fleet."""

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
    """Register the missing endpoints of the fleet and return them by slug.

    An existing endpoint with one of the slugs stays unchanged.
    """
    members = build_fleet(simulator_url)
    slugs = [member.slug for member in members]
    existing = set(Endpoint.objects.kept().filter(slug__in=slugs).values_list("slug", flat=True))
    created = {
        member.slug: _create_endpoint(member, onboarding_runs)
        for member in members
        if member.slug not in existing
    }
    if created:
        values = {"registered": sorted(created)}
        audit.record(Action.DEMO_CHANGED, subject="demo", after=values)
    return created


@transaction.atomic
def remove_fleet() -> list[str]:
    """Remove every simulated endpoint, including those that users registered; return the slugs.

    None of them measures a real model. The confirmation page lists all of them.
    """
    # Locked, so that the second of two concurrent calls finds nothing to remove.
    simulated = list(filter_simulated(Endpoint.objects.kept()).select_for_update().order_by("slug"))
    for endpoint in simulated:
        endpoints.remove(endpoint)
    slugs = [endpoint.slug for endpoint in simulated]
    if slugs:
        values = {"registered": slugs}
        audit.record(Action.DEMO_CHANGED, subject="demo", before=values)
    return slugs


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
