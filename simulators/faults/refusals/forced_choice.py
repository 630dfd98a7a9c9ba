"""A forced tool choice, refused with the message of a selected vendor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from probes.messages import AUTO, ToolChoice
from simulators.faults.fault import Fault
from simulators.faults.fault_switch import SwitchError
from simulators.faults.refusals.refusal import RefusalCheck
from simulators.vendors.error_envelopes import RequestRefused
from simulators.vendors.spec import Rule, Spec, VendorRequest

UNFORCED = ("auto", "none")
NOT_SUPPORTED = 'tool_choice: type "tool" and "any" are not supported for this model.'


@dataclass(frozen=True, slots=True)
class RefusalText:
    """How one vendor refuses, and which choices it accepts."""

    text: str
    code: str | None = None
    accepted_choices: tuple[str, ...] = UNFORCED


# By the value of the switch.
CHAT_REFUSALS = (
    RefusalText("Tool choice must be auto", accepted_choices=("auto",)),
    RefusalText("Thinking mode does not support this tool_choice", "invalid_request_error"),
    RefusalText("tool_choice '{choice}' is incompatible with thinking enabled"),
    RefusalText(
        "<400> InternalError.Algo.InvalidParameter: The tool_choice parameter does not support "
        "being set to required or object in thinking mode",
        "invalid_parameter_error",
    ),
)


def _refuse_chat(refusal: RefusalText) -> Rule:
    def rule(request: VendorRequest) -> None:
        choice = request.call.tool_choice or AUTO
        if choice.mode not in refusal.accepted_choices:
            raise RequestRefused(
                refusal.text.replace("{choice}", _choice_label(choice)), code=refusal.code
            )

    return rule


def _choice_label(choice: ToolChoice) -> str:
    return "specified" if choice.mode == "named" else choice.mode


def _refuse_anthropic(request: VendorRequest) -> None:
    if request.forces:
        raise RequestRefused(NOT_SUPPORTED)


def _limit_choices(refusal: RefusalText) -> Callable[[Spec], Spec]:
    def change(spec: Spec) -> Spec:
        accepted_choices = refusal.accepted_choices if spec.format == "openai" else UNFORCED
        kept = tuple(choice for choice in spec.choices if choice in accepted_choices)
        return replace(spec, choices=kept, thinking_choices=None)

    return change


def _make(value: float | None) -> RefusalCheck:
    if value not in (None, *range(len(CHAT_REFUSALS))):
        raise SwitchError(
            f"forced-choice-refused takes a value from 0 to {len(CHAT_REFUSALS) - 1}."
        )
    refusal = CHAT_REFUSALS[int(value or 0)]
    checks = {"openai": _refuse_chat(refusal), "anthropic": _refuse_anthropic}
    return RefusalCheck(checks, _limit_choices(refusal))


FORCED_CHOICE_REFUSED = Fault(
    "forced-choice-refused",
    "Z07, Z09, Z62, Z70",
    "400 for a choice that forces a call, whether the model thinks or not",
    _make,
    frozenset({"openai", "anthropic"}),
    value="whose words, on Chat Completions: 0 GLM, 1 DeepSeek, 2 Kimi, 3 Qwen",
)
