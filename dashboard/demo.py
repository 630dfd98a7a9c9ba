"""The simulated fleet that a first start registers."""

from __future__ import annotations

from datetime import timedelta

from dashboard.services import endpoints
from probes.secret import Secret

# slug, provider, path of the simulated vendor (simulators/stories.py has the stories), model
FLEET = (
    ("demo-steady", "openai", "/stories/healthy/openai/v1", "sim-steady"),
    ("demo-leaky", "openai", "/stories/leaky/openai/v1", "sim-steady"),
    ("demo-sloppy", "openai", "/stories/sloppy/openai/v1", "sim-steady"),
    ("demo-fading", "openai", "/stories/fading/openai/v1", "sim-steady"),
    ("demo-prose", "openai", "/stories/prose/openai/v1", "sim-steady"),
    ("demo-deepseek", "deepseek", "/deepseek/v1", "sim-v4"),
    ("demo-claude", "anthropic", "/anthropic", "sim-steady"),
    ("demo-gemini", "gemini", "/gemini", "sim-gemini-3"),
)
RUNS_FOR_A_CHART = 12


def register(simulator_url: str) -> list[str]:
    """Register the fleet, with enough runs wanted at once for a chart worth looking at."""
    for slug, provider, path, model in FLEET:
        endpoints.create(
            slug=slug,
            provider=provider,
            base_url=simulator_url + path,
            model=model,
            options={},
            ttl=timedelta(minutes=10),
            max_concurrency=4,
            enabled=True,
            key=Secret("sim-demo-key"),
            onboarding_runs=RUNS_FOR_A_CHART,
        )
    return [slug for slug, *_ in FLEET]
