"""One request to a vendor, from its bytes to the answer's."""

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
from simulators.vendors.error_envelopes import Complaint
from simulators.vendors.hooks import Bend, Sending
from simulators.vendors.model_traits import Model, Replay
from simulators.vendors.reply_stream import as_json_list, chunks_of, events_of, media_type
from simulators.vendors.spec import Asked, Endpoint, Spec
from simulators.vendors.thinking_switches import thinks

MAX_BODY = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Served:
    """Who serves the request, what bends the answer, and the dice."""

    spec: Spec
    bends: Sequence[Bend]
    rng: random.Random

    def answer(self, request: Request, data: bytes, *, always_streams: bool) -> Sending:
        """The answer to a question put to the model."""
        for bend in self.bends:
            if (sending := bend.door(self.spec, self.rng)) is not None:
                return self._bent(sending)
        try:
            asked = self._read(request, data, always_streams)
            for bend in self.bends:
                bend.refuse(asked, self.rng)
        except Complaint as complaint:
            return self._bent(self._refusal(complaint))
        alone = self.spec.path != self.spec.stream_path
        as_list = alone and request.query_params.get("alt") != "sse"
        return self._bent(self._said(asked, as_list=as_list))

    def beside(self, request: Request, data: bytes, endpoint: Endpoint) -> Sending:
        """What is served beside answers."""
        try:
            self._check_key(request)
            sent = self._parsed(data) if data else {}
            return self._json(endpoint(self.spec, sent), 200)
        except Complaint as complaint:
            return self._refusal(complaint)

    def reply(self, asked: Asked) -> Reply:
        """One answer of the model that was asked, bent as the vendor bends it."""
        signs = asked.model.replay is Replay.SIGNATURES
        said = answers.answer(asked.call)
        for bend in self.bends:
            said = bend.answer(said, asked, self.rng)
        manner = self.spec.manner
        reply = manner.reply(said, asked.call, self.rng, thinks=asked.thinks, signs=signs)
        # A longer template takes more of the prompt.
        tokens = (reply.usage.input_tokens or 0) + len(self.spec.template) // 4
        reply = replace(
            reply,
            model=self.spec.echo or reply.model,
            usage=replace(reply.usage, input_tokens=tokens),
        )
        for bend in self.bends:
            reply = bend.reply(reply, asked, self.rng)
        return reply

    def stream(self, reply: Reply) -> Sequence[bytes]:
        """The chunks in which a reply is streamed, bent as the vendor bends them."""
        events: Sequence[Event] = events_of(reply)
        for bend in self.bends:
            events = bend.events(events, self.rng)
        chunks: Sequence[bytes] = chunks_of(self.spec.format, reply, events)
        for bend in self.bends:
            chunks = bend.chunks(chunks, self.rng)
        return chunks

    def whole(self, reply: Reply) -> bytes:
        """The body of a reply that is not streamed, bent as the vendor bends it."""
        body: Mapping[str, JSON] = FORMATS[self.spec.format].write_reply(reply)
        for bend in self.bends:
            body = bend.body(body, self.rng)
        return encoded(body)

    def _said(self, asked: Asked, *, as_list: bool) -> Sending:
        call = asked.call
        reply = self.reply(asked)
        facts = self.spec.facts(asked.body, call.stream)
        counted = reply.usage if self.spec.counts(asked.body, call.stream) else Usage()
        reply = replace(reply, extra={**reply.extra, **facts}, usage=counted)
        if not call.stream:
            return Sending([self.whole(reply)], "application/json", headers=self._headers())
        chunks, kind = self.stream(reply), media_type(self.spec.format)
        if as_list:
            chunks, kind = as_json_list(chunks), "application/json"
        return Sending(chunks, kind, headers=self._headers())

    def _bent(self, sending: Sending) -> Sending:
        for bend in self.bends:
            sending = bend.sending(sending, self.rng)
        return sending

    def _check_key(self, request: Request) -> None:
        if self.spec.auth is not None:
            self.spec.auth.check(request.headers, request.query_params)

    def _read(self, request: Request, data: bytes, always_streams: bool) -> Asked:
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
        asked = Asked(body, request.headers, call, model, thinks(model, self.spec.switch(body)))
        if self.spec.rule is not None:
            self.spec.rule(asked)
        return asked

    def _check_shape(self, body: Mapping[str, JSON], request: Request) -> None:
        """Let the vendor's own rule speak first where it has words for a broken shape."""
        if self.spec.rule is not None:
            blank = ModelCall("", (), max_tokens=1)
            self.spec.rule(Asked(body, request.headers, blank, Model(), thinks=False))

    def _parsed(self, data: bytes) -> Mapping[str, JSON]:
        try:
            text = data.decode()
        except UnicodeDecodeError as exc:
            raise self._malformed("The body is not UTF-8.") from exc
        parsed = parse_json(text, max_bytes=MAX_BODY)
        if parsed.error is not None or not isinstance(parsed.value, Mapping):
            raise self._malformed(parsed.error or "The body is not an object.")
        return parsed.value

    def _malformed(self, detail: str) -> Complaint:
        return Complaint(self.spec.malformed.replace("{detail}", detail))

    def _refusal(self, complaint: Complaint) -> Sending:
        body = self.spec.envelope(complaint, f"req_{self.rng.getrandbits(96):024x}")
        sending = self._json(body, complaint.status)
        return replace(sending, media_type=self.spec.error_type)

    def _json(self, body: Mapping[str, JSON], status: int) -> Sending:
        return Sending([encoded(body)], "application/json", status, self._headers())

    def _headers(self) -> dict[str, str]:
        return {
            "server": self.spec.server,
            self.spec.request_id: f"req_{self.rng.getrandbits(96):024x}",
        }


def encoded(body: Mapping[str, JSON]) -> bytes:
    # Plain ASCII carries even what UTF-8 cannot, such as half of a surrogate pair.
    return json.dumps(body).encode("ascii")
