"""What a correct prober must conclude about a vendor, computed from its configuration."""

from __future__ import annotations

import json
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from probes.messages import JSON, ModelCall, Reasoning
from probes.outcomes import Metric
from simulators.faults.effects import NOTHING_KNOWN
from simulators.faults.fault import Effect
from simulators.faults.fault_switch import FaultSwitch
from simulators.vendors.error_envelopes import RequestRefused
from simulators.vendors.model_traits import Model, ReplayDuty, ThinkingMode
from simulators.vendors.spec import Spec
from simulators.vendors.thinking_switches import is_thinking
from simulators.vendors.vendor import Vendor

# Metrics whose rate counts what went well.
HIGH_IS_GOOD = (
    Metric.PARSE_SUCCESS,
    Metric.REPAIR_SUCCESS,
    Metric.AVAILABILITY,
    Metric.RESULT_USE,
    Metric.VALUE_FIDELITY,
)
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
    {
        Metric.PARSE_SUCCESS,
        Metric.SCHEMA_FAILURE,
        Metric.PARALLEL_DOWNGRADE,
        Metric.VALUE_FIDELITY,
    }
)
# Capabilities that do not depend on tools.
WITHOUT_TOOLS = {"prompted_tools", "system_position"}
# Servers that expose their chat template; others have no template hash.
SHOW_TEMPLATE = ("llamacpp", "llamacpp-messages", "llamacpp-responses", "ollama")


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
    capabilities = _capabilities(spec, model, options)
    effects = _configured_effects(shares)
    undetermined = _effects_of_chance(effects)
    for switch, share in shares:
        if share < 1:
            changed = _capabilities(switch.hooks.spec(spec), model, options)
            undetermined |= {name for name in changed if changed[name] != capabilities[name]}
    lasting = [effect for effect, share in effects if share >= 1]
    fields = _combine_fields(lasting, capabilities)
    kept = fields if traits.takes_tools else fields.keys() & WITHOUT_TOOLS
    capabilities |= {name: fields[name] for name in kept}
    capabilities["reasoning_replay"] = _replay_rule(capabilities, traits, lasting)
    failures = _failure_rates(effects)
    if _shows_reasoning(spec, model, options):
        failures |= _bare_reasoning(effects, failures, traits)
    capabilities |= _limit_results(capabilities, failures)
    if failures[Metric.AVAILABILITY] == 1 or any(e.fields == NOTHING_KNOWN for e in lasting):
        capabilities |= NOTHING_KNOWN
    if not traits.takes_tools:
        undetermined &= WITHOUT_TOOLS
        failures[Metric.PARSE_SUCCESS] = 1
    if "reasoning_replay" in undetermined and not failures[Metric.REASONING_REPLAY_ERROR]:
        # The rule of one request is not that of the next.
        failures[Metric.REASONING_REPLAY_ERROR] = None
    if failures[Metric.STREAM_DISAGREEMENT] is None:
        undetermined |= {"supports_streaming_tool_use", "streaming"}
    return GroundTruth(spec, capabilities, failures, tuple(sorted(undetermined)))


def _effects_of_chance(effects: Sequence[tuple[Effect, float]]) -> set[str]:
    """The fields that faults change at times, or that depend on the reader."""
    changed = {name for effect, share in effects if share < 1 for name in effect.fields}
    if any(effect.hides_replay and share < 1 for effect, share in effects):
        changed.add("reasoning_replay")
    return changed | {name for effect, _ in effects for name in effect.varying}


def _replay_rule(
    capabilities: Mapping[str, JSON], traits: Model, effects: Sequence[Effect]
) -> JSON:
    rule = capabilities["reasoning_replay"]
    if capabilities["tool_call_format"] == "none":
        # Without calls there is nothing to replay.
        return "none"
    if any(effect.shows_reasoning for effect in effects):
        return "tolerated" if rule == "none" else rule
    if capabilities["parser"] and traits.replay is ReplayDuty.SIGNATURES:
        # A call sent as text has lost its signature.
        return "none"
    hidden = any(effect.hides_replay for effect in effects)
    return "unknown" if hidden and rule != "none" else rule


def _configured_effects(shares: Sequence[tuple[FaultSwitch, float]]) -> list[tuple[Effect, float]]:
    """The effects of faults and their shares, in a vendor that has all of these faults.

    Where calls always leak, a fault of calls on the wire has none, also another leak.
    """
    leaks = (switch for switch, share in shares if share >= 1 and switch.fault.effect.leaks)
    first_leak = next(leaks, None)
    return [
        (_find_effect(switch.fault.effect, leaked=first_leak not in (None, switch)), share)
        for switch, share in shares
    ]


def _find_effect(effect: Effect, *, leaked: bool) -> Effect:
    return effect.in_text if leaked and effect.in_text is not None else effect


def _shows_reasoning(spec: Spec, model: str, options: Mapping[str, JSON]) -> bool:
    """Whether the model's answers have reasoning beside their text."""
    shape = spec.style.shape
    if shape is None or not is_thinking(spec.find_model(model), spec.thinking_switch(options)):
        return False
    # MiniMax's dialect asks for this, unless the options say otherwise.
    fields: Mapping[str, JSON] = {"reasoning_split": True, **options}
    call = ModelCall(model, (), max_tokens=1, extra={spec.format: fields})
    parts = shape("A thought.", call, random.Random(0))
    return any(isinstance(part, Reasoning) for part in parts)


def _limit_results(
    capabilities: Mapping[str, JSON], failures: Mapping[Metric, float | None]
) -> dict[str, JSON]:
    """What cannot be measured without results."""
    if 1 in (failures[Metric.SCHEMA_FAILURE], failures[Metric.PARSE_SUCCESS]):
        # No client has a result for a call that does not fit, or that it cannot read.
        return dict.fromkeys(("result_role", "image_result"), "unknown")
    is_refused = capabilities["result_role"] == "user_text" and failures[Metric.CLOSURE_ERROR] == 1
    if is_refused and capabilities["reasoning_replay"] != "none":
        # No history with a call and its result is answered.
        return {"reasoning_replay": "unknown"}
    return {}


def _combine_fields(effects: Sequence[Effect], capabilities: Mapping[str, JSON]) -> dict[str, JSON]:
    """What faults that all act change: the first leak leaves nothing to leak, silence no call."""
    fields: dict[str, JSON] = {}
    for effect in sorted(effects, key=_is_silent):
        has_leaked = effect.fields.get("parser") and fields.get("parser")
        fields |= {} if has_leaked else effect.fields
    if isinstance(working := fields.get("tool_choice"), list):
        known = capabilities["tool_choice"]
        allowed = known if isinstance(known, list) else []
        fields["tool_choice"] = [choice for choice in working if choice in allowed]
    return fields


def _bare_reasoning(
    effects: Sequence[tuple[Effect, float]],
    failures: Mapping[Metric, float | None],
    traits: Model,
) -> dict[Metric, float | None]:
    """The rate of answers with nothing but reasoning, of a model that shows it."""
    rate = failures[Metric.REASONING_ONLY]
    # Where thinking can be disabled, a client does so for some requests.
    is_fixed = traits.thinking_mode is ThinkingMode.ALWAYS
    for effect, share in effects:
        bare = effect.bare_reasoning if is_fixed else None
        if effect.bare_reasoning != 0:
            rate = None if rate is None or bare is None else 1 - (1 - rate) * (1 - share * bare)
    return {Metric.REASONING_ONLY: rate}


def _failure_rates(effects: Sequence[tuple[Effect, float]]) -> dict[Metric, float | None]:
    failures: dict[Metric, float | None] = dict.fromkeys(Metric, 0.0)
    for effect, share in effects:
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
        if share < 1 and set(effect.metrics) & (CONTENT_METRICS | {Metric.AVAILABILITY}):
            # The fault acts independently on the streamed and on the whole answer.
            failures[Metric.STREAM_DISAGREEMENT] = None
    for effect, share in effects:
        if (leak := failures[Metric.LEAK]) and _is_silent(effect):
            # An answer without a call has nothing to leak.
            failures[Metric.LEAK] = None if _silence(effect) is None else leak * (1 - share)
    schema, blocked = failures[Metric.SCHEMA_FAILURE], failures[Metric.UNSAFE_BLOCKED]
    # A validator must also block every call that breaks its schema.
    failures[Metric.UNSAFE_BLOCKED] = (
        None if schema is None or blocked is None else 1 - (1 - schema) * (1 - blocked)
    )
    return failures


def _is_silent(effect: Effect) -> bool:
    return _silence(effect) != 0 and Metric.LEAK not in effect.metrics


def _silence(effect: Effect) -> float | None:
    """The share of the calls that do not arrive, None where it depends on the request."""
    return effect.metrics.get(Metric.PARSE_SUCCESS, 0)


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


def _capabilities(spec: Spec, name: str, options: Mapping[str, JSON]) -> dict[str, JSON]:
    model = spec.find_model(name)
    thinking = is_thinking(model, spec.thinking_switch(options))
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
        "parallel": "any" if takes_tools else "unknown",
        "reasoning_replay": replay,
        "supports_streaming_tool_use": True if takes_tools else None,
        "streaming": "works" if takes_tools else "unknown",
        "error_repair": "reliable" if takes_tools else "unknown",
        "tool_choice": list(choices) if takes_tools else [],
        "system_position": spec.system_position,
        # Every simulated model follows a format that its prompt describes.
        "prompted_tools": "hermes",
        "result_role": "tool" if takes_tools else "unknown",
        "image_result": spec.image_result if takes_tools else "unknown",
    }


def _template_hash(spec: Spec) -> str | None:
    if spec.name not in SHOW_TEMPLATE:
        return None
    return sha256(spec.template.encode()).hexdigest()
