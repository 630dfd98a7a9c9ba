"""Schemas with enums in nested objects, with references and patterns, and a long argument."""

from __future__ import annotations

import random
import string
from collections.abc import Mapping
from dataclasses import dataclass

from probes.errors import Refused
from probes.messages import JSON
from probes.outcomes import FindingKind, Metric
from probes.suite.base import Answer, DrawnValues, Script
from probes.suite.probe_tools import LEVELS, PROBE_ECHO, PROBE_READING, PROBE_ROUTE, TAGS, UNITS
from probes.suite.question_builder import QuestionBuilder
from probes.suite.random_words import draw_nonce, draw_phrase
from probes.suite.schema_probes import SchemaProbe, argument_prompt, compare_arguments
from probes.suite.script_steps import ScriptSession, start_conversation

# A refusal that names one of them is about the schema, whatever its class.
KEYWORDS = ("$ref", "$defs")
LONG_BYTES = 4096
LINES = (
    'He said "{}" and left.',
    "    if {} != 'none':  # naïve",
    "{} → end ☕ 名前 🦊",
    "path C:\\temp\\{}\tdone",
    "{} costs 3 € & more <b>now</b>",
    "",
    "- {}: 100 % of it",
)


@dataclass(frozen=True, slots=True)
class ReferenceProbe:
    """Asks for a call under a schema with `$ref`, `$defs` and `pattern`."""

    name: str = "schema_ref"
    question: str = "Schema references: do $ref and pattern work?"
    settles: str = "Whether schemas can use references and patterns, or must be inlined first."
    passes: str = "One call arrives with the requested objects, and every pattern matches."
    fails: str = "The schema is rejected, or the arguments have wrong types or values."
    requests: int = 1
    refusal_metrics: tuple[Metric, ...] = (Metric.PARSE_SUCCESS,)

    def draw(self, rng: random.Random) -> DrawnValues:
        return DrawnValues({"start": _draw_stop(rng), "end": _draw_stop(rng)})

    def script(self, drawn: DrawnValues, builder: QuestionBuilder) -> Script:
        session = ScriptSession(builder, (PROBE_ROUTE,))
        answer = yield from session.ask(
            start_conversation(argument_prompt(PROBE_ROUTE, drawn.values))
        )
        if answer.reply is None:
            if (refusal := _keyword_refusal(answer)) is None:
                return session.judge_refusal(answer, self.refusal_metrics)
            # A limit of the endpoint; no call failed.
            session.facts |= {"ref": "refused", "fits": False}
            session.add_finding(FindingKind.SCHEMA_REFUSED, refusal.message)
            return session.judge()
        turn = session.judge_turn(answer.reply)
        compare_arguments(session, turn, PROBE_ROUTE, drawn.values)
        fits = session.facts["fits"]
        session.facts["ref"] = None if fits is None else "works" if fits else "broken"
        return session.judge()


def _keyword_refusal(answer: Answer) -> Refused | None:
    """The refusal, if it is about the schema."""
    refusal = answer.refusal
    if refusal is None:
        return None
    names_keyword = any(keyword in refusal.message for keyword in KEYWORDS)
    return refusal if refusal.kind is FindingKind.SCHEMA_REFUSED or names_keyword else None


def _draw_stop(rng: random.Random) -> Mapping[str, JSON]:
    letters = "".join(rng.sample(string.ascii_uppercase, 2))
    return {"code": f"{letters}-{rng.randrange(1000, 10_000)}", "hour": rng.randrange(24)}


def _draw_reading(rng: random.Random) -> Mapping[str, JSON]:
    return {
        "sensor": draw_nonce(rng),
        "reading": {
            "value": rng.randrange(2, 1000),
            "unit": rng.choice(UNITS),
            "level": rng.choice(LEVELS),
        },
    }


def _draw_long_text(rng: random.Random) -> Mapping[str, JSON]:
    lines: list[str] = []
    while len("\n".join(lines).encode()) < LONG_BYTES:
        lines.append(rng.choice(LINES).format(draw_phrase(rng)))
    return {"message": "\n".join(lines), "tag": rng.choice(TAGS)}


SCHEMA_ENUM_NESTED = SchemaProbe(
    "schema_enum_nested",
    "Nested enums: do the enum values of a nested object arrive as listed?",
    "Whether enums in nested objects are followed.",
    PROBE_READING,
    _draw_reading,
)
SCHEMA_REF = ReferenceProbe()
LONG_ARGUMENT = SchemaProbe(
    "long_argument",
    "Long argument: does a 4 KB text arrive character for character?",
    "Whether whole files fit into an argument.",
    PROBE_ECHO,
    _draw_long_text,
)
