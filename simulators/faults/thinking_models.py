"""Vendors made to think and to show it, so that there is reasoning to give back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from simulators.vendors.model_traits import Model, ReplayDuty, ThinkingMode
from simulators.vendors.reply_style import reasoning_as_field
from simulators.vendors.spec import Spec


def with_thinking(spec: Spec, replay: ReplayDuty) -> Spec:
    """The vendor with models that think unless told not to, and want back what the rule says."""
    return _shown(
        spec,
        lambda model: replace(model, thinking_mode=ThinkingMode.UNLESS_DISABLED, replay=replay),
    )


def with_constant_thinking(spec: Spec) -> Spec:
    """The vendor with models that think whatever is asked, and want nothing back."""
    return _shown(
        spec,
        lambda model: replace(model, thinking_mode=ThinkingMode.ALWAYS, replay=ReplayDuty.FREE),
    )


def _shown(spec: Spec, change: Callable[[Model], Model]) -> Spec:
    models = {name: change(model) for name, model in spec.models.items()}
    # OpenAI's own Chat Completions shows no reasoning; the other formats have a place of their own.
    shape = spec.style.shape or reasoning_as_field("reasoning_content")
    return replace(spec, models=models, style=replace(spec.style, shape=shape))
