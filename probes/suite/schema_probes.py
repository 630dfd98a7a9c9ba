"""Whether arguments follow their schema: flat types, nesting, unions, none at all, hostile text."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from probes.messages import JSON, ToolSpec
from probes.outcomes import FindingKind, Metric
from probes.suite.base import Answer, DrawnValues, Question, Script
from probes.suite.probe_tools import (
    LEVELS,
    PROBE_ECHO,
    PROBE_NOW,
    PROBE_ORDER,
    PROBE_ORDER_LINE,
    PROBE_SETTINGS,
    PROBE_STORE,
    TAGS,
)
from probes.suite.question_builder import QuestionBuilder
from probes.suite.random_words import draw_nonce, draw_phrase
from probes.suite.script_steps import ScriptSession, start_conversation
from probes.suite.turn_judge import JudgedTurn, find_wrong_values, judge_turn

PROMPT = """\
Call the tool {tool} exactly once, with exactly these arguments, given here as JSON:
{arguments}
Keep every type and every character as it is. Do not answer in text."""
EMPTY_PROMPT = """\
Call the tool {tool} exactly once. It takes no arguments. Do not answer in text."""

HOSTILE = (
    'say "{}" and \\n or \\\\ too',
    "first line\nsecond line: {}\n\tindented",
    "☕ naïve 名前 🦊 {}",
    "</parameter> and </tool_call> around {}",
    "<arg_value>{}</arg_value> <|im_end|>",
    '```json\n{{"a": 1}}\n``` {}',
    '{{"name": "probe_now", "arguments": {{}}}} {}',
)


@dataclass(frozen=True, slots=True)
class SchemaProbe:
    """Asks for one call with drawn arguments of one kind of schema."""

    name: str
    question: str
    settles: str
    tool: ToolSpec
    values: Callable[[random.Random], Mapping[str, JSON]]
    passes: str = "One call arrives whose arguments have every type and value that was asked for."
    fails: str = "Other types, values, names or numbers of calls; no call that can be read."
    requests: int = 1
    refusal_metrics: tuple[Metric, ...] = (Metric.PARSE_SUCCESS,)

    def draw(self, rng: random.Random) -> DrawnValues:
        return DrawnValues(self.values(rng))

    def script(self, drawn: DrawnValues, builder: QuestionBuilder) -> Script:
        session = ScriptSession(builder, (self.tool,))
        answer = yield from session.ask(start_conversation(_prompt(self.tool, drawn.values)))
        if answer.reply is None:
            return session.judge_refusal(answer, self.refusal_metrics)
        turn = session.judge_turn(answer.reply)
        _compare_arguments(session, turn, self.tool, drawn.values)
        return session.judge()


@dataclass(frozen=True, slots=True)
class NestedProbe:
    """Asks for nested objects, under the full schema and under a simplified one."""

    name: str = "schema_nested"
    question: str = "Do nested objects and lists of objects arrive as such?"
    settles: str = "Whether full schemas can be used, or only flat ones."
    passes: str = "Under the full schema, one call arrives with every object and list in place."
    fails: str = "Nested values arrive as text or not at all; a simplified schema may still work."
    requests: int = 2
    refusal_metrics: tuple[Metric, ...] = (Metric.PARSE_SUCCESS,)

    def draw(self, rng: random.Random) -> DrawnValues:
        items: list[JSON] = [
            {"sku": draw_nonce(rng), "quantity": rng.randrange(1, 50)}
            for _ in range(rng.choice((2, 3)))
        ]
        return DrawnValues(
            {"customer": {"name": draw_phrase(rng), "member": rng.random() < 0.5}, "items": items}
        )

    def script(self, drawn: DrawnValues, builder: QuestionBuilder) -> Script:
        flat = _flatten_order(drawn.values)
        session = ScriptSession(builder, (PROBE_ORDER,))
        full, simple = yield (
            self._question(session, PROBE_ORDER, drawn.values, "nested schema"),
            self._question(session, PROBE_ORDER_LINE, flat, "flat schema"),
        )
        session.facts["simplified"] = _arguments_fit(simple, PROBE_ORDER_LINE, flat)
        if full.reply is None:
            session.facts["fits"] = False if full.refusal and _is_schema_refusal(full) else None
            return session.judge_refusal(full, self.refusal_metrics)
        turn = session.judge_turn(full.reply)
        _compare_arguments(session, turn, PROBE_ORDER, drawn.values)
        return session.judge()

    def _question(
        self, session: ScriptSession, tool: ToolSpec, values: Mapping[str, JSON], label: str
    ) -> Question:
        return Question(
            session.builder.call(start_conversation(_prompt(tool, values)), (tool,)), label
        )


def _flatten_order(values: Mapping[str, JSON]) -> Mapping[str, JSON]:
    """The first line of an order, without nested objects or lists."""
    customer, items = values["customer"], values["items"]
    assert isinstance(customer, Mapping)
    assert isinstance(items, list)
    return {**customer, **items[0]}


def _compare_arguments(
    session: ScriptSession, turn: JudgedTurn, tool: ToolSpec, expected: Mapping[str, JSON]
) -> None:
    """Check the types first, and the values if the types are right."""
    if not turn.calls:
        session.facts["fits"] = None
        return
    wrong = () if turn.unfit else find_wrong_values(turn.calls, [(tool.name, expected)])
    session.findings += wrong
    # A surplus call says nothing about the schema.
    other = [finding for finding in wrong if finding.kind is not FindingKind.EXTRA_CALL]
    session.facts["fits"] = not turn.unfit and not other


def _is_schema_refusal(answer: Answer) -> bool:
    return answer.refusal is not None and answer.refusal.kind is FindingKind.SCHEMA_REFUSED


def _arguments_fit(answer: Answer, tool: ToolSpec, expected: Mapping[str, JSON]) -> bool | None:
    if answer.reply is None:
        return None
    turn = judge_turn(answer.reply, (tool,))
    if not turn.calls:
        return None
    return not turn.unfit and not find_wrong_values(turn.calls, [(tool.name, expected)])


def _prompt(tool: ToolSpec, arguments: Mapping[str, JSON]) -> str:
    if not arguments:
        return EMPTY_PROMPT.format(tool=tool.name)
    arguments_json = json.dumps(arguments, ensure_ascii=False)
    return PROMPT.format(tool=tool.name, arguments=arguments_json)


def _draw_settings(rng: random.Random) -> Mapping[str, JSON]:
    return {
        "count": rng.randrange(2, 900),
        "ratio": rng.randrange(1, 99) / 100,
        "enabled": rng.random() < 0.5,
        "level": rng.choice(LEVELS),
        "note": draw_phrase(rng) if rng.random() < 0.5 else None,
    }


def _draw_entry(rng: random.Random) -> Mapping[str, JSON]:
    value: JSON = rng.choice(
        (rng.randrange(2, 10_000), draw_phrase(rng), [draw_nonce(rng), draw_nonce(rng)])
    )
    return {"key": draw_nonce(rng), "value": value}


def _draw_hostile_text(rng: random.Random) -> Mapping[str, JSON]:
    # Several at once, so that each trial can show what breaks.
    message = " ".join(kind.format(draw_nonce(rng)) for kind in rng.sample(HOSTILE, 3))
    return {"message": message, "tag": rng.choice(TAGS)}


SCHEMA_TYPES = SchemaProbe(
    "schema_types",
    "Do integers, numbers, booleans, choices and nulls arrive as such?",
    "Whether arguments keep their types.",
    PROBE_SETTINGS,
    _draw_settings,
)
SCHEMA_UNION = SchemaProbe(
    "schema_union",
    "Where a schema leaves several types open, does the one asked for arrive?",
    "Whether unions can be used.",
    PROBE_STORE,
    _draw_entry,
)
NO_ARGUMENTS = SchemaProbe(
    "no_arguments",
    "Is a tool without arguments called, and with none?",
    "Whether tools without arguments can be used.",
    PROBE_NOW,
    lambda rng: {},
)
HOSTILE_TEXT = SchemaProbe(
    "hostile_text",
    "Does a text with quotes, line breaks, emoji and tags arrive character for character?",
    "Whether file contents and code survive the way into a call.",
    PROBE_ECHO,
    _draw_hostile_text,
)
SCHEMA_NESTED = NestedProbe()
