"""Silent changes of a vendor: chat template, engine, model echo, fingerprint, route."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from typing_extensions import override

from simulators.faults.fault import Fault
from simulators.faults.refusals.refusal import RefusalCheck, refusal_fault
from simulators.faults.refusals.replay_refusals import REPLAY_CHECKS
from simulators.faults.thinking_models import with_thinking
from simulators.vendors.hooks import FaultHooks
from simulators.vendors.model_traits import ReplayDuty
from simulators.vendors.spec import Spec

NEW_TEMPLATE = (
    "{%- for message in messages %}<|start|>{{ message.role }}<|sep|>{{ message.content }}"
    "{%- for call in message.tool_calls or [] %}<|call|>{{ call | tojson }}{%- endfor %}"
    "<|end|>\n{%- endfor %}<|start|>assistant<|sep|>"
)


@dataclass(frozen=True, slots=True)
class SpecChange(FaultHooks):
    """Changes the vendor's Spec."""

    change: Callable[[Spec], Spec]

    @override
    def spec(self, spec: Spec) -> Spec:
        return self.change(spec)


def _fault(name: str, row: str, symptom: str, change: Callable[[Spec], Spec]) -> Fault:
    hooks = SpecChange(change)
    return Fault(name, row, symptom, lambda value: hooks)


def _reroute(spec: Spec) -> Spec:
    """The same model names, with models that think and require all reasoning to be replayed."""
    strict = with_thinking(spec, ReplayDuty.ALL_TURNS)
    return replace(strict, style=replace(strict.style, fingerprint="fp_rerouted02"))


FAULTS = (
    _fault(
        "new-template",
        "",
        "another chat template, where the server shows it, and other prompt token counts",
        lambda spec: replace(spec, template=NEW_TEMPLATE),
    ),
    _fault(
        "new-engine",
        "",
        "another version of the engine, where the server tells it",
        lambda spec: replace(spec, engine=f"{spec.engine or '1.0'}-next", server="other-gateway"),
    ),
    _fault(
        "new-echo",
        "",
        "answers name another model than the one that was asked",
        lambda spec: replace(spec, echo="sim-other-0731"),
    ),
    _fault(
        "new-fingerprint",
        "",
        "another system_fingerprint, where the format has one",
        lambda spec: replace(spec, style=replace(spec.style, fingerprint="fp_0123456789")),
    ),
    refusal_fault(
        "route-strict",
        "Z02",
        "a re-route to a host whose models think and want the reasoning of every tool turn back",
        RefusalCheck(REPLAY_CHECKS, _reroute),
    ),
)
