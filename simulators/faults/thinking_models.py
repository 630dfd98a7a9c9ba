"""Vendors changed to think and to show it, so that there is reasoning to replay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from simulators.vendors.model_traits import Model, ReplayDuty, ThinkingMode
from simulators.vendors.reply_style import reasoning_as_field
from simulators.vendors.spec import Spec


def with_thinking(spec: Spec, replay: ReplayDuty) -> Spec:
    """The vendor with models that think unless disabled, with this replay duty."""
    return _show_reasoning(
        spec,
        lambda model: replace(model, thinking_mode=ThinkingMode.UNLESS_DISABLED, replay=replay),
    )


def with_constant_thinking(spec: Spec) -> Spec:
    """The vendor with models that always think, without a replay duty."""
    return _show_reasoning(
        spec,
        lambda model: replace(model, thinking_mode=ThinkingMode.ALWAYS, replay=ReplayDuty.FREE),
    )


def _show_reasoning(spec: Spec, change: Callable[[Model], Model]) -> Spec:
    models = {name: change(model) for name, model in spec.models.items()}
    # OpenAI's own Chat Completions shows no reasoning; other formats have a field for it.
    shape = spec.style.shape or reasoning_as_field("reasoning_content")
    return replace(spec, models=models, style=replace(spec.style, shape=shape))
