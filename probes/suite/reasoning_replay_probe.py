"""Whether reasoning must be replayed with the history: branches that differ in nothing else."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from probes.errors import Refused
from probes.history.model_conversation import Conversation
from probes.messages import (
    JSON,
    ModelCall,
    Part,
    Reasoning,
    ReasoningKind,
    Reply,
    Role,
    Text,
    ToolCall,
    Turn,
)
from probes.outcomes import Metric
from probes.suite import two_turns
from probes.suite.base import Answer, DrawnValues, Judgement, Question, Script
from probes.suite.probe_tools import PROBE_ADD, PROBE_ECHO
from probes.suite.question_builder import QuestionBuilder
from probes.suite.replay_lessons import Lesson
from probes.suite.script_steps import (
    REPLAY_KINDS,
    ScriptSession,
    add_call_results,
    add_plain_answer,
    is_reasoned,
    start_conversation,
)
from probes.suite.two_turns import NEXT, PROMPT
from probes.text_answer import read_text_answer

# Kinds whose text can be blanked without changing anything signed.
BLANKABLE = (ReasoningKind.FIELD, ReasoningKind.TAGS)


@dataclass(frozen=True, slots=True)
class ReasoningReplayProbe:
    """Continues a turn with its reasoning kept, dropped and blanked, then adds a new user turn."""

    name: str = "reasoning_replay"
    question: str = "Reasoning replay: must reasoning be sent back with the history?"
    settles: str = "Which reasoning must be stored and sent back, and what happens without it."
    passes: str = (
        "The history is accepted by the measured rule, or after its refusal taught the rule."
    )
    fails: str = (
        "The history is rejected under a measured rule or under every rule, or the result is "
        "unused."
    )
    requests: int = 7
    refusal_metrics: tuple[Metric, ...] = (Metric.PARSE_SUCCESS,)

    def draw(self, rng: random.Random) -> DrawnValues:
        return two_turns.draw_values(rng)

    def script(self, drawn: DrawnValues, builder: QuestionBuilder) -> Script:
        session = ScriptSession(builder, (PROBE_ECHO, PROBE_ADD))
        conversation = start_conversation(PROMPT.format(tool=PROBE_ADD.name, **drawn.values))
        turn = yield from session.ask_for_calls(conversation, self.refusal_metrics)
        if isinstance(turn, Judgement):
            return turn
        if not _has_reasoned(turn.as_history_reply):
            session.facts["replay"] = {"reasoned": False}
            return session.judge()
        add_call_results(
            conversation, turn, [({"nonce": drawn.values["nonce"]}, False)] * len(turn.calls)
        )
        rule = builder.replay.rule
        branches = _branches(session, conversation)
        answers = dict(zip(branches, (yield _questions(branches)), strict=True))
        facts: dict[str, JSON] = {"reasoned": True}
        facts |= {name: _acceptance(answer) for name, answer in answers.items()}
        refusal = _judge_guess(session, tuple(conversation.turns), rule, branches, answers)
        guessed = answers["guess"].reply
        if guessed is not None and not guessed.calls:
            session.check_result_use(turn, guessed, [str(drawn.values["nonce"])])
        kept = answers["kept"]
        if kept.reply is not None:
            later = _next_turn(session, conversation, kept, drawn)
            later_answers = dict(zip(later, (yield _questions(later)), strict=True))
            facts |= {f"next_{name}": _acceptance(answer) for name, answer in later_answers.items()}
        session.facts["replay"] = facts
        return session.judge_refusal(refusal) if refusal else session.judge()


def _judge_guess(
    session: ScriptSession,
    turns: Sequence[Turn],
    rule: Lesson,
    branches: dict[str, ModelCall],
    answers: dict[str, Answer],
) -> Answer | None:
    """Count the branch of the rule in force; returns it if its refusal is not about reasoning.

    The other branches are its repetition under another rule.
    """
    guess = answers["guess"]
    if guess.refusal is None or not _is_about_reasoning(guess.refusal, answers):
        session.judge_continuation(turns, rule, guess)
        return guess if guess.reply is None else None
    lesson = Lesson.ALL if answers["kept"].reply is not None else Lesson.NONE
    branch = "kept" if lesson is Lesson.ALL else "dropped"
    can_teach = branches[branch] != branches["guess"]
    session.judge_repeated(turns, rule, guess, answers[branch], lesson if can_teach else None)
    return None


def _is_about_reasoning(refusal: Refused, answers: dict[str, Answer]) -> bool:
    """Whatever it says, a refusal is about reasoning if the bare history is taken."""
    return refusal.kind in REPLAY_KINDS or answers["dropped"].reply is not None


def _branches(session: ScriptSession, conversation: Conversation) -> dict[str, ModelCall]:
    """The same continuation, with more or less of the reasoning."""
    builder = session.builder
    branches = {
        "guess": builder.call(conversation, session.tools),
        "kept": builder.with_all_reasoning().call(conversation, session.tools),
        "dropped": builder.raw_call(
            without_reasoning(builder.sent_turns(conversation)), session.tools
        ),
    }
    if any(_is_blankable(part) for turn in conversation.turns for part in turn.parts):
        branches["blanked"] = builder.raw_call(
            _blank_reasoning(builder.sent_turns(conversation)), session.tools
        )
    return branches


def _next_turn(
    session: ScriptSession, conversation: Conversation, kept: Answer, drawn: DrawnValues
) -> dict[str, ModelCall]:
    """A new user turn, with the reasoning of earlier turns kept or dropped."""
    assert kept.reply is not None
    add_plain_answer(conversation, kept.reply, session.tools)
    conversation.add_user(NEXT.format(tool=PROBE_ECHO.name, **drawn.values))
    builder = session.builder
    return {
        "kept": builder.with_all_reasoning().call(conversation, session.tools),
        "dropped": builder.raw_call(
            without_reasoning(builder.sent_turns(conversation)), session.tools
        ),
    }


def _questions(branches: dict[str, ModelCall]) -> tuple[Question, ...]:
    return tuple(Question(call, f"reasoning: {name}") for name, call in branches.items())


def _acceptance(answer: Answer) -> str:
    """`taken`, or the kind of the refusal."""
    return "taken" if answer.refusal is None else str(answer.refusal.kind)


def without_reasoning(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """The turns of a client that keeps only text and calls."""
    return tuple(
        replace(
            turn,
            parts=tuple(_without_reasoning_text(p) for p in turn.parts if not _is_reasoning(p)),
        )
        if turn.role is Role.ASSISTANT
        else turn
        for turn in turns
    )


def _has_reasoned(reply: Reply) -> bool:
    """Whether an answer has reasoning, in its own field or between tags in its text."""
    tagged = any(
        read_text_answer([part.text], ()).reasoning
        for part in reply.parts
        if isinstance(part, Text)
    )
    return tagged or is_reasoned(reply.as_turn())


def _without_reasoning_text(part: Part) -> Part:
    """A part without the reasoning between its tags and without its signature."""
    if isinstance(part, Text):
        part = replace(part, text=read_text_answer([part.text], ()).text or "")
    return _unsigned(part)


def _is_reasoning(part: Part) -> bool:
    return isinstance(part, Reasoning)


def _unsigned(part: Part) -> Part:
    if not isinstance(part, ToolCall | Text) or "gemini" not in part.extra:
        return part
    own = part.extra["gemini"]
    assert isinstance(own, dict)
    fields = {key: value for key, value in own.items() if key != "thoughtSignature"}
    return replace(part, extra={**part.extra, "gemini": fields})


def _is_blankable(part: Part) -> bool:
    return isinstance(part, Reasoning) and part.kind in BLANKABLE


def _blank_reasoning(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    def blank(part: Part) -> Part:
        return replace(part, text="") if isinstance(part, Reasoning) else part

    return tuple(replace(turn, parts=tuple(blank(part) for part in turn.parts)) for turn in turns)


REASONING_REPLAY = ReasoningReplayProbe()
