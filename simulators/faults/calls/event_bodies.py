"""The frames of server-sent events inside the chunks of a stream."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from probes.messages import JSON

Body: TypeAlias = Mapping[str, JSON]
# The body as it shall be, or None for a frame that shall not be sent.
Change: TypeAlias = Callable[[Body], Body | None]


def change_frames(chunks: Sequence[bytes], change: Change) -> list[bytes]:
    """The chunks with every frame's body changed; what is no frame stays as it is."""
    changed = [
        b"".join(_changed(frame, change) for frame in chunk.split(b"\n\n") if frame)
        if b"data: " in chunk
        else chunk
        for chunk in chunks
    ]
    return [chunk for chunk in changed if chunk]


def _changed(frame: bytes, change: Change) -> bytes:
    head, _, data = frame.partition(b"data: ")
    if not data.startswith(b"{"):
        return frame + b"\n\n"
    body = json.loads(data)
    new = change(body)
    if new is None:
        return b""
    return (frame if new is body else head + b"data: " + json.dumps(new).encode()) + b"\n\n"
