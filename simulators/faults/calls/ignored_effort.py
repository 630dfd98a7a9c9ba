"""A model that thinks, and bills for it, even at effort `none`."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace

from typing_extensions import override

from probes.adapters.json_fields import object_or_empty
from probes.messages import JSON, Reply
from simulators.faults.fault import Fault
from simulators.faults.thinking_models import with_thinking
from simulators.vendors.hooks import FaultHooks
from simulators.vendors.model_traits import ReplayDuty
from simulators.vendors.spec import Spec, VendorRequest

FORMATS = frozenset({"openai", "openai_responses"})
NO_EFFORT = ("none", "off")
THOUGHT_TOKENS = 2048


class IgnoredEffort(FaultHooks):
    """Accepts effort `none` and ignores it."""

    @override
    def spec(self, spec: Spec) -> Spec:
        if spec.format not in FORMATS:
            return spec
        own_switch = spec.thinking_switch
        return replace(
            with_thinking(spec, ReplayDuty.FREE),
            thinking_switch=lambda body: None if disables_effort(body) else own_switch(body),
        )

    @override
    def reply(self, reply: Reply, request: VendorRequest, rng: random.Random) -> Reply:
        if not disables_effort(request.body):
            return reply
        output_tokens = reply.usage.output_tokens or 0
        usage = replace(
            reply.usage,
            output_tokens=output_tokens + THOUGHT_TOKENS,
            reasoning_tokens=THOUGHT_TOKENS,
        )
        return replace(reply, usage=usage)


def disables_effort(body: Mapping[str, JSON]) -> bool:
    """Whether a request in either OpenAI format disables thinking."""
    nested = object_or_empty(body.get("reasoning")).get("effort")
    return body.get("reasoning_effort", nested) in NO_EFFORT


_HOOKS = IgnoredEffort()
EFFORT_IGNORED = Fault(
    "effort-ignored",
    "Z64",
    "effort none is accepted, and the model thinks at full length and at full price",
    lambda value: _HOOKS,
    FORMATS,
)
