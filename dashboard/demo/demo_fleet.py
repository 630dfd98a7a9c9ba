"""The endpoints of the simulated fleet, without Django: the player processes have none."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from probes.secret import Secret
from probes.target import Provider, Target

# Not a secret: simulated vendors accept every key with the prefix sim-.
KEY = "sim-demo-key"
MAX_CONCURRENCY = 4
TTL = timedelta(minutes=10)

# Slug, provider, path of the simulated vendor (simulators/stories.py defines the stories), model,
# and the hours between two runs of the history: fewer if a story lasts only hours.
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
    """An endpoint of the simulated fleet; `every` is the probe interval of its history."""

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
    """The endpoints of the demo for simulated vendors at that URL."""
    return [
        FleetMember(slug, provider, simulator_url.rstrip("/") + path, model, timedelta(hours=hours))
        for slug, provider, path, model, hours in _FLEET
    ]
