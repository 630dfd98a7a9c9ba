"""The simulated model: it knows only the request and answers from its text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from probes.messages import (
    JSON,
    NONE,
    ModelCall,
    Role,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    Turn,
)
from simulators.model.call_repair import is_failure, may_retry, repair_arguments
from simulators.model.echo_text import find_text_to_repeat
from simulators.model.pictures import describe_pictures, describe_user_pictures
from simulators.model.prompted_tools import PromptedCall, read_prompted_call, read_text_results
from simulators.model.schema_values import convert_value, invent_value, properties, required
from simulators.model.standing_rules import obey_system_rules
from simulators.model.tool_requests import ToolRequest, force_tool_request, read_tool_requests

MAX_TRIES = 3
PROSE = "I have read your request and would be glad to help with it."
_TOGETHER = re.compile(
    r"\b(?:parallel|at the same time|simultaneously|at once|without waiting|together"
    r"|(?:one|same|single) (?:turn|go|response|answer|reply|message))\b",
    re.I,
)
_IN_ORDER = re.compile(
    r"\b(?:then|after(?:wards| that| it| this| the)?|next|step \d|step by step|once you have"
    r"|when you have|one (?:after|by|at)|wait for|sequentially|finally)\b",
    re.I,
)
_REFERENCE = re.compile(
    r"^(?:the|that|this|its|whatever)\b.*\b(?:result|token|nonce|code|value|answer|output|number|sum"
    r"|secret|key|received|returned|returns|got|gave|gives|said|says|comes back|came back)\b",
    re.I | re.S,
)


@dataclass(frozen=True, slots=True)
class Answer:
    """The model's answer: reasoning that a vendor may show, and tool calls or a text.

    `prompted` is set where the tools are described in the prompt: calls are written as text.
    """

    thought: str
    text: str = ""
    tool_requests: tuple[ToolRequest, ...] = ()
    prompted: PromptedCall | None = None


@dataclass(frozen=True, slots=True)
class _Step:
    """A call made for the current question, and its result."""

    call: ToolCall
    result: ToolResult


def answer_request(call: ModelCall) -> Answer:
    """Answer a request from the request alone."""
    if prompted := read_prompted_call(call):
        return replace(_answer_question(prompted.call), prompted=prompted)
    return _answer_question(replace(call, turns=read_text_results(call.turns)))


def _answer_question(call: ModelCall) -> Answer:
    question, later_turns = _read_question(call)
    steps = _read_steps(later_turns)
    if call.tool_choice == NONE or not call.tools:
        return _answer_in_text(question, steps, call)
    tool_requests = [
        _fill_arguments(tool_request, steps)
        for tool_request in read_tool_requests(question, call.tools)
    ]
    todo = [
        *_repair_requests(steps, later_turns, call.tools),
        *_pending_requests(tool_requests, steps),
    ]
    forced = _forced_request(question, call)
    if forced is not None:
        todo = [tool_request for tool_request in todo if tool_request.tool == forced.tool] or [
            forced
        ]
    elif call.tool_choice is not None and call.tool_choice.mode == "required":
        todo = (
            todo
            or tool_requests
            or [_with_required_arguments(force_tool_request(question, call.tools[0]))]
        )
    if not todo:
        return _answer_in_text(question, steps, call)
    if call.parallel is False or forced is not None or _is_sequential(question):
        todo = todo[:1]
    names = ", ".join(tool_request.tool.name for tool_request in todo)
    after = " I have seen the results so far." if steps else ""
    return Answer(f"The user wants something done.{after} I should use {names}.", "", tuple(todo))


def _read_question(call: ModelCall) -> tuple[str, Sequence[Turn]]:
    """The user's last request, and the turns after it."""
    places = [i for i, turn in enumerate(call.turns) if turn.role is Role.USER and _text(turn)]
    if not places:
        return "", call.turns
    last = places[-1]
    text = _text(call.turns[last])
    is_remark = last > 0 and call.turns[last - 1].role is Role.TOOL
    if is_remark and len(places) > 1 and not read_tool_requests(text, call.tools):
        # Text next to tool results belongs to the question that led to the calls.
        return f"{_text(call.turns[places[-2]])}\n{text}", call.turns[places[-2] + 1 :]
    return text, call.turns[last + 1 :]


def _text(turn: Turn) -> str:
    return "\n".join(part.text for part in turn.parts if isinstance(part, Text))


def _read_steps(turns: Sequence[Turn]) -> list[_Step]:
    waiting: dict[str, ToolCall] = {}
    steps = []
    for turn in turns:
        waiting |= {call.id: call for call in turn.calls}
        steps += [
            _Step(waiting.pop(result.call_id), result)
            for result in turn.results
            if result.call_id in waiting
        ]
    return steps


def _fill_arguments(tool_request: ToolRequest, steps: Sequence[_Step]) -> ToolRequest:
    """Fill in the required arguments, and those that refer to an earlier result."""
    successes = [step for step in steps if not is_failure(step.result)]
    arguments = {
        name: _resolve_reference(value, successes[-1].result, tool_request.tool, name)
        if successes
        else value
        for name, value in tool_request.arguments.items()
    }
    return _with_required_arguments(replace(tool_request, arguments=arguments))


def _with_required_arguments(tool_request: ToolRequest) -> ToolRequest:
    schema = tool_request.tool.schema or {}
    rules = properties(schema, schema)
    added = {
        name: invent_value(rules[name], schema)
        for name in required(schema)
        if name in rules and name not in tool_request.arguments
    }
    return replace(tool_request, arguments={**tool_request.arguments, **added})


def _resolve_reference(value: JSON, result: ToolResult, tool: ToolSpec, name: str) -> JSON:
    if not isinstance(value, str) or not _REFERENCE.match(value):
        return value
    schema = tool.schema or {}
    return convert_value(
        _main_value(result.content, value), properties(schema, schema)[name], schema
    )


def _main_value(content: str, phrase: str) -> str:
    """The part of a result that a phrase refers to."""
    try:
        body: JSON = json.loads(content)
    except (ValueError, RecursionError):
        return content
    while isinstance(body, Mapping) and body:
        named = [key for key in body if key.lower() in phrase.lower()]
        body = body[named[0] if named else list(body)[-1]]
    return body if isinstance(body, str) else json.dumps(body)


def _repair_requests(
    steps: Sequence[_Step], later_turns: Sequence[Turn], tools: Sequence[ToolSpec]
) -> list[ToolRequest]:
    """Retries of the failed calls of the last round."""
    last = {result.call_id for turn in later_turns[-1:] for result in turn.results}
    if later_turns and later_turns[-1].role is Role.TOOL:
        rounds = [i for i, turn in enumerate(later_turns) if turn.role is Role.ASSISTANT]
        begin = rounds[-1] if rounds else 0
        last = {result.call_id for turn in later_turns[begin:] for result in turn.results}
    known = {tool.name: tool for tool in tools}
    tool_requests = []
    for step in steps:
        if step.call.id not in last or not is_failure(step.result) or step.call.name not in known:
            continue
        tool = known[step.call.name]
        arguments = repair_arguments(step.call, step.result, tool)
        repeats = sum(_is_same_call(other.call, tool.name, arguments) for other in steps)
        tries = sum(other.call.name == tool.name for other in steps if is_failure(other.result))
        if may_retry(step.result) and repeats < 2 and tries < MAX_TRIES:
            tool_requests.append(ToolRequest(tool, arguments))
    return tool_requests


def _is_same_call(call: ToolCall, name: str, arguments: Mapping[str, JSON]) -> bool:
    return call.name == name and dict(call.input) == dict(arguments)


def _pending_requests(
    tool_requests: Sequence[ToolRequest], steps: Sequence[_Step]
) -> list[ToolRequest]:
    """Return the tool requests for which no call has been made."""
    made = [step.call for step in steps]
    pending = []
    for tool_request in tool_requests:
        exact = next(
            (c for c in made if _is_same_call(c, tool_request.tool.name, tool_request.arguments)),
            None,
        )
        if exact is not None:
            made.remove(exact)
        else:
            pending.append(tool_request)
    # A call that was corrected, or whose argument came from a result, also counts.
    rest = []
    for tool_request in pending:
        alike = next(
            (made_call for made_call in made if made_call.name == tool_request.tool.name), None
        )
        if alike is not None:
            made.remove(alike)
        else:
            rest.append(tool_request)
    return rest


def _forced_request(question: str, call: ModelCall) -> ToolRequest | None:
    choice = call.tool_choice
    if choice is None or choice.mode != "named":
        return None
    tool = next((tool for tool in call.tools if tool.name == choice.name), None)
    return None if tool is None else _with_required_arguments(force_tool_request(question, tool))


def _is_sequential(question: str) -> bool:
    return _IN_ORDER.search(question) is not None and _TOGETHER.search(question) is None


def _answer_in_text(question: str, steps: Sequence[_Step], call: ModelCall) -> Answer:
    answer = _answer_from_history(question, steps, call)
    return replace(answer, text=obey_system_rules(answer.text, call.turns))


def _read_result(result: ToolResult) -> str:
    return " ".join(text for text in (result.content, describe_pictures(result)) if text)


def _answer_from_history(question: str, steps: Sequence[_Step], call: ModelCall) -> Answer:
    if steps:
        results = [f"{step.call.name}: {_read_result(step.result)}" for step in steps]
        lines = "\n".join([*results, describe_user_pictures(call.turns)]).rstrip("\n")
        return Answer("I have what I need and can answer.", f"Here is what came back.\n{lines}")
    if repeated := find_text_to_repeat(question):
        return Answer("A plain answer is wanted.", repeated)
    earlier_results = [result for turn in call.turns for result in turn.results]
    if earlier_results:
        return Answer(
            "The results of before may help.", f"{PROSE} Before: {earlier_results[-1].content}"
        )
    return Answer("No tool is needed for this.", PROSE)
