"""The frames of server-sent events inside the chunks of a stream."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from probes.messages import JSON

Body: TypeAlias = Mapping[str, JSON]
# Returns the new body, or None to drop the frame.
BodyChange: TypeAlias = Callable[[Body], Body | None]


def change_frames(chunks: Sequence[bytes], change: BodyChange) -> list[bytes]:
    """The chunks with every frame's body changed; other chunks are unchanged."""
    changed = [
        b"".join(_change_frame(frame, change) for frame in chunk.split(b"\n\n") if frame)
        if b"data: " in chunk
        else chunk
        for chunk in chunks
    ]
    return [chunk for chunk in changed if chunk]


def _change_frame(frame: bytes, change: BodyChange) -> bytes:
    head, _, data = frame.partition(b"data: ")
    if not data.startswith(b"{"):
        return frame + b"\n\n"
    body = json.loads(data)
    new = change(body)
    if new is None:
        return b""
    return (frame if new is body else head + b"data: " + json.dumps(new).encode()) + b"\n\n"
