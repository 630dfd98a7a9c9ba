from __future__ import annotations

import pytest

from probes.adapters import FORMATS
from probes.history.request_changes import ChangeKind
from probes.history.system_turns import place_system_turns
from probes.messages import ModelCall, Role, Text, Turn

RULE, REMINDER, LATER = (
    Turn(Role.SYSTEM, (Text(text),)) for text in ("Be brief.", "Use tools.", "Hurry.")
)
ASK, ANSWER = Turn(Role.USER, (Text("Hi"),)), Turn(Role.ASSISTANT, (Text("Hello"),))
MOVED, MERGED = ChangeKind.SYSTEM_MOVED, ChangeKind.SYSTEM_MERGED


@pytest.mark.parametrize("position", ["first_only", "ignored", "unsettled"])
@pytest.mark.parametrize(
    ("turns", "text", "changes"),
    [
        ((RULE, ASK, LATER), "Be brief.\n\nHurry.", [(MOVED, "$.turns[2]")]),
        ((RULE, REMINDER, ASK), "Be brief.\n\nUse tools.", [(MERGED, "$.turns[1]")]),
        ((ASK, LATER), "Hurry.", [(MOVED, "$.turns[1]")]),
        (
            (RULE, REMINDER, ASK, LATER),
            "Be brief.\n\nUse tools.\n\nHurry.",
            [(MERGED, "$.turns[1]"), (MOVED, "$.turns[3]")],
        ),
        (
            (ASK, LATER, ANSWER, REMINDER),
            "Hurry.\n\nUse tools.",
            [(MOVED, "$.turns[1]"), (MOVED, "$.turns[3]")],
        ),
    ],
)
def test_system_text_is_one_turn_at_the_beginning(
    position: str, turns: tuple[Turn, ...], text: str, changes: list[tuple[ChangeKind, str]]
) -> None:
    """In its order, with a change for each turn; everything else stays in its order."""
    placed = place_system_turns(turns, position)

    assert placed.turns[0] == Turn(Role.SYSTEM, (Text(text),))
    others = tuple(turn for turn in turns if turn.role is not Role.SYSTEM)
    assert placed.turns[1:] == others
    assert [(change.kind, change.path) for change in placed.changes] == changes


@pytest.mark.parametrize("position", ["anywhere", "unknown", "first_only"])
@pytest.mark.parametrize("turns", [(), (ASK,), (RULE,), (RULE, ASK, ANSWER)])
def test_a_conversation_that_is_accepted_is_left_alone(
    position: str, turns: tuple[Turn, ...]
) -> None:
    """One system turn at the beginning, or none."""
    assert place_system_turns(turns, position).turns == turns
    assert place_system_turns(turns, position).changes == ()


def test_an_endpoint_that_takes_them_anywhere_gets_them_there() -> None:
    """What was measured decides; so does nothing where nothing was measured."""
    turns = (RULE, REMINDER, ASK, LATER)

    assert place_system_turns(turns, "anywhere").turns == turns
    assert place_system_turns(turns, "unknown").turns == turns


def test_fields_of_a_text_survive_the_merge() -> None:
    """A mark for a cache belongs to its own text."""
    cached = Turn(Role.SYSTEM, (Text("Long.", {"anthropic": {"cache_control": {"a": 1}}}),))

    (merged, _) = place_system_turns((cached, RULE, ASK), "first_only").turns

    assert merged.parts == (*cached.parts, *RULE.parts)


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_the_request_has_one_system_message_and_it_is_first(format: str) -> None:
    """As strict templates want it, in every format."""
    turns = place_system_turns((RULE, REMINDER, ASK, LATER), "first_only").turns
    adapter = FORMATS[format]

    read = adapter.read_request(adapter.write_request(ModelCall("m", turns)))

    assert [turn.role for turn in read.turns] == [Role.SYSTEM, Role.USER]
    assert read.turns[0].parts == (Text("Be brief.\n\nUse tools.\n\nHurry."),)
