from __future__ import annotations

from dataclasses import replace

import pytest

from probes.adapters import FORMATS, adapter_for
from probes.dialects import (
    BY_FORMAT,
    DIALECTS,
    NAMED,
    Dialect,
    ReplayRule,
    StrictSupport,
    ThinkingSwitch,
    at_base_url,
    dialect_named,
    dialects_of,
    override_dialect,
)
from probes.dialects.apply import apply_dialect
from probes.dialects.deepseek import DEEPSEEK, DEEPSEEK_V32
from probes.dialects.openai import OPENAI
from probes.errors import TargetError
from probes.messages import ModelCall, ReasoningKind, ToolSpec
from probes.resolve.call_ids import RULES
from probes.target import Provider, Target
from tests.simulators.plugin import ROOT


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


def test_every_dialect_belongs_to_one_wire_format() -> None:
    """A provider can have exactly the dialects of its own format, its own among them."""
    assert set(BY_FORMAT) == set(FORMATS)
    assert sum(map(len, BY_FORMAT.values())) == len(NAMED)
    for provider in Provider:
        assert dialects_of(provider) == BY_FORMAT[adapter_for(provider).format]
        assert {dialect.format for dialect in dialects_of(provider)} == {
            adapter_for(provider).format
        }
        assert DIALECTS[provider] in dialects_of(provider)


@pytest.mark.parametrize("provider", Provider)
@pytest.mark.parametrize("name", ["", *NAMED])
def test_a_target_has_a_dialect_that_fits_its_provider(provider: Provider, name: str) -> None:
    """A dialect of another wire format would send what the adapter cannot write."""
    fits = not name or name in {dialect.name for dialect in dialects_of(provider)}
    if fits:
        target = Target(provider, "https://e.test/v1", "m", dialect=name)
        assert target.resolve_dialect().name == (name or str(provider))
    else:
        with pytest.raises(TargetError, match=f"{name!r} does not fit the provider"):
            Target(provider, "https://e.test/v1", "m", dialect=name)


@pytest.mark.parametrize(
    ("path", "strict"),
    [
        ("", None),
        ("/v1", None),
        ("/beta", True),
        ("/beta/", True),
        ("/relay/beta", True),
        ("/betas", None),
        ("/alphabeta", None),
        ("/beta/v1", None),
    ],
)
def test_deepseek_takes_strict_tools_at_its_beta_address_only(
    path: str, strict: bool | None
) -> None:
    """Elsewhere the flag is refused, so it is left out."""
    target = Target(Provider.DEEPSEEK, f"https://api.deepseek.com{path}", "m")
    call = ModelCall("m", (), tools=(ToolSpec("f", "", {"type": "object"}, strict=True),))

    (tool,) = apply_dialect(call, target.resolve_dialect()).call.tools

    assert tool.strict is strict


def test_an_address_changes_nothing_but_strict_tools() -> None:
    """The path of a base URL says nothing about other vendors."""
    assert at_base_url(OPENAI, "https://e.test/beta") is OPENAI
    assert at_base_url(DEEPSEEK, "https://e.test/beta") == replace(
        DEEPSEEK, strict=StrictSupport.TOOL
    )


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


def test_every_dialect_is_documented() -> None:
    """An operator chooses from this table."""
    page = (ROOT / "docs" / "protocol.md").read_text(encoding="utf-8")
    table = page.partition("## Dialects")[2].partition("## Add a dialect")[0]

    assert [name for name in NAMED if f"`{name}`" not in table] == []
