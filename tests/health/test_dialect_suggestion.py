from __future__ import annotations

from typing import Any

import pytest

from health.dialect_suggestion import suggest_dialect
from probes.dialects import check_dialect
from probes.outcomes import FindingKind
from probes.target import Provider


def replay(value: str, trials: int = 2, agree: int = 2) -> dict[str, Any]:
    return {"reasoning_replay": {"value": value, "trials": trials, "agree": agree}}


CERTAIN: list[tuple[str, str, set[str], dict[str, Any], str]] = [
    ("openai", "", {FindingKind.ENDPOINT_MISMATCH}, {}, "openai_reasoning"),
    ("openai", "openai", {"endpoint_mismatch"}, {}, "openai_reasoning"),
    ("anthropic", "", {FindingKind.REPLAY_PREFIX_BOUND}, {}, "anthropic_bound"),
    ("deepseek", "", set(), replay("required_same_turn"), "deepseek_v32"),
    ("openai", "deepseek", set(), replay("required_same_turn"), "deepseek_v32"),
]
UNCERTAIN: list[tuple[str, str, set[str], dict[str, Any]]] = [
    # Nothing was measured, or something that other vendors do too.
    ("deepseek", "", set(), {}),
    ("openai", "", {FindingKind.PARAM_UNKNOWN, FindingKind.NO_TOOLS}, {}),
    ("qwen", "", {FindingKind.ENDPOINT_MISMATCH}, {}),
    ("glm", "", set(), replay("required_same_turn")),
    # V4 requires all turns; a trial that disagrees leaves a doubt, and so does a single one.
    ("deepseek", "", set(), replay("required_all_turns")),
    ("deepseek", "", set(), replay("required_same_turn", 3, 2)),
    ("deepseek", "", set(), replay("required_same_turn", 1, 1)),
    # The dialect is already in use.
    ("openai", "openai_reasoning", {FindingKind.ENDPOINT_MISMATCH}, {}),
    ("deepseek", "deepseek_v32", set(), replay("required_same_turn")),
]


@pytest.mark.parametrize(("provider", "dialect", "findings", "measured", "suggested"), CERTAIN)
def test_a_dialect_is_suggested_where_only_it_behaves_so(
    provider: str, dialect: str, findings: set[str], measured: dict[str, Any], suggested: str
) -> None:
    """The suggestion fits the provider and says why."""
    suggestion = suggest_dialect(provider, dialect, findings=findings, capabilities=measured)

    assert suggestion is not None
    assert suggestion.dialect == suggested
    assert suggestion.reason.endswith(".")
    check_dialect(Provider(provider), suggestion.dialect)


@pytest.mark.parametrize(("provider", "dialect", "findings", "measured"), UNCERTAIN)
def test_nothing_is_suggested_while_there_is_doubt(
    provider: str, dialect: str, findings: set[str], measured: dict[str, Any]
) -> None:
    """A wrong suggestion costs a profile."""
    assert suggest_dialect(provider, dialect, findings=findings, capabilities=measured) is None
