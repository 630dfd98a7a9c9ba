from __future__ import annotations

from probes.adapters.base import bearer_header
from probes.adapters.format_support import FormatSupport, Order
from probes.adapters.openai_chat.assistant_message import FORMAT
from probes.adapters.openai_chat.body_writer import carries_blocks, write_reply, write_request
from probes.adapters.openai_chat.errors import read_error, write_error, write_failure
from probes.adapters.openai_chat.reply import read_reply
from probes.adapters.openai_chat.request import read_request
from probes.adapters.openai_chat.stream import ChatStreamReader
from probes.adapters.openai_chat.stream_writer import OpenAIStreamWriter
from probes.messages import ReasoningKind

SUPPORT = FormatSupport(
    FORMAT,
    lambda reasoning: reasoning.kind in (ReasoningKind.FIELD, ReasoningKind.DETAILS),
    carries_blocks,
    error_flag=False,
    result_images=False,
    subsets=frozenset({"auto", "required"}),
    order=Order.CALLS_LAST,
    tagged_reasoning=True,
    broken_calls=True,
    extra_first=False,
)


class OpenAIChatAdapter:
    """OpenAI Chat Completions, of OpenAI and all compatible vendors."""

    format = FORMAT
    path = "/chat/completions"
    stream_path = path

    headers = staticmethod(bearer_header)
    write_request = staticmethod(write_request)
    read_request = staticmethod(read_request)
    read_reply = staticmethod(read_reply)
    write_reply = staticmethod(write_reply)
    read_stream = ChatStreamReader
    write_stream = OpenAIStreamWriter
    read_error = staticmethod(read_error)
    write_error = staticmethod(write_error)
    write_failure = staticmethod(write_failure)
    losses = staticmethod(SUPPORT.losses)
