"""The audit log as files: CSV for spreadsheets, JSON lines for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from dashboard.audit.queries import LinkedEntry
from dashboard.core.safe_csv import render_csv

_COLUMNS = (
    *("seq", "entry", "at", "action", "actor", "person", "token", "via", "address", "request"),
    *("subject", "endpoint", "team", "reason", "before", "after", "digest"),
)


def render_csv_chunks(batches: Iterable[tuple[LinkedEntry, ...]]) -> Iterator[bytes]:
    """A header line, then the entries in batches."""
    yield render_csv((), _COLUMNS).encode()
    for rows in batches:
        records = [_csv_record(row) for row in rows]
        yield render_csv(records, _COLUMNS, with_names=False).encode()


def render_jsonl_chunks(batches: Iterable[tuple[LinkedEntry, ...]]) -> Iterator[bytes]:
    """One line per entry, with everything that its digest covers."""
    for rows in batches:
        yield "".join(
            f"{json.dumps(_full_record(row), ensure_ascii=False)}\n" for row in rows
        ).encode()


def _full_record(row: LinkedEntry) -> dict[str, Any]:
    return {
        "seq": row.seq,
        "entry": row.entry.pk,
        "at": row.entry.at.isoformat(),
        "at_us": row.entry.at_us,
        "previous": bytes(row.link.previous).hex() if row.link else None,
        "digest": row.digest or None,
        "body": row.entry.parsed_body,
    }


def _csv_record(row: LinkedEntry) -> dict[str, object]:
    body = row.entry.parsed_body
    actor, origin = body["actor"], body.get("origin") or {}
    return {
        "seq": row.seq,
        "entry": row.entry.pk,
        "at": row.entry.at.isoformat(),
        "action": row.entry.action,
        "actor": row.entry.actor,
        "person": actor.get("person"),
        "token": actor.get("token"),
        "via": origin.get("via"),
        "address": origin.get("address"),
        "request": origin.get("request"),
        "subject": body.get("subject"),
        "endpoint": row.entry.endpoint,
        "team": row.entry.team,
        "reason": body.get("reason"),
        "before": _json(body.get("before")),
        "after": _json(body.get("after")),
        "digest": row.digest,
    }


def _json(value: Any) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False)
