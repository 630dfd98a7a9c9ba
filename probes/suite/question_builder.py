"""Builds questions for one endpoint: its model, dialect and options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from probes.dialects.apply import apply_dialect
from probes.dialects.base import EVERY_CHOICE, Dialect
from probes.history.model_conversation import Conversation, SendOptions
from probes.history.reasoning_replay import Receiver, replay_reasoning
from probes.messages import JSON, ModelCall, ToolChoice, ToolSpec, Turn
from probes.suite.replay_lessons import Lesson, ReplayLessons

# Room for a model that thinks before it calls.
MAX_TOKENS = 4096
# The origin of turns that the endpoint produced itself, so that they are not foreign to it.
OWN_ORIGIN = "here"


@dataclass(frozen=True, slots=True)
class QuestionBuilder:
    """Builds the questions of one endpoint in its dialect."""

    model: str
    dialect: Dialect  # with the replay rule that the run started with
    format: str  # the wire format
    options: Mapping[str, JSON] = field(default_factory=dict)
    max_tokens: int = MAX_TOKENS
    stream: bool = False  # whether questions are asked for a streamed answer
    replay: ReplayLessons = field(default_factory=ReplayLessons)  # shared by the scripts of a run

    @property
    def dialect_in_force(self) -> Dialect:
        """The dialect with the replay rule as the run has learnt it so far."""
        return self.replay.rule.apply(self.dialect)

    def call(
        self,
        conversation: Conversation,
        tools: Sequence[ToolSpec],
        *,
        choice: ToolChoice | None = None,
        parallel: bool | None = None,
        stream: bool | None = None,
    ) -> ModelCall:
        """The next question of a conversation, with the dialect's replay rule and limits."""
        question = self._blank(tools, choice=choice, parallel=parallel, stream=stream)
        options = SendOptions(self.dialect_in_force, OWN_ORIGIN)
        return conversation.to_call(question, options).call

    def raw_call(
        self, turns: Sequence[Turn], tools: Sequence[ToolSpec], *, choice: ToolChoice | None = None
    ) -> ModelCall:
        """A question with the history exactly as passed, valid or not."""
        question = replace(self._blank(tools, choice=choice), turns=tuple(turns))
        return apply_dialect(question, self.dialect).call

    def sent_turns(self, conversation: Conversation) -> tuple[Turn, ...]:
        """The turns of a conversation under the ids that this endpoint is sent."""
        return conversation.wire_turns(self.dialect.id_rule)

    def unchecked_call(self, turns: Sequence[Turn], tools: Sequence[ToolSpec]) -> ModelCall:
        """A question with a history that may be broken, and with the reasoning that is due.

        Otherwise its refusal could be about the reasoning.
        """
        receiver = Receiver(self.dialect_in_force, OWN_ORIGIN, has_tools=bool(tools))
        return self.raw_call(replay_reasoning(turns, receiver).turns, tools)

    def with_rule(self, rule: Lesson) -> QuestionBuilder:
        """The same endpoint under another replay rule."""
        return replace(self, replay=ReplayLessons(rule))

    def with_all_reasoning(self) -> QuestionBuilder:
        """The same endpoint, with all reasoning replayed as received."""
        return self.with_rule(Lesson.ALL)

    def with_every_choice(self) -> QuestionBuilder:
        """The same endpoint with every tool_choice allowed, to measure which it accepts."""
        dialect = replace(self.dialect, choices=EVERY_CHOICE, choices_thinking=EVERY_CHOICE)
        return replace(self, dialect=dialect)

    def _blank(
        self,
        tools: Sequence[ToolSpec],
        *,
        choice: ToolChoice | None = None,
        parallel: bool | None = None,
        stream: bool | None = None,
    ) -> ModelCall:
        return ModelCall(
            self.model,
            (),
            tools=tuple(tools),
            max_tokens=self.max_tokens,
            tool_choice=choice,
            parallel=parallel,
            stream=self.stream if stream is None else stream,
            options=self.options,
        )
