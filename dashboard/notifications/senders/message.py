"""What is said: one message about one notice, or about several that came together."""

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

MOST_TOLD = 20
LONGEST_TITLE = 200
LONGEST_TEXT = 2000


@dataclass(frozen=True, slots=True)
class Message:
    """One message, the same at every try."""

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


def of(delivery: Delivery) -> Message:
    """The message of a delivery; the gravest of its notices, and of those the newest, leads."""
    notices = list(delivery.notices.select_related("endpoint", "incident").order_by("id"))
    if not notices:
        raise Refused("What this was about is gone.")
    first = max(notices, key=lambda notice: (severity(notice), notice.pk))
    told = [_told(notice) for notice in notices]
    return Message(
        id=delivery.webhook_id,
        kind=first.kind,
        at=first.at,
        title=_title(first, len(notices)),
        text=_text(notices),
        data={**_told(first), "notices": told},
    )


def severity(notice: Notice) -> int:
    """How grave a notice is, 1 to 3; a recovery is as grave as the incident ever was."""
    if notice.incident and notice.kind == Notice.Kind.RECOVERED:
        return notice.incident.worst
    told = notice.body.get("severity")
    if isinstance(told, int):
        return told
    return notice.incident.severity if notice.incident else 1


def _told(notice: Notice) -> dict[str, Any]:
    body = notice.body
    return {
        "type": notice.kind,
        "timestamp": _iso(notice.at),
        "endpoint": notice.endpoint.slug if notice.endpoint else None,
        "title": _line(body.get("title", notice.kind)),
        "text": _clip(body.get("text", "")),
        "severity": severity(notice),
        "metric": body.get("metric"),
        "url": _url(notice),
        "figures": body.get("figures") or {},
    }


def _title(first: Notice, count: int) -> str:
    title = _line(first.body.get("title", first.kind))
    return title if count == 1 else f"{title} (and {count - 1} more)"


def _text(notices: Sequence[Notice]) -> str:
    if len(notices) == 1:
        return f"{_clip(notices[0].body.get('text', ''))}\n{_url(notices[0])}".strip()
    lines = [
        f"- {_line(notice.body.get('title', notice.kind))}\n  {_url(notice)}"
        for notice in notices[:MOST_TOLD]
    ]
    if len(notices) > MOST_TOLD:
        lines.append(f"and {len(notices) - MOST_TOLD} more")
    return "\n".join(lines)


def _url(notice: Notice) -> str:
    if request_id := notice.body.get("request"):
        page = reverse("rollout", args=[request_id])
    elif notice.incident:
        page = reverse("incident", args=[notice.incident.pk])
    else:
        page = notice.endpoint.get_absolute_url() if notice.endpoint else "/"
    return f"{settings.PUBLIC_URL}{page}"


def _line(text: object) -> str:
    return safe_text.visible(" ".join(str(text).split()))[:LONGEST_TITLE]


def _clip(text: object) -> str:
    return safe_text.visible(str(text))[:LONGEST_TEXT]


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
