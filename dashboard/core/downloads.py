"""What is downloaded from hostile sources: never shown, never guessed at, without any right."""

from __future__ import annotations

BYTES = "application/octet-stream"


def headers(name: str, kind: str = BYTES) -> dict[str, str]:
    """The headers of a file to keep; the name has harmless characters only."""
    return {
        "Content-Type": kind,
        "Content-Disposition": f'attachment; filename="{name}"',
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "private, no-store",
    }
