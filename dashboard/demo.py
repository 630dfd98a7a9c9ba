"""The simulated fleet that a first start registers."""

from __future__ import annotations

from datetime import timedelta

from dashboard.services import endpoints
from probes.secret import Secret

# slug, model of the simulated vendor
FLEET = (
    ("demo-steady", "sim-steady"),
    ("demo-leaky", "sim-leaky"),
    ("demo-sloppy", "sim-sloppy"),
    ("demo-fading", "sim-fading"),
    ("demo-prose", "sim-prose"),
)
RUNS_FOR_A_CHART = 12


def register(simulator_url: str) -> list[str]:
    """Register the fleet, with enough runs wanted at once for a chart worth looking at."""
    for slug, model in FLEET:
        endpoints.create(
            slug=slug,
            provider="openai",
            base_url=f"{simulator_url}/openai/v1",
            model=model,
            options={},
            ttl=timedelta(minutes=10),
            max_concurrency=4,
            enabled=True,
            key=Secret("sim-demo-key"),
            onboarding_runs=RUNS_FOR_A_CHART,
        )
    return [slug for slug, _ in FLEET]
