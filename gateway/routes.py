"""The addresses of the gateway: which wire format a client speaks, and what it asks for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum


class Operation(StrEnum):
    """What a request asks for."""

    ANSWER = "answer"
    COUNT_TOKENS = "count_tokens"
    MODELS = "models"


@dataclass(frozen=True, slots=True)
class Route:
    """A parsed address. Gemini's says the model and whether the answer streams."""

    slug: str
    format: str
    operation: Operation
    model: str = ""
    streams: bool | None = None


_ADDRESS = re.compile(r"/gateway/(?P<slug>[A-Za-z0-9_-]{1,60})(?P<rest>/.*)")
_GEMINI = re.compile(r"/v1(?:beta|alpha)?/models/(?P<model>[^:]{1,200}):(?P<verb>[A-Za-z]{1,40})")
_FIXED = {
    ("POST", "/v1/chat/completions"): ("openai", Operation.ANSWER),
    ("POST", "/v1/messages"): ("anthropic", Operation.ANSWER),
    ("POST", "/v1/messages/count_tokens"): ("anthropic", Operation.COUNT_TOKENS),
    ("POST", "/v1/responses"): ("openai_responses", Operation.ANSWER),
    ("POST", "/api/chat"): ("ollama", Operation.ANSWER),
    ("GET", "/v1/models"): ("openai", Operation.MODELS),
    ("GET", "/v1beta/models"): ("gemini", Operation.MODELS),
    ("GET", "/api/tags"): ("ollama", Operation.MODELS),
}
_GEMINI_VERBS = {
    "generateContent": (Operation.ANSWER, False),
    "streamGenerateContent": (Operation.ANSWER, True),
    "countTokens": (Operation.COUNT_TOKENS, None),
}


def find_route(method: str, path: str) -> Route | None:
    """The route of a request, or None."""
    match = _ADDRESS.fullmatch(path)
    if match is None:
        return None
    slug, rest = match["slug"], match["rest"]
    if (method, rest) in _FIXED:
        return Route(slug, *_FIXED[method, rest])
    gemini = _GEMINI.fullmatch(rest)
    if method == "POST" and gemini and gemini["verb"] in _GEMINI_VERBS:
        operation, streams = _GEMINI_VERBS[gemini["verb"]]
        return Route(slug, "gemini", operation, gemini["model"], streams)
    return None
