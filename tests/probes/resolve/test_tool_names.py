from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.messages import ToolSpec
from probes.resolve.tool_names import ToolMatch, declared_name, find_tool, normalise_name


def tools(*names: str) -> list[ToolSpec]:
    return [ToolSpec(name, "", None) for name in names]


@pytest.mark.parametrize(
    ("written", "repairs"),
    [
        ("get_weather", ()),
        ("get_weather</arg_value>", ("name_markup",)),
        ("get_weather<|channel|>commentary", ("name_markup",)),
        ("get_weather <|constrain|>json", ("name_markup",)),
        ("\nget_weather\n", ("name_markup",)),
        ("get_weatherjson", ("name_suffix",)),
        ("functions.get_weather", ("name_prefix",)),
        ("default_api.get_weather", ("name_prefix",)),
        ("default_api:get_weather", ("name_prefix",)),
        ("tool:get_weather", ("name_prefix",)),
        ("mcp__home__get_weather", ("name_prefix",)),
        ("mcp__my__home__get_weather", ("name_prefix",)),
        ("functions.get_weatherjson", ("name_prefix", "name_suffix")),
        ("Get_Weather", ("name_case",)),
        ("get-weather", ("name_fold",)),
        ("Get Weather", ("name_fold",)),
        ("functions.Get_Weather</name>", ("name_markup", "name_prefix", "name_case")),
    ],
)
def test_a_name_spelled_otherwise_means_the_one_tool_it_can_mean(
    written: str, repairs: tuple[str, ...]
) -> None:
    """Every step that was needed to match the tool is named, in order."""
    assert find_tool(written, tools("get_weather", "other")) == ToolMatch("get_weather", repairs)


@pytest.mark.parametrize(
    ("written", "names"),
    [
        ("get_wether", ["get_weather"]),  # likeness is not enough
        ("weather", ["get_weather"]),
        ("READ", ["read", "Read"]),
        ("a b", ["a-b", "a_b"]),
        ("functions.other", ["get_weather"]),
        ("mcp__x__b__c", ["c", "b__c"]),  # both cuts are declared
        ("json", ["get_weather"]),
        ("", ["get_weather"]),
        ("</arg_value>", ["get_weather"]),
        ("f" * 1000, ["f"]),
        ("f", []),
    ],
)
def test_an_unknown_or_ambiguous_name_means_no_tool(written: str, names: list[str]) -> None:
    """A tool with side effects is never called on a guess."""
    assert declared_name(written, tools(*names)) is None


def test_the_exact_name_wins_over_every_other_reading() -> None:
    """A declared name with a prefix or suffix is that tool."""
    offered = tools("functions.f", "f", "fjson", "F")

    assert [declared_name(name, offered) for name in ("functions.f", "fjson", "F")] == [
        "functions.f",
        "fjson",
        "F",
    ]


def test_z31_markup_behind_a_name_is_taken_off() -> None:
    """A no-argument call that arrives as `tool_12</arg_value>` calls tool_12."""
    assert normalise_name("tool_12</arg_value>") == "tool_12"
    assert declared_name("tool_12</arg_value>", tools("tool_1", "tool_12")) == "tool_12"


@given(st.text(), st.lists(st.text(), max_size=4))
def test_any_name_is_looked_up_without_an_exception(name: str, names: list[str]) -> None:
    """A match is always a declared name."""
    assert declared_name(name, tools(*names)) in {None, *names}
