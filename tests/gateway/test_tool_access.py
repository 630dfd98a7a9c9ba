from __future__ import annotations

from dataclasses import replace

import pytest

from gateway.model_request import build_request
from gateway.tool_access import may_run, withhold_tools
from health.modes import Mode
from probes.messages import (
    REQUIRED,
    ModelCall,
    Role,
    Text,
    ToolCall,
    ToolChoice,
    ToolSpec,
    Turn,
)
from tests.gateway.policies import plan_at

READ, WRITE, SHELL = "Read", "Edit", "Bash"
ASKED = ModelCall(
    "any",
    (Turn(Role.SYSTEM, (Text("Be brief."),)), Turn(Role.USER, (Text("Tidy up."),))),
    tools=tuple(ToolSpec(name, "", {"type": "object"}) for name in (READ, WRITE, SHELL)),
)


@pytest.mark.parametrize(
    ("stage", "modes", "offered"),
    [
        ("shadow", (), []),
        ("rejected", (), []),
        ("read_only", (), [READ]),
        ("rolled_back", (), [READ]),
        ("write", (), [READ, WRITE]),
        ("full", (), [READ, WRITE, SHELL]),
        ("full", (Mode.READ_ONLY_TOOLS,), [READ]),
        ("full", (Mode.NO_TOOLS,), []),
    ],
)
def test_tools_beyond_the_stage_and_the_modes_are_withheld(
    stage: str, modes: tuple[Mode, ...], offered: list[str]
) -> None:
    """Neither the values nor the body that is sent name another tool, and the model is told."""
    request = build_request(ASKED, plan_at(stage, *modes))

    withheld = [name for name in (READ, WRITE, SHELL) if name not in offered]
    assert [spec.name for spec in request.sent.tools] == offered
    assert list(request.withheld) == withheld
    tools = request.body.get("tools") or []
    assert isinstance(tools, list)
    assert [tool["function"]["name"] for tool in tools] == offered
    system = [turn for turn in request.sent.turns if turn.role is Role.SYSTEM]
    told = "".join(part.text for turn in system for part in turn.parts if isinstance(part, Text))
    assert all(name in told for name in withheld)
    assert bool(withheld) == ("switched off" in told)


def test_a_choice_of_a_withheld_tool_is_dropped() -> None:
    """A model must not be made to call what it was not given."""
    plan = plan_at("read_only")

    assert withhold_tools(replace(ASKED, tool_choice=ToolChoice("named", SHELL)), plan).call == (
        withhold_tools(ASKED, plan).call
    )
    kept = withhold_tools(replace(ASKED, tool_choice=REQUIRED), plan)
    assert kept.call.tool_choice == REQUIRED
    assert withhold_tools(replace(ASKED, tool_choice=REQUIRED), plan_at("shadow")).call.tools == ()


@pytest.mark.parametrize(("stage", "runs"), [("read_only", False), ("full", True)])
def test_a_dispatcher_is_classed_by_the_tool_that_it_names(stage: str, runs: bool) -> None:
    """`tool_call(name, arguments)` runs what its argument names."""
    plan = plan_at(stage)
    shell = ToolCall("1", "tool_call", {"name": SHELL, "arguments": {}}, "openai", "")
    read = replace(shell, input={"name": READ, "arguments": {}})

    assert may_run(shell, plan) is runs
    assert may_run(read, plan)
    assert not may_run(replace(shell, input={}), plan_at("read_only"))


def test_an_aged_policy_allows_only_what_reads() -> None:
    """A policy that could not be refreshed for long is applied in its careful form."""
    request = build_request(replace(ASKED, stream=True), plan_at("full", is_aged=True))

    assert [spec.name for spec in request.sent.tools] == [READ]
    assert request.sent.parallel is False
    assert request.sent.stream is False
