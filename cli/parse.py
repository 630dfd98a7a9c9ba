"""`toolgauge parse`: model text in, calls, visible text, reasoning and errors out, as JSON."""

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
from probes.strict_json import parse_json
from probes.text_answer import TextAnswer, read_text_answer

AUTO = "auto"
MAX_LINE = 64 * 1024 * 1024
MAX_DEPTH = 256
MAX_PIECE = 8


class BadInput(Exception):
    """What was given cannot be understood; the text is a sentence for the person who gave it."""


@dataclass(frozen=True, slots=True)
class ParseInput:
    """One text to read and what is known about it."""

    text: str
    tools: Sequence[ToolSpec] = ()
    prefill: str = ""
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class ParseCommand:
    """How every text of one invocation is read."""

    format: str = AUTO
    seed: int | None = None
    tools: Sequence[ToolSpec] = ()

    def answer(self, question: ParseInput) -> dict[str, JSON]:
        """The output for one text, but its id."""
        text_answer = read_text_answer(
            self._pieces(question.text),
            question.tools,
            format=self.format,
            prefill=question.prefill,
            truncated=question.truncated,
        )
        return _output(text_answer)

    def line(self, line: str) -> tuple[dict[str, JSON], str | None]:
        """The output line for an input line, and the sentence that says what was wrong with it."""
        id_: JSON = None
        try:
            entry = _entry(line)
            id_ = entry.get("id")
            return {"id": id_, **self.answer(self._question(entry))}, None
        except BadInput as exc:
            return {"id": id_, **_refusal(str(exc))}, str(exc)

    def _question(self, entry: Mapping[str, JSON]) -> ParseInput:
        tools = entry.get("tools")
        return ParseInput(
            text=_text(entry, "text", None),
            tools=self.tools if tools is None else read_tools(tools),
            prefill=_text(entry, "prefill", ""),
            truncated=_flag(entry, "truncated"),
        )

    def _pieces(self, text: str) -> Iterator[str]:
        if self.seed is None:
            yield text
            return
        draw = random.Random(self.seed)  # noqa: S311 - repeatable, not secret
        start = 0
        while start < len(text):
            end = start + draw.randint(1, MAX_PIECE)
            yield text[start:end]
            start = end


def run(options: argparse.Namespace, stdin: BinaryIO, stdout: TextIO, stderr: TextIO) -> int:
    """Read standard input and answer it; 0 if all of it was understood, else 2."""
    try:
        command = _command(options)
        if not options.jsonl:
            text = _decoded(stdin.read())
            _write({"id": None, **command.answer(ParseInput(text, command.tools))}, stdout)
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
    return [_tool(item, index) for index, item in enumerate(value)]


def _run_lines(command: ParseCommand, stdin: BinaryIO, stdout: TextIO, stderr: TextIO) -> int:
    code = 0
    for number, data in enumerate(stdin, start=1):
        if not data.strip():
            continue
        output, wrong = _answer_line(command, data)
        _write(output, stdout)
        if wrong is not None:
            stderr.write(f"toolgauge parse: line {number}: {wrong}\n")
            code = 2
    return code


def _answer_line(command: ParseCommand, data: bytes) -> tuple[dict[str, JSON], str | None]:
    try:
        return command.line(_decoded(data))
    except BadInput as exc:
        return {"id": None, **_refusal(str(exc))}, str(exc)


def _command(options: argparse.Namespace) -> ParseCommand:
    if options.format != AUTO and options.format not in PARSERS:
        raise BadInput(f"There is no format {options.format!r}; give auto or {', '.join(PARSERS)}.")
    tools = _tools_file(options.tools) if options.tools else []
    return ParseCommand(options.format, options.stream, tools)


def _tools_file(path: Path) -> list[ToolSpec]:
    try:
        text = _decoded(path.read_bytes())
    except OSError as exc:
        raise BadInput(f"Cannot read the tools: {exc.strerror}: {str(path)!r}.") from exc
    return read_tools(_json(text))


def _tool(item: JSON, index: int) -> ToolSpec:
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


def _entry(line: str) -> Mapping[str, JSON]:
    entry = _json(line)
    if not isinstance(entry, Mapping):
        raise BadInput("The line is not a JSON object.")
    return entry


def _json(text: str) -> JSON:
    parsed = parse_json(text.removeprefix("\ufeff"), max_bytes=MAX_LINE, max_depth=MAX_DEPTH)
    if parsed.error is not None:
        raise BadInput(parsed.error)
    return parsed.value


def _text(entry: Mapping[str, JSON], key: str, default: str | None) -> str:
    value = entry.get(key)
    if value is None:
        value = default
    if not isinstance(value, str):
        raise BadInput(f"{key!r} is not a string.")
    return value


def _flag(entry: Mapping[str, JSON], key: str) -> bool:
    value = entry.get(key)
    if value is not None and not isinstance(value, bool):
        raise BadInput(f"{key!r} is neither true nor false.")
    return value is True


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as exc:
        raise BadInput(f"The input is not UTF-8 at byte {exc.start}.") from exc


def _output(answer: TextAnswer) -> dict[str, JSON]:
    return {
        "calls": [_call(call) for call in answer.calls],
        "text": answer.text,
        "reasoning": answer.reasoning,
        "errors": [_error(call) for call in answer.broken],
    }


def _call(call: ToolCall) -> dict[str, JSON]:
    return {
        "id": call.id,
        "name": call.name,
        "input": call.input,
        "format": call.format,
        "repairs": list(call.repairs),
    }


def _error(call: BrokenCall) -> dict[str, JSON]:
    return {
        "code": str(call.kind),
        "message": call.error,
        "path": call.path,
        "retryable": call.retryable,
    }


def _refusal(message: str) -> dict[str, JSON]:
    error: JSON = {"code": "bad_input", "message": message, "path": "", "retryable": False}
    return {"calls": [], "text": None, "reasoning": None, "errors": [error]}


def _write(output: Mapping[str, JSON], stdout: TextIO) -> None:
    # ASCII: a text may hold lone surrogates, which no encoding takes but JSON's own escapes.
    stdout.write(json.dumps(output) + "\n")
    stdout.flush()
