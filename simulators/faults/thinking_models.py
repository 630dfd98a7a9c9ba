"""Vendors made to think and to show it, so that there is reasoning to give back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from simulators.vendors.model_traits import Model, Replay, Thinks
from simulators.vendors.reply_style import as_field
from simulators.vendors.spec import Spec


def thinking(spec: Spec, replay: Replay) -> Spec:
    """The vendor with models that think unless told not to, and want back what the rule says."""
    return _shown(spec, lambda model: replace(model, thinks=Thinks.UNLESS_DISABLED, replay=replay))


def always_thinking(spec: Spec) -> Spec:
    """The vendor with models that think whatever is asked, and want nothing back."""
    return _shown(spec, lambda model: replace(model, thinks=Thinks.ALWAYS, replay=Replay.FREE))


def _shown(spec: Spec, change: Callable[[Model], Model]) -> Spec:
    models = {name: change(model) for name, model in spec.models.items()}
    # OpenAI's own Chat Completions shows no reasoning; the other formats have a place of their own.
    shape = spec.manner.shape or as_field("reasoning_content")
    return replace(spec, models=models, manner=replace(spec.manner, shape=shape))
