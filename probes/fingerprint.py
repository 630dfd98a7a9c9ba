from __future__ import annotations

from probes.messages import Reply
from probes.wire import Incoming


def take(incoming: Incoming | None, reply: Reply | None) -> dict[str, str]:
    """What an answer gives away about who made it: facts that may explain a change."""
    facts = {
        "model": reply.model if reply else None,
        "system_fingerprint": reply.fingerprint if reply else None,
        "server": incoming.headers.get("server") if incoming else None,
    }
    return {name: value for name, value in facts.items() if value}
