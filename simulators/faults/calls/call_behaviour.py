"""Which calls a model makes, how often, and how it reacts to a choice, a result or an error."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from typing_extensions import override

from probes.messages import NONE, Reasoning, Reply, Role, ToolCall, ToolResult, ToolSpec
from probes.outcomes import Metric
from simulators.faults.calls.ignored_effort import EFFORT_IGNORED
from simulators.faults.effects import ONE_CALL
from simulators.faults.fault import EVERY_FORMAT, Effect, Fault
from simulators.faults.refusals.refusal import keep_spec
from simulators.model import answers
from simulators.model.answers import PROSE, Answer
from simulators.model.call_repair import is_failure
from simulators.model.prompted_tools import read_text_results
from simulators.model.tool_requests import ToolRequest
from simulators.vendors.hooks import FaultHooks
from simulators.vendors.spec import Rule, Spec, VendorRequest

# Formats that can force a call, forbid one, or switch parallel calls off.
CHOICE_FORMATS = EVERY_FORMAT - {"ollama"}
PARALLEL_FORMATS = EVERY_FORMAT - {"ollama", "gemini"}
FORCED = ("required", "named")
UNKNOWN = "unknown"
NOT_SEEN = ("unused", "unused")
UNREPAIRED = Effect({Metric.REPAIR_SUCCESS: 1}, {"error_repair": "none"})


@dataclass(frozen=True, slots=True)
class AnswerChange(FaultHooks):
    """Changes the model's answer; `change_spec` adapts the vendor's capabilities."""

    change_answer: Callable[[Answer, VendorRequest], Answer]
    change_spec: Callable[[Spec], Spec] = keep_spec

    @override
    def answer(self, answer: Answer, request: VendorRequest, rng: random.Random) -> Answer:
        return self.change_answer(answer, request)

    @override
    def spec(self, spec: Spec) -> Spec:
        return self.change_spec(spec)


class ForcedWithoutThinking(FaultHooks):
    """Makes a forced call without reasoning where the vendor would otherwise refuse it."""

    @override
    def spec(self, spec: Spec) -> Spec:
        rule = None if spec.rule is None else _check_without_thinking(spec.rule)
        return replace(spec, rule=rule, thinking_choices=None)

    @override
    def reply(self, reply: Reply, request: VendorRequest, rng: random.Random) -> Reply:
        if not request.forces:
            return reply
        parts = tuple(part for part in reply.parts if not isinstance(part, Reasoning))
        return replace(reply, parts=parts)


def failed_calls(request: VendorRequest) -> list[tuple[ToolCall, ToolResult]]:
    """The calls of the last round whose results report an error."""
    turns = request.call.turns
    assistant_turns = [index for index, turn in enumerate(turns) if turn.role is Role.ASSISTANT]
    if not assistant_turns or request.call.tool_choice == NONE:
        return []
    calls = {call.id: call for call in turns[assistant_turns[-1]].calls}
    results = [result for turn in turns[assistant_turns[-1] + 1 :] for result in turn.results]
    return [
        (calls[result.call_id], result)
        for result in results
        if result.call_id in calls and is_failure(result)
    ]


def _check_without_thinking(rule: Rule) -> Rule:
    return lambda request: rule(replace(request, thinks=False) if request.forces else request)


def _keep_first_call(answer: Answer, request: VendorRequest) -> Answer:
    return replace(answer, tool_requests=answer.tool_requests[:1])


def _duplicate_calls(answer: Answer, request: VendorRequest) -> Answer:
    return replace(
        answer,
        tool_requests=tuple(
            tool_request for tool_request in answer.tool_requests for _ in range(2)
        ),
    )


def _ignore_parallel_off(answer: Answer, request: VendorRequest) -> Answer:
    if request.call.parallel is not False:
        return answer
    return answers.answer_request(replace(request.call, parallel=None))


def _ignore_forced_choice(answer: Answer, request: VendorRequest) -> Answer:
    return (
        answers.answer_request(replace(request.call, tool_choice=None))
        if request.forces
        else answer
    )


def _ignore_none_choice(answer: Answer, request: VendorRequest) -> Answer:
    if request.call.tool_choice != NONE:
        return answer
    return answers.answer_request(replace(request.call, tool_choice=None))


def _repeat_failed_calls(answer: Answer, request: VendorRequest) -> Answer:
    failed = failed_calls(request)
    return _repeat_calls([call for call, _ in failed], request) if failed else answer


def _repeat_first_failures(answer: Answer, request: VendorRequest) -> Answer:
    """Repeat the call after the first error, and correct it after the second."""
    failed = [call for call, _ in failed_calls(request)]
    earlier_calls = [(call.name, call.input) for turn in request.call.turns for call in turn.calls]
    first_failures = [call for call in failed if earlier_calls.count((call.name, call.input)) == 1]
    return _repeat_calls(first_failures, request) if first_failures else answer


def _give_up(answer: Answer, request: VendorRequest) -> Answer:
    if not (failed := failed_calls(request)):
        return answer
    names = ", ".join(call.name for call, _ in failed)
    return Answer("It did not work.", f"I am sorry, {names} failed and I cannot help any further.")


def _call_invalid_tool(answer: Answer, request: VendorRequest) -> Answer:
    """Call the hidden tool that some clients show the model in place of a failed call."""
    if not (failed := failed_calls(request)):
        return answer
    hidden = ToolSpec("invalid", "", None)
    tool_requests = [
        ToolRequest(hidden, {"tool": call.name, "error": result.content[:200]})
        for call, result in failed
    ]
    return Answer("The call was invalid.", "", tuple(tool_requests))


def _ignore_results(answer: Answer, request: VendorRequest) -> Answer:
    """Say nothing of the results, and call with nothing that only they say."""
    turns = read_text_results(request.call.turns)
    results = [result for turn in turns for result in turn.results]
    if not results:
        return answer
    if not answer.tool_requests:
        return replace(answer, text=PROSE)
    told = "\n".join(result.content for result in results if not is_failure(result))
    requests = (_forget_values(request, told) for request in answer.tool_requests)
    return replace(answer, tool_requests=tuple(requests))


def _forget_values(tool_request: ToolRequest, told: str) -> ToolRequest:
    arguments = {
        name: UNKNOWN if isinstance(value, str) and value and json.dumps(value) in told else value
        for name, value in tool_request.arguments.items()
    }
    return replace(tool_request, arguments=arguments)


def _repeat_calls(calls: list[ToolCall], request: VendorRequest) -> Answer:
    known = {tool.name: tool for tool in request.call.tools}
    tool_requests = [
        ToolRequest(known.get(call.name, ToolSpec(call.name, "", None)), call.input)
        for call in calls
    ]
    return Answer("I should try that again.", "", tuple(tool_requests))


def _without_choices(*modes: str) -> Callable[[Spec], Spec]:
    """A change to a vendor on which these values of tool_choice do not work."""

    def kept(choices: tuple[str, ...] | None) -> tuple[str, ...]:
        return tuple(choice for choice in choices or () if choice not in modes)

    def change(spec: Spec) -> Spec:
        if spec.format not in CHOICE_FORMATS:
            return spec
        thinking = kept(spec.thinking_choices) or None
        return replace(spec, choices=kept(spec.choices), thinking_choices=thinking)

    return change


def _always(hooks: FaultHooks) -> Callable[[float | None], FaultHooks]:
    return lambda value: hooks


FAULTS = (
    Fault(
        "one-call",
        "",
        "only the first of several calls that were asked for at once",
        _always(AnswerChange(_keep_first_call)),
        effect=Effect({Metric.PARALLEL_DOWNGRADE: 1}, ONE_CALL),
    ),
    Fault(
        "ignores-parallel-off",
        "",
        "several calls although parallel calls were switched off",
        _always(AnswerChange(_ignore_parallel_off)),
        PARALLEL_FORMATS,
    ),
    Fault(
        "twice",
        "",
        "every call stands twice in the answer, under two ids",
        _always(AnswerChange(_duplicate_calls)),
        effect=Effect(fields={"prompted_tools": "none"}),
    ),
    Fault(
        "no-repair",
        "",
        "after an error the same call comes again, unchanged",
        _always(AnswerChange(_repeat_failed_calls)),
        effect=UNREPAIRED,
    ),
    Fault(
        "gives-up",
        "",
        "after an error there are words and no further call",
        _always(AnswerChange(_give_up)),
        effect=UNREPAIRED,
    ),
    Fault(
        "slow-repair",
        "",
        "after the first error the same call comes again; after the second it is corrected",
        _always(AnswerChange(_repeat_first_failures)),
        # The metric counts the answer to the first error.
        effect=Effect({Metric.REPAIR_SUCCESS: 1}, {"error_repair": "limited"}),
    ),
    Fault(
        "invalid-tool-loop",
        "Z55",
        "after an error a tool named invalid is called, which nobody offered",
        _always(AnswerChange(_call_invalid_tool)),
        effect=Effect(
            {Metric.REPAIR_SUCCESS: 1, Metric.SCHEMA_FAILURE: None},
            {"error_repair": "none"},
            # A text that names a tool which was not offered is not read as a call.
            in_text=Effect(
                {**UNREPAIRED.metrics, Metric.SCHEMA_FAILURE: None, Metric.PARSE_SUCCESS: None},
                UNREPAIRED.fields,
            ),
        ),
    ),
    Fault(
        "ignores-results",
        "",
        "the answer after the results uses nothing of them, in text or in further calls",
        _always(AnswerChange(_ignore_results, lambda spec: spec.limit_images(*NOT_SEEN))),
        effect=Effect({Metric.RESULT_USE: 1}, {"result_role": "none", "prompted_tools": "none"}),
    ),
    Fault(
        "ignores-choice",
        "",
        "a forced call is not made where the words do not ask for it",
        _always(AnswerChange(_ignore_forced_choice, _without_choices(*FORCED))),
        CHOICE_FORMATS,
    ),
    Fault(
        "calls-despite-none",
        "",
        "calls are made although tool_choice forbids them",
        _always(AnswerChange(_ignore_none_choice, _without_choices("none"))),
        CHOICE_FORMATS,
    ),
    Fault(
        "forced-without-thinking",
        "Z67",
        "a forced call comes without the thinking that was asked for",
        _always(ForcedWithoutThinking()),
        CHOICE_FORMATS,
    ),
    EFFORT_IGNORED,
)
