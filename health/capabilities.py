"""The capability profile of an endpoint, derived from the attempts of its runs.

A field is never guessed: without enough evidence it is unknown. Its value is that of most trials,
with the number of trials and of those that agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from health.rates import rate_interval
from probes.messages import JSON
from probes.outcomes import Attempt, FindingKind, Metric, Verdict
from probes.parsers import JSON_BODIES

# Without any call in this many turns that expect one, the endpoint makes no calls.
MIN_TURNS = 3
RELIABLE = 0.8
# Refusals that rule out any tool call.
_NO_CALL_REFUSALS = (FindingKind.NO_TOOLS, FindingKind.SERVER_PARSE, FindingKind.ENDPOINT_MISMATCH)
CHOICES = ("auto", "none", "required", "named")


@dataclass(frozen=True, slots=True)
class Capability:
    """One field of the profile. `agree` of `trials` trials have this value; evidence: attempts."""

    value: JSON
    trials: int = 0
    agree: int = 0
    evidence: tuple[str, ...] = ()

    def as_json(self) -> dict[str, JSON]:
        low, high = rate_interval(self.agree, self.trials) if self.trials else (None, None)
        return {
            "value": self.value,
            "trials": self.trials,
            "agree": self.agree,
            "low": low,
            "high": high,
            "evidence": list(self.evidence),
        }


def derive_capabilities(attempts: Sequence[Attempt], wire: str) -> dict[str, Capability]:
    """Derive the capability profile of an endpoint with this wire format."""
    call_format = _call_format(attempts, wire)
    parser = _parser(attempts, wire) if call_format.value in ("xml", "json_text") else None
    dead = call_format.value == "none"
    capabilities = {
        "schema_level": _schema_level(attempts, dead=dead),
        "tool_call_format": call_format,
        "parser": Capability(parser, call_format.trials, call_format.agree, call_format.evidence),
        "supports_parallel_tool_use": _parallel(attempts),
        "reasoning_replay": _replay(attempts, dead=dead),
        "supports_streaming_tool_use": _yes_no(attempts, "streams"),
        "error_repair": _repair(attempts),
        "tool_choice": Capability([]) if dead else _choices(attempts),
    }
    return capabilities | _limits(attempts)


def text_format(capabilities: Mapping[str, Capability]) -> str | None:
    """The text format of an endpoint's calls; "" if they come on the wire, None if none came.

    Determined when a profile begins: a later run in which every call leaks is a degradation.
    """
    call_format, parser = capabilities["tool_call_format"], capabilities["parser"].value
    if not call_format.trials or call_format.value == "unknown":
        return None
    return parser if isinstance(parser, str) else ""


def settle_verdicts(attempts: Iterable[Attempt], parser: str | None) -> list[Verdict]:
    """The verdicts of all attempts; a call in the endpoint's usual text format counts as parsed."""
    return [
        Verdict(verdict.metric, good=True)
        if parser and verdict.metric is Metric.PARSE_SUCCESS and verdict.parser == parser
        else verdict
        for attempt in attempts
        for verdict in attempt.verdicts
    ]


def _ids(attempts: Iterable[Attempt]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f"{attempt.probe}/{attempt.trial}" for attempt in attempts))


def _turn_formats(attempts: Sequence[Attempt]) -> list[tuple[Attempt, str | None]]:
    """The call format of every turn that expected a call, with its attempt."""
    return [
        (attempt, form if isinstance(form, str) else None)
        for attempt in attempts
        for form in _list(attempt.facts.get("formats"))
    ]


def _call_format(attempts: Sequence[Attempt], wire: str) -> Capability:
    turns = _turn_formats(attempts)
    formats = [form for _, form in turns]
    refusing = [a for a in attempts if any(_has_finding(a, kind) for kind in _NO_CALL_REFUSALS)]
    if wire in formats:
        value: JSON = wire
    elif parser := _parser(attempts, wire):
        value = "json_text" if parser in JSON_BODIES else "xml"
    elif refusing or len(formats) >= MIN_TURNS:
        value = "none"
    else:
        return Capability("unknown", len(formats))
    expected = wire if value == wire else _parser(attempts, wire)
    agreeing = [attempt for attempt, form in turns if form == expected]
    if value == "none" and not formats:
        return Capability(value, len(refusing), len(refusing), _ids(refusing))
    return Capability(value, len(formats), len(agreeing), _ids(agreeing or [a for a, _ in turns]))


def _parser(attempts: Sequence[Attempt], wire: str) -> str | None:
    """The text format of the calls, if none came on the wire."""
    formats = Counter(form for _, form in _turn_formats(attempts) if form)
    if wire in formats or not formats:
        return None
    return formats.most_common(1)[0][0]


def _schema_level(attempts: Sequence[Attempt], *, dead: bool) -> Capability:
    if dead:
        return Capability("none")
    types = _yes_no(attempts, "fits", "schema_types")
    nested = _yes_no(attempts, "fits", "schema_nested")
    union = _yes_no(attempts, "fits", "schema_union")
    simplified = _yes_no(attempts, "simplified", "schema_nested")
    strings = [a for a in attempts if a.probe == "format" and _list(a.facts.get("formats"))]
    if types.value and nested.value and union.value is not False:
        return _all_of("strict_json_schema", types, nested, union)
    if types.value and (simplified.value or nested.value is None):
        return _all_of("simple_object" if simplified.value else "unknown", types, simplified)
    unfit = (FindingKind.SCHEMA_MISMATCH, FindingKind.UNKNOWN_TOOL)
    good = [a for a in strings if not any(_has_finding(a, kind) for kind in unfit)]
    if types.value is False and len(good) * 2 > len(strings):
        return Capability("string_only", len(strings), len(good), _ids(good))
    if types.value is False:
        return Capability("none", types.trials, types.agree, types.evidence)
    return Capability("unknown")


def _all_of(value: str, *parts: Capability) -> Capability:
    measured = [part for part in parts if part.trials]
    return Capability(
        value,
        sum(part.trials for part in measured),
        sum(part.agree for part in measured),
        tuple(id_ for part in measured for id_ in part.evidence),
    )


def _parallel(attempts: Sequence[Attempt]) -> Capability:
    def several(attempt: Attempt) -> bool | None:
        calls = attempt.facts.get("calls")
        return calls > 1 if isinstance(calls, int) else None

    return _majority(attempts, several)


def _repair(attempts: Sequence[Attempt]) -> Capability:
    tried = [a for a in attempts if "tries" in a.facts]
    if not tried:
        return Capability("unknown")
    first_try = [a for a in tried if a.facts["tries"] == 1]
    corrected = [a for a in tried if a.facts["tries"] is not None]
    if len(first_try) >= RELIABLE * len(tried):
        return Capability("reliable", len(tried), len(first_try), _ids(first_try))
    if corrected:
        return Capability("limited", len(tried), len(corrected), _ids(corrected))
    return Capability("none", len(tried), len(tried), _ids(tried))


def _replay(attempts: Sequence[Attempt], *, dead: bool) -> Capability:
    replays = [
        (a, a.facts["replay"]) for a in attempts if isinstance(a.facts.get("replay"), Mapping)
    ]
    if not replays:
        return Capability("none" if dead else "unknown")
    rules = [(attempt, _replay_rule(facts)) for attempt, facts in replays]  # type: ignore[arg-type]
    value = Counter(rule for _, rule in rules).most_common(1)[0][0]
    agreeing = [attempt for attempt, rule in rules if rule == value]
    return Capability(value, len(rules), len(agreeing), _ids(agreeing))


def _replay_rule(facts: Mapping[str, JSON]) -> str:
    """The replay rule that one set of branches proves."""
    if not facts.get("reasoned"):
        return "none"
    kept, dropped = facts.get("kept"), facts.get("dropped")
    if kept != "taken":
        return "rejected" if dropped == "taken" else "unknown"
    later = facts.get("next_dropped")
    if later is not None and later != "taken" and facts.get("next_kept") == "taken":
        return "required_all_turns"
    if dropped != "taken":
        return "required_same_turn"
    return "tolerated"


def _choices(attempts: Sequence[Attempt]) -> Capability:
    measured = [
        (a, a.facts["choices"]) for a in attempts if isinstance(a.facts.get("choices"), dict)
    ]
    if not measured:
        return Capability(None)
    working: list[JSON] = []
    agree = 0
    for choice in CHOICES:
        works = Counter(
            facts.get(choice) == "works" for _, facts in measured if isinstance(facts, dict)
        )
        if works[True] > works[False]:
            working.append(choice)
        agree += max(works.values())
    return Capability(working, len(measured) * len(CHOICES), agree, _ids(a for a, _ in measured))


def _limits(attempts: Sequence[Attempt]) -> dict[str, Capability]:
    """Further fields, each the most common fact of its probe."""
    sources = {
        "parallel_switch": "off",
        "accepts": "accepts",
        "id_forms": "ids",
        "trimmed_history": "trimmed",
        "violations": "violations",
    }
    return {name: _common(attempts, key) for name, key in sources.items()}


def _common(attempts: Sequence[Attempt], key: str) -> Capability:
    facts = [(a, a.facts[key]) for a in attempts if a.facts.get(key) is not None]
    if not facts:
        return Capability("unknown")
    value = Counter(repr(fact) for _, fact in facts).most_common(1)[0][0]
    agreeing = [(a, fact) for a, fact in facts if repr(fact) == value]
    return Capability(agreeing[0][1], len(facts), len(agreeing), _ids(a for a, _ in agreeing))


def _yes_no(attempts: Sequence[Attempt], key: str, probe: str = "") -> Capability:
    def read_fact(attempt: Attempt) -> bool | None:
        fact = attempt.facts.get(key)
        return fact if isinstance(fact, bool) and probe in ("", attempt.probe) else None

    return _majority(attempts, read_fact)


def _majority(
    attempts: Sequence[Attempt], read_fact: Callable[[Attempt], bool | None]
) -> Capability:
    answers = [
        (attempt, answer) for a in attempts if (answer := read_fact(attempt := a)) is not None
    ]
    if not answers:
        return Capability(None)
    yes = sum(answer for _, answer in answers)
    value = yes * 2 > len(answers)
    agreeing = [attempt for attempt, answer in answers if answer is value]
    return Capability(value, len(answers), len(agreeing), _ids(agreeing))


def _has_finding(attempt: Attempt, kind: FindingKind) -> bool:
    return any(finding.kind is kind for finding in attempt.findings)


def _list(value: JSON) -> Sequence[JSON]:
    return value if isinstance(value, list | tuple) else ()
