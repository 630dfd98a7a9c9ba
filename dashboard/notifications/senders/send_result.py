"""How handing over a message went."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SendResult:
    """Sent, or an error that says why not; `status` is that of HTTP where there was one."""

    is_sent: bool
    status: int | None = None
    error: str = ""
    # Trying again would change nothing.
    is_final: bool = False
    # The receiver says that it is no more.
    is_gone: bool = False
    # How long the receiver asks us to wait, in seconds.
    wait_s: float | None = None
