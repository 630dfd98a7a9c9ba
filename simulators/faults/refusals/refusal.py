"""What refusals share: a check that speaks before the vendor's own rule, and reading a history.

Checks get the request as it was sent, whose inner fields may be anything, and raise a Complaint in
the words that were seen in the wild.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from typing_extensions import override

from probes.adapters.json_fields import list_or_empty, object_or_empty, text_or_empty
from probes.messages import JSON
from simulators.faults.fault import Effect, Fault
from simulators.vendors.hooks import Bend
from simulators.vendors.spec import Asked, Rule, Spec

Body = Mapping[str, JSON]


def unchanged(spec: Spec) -> Spec:
    return spec


@dataclass(frozen=True, slots=True)
class Refusing(Bend):
    """Refuses what the check of the vendor's format refuses; `change` is what else is different."""

    checks: Mapping[str, Rule]
    change: Callable[[Spec], Spec] = unchanged

    @override
    def spec(self, spec: Spec) -> Spec:
        check = self.checks.get(spec.format)
        if check is None:
            return spec
        changed = self.change(spec)
        return replace(changed, rule=in_turn(check, changed.rule))


def in_turn(first: Rule, second: Rule | None) -> Rule:
    """Both rules as one."""

    def rule(asked: Asked) -> None:
        first(asked)
        if second is not None:
            second(asked)

    return rule


def fault(name: str, row: str, shows: str, bend: Refusing, effect: Effect | None = None) -> Fault:
    """The entry of a refusal that has a check for some formats and leaves the others alone."""
    return Fault(name, row, shows, lambda value: bend, frozenset(bend.checks), effect or Effect())


def on_body(check: Callable[[Body], None]) -> Rule:
    """A check of the body alone as a rule."""
    return lambda asked: check(asked.body)


def while_thinking(check: Callable[[Body], None]) -> Rule:
    """A rule that holds only where the model thinks."""

    def rule(asked: Asked) -> None:
        if asked.thinks:
            check(asked.body)

    return rule


def entries(body: Body, name: str) -> list[Body]:
    """The objects of a list: messages, tools, items."""
    return [object_or_empty(item) for item in list_or_empty(body.get(name))]


def blocks(message: Body, kind: str) -> list[tuple[int, Body]]:
    """Anthropic's blocks of one kind with their places."""
    found = enumerate(entries(message, "content"))
    return [(place, block) for place, block in found if block.get("type") == kind]


def call_ids(message: Body) -> list[str]:
    """The ids of a chat message's calls."""
    return [text_or_empty(call.get("id")) for call in entries(message, "tool_calls")]


def assistants(body: Body) -> Iterator[tuple[int, Body]]:
    """The assistant's messages with their places."""
    for index, message in enumerate(entries(body, "messages")):
        if message.get("role") == "assistant":
            yield index, message
