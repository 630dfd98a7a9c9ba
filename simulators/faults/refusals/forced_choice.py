"""A forced choice of a tool, refused in the words of the vendor that is meant."""

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
    """How one vendor refuses, and what it takes."""

    text: str
    code: str | None = None
    takes: tuple[str, ...] = UNFORCED


# By the value of the switch.
CHAT = (
    RefusalText("Tool choice must be auto", takes=("auto",)),
    RefusalText("Thinking mode does not support this tool_choice", "invalid_request_error"),
    RefusalText("tool_choice '{choice}' is incompatible with thinking enabled"),
    RefusalText(
        "<400> InternalError.Algo.InvalidParameter: The tool_choice parameter does not support "
        "being set to required or object in thinking mode",
        "invalid_parameter_error",
    ),
)


def _refuse_chat(words: RefusalText) -> Rule:
    def rule(request: VendorRequest) -> None:
        choice = request.call.tool_choice or AUTO
        if choice.mode not in words.takes:
            raise RequestRefused(words.text.replace("{choice}", _word(choice)), code=words.code)

    return rule


def _word(choice: ToolChoice) -> str:
    return "specified" if choice.mode == "named" else choice.mode


def _refuse_messages(request: VendorRequest) -> None:
    if request.forces:
        raise RequestRefused(NOT_SUPPORTED)


def _taking(words: RefusalText) -> Callable[[Spec], Spec]:
    def change(spec: Spec) -> Spec:
        takes = words.takes if spec.format == "openai" else UNFORCED
        kept = tuple(choice for choice in spec.choices if choice in takes)
        return replace(spec, choices=kept, thinking_choices=None)

    return change


def _make(value: float | None) -> RefusalCheck:
    if value not in (None, *range(len(CHAT))):
        raise SwitchError(f"forced-choice-refused takes a value from 0 to {len(CHAT) - 1}.")
    words = CHAT[int(value or 0)]
    checks = {"openai": _refuse_chat(words), "anthropic": _refuse_messages}
    return RefusalCheck(checks, _taking(words))


FORCED_CHOICE_REFUSED = Fault(
    "forced-choice-refused",
    "Z07, Z09, Z62, Z70",
    "400 for a choice that forces a call, whether the model thinks or not",
    _make,
    frozenset({"openai", "anthropic"}),
    value="whose words, on Chat Completions: 0 GLM, 1 DeepSeek, 2 Kimi, 3 Qwen",
)
