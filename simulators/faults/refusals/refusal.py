"""Shared by all refusals: a check that runs before the vendor's rule, and history readers.

Checks get the request as it was sent, whose inner fields can have any type, and raise
RequestRefused with messages that real vendors send.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from typing_extensions import override

from probes.adapters.json_fields import list_or_empty, object_or_empty, text_or_empty
from probes.messages import JSON
from simulators.faults.fault import Effect, Fault
from simulators.vendors.hooks import FaultHooks
from simulators.vendors.spec import Rule, Spec, VendorRequest

Body = Mapping[str, JSON]


def keep_spec(spec: Spec) -> Spec:
    return spec


@dataclass(frozen=True, slots=True)
class RefusalCheck(FaultHooks):
    """Runs the check of the vendor's format; `change` adapts the vendor."""

    checks: Mapping[str, Rule]
    change: Callable[[Spec], Spec] = keep_spec

    @override
    def spec(self, spec: Spec) -> Spec:
        check = self.checks.get(spec.format)
        if check is None:
            return spec
        changed = self.change(spec)
        return replace(changed, rule=chain_rules(check, changed.rule))


def chain_rules(first: Rule, second: Rule | None) -> Rule:
    """Both rules as one."""

    def rule(request: VendorRequest) -> None:
        first(request)
        if second is not None:
            second(request)

    return rule


def refusal_fault(
    name: str, row: str, symptom: str, hooks: RefusalCheck, effect: Effect | None = None
) -> Fault:
    """The registry entry of a refusal, which acts on the formats that it has a check for."""
    return Fault(
        name, row, symptom, lambda value: hooks, frozenset(hooks.checks), effect or Effect()
    )


def check_body(check: Callable[[Body], None]) -> Rule:
    """A rule from a check of the body alone."""
    return lambda request: check(request.body)


def check_while_thinking(check: Callable[[Body], None]) -> Rule:
    """A rule that applies only while the model thinks."""

    def rule(request: VendorRequest) -> None:
        if request.thinks:
            check(request.body)

    return rule


def list_entries(body: Body, name: str) -> list[Body]:
    """The objects of a list: messages, tools, items."""
    return [object_or_empty(item) for item in list_or_empty(body.get(name))]


def find_blocks(message: Body, kind: str) -> list[tuple[int, Body]]:
    """Anthropic's blocks of one type, with their positions."""
    entries = enumerate(list_entries(message, "content"))
    return [(place, block) for place, block in entries if block.get("type") == kind]


def read_call_ids(message: Body) -> list[str]:
    """The ids of a chat message's calls."""
    return [text_or_empty(call.get("id")) for call in list_entries(message, "tool_calls")]


def assistant_messages(body: Body) -> Iterator[tuple[int, Body]]:
    """The assistant's messages, with their positions."""
    for index, message in enumerate(list_entries(body, "messages")):
        if message.get("role") == "assistant":
            yield index, message
