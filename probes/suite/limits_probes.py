"""What an endpoint accepts beyond a plain question: choices, strictness, roles, ids, parameters."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace

from probes.adapters import FORMATS
from probes.losses import LossKind
from probes.messages import (
    AUTO,
    JSON,
    NONE,
    REQUIRED,
    ModelCall,
    Role,
    Text,
    ToolCall,
    ToolChoice,
    ToolResult,
    Turn,
)
from probes.outcomes import FindingKind, Metric
from probes.suite.base import Answer, DrawnValues, Question, Script
from probes.suite.probe_tools import PROBE_ADD, PROBE_ECHO, TAGS
from probes.suite.question_builder import QuestionBuilder
from probes.suite.random_words import draw_phrase
from probes.suite.script_steps import CLOSURE_KINDS, ScriptSession, start_conversation
from probes.suite.turn_judge import judge_turn

GREETING = """\
Good morning. My word of the day is "{message}"."""
CALLING = """\
Call the tool {tool} exactly once, with these arguments:
message: {message}
tag: {tag}"""
# Ids in the form of other vendors, for a history that this endpoint did not produce.
FOREIGN_IDS = {
    "openai": "call_Aa1Bb2Cc3Dd4Ee5Ff6Gg7Hh8",
    "anthropic": "toolu_01Aa2Bb3Cc4Dd5Ee6Ff7Gg8H",
    "kimi": "functions.probe_add:0",
    "mistral": "a1B2c3D4e",
    "long": "call_" + "x" * 80,
    "punctuated": "call|fc:1",
}


@dataclass(frozen=True, slots=True)
class ChoicesProbe:
    """Sends every value of tool_choice where it makes a difference."""

    name: str = "tool_choice"
    question: str = "Which values of tool_choice are taken, and obeyed?"
    settles: str = "How calls can be forced, left free and forbidden."
    passes: str = "Left free, the model calls when asked; other values are obeyed or refused."
    fails: str = "A value is taken and ignored."
    requests: int = 4
    refusal_metrics: tuple[Metric, ...] = ()

    def draw(self, rng: random.Random) -> DrawnValues:
        return DrawnValues({"message": draw_phrase(rng), "tag": rng.choice(TAGS)})

    def script(self, drawn: DrawnValues, builder: QuestionBuilder) -> Script:
        session = ScriptSession(builder.with_every_choice(), (PROBE_ECHO, PROBE_ADD))
        calls = {
            "auto": self._call(session, CALLING, drawn, AUTO),
            "none": self._call(session, CALLING, drawn, NONE),
            "required": self._call(session, GREETING, drawn, REQUIRED),
            "named": self._call(session, GREETING, drawn, ToolChoice("named", PROBE_ADD.name)),
        }
        calls = {name: call for name, call in calls.items() if _carries_choice(builder, call)}
        answers = yield tuple(Question(call, f"tool_choice {n}") for n, call in calls.items())
        named_answers = dict(zip(calls, answers, strict=True))
        if all(answer.reply is None for answer in answers):
            return session.judge_refusal(named_answers["auto"], self.refusal_metrics)
        obeyed = {
            name: _choice_result(name, answer, session) for name, answer in named_answers.items()
        }
        session.facts["choices"] = obeyed
        for name, verdict in obeyed.items():
            if verdict == "ignored":
                message = f"tool_choice {name!r} is taken and not obeyed."
                session.add_finding(FindingKind.CHOICE_IGNORED, message)
        return session.judge()

    def _call(
        self, session: ScriptSession, prompt: str, drawn: DrawnValues, choice: ToolChoice
    ) -> ModelCall:
        text = prompt.format(tool=PROBE_ECHO.name, **drawn.values)
        return session.builder.call(start_conversation(text), session.tools, choice=choice)


def _carries_choice(builder: QuestionBuilder, call: ModelCall) -> bool:
    """Whether the wire format can express this choice; otherwise it cannot be ignored either."""
    losses = FORMATS[builder.format].losses(call)
    return all(loss.kind is not LossKind.TOOL_CHOICE for loss in losses)


def _choice_result(name: str, answer: Answer, session: ScriptSession) -> JSON:
    if answer.reply is None:
        return "refused"
    calls = judge_turn(answer.reply, session.tools).calls
    match name:
        case "none":
            good = not calls
        case "named":
            good = bool(calls) and all(call.name == PROBE_ADD.name for call in calls)
        case _:
            good = bool(calls)
    return "works" if good else "ignored"


@dataclass(frozen=True, slots=True)
class ParametersProbe:
    """Sends the same question with extras that vendors differ in."""

    name: str = "parameters"
    question: str = "Are strict schemas, developer messages and unknown parameters taken?"
    settles: str = "What may be sent to this endpoint without a refusal."
    passes: str = "The plain question is taken; what else is taken is written down."
    fails: str = "Even the plain question is refused."
    requests: int = 4
    refusal_metrics: tuple[Metric, ...] = (Metric.PARSE_SUCCESS,)

    def draw(self, rng: random.Random) -> DrawnValues:
        return DrawnValues({"message": draw_phrase(rng), "tag": rng.choice(TAGS)})

    def script(self, drawn: DrawnValues, builder: QuestionBuilder) -> Script:
        session = ScriptSession(builder, (PROBE_ECHO,))
        plain = builder.call(
            start_conversation(CALLING.format(tool=PROBE_ECHO.name, **drawn.values)), session.tools
        )
        strict = tuple(replace(tool, strict=True) for tool in plain.tools)
        rules = Turn(Role.SYSTEM, (Text("Be brief."),), extra=DEVELOPER)
        calls = {
            "plain": plain,
            "strict": replace(plain, tools=strict),
            "developer": replace(plain, turns=(rules, *plain.turns)),
            "unknown_parameter": replace(plain, options={**plain.options, "probe_unknown": 1}),
        }
        answers = yield tuple(Question(call, name) for name, call in calls.items())
        named_answers = dict(zip(calls, answers, strict=True))
        if named_answers["plain"].reply is None:
            return session.judge_refusal(named_answers["plain"], self.refusal_metrics)
        session.judge_turn(named_answers["plain"].reply)
        session.facts["accepts"] = {
            name: answer.reply is not None
            for name, answer in named_answers.items()
            if name != "plain"
        }
        return session.judge()


DEVELOPER: Mapping[str, JSON] = {"openai": {"role": "developer"}}


@dataclass(frozen=True, slots=True)
class ForeignIdsProbe:
    """Sends histories whose ids come from another vendor."""

    name: str = "foreign_ids"
    question: str = "Which forms of call ids are taken in a history?"
    settles: str = "Whether a conversation can be taken over from another vendor."
    passes: str = "The form that this vendor gives out itself is taken."
    fails: str = "A history is refused for ids in the vendor's own form."
    requests: int = len(FOREIGN_IDS) + 1
    refusal_metrics: tuple[Metric, ...] = ()

    def draw(self, rng: random.Random) -> DrawnValues:
        return DrawnValues({"a": rng.randrange(2, 1000), "b": rng.randrange(2, 1000)})

    def script(self, drawn: DrawnValues, builder: QuestionBuilder) -> Script:
        session = ScriptSession(builder, (PROBE_ADD,))
        calls = {name: _history(session, drawn, id_) for name, id_ in FOREIGN_IDS.items()}
        own = start_conversation("")
        own.turns = list(_turns(drawn, FOREIGN_IDS["openai"]))
        calls["mapped"] = builder.call(own, session.tools)
        answers = yield tuple(Question(call, f"ids: {name}") for name, call in calls.items())
        named_answers = dict(zip(calls, answers, strict=True))
        session.facts["ids"] = {
            name: _accepts_id(answer) for name, answer in named_answers.items() if name != "mapped"
        }
        mapped = named_answers["mapped"].refusal
        if mapped is not None and mapped.kind in CLOSURE_KINDS:
            session.add_finding(mapped.kind, mapped.message)
        elif mapped is not None:
            return session.judge_refusal(named_answers["mapped"])
        return session.judge()


def _accepts_id(answer: Answer) -> bool | None:
    """None if the history was refused for another reason than its ids."""
    if answer.refusal is None:
        return True
    return False if answer.refusal.kind in CLOSURE_KINDS else None


def _history(session: ScriptSession, drawn: DrawnValues, id_: str) -> ModelCall:
    return session.builder.raw_call(_turns(drawn, id_), session.tools)


def _turns(drawn: DrawnValues, id_: str) -> tuple[Turn, ...]:
    arguments = dict(drawn.values)
    prompt = f"Add {arguments['a']} and {arguments['b']} with {PROBE_ADD.name}."
    raw = f'{{"a": {arguments["a"]}, "b": {arguments["b"]}}}'
    call = ToolCall(id_, PROBE_ADD.name, arguments, "openai", raw)
    return (
        Turn(Role.USER, (Text(prompt),)),
        Turn(Role.ASSISTANT, (call,)),
        Turn(Role.TOOL, (ToolResult(id_, '{"ok": true}', name=PROBE_ADD.name),)),
    )


TOOL_CHOICE = ChoicesProbe()
PARAMETERS = ParametersProbe()
FOREIGN_IDS_PROBE = ForeignIdsProbe()
