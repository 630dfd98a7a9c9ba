from __future__ import annotations

from probes.adapters.format_support import FormatSupport
from probes.adapters.gemini.content_parts import FORMAT, carries_reasoning, carries_response
from probes.adapters.gemini.reply import (
    read_error,
    read_reply,
    write_error,
    write_failure,
    write_reply,
)
from probes.adapters.gemini.request import read_request, write_request
from probes.adapters.gemini.stream import GeminiStreamReader, GeminiStreamWriter
from probes.secret import Secret

SUPPORT = FormatSupport(
    FORMAT,
    carries_reasoning,
    carries_response,
    parallel=False,
    answers_broken=False,
    subsets=frozenset({"required"}),
    strict=False,
    late_system=False,
    image_urls=False,
    answer_images=True,
)


class GeminiAdapter:
    """Gemini's generateContent."""

    format = FORMAT
    path = "/v1beta/models/{model}:generateContent"
    stream_path = "/v1beta/models/{model}:streamGenerateContent?alt=sse"

    write_request = staticmethod(write_request)
    read_request = staticmethod(read_request)
    read_reply = staticmethod(read_reply)
    write_reply = staticmethod(write_reply)
    read_stream = GeminiStreamReader
    write_stream = GeminiStreamWriter
    read_error = staticmethod(read_error)
    write_error = staticmethod(write_error)
    write_failure = staticmethod(write_failure)
    losses = staticmethod(SUPPORT.losses)

    def headers(self, key: Secret | None) -> dict[str, str]:
        return {"x-goog-api-key": key.reveal()} if key else {}
