"""The simulated fleet that a first start registers, with the month that lies behind it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from django.db import transaction

from dashboard.backfill import KEY, LONGEST, Member, Simulated, history
from dashboard.models import Endpoint
from dashboard.playing import AT_ONCE
from dashboard.services import endpoints
from probes.secret import Secret

Store = Callable[[Endpoint, Simulated], object]

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
TTL = timedelta(minutes=10)


def fleet(simulator_url: str) -> list[Member]:
    """The endpoints of the demo, on the vendors at that address."""
    return [
        Member(slug, provider, simulator_url + path, model, every=timedelta(hours=hours))
        for slug, provider, path, model, hours in _FLEET
    ]


def register(simulator_url: str) -> list[str]:
    """Register the fleet without a history; return the slugs."""
    members = fleet(simulator_url)
    _create(members)
    return [member.slug for member in members]


def register_with_history(
    simulator_url: str,
    *,
    began: datetime,
    store: Store,
    tell: Callable[[float], None] = lambda share: None,
) -> list[str]:
    """Register the fleet and store all that happened since the vendors' story began.

    All or nothing, so that a start that is broken off leaves no half of a history. `tell` is
    told again and again which share is done.
    """
    members = fleet(simulator_url)
    until = datetime.now(UTC)
    first = max(began, until - LONGEST)
    done = dict.fromkeys((member.slug for member in members), 0.0)
    with transaction.atomic():
        # The burst that a new endpoint begins with lies in its history.
        registered = _create(members, onboarding_runs=0)
        for run in history(members, began=began, until=until):
            store(registered[run.slug], run)
            done[run.slug] = (run.at - first) / (until - first)
            tell(sum(done.values()) / len(done))
    tell(1)
    return list(registered)


def _create(
    members: Sequence[Member], *, onboarding_runs: int | None = None
) -> dict[str, Endpoint]:
    return {
        member.slug: endpoints.create(
            slug=member.slug,
            provider=member.provider,
            base_url=member.base_url,
            model=member.model,
            options={},
            ttl=TTL,
            max_concurrency=AT_ONCE,
            enabled=True,
            key=Secret(KEY),
            onboarding_runs=onboarding_runs,
        )
        for member in members
    }
