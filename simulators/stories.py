"""Vendors whose health changes over time: shown in the demo, and found by detection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

HOUR = 3600
DAY = 24 * HOUR


@dataclass(frozen=True, slots=True)
class Story:
    """Served under `/stories/<name>`. The switches fit any vendor; `vendor` is the intended one."""

    name: str
    description: str
    vendor: str
    model: str
    switches: str = ""


_STORIES = (
    Story("healthy", "Nothing goes wrong.", "openai", "sim-steady"),
    Story(
        "slow-decay",
        "From the fifth day on ever more calls leak as text, six in ten after two more weeks.",
        "qwen",
        "sim-coder",
        f"leak-qwen-xml,p=0.6,from={5 * DAY},ramp={14 * DAY}",
    ),
    Story(
        "lost-replay",
        "On the tenth day a silent re-route puts another engine behind the same name: every "
        "history with a call is refused for its reasoning, although it comes back as it was.",
        "relay",
        "sim-auto",
        f"refuses-replay,from={10 * DAY}+new-fingerprint,from={10 * DAY}",
    ),
    Story(
        "flapping",
        "Half of the calls leak during twenty minutes of every two hours.",
        "vllm",
        "sim-steady",
        f"leak-hermes,p=0.5,every={2 * HOUR},for={20 * 60}",
    ),
    Story(
        "outage",
        "Down for six hours of the third day, else healthy: no verdict is no degradation.",
        "anthropic",
        "sim-steady",
        f"down,from={2 * DAY + 6 * HOUR},until={2 * DAY + 12 * HOUR}",
    ),
    Story(
        "template-swap",
        "A third of the calls leak until the operator mends the chat template on the eighth day.",
        "llamacpp",
        "sim-steady",
        f"leak-hermes,p=0.33,until={7 * DAY}+new-template,from={7 * DAY}",
    ),
    Story(
        "leaky",
        "A quarter of the calls leak as text.",
        "openai",
        "sim-steady",
        "leak-hermes,p=0.25",
    ),
    Story(
        "fading",
        "Within the first hour leaks grow from none to six in ten.",
        "openai",
        "sim-steady",
        f"leak-hermes,p=0.6,ramp={HOUR}",
    ),
    Story(
        "sloppy",
        "A fifth of the calls break their schema.",
        "openai",
        "sim-steady",
        "wrong-enum,p=0.2",
    ),
    Story("prose", "The model talks and never calls.", "openai", "sim-steady", "prose"),
)
STORIES: Mapping[str, Story] = MappingProxyType({story.name: story for story in _STORIES})
