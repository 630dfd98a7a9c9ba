"""Changes every call of an answer, one by one."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from typing_extensions import override

from probes.messages import JSON, Reply, ToolCall
from simulators.vendors.hooks import FaultHooks
from simulators.vendors.reply_style import arguments_text
from simulators.vendors.spec import VendorRequest

Schema: TypeAlias = Mapping[str, JSON]


@dataclass(frozen=True, slots=True)
class CallChange(FaultHooks):
    """Replaces each call with another, depending on the request."""

    change: Callable[[ToolCall, VendorRequest], ToolCall]

    @override
    def reply(self, reply: Reply, request: VendorRequest, rng: random.Random) -> Reply:
        parts = (
            self.change(part, request) if isinstance(part, ToolCall) else part
            for part in reply.parts
        )
        return replace(reply, parts=tuple(parts))


def with_input(call: ToolCall, values: Mapping[str, JSON]) -> ToolCall:
    """The call with other arguments."""
    return replace(call, input=dict(values), raw=arguments_text(values))


def tool_schema(call: ToolCall, request: VendorRequest) -> Schema:
    """The schema of the tool that a call is for."""
    tools = {tool.name: tool for tool in request.call.tools}
    return tools[call.name].schema or {} if call.name in tools else {}
