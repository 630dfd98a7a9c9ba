from __future__ import annotations

import asyncio
import hashlib
import json
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from simulators.mind import Wire, Wish, understand
from simulators.openai_rules import Complaint, check_key, check_request

FADING_SECONDS = 3600
FADING_END = 0.6


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How often a model goes wrong, and in which way."""

    leaks: float = 0
    breaks_schema: float = 0
    fades: bool = False
    only_prose: bool = False


MODELS = {
    "sim-steady": Behaviour(),
    "sim-leaky": Behaviour(leaks=0.25),
    "sim-sloppy": Behaviour(breaks_schema=0.2),
    "sim-prose": Behaviour(only_prose=True),
    "sim-fading": Behaviour(fades=True),
}


@dataclass
class Vendor:
    """A vendor that speaks Chat Completions as OpenAI does."""

    needs_key: bool
    clock: Callable[[], float] = time.monotonic
    latency_ms: tuple[int, int] = (80, 250)
    served: int = 0
    started: float = field(init=False)

    def __post_init__(self) -> None:
        self.started = self.clock()

    def routes(self) -> list[Route]:
        return [
            Route("/chat/completions", self.complete, methods=["POST"]),
            Route("/models", self.models),
        ]

    async def complete(self, request: Request) -> JSONResponse:
        body = await request.body()
        try:
            if self.needs_key:
                check_key(request.headers.get("authorization", ""))
            asked = check_request(body, MODELS)
        except Complaint as complaint:
            return _answer(complaint.envelope(), complaint.status)
        self.served += 1
        rng = random.Random(f"{self.served}/{hashlib.sha256(body).hexdigest()}")
        await asyncio.sleep(rng.uniform(*self.latency_ms) / 1000)
        return _answer(self.reply(asked, rng))

    async def models(self, request: Request) -> JSONResponse:
        try:
            if self.needs_key:
                check_key(request.headers.get("authorization", ""))
        except Complaint as complaint:
            return _answer(complaint.envelope(), complaint.status)
        entries = [
            {"id": name, "object": "model", "created": 1_767_225_600, "owned_by": "simulators"}
            for name in MODELS
        ]
        return _answer({"object": "list", "data": entries})

    def reply(self, asked: Wire, rng: random.Random) -> dict[str, Any]:
        """The body of one answer of the model that was asked for."""
        message, finish = self._say(asked, rng)
        words = len(json.dumps(message)) // 4
        prompt = len(json.dumps(asked)) // 4
        return {
            "id": f"chatcmpl-{rng.getrandbits(120):030x}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": asked["model"],
            "choices": [
                {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
            ],
            "usage": {
                "prompt_tokens": prompt,
                "completion_tokens": words,
                "total_tokens": prompt + words,
            },
            "service_tier": "default",
            "system_fingerprint": "fp_5e1f0a7c42",
        }

    def _say(self, asked: Wire, rng: random.Random) -> tuple[dict[str, Any], str]:
        behaviour = MODELS[asked["model"]]
        wish = None if asked.get("tool_choice") == "none" else understand(asked)
        if wish is None or behaviour.only_prose:
            return _message("I have read your request and would be glad to help with it."), "stop"
        if rng.random() < self._leak_share(behaviour):
            return _message(wish.as_text), "stop"
        if rng.random() < behaviour.breaks_schema:
            wish = _misuse(wish)
        return _message(None, tool_calls=[_call(wish, rng)]), "tool_calls"

    def _leak_share(self, behaviour: Behaviour) -> float:
        if not behaviour.fades:
            return behaviour.leaks
        age = (self.clock() - self.started) / FADING_SECONDS
        return FADING_END * min(age, 1)


def _message(content: str | None, **extra: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, "refusal": None, "annotations": [], **extra}


def _call(wish: Wish, rng: random.Random) -> dict[str, Any]:
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
    arguments = json.dumps(wish.arguments, ensure_ascii=False, separators=(",", ":"))
    return {
        "id": "call_" + "".join(rng.choices(letters, k=24)),
        "type": "function",
        "function": {"name": wish.tool, "arguments": arguments},
    }


def _misuse(wish: Wish) -> Wish:
    """The same call with one argument that its schema forbids."""
    properties: Wire = wish.schema.get("properties") or {}
    for name, rules in properties.items():
        if "enum" in rules:
            return Wish(wish.tool, {**wish.arguments, name: "gamma-ish"}, wish.schema)
    return Wish(wish.tool, dict.fromkeys(wish.arguments, None), wish.schema)


def _answer(body: Any, status: int = 200) -> JSONResponse:
    return JSONResponse(body, status, headers={"server": "simulated-vendor"})
