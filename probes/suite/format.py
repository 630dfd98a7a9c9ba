from __future__ import annotations

import random
from dataclasses import dataclass

from probes.arguments import validate
from probes.attempts import Finding, FindingKind, Metric, Outcome, Verdict
from probes.messages import ModelCall, Reply, Role, Stop, Text, ToolCall, Turn
from probes.parsers.base import RawCall
from probes.parsers.reader import read_text
from probes.suite.base import Drawn, Judged
from probes.suite.tools import PROBE_ECHO, TAGS

# fmt: off
WORDS = (
    "amber", "anchor", "basil", "canyon", "cedar", "cobalt", "comet", "copper", "delta", "ember",
    "fable", "fjord", "garnet", "harbor", "indigo", "juniper", "kettle", "lantern", "maple",
    "marble", "meadow", "nectar", "orchid", "pebble",
)
# fmt: on
TWISTS = ('"{}"', "naïve {}", "{}'s", "{} → end", "{}/{}", "{} ☕")

PROMPT = """\
Call the tool {tool} exactly once, with these arguments:
message: {message}
tag: {tag}
Copy the message character for character. Do not answer in text."""


@dataclass(frozen=True, slots=True)
class FormatProbe:
    """Asks in plain words for one call of `probe_echo` with drawn values.

    Passes when exactly one structured call arrives, its arguments satisfy the schema and carry the
    values asked for. Prose, a call leaked as text and unreadable arguments fail.
    """

    name: str = "format"
    question: str = "Asked in plain words for one tool call, does the model make it?"
    owes: tuple[Metric, ...] = (Metric.PARSE_SUCCESS,)

    def draw(self, rng: random.Random) -> Drawn:
        words = rng.sample(WORDS, 3)
        message = f"{words[0]} {words[1]} {rng.randrange(1000, 10_000)}"
        if rng.random() < 0.5:
            message += " " + rng.choice(TWISTS).format(words[2], words[0])
        return Drawn({"message": message, "tag": rng.choice(TAGS)})

    def call(self, drawn: Drawn, model: str) -> ModelCall:
        prompt = PROMPT.format(tool=PROBE_ECHO.name, **drawn.values)
        return ModelCall(model, (Turn(Role.USER, (Text(prompt),)),), tools=(PROBE_ECHO,))

    def judge(self, drawn: Drawn, reply: Reply) -> Judged:
        notes = tuple(
            Finding(FindingKind.DEVIATION, f"The answer bends its format: {item.name}.", item.path)
            for item in reply.deviations
        )
        faults, verdicts = _judge_turn(drawn, reply)
        outcome = Outcome.FAIL if faults else Outcome.PASS
        return Judged(outcome, faults + notes, verdicts)


FORMAT = FormatProbe()


def _judge_turn(drawn: Drawn, reply: Reply) -> tuple[tuple[Finding, ...], tuple[Verdict, ...]]:
    leak = _leak(reply)
    unparsed = tuple(Finding(FindingKind(c.kind), c.error, c.path) for c in reply.broken)
    if not reply.calls and not reply.broken:
        unparsed = (leak or _absence(reply),)
    elif leak:
        unparsed += (leak,)
    per_call = [_check_schema(call, index) for index, call in enumerate(reply.calls)]
    silent = any(fault.kind == FindingKind.REASONING_ONLY for fault in unparsed)
    verdicts = (
        Verdict(Metric.PARSE_SUCCESS, not unparsed),
        Verdict(Metric.LEAK, leak is None),
        Verdict(Metric.REASONING_ONLY, not silent),
        *(Verdict(Metric.SCHEMA_FAILURE, not invalid) for invalid in per_call),
    )
    faults = unparsed + _extra(reply)
    for index, (call, invalid) in enumerate(zip(reply.calls, per_call, strict=True)):
        faults += invalid or _check_values(call, index, drawn)
    return faults, verdicts


def _leak(reply: Reply) -> Finding | None:
    for where, text in (("text", reply.text), ("reasoning", reply.reasoning)):
        for found in read_text(text or "", (PROBE_ECHO,)):
            if isinstance(found, RawCall):
                message = f"The call leaked into the {where}, in the {found.format} format."
                return Finding(FindingKind.LEAKED_CALL, message, f"$.{where}")
    return None


def _absence(reply: Reply) -> Finding:
    if reply.reasoning and not reply.text:
        message = "The model only reasoned: neither text nor a call came out."
        return Finding(FindingKind.REASONING_ONLY, message)
    if reply.stop is Stop.LENGTH:
        return Finding(FindingKind.NO_CALL, "The answer ran into the token limit before any call.")
    if not reply.text:
        return Finding(FindingKind.NO_CALL, "The answer is empty: no text and no call.")
    return Finding(FindingKind.NO_CALL, "The model answered in prose instead of calling the tool.")


def _extra(reply: Reply) -> tuple[Finding, ...]:
    if len(reply.calls) < 2:
        return ()
    message = f"One call was asked for; {len(reply.calls)} arrived."
    return (Finding(FindingKind.EXTRA_CALL, message, "$.calls"),)


def _check_schema(call: ToolCall, index: int) -> tuple[Finding, ...]:
    if call.name != PROBE_ECHO.name:
        message = f"The model called {call.name!r}, which was not offered."
        return (Finding(FindingKind.UNKNOWN_TOOL, message, f"$.calls[{index}].name"),)
    return validate(PROBE_ECHO.schema or {}, call.input, at=f"$.calls[{index}].input")


def _check_values(call: ToolCall, index: int, drawn: Drawn) -> tuple[Finding, ...]:
    return tuple(
        Finding(
            FindingKind.WRONG_VALUE,
            f"{name} should be {wanted!r} and is {call.input[name]!r}.",
            f"$.calls[{index}].input.{name}",
        )
        for name, wanted in drawn.values.items()
        if call.input[name] != wanted
    )
