"""The simulated fleet as values: which endpoints it has. Whoever plays it has no Django."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from probes.secret import Secret
from probes.target import Provider, Target

# No secret: every simulated vendor takes whatever begins with sim-.
KEY = "sim-demo-key"
MAX_CONCURRENCY = 4
TTL = timedelta(minutes=10)

# slug, provider, path of the simulated vendor (simulators/stories.py has the stories), model, and
# how many hours lie between two runs of its history: fewer where a story is over within hours.
_FLEET = (
    ("demo-steady", "openai", "/stories/healthy/openai/v1", "sim-steady", 24),
    ("demo-fading", "qwen", "/stories/slow-decay/qwen/v1", "sim-coder", 12),
    ("demo-relay", "openai", "/stories/lost-replay/relay/v1", "sim-auto", 12),
    ("demo-flapping", "openai", "/stories/flapping/vllm/v1", "sim-steady", 8),
    ("demo-claude", "anthropic", "/stories/outage/anthropic", "sim-steady", 8),
    ("demo-llamacpp", "openai", "/stories/template-swap/llamacpp/v1", "sim-steady", 12),
    ("demo-sloppy", "openai", "/stories/sloppy/openai/v1", "sim-steady", 24),
    ("demo-prose", "openai", "/stories/prose/openai/v1", "sim-steady", 24),
    ("demo-deepseek", "deepseek", "/deepseek/v1", "sim-v4", 24),
    ("demo-gemini", "gemini", "/gemini", "sim-gemini-3", 24),
)
PATHS = {slug: path for slug, _, path, _, _ in _FLEET}


@dataclass(frozen=True, slots=True)
class FleetMember:
    """One endpoint of the simulated fleet, and how often it is probed in its history."""

    slug: str
    provider: str
    base_url: str
    model: str
    every: timedelta = timedelta(hours=12)

    def target(self) -> Target:
        provider = Provider(self.provider)
        return Target(
            provider, self.base_url, self.model, Secret(KEY), max_concurrency=MAX_CONCURRENCY
        )


def build_fleet(simulator_url: str) -> list[FleetMember]:
    """The endpoints of the demo, on the vendors at that address."""
    return [
        FleetMember(slug, provider, simulator_url.rstrip("/") + path, model, timedelta(hours=hours))
        for slug, provider, path, model, hours in _FLEET
    ]
