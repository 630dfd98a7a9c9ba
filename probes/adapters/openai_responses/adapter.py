from __future__ import annotations

from probes.adapters.base import bearer_header
from probes.adapters.format_support import FormatSupport
from probes.adapters.openai_chat.errors import write_error, write_failure
from probes.adapters.openai_responses.items import FORMAT
from probes.adapters.openai_responses.reply import read_error, read_reply, write_reply
from probes.adapters.openai_responses.request import carries_blocks, read_request, write_request
from probes.adapters.openai_responses.stream import ResponsesStreamReader
from probes.adapters.openai_responses.stream_writer import ResponsesStreamWriter
from probes.messages import ReasoningKind

SUPPORT = FormatSupport(
    FORMAT,
    lambda reasoning: reasoning.kind is ReasoningKind.ITEM,
    carries_blocks,
    error_flag=False,
    subsets=frozenset({"auto", "required"}),
    tagged_reasoning=True,
    broken_calls=True,
    extra_first=False,
)


class OpenAIResponsesAdapter:
    """OpenAI Responses: items instead of messages, and reasoning that can be replayed."""

    format = FORMAT
    path = "/responses"
    stream_path = path

    headers = staticmethod(bearer_header)
    write_request = staticmethod(write_request)
    read_request = staticmethod(read_request)
    read_reply = staticmethod(read_reply)
    write_reply = staticmethod(write_reply)
    read_stream = ResponsesStreamReader
    write_stream = ResponsesStreamWriter
    read_error = staticmethod(read_error)
    write_error = staticmethod(write_error)
    write_failure = staticmethod(write_failure)
    losses = staticmethod(SUPPORT.losses)
