"""The endpoint as a script sees it: which model, which dialect, which options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from probes.dialects.apply import apply_dialect
from probes.dialects.base import EVERY_CHOICE, Dialect, ReplayRule
from probes.history.model_conversation import Conversation, SendOptions
from probes.messages import JSON, ModelCall, ReasoningKind, ToolChoice, ToolSpec, Turn

# Room for a model that thinks before it calls.
MAX_TOKENS = 4096
# Turns that the endpoint made itself are not foreign to it.
HERE = "here"


@dataclass(frozen=True, slots=True)
class QuestionBuilder:
    """Builds the questions of one endpoint in its dialect."""

    model: str
    dialect: Dialect
    format: str  # the wire format it speaks
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
        """The next question of a conversation, replayed and limited as the dialect says."""
        question = self._blank(tools, choice=choice, parallel=parallel, stream=stream)
        return conversation.to_call(question, SendOptions(self.dialect, HERE)).call

    def raw_call(
        self, turns: Sequence[Turn], tools: Sequence[ToolSpec], *, choice: ToolChoice | None = None
    ) -> ModelCall:
        """A question with a history exactly as given, right or wrong."""
        question = replace(self._blank(tools, choice=choice), turns=tuple(turns))
        return apply_dialect(question, self.dialect).call

    def with_all_reasoning(self) -> QuestionBuilder:
        """The same endpoint, with all reasoning given back as it came."""
        carries = frozenset(ReasoningKind)
        rule = ReplayRule.ALL_TURNS
        dialect = replace(self.dialect, replay=rule, carries=carries, replay_needs_tools=False)
        return replace(self, dialect=dialect)

    def without_reasoning(self) -> QuestionBuilder:
        """The same endpoint, with no reasoning given back."""
        return replace(self, dialect=replace(self.dialect, replay=ReplayRule.NONE))

    def with_every_choice(self) -> QuestionBuilder:
        """The same endpoint, with no tool_choice held back: what it takes is to be measured."""
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
