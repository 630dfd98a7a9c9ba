"""What an endpoint can do, drawn from the attempts of its runs, with how sure that is.

A field is never guessed: where the sample does not carry it, it is unknown. What most trials say
holds; how many they were and how many agreed stands beside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from health.rates import rate_interval
from probes.messages import JSON
from probes.outcomes import Attempt, FindingKind, Metric, Verdict
from probes.parsers import JSON_BODIES

# Fewer owed turns than this without any call do not prove that there never is one.
ENOUGH = 3
RELIABLE = 0.8
# Refusals that leave no way to get a call out of the endpoint.
_NEVER = (FindingKind.NO_TOOLS, FindingKind.SERVER_PARSE, FindingKind.ENDPOINT_MISMATCH)
CHOICES = ("auto", "none", "required", "named")


@dataclass(frozen=True, slots=True)
class Capability:
    """One field of the profile: `agree` of `trials` trials say so; the evidence is attempts."""

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
    """The capability profile of an endpoint that speaks a wire format."""
    form = _call_format(attempts, wire)
    parser = _parser(attempts, wire) if form.value in ("xml", "json_text") else None
    dead = form.value == "none"
    found = {
        "schema_level": _schema_level(attempts, dead=dead),
        "tool_call_format": form,
        "parser": Capability(parser, form.trials, form.agree, form.evidence),
        "supports_parallel_tool_use": _parallel(attempts),
        "reasoning_replay": _replay(attempts, dead=dead),
        "supports_streaming_tool_use": _yes_no(attempts, "streams"),
        "error_repair": _repair(attempts),
        "tool_choice": Capability([]) if dead else _choices(attempts),
    }
    return found | _limits(attempts)


def text_format(found: Mapping[str, Capability]) -> str | None:
    """The text format that calls come in; "" where they come on the wire, None where none came.

    Taken when a profile begins. A later run in which every call leaks is a degradation, not an
    endpoint that always did.
    """
    form, parser = found["tool_call_format"], found["parser"].value
    if not form.trials or form.value == "unknown":
        return None
    return parser if isinstance(parser, str) else ""


def settle_verdicts(attempts: Iterable[Attempt], parser: str | None) -> list[Verdict]:
    """All trials; a call in the text format that the endpoint always uses went well."""
    return [
        Verdict(verdict.metric, good=True)
        if parser and verdict.metric is Metric.PARSE_SUCCESS and verdict.parser == parser
        else verdict
        for attempt in attempts
        for verdict in attempt.verdicts
    ]


def _ids(attempts: Iterable[Attempt]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f"{attempt.probe}/{attempt.trial}" for attempt in attempts))


def _formats(attempts: Sequence[Attempt]) -> list[tuple[Attempt, str | None]]:
    """The format of every turn that owed a call, and whose it was."""
    return [
        (attempt, form if isinstance(form, str) else None)
        for attempt in attempts
        for form in _list(attempt.facts.get("formats"))
    ]


def _call_format(attempts: Sequence[Attempt], wire: str) -> Capability:
    turns = _formats(attempts)
    told = [form for _, form in turns]
    refusing = [a for a in attempts if any(_found(a, kind) for kind in _NEVER)]
    if wire in told:
        value: JSON = wire
    elif parser := _parser(attempts, wire):
        value = "json_text" if parser in JSON_BODIES else "xml"
    elif refusing or len(told) >= ENOUGH:
        value = "none"
    else:
        return Capability("unknown", len(told))
    wanted = wire if value == wire else _parser(attempts, wire)
    agreeing = [attempt for attempt, form in turns if form == wanted]
    if value == "none" and not told:
        return Capability(value, len(refusing), len(refusing), _ids(refusing))
    return Capability(value, len(told), len(agreeing), _ids(agreeing or [a for a, _ in turns]))


def _parser(attempts: Sequence[Attempt], wire: str) -> str | None:
    """The text format that calls come in, where none came on the wire."""
    found = Counter(form for _, form in _formats(attempts) if form)
    if wire in found or not found:
        return None
    return found.most_common(1)[0][0]


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
    good = [a for a in strings if not any(_found(a, kind) for kind in unfit)]
    if types.value is False and len(good) * 2 > len(strings):
        return Capability("string_only", len(strings), len(good), _ids(good))
    if types.value is False:
        return Capability("none", types.trials, types.agree, types.evidence)
    return Capability("unknown")


def _all_of(value: str, *parts: Capability) -> Capability:
    told = [part for part in parts if part.trials]
    return Capability(
        value,
        sum(part.trials for part in told),
        sum(part.agree for part in told),
        tuple(id_ for part in told for id_ in part.evidence),
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
    at_once = [a for a in tried if a.facts["tries"] == 1]
    corrected = [a for a in tried if a.facts["tries"] is not None]
    if len(at_once) >= RELIABLE * len(tried):
        return Capability("reliable", len(tried), len(at_once), _ids(at_once))
    if corrected:
        return Capability("limited", len(tried), len(corrected), _ids(corrected))
    return Capability("none", len(tried), len(tried), _ids(tried))


def _replay(attempts: Sequence[Attempt], *, dead: bool) -> Capability:
    told = [(a, a.facts["replay"]) for a in attempts if isinstance(a.facts.get("replay"), Mapping)]
    if not told:
        return Capability("none" if dead else "unknown")
    answers = [(attempt, _replay_rule(facts)) for attempt, facts in told]  # type: ignore[arg-type]
    value = Counter(rule for _, rule in answers).most_common(1)[0][0]
    agreeing = [attempt for attempt, rule in answers if rule == value]
    return Capability(value, len(answers), len(agreeing), _ids(agreeing))


def _replay_rule(facts: Mapping[str, JSON]) -> str:
    """What one set of branches proves."""
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
    told = [(a, a.facts["choices"]) for a in attempts if isinstance(a.facts.get("choices"), dict)]
    if not told:
        return Capability(None)
    working: list[JSON] = []
    agree = 0
    for choice in CHOICES:
        said = Counter(facts.get(choice) == "works" for _, facts in told if isinstance(facts, dict))
        if said[True] > said[False]:
            working.append(choice)
        agree += max(said.values())
    return Capability(working, len(told) * len(CHOICES), agree, _ids(a for a, _ in told))


def _limits(attempts: Sequence[Attempt]) -> dict[str, Capability]:
    """Further fields, each the most common answer of the probe that asks for it."""
    sources = {
        "parallel_switch": "off",
        "accepts": "accepts",
        "id_forms": "ids",
        "trimmed_history": "trimmed",
        "violations": "violations",
    }
    return {name: _common(attempts, key) for name, key in sources.items()}


def _common(attempts: Sequence[Attempt], key: str) -> Capability:
    told = [(a, a.facts[key]) for a in attempts if a.facts.get(key) is not None]
    if not told:
        return Capability("unknown")
    value = Counter(repr(fact) for _, fact in told).most_common(1)[0][0]
    agreeing = [(a, fact) for a, fact in told if repr(fact) == value]
    return Capability(agreeing[0][1], len(told), len(agreeing), _ids(a for a, _ in agreeing))


def _yes_no(attempts: Sequence[Attempt], key: str, probe: str = "") -> Capability:
    def said(attempt: Attempt) -> bool | None:
        fact = attempt.facts.get(key)
        return fact if isinstance(fact, bool) and probe in ("", attempt.probe) else None

    return _majority(attempts, said)


def _majority(attempts: Sequence[Attempt], said: Callable[[Attempt], bool | None]) -> Capability:
    told = [(attempt, answer) for a in attempts if (answer := said(attempt := a)) is not None]
    if not told:
        return Capability(None)
    yes = sum(answer for _, answer in told)
    value = yes * 2 > len(told)
    agreeing = [attempt for attempt, answer in told if answer is value]
    return Capability(value, len(told), len(agreeing), _ids(agreeing))


def _found(attempt: Attempt, kind: FindingKind) -> bool:
    return any(finding.kind is kind for finding in attempt.findings)


def _list(value: JSON) -> Sequence[JSON]:
    return value if isinstance(value, list | tuple) else ()
