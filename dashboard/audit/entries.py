"""Entries of the audit log as a page shows them. Their texts are not escaped yet."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dashboard.audit import text as audit_text
from dashboard.audit.queries import LinkedEntry
from dashboard.core.actor_context import Via
from dashboard.core.permissions import Actor, Right
from dashboard.models import Endpoint

ADDED, REMOVED, CHANGED = "added", "removed", "changed"


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One value, before and after; None if there was none."""

    name: str
    old: str | None
    new: str | None

    @property
    def kind(self) -> str:
        if self.old is None:
            return ADDED
        return REMOVED if self.new is None else CHANGED


@dataclass(frozen=True, slots=True)
class EntryRow:
    linked: LinkedEntry
    body: Mapping[str, Any]
    # Empty if the endpoint was removed or may not be read; its slug may have changed.
    endpoint_url: str = ""

    @property
    def at(self) -> datetime:
        return self.linked.entry.at

    @property
    def action_label(self) -> str:
        return audit_text.action_label(self.linked.entry.action)

    @property
    def origin(self) -> str:
        return audit_text.origin_label(self.via)

    @property
    def via(self) -> str:
        return str(self._part("origin").get("via", ""))

    @property
    def is_person(self) -> bool:
        """Whether a person did it on a page: not a token, a command or the system."""
        return self.via == Via.PAGE

    @property
    def token(self) -> str:
        return str(self._part("actor").get("token") or "")

    @property
    def address(self) -> str:
        return str(self._part("origin").get("address") or "")

    @property
    def request(self) -> str:
        return str(self._part("origin").get("request") or "")

    @property
    def subject(self) -> str:
        """The object of the action; an endpoint by its slug alone."""
        text = str(self.body.get("subject") or "")
        return (
            self.linked.entry.endpoint if text == f"endpoint {self.linked.entry.endpoint}" else text
        )

    @property
    def endpoint_tag(self) -> str:
        """The endpoint, if the subject does not name it."""
        name = self.linked.entry.endpoint
        return "" if name in self.subject.split() else name

    @property
    def reason(self) -> str:
        return str(self.body.get("reason") or "")

    @property
    def changes(self) -> list[FieldChange]:
        before, after = self._part("before"), self._part("after")
        names = dict.fromkeys([*before, *after])
        return [
            FieldChange(name, _value_text(before, name), _value_text(after, name)) for name in names
        ]

    @property
    def has_before(self) -> bool:
        return bool(self._part("before"))

    @property
    def has_after(self) -> bool:
        return bool(self._part("after"))

    @property
    def body_json(self) -> str:
        return json.dumps(self.body, indent=2, ensure_ascii=False)

    def _part(self, name: str) -> Mapping[str, Any]:
        part = self.body.get(name)
        return part if isinstance(part, Mapping) else {}


def build_entry_rows(rows: Iterable[LinkedEntry], actor: Actor) -> list[EntryRow]:
    """The entries, each with the URL of its endpoint if the actor may read it. One query."""
    rows = list(rows)
    ids = {row.entry.endpoint_id for row in rows if row.entry.endpoint_id}
    endpoints = Endpoint.objects.kept().of_teams(actor.teams(Right.READ)).filter(pk__in=ids)
    urls = (
        {endpoint.pk: endpoint.get_absolute_url() for endpoint in endpoints.only("slug")}
        if ids
        else {}
    )
    return [
        EntryRow(row, row.entry.parsed_body, urls.get(row.entry.endpoint_id or 0, ""))
        for row in rows
    ]


def _value_text(side: Mapping[str, Any], name: str) -> str | None:
    if name not in side:
        return None
    value = side[name]
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)
