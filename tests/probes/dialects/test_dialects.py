from __future__ import annotations

import pytest

from probes.dialects import (
    DIALECTS,
    NAMED,
    Dialect,
    ReplayRule,
    StrictSupport,
    ThinkingSwitch,
    dialect_named,
    override_dialect,
)
from probes.dialects.deepseek import DEEPSEEK, DEEPSEEK_V32
from probes.errors import TargetError
from probes.messages import ReasoningKind
from probes.resolve.call_ids import RULES
from probes.target import Provider


def test_every_provider_has_a_dialect() -> None:
    """The registry is complete, and every dialect can be selected by name."""
    assert set(DIALECTS) == set(Provider)
    for provider, dialect in DIALECTS.items():
        assert dialect.name == str(provider)
        assert dialect_named(dialect.name) is dialect


@pytest.mark.parametrize("dialect", NAMED.values(), ids=NAMED.keys())
def test_a_dialect_refers_to_what_exists(dialect: Dialect) -> None:
    """A known id rule, a field if blocks become fields, notes with their source."""
    assert dialect.id_rule in RULES
    assert dialect.reasoning_field is not None or not dialect.block_to_field
    assert ReasoningKind.FIELD in dialect.carries or not dialect.block_to_field
    assert any("PROTOCOLS §" in note for note in dialect.notes)


def test_a_name_that_no_dialect_has_is_refused() -> None:
    """A typo must not select the plain dialect."""
    with pytest.raises(TargetError, match="no dialect 'deepsek'"):
        dialect_named("deepsek")


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("deepseek", ReplayRule.ALL_TURNS),
        ("deepseek_v32", ReplayRule.SAME_TURN),
        ("anthropic", ReplayRule.SIGNATURE),
        ("gemini", ReplayRule.SIGNATURE),
        ("openai", ReplayRule.NONE),
        ("openai_responses", ReplayRule.ITEM_PAIR),
        ("minimax", ReplayRule.BEHAVIOURAL),
        ("glm", ReplayRule.SAME_TURN),
        ("glm_preserved", ReplayRule.ALL_TURNS),
        ("qwen", ReplayRule.SAME_TURN),
        ("kimi", ReplayRule.ALL_TURNS),
        ("mistral", ReplayRule.NONE),
        ("ollama", ReplayRule.SAME_TURN),
        ("plain", ReplayRule.SAME_TURN),
    ],
)
def test_replay_rules_start_from_what_the_vendors_say(name: str, rule: ReplayRule) -> None:
    """The assumed rule until one is measured."""
    assert NAMED[name].replay is rule


@pytest.mark.parametrize(
    ("measured", "rule"),
    [
        ({"reasoning_replay": "required_same_turn"}, ReplayRule.SAME_TURN),
        ({"reasoning_replay": "required_all_turns"}, ReplayRule.ALL_TURNS),
        ({"reasoning_replay": "rejected"}, ReplayRule.NONE),
        ({"reasoning_replay": "tolerated"}, ReplayRule.ALL_TURNS),
        ({"reasoning_replay": "unknown"}, ReplayRule.ALL_TURNS),
        ({"replay": "behavioural"}, ReplayRule.BEHAVIOURAL),
        ({}, ReplayRule.ALL_TURNS),
    ],
)
def test_what_was_measured_wins_over_the_guess(measured: dict[str, str], rule: ReplayRule) -> None:
    """Unknown values change nothing."""
    assert override_dialect(DEEPSEEK, measured).replay is rule


def test_a_measured_tool_choice_holds_with_and_without_thinking() -> None:
    """The probe ran under the endpoint's own settings."""
    measured = override_dialect(
        DEEPSEEK, {"tool_choice": ["auto", "required"], "schema_level": "none"}
    )

    assert measured.choices == measured.choices_thinking == {"auto", "required"}
    assert measured.name == "deepseek"
    assert override_dialect(DEEPSEEK, {"tool_choice": None}) == DEEPSEEK


def test_fields_of_a_dialect_can_be_set_by_their_names() -> None:
    """From plain data, as an operator writes it."""
    changed = override_dialect(
        DEEPSEEK_V32,
        {
            "strict": "tool",
            "carries": ["block"],
            "choices": ["auto"],
            "thinking": {"off": None, "by_default": True},
            "reasoning_field": "reasoning",
        },
    )

    assert changed.strict is StrictSupport.TOOL
    assert changed.carries == {ReasoningKind.BLOCK}
    assert changed.choices == {"auto"}
    assert changed.thinking == ThinkingSwitch(off=None, by_default=True)
    assert changed.reasoning_field == "reasoning"


@pytest.mark.parametrize(
    "measured", [{"replay": "sometimes"}, {"strict": 3}, {"carries": 1}, {"thinking": [1]}]
)
def test_a_value_that_a_field_cannot_have_is_refused(measured: dict[str, object]) -> None:
    """The error names the field."""
    with pytest.raises(TargetError, match=next(iter(measured))):
        override_dialect(DEEPSEEK, measured)
