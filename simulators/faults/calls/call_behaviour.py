"""Which calls a model makes, how often, and what it does about a choice, a result or an error."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from typing_extensions import override

from probes.messages import NONE, Reasoning, Reply, Role, ToolCall, ToolResult, ToolSpec
from probes.outcomes import Metric
from simulators.faults.calls.ignored_effort import EFFORT_IGNORED
from simulators.faults.fault import EVERY_FORMAT, Effect, Fault
from simulators.faults.refusals.refusal import keep_spec
from simulators.model import answers
from simulators.model.answers import PROSE, Answer
from simulators.model.call_repair import is_failure
from simulators.model.tool_requests import ToolRequest
from simulators.vendors.hooks import FaultHooks
from simulators.vendors.spec import Rule, Spec, VendorRequest

# Formats that can force a call, forbid one, or switch parallel calls off.
CHOOSING = EVERY_FORMAT - {"ollama"}
SWITCHING = EVERY_FORMAT - {"ollama", "gemini"}
FORCED = ("required", "named")
UNREPAIRED = Effect({Metric.REPAIR_SUCCESS: 1}, {"error_repair": "none"})


@dataclass(frozen=True, slots=True)
class AnswerChange(FaultHooks):
    """The model wants something else; `change` tells what that makes of the vendor."""

    want: Callable[[Answer, VendorRequest], Answer]
    change: Callable[[Spec], Spec] = keep_spec

    @override
    def answer(self, answer: Answer, request: VendorRequest, rng: random.Random) -> Answer:
        return self.want(answer, request)

    @override
    def spec(self, spec: Spec) -> Spec:
        return self.change(spec)


class ForcedWithoutThinking(FaultHooks):
    """A forced call is made without a thought, where the vendor would otherwise refuse."""

    @override
    def spec(self, spec: Spec) -> Spec:
        rule = None if spec.rule is None else _unthinking(spec.rule)
        return replace(spec, rule=rule, thinking_choices=None)

    @override
    def reply(self, reply: Reply, request: VendorRequest, rng: random.Random) -> Reply:
        if not request.forces:
            return reply
        parts = tuple(part for part in reply.parts if not isinstance(part, Reasoning))
        return replace(reply, parts=parts)


def failed_calls(request: VendorRequest) -> list[tuple[ToolCall, ToolResult]]:
    """The calls of the last round whose results tell of an error."""
    turns = request.call.turns
    spoken = [index for index, turn in enumerate(turns) if turn.role is Role.ASSISTANT]
    if not spoken or request.call.tool_choice == NONE:
        return []
    made = {call.id: call for call in turns[spoken[-1]].calls}
    results = [result for turn in turns[spoken[-1] + 1 :] for result in turn.results]
    return [
        (made[result.call_id], result)
        for result in results
        if result.call_id in made and is_failure(result)
    ]


def _unthinking(rule: Rule) -> Rule:
    return lambda request: rule(replace(request, thinks=False) if request.forces else request)


def _one(answer: Answer, request: VendorRequest) -> Answer:
    return replace(answer, tool_requests=answer.tool_requests[:1])


def _twice(answer: Answer, request: VendorRequest) -> Answer:
    return replace(
        answer,
        tool_requests=tuple(
            tool_request for tool_request in answer.tool_requests for _ in range(2)
        ),
    )


def _in_parallel(answer: Answer, request: VendorRequest) -> Answer:
    if request.call.parallel is not False:
        return answer
    return answers.answer_request(replace(request.call, parallel=None))


def _unforced(answer: Answer, request: VendorRequest) -> Answer:
    return (
        answers.answer_request(replace(request.call, tool_choice=None))
        if request.forces
        else answer
    )


def _unforbidden(answer: Answer, request: VendorRequest) -> Answer:
    if request.call.tool_choice != NONE:
        return answer
    return answers.answer_request(replace(request.call, tool_choice=None))


def _again(answer: Answer, request: VendorRequest) -> Answer:
    failed = failed_calls(request)
    return _repeating([call for call, _ in failed], request) if failed else answer


def _slowly(answer: Answer, request: VendorRequest) -> Answer:
    """Once more the same, and right only after the second error."""
    failed = [call for call, _ in failed_calls(request)]
    made = [(call.name, call.input) for turn in request.call.turns for call in turn.calls]
    fresh = [call for call in failed if made.count((call.name, call.input)) == 1]
    return _repeating(fresh, request) if fresh else answer


def _resigned(answer: Answer, request: VendorRequest) -> Answer:
    if not (failed := failed_calls(request)):
        return answer
    names = ", ".join(call.name for call, _ in failed)
    return Answer("It did not work.", f"I am sorry, {names} failed and I cannot help any further.")


def _redirected(answer: Answer, request: VendorRequest) -> Answer:
    """Calls the hidden tool that some clients show the model in place of a call that failed."""
    if not (failed := failed_calls(request)):
        return answer
    hidden = ToolSpec("invalid", "", None)
    tool_requests = [
        ToolRequest(hidden, {"tool": call.name, "error": result.content[:200]})
        for call, result in failed
    ]
    return Answer("The call was invalid.", "", tuple(tool_requests))


def _unheeding(answer: Answer, request: VendorRequest) -> Answer:
    answered = any(turn.results for turn in request.call.turns)
    return replace(answer, text=PROSE) if answered and not answer.tool_requests else answer


def _repeating(calls: list[ToolCall], request: VendorRequest) -> Answer:
    known = {tool.name: tool for tool in request.call.tools}
    tool_requests = [
        ToolRequest(known.get(call.name, ToolSpec(call.name, "", None)), call.input)
        for call in calls
    ]
    return Answer("I should try that again.", "", tuple(tool_requests))


def _without(*modes: str) -> Callable[[Spec], Spec]:
    """The vendor on which some values of tool_choice do not work."""

    def kept(choices: tuple[str, ...] | None) -> tuple[str, ...]:
        return tuple(choice for choice in choices or () if choice not in modes)

    def change(spec: Spec) -> Spec:
        if spec.format not in CHOOSING:
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
        _always(AnswerChange(_one)),
        effect=Effect({Metric.PARALLEL_DOWNGRADE: 1}, {"supports_parallel_tool_use": False}),
    ),
    Fault(
        "ignores-parallel-off",
        "",
        "several calls although parallel calls were switched off",
        _always(AnswerChange(_in_parallel)),
        SWITCHING,
    ),
    Fault(
        "twice",
        "",
        "every call stands twice in the answer, under two ids",
        _always(AnswerChange(_twice)),
    ),
    Fault(
        "no-repair",
        "",
        "after an error the same call comes again, unchanged",
        _always(AnswerChange(_again)),
        effect=UNREPAIRED,
    ),
    Fault(
        "gives-up",
        "",
        "after an error there are words and no further call",
        _always(AnswerChange(_resigned)),
        effect=UNREPAIRED,
    ),
    Fault(
        "slow-repair",
        "",
        "after the first error the same call comes again; after the second it is corrected",
        _always(AnswerChange(_slowly)),
        # What counts is the answer to the first error.
        effect=Effect({Metric.REPAIR_SUCCESS: 1}, {"error_repair": "limited"}),
    ),
    Fault(
        "invalid-tool-loop",
        "Z55",
        "after an error a tool named invalid is called, which nobody offered",
        _always(AnswerChange(_redirected)),
        effect=Effect(
            {Metric.REPAIR_SUCCESS: 1, Metric.SCHEMA_FAILURE: None}, {"error_repair": "none"}
        ),
    ),
    Fault(
        "ignores-results",
        "",
        "the answer after the results says nothing of them",
        _always(AnswerChange(_unheeding)),
    ),
    Fault(
        "ignores-choice",
        "",
        "a forced call is not made where the words do not ask for it",
        _always(AnswerChange(_unforced, _without(*FORCED))),
        CHOOSING,
    ),
    Fault(
        "calls-despite-none",
        "",
        "calls are made although tool_choice forbids them",
        _always(AnswerChange(_unforbidden, _without("none"))),
        CHOOSING,
    ),
    Fault(
        "forced-without-thinking",
        "Z67",
        "a forced call comes without the thinking that was asked for",
        _always(ForcedWithoutThinking()),
        CHOOSING,
    ),
    EFFORT_IGNORED,
)
