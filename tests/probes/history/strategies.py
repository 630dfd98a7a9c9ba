"""Histories drawn by hypothesis: closed ones, and ones in any disorder."""

from __future__ import annotations

from hypothesis import strategies as st

from probes.messages import (
    BrokenCall,
    Part,
    Reasoning,
    ReasoningKind,
    Role,
    Text,
    ToolCall,
    ToolResult,
    Turn,
)

# Few ids, so that they match, repeat and go missing.
ids = st.sampled_from(["c0", "c1", "c2", ""])
origins = st.sampled_from(["", "a", "b"])
texts = st.builds(Text, st.sampled_from(["", "hm", "so"]))
calls = st.builds(ToolCall, ids, st.just("f"), st.just({}), st.just("openai"), st.just("{}"))
broken = st.builds(
    BrokenCall, st.just("{"), st.just("bad"), name=st.sampled_from(["f", ""]), id=ids
)
results = st.builds(ToolResult, ids, st.sampled_from(["1", "2", "3"]))
reasonings = st.one_of(
    st.builds(
        Reasoning,
        st.sampled_from(["", "thought"]),
        st.just(ReasoningKind.FIELD),
        st.sampled_from(["reasoning_content", "reasoning", "thinking"]),
    ),
    st.sampled_from(
        [
            Reasoning("t", ReasoningKind.BLOCK, {"type": "thinking", "thinking": "t"}),
            Reasoning(
                "t", ReasoningKind.BLOCK, {"type": "thinking", "thinking": "t", "signature": "S"}
            ),
            Reasoning("", ReasoningKind.BLOCK, {"type": "redacted_thinking", "data": "D"}),
            Reasoning("t", ReasoningKind.DETAILS, [{"type": "reasoning.text", "text": "t"}]),
            Reasoning("t", ReasoningKind.ITEM, {"type": "reasoning", "id": "rs_1"}),
            Reasoning("t", ReasoningKind.THOUGHT, {"thought": True, "text": "t"}),
            Reasoning("t", ReasoningKind.TAGS, "<think>t</think>"),
        ]
    ),
)


def turns_of(role: Role, parts: st.SearchStrategy[Part]) -> st.SearchStrategy[Turn]:
    held = st.lists(parts, max_size=3).map(tuple)
    return st.builds(Turn, st.just(role), held, origins if role is Role.ASSISTANT else st.just(""))


assistants = turns_of(Role.ASSISTANT, texts | calls | broken | reasonings | results)
any_turns = st.lists(
    st.one_of(
        turns_of(Role.SYSTEM, texts),
        turns_of(Role.USER, texts | results),
        assistants,
        turns_of(Role.TOOL, results),
    ),
    max_size=8,
)


@st.composite
def rounds(draw: st.DrawFn) -> list[Turn]:
    """One answer with its results, in order and complete."""
    before = draw(st.lists(texts | reasonings, max_size=2))
    drawn_calls = draw(st.lists(calls, max_size=3))
    answer = Turn(Role.ASSISTANT, (*before, *drawn_calls), draw(origins))
    answers = tuple(ToolResult(call.id, "r") for call in drawn_calls)
    return [answer, Turn(Role.TOOL, answers)] if answers else [answer]


@st.composite
def closed_turns(draw: st.DrawFn) -> list[Turn]:
    """A history as a well-behaved client keeps it."""
    turns = [Turn(Role.SYSTEM, (Text("Be good."),))] if draw(st.booleans()) else []
    for number in range(draw(st.integers(1, 4))):
        turns.append(Turn(Role.USER, (Text(f"Question {number}."),)))
        for answer_turns in draw(st.lists(rounds(), min_size=1, max_size=3)):
            turns.extend(answer_turns)
    return turns
