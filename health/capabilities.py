"""The capability profile of an endpoint, derived from the attempts of its runs.

A field is never guessed: without enough evidence it is unknown, and where the trials contradict
each other it is unsettled. Every value has the number of trials and of those that agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from health.capability import (
    UNKNOWN,
    UNSETTLED,
    Capability,
    is_clear,
    settle_booleans,
    settle_values,
)
from health.capability import attempt_ids as _ids
from health.client_view import find_deviations
from health.parallel import derive_parallel
from health.streaming import derive_streaming
from probes.adapters import FORMATS
from probes.messages import JSON
from probes.outcomes import LIMIT_FACT, Attempt, FindingKind, Metric, Outcome, Verdict
from probes.parsers import JSON_BODIES
from probes.suite.turn_judge import Arrival

# Without any call in this many turns that expect one, the endpoint makes no calls.
MIN_TURNS = 3
RELIABLE = 0.8
# The share of the turns with a call that have it in one format; as the gate of parse success.
MAIN_FORMAT = 0.8
FULL_SCHEMAS = "strict_json_schema"
# Probes of what a whole JSON Schema has beyond nested objects.
FURTHER_SCHEMAS = ("schema_union", "schema_enum_nested", "schema_ref")
# Refusals that rule out any tool call.
_NO_CALL_REFUSALS = (FindingKind.NO_TOOLS, FindingKind.SERVER_PARSE, FindingKind.ENDPOINT_MISMATCH)
CHOICES = ("auto", "none", "required", "named")


def derive_capabilities(attempts: Sequence[Attempt], wire: str) -> dict[str, Capability]:
    """Derive the capability profile of an endpoint with this wire format."""
    # An attempt without a verdict claims nothing.
    attempts = [attempt for attempt in attempts if attempt.outcome is not Outcome.VOID]
    call_format, parser = _call_format(attempts, wire)
    streaming = _streaming(attempts, parser)
    deviations = _deviations(attempts, wire)
    if streaming.value not in (Arrival.WORKS, UNKNOWN):
        # Callers are told to fetch tool turns whole, so the other fields describe whole answers.
        attempts = [attempt for attempt in attempts if not attempt.facts.get("streamed")]
        call_format, parser = _call_format(_without_streamed_turns(attempts), wire)
    dead = call_format.value == "none"
    capabilities = {
        "schema_level": _schema_level(attempts, dead=dead),
        "tool_call_format": call_format,
        "parser": replace(call_format, value=parser),
        **derive_parallel(attempts),
        "reasoning_replay": _replay(attempts, dead=dead),
        "supports_streaming_tool_use": _supports_streaming(streaming),
        "error_repair": _repair(attempts),
        "result_use": _reliability(attempts, Metric.RESULT_USE),
        "value_fidelity": _reliability(attempts, Metric.VALUE_FIDELITY),
        "tool_choice": Capability([]) if dead else _choices(attempts),
        "streaming": streaming,
        "deviations": deviations,
    }
    return capabilities | _limits(attempts) | _output_limit(attempts)


def text_format(capabilities: Mapping[str, Capability]) -> str | None:
    """The text format of an endpoint's calls; "" if they come on the wire, None if none came.

    Determined when a profile begins: a later run in which every call leaks is a degradation.
    """
    call_format, parser = capabilities["tool_call_format"], capabilities["parser"].value
    if not call_format.trials or call_format.value == UNKNOWN:
        return None
    if isinstance(parser, str):
        return parser
    # A split between text formats, without any call on the wire, does not determine it.
    is_text = call_format.unsettled and not set(call_format.counts) & set(FORMATS)
    return None if is_text else ""


def settle_verdicts(attempts: Iterable[Attempt], parser: str | None) -> list[Verdict]:
    """The verdicts of all attempts; a call in the endpoint's usual text format counts as parsed."""
    return [
        Verdict(verdict.metric, good=True)
        if parser and verdict.metric is Metric.PARSE_SUCCESS and verdict.parser == parser
        else verdict
        for attempt in attempts
        for verdict in attempt.verdicts
    ]


def _without_streamed_turns(attempts: Iterable[Attempt]) -> list[Attempt]:
    """The attempts whose turns all came whole."""
    return [a for a in attempts if "streamed" not in (a.facts.get("turns") or ())]  # type: ignore[operator]


def _turn_formats(attempts: Sequence[Attempt]) -> list[tuple[Attempt, str | None]]:
    """The call format of every turn that expected a call, with its attempt."""
    return [
        (attempt, form if isinstance(form, str) else None)
        for attempt in attempts
        for form in _list(attempt.facts.get("formats"))
    ]


def _call_format(attempts: Sequence[Attempt], wire: str) -> tuple[Capability, str | None]:
    """How calls arrive, and the parser of calls that arrive in the text."""
    turns = _turn_formats(attempts)
    formats = Counter(form for _, form in turns if form)
    readable = {form: count for form, count in formats.items() if form != UNKNOWN}
    refusing = [a for a in attempts if any(_has_finding(a, kind) for kind in _NO_CALL_REFUSALS)]
    if not readable:
        return _no_format(turns, refusing), None
    main = max(readable, key=lambda form: readable[form])
    counts: dict[str, JSON] = dict(formats) if len(formats) > 1 else {}
    agreeing = [attempt for attempt, form in turns if form == main]
    if readable[main] < MAIN_FORMAT * formats.total():
        evidence = _ids(attempt for attempt, form in turns if form)
        split = Capability(UNSETTLED, len(turns), len(agreeing), evidence, counts, unsettled=True)
        return split, None
    value = wire if main == wire else "json_text" if main in JSON_BODIES else "xml"
    settled = Capability(value, len(turns), len(agreeing), _ids(agreeing), counts)
    return settled, None if main == wire else main


def _no_format(
    turns: Sequence[tuple[Attempt, str | None]], refusing: Sequence[Attempt]
) -> Capability:
    """No calls at all, or too few turns to tell."""
    if not refusing and len(turns) < MIN_TURNS:
        return Capability(UNKNOWN, len(turns))
    if not turns:
        return Capability("none", len(refusing), len(refusing), _ids(refusing))
    return Capability("none", len(turns), len(turns), _ids(attempt for attempt, _ in turns))


def _schema_level(attempts: Sequence[Attempt], *, dead: bool) -> Capability:
    types = _yes_no(attempts, "fits", "schema_types")
    if dead:
        return Capability("none")
    if types.value is False:
        return _text_level(attempts, types)
    if not types.trials:
        return Capability(UNKNOWN)
    nested = _yes_no(attempts, "fits", "schema_nested")
    further = [_yes_no(attempts, "fits", probe) for probe in FURTHER_SCHEMAS]
    if types.unsettled or nested.unsettled or (nested.value and any(p.unsettled for p in further)):
        return _split_level(types, nested, *further)
    if nested.value and all(part.value is not False for part in further):
        return _all_of(FULL_SCHEMAS, types, nested, *further)
    refuted = [part for part in further if nested.value and part.value is False]
    return _flat_level(attempts, types, *refuted)


def leaves_schema_level(stored: Mapping[str, Any], measured: Capability) -> bool:
    """Whether a run without the further probes leaves the lower level that these measured."""
    asked, decided = (
        any(str(id_).rpartition("/")[0] in FURTHER_SCHEMAS for id_ in evidence)
        for evidence in (measured.evidence, stored.get("evidence") or ())
    )
    is_raised = measured.value == FULL_SCHEMAS and stored.get("value") != FULL_SCHEMAS
    return is_raised and decided and not asked


def _flat_level(attempts: Sequence[Attempt], types: Capability, *refuted: Capability) -> Capability:
    """Arguments keep their types, but full schemas do not work or were not tried.

    `refuted` are the further schemas that do not work where nested objects do.
    """
    simplified = _yes_no(attempts, "simplified", "schema_nested")
    if simplified.unsettled:
        return _split_level(types, simplified)
    if simplified.value:
        return _all_of("simple_object", types, simplified, *refuted)
    # Without trials, so that the level of an earlier run stays.
    return Capability(UNKNOWN)


def _text_level(attempts: Sequence[Attempt], types: Capability) -> Capability:
    """Arguments lose their types: do at least strings fit?"""
    unfit = (FindingKind.SCHEMA_MISMATCH, FindingKind.UNKNOWN_TOOL)
    strings = settle_booleans(
        [
            (a, not any(_has_finding(a, kind) for kind in unfit))
            for a in attempts
            if a.probe == "format" and _list(a.facts.get("formats"))
        ]
    )
    if strings.unsettled:
        return _split_level(strings)
    if strings.value:
        return replace(strings, value="string_only")
    return Capability("none", types.trials, types.agree, types.evidence)


def _split_level(*parts: Capability) -> Capability:
    """Arguments fit their schema in some trials and not in others."""
    whole = _all_of(UNSETTLED, *parts)
    fits = sum(_count_true(part) for part in parts)
    counts: dict[str, JSON] = {"fits": fits, "does_not_fit": whole.trials - fits}
    return replace(whole, agree=max(fits, whole.trials - fits), counts=counts, unsettled=True)


def _count_true(part: Capability) -> int:
    if part.counts:
        return int(str(part.counts.get("true", 0)))
    return part.agree if part.value else part.trials - part.agree


def _all_of(value: str, *parts: Capability) -> Capability:
    measured = [part for part in parts if part.trials]
    return Capability(
        value,
        sum(part.trials for part in measured),
        sum(part.agree for part in measured),
        tuple(id_ for part in measured for id_ in part.evidence),
    )


def _streaming(attempts: Sequence[Attempt], parser: str | None) -> Capability:
    result = derive_streaming(attempts, parser)
    agreeing = result.agreeing
    evidence = _ids(turn.attempt for turn in (agreeing or result.turns))
    is_split = result.value == UNSETTLED
    return Capability(
        result.value, len(result.turns), len(agreeing), evidence, result.counts, unsettled=is_split
    )


def _deviations(attempts: Sequence[Attempt], wire: str) -> Capability:
    """Every deviation from the wire format; None if no answer was judged."""
    judged = [attempt for attempt in attempts if "turns" in attempt.facts]
    found = find_deviations(attempts, wire)
    ids = {id_ for deviation in found for id_ in deviation.attempts}
    value: JSON = [deviation.as_json() for deviation in found] if judged else None
    evidence = tuple(id_ for id_ in _ids(judged) if id_ in ids)
    return Capability(value, len(judged), len(judged) - len(evidence), evidence)


def _supports_streaming(streaming: Capability) -> Capability:
    """True only if streams work, and None where that is not settled."""
    if streaming.value in (UNKNOWN, UNSETTLED):
        return replace(streaming, value=None)
    return replace(streaming, value=streaming.value == Arrival.WORKS)


def _repair(attempts: Sequence[Attempt]) -> Capability:
    tried = [a for a in attempts if "tries" in a.facts]
    if not tried:
        return Capability(UNKNOWN)
    first_try = [a for a in tried if a.facts["tries"] == 1]
    corrected = [a for a in tried if a.facts["tries"] is not None]
    if len(first_try) >= RELIABLE * len(tried):
        return Capability("reliable", len(tried), len(first_try), _ids(first_try))
    if corrected:
        return Capability("limited", len(tried), len(corrected), _ids(corrected))
    return Capability("none", len(tried), len(tried), _ids(tried))


def _reliability(attempts: Sequence[Attempt], metric: Metric) -> Capability:
    """How far a caller can rely on the trials of a metric to go well."""
    trials = [(a, v.good) for a in attempts for v in a.verdicts if v.metric is metric]
    if not trials:
        return Capability(UNKNOWN)
    good = [attempt for attempt, is_good in trials if is_good]
    if is_clear(len(good), len(trials)):
        return Capability("reliable", len(trials), len(good), _ids(good))
    if good:
        return Capability("limited", len(trials), len(good), _ids(a for a, _ in trials))
    return Capability("none", len(trials), len(trials), _ids(a for a, _ in trials))


def _replay(attempts: Sequence[Attempt], *, dead: bool) -> Capability:
    replays = [(a, facts) for a in attempts if isinstance(facts := a.facts.get("replay"), Mapping)]
    if not replays:
        return Capability("none" if dead else UNKNOWN)
    rules: list[tuple[Attempt, JSON]] = []
    for is_evidence in (_shows_later_turns, _shows_reasoning, lambda _: True):
        # A trial that saw less does not contradict one that saw more.
        rules = rules or [(a, _replay_rule(f)) for a, f in replays if is_evidence(f)]
    return settle_values([(attempt, rule) for attempt, rule in rules if rule is not None])


def _shows_later_turns(facts: Mapping[str, JSON]) -> bool:
    return _shows_reasoning(facts) and ("next_dropped" in facts or facts.get("kept") != "taken")


def _shows_reasoning(facts: Mapping[str, JSON]) -> bool:
    return _replay_rule(facts) not in ("none", UNKNOWN)


def _replay_rule(facts: Mapping[str, JSON]) -> str | None:
    """The replay rule that one set of branches proves; None if a branch is missing."""
    if not facts.get("reasoned"):
        return "none"
    kept, dropped = facts.get("kept"), facts.get("dropped")
    if kept != "taken":
        return "rejected" if dropped == "taken" else "unknown"
    # A next turn that is refused with all reasoning is refused for something else.
    later = facts.get("next_dropped") if facts.get("next_kept") == "taken" else None
    if later is not None and later != "taken":
        return "required_all_turns"
    if dropped != "taken":
        # Without a later turn it is open whether earlier reasoning is required there too.
        return None if later is None else "required_same_turn"
    return "tolerated"


def _choices(attempts: Sequence[Attempt]) -> Capability:
    measured = [
        (a, facts) for a in attempts if isinstance(facts := a.facts.get("choices"), Mapping)
    ]
    if not measured:
        return Capability(None)
    settled = {
        choice: settle_booleans([(a, facts.get(choice) == "works") for a, facts in measured])
        for choice in CHOICES
    }
    split = {choice: dict(part.counts) for choice, part in settled.items() if part.unsettled}
    return Capability(
        # A choice that works at times is not listed.
        [choice for choice, part in settled.items() if part.value],
        sum(part.trials for part in settled.values()),
        sum(part.agree for part in settled.values()),
        _ids(a for a, _ in measured),
        split,
        unsettled=bool(split),
    )


def _limits(attempts: Sequence[Attempt]) -> dict[str, Capability]:
    """Further fields, each the fact of its probe."""
    sources = {
        "parallel_switch": "off",
        "accepts": "accepts",
        "id_forms": "ids",
        "trimmed_history": "trimmed",
        "violations": "violations",
        # Where system messages work, and the text format that works for tools in the prompt.
        "system_position": "system_position",
        "prompted_tools": "prompted",
        # How results reach the model, and what happens to an image in one.
        "result_role": "result_role",
        "image_result": "image_result",
    }
    return {name: _common(attempts, key) for name, key in sources.items()}


def _output_limit(attempts: Sequence[Attempt]) -> dict[str, Capability]:
    """The name of the limit of output tokens, and its highest value if a refusal stated it."""
    limits = [(a, a.facts[LIMIT_FACT]) for a in attempts if LIMIT_FACT in a.facts]
    taken = [(a, limit) for a, limit in limits if isinstance(limit, Mapping)]
    if not taken:
        return {
            "output_limit_parameter": Capability(UNKNOWN),
            "output_limit_cap": Capability(None),
        }
    parameter = taken[-1][1].get("parameter")
    agreeing = [a for a, limit in taken if limit.get("parameter") == parameter]
    caps = [cap for _, limit in taken if isinstance(cap := limit.get("cap"), int)]
    evidence = len(taken), len(agreeing), _ids(agreeing)
    return {
        "output_limit_parameter": Capability(parameter, *evidence),
        "output_limit_cap": Capability(min(caps) if caps else None, *evidence),
    }


def _common(attempts: Sequence[Attempt], key: str) -> Capability:
    seen = [(a, fact) for a in attempts if (fact := a.facts.get(key)) is not None]
    parts = [(a, fact) for a, fact in seen if isinstance(fact, Mapping)]
    return _settle_parts(parts) if parts else settle_values(seen)


def _settle_parts(seen: Sequence[tuple[Attempt, Mapping[str, JSON]]]) -> Capability:
    """A value per part; a part that the trials do not settle is None or "unsettled"."""
    names = dict.fromkeys(name for _, facts in seen for name in facts)
    parts = {
        name: _settle_part([(a, facts[name]) for a, facts in seen if name in facts])
        for name in names
    }
    split = {name: dict(part.counts) for name, part in parts.items() if part.unsettled}
    value: JSON = {name: part.value for name, part in parts.items()}
    agreeing = [a for a, facts in seen if facts == value]
    evidence = _ids(agreeing or [a for a, _ in seen])
    return Capability(value, len(seen), len(agreeing), evidence, split, unsettled=bool(split))


def _settle_part(seen: Sequence[tuple[Attempt, JSON]]) -> Capability:
    is_text = any(isinstance(value, str) for _, value in seen)
    return settle_values(seen, unsettled=UNSETTLED if is_text else None)


def _yes_no(attempts: Sequence[Attempt], key: str, probe: str) -> Capability:
    return settle_booleans(
        [
            (attempt, fact)
            for attempt in attempts
            if attempt.probe == probe and isinstance(fact := attempt.facts.get(key), bool)
        ]
    )


def _has_finding(attempt: Attempt, kind: FindingKind) -> bool:
    return any(finding.kind is kind for finding in attempt.findings)


def _list(value: JSON) -> Sequence[JSON]:
    return value if isinstance(value, list | tuple) else ()
