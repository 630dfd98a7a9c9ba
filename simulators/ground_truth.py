"""What a correct prober must find out about a vendor, told by the vendor itself."""

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
from simulators.vendors.thinking_switches import thinks
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
# Metrics of what an answer says: faults that move them at times make two answers differ.
CONTENT = frozenset({Metric.PARSE_SUCCESS, Metric.SCHEMA_FAILURE, Metric.PARALLEL_DOWNGRADE})
# Servers that show their chat template; for the others a key has none.
SHOW_TEMPLATE = ("llamacpp", "ollama")


@dataclass(frozen=True, slots=True)
class GroundTruth:
    """Capabilities, the share of bad trials of each metric, and the fields that chance decides.

    A share is None where it depends on what is asked.
    """

    spec: Spec  # as it is at that time
    capabilities: Mapping[str, JSON]
    failures: Mapping[Metric, float | None]
    undetermined: tuple[str, ...] = ()


def compute_truth(
    vendor: Vendor, model: str, options: Mapping[str, JSON], at: float
) -> GroundTruth:
    """The truth about one model of a vendor at a time, for requests that carry the options."""
    spec = vendor.spec
    shares = [
        (switch, share)
        for switch in vendor.switches
        if spec.format in switch.fault.formats and (share := switch.schedule.share(at))
    ]
    for switch, share in shares:
        spec = switch.hooks.spec(spec) if share >= 1 else spec
    found = spec.model(model)
    capabilities = _capabilities(spec, found, thinks(found, spec.switch(options)))
    undetermined: set[str] = set()
    for switch, share in shares:
        if share >= 1:
            capabilities |= switch.fault.effect.fields
        else:
            undetermined |= set(switch.fault.effect.fields)
    # Without calls nothing has to come back, and a call that left as text lost its signature.
    unsigned = bool(capabilities["parser"]) and found.replay is ReplayDuty.SIGNATURES
    if capabilities["tool_call_format"] == "none" or unsigned:
        capabilities["reasoning_replay"] = "none"
    failures = _failures(shares)
    if failures[Metric.AVAILABILITY] == 1:
        capabilities |= NOTHING_KNOWN
    duty, guess = str(capabilities["reasoning_replay"]), _guess(spec)
    if (duty == "rejected" and guess) or (duty.startswith("required") and not guess):
        failures[Metric.REASONING_REPLAY_ERROR] = 1
    if not found.takes_tools:
        failures[Metric.PARSE_SUCCESS] = 1
    if failures[Metric.STREAM_DISAGREEMENT] is None:
        undetermined.add("supports_streaming_tool_use")
    return GroundTruth(spec, capabilities, failures, tuple(sorted(undetermined)))


def _guess(spec: Spec) -> ReplayRule | None:
    """Which reasoning a client sends back that knows the provider and nothing else."""
    rule = DIALECTS[Provider(spec.provider)].replay
    return None if rule is ReplayRule.NONE else rule


def _failures(shares: Sequence[tuple[FaultSwitch, float]]) -> dict[Metric, float | None]:
    failures: dict[Metric, float | None] = dict.fromkeys(Metric, 0.0)
    for switch, share in shares:
        effect = switch.fault.effect
        for metric, hit in effect.metrics.items():
            # Calls that always come in one text format are read from it, and count as read.
            if share >= 1 and effect.fields.get("parser") and metric is Metric.PARSE_SUCCESS:
                continue
            before = failures[metric]
            both = None if hit is None or before is None else 1 - (1 - before) * (1 - share * hit)
            failures[metric] = both
        if share < 1 and set(effect.metrics) & CONTENT:
            # A stream and a whole answer are bent apart from each other.
            failures[Metric.STREAM_DISAGREEMENT] = None
    for switch, share in shares:
        if (leak := failures[Metric.LEAK]) and _is_silent(switch.fault.effect):
            # Where no call is made, none can leak.
            failures[Metric.LEAK] = leak * (1 - share)
    schema, blocked = failures[Metric.SCHEMA_FAILURE], failures[Metric.UNSAFE_BLOCKED]
    # Whatever breaks its schema is also what a validator has to block.
    failures[Metric.UNSAFE_BLOCKED] = (
        None if schema is None or blocked is None else 1 - (1 - schema) * (1 - blocked)
    )
    return failures


def _is_silent(effect: Effect) -> bool:
    return effect.metrics.get(Metric.PARSE_SUCCESS) == 1 and Metric.LEAK not in effect.metrics


def truth_page(vendors: Mapping[str, Vendor]) -> Callable[[Request], Awaitable[Response]]:
    """`GET /_truth/<vendor>?model=&options=&at=`."""

    async def page(request: Request) -> Response:
        vendor = vendors.get(request.path_params["vendor"])
        if vendor is None:
            names = ", ".join(vendors)
            message = f"There is no such vendor; there are {names}."
            return JSONResponse({"error": {"message": message}}, 404)
        try:
            return JSONResponse(_told(vendor, request))
        except (RequestRefused, ValueError, TypeError, AttributeError) as exc:
            return JSONResponse({"error": {"message": str(exc)}}, 400)

    return page


def _told(vendor: Vendor, request: Request) -> dict[str, JSON]:
    query = request.query_params
    spec = vendor.spec
    model = query.get("model") or next(iter(spec.models))
    at = float(query["at"]) if "at" in query else vendor.clock.now()
    options: dict[str, JSON] = json.loads(query.get("options", "{}"))
    found = compute_truth(vendor, model, options, at)
    root = str(request.scope.get("root_path", "")).partition("/_truth")[0]
    return {
        "vendor": spec.name,
        "provider": spec.provider,
        "model": model,
        "base_path": f"{root}{spec.mount}{spec.prefix}",
        "at": at,
        "capabilities": dict(found.capabilities),
        "undetermined": list(found.undetermined),
        "metrics": {
            str(metric): {"rate": _rate(metric, bad)} for metric, bad in found.failures.items()
        },
        "chat_template_hash": _template_hash(found.spec),
        "faults": [
            {"name": switch.fault.name, "share": switch.schedule.share(at)}
            for switch in vendor.switches
        ],
    }


def _rate(metric: Metric, bad: float | None) -> float | None:
    if bad is None:
        return None
    return 1 - bad if metric in HIGH_IS_GOOD else bad


def _capabilities(spec: Spec, model: Model, thinking: bool) -> dict[str, JSON]:
    choices = spec.thinking_choices if thinking and spec.thinking_choices else spec.choices
    able = model.takes_tools
    replay = REPLAYS[model.replay]
    if not able or (not thinking and model.replay is not ReplayDuty.SIGNATURES):
        replay = "none"
    return {
        "schema_level": "strict_json_schema" if able else "none",
        "tool_call_format": spec.format if able else "none",
        "parser": None,
        "supports_parallel_tool_use": True if able else None,
        "reasoning_replay": replay,
        "supports_streaming_tool_use": True if able else None,
        "error_repair": "reliable" if able else "unknown",
        "tool_choice": list(choices) if able else [],
    }


def _template_hash(spec: Spec) -> str | None:
    if spec.name not in SHOW_TEMPLATE:
        return None
    return sha256(spec.template.encode()).hexdigest()
