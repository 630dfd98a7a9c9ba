"""Builds questions for one endpoint: its model, dialect and options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from probes.dialects.apply import apply_dialect
from probes.dialects.base import EVERY_CHOICE, Dialect, ReplayRule
from probes.history.model_conversation import Conversation, SendOptions
from probes.messages import JSON, ModelCall, ReasoningKind, ToolChoice, ToolSpec, Turn

# Room for a model that thinks before it calls.
MAX_TOKENS = 4096
# The origin of turns that the endpoint produced itself, so that they are not foreign to it.
OWN_ORIGIN = "here"


@dataclass(frozen=True, slots=True)
class QuestionBuilder:
    """Builds the questions of one endpoint in its dialect."""

    model: str
    dialect: Dialect
    format: str  # the wire format
    options: Mapping[str, JSON] = field(default_factory=dict)
    max_tokens: int = MAX_TOKENS

    def call(
        self,
        conversation: Conversation,
        tools: Sequence[ToolSpec],
        *,
        choice: ToolChoice | None = None,
        parallel: bool | None = None,
        stream: bool = False,
    ) -> ModelCall:
        """The next question of a conversation, with the dialect's replay rule and limits."""
        question = self._blank(tools, choice=choice, parallel=parallel, stream=stream)
        return conversation.to_call(question, SendOptions(self.dialect, OWN_ORIGIN)).call

    def raw_call(
        self, turns: Sequence[Turn], tools: Sequence[ToolSpec], *, choice: ToolChoice | None = None
    ) -> ModelCall:
        """A question with the history exactly as passed, valid or not."""
        question = replace(self._blank(tools, choice=choice), turns=tuple(turns))
        return apply_dialect(question, self.dialect).call

    def with_all_reasoning(self) -> QuestionBuilder:
        """The same endpoint, with all reasoning replayed as received."""
        carries = frozenset(ReasoningKind)
        rule = ReplayRule.ALL_TURNS
        dialect = replace(self.dialect, replay=rule, carries=carries, replay_needs_tools=False)
        return replace(self, dialect=dialect)

    def without_reasoning(self) -> QuestionBuilder:
        """The same endpoint, with no reasoning replayed."""
        return replace(self, dialect=replace(self.dialect, replay=ReplayRule.NONE))

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
        stream: bool = False,
    ) -> ModelCall:
        return ModelCall(
            self.model,
            (),
            tools=tuple(tools),
            max_tokens=self.max_tokens,
            tool_choice=choice,
            parallel=parallel,
            stream=stream,
            options=self.options,
        )
