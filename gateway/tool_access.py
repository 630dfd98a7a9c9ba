"""Which tools a model is offered, and which of its calls are let through: risk, stage and modes."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from gateway.plan import Plan
from probes.messages import ModelCall, Role, Text, ToolCall, ToolChoice, Turn

# Tools that run another tool, and the argument that names it: they are classed by what they run.
DISPATCHERS = {"tool_call": "name"}
MAX_LISTED = 30


@dataclass(frozen=True, slots=True)
class OfferedTools:
    """A request with the tools that may be offered, and the names of the others."""

    call: ModelCall
    withheld: tuple[str, ...]


def withhold_tools(call: ModelCall, plan: Plan) -> OfferedTools:
    """Leave out every tool that the policy does not allow, and tell the model why."""
    offered = tuple(spec for spec in call.tools if may_offer(spec.name, plan))
    typed = tuple(tool for tool in call.vendor_tools if may_offer(tool.name, plan))
    kept = {spec.name for spec in offered} | {tool.name for tool in typed}
    names = [spec.name for spec in call.tools] + [tool.name for tool in call.vendor_tools]
    withheld = tuple(name for name in names if name not in kept)
    if not withheld:
        return OfferedTools(call, ())
    choice = _limit_choice(call.tool_choice, kept)
    sentence = Turn(Role.SYSTEM, (Text(withheld_sentence(withheld, plan)),))
    turns = (*_leading_system(call), sentence, *call.turns[len(_leading_system(call)) :])
    limited = replace(call, tools=offered, vendor_tools=typed, tool_choice=choice, turns=turns)
    return OfferedTools(limited, withheld)


def _limit_choice(choice: ToolChoice | None, kept: Collection[str]) -> ToolChoice | None:
    """The choice among the tools that are offered; None if nothing is left to choose."""
    if choice is None or not kept or (choice.name and choice.name not in kept):
        return None
    names = tuple(name for name in choice.names if name in kept)
    return None if choice.names and not names else replace(choice, names=names)


def may_offer(name: str, plan: Plan) -> bool:
    """A dispatcher is offered with any tools, since its calls are classed one by one."""
    return plan.offers_tools if name in DISPATCHERS else plan.allows(name)


def may_run(call: ToolCall, plan: Plan) -> bool:
    """Whether a call is let through, a dispatcher's by the tool that it names."""
    argument = DISPATCHERS.get(call.name)
    if argument is None:
        return plan.allows(call.name)
    return plan.allows(str(call.input.get(argument, "")))


def withheld_sentence(names: tuple[str, ...], plan: Plan) -> str:
    """What the model is told, so that it plans without these tools."""
    listed = ", ".join(names[:MAX_LISTED]) + (", …" if len(names) > MAX_LISTED else "")
    return (
        f"These tools are switched off for this model: {listed}. {plan.reason} Do not call them; "
        "plan without them, and say so where the task needs one."
    )


def _leading_system(call: ModelCall) -> tuple[Turn, ...]:
    count = next(
        (index for index, turn in enumerate(call.turns) if turn.role is not Role.SYSTEM),
        len(call.turns),
    )
    return call.turns[:count]
