"""One request to a vendor, from its bytes to the bytes of the answer."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from starlette.requests import Request

from probes.adapters import FORMATS
from probes.errors import WireError
from probes.events import Event
from probes.messages import JSON, ModelCall, Reply, Usage
from probes.strict_json import parse_json
from simulators.model import answers
from simulators.vendors.error_envelopes import RequestRefused
from simulators.vendors.hooks import FaultHooks, OutgoingAnswer
from simulators.vendors.model_traits import Model, ReplayDuty
from simulators.vendors.reply_stream import (
    as_json_list,
    media_type,
    split_reply_events,
    write_chunks,
)
from simulators.vendors.spec import Endpoint, Spec, VendorRequest
from simulators.vendors.thinking_switches import is_thinking

MAX_BODY = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class RequestHandler:
    """Handles one request: the vendor, the faults that act on it, and the random generator."""

    spec: Spec
    fault_hooks: Sequence[FaultHooks]
    rng: random.Random

    def answer(self, request: Request, data: bytes, *, always_streams: bool) -> OutgoingAnswer:
        """Answer a request to the model."""
        for hooks in self.fault_hooks:
            if (outgoing := hooks.early_answer(self.spec, self.rng)) is not None:
                return self._apply_last_hooks(outgoing)
        try:
            vendor_request = self._read_request(request, data, always_streams)
            for hooks in self.fault_hooks:
                hooks.refuse(vendor_request, self.rng)
        except RequestRefused as refusal:
            return self._apply_last_hooks(self._answer_refusal(refusal))
        has_stream_path = self.spec.path != self.spec.stream_path
        as_list = has_stream_path and request.query_params.get("alt") != "sse"
        return self._apply_last_hooks(self._answer_model_request(vendor_request, as_list=as_list))

    def serve_metadata(self, request: Request, data: bytes, endpoint: Endpoint) -> OutgoingAnswer:
        """Answer a request for metadata, such as the list of models."""
        try:
            self._check_key(request)
            body = self._parse_body(data) if data else {}
            return self._json_answer(endpoint(self.spec, body), 200)
        except RequestRefused as refusal:
            return self._answer_refusal(refusal)

    def build_reply(self, vendor_request: VendorRequest) -> Reply:
        """Build the model's reply, with all hooks applied."""
        signs = vendor_request.model.replay is ReplayDuty.SIGNATURES
        answer = answers.answer_request(vendor_request.call)
        for hooks in self.fault_hooks:
            answer = hooks.answer(answer, vendor_request, self.rng)
        style = self.spec.style
        reply = style.build_reply(
            answer, vendor_request.call, self.rng, thinks=vendor_request.thinks, signs=signs
        )
        # A longer template uses more prompt tokens.
        tokens = (reply.usage.input_tokens or 0) + len(self.spec.template) // 4
        reply = replace(
            reply,
            model=self.spec.echo or reply.model,
            usage=replace(reply.usage, input_tokens=tokens, cached_tokens=self._cached(tokens)),
        )
        for hooks in self.fault_hooks:
            reply = hooks.reply(reply, vendor_request, self.rng)
        return reply

    def build_chunks(self, reply: Reply) -> Sequence[bytes]:
        """Build the chunks of a streamed reply, with all hooks applied."""
        events: Sequence[Event] = split_reply_events(reply)
        for hooks in self.fault_hooks:
            events = hooks.events(events, self.rng)
        chunks: Sequence[bytes] = write_chunks(self.spec.format, reply, events)
        for hooks in self.fault_hooks:
            chunks = hooks.chunks(chunks, self.rng)
        return chunks

    def encode_reply(self, reply: Reply) -> bytes:
        """Build the body of a reply that is not streamed, with all hooks applied."""
        body: Mapping[str, JSON] = FORMATS[self.spec.format].write_reply(reply)
        for hooks in self.fault_hooks:
            body = hooks.body(body, self.rng)
        return encode_body(body)

    def _answer_model_request(
        self, vendor_request: VendorRequest, *, as_list: bool
    ) -> OutgoingAnswer:
        call = vendor_request.call
        reply = self.build_reply(vendor_request)
        extra_fields = self.spec.extra_fields(vendor_request.body, call.stream)
        usage = (
            reply.usage if self.spec.reports_usage(vendor_request.body, call.stream) else Usage()
        )
        reply = replace(reply, extra={**reply.extra, **extra_fields}, usage=usage)
        if not call.stream:
            return OutgoingAnswer(
                [self.encode_reply(reply)], "application/json", headers=self._headers()
            )
        chunks, content_type = self.build_chunks(reply), media_type(self.spec.format)
        if as_list:
            chunks, content_type = as_json_list(chunks), "application/json"
        return OutgoingAnswer(chunks, content_type, headers=self._headers())

    def _cached(self, tokens: int) -> int | None:
        return tokens - 1 if self.spec.caches_prompts else None

    def _apply_last_hooks(self, outgoing: OutgoingAnswer) -> OutgoingAnswer:
        for hooks in self.fault_hooks:
            outgoing = hooks.outgoing(outgoing, self.rng)
        return outgoing

    def _check_key(self, request: Request) -> None:
        if self.spec.auth is not None:
            self.spec.auth.check(request.headers, request.query_params)

    def _read_request(self, request: Request, data: bytes, always_streams: bool) -> VendorRequest:
        """Parse the request; raise RequestRefused if the vendor does not accept it."""
        self._check_key(request)
        body = self._parse_body(data)
        if "model" in request.path_params:
            body = {**body, "model": request.path_params["model"]}
        try:
            call = FORMATS[self.spec.format].read_request(body)
        except WireError as exc:
            self._check_shape(body, request)
            raise self._malformed(f"{exc.at.removeprefix('$.')}: {exc.message}") from exc
        call = replace(call, stream=call.stream or always_streams)
        model = self.spec.find_model(call.model)
        vendor_request = VendorRequest(
            body, request.headers, call, model, is_thinking(model, self.spec.thinking_switch(body))
        )
        if self.spec.rule is not None:
            self.spec.rule(vendor_request)
        return vendor_request

    def _check_shape(self, body: Mapping[str, JSON], request: Request) -> None:
        """Run the vendor's rule first: it can have its own message for a malformed request."""
        if self.spec.rule is not None:
            blank = ModelCall("", (), max_tokens=1)
            self.spec.rule(VendorRequest(body, request.headers, blank, Model(), thinks=False))

    def _parse_body(self, data: bytes) -> Mapping[str, JSON]:
        try:
            text = data.decode()
        except UnicodeDecodeError as exc:
            raise self._malformed("The body is not UTF-8.") from exc
        parsed = parse_json(text, max_bytes=MAX_BODY)
        if parsed.error is not None or not isinstance(parsed.value, Mapping):
            raise self._malformed(parsed.error or "The body is not an object.")
        return parsed.value

    def _malformed(self, detail: str) -> RequestRefused:
        return RequestRefused(self.spec.malformed.replace("{detail}", detail))

    def _answer_refusal(self, refusal: RequestRefused) -> OutgoingAnswer:
        body = self.spec.envelope(refusal, f"req_{self.rng.getrandbits(96):024x}")
        outgoing = self._json_answer(body, refusal.status)
        return replace(outgoing, media_type=self.spec.error_type)

    def _json_answer(self, body: Mapping[str, JSON], status: int) -> OutgoingAnswer:
        return OutgoingAnswer([encode_body(body)], "application/json", status, self._headers())

    def _headers(self) -> dict[str, str]:
        return {
            "server": self.spec.server,
            self.spec.request_id: f"req_{self.rng.getrandbits(96):024x}",
        }


def encode_body(body: Mapping[str, JSON]) -> bytes:
    # ASCII escapes can carry what UTF-8 cannot, such as a lone surrogate.
    return json.dumps(body).encode("ascii")
