from __future__ import annotations

from probes.adapters.base import bearer_header
from probes.adapters.format_support import FormatSupport, Order
from probes.adapters.ollama.reply import (
    read_error,
    read_reply,
    write_error,
    write_failure,
    write_reply,
)
from probes.adapters.ollama.request import THINKING, read_request, write_request
from probes.adapters.ollama.stream import OllamaStreamReader, OllamaStreamWriter
from probes.adapters.ollama.tools import FORMAT
from probes.messages import Reasoning, ReasoningKind


def _carries_reasoning(reasoning: Reasoning) -> bool:
    return reasoning.kind is ReasoningKind.FIELD and reasoning.raw == THINKING


SUPPORT = FormatSupport(
    FORMAT,
    _carries_reasoning,
    blocks=lambda _: False,
    error_flag=False,
    parallel=False,
    choices=frozenset({"auto", "none"}),
    strict=False,
    image_urls=False,
    result_images=False,
    order=Order.ONE_TEXT,
)


class OllamaAdapter:
    """Ollama's own /api/chat."""

    format = FORMAT
    path = "/api/chat"
    stream_path = path

    headers = staticmethod(bearer_header)
    write_request = staticmethod(write_request)
    read_request = staticmethod(read_request)
    read_reply = staticmethod(read_reply)
    write_reply = staticmethod(write_reply)
    read_stream = OllamaStreamReader
    write_stream = OllamaStreamWriter
    read_error = staticmethod(read_error)
    write_error = staticmethod(write_error)
    write_failure = staticmethod(write_failure)
    losses = staticmethod(SUPPORT.losses)
