"""A vendor: one class for all of them. What tells them apart is their `Spec`."""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from probes.adapters import FORMATS
from probes.errors import WireError
from probes.events import Event
from probes.messages import JSON, Extra, ModelCall, Reply, Usage
from probes.strict_json import parse
from simulators import mind
from simulators.vendors.auth import Auth
from simulators.vendors.bending import Bend, Slips
from simulators.vendors.complaints import Complaint
from simulators.vendors.endpoints import Endpoint
from simulators.vendors.models import Model, Replay
from simulators.vendors.rules import Asked, Rule
from simulators.vendors.saying import Manner
from simulators.vendors.streaming import as_json_list, chunks_of, events_of, media_type
from simulators.vendors.switches import thinks

MAX_BODY = 4 * 1024 * 1024
Envelope = Callable[[Complaint, str], dict[str, JSON]]
Facts = Callable[[Mapping[str, JSON], bool], Extra]


@dataclass(frozen=True, slots=True)
class Spec:
    """All that is particular about a vendor."""

    name: str
    title: str
    mount: str
    manner: Manner
    models: Mapping[str, Model]
    envelope: Envelope
    rule: Rule | None
    switch: Callable[[Mapping[str, JSON]], bool | None]
    unknown_model: Complaint
    auth: Auth | None = None
    prefix: str = ""
    malformed: str = "{detail}"
    facts: Facts = lambda body, streamed: {}
    # Whether an answer tells its usage.
    counts: Callable[[Mapping[str, JSON], bool], bool] = lambda body, streamed: True
    request_id: str = "x-request-id"
    any_model: bool = False
    # Method and path of what is served beside answers.
    endpoints: Mapping[tuple[str, str], Endpoint] = field(default_factory=dict)

    @property
    def format(self) -> str:
        return self.manner.format

    @property
    def path(self) -> str:
        """Where questions are asked, below the mount."""
        return self.prefix + FORMATS[self.format].path

    @property
    def stream_path(self) -> str:
        return self.prefix + FORMATS[self.format].stream_path.partition("?")[0]


class Vendor:
    """Serves one Spec over HTTP."""

    def __init__(
        self,
        spec: Spec,
        *,
        clock: Callable[[], float] = time.monotonic,
        latency_ms: tuple[int, int] = (80, 250),
        bends: Sequence[Bend] = (),
    ) -> None:
        self.spec = spec
        self.adapter = FORMATS[spec.format]
        self.latency_ms = latency_ms
        # The model's own slips come first, then what is done to its answers on the way.
        self.bends: tuple[Bend, ...] = (Slips(spec.models, clock), *bends)
        self.served = 0

    def routes(self) -> list[Route]:
        """Everything the vendor serves, below its mount."""
        paths = {self.spec.path: False, self.spec.stream_path: True}
        if len(paths) == 1:
            paths = {self.spec.path: False}
        return [
            *(
                Route(path, self._asking(always), methods=["POST"])
                for path, always in paths.items()
            ),
            *(
                Route(path, self._serving(endpoint), methods=[method])
                for (method, path), endpoint in self.spec.endpoints.items()
            ),
        ]

    def reply(self, call: ModelCall, rng: random.Random, *, shows_thought: bool = False) -> Reply:
        """One answer of the model that was asked, bent as the vendor bends it."""
        signs = self._model(call.model).replay is Replay.SIGNATURES
        said = mind.answer(call)
        reply = self.spec.manner.reply(said, call, rng, thinks=shows_thought, signs=signs)
        for bend in self.bends:
            reply = bend.reply(reply, call, rng)
        return reply

    def stream(self, reply: Reply, rng: random.Random) -> Sequence[bytes]:
        """The chunks in which a reply is streamed, bent as the vendor bends them."""
        events: Sequence[Event] = events_of(reply)
        for bend in self.bends:
            events = bend.events(events, rng)
        return self._bent(chunks_of(self.spec.format, reply, events), rng)

    def whole(self, reply: Reply, rng: random.Random) -> bytes:
        """The body of a reply that is not streamed, bent as the vendor bends it."""
        return b"".join(self._bent([_encoded(self.adapter.write_reply(reply))], rng))

    def _bent(self, chunks: Sequence[bytes], rng: random.Random) -> Sequence[bytes]:
        for bend in self.bends:
            chunks = bend.data(chunks, rng)
        return chunks

    def _asking(self, always_streams: bool) -> Callable[[Request], Awaitable[Response]]:
        async def ask(request: Request) -> Response:
            body = await request.body()
            self.served += 1
            rng = random.Random(f"{self.served}/{hashlib.sha256(body).hexdigest()}")
            try:
                asked = self._read(request, body, always_streams)
            except Complaint as complaint:
                return self._refusal(complaint, rng)
            await asyncio.sleep(rng.uniform(*self.latency_ms) / 1000)
            return self._answer(asked, request, rng)

        return ask

    def _serving(self, endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
        async def serve(request: Request) -> Response:
            body = await request.body()
            rng = random.Random(body)
            try:
                self._check_key(request)
                sent = self._parsed(body) if body else {}
                return self._respond(endpoint(self.spec.models, sent), 200, rng)
            except Complaint as complaint:
                return self._refusal(complaint, rng)

        return serve

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
            call = self.adapter.read_request(body)
        except WireError as exc:
            self._check_shape(body, request)
            raise self._malformed(f"{exc.at.removeprefix('$.')}: {exc.message}") from exc
        call = replace(call, stream=call.stream or always_streams)
        model = self._model(call.model)
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
        parsed = parse(text, max_bytes=MAX_BODY)
        if parsed.error is not None or not isinstance(parsed.value, Mapping):
            raise self._malformed(parsed.error or "The body is not an object.")
        return parsed.value

    def _malformed(self, detail: str) -> Complaint:
        return Complaint(self.spec.malformed.replace("{detail}", detail))

    def _model(self, name: str) -> Model:
        models = self.spec.models
        model = models.get(name) or models.get(f"{name}:latest")
        if model is None and self.spec.any_model:
            model = next(iter(models.values()))
        if model is None:
            unknown = self.spec.unknown_model
            text = unknown.message.replace("{model}", name)
            raise Complaint(text, status=unknown.status, param=unknown.param, code=unknown.code)
        return model

    def _answer(self, asked: Asked, request: Request, rng: random.Random) -> Response:
        call = asked.call
        reply = self.reply(call, rng, shows_thought=asked.thinks)
        facts = self.spec.facts(asked.body, call.stream)
        counted = reply.usage if self.spec.counts(asked.body, call.stream) else Usage()
        reply = replace(reply, extra=facts, usage=counted)
        headers = self._headers(rng)
        if not call.stream:
            data = self.whole(reply, rng)
            return Response(data, media_type="application/json", headers=headers)
        chunks, kind = self.stream(reply, rng), media_type(self.spec.format)
        if self.spec.path != self.spec.stream_path and request.query_params.get("alt") != "sse":
            chunks, kind = as_json_list(chunks), "application/json"
        return StreamingResponse(_sent(chunks), media_type=kind, headers=headers)

    def _refusal(self, complaint: Complaint, rng: random.Random) -> Response:
        body = self.spec.envelope(complaint, f"req_{rng.getrandbits(96):024x}")
        return self._respond(body, complaint.status, rng)

    def _respond(self, body: Mapping[str, JSON], status: int, rng: random.Random) -> Response:
        headers = self._headers(rng)
        return Response(_encoded(body), status, headers, media_type="application/json")

    def _headers(self, rng: random.Random) -> dict[str, str]:
        return {
            "server": "simulated-vendor",
            self.spec.request_id: f"req_{rng.getrandbits(96):024x}",
        }


async def _sent(chunks: Sequence[bytes]) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk
        await asyncio.sleep(0)


def _encoded(body: Mapping[str, JSON]) -> bytes:
    # Plain ASCII carries even what UTF-8 cannot, such as half of a surrogate pair.
    return json.dumps(body).encode("ascii")
