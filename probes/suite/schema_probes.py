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
from probes.suite.turn_judge import JudgedTurn, judge_turn

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
# In every hostile text, so that no trial misses a proxy that collapses spaces or escapes markup.
FRAGILE = "<b>{} &  co</b>\n\tend"


@dataclass(frozen=True, slots=True)
class SchemaProbe:
    """Asks for one call with drawn arguments of one kind of schema."""

    name: str
    question: str
    settles: str
    tool: ToolSpec
    values: Callable[[random.Random], Mapping[str, JSON]]
    passes: str = "One call arrives, and every argument has the requested type and value."
    fails: str = "Wrong types, values, argument names or number of calls, or no readable call."
    requests: int = 1
    refusal_metrics: tuple[Metric, ...] = (Metric.PARSE_SUCCESS,)

    def draw(self, rng: random.Random) -> DrawnValues:
        return DrawnValues(self.values(rng))

    def script(self, drawn: DrawnValues, builder: QuestionBuilder) -> Script:
        session = ScriptSession(builder, (self.tool,))
        answer = yield from session.ask(
            start_conversation(argument_prompt(self.tool, drawn.values))
        )
        if answer.reply is None:
            return session.judge_refusal(answer, self.refusal_metrics)
        turn = session.judge_turn(answer.reply)
        compare_arguments(session, turn, self.tool, drawn.values)
        return session.judge()


@dataclass(frozen=True, slots=True)
class NestedProbe:
    """Asks for nested objects, under the full schema and under a simplified one."""

    name: str = "schema_nested"
    question: str = "Nested arguments: do objects and lists of objects arrive intact?"
    settles: str = "Whether nested schemas work, or only flat ones."
    passes: str = "With the nested schema, one call arrives with every object and list in place."
    fails: str = "Nested values arrive as text or are missing. A flat schema may still work."
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
        compare_arguments(session, turn, PROBE_ORDER, drawn.values)
        return session.judge()

    def _question(
        self, session: ScriptSession, tool: ToolSpec, values: Mapping[str, JSON], label: str
    ) -> Question:
        return Question(
            session.builder.call(start_conversation(argument_prompt(tool, values)), (tool,)), label
        )


def _flatten_order(values: Mapping[str, JSON]) -> Mapping[str, JSON]:
    """The first line of an order, without nested objects or lists."""
    customer, items = values["customer"], values["items"]
    assert isinstance(customer, Mapping)
    assert isinstance(items, list)
    return {**customer, **items[0]}


def compare_arguments(
    session: ScriptSession, turn: JudgedTurn, tool: ToolSpec, expected: Mapping[str, JSON]
) -> None:
    """Check the values if the types are right; record whether the types are."""
    if not turn.calls:
        session.facts["fits"] = None
        return
    session.check_values(turn, [(tool.name, expected)])
    session.facts["fits"] = _types_fit(turn, expected)


def _types_fit(turn: JudgedTurn, expected: Mapping[str, JSON]) -> bool:
    """Whether the calls are valid and have the types asked for, which matters in a union.

    Other values of the right type are another question.
    """
    return not turn.unfit and all(
        _json_type(call.input[name]) == _json_type(value)
        for call in turn.calls
        for name, value in expected.items()
        if name in call.input
    )


def _json_type(value: JSON) -> str:
    match value:
        case bool() | None | str():
            return type(value).__name__
        case int() | float():
            return "number"
        case Mapping():
            return "object"
        case _:
            return "array"


def _is_schema_refusal(answer: Answer) -> bool:
    return answer.refusal is not None and answer.refusal.kind is FindingKind.SCHEMA_REFUSED


def _arguments_fit(answer: Answer, tool: ToolSpec, expected: Mapping[str, JSON]) -> bool | None:
    if answer.reply is None:
        return None
    turn = judge_turn(answer.reply, (tool,))
    if not turn.calls:
        return None
    return _types_fit(turn, expected)


def argument_prompt(tool: ToolSpec, arguments: Mapping[str, JSON]) -> str:
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
    kinds = (*rng.sample(HOSTILE, 3), FRAGILE)
    message = " ".join(kind.format(draw_nonce(rng)) for kind in kinds)
    return {"message": message, "tag": rng.choice(TAGS)}


SCHEMA_TYPES = SchemaProbe(
    "schema_types",
    "Argument types: do integers, numbers, booleans, enums and nulls keep their type?",
    "Whether arguments keep their types.",
    PROBE_SETTINGS,
    _draw_settings,
)
SCHEMA_UNION = SchemaProbe(
    "schema_union",
    "Unions: does the requested type arrive if the schema allows several?",
    "Whether schemas with unions work.",
    PROBE_STORE,
    _draw_entry,
)
NO_ARGUMENTS = SchemaProbe(
    "no_arguments",
    "No arguments: is a tool without arguments called with none?",
    "Whether tools without arguments work.",
    PROBE_NOW,
    lambda rng: {},
)
HOSTILE_TEXT = SchemaProbe(
    "hostile_text",
    "Special characters: do quotes, line breaks, emoji and tags arrive unchanged?",
    "Whether file contents and code arrive unchanged in arguments.",
    PROBE_ECHO,
    _draw_hostile_text,
)
SCHEMA_NESTED = NestedProbe()
