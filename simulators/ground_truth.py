"""What a correct prober must conclude about a vendor, computed from its configuration."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from probes.dialects import DIALECTS, ReplayRule
from probes.messages import JSON
from probes.outcomes import Metric
from probes.target import Provider
from simulators.faults.effects import NOTHING_KNOWN
from simulators.faults.fault import Effect
from simulators.faults.fault_switch import FaultSwitch
from simulators.vendors.error_envelopes import RequestRefused
from simulators.vendors.model_traits import Model, ReplayDuty
from simulators.vendors.spec import Spec
from simulators.vendors.thinking_switches import is_thinking
from simulators.vendors.vendor import Vendor

# Metrics whose rate counts what went well.
HIGH_IS_GOOD = (Metric.PARSE_SUCCESS, Metric.REPAIR_SUCCESS, Metric.AVAILABILITY)
REPLAYS = {
    ReplayDuty.FREE: "tolerated",
    ReplayDuty.SAME_TURN: "required_same_turn",
    ReplayDuty.ALL_TURNS: "required_all_turns",
    ReplayDuty.CALL_TURNS: "required_all_turns",
    ReplayDuty.SIGNATURES: "required_same_turn",
    ReplayDuty.ITEMS: "required_all_turns",
}
# Metrics of an answer's content: a fault that changes them at times makes two answers differ.
CONTENT_METRICS = frozenset(
    {Metric.PARSE_SUCCESS, Metric.SCHEMA_FAILURE, Metric.PARALLEL_DOWNGRADE}
)
# Servers that expose their chat template; others have no template hash.
SHOW_TEMPLATE = ("llamacpp", "ollama")


@dataclass(frozen=True, slots=True)
class GroundTruth:
    """Capabilities, the failure rate per metric, and the fields that depend on chance.

    A rate is None where it depends on the request.
    """

    spec: Spec  # with the faults of that time applied
    capabilities: Mapping[str, JSON]
    failures: Mapping[Metric, float | None]
    undetermined: tuple[str, ...] = ()


def compute_truth(
    vendor: Vendor, model: str, options: Mapping[str, JSON], at: float
) -> GroundTruth:
    """The truth about one model of a vendor at the time `at`, for requests with these options."""
    spec = vendor.spec
    shares = [
        (switch, share)
        for switch in vendor.switches
        if spec.format in switch.fault.formats and (share := switch.schedule.share(at))
    ]
    for switch, share in shares:
        spec = switch.hooks.spec(spec) if share >= 1 else spec
    traits = spec.find_model(model)
    capabilities = _capabilities(spec, traits, is_thinking(traits, spec.thinking_switch(options)))
    undetermined: set[str] = set()
    for switch, share in shares:
        if share >= 1:
            capabilities |= switch.fault.effect.fields
        else:
            undetermined |= set(switch.fault.effect.fields)
    # Without calls there is nothing to replay, and a call sent as text has lost its signature.
    unsigned = bool(capabilities["parser"]) and traits.replay is ReplayDuty.SIGNATURES
    if capabilities["tool_call_format"] == "none" or unsigned:
        capabilities["reasoning_replay"] = "none"
    failures = _failure_rates(shares)
    if failures[Metric.AVAILABILITY] == 1:
        capabilities |= NOTHING_KNOWN
    replay, assumed_rule = str(capabilities["reasoning_replay"]), _assumed_replay_rule(spec)
    if (replay == "rejected" and assumed_rule) or (
        replay.startswith("required") and not assumed_rule
    ):
        failures[Metric.REASONING_REPLAY_ERROR] = 1
    if not traits.takes_tools:
        failures[Metric.PARSE_SUCCESS] = 1
    if failures[Metric.STREAM_DISAGREEMENT] is None:
        undetermined.add("supports_streaming_tool_use")
    return GroundTruth(spec, capabilities, failures, tuple(sorted(undetermined)))


def _assumed_replay_rule(spec: Spec) -> ReplayRule | None:
    """The replay rule of a client that knows only the provider."""
    rule = DIALECTS[Provider(spec.provider)].replay
    return None if rule is ReplayRule.NONE else rule


def _failure_rates(shares: Sequence[tuple[FaultSwitch, float]]) -> dict[Metric, float | None]:
    failures: dict[Metric, float | None] = dict.fromkeys(Metric, 0.0)
    for switch, share in shares:
        effect = switch.fault.effect
        for metric, rate in effect.metrics.items():
            # Calls that always arrive in one text format are parsed from it and count as successes.
            if share >= 1 and effect.fields.get("parser") and metric is Metric.PARSE_SUCCESS:
                continue
            previous = failures[metric]
            combined = (
                None
                if rate is None or previous is None
                else 1 - (1 - previous) * (1 - share * rate)
            )
            failures[metric] = combined
        if share < 1 and set(effect.metrics) & CONTENT_METRICS:
            # The fault acts independently on the streamed and on the whole answer.
            failures[Metric.STREAM_DISAGREEMENT] = None
    for switch, share in shares:
        if (leak := failures[Metric.LEAK]) and _is_silent(switch.fault.effect):
            # An answer without a call has nothing to leak.
            failures[Metric.LEAK] = leak * (1 - share)
    schema, blocked = failures[Metric.SCHEMA_FAILURE], failures[Metric.UNSAFE_BLOCKED]
    # A validator must also block every call that breaks its schema.
    failures[Metric.UNSAFE_BLOCKED] = (
        None if schema is None or blocked is None else 1 - (1 - schema) * (1 - blocked)
    )
    return failures


def _is_silent(effect: Effect) -> bool:
    return effect.metrics.get(Metric.PARSE_SUCCESS) == 1 and Metric.LEAK not in effect.metrics


def truth_page(vendors: Mapping[str, Vendor]) -> Callable[[Request], Awaitable[Response]]:
    """`GET /_truth/<vendor>?model=&options=&at=`."""

    async def show_truth(request: Request) -> Response:
        vendor = vendors.get(request.path_params["vendor"])
        if vendor is None:
            names = ", ".join(vendors)
            message = f"There is no such vendor; there are {names}."
            return JSONResponse({"error": {"message": message}}, 404)
        try:
            return JSONResponse(_describe_truth(vendor, request))
        except (RequestRefused, ValueError, TypeError, AttributeError) as exc:
            return JSONResponse({"error": {"message": str(exc)}}, 400)

    return show_truth


def _describe_truth(vendor: Vendor, request: Request) -> dict[str, JSON]:
    query = request.query_params
    spec = vendor.spec
    model = query.get("model") or next(iter(spec.models))
    at = float(query["at"]) if "at" in query else vendor.clock.now()
    options: dict[str, JSON] = json.loads(query.get("options", "{}"))
    truth = compute_truth(vendor, model, options, at)
    root = str(request.scope.get("root_path", "")).partition("/_truth")[0]
    return {
        "vendor": spec.name,
        "provider": spec.provider,
        "model": model,
        "base_path": f"{root}{spec.mount}{spec.prefix}",
        "at": at,
        "capabilities": dict(truth.capabilities),
        "undetermined": list(truth.undetermined),
        "metrics": {
            str(metric): {"rate": _rate(metric, failure_rate)}
            for metric, failure_rate in truth.failures.items()
        },
        "chat_template_hash": _template_hash(truth.spec),
        "faults": [
            {"name": switch.fault.name, "share": switch.schedule.share(at)}
            for switch in vendor.switches
        ],
    }


def _rate(metric: Metric, failure_rate: float | None) -> float | None:
    if failure_rate is None:
        return None
    return 1 - failure_rate if metric in HIGH_IS_GOOD else failure_rate


def _capabilities(spec: Spec, model: Model, thinking: bool) -> dict[str, JSON]:
    choices = spec.thinking_choices if thinking and spec.thinking_choices else spec.choices
    takes_tools = model.takes_tools
    replay = REPLAYS[model.replay]
    if not takes_tools or (not thinking and model.replay is not ReplayDuty.SIGNATURES):
        replay = "none"
    return {
        "schema_level": "strict_json_schema" if takes_tools else "none",
        "tool_call_format": spec.format if takes_tools else "none",
        "parser": None,
        "supports_parallel_tool_use": True if takes_tools else None,
        "reasoning_replay": replay,
        "supports_streaming_tool_use": True if takes_tools else None,
        "error_repair": "reliable" if takes_tools else "unknown",
        "tool_choice": list(choices) if takes_tools else [],
    }


def _template_hash(spec: Spec) -> str | None:
    if spec.name not in SHOW_TEMPLATE:
        return None
    return sha256(spec.template.encode()).hexdigest()
