"""Resolves a call as written into an executable call, or into the error that says why not.

The steps, in this order; each change is named in `ToolCall.repairs` in the order it was made:

1. the repairs of the text parser (`RawCall.notes`), and `unterminated` if an end tag is missing
2. the tool's name: `name_*`, the table in `probes/resolve/tool_names.py`
3. the arguments: strict JSON, else the repairs in the table of `probes/resolve/json_repair.py`;
   or text between tags, read by the schema with the table in `probes/resolve/coercion.py`
4. their shape: the table in `probes/resolve/argument_shapes.py`
5. validation by the tool's schema. An invalid call is never returned. A call whose tool has a
   schema that does not compile gets `schema_not_compiled`

With `repair=False` there is only strict JSON (or reading by type), the exact name and validation.

With `as_written=True` name and shape are left as they are, and nothing is validated: a call to
judge, never one to run.

A call that was cut off is a `truncated_call`, even if the received part happens to validate.
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


def resolve_call(  # noqa: PLR0913 - what is known about a call, by name
    raw: RawCall,
    tools: Sequence[ToolSpec],
    *,
    repair: bool = True,
    as_written: bool = False,
    position: int = 0,
    turn: int = 0,
) -> ToolCall | BrokenCall:
    """Check a call that a text parser found against its tool.

    `position` is the index of the call in its reply, `turn` that of the reply in its conversation;
    minted ids depend on both.
    """
    place = (position, turn) if turn else (position,)
    return _Resolution(raw, tools, repair, place, as_written).run()


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
    """Check a call that a wire format carries as a name and an arguments string."""
    raw = RawCall(name, JsonText(text), format, text, id=id, open_value=truncated)
    return resolve_call(raw, tools, repair=repair)


class _Unresolvable(Exception):
    """Ends the resolution; never leaves this module."""

    def __init__(self, kind: Breakage, message: str, path: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.path = path


@dataclass(frozen=True, slots=True)
class _Tool:
    """The tool that the call names, and the repairs of the name."""

    name: str
    schema: Mapping[str, JSON] | None
    repairs: tuple[str, ...] = ()


@dataclass(slots=True)
class _Resolution:
    """The resolution of one call."""

    raw: RawCall
    tools: Sequence[ToolSpec]
    repair: bool
    place: tuple[int, ...]  # of the call in its conversation
    as_written: bool = False

    def run(self) -> ToolCall | BrokenCall:
        try:
            return self._resolve()
        except _Unresolvable as exc:
            return self._broken(exc)

    def _resolve(self) -> ToolCall:
        self._refuse_cut_and_large()
        tool = self._find_tool()
        checker = SchemaChecker(tool.schema)
        reading = self._read_arguments(checker)
        self._refuse_markup(reading.value, checker)
        fitted = self._fit(reading.value, checker)
        if fitted.value is None:
            raise _misfit_error(fitted)
        unchecked = () if checker.compiled else ("schema_not_compiled",)
        repairs = (
            *self._parser_repairs(),
            *tool.repairs,
            *reading.repairs,
            *fitted.repairs,
            *unchecked,
        )
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

    def _parser_repairs(self) -> tuple[str, ...]:
        return self.raw.notes if self.raw.closed else (*self.raw.notes, "unterminated")

    def _find_tool(self) -> _Tool:
        name = self.raw.name
        if not self.tools:
            return self._undeclared_tool()
        match = find_tool(name, self.tools)
        if match is None or (match.repairs and not self.repair):
            raise _Unresolvable(Breakage.UNKNOWN_TOOL, _unknown_tool_message(name, self.tools))
        spec = next(tool for tool in self.tools if tool.name == match.name)
        if self.as_written:
            return _Tool(name, spec.schema)
        return _Tool(spec.name, spec.schema, match.repairs)

    def _undeclared_tool(self) -> _Tool:
        """Without a list of tools any name is accepted, without the markup in it."""
        name = self.raw.name
        clean = normalise_name(name) if self.repair else name
        if not clean or len(name) > MAX_NAME:
            raise _Unresolvable(Breakage.UNKNOWN_TOOL, "The call names no tool.")
        return _Tool(clean, None, ("name_markup",) if clean != name else ())

    def _read_arguments(self, checker: SchemaChecker) -> ParameterReading:
        match self.raw.arguments:
            case JsonText(text):
                return self._read_json(text)
            case Parameters(items):
                return read_parameters(items, checker, repair=self.repair)

    def _read_json(self, text: str) -> ParameterReading:
        # Vendors send "" for a call without arguments.
        if not text.strip():
            return ParameterReading({})
        read = read_json(text) if self.repair else read_strictly(text)
        if read.error is None:
            return ParameterReading(read.value, read.repairs)
        if read.ended_early and not self.raw.closed:
            raise _Unresolvable(Breakage.TRUNCATED_CALL, CUT_OFF, "$")
        kind = Breakage.TOO_LARGE if read.too_large else Breakage.INVALID_JSON
        raise _Unresolvable(kind, _json_error_message(read), "$")

    def _refuse_markup(self, value: JSON, checker: SchemaChecker) -> None:
        if not isinstance(value, Mapping):
            return
        declared = declared_keys(checker.schema, checker.schema)
        for key in value:
            if key not in declared and _KEY_MARKUP.search(key[:MAX_NAME]):
                message = f"The argument name {key[:100]!r} holds markup; write the call again."
                raise _Unresolvable(Breakage.RESIDUAL_MARKUP, message, "$")

    def _fit(self, value: JSON, checker: SchemaChecker) -> FittedArguments:
        if self.as_written and isinstance(value, Mapping):
            return FittedArguments(value)
        return fit_arguments(value, checker) if self.repair else fit_unchanged(value, checker)

    def _argument_text(self) -> str:
        match self.raw.arguments:
            case JsonText(text):
                return text
            case _:
                return self.raw.raw

    def _id(self) -> str:
        raw = self.raw
        return raw.id or mint_call_id(raw.format, raw.name, raw.raw, *self.place)

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


def _misfit_error(fitted: FittedArguments) -> _Unresolvable:
    if fitted.misfit is None:
        return _Unresolvable(Breakage.NOT_AN_OBJECT, fitted.not_an_object, "$")
    path = "$" + json_path(fitted.misfit.steps)
    return _Unresolvable(Breakage.SCHEMA_MISMATCH, f"{fitted.misfit.message}.", path)


def _json_error_message(read: JsonReading) -> str:
    if read.several:
        return f"{read.error} Each call has an arguments object of its own."
    if read.closable:
        return f"{read.error} It ends early; closing what is open would make it readable."
    return read.error or ""


def _unknown_tool_message(name: str, tools: Sequence[ToolSpec]) -> str:
    """The message from which a model can correct itself."""
    names = sorted({tool.name for tool in tools if tool.name})
    shown_names = ", ".join(names[:MAX_LISTED])[:MAX_LISTED_CHARACTERS]
    more = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
    return f"There is no tool named {name[:100]!r}. Available tools: {shown_names}{more}."
