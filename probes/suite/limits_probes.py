"""What an endpoint accepts beyond a plain question: choices, strictness, roles, ids, parameters."""

from __future__ import annotations

import random
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace

from probes.adapters import FORMATS
from probes.history.model_conversation import Conversation
from probes.losses import LossKind
from probes.messages import (
    AUTO,
    JSON,
    NONE,
    REQUIRED,
    ModelCall,
    Part,
    Role,
    Text,
    ToolCall,
    ToolChoice,
    ToolResult,
    ToolSpec,
    Turn,
)
from probes.outcomes import FindingKind, Metric
from probes.suite.base import Answer, DrawnValues, Question, Script
from probes.suite.probe_tools import PROBE_ADD, PROBE_ECHO, TAGS
from probes.suite.question_builder import QuestionBuilder
from probes.suite.random_words import draw_phrase
from probes.suite.script_steps import (
    CLOSURE_KINDS,
    REPLAY_KINDS,
    ScriptSession,
    add_call_results,
    start_conversation,
)
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
    question: str = "tool_choice: which values work?"
    settles: str = "How calls can be forced, allowed and forbidden."
    passes: str = "With auto the model calls on request; other values are followed or rejected."
    fails: str = "A value is accepted and ignored."
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
    # A call that cannot be read obeys, or disobeys, like any other.
    calls = judge_turn(answer.reply, session.tools).arrived
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
    question: str = (
        "Extras: are strict schemas, developer messages and unknown parameters accepted?"
    )
    settles: str = "What a request can contain without being rejected."
    passes: str = "The plain request is accepted. Which extras are accepted is recorded."
    fails: str = "Even the plain request is rejected."
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
    question: str = "Call ids: which foreign formats are accepted in a history?"
    settles: str = "Whether a conversation can be moved here from another vendor."
    passes: str = "Ids in the vendor's own format are accepted."
    fails: str = "A history is rejected for ids in the vendor's own format."
    # An endpoint that demands reasoning is first asked for a turn with it.
    requests: int = 2 * (len(FOREIGN_IDS) + 1) + 1
    refusal_metrics: tuple[Metric, ...] = ()

    def draw(self, rng: random.Random) -> DrawnValues:
        return DrawnValues({"a": rng.randrange(2, 1000), "b": rng.randrange(2, 1000)})

    def script(self, drawn: DrawnValues, builder: QuestionBuilder) -> Script:
        session = ScriptSession(builder, (PROBE_ADD,))
        named_answers = yield from _ask_with_ids(builder, _foreign_turns(drawn), session.tools)
        if any(_lacks_reasoning(answer) for answer in named_answers.values()):
            # Reasoning cannot be made up, so the ids stand in a turn of the endpoint itself.
            own = yield from _ask_own_turns(session, drawn)
            fuller = builder.with_all_reasoning()
            if own:
                named_answers = yield from _ask_with_ids(fuller, own, session.tools)
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


def _lacks_reasoning(answer: Answer) -> bool:
    return answer.refusal is not None and answer.refusal.kind in REPLAY_KINDS


def _ask_with_ids(
    builder: QuestionBuilder, turns: Sequence[Turn], tools: Sequence[ToolSpec]
) -> Generator[Sequence[Question], Sequence[Answer], dict[str, Answer]]:
    """The answers to the history with the ids of each form, and with ids mapped by the dialect."""
    calls = {
        name: builder.unchecked_call(_with_id(turns, id_), tools)
        for name, id_ in FOREIGN_IDS.items()
    }
    calls["mapped"] = builder.call(
        Conversation(list(_with_id(turns, FOREIGN_IDS["openai"]))), tools
    )
    answers = yield tuple(Question(call, f"ids: {name}") for name, call in calls.items())
    return dict(zip(calls, answers, strict=True))


def _ask_own_turns(
    session: ScriptSession, drawn: DrawnValues
) -> Generator[Sequence[Question], Sequence[Answer], tuple[Turn, ...]]:
    """The same history with the endpoint's own call and reasoning; () without exactly one call."""
    conversation = start_conversation(_prompt(drawn))
    (answer,) = yield (Question(session.builder.call(conversation, session.tools), "own call"),)
    turn = judge_turn(answer.reply, session.tools) if answer.reply else None
    if turn is None or len(turn.calls) != 1:
        return ()
    add_call_results(conversation, turn, [({"ok": True}, False)])
    return tuple(conversation.turns)


def _with_id(turns: Sequence[Turn], id_: str) -> tuple[Turn, ...]:
    """The turns with this id for their only call and its result."""

    def change(part: Part) -> Part:
        match part:
            case ToolCall():
                return replace(part, id=id_)
            case ToolResult():
                return replace(part, call_id=id_)
            case _:
                return part

    return tuple(replace(turn, parts=tuple(map(change, turn.parts))) for turn in turns)


def _foreign_turns(drawn: DrawnValues) -> tuple[Turn, ...]:
    """A history that the endpoint did not produce; its ids are still to be chosen."""
    arguments = dict(drawn.values)
    raw = f'{{"a": {arguments["a"]}, "b": {arguments["b"]}}}'
    call = ToolCall("", PROBE_ADD.name, arguments, "openai", raw)
    return (
        Turn(Role.USER, (Text(_prompt(drawn)),)),
        Turn(Role.ASSISTANT, (call,)),
        Turn(Role.TOOL, (ToolResult("", '{"ok": true}', name=PROBE_ADD.name),)),
    )


def _prompt(drawn: DrawnValues) -> str:
    return f"Add {drawn.values['a']} and {drawn.values['b']} with {PROBE_ADD.name}."


TOOL_CHOICE = ChoicesProbe()
PARAMETERS = ParametersProbe()
FOREIGN_IDS_PROBE = ForeignIdsProbe()
