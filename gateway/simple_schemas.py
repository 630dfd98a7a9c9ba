"""Simpler schemas for endpoints that cannot follow the client's, and the way back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from probes.messages import ModelCall, Part, ToolCall, Turn
from probes.schemas.downgrade import DowngradedSchema, SchemaLevel, downgrade_schema

# The levels of a policy that can be written; with `none` no tools are offered.
_LEVELS = {"string_only": SchemaLevel.STRING_ONLY, "simple_object": SchemaLevel.SIMPLE_OBJECT}


@dataclass(frozen=True, slots=True)
class SimpleSchemas:
    """The simplified schemas of one request, by tool; empty where schemas are sent as they are."""

    by_tool: Mapping[str, DowngradedSchema] = field(default_factory=dict)

    def simplify(self, call: ModelCall) -> ModelCall:
        """The request with simple schemas; earlier calls look as the model wrote them."""
        if not self.by_tool:
            return call
        tools = tuple(
            replace(spec, schema=self.by_tool[spec.name].schema, strict=None) for spec in call.tools
        )
        return replace(call, tools=tools, turns=tuple(map(self._simplify_turn, call.turns)))

    def restore(self, call: ToolCall) -> ToolCall:
        """The call in the client's own schema, unchecked."""
        known = self.by_tool.get(call.name)
        if known is None:
            return call
        restored = known.restore(call.input)
        return call if restored == call.input else replace(call, input=restored, raw="")

    def _simplify_turn(self, turn: Turn) -> Turn:
        if not turn.calls:
            return turn
        return replace(turn, parts=tuple(map(self._simplify_part, turn.parts)))

    def _simplify_part(self, part: Part) -> Part:
        if not isinstance(part, ToolCall) or part.name not in self.by_tool:
            return part
        return replace(part, input=self.by_tool[part.name].simplify(part.input), raw="")


def schemas_at_level(call: ModelCall, level: str) -> SimpleSchemas:
    """The schemas of a request's tools at the level of a policy."""
    if level not in _LEVELS:
        return SimpleSchemas()
    return SimpleSchemas(
        {spec.name: downgrade_schema(spec.schema, _LEVELS[level]) for spec in call.tools}
    )
