"""What is recorded of an exchange: verdicts of the live lane, and the figures of its page."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

from gateway.access import Caller
from gateway.call_gate import CallGate
from gateway.model_request import ModelRequest
from health.live_verdicts import LiveTurn, judge_live
from health.observation_bits import pack_verdicts
from probes.findings import FindingKind
from probes.messages import Reply, Stop
from probes.parsers.diagnosis.find_markup import find_shown_call

# A longer text is not searched for a call that is only shown.
MAX_SEARCHED = 8_000


@dataclass
class ExchangeRecord:
    """Filled in while an exchange runs."""

    caller: Caller
    client_format: str
    agent: str
    id: UUID = field(default_factory=uuid4)
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    status: int = 0
    refusal: str = ""  # the code of our own
    upstream_status: int | None = None
    refused: FindingKind | None = None
    is_available: bool = True
    retries: int = 0
    client_left: bool = False
    is_kept: bool = False  # in the spool
    request: ModelRequest | None = None
    gate: CallGate | None = None
    reply: Reply | None = None
    first_byte_ms: int | None = None
    first_token_ms: int | None = None
    _began: float = field(default_factory=time.monotonic)

    def elapsed_ms(self) -> int:
        return round((time.monotonic() - self._began) * 1000)

    def as_event(self) -> dict[str, Any]:
        """The line of the spool."""
        endpoint, request, gate = self.caller.endpoint, self.request, self.gate
        usage = self.reply.usage if self.reply else None
        return {
            "id": str(self.id),
            "at": self.at.isoformat(),
            "endpoint": endpoint.id,
            "profile": endpoint.profile_id,
            "epoch": endpoint.epoch,
            "policy": endpoint.policy_version,
            "token": self.caller.token.id,
            "client": self.client_format,
            "agent": self.agent,
            "streamed": bool(request and request.asked.stream),
            "status": self.status,
            "refusal": self.refusal,
            "end": str(self.reply.stop) if self.reply else None,
            "verdicts": self._verdicts(),
            "latency_ms": self.elapsed_ms(),
            "first_byte_ms": self.first_byte_ms,
            "first_token_ms": self.first_token_ms,
            "input_tokens": usage.input_tokens if usage else None,
            "output_tokens": usage.output_tokens if usage else None,
            "cached_tokens": usage.cached_tokens if usage else None,
            "calls": len(gate.passed) if gate else 0,
            "blocked": [each.kind for each in gate.blocked] if gate else [],
            "surplus": gate.surplus if gate else 0,
            "repaired": gate.repaired if gate else 0,
            "withheld": list(request.withheld) if request else [],
            "losses": request.count_losses() if request else {},
            "changes": request.count_changes() if request else {},
            "retries": self.retries,
            "left": self.client_left,
        }

    def _verdicts(self) -> list[int]:
        if self.request is None or self.refusal or self.client_left:
            return []
        gate, reply = self.gate, self.reply
        return pack_verdicts(
            judge_live(
                LiveTurn(
                    sent=self.request.sent,
                    is_available=self.is_available,
                    refused=self.refused,
                    is_complete=reply is not None and not self._broke_off(reply),
                    passed=len(gate.passed) if gate else 0,
                    blocked=tuple(each.kind for each in gate.blocked) if gate else (),
                    surplus=gate.surplus if gate else 0,
                    misses_required=bool(gate and gate.misses_choice),
                    shows_call=self._shows_call(),
                )
            )
        )

    def _broke_off(self, reply: Reply) -> bool:
        """Whether the endpoint broke off; a reply that only our gate failed is complete."""
        return reply.stop is Stop.ERROR and not (self.gate and self.gate.failure)

    def _shows_call(self) -> bool:
        reply, request = self.reply, self.request
        if reply is None or request is None or not request.tools:
            return False
        if self.gate and (self.gate.passed or self.gate.blocked):
            return False
        text = reply.text or ""
        return 0 < len(text) <= MAX_SEARCHED and find_shown_call(text, request.tools) is not None
