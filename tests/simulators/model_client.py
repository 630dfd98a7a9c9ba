"""A client of a simulated vendor's model, in its wire format over real HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import httpx

from probes.adapters import adapter_for
from probes.adapters.request_url import request_url
from probes.dialects import DIALECTS
from probes.events import ReplyEnded
from probes.history.model_conversation import Conversation
from probes.messages import Reply, ToolChoice, ToolSpec
from probes.secret import Secret
from probes.suite.question_builder import QuestionBuilder
from probes.suite.script_steps import start_conversation
from probes.target import Provider


@dataclass(frozen=True, slots=True)
class Model:
    """A model at an address, and the client to reach it."""

    provider: Provider
    base_url: str
    model: str
    client: httpx.Client

    def ask(
        self,
        prompt: Conversation | str,
        tools: Sequence[ToolSpec],
        *,
        choice: ToolChoice | None = None,
        parallel: bool | None = None,
        stream: bool = False,
    ) -> Reply:
        adapter = adapter_for(self.provider)
        builder = QuestionBuilder(self.model, DIALECTS[self.provider], adapter.format)
        conversation = start_conversation(prompt) if isinstance(prompt, str) else prompt
        call = builder.call(conversation, tools, choice=choice, parallel=parallel, stream=stream)
        response = self.client.post(
            request_url(adapter, self.base_url, self.model, stream=stream),
            headers=dict(adapter.headers(Secret("sim-key"))),
            json=adapter.write_request(call),
        )
        response.raise_for_status()
        if not stream:
            return adapter.read_reply(response.json())
        reader = adapter.read_stream()
        last = [*reader.feed(response.content), *reader.close()][-1]
        assert isinstance(last, ReplyEnded)
        return last.reply
