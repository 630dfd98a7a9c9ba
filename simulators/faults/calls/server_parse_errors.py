"""Servers that answer with an error because they cannot parse their own model's call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from typing_extensions import override

from probes.messages import JSON
from simulators.faults.effects import SILENT
from simulators.faults.fault import Fault
from simulators.faults.text.json_writers import as_json
from simulators.model import answers
from simulators.vendors.error_envelopes import RequestRefused
from simulators.vendors.hooks import FaultHooks
from simulators.vendors.spec import Envelope, Rule, Spec, VendorRequest

FORMATS = frozenset({"ollama", "openai"})


@dataclass(frozen=True, slots=True)
class ServerParseError(FaultHooks):
    """Answers every call with Ollama's 500; `write_message` gets the arguments."""

    write_message: Callable[[str], str]

    @override
    def spec(self, spec: Spec) -> Spec:
        if spec.format not in FORMATS:
            return spec
        envelope = _wrap_envelope(spec.envelope) if spec.format == "openai" else spec.envelope
        return replace(spec, rule=self._rule(spec.rule), envelope=envelope)

    def _rule(self, own: Rule | None) -> Rule:
        def rule(request: VendorRequest) -> None:
            if own is not None:
                own(request)
            answer = answers.answer_request(request.call)
            # Without declared tools there is nothing to parse.
            if answer.tool_requests and answer.prompted is None:
                arguments = as_json(answer.tool_requests[0].arguments)
                raise RequestRefused(self.write_message(arguments), status=500)

        return rule


def _wrap_envelope(own: Envelope) -> Envelope:
    """Ollama's error envelope below /v1."""

    def envelope(refusal: RequestRefused, request_id: str) -> dict[str, JSON]:
        if refusal.status != 500:
            return own(refusal, request_id)
        error: dict[str, JSON] = {"message": refusal.message, "type": "api_error"}
        return {"error": {**error, "param": None, "code": None}}

    return envelope


def _quote_arguments(arguments: str) -> str:
    error = "invalid character ']' after top-level value"
    return f"error parsing tool call: raw='{arguments}]', err={error}"


FAULTS = (
    Fault(
        "server-parse",
        "Z45",
        "HTTP 500 that quotes the call which the server could not parse",
        lambda value: ServerParseError(_quote_arguments),
        FORMATS,
        SILENT,
    ),
    Fault(
        "server-parse-end",
        "Z46",
        "HTTP 500 because the call of the model ended too early for the server's parser",
        lambda value: ServerParseError(
            lambda arguments: "failed to parse JSON: unexpected end of JSON input"
        ),
        FORMATS,
        SILENT,
    ),
)
