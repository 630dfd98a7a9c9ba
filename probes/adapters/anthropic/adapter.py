from __future__ import annotations

from probes.adapters.anthropic.blocks import FORMAT, carries_blocks, carries_reasoning
from probes.adapters.anthropic.reply import (
    read_error,
    read_reply,
    write_error,
    write_failure,
    write_reply,
)
from probes.adapters.anthropic.request import read_request, write_request
from probes.adapters.anthropic.stream import AnthropicStreamReader
from probes.adapters.anthropic.stream_writer import AnthropicStreamWriter
from probes.adapters.format_support import FormatSupport
from probes.secret import Secret

VERSION = "2023-06-01"
SUPPORT = FormatSupport(FORMAT, carries_reasoning, carries_blocks, answers_broken=False)


class AnthropicAdapter:
    """Anthropic Messages, of Anthropic and of vendors with a compatible endpoint."""

    format = FORMAT
    path = "/v1/messages"
    stream_path = path

    write_request = staticmethod(write_request)
    read_request = staticmethod(read_request)
    read_reply = staticmethod(read_reply)
    write_reply = staticmethod(write_reply)
    read_stream = AnthropicStreamReader
    write_stream = AnthropicStreamWriter
    read_error = staticmethod(read_error)
    write_error = staticmethod(write_error)
    write_failure = staticmethod(write_failure)
    losses = staticmethod(SUPPORT.losses)

    def headers(self, key: Secret | None) -> dict[str, str]:
        version = {"anthropic-version": VERSION}
        return version | ({"x-api-key": key.reveal()} if key else {})
