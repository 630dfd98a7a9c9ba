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
from simulators.vendors.thinking_switches import thinks

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
            if (outgoing := hooks.door(self.spec, self.rng)) is not None:
                return self._apply_last_hooks(outgoing)
        try:
            vendor_request = self._read(request, data, always_streams)
            for hooks in self.fault_hooks:
                hooks.refuse(vendor_request, self.rng)
        except RequestRefused as refusal:
            return self._apply_last_hooks(self._refusal(refusal))
        alone = self.spec.path != self.spec.stream_path
        as_list = alone and request.query_params.get("alt") != "sse"
        return self._apply_last_hooks(self._said(vendor_request, as_list=as_list))

    def beside(self, request: Request, data: bytes, endpoint: Endpoint) -> OutgoingAnswer:
        """Answer a request for metadata, such as the list of models."""
        try:
            self._check_key(request)
            sent = self._parsed(data) if data else {}
            return self._json(endpoint(self.spec, sent), 200)
        except RequestRefused as refusal:
            return self._refusal(refusal)

    def reply(self, vendor_request: VendorRequest) -> Reply:
        """Build the model's reply, with all hooks applied."""
        signs = vendor_request.model.replay is ReplayDuty.SIGNATURES
        said = answers.answer_request(vendor_request.call)
        for hooks in self.fault_hooks:
            said = hooks.answer(said, vendor_request, self.rng)
        style = self.spec.style
        reply = style.reply(
            said, vendor_request.call, self.rng, thinks=vendor_request.thinks, signs=signs
        )
        # A longer template takes more of the prompt.
        tokens = (reply.usage.input_tokens or 0) + len(self.spec.template) // 4
        reply = replace(
            reply,
            model=self.spec.echo or reply.model,
            usage=replace(reply.usage, input_tokens=tokens),
        )
        for hooks in self.fault_hooks:
            reply = hooks.reply(reply, vendor_request, self.rng)
        return reply

    def stream(self, reply: Reply) -> Sequence[bytes]:
        """Build the chunks of a streamed reply, with all hooks applied."""
        events: Sequence[Event] = split_reply_events(reply)
        for hooks in self.fault_hooks:
            events = hooks.events(events, self.rng)
        chunks: Sequence[bytes] = write_chunks(self.spec.format, reply, events)
        for hooks in self.fault_hooks:
            chunks = hooks.chunks(chunks, self.rng)
        return chunks

    def whole(self, reply: Reply) -> bytes:
        """Build the body of a reply that is not streamed, with all hooks applied."""
        body: Mapping[str, JSON] = FORMATS[self.spec.format].write_reply(reply)
        for hooks in self.fault_hooks:
            body = hooks.body(body, self.rng)
        return encode_body(body)

    def _said(self, vendor_request: VendorRequest, *, as_list: bool) -> OutgoingAnswer:
        call = vendor_request.call
        reply = self.reply(vendor_request)
        facts = self.spec.facts(vendor_request.body, call.stream)
        counted = reply.usage if self.spec.counts(vendor_request.body, call.stream) else Usage()
        reply = replace(reply, extra={**reply.extra, **facts}, usage=counted)
        if not call.stream:
            return OutgoingAnswer([self.whole(reply)], "application/json", headers=self._headers())
        chunks, kind = self.stream(reply), media_type(self.spec.format)
        if as_list:
            chunks, kind = as_json_list(chunks), "application/json"
        return OutgoingAnswer(chunks, kind, headers=self._headers())

    def _apply_last_hooks(self, outgoing: OutgoingAnswer) -> OutgoingAnswer:
        for hooks in self.fault_hooks:
            outgoing = hooks.outgoing(outgoing, self.rng)
        return outgoing

    def _check_key(self, request: Request) -> None:
        if self.spec.auth is not None:
            self.spec.auth.check(request.headers, request.query_params)

    def _read(self, request: Request, data: bytes, always_streams: bool) -> VendorRequest:
        """The request, if the vendor takes it."""
        self._check_key(request)
        body = self._parsed(data)
        if "model" in request.path_params:
            body = {**body, "model": request.path_params["model"]}
        try:
            call = FORMATS[self.spec.format].read_request(body)
        except WireError as exc:
            self._check_shape(body, request)
            raise self._malformed(f"{exc.at.removeprefix('$.')}: {exc.message}") from exc
        call = replace(call, stream=call.stream or always_streams)
        model = self.spec.model(call.model)
        vendor_request = VendorRequest(
            body, request.headers, call, model, thinks(model, self.spec.switch(body))
        )
        if self.spec.rule is not None:
            self.spec.rule(vendor_request)
        return vendor_request

    def _check_shape(self, body: Mapping[str, JSON], request: Request) -> None:
        """Let the vendor's own rule speak first where it has words for a broken shape."""
        if self.spec.rule is not None:
            blank = ModelCall("", (), max_tokens=1)
            self.spec.rule(VendorRequest(body, request.headers, blank, Model(), thinks=False))

    def _parsed(self, data: bytes) -> Mapping[str, JSON]:
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

    def _refusal(self, refusal: RequestRefused) -> OutgoingAnswer:
        body = self.spec.envelope(refusal, f"req_{self.rng.getrandbits(96):024x}")
        outgoing = self._json(body, refusal.status)
        return replace(outgoing, media_type=self.spec.error_type)

    def _json(self, body: Mapping[str, JSON], status: int) -> OutgoingAnswer:
        return OutgoingAnswer([encode_body(body)], "application/json", status, self._headers())

    def _headers(self) -> dict[str, str]:
        return {
            "server": self.spec.server,
            self.spec.request_id: f"req_{self.rng.getrandbits(96):024x}",
        }


def encode_body(body: Mapping[str, JSON]) -> bytes:
    # Plain ASCII carries even what UTF-8 cannot, such as half of a surrogate pair.
    return json.dumps(body).encode("ascii")
