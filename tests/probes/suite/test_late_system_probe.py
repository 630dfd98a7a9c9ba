from __future__ import annotations

from dataclasses import replace

import pytest

from probes.dialects import DIALECTS
from probes.messages import Role
from probes.outcomes import FindingKind
from probes.suite.base import DrawnValues
from probes.suite.late_system_probe import LATE_SYSTEM
from probes.target import Provider
from tests.probes.suite.script_player import (
    OPENAI,
    ScriptedAnswer,
    by_label,
    play_by_question,
    prose,
    refusal,
)

DRAWN = DrawnValues({"text": "amber 1", "word": "cedar-2"})
FOLLOWED, IGNORED = prose("amber 1 cedar-2"), prose("amber 1")
GEMINI = replace(OPENAI, dialect=DIALECTS[Provider.GEMINI], format="gemini")


@pytest.mark.parametrize(
    ("late", "position"),
    [
        (FOLLOWED, "anywhere"),
        (IGNORED, "ignored"),
        (refusal(FindingKind.ROLE_REFUSED), "first_only"),
        (refusal(FindingKind.PROVIDER_ERROR, "System message must be first."), "first_only"),
    ],
)
def test_what_happens_to_a_late_system_message_is_noted(
    late: ScriptedAnswer, position: str
) -> None:
    """It is a limit of the endpoint: the attempt passes, and no metric counts it."""
    answers = by_label({"system first": FOLLOWED, "system late": late})

    played = play_by_question(LATE_SYSTEM, DRAWN, answers)

    assert (played.outcome, played.kinds, played.trials) == ("pass", [], {})
    assert played.facts["system_position"] == position
    assert played.rounds == [("system first", "system late")]


def test_the_questions_differ_in_the_position_alone() -> None:
    """So a difference between the answers is about the position."""
    played = play_by_question(LATE_SYSTEM, DRAWN, lambda question: FOLLOWED)

    first, late = (played.call(f"system {name}").turns for name in ("first", "late"))
    assert [turn.role for turn in first] == [Role.SYSTEM, Role.USER, Role.ASSISTANT, Role.USER]
    assert [turn.role for turn in late] == [Role.USER, Role.ASSISTANT, Role.SYSTEM, Role.USER]
    assert sorted(map(str, first)) == sorted(map(str, late))


@pytest.mark.parametrize("late", [FOLLOWED, IGNORED, refusal(FindingKind.ROLE_REFUSED)])
def test_a_model_that_ignores_the_first_system_message_fails(late: ScriptedAnswer) -> None:
    """Nothing is known about positions then."""
    answers = by_label({"system first": IGNORED, "system late": late})

    played = play_by_question(LATE_SYSTEM, DRAWN, answers)

    assert (played.outcome, played.kinds) == ("fail", ["wrong_value"])
    assert "system_position" not in played.facts


def test_a_format_without_late_system_messages_is_not_asked_for_one() -> None:
    """Gemini has one place for system text, before the conversation."""
    played = play_by_question(
        LATE_SYSTEM, DRAWN, by_label({"system first": FOLLOWED}), builder=GEMINI
    )

    assert (played.outcome, played.facts["system_position"]) == ("pass", "first_only")


def test_a_refused_first_system_message_is_no_verdict() -> None:
    """Whether the account or the message is at fault is unknown."""
    answers = by_label(
        {"system first": refusal(FindingKind.PROVIDER_ERROR), "system late": FOLLOWED}
    )

    played = play_by_question(LATE_SYSTEM, DRAWN, answers)

    assert (played.outcome, "system_position" in played.facts) == ("void", False)
