"""An entry of the audit log as a page shows it. All texts in it are still hostile."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dashboard.audit import text as audit_words
from dashboard.audit.queries import LinkedEntry
from dashboard.core.actor_context import Via
from dashboard.core.permissions import Actor, Right
from dashboard.models import Endpoint

ADDED, REMOVED, CHANGED = "added", "removed", "changed"


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One value, before and after; None where there was none."""

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
    row: LinkedEntry
    told: Mapping[str, Any]
    # The address of the endpoint, where it is still there under whatever name.
    endpoint_now: str = ""

    @property
    def at(self) -> datetime:
        return self.row.entry.at

    @property
    def words(self) -> str:
        return audit_words.action_label(self.row.entry.action)

    @property
    def origin(self) -> str:
        return audit_words.origin_label(self.via)

    @property
    def via(self) -> str:
        return str(self._part("origin").get("via", ""))

    @property
    def is_person(self) -> bool:
        """Whether somebody did it with their own hands: neither a token, a command nor we."""
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
        """What it was done to; an endpoint by its name alone."""
        text = str(self.told.get("subject") or "")
        return self.row.entry.endpoint if text == f"endpoint {self.row.entry.endpoint}" else text

    @property
    def of_endpoint(self) -> str:
        """The endpoint, where the subject does not name it."""
        name = self.row.entry.endpoint
        return "" if name in self.subject.split() else name

    @property
    def reason(self) -> str:
        return str(self.told.get("reason") or "")

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
    def whole(self) -> str:
        """All that is kept, as JSON."""
        return json.dumps(self.told, indent=2, ensure_ascii=False)

    def _part(self, name: str) -> Mapping[str, Any]:
        part = self.told.get(name)
        return part if isinstance(part, Mapping) else {}


def build_entry_rows(rows: Iterable[LinkedEntry], actor: Actor) -> list[EntryRow]:
    """The entries, each with the way to its endpoint as far as the actor may go it. One query."""
    rows = list(rows)
    ids = {row.entry.endpoint_id for row in rows if row.entry.endpoint_id}
    kept = Endpoint.objects.kept().of_teams(actor.teams(Right.READ)).filter(pk__in=ids)
    now = {each.pk: each.get_absolute_url() for each in kept.only("slug")} if ids else {}
    return [EntryRow(row, row.entry.told, now.get(row.entry.endpoint_id or 0, "")) for row in rows]


def _value_text(side: Mapping[str, Any], name: str) -> str | None:
    if name not in side:
        return None
    value = side[name]
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)
