"""A policy compiled for live traffic: what one version of it means for every request.

Compiled once per version. A request takes its plan when it is admitted and keeps it to the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from dashboard.live.snapshot import LiveEndpoint
from health.known_tools import DEFAULTS
from health.risk import Risk, RiskRule, classify_tool
from probes.adapters import Adapter, adapter_for
from probes.dialects import Dialect, override_dialect
from probes.output_limit import OutputLimit
from probes.target import Provider, Target

# More names than agents have tools.
_REMEMBERED_NAMES = 4096


@dataclass(frozen=True)
class Plan:
    """What an endpoint is sent, and what of its answers is let through."""

    endpoint: LiveEndpoint
    adapter: Adapter
    dialect: Dialect
    allowed: frozenset[Risk]
    rules: tuple[RiskRule, ...]
    max_calls: int
    streams_tools: bool
    repairs_allowed: bool
    choices: frozenset[str]
    simple_level: str  # of schemas; "" where the client's are sent as they are
    keeps_history: bool  # verbatim: nothing of it is merged, moved or trimmed
    output_limit: OutputLimit
    # The policy could not be read again for a while, so that its careful form holds.
    is_aged: bool
    _risks: dict[str, Risk] = field(default_factory=dict, repr=False, compare=False)

    @property
    def offers_tools(self) -> bool:
        return bool(self.allowed)

    @property
    def stage(self) -> str:
        return str(self.endpoint.policy["stage"])

    @cached_property
    def reason(self) -> str:
        """Why tools are withheld, in one sentence for people and models."""
        if self.is_aged:
            return "Toolgauge's policy could not be refreshed, so only tools that read are allowed."
        modes = ", ".join(mode for mode in self.modes if mode in ("read_only_tools", "no_tools"))
        return (
            f"The endpoint {self.endpoint.slug} has the fallback mode {modes}."
            if modes
            else f"The endpoint {self.endpoint.slug} is trusted at the stage {self.stage}."
        )

    @cached_property
    def modes(self) -> tuple[str, ...]:
        return tuple(self.endpoint.policy["modes"]["effective"])

    def risk_of(self, name: str) -> Risk:
        """The risk class of a tool, by its name."""
        if name not in self._risks:
            if len(self._risks) >= _REMEMBERED_NAMES:
                self._risks.clear()
            self._risks[name] = classify_tool(name, self.rules).risk
        return self._risks[name]

    def allows(self, name: str) -> bool:
        return self.risk_of(name) in self.allowed


class PlanCache:
    """The plans of the endpoints of the current snapshot."""

    def __init__(self) -> None:
        self._plans: dict[tuple[str, bool], Plan] = {}

    def plan_for(self, endpoint: LiveEndpoint, *, is_aged: bool) -> Plan:
        plan = self._plans.get((endpoint.slug, is_aged))
        # Every snapshot has new objects, so that identity is enough.
        if plan is None or plan.endpoint is not endpoint:
            plan = self._plans[endpoint.slug, is_aged] = build_plan(endpoint, is_aged=is_aged)
        return plan


def build_plan(endpoint: LiveEndpoint, *, is_aged: bool = False) -> Plan:
    """Compile the policy of an endpoint."""
    policy, provider = endpoint.policy, Provider(endpoint.provider)
    target = Target(provider, endpoint.url, endpoint.model, dialect=endpoint.dialect)
    measured = {"reasoning_replay": _measured(endpoint, "reasoning_replay")}
    allowed = frozenset(Risk(name) for name in policy["risk"]["allowed"])
    operators = [RiskRule(each["pattern"], Risk(each["risk"])) for each in policy["risk"]["rules"]]
    return Plan(
        endpoint=endpoint,
        adapter=adapter_for(provider),
        dialect=override_dialect(target.resolve_dialect(), measured),
        allowed=allowed & {Risk.READ} if is_aged else allowed,
        rules=(*operators, *DEFAULTS),
        max_calls=1 if is_aged else int(policy["parallel"]["max_calls_per_turn"]),
        streams_tools=bool(policy["streaming"]["tools"]) and not is_aged,
        repairs_allowed=bool(policy["validation"]["repairs_allowed"]) and not is_aged,
        choices=frozenset(policy["tool_choice"]),
        simple_level=str(policy["schema"]["level"]) if policy["schema"]["simplify"] else "",
        keeps_history=bool(policy["replay"]["verbatim"]) or is_aged,
        output_limit=_output_limit(endpoint),
        is_aged=is_aged,
    )


def _output_limit(endpoint: LiveEndpoint) -> OutputLimit:
    name, cap = (
        _measured(endpoint, "output_limit_parameter"),
        _measured(endpoint, "output_limit_cap"),
    )
    return OutputLimit(name if isinstance(name, str) else "", cap if isinstance(cap, int) else None)


def _measured(endpoint: LiveEndpoint, name: str) -> Any:
    """The measured value of a capability; None if it is unknown or unsettled."""
    entry = endpoint.capabilities.get(name)
    return entry.get("value") if isinstance(entry, Mapping) else None
