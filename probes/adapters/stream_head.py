"""The id and the model of a reply while it is written as a stream."""

from __future__ import annotations

from probes.events import ReplyEnded, ReplyHead, ReplyStarted
from probes.messages import Reply, Usage


class StreamHead:
    """The caller's id and model, else the endpoint's as soon as they are known."""

    def __init__(self, head: ReplyHead) -> None:
        self.given = head
        self.id, self.model = head.id, head.model
        self.usage = Usage(head.input_tokens)
        self.ended = False

    def read(self, event: ReplyStarted | ReplyEnded) -> None:
        """Learn from an event before it is written."""
        if isinstance(event, ReplyStarted):
            self._learn(event.id, event.model)
            if self.given.input_tokens is None:
                self.usage = event.usage
        else:
            self._learn(event.reply.id, event.reply.model or "")
            self.ended = True

    def apply(self, reply: Reply) -> Reply:
        """The reply under the id and model that the stream began with."""
        return ReplyHead(self.id, self.model).apply(reply)

    def _learn(self, id_: str, model: str) -> None:
        self.id, self.model = self.id or id_, self.model or model
