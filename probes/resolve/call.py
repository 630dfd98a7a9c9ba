"""From a call as it was written to a call that may be executed, or to the error that says why not.

The rungs, in this order; the first that fits ends the climb, and each change is named in
`ToolCall.repairs` in the order it was made:

1. what the text parser needed (`RawCall.notes`), and `unterminated` where an end tag is missing
2. the tool's name: `name_*`, the table in `probes/resolve/tool_names.py`
3. the arguments: strict JSON, else the repairs in the table of `probes/resolve/json_repair.py`;
   or text between tags, read by the schema as the table in `probes/resolve/coercion.py` says
4. their shape: the table in `probes/resolve/argument_shapes.py`
5. validation by the tool's schema. What does not validate is never handed out. On a call whose
   tool has a schema that nobody could check stands `schema_not_compiled`

With `repair=False` there is only strict JSON (or reading by type), the exact name and validation.

A call that was cut off is a `truncated_call`, even if what arrived happens to validate.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from probes.call_arguments import MAX_BYTES, SchemaChecker, json_path
from probes.messages import JSON, Breakage, BrokenCall, ToolCall, ToolSpec
from probes.parsers.base import JsonText, Parameters, RawCall
from probes.resolve.argument_shapes import FittedArguments, fit_arguments, fit_unchanged
from probes.resolve.call_ids import mint_call_id
from probes.resolve.coercion import ParameterReading, read_parameters
from probes.resolve.json_repair import JsonReading, read_json, read_strictly
from probes.resolve.tool_names import MAX_NAME, find_tool, normalise_name
from probes.schemas.types import declared_keys

MAX_LISTED = 50
MAX_LISTED_CHARACTERS = 2000
CUT_OFF = "The call was cut off before its end; a call is never completed by guessing."
_KEY_MARKUP = re.compile(
    r"</?(?:arg_key|arg_value|parameter|function|tool_call|invoke)|<\|[a-z_]{1,40}\|>|｜"
)


def resolve_call(
    raw: RawCall, tools: Sequence[ToolSpec], *, repair: bool = True, position: int = 0
) -> ToolCall | BrokenCall:
    """The call that a text parser found, checked against its tool.

    `position` is the call's place in its reply; ids that must be minted differ by it.
    """
    return _Resolution(raw, tools, repair, position).run()


def resolve_json_call(  # noqa: PLR0913 - what a wire format knows about a call, by name
    text: str,
    *,
    name: str,
    id: str,
    format: str,
    tools: Sequence[ToolSpec],
    repair: bool = True,
    truncated: bool = False,
) -> ToolCall | BrokenCall:
    """The call that a wire format carries as a name and an arguments string."""
    raw = RawCall(name, JsonText(text), format, text, id=id, open_value=truncated)
    return resolve_call(raw, tools, repair=repair)


class _Unresolvable(Exception):
    """Ends the climb; never leaves this module."""

    def __init__(self, kind: Breakage, message: str, path: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.path = path


@dataclass(frozen=True, slots=True)
class _Tool:
    """The tool that is meant, and what it took to find it."""

    name: str
    schema: Mapping[str, JSON] | None
    repairs: tuple[str, ...] = ()


@dataclass(slots=True)
class _Resolution:
    """One call on its way up."""

    raw: RawCall
    tools: Sequence[ToolSpec]
    repair: bool
    position: int

    def run(self) -> ToolCall | BrokenCall:
        try:
            return self._call()
        except _Unresolvable as exc:
            return self._broken(exc)

    def _call(self) -> ToolCall:
        self._refuse_cut_and_large()
        tool = self._tool()
        checker = SchemaChecker(tool.schema)
        reading = self._reading(checker)
        self._refuse_markup(reading.value, checker)
        fitted = self._fitted(reading.value, checker)
        if fitted.value is None:
            raise _misfit(fitted)
        unchecked = () if checker.compiled else ("schema_not_compiled",)
        repairs = (*self._notes(), *tool.repairs, *reading.repairs, *fitted.repairs, *unchecked)
        return ToolCall(
            id=self._id(),
            name=tool.name,
            input=fitted.value,
            format=self.raw.format,
            raw=self._argument_text(),
            repairs=tuple(dict.fromkeys(repairs)),
            location=self.raw.location,
        )

    def _refuse_cut_and_large(self) -> None:
        if self.raw.open_value or not (self.raw.closed or self.repair):
            raise _Unresolvable(Breakage.TRUNCATED_CALL, CUT_OFF)
        if self.raw.fault:
            raise _Unresolvable(Breakage.INVALID_JSON, self.raw.fault, "$")
        match self.raw.arguments:
            case JsonText(text):
                size = len(text)
            case Parameters(items):
                size = sum(len(item.key) + len(item.value) for item in items)
        if size > MAX_BYTES:
            message = f"The arguments are larger than {MAX_BYTES} bytes."
            raise _Unresolvable(Breakage.TOO_LARGE, message)

    def _notes(self) -> tuple[str, ...]:
        return self.raw.notes if self.raw.closed else (*self.raw.notes, "unterminated")

    def _tool(self) -> _Tool:
        name = self.raw.name
        if not self.tools:
            return self._undeclared_tool()
        match = find_tool(name, self.tools)
        if match is None or (match.repairs and not self.repair):
            raise _Unresolvable(Breakage.UNKNOWN_TOOL, _unknown(name, self.tools))
        spec = next(tool for tool in self.tools if tool.name == match.name)
        return _Tool(spec.name, spec.schema, match.repairs)

    def _undeclared_tool(self) -> _Tool:
        """Without a list of tools a name is taken at its word, less the markup in it."""
        name = self.raw.name
        clean = normalise_name(name) if self.repair else name
        if not clean or len(name) > MAX_NAME:
            raise _Unresolvable(Breakage.UNKNOWN_TOOL, "The call names no tool.")
        return _Tool(clean, None, ("name_markup",) if clean != name else ())

    def _reading(self, checker: SchemaChecker) -> ParameterReading:
        match self.raw.arguments:
            case JsonText(text):
                return self._json(text)
            case Parameters(items):
                return read_parameters(items, checker, repair=self.repair)

    def _json(self, text: str) -> ParameterReading:
        # Vendors send "" for a call without arguments.
        if not text.strip():
            return ParameterReading({})
        read = read_json(text) if self.repair else read_strictly(text)
        if read.error is None:
            return ParameterReading(read.value, read.repairs)
        if read.ended_early and not self.raw.closed:
            raise _Unresolvable(Breakage.TRUNCATED_CALL, CUT_OFF, "$")
        kind = Breakage.TOO_LARGE if read.too_large else Breakage.INVALID_JSON
        raise _Unresolvable(kind, _sentence(read), "$")

    def _refuse_markup(self, value: JSON, checker: SchemaChecker) -> None:
        if not isinstance(value, Mapping):
            return
        declared = declared_keys(checker.schema, checker.schema)
        for key in value:
            if key not in declared and _KEY_MARKUP.search(key[:MAX_NAME]):
                message = f"The argument name {key[:100]!r} holds markup; write the call again."
                raise _Unresolvable(Breakage.RESIDUAL_MARKUP, message, "$")

    def _fitted(self, value: JSON, checker: SchemaChecker) -> FittedArguments:
        return fit_arguments(value, checker) if self.repair else fit_unchanged(value, checker)

    def _argument_text(self) -> str:
        match self.raw.arguments:
            case JsonText(text):
                return text
            case _:
                return self.raw.raw

    def _id(self) -> str:
        raw = self.raw
        return raw.id or mint_call_id(raw.format, raw.name, raw.raw, self.position)

    def _broken(self, reason: _Unresolvable) -> BrokenCall:
        return BrokenCall(
            raw=self.raw.raw,
            error=reason.message,
            kind=reason.kind,
            name=self.raw.name,
            id=self._id(),
            path=reason.path,
            format=self.raw.format,
            location=self.raw.location,
            retryable=reason.kind is not Breakage.TOO_LARGE,
        )


def _misfit(fitted: FittedArguments) -> _Unresolvable:
    if fitted.misfit is None:
        return _Unresolvable(Breakage.NOT_AN_OBJECT, fitted.not_an_object, "$")
    path = "$" + json_path(fitted.misfit.steps)
    return _Unresolvable(Breakage.SCHEMA_MISMATCH, f"{fitted.misfit.message}.", path)


def _sentence(read: JsonReading) -> str:
    if read.several:
        return f"{read.error} Each call has an arguments object of its own."
    if read.closable:
        return f"{read.error} It ends early; closing what is open would make it readable."
    return read.error or ""


def _unknown(name: str, tools: Sequence[ToolSpec]) -> str:
    """The sentence from which a model can correct itself."""
    names = sorted({tool.name for tool in tools if tool.name})
    listed = ", ".join(names[:MAX_LISTED])[:MAX_LISTED_CHARACTERS]
    more = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
    return f"There is no tool named {name[:100]!r}. Available tools: {listed}{more}."
