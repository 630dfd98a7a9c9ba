"""The message of a delivery, about one or several notices."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.urls import reverse

from dashboard.core import safe_text
from dashboard.core.errors import Refused
from dashboard.models import Delivery, Notice

MAX_NOTICES = 20
MAX_TITLE_LENGTH = 200
MAX_TEXT_LENGTH = 2000


@dataclass(frozen=True, slots=True)
class Message:
    """A message, identical at every try."""

    id: UUID
    kind: str
    at: datetime
    title: str
    text: str
    data: dict[str, Any]

    def as_json(self) -> str:
        """The body of a webhook."""
        body = {"type": self.kind, "timestamp": _iso(self.at), "data": self.data}
        return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def build_message(delivery: Delivery) -> Message:
    """The message of a delivery, led by the newest of its most severe notices."""
    notices = list(delivery.notices.select_related("endpoint", "incident").order_by("id"))
    if not notices:
        raise Refused("What this was about is gone.")
    lead = max(notices, key=lambda notice: (notice_severity(notice), notice.pk))
    notices_json = [_notice_json(notice) for notice in notices]
    return Message(
        id=delivery.webhook_id,
        kind=lead.kind,
        at=lead.at,
        title=_message_title(lead, len(notices)),
        text=_message_text(notices),
        data={**_notice_json(lead), "notices": notices_json},
    )


def notice_severity(notice: Notice) -> int:
    """The severity, 1 to 3; a recovery has the worst severity of its incident."""
    if notice.incident and notice.kind == Notice.Kind.RECOVERED:
        return notice.incident.worst
    severity = notice.body.get("severity")
    if isinstance(severity, int):
        return severity
    return notice.incident.severity if notice.incident else 1


def _notice_json(notice: Notice) -> dict[str, Any]:
    body = notice.body
    is_decision = notice.kind == Notice.Kind.DECISION_WANTED
    return {
        "type": notice.kind,
        "timestamp": _iso(notice.at),
        "endpoint": notice.endpoint.slug if notice.endpoint else None,
        "title": _one_line(body.get("title", notice.kind)),
        "text": _clip_text(body.get("text", "")),
        "severity": notice_severity(notice),
        "metric": body.get("metric"),
        "url": _notice_url(notice),
        "figures": body.get("figures") or {},
        # The same kind reports that it is not wanted any more.
        **({"release_wanted": body.get("release_wanted", True)} if is_decision else {}),
    }


def _message_title(lead: Notice, count: int) -> str:
    title = _one_line(lead.body.get("title", lead.kind))
    return title if count == 1 else f"{title} (and {count - 1} more)"


def _message_text(notices: Sequence[Notice]) -> str:
    if len(notices) == 1:
        return f"{_clip_text(notices[0].body.get('text', ''))}\n{_notice_url(notices[0])}".strip()
    lines = [
        f"- {_one_line(notice.body.get('title', notice.kind))}\n  {_notice_url(notice)}"
        for notice in notices[:MAX_NOTICES]
    ]
    if len(notices) > MAX_NOTICES:
        lines.append(f"and {len(notices) - MAX_NOTICES} more")
    return "\n".join(lines)


def _notice_url(notice: Notice) -> str:
    if request_id := notice.body.get("request"):
        page = reverse("rollout", args=[request_id])
    elif notice.incident:
        page = reverse("incident", args=[notice.incident.pk])
    else:
        page = notice.endpoint.get_absolute_url() if notice.endpoint else "/"
    return f"{settings.PUBLIC_URL}{page}"


def _one_line(text: object) -> str:
    return safe_text.visible(" ".join(str(text).split()))[:MAX_TITLE_LENGTH]


def _clip_text(text: object) -> str:
    return safe_text.visible(str(text))[:MAX_TEXT_LENGTH]


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


@dataclass(frozen=True, slots=True)
class SendResult:
    """The result of a try; `status` is the HTTP status, if there was a response."""

    is_sent: bool
    status: int | None = None
    error: str = ""
    # A retry is useless.
    is_final: bool = False
    # The receiver does not exist any more (410).
    is_gone: bool = False
    # From the Retry-After header.
    retry_after_s: float | None = None
