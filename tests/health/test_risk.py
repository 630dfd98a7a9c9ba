from __future__ import annotations

from fnmatch import fnmatchcase
from itertools import groupby

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from health.known_tools import DEFAULTS, KNOWN
from health.risk import LONGEST_NAME, Risk, RiskRule, classify_tool

READ, WRITE, DANGEROUS = Risk


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Read", READ),
        ("Grep", READ),
        ("TodoWrite", READ),
        ("Edit", WRITE),
        ("NotebookEdit", WRITE),
        ("Bash", DANGEROUS),
        ("KillShell", DANGEROUS),
        ("WebSearch", READ),
        ("WebFetch", DANGEROUS),
        ("shell", DANGEROUS),
        ("apply_patch", WRITE),
        ("update_plan", READ),
        ("write_to_file", WRITE),
        ("execute_command", DANGEROUS),
        ("search_file_content", READ),
        ("run_shell_command", DANGEROUS),
        ("delete_file", DANGEROUS),
        ("developer__text_editor", WRITE),
        ("mcp__github__get_issue", DANGEROUS),
        ("get_weather", DANGEROUS),
        ("", DANGEROUS),
    ],
)
def test_tools_of_known_agents_have_a_class(name: str, expected: Risk) -> None:
    """Common tools of agents are classified; unclassified tools are dangerous."""
    assert classify_tool(name, DEFAULTS).risk is expected


def test_no_tool_is_classed_twice_and_differently() -> None:
    """The lists of the agents do not contradict each other, so their order does not matter."""
    ordered = sorted(DEFAULTS, key=lambda rule: rule.pattern.lower())
    for pattern, rules in groupby(ordered, key=lambda rule: rule.pattern.lower()):
        assert len({rule.risk for rule in rules}) == 1, pattern


def test_no_pattern_with_a_star_is_harmless() -> None:
    """A default pattern for unknown names never allows anything."""
    starred = [rule for rule in DEFAULTS if "*" in rule.pattern or "?" in rule.pattern]

    assert starred
    assert {rule.risk for rule in starred} == {DANGEROUS}


def test_every_default_says_whose_tool_it_is() -> None:
    """The page groups them by agent."""
    assert all(rule.agent == agent for agent, rules in KNOWN.items() for rule in rules)


def test_the_first_matching_rule_decides() -> None:
    """Operators' rules precede the defaults, and earlier rules precede later ones."""
    rules = (RiskRule("mcp__docs__*", READ), RiskRule("mcp__docs__delete", DANGEROUS), *DEFAULTS)

    result = classify_tool("mcp__docs__delete", rules)

    assert (result.risk, result.by, result.rule) == (READ, "rule mcp__docs__*", rules[0])


def test_the_reason_names_the_rule() -> None:
    """The reason of a refusal shows the rule behind it."""
    assert classify_tool("BASH", DEFAULTS).by == "Bash, a tool of Claude Code"
    assert classify_tool("get_weather", DEFAULTS).by == "no rule fits"


@pytest.mark.parametrize("name", ["Li\u017ft", "\u212aillShell", "Read\u200b", "read ", "Read\n"])
def test_a_name_that_only_looks_like_a_known_one_is_dangerous(name: str) -> None:
    """Letters of other scripts, blanks and invisible characters do not match the real name."""
    assert classify_tool(name, DEFAULTS).by == "no rule fits"


def test_a_very_long_name_is_dangerous_without_matching() -> None:
    """Whatever the rules, a name that long is dangerous."""
    result = classify_tool("a" * (LONGEST_NAME + 1), [RiskRule("*", READ)])

    assert (result.risk, result.rule) == (DANGEROUS, None)


def test_many_stars_do_not_cost_much() -> None:
    """A pattern that makes backtracking matchers slow is matched in bounded steps."""
    hostile = RiskRule("*a" * 50, READ)

    assert not hostile.matches("a" * 255 + "b")
    assert hostile.matches("a" * 256)


@settings(deadline=None)
@given(
    st.text("ab*?", max_size=12),
    st.text("abAB", max_size=16),
)
def test_a_pattern_matches_as_in_a_shell(pattern: str, name: str) -> None:
    """Stars and question marks have their usual meaning."""
    assert RiskRule(pattern, READ).matches(name) == fnmatchcase(name.lower(), pattern)
