"""`toolgauge parse`: reads model text and prints calls, text, reasoning and errors as JSON."""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TextIO

from probes.messages import JSON, BrokenCall, ToolCall, ToolSpec
from probes.parsers import PARSERS
from probes.parsers.markup import Markup
from probes.strict_json import parse_json
from probes.text_answer import TextAnswer, read_text_answer

AUTO = "auto"
MAX_LINE = 64 * 1024 * 1024
MAX_DEPTH = 256
MAX_PIECE = 8


class BadInput(Exception):
    """The input cannot be parsed; the message is for the user."""


@dataclass(frozen=True, slots=True)
class ParseInput:
    """One text to parse, with its tools and prefill."""

    text: str
    tools: Sequence[ToolSpec] = ()
    prefill: str = ""
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class ParseCommand:
    """The options of one invocation."""

    format: str = AUTO
    seed: int | None = None
    tools: Sequence[ToolSpec] = ()

    def parse_input(self, item: ParseInput, turn: int = 0) -> dict[str, JSON]:
        """The output for one text, without its id."""
        text_answer = read_text_answer(
            self._pieces(item.text),
            item.tools,
            format=self.format,
            prefill=item.prefill,
            truncated=item.truncated,
            turn=turn,
        )
        return _answer_json(text_answer)

    def parse_line(self, line: str, turn: int = 0) -> tuple[dict[str, JSON], str | None]:
        """The output for an input line, and the error message if it is invalid.

        `turn` numbers the lines: minted ids differ from line to line.
        """
        id_: JSON = None
        try:
            entry = _parse_entry(line)
            id_ = entry.get("id")
            return {"id": id_, **self.parse_input(self._read_input(entry), turn)}, None
        except BadInput as exc:
            return {"id": id_, **_error_output(str(exc))}, str(exc)

    def _read_input(self, entry: Mapping[str, JSON]) -> ParseInput:
        tools = entry.get("tools")
        return ParseInput(
            text=_read_text(entry, "text", None),
            tools=self.tools if tools is None else read_tools(tools),
            prefill=_read_text(entry, "prefill", ""),
            truncated=_read_flag(entry, "truncated"),
        )

    def _pieces(self, text: str) -> Iterator[str]:
        if self.seed is None:
            yield text
            return
        rng = random.Random(self.seed)  # noqa: S311 - repeatable, not secret
        start = 0
        while start < len(text):
            end = start + rng.randint(1, MAX_PIECE)
            yield text[start:end]
            start = end


def run(options: argparse.Namespace, stdin: BinaryIO, stdout: TextIO, stderr: TextIO) -> int:
    """Parse standard input; 0 if all of it was valid, else 2."""
    try:
        command = _read_command(options)
        if not options.jsonl:
            text = _decode(stdin.read())
            _write_line(
                {"id": None, **command.parse_input(ParseInput(text, command.tools))}, stdout
            )
            return 0
    except BadInput as exc:
        stderr.write(f"toolgauge parse: {exc}\n")
        return 2
    return _run_lines(command, stdin, stdout, stderr)


def read_tools(value: JSON) -> list[ToolSpec]:
    """Tools in OpenAI's form, or flat as `{"name", "parameters"}`."""
    if isinstance(value, Mapping) and isinstance(value.get("tools"), list):
        value = value["tools"]
    if not isinstance(value, list):
        raise BadInput("The tools are not a list.")
    return [_read_tool(item, index) for index, item in enumerate(value)]


def _run_lines(command: ParseCommand, stdin: BinaryIO, stdout: TextIO, stderr: TextIO) -> int:
    code = 0
    for number, data in enumerate(stdin, start=1):
        if not data.strip():
            continue
        output, error = _answer_line(command, data, turn=number - 1)
        _write_line(output, stdout)
        if error is not None:
            stderr.write(f"toolgauge parse: line {number}: {error}\n")
            code = 2
    return code


def _answer_line(
    command: ParseCommand, data: bytes, *, turn: int
) -> tuple[dict[str, JSON], str | None]:
    try:
        return command.parse_line(_decode(data), turn)
    except BadInput as exc:
        return {"id": None, **_error_output(str(exc))}, str(exc)


def _read_command(options: argparse.Namespace) -> ParseCommand:
    if options.format != AUTO and options.format not in PARSERS:
        raise BadInput(f"There is no format {options.format!r}; give auto or {', '.join(PARSERS)}.")
    tools = _read_tools_file(options.tools) if options.tools else []
    return ParseCommand(options.format, options.stream, tools)


def _read_tools_file(path: Path) -> list[ToolSpec]:
    try:
        text = _decode(path.read_bytes())
    except OSError as exc:
        raise BadInput(f"Cannot read the tools: {exc.strerror}: {str(path)!r}.") from exc
    return read_tools(_parse_json(text))


def _read_tool(item: JSON, index: int) -> ToolSpec:
    match item:
        case {"function": Mapping() as spec}:
            pass
        case Mapping() as spec:
            pass
        case _:
            raise BadInput(f"Tool {index} is not an object.")
    name, description = spec.get("name"), spec.get("description")
    if not isinstance(name, str) or not name:
        raise BadInput(f"Tool {index} has no name.")
    schema = spec.get("parameters", spec.get("input_schema"))
    if schema is not None and not isinstance(schema, Mapping):
        raise BadInput(f"The parameters of tool {name!r} are not an object.")
    return ToolSpec(name, description if isinstance(description, str) else "", schema)


def _parse_entry(line: str) -> Mapping[str, JSON]:
    entry = _parse_json(line)
    if not isinstance(entry, Mapping):
        raise BadInput("The line is not a JSON object.")
    return entry


def _parse_json(text: str) -> JSON:
    result = parse_json(text.removeprefix("\ufeff"), max_bytes=MAX_LINE, max_depth=MAX_DEPTH)
    if result.error is not None:
        raise BadInput(result.error)
    return result.value


def _read_text(entry: Mapping[str, JSON], key: str, default: str | None) -> str:
    value = entry.get(key)
    if value is None:
        value = default
    if not isinstance(value, str):
        raise BadInput(f"{key!r} is not a string.")
    return value


def _read_flag(entry: Mapping[str, JSON], key: str) -> bool:
    value = entry.get(key)
    if value is not None and not isinstance(value, bool):
        raise BadInput(f"{key!r} is neither true nor false.")
    return value is True


def _decode(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as exc:
        raise BadInput(f"The input is not UTF-8 at byte {exc.start}.") from exc


def _answer_json(answer: TextAnswer) -> dict[str, JSON]:
    return {
        "calls": [_call_json(call) for call in answer.calls],
        "text": answer.text,
        "reasoning": answer.reasoning,
        "errors": [_error_json(call) for call in answer.broken],
        "markup": [_markup_json(markup) for markup in answer.markup],
    }


def _call_json(call: ToolCall) -> dict[str, JSON]:
    return {
        "id": call.id,
        "name": call.name,
        "input": call.input,
        "format": call.format,
        "repairs": list(call.repairs),
    }


def _error_json(call: BrokenCall) -> dict[str, JSON]:
    return {
        "code": str(call.kind),
        "message": call.error,
        "path": call.path,
        "retryable": call.retryable,
    }


def _markup_json(markup: Markup) -> dict[str, JSON]:
    return {
        "format": markup.format,
        "span": list(markup.span),
        "reason": str(markup.reason),
        "confidence": markup.confidence,
    }


def _error_output(message: str) -> dict[str, JSON]:
    error: JSON = {"code": "bad_input", "message": message, "path": "", "retryable": False}
    return {"calls": [], "text": None, "reasoning": None, "errors": [error], "markup": []}


def _write_line(output: Mapping[str, JSON], stdout: TextIO) -> None:
    # ASCII: a text may contain lone surrogates, which only JSON escapes can represent.
    stdout.write(json.dumps(output) + "\n")
    stdout.flush()
