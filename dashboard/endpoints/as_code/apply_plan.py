"""What applying a file would do: created, changed, removed, and what that causes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from django.db.models import TextChoices
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from dashboard.core.errors import Refused
from dashboard.endpoints.as_code import drift
from dashboard.endpoints.as_code.fields import as_file, same, telling
from dashboard.endpoints.as_code.file_errors import quoted
from dashboard.endpoints.as_code.file_reader import Declared
from dashboard.models import Applied, Credential, Endpoint
from dashboard.models.people import Team
from dashboard.runs import credentials
from probes.messages import JSON
from probes.target import origin

# A change of any of these opens a new profile.
_OF_THE_PROFILE_KEY = frozenset({"provider", "model", "base_url"})
KEY = "api_key"


class Action(TextChoices):
    CREATE = "create", _("create")
    CHANGE = "change", _("change")
    REMOVE = "remove", _("remove")
    UNCHANGED = "unchanged", _("unchanged")
    # It is registered and not in the file; it is kept.
    MISSING = "missing", _("not in the file")


class Effect(TextChoices):
    """What else a step does."""

    FIRST_RUN = "first_run", _("Its first run is due at once.")
    NEW_PROFILE = (
        "new_profile",
        _("A new profile begins with a full run; the old one stays as history."),
    )
    KEY_STORED = "key_stored", _("The API key from the environment is stored.")
    KEY_DELETED = (
        "key_deleted",
        _("The stored API key is deleted: it never follows to another host."),
    )
    KEY_WANTED = (
        "key_wanted",
        _("It has no API key: apply the file where its variable is set, or edit it."),
    )
    ENDED = (
        "ended",
        _("It is no longer probed, a run under way stops, and its name is free again."),
    )
    KEY_WIPED = "key_wiped", _("Its stored API key is deleted.")


@dataclass(frozen=True, slots=True)
class Change:
    name: str
    old: JSON
    new: JSON
    # What is there now was set here, by hand, after the file was last applied.
    edited_here: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """What happens to one endpoint."""

    slug: str
    action: Action
    changes: Sequence[Change] = ()
    effects: Sequence[Effect] = ()
    endpoint: Endpoint | None = field(default=None, repr=False)
    declared: Declared | None = field(default=None, repr=False)
    # It is as the file wants it, but no apply has said so yet.
    is_adopted: bool = False

    def as_json(self) -> dict[str, JSON]:
        changes: list[JSON] = [
            {"field": c.name, "old": c.old, "new": c.new, "edited_here": c.edited_here}
            for c in self.changes
        ]
        return {
            "slug": self.slug,
            "action": self.action.value,
            "changes": changes,
            "effects": [effect.value for effect in self.effects],
        }


@dataclass(frozen=True)
class Plan:
    steps: Sequence[Step]

    def of(self, action: Action) -> list[Step]:
        return [step for step in self.steps if step.action is action]

    @cached_property
    def changing(self) -> list[Step]:
        return [step for step in self.steps if step.action in _CHANGING]

    @property
    def adopted(self) -> int:
        """How many endpoints this apply takes under the file without changing them."""
        return sum(step.is_adopted for step in self.steps)

    @cached_property
    def counts(self) -> dict[str, int]:
        return {action.value: len(self.of(action)) for action in Action}

    @cached_property
    def state(self) -> str:
        """Differs where applying would do anything else than what was shown."""
        told = [
            [*step.as_json().values(), step.endpoint.pk if step.endpoint else 0]
            for step in self.changing
        ]
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()

    def as_json(self) -> dict[str, JSON]:
        return {
            "state": self.state,
            "counts": {**self.counts},
            "endpoints": [step.as_json() for step in self.steps],
        }


_CHANGING = {Action.CREATE, Action.CHANGE, Action.REMOVE}


def make(declared: Sequence[Declared], *, prune: bool) -> Plan:
    """Compare a file with what is registered; nothing is changed. Refuses teams there are not."""
    kept = Endpoint.objects.kept().select_related("credential", "applied", "team")
    there = {endpoint.slug: endpoint for endpoint in kept.order_by("slug")}
    wanted = {each.slug: each for each in _with_teams(declared)}
    return Plan(list(_steps(wanted, there, prune=prune)))


def _with_teams(declared: Sequence[Declared]) -> list[Declared]:
    """The same with the teams that they name, found whatever their case; asked where any is."""
    named = {str(each.values["team"]) for each in declared if each.values["team"]}
    teams = {team.name.lower(): team for team in Team.objects.all()} if named else {}
    if missing := sorted(name for name in named if name.lower() not in teams):
        message = gettext(
            "There is no team {name}. Create it first, under Settings, or leave it out."
        )
        raise Refused(message.format(name=quoted(missing[0])))
    return [
        replace(each, values={**each.values, "team": teams[str(each.values["team"]).lower()]})
        if each.values["team"]
        else each
        for each in declared
    ]


def _steps(
    wanted: Mapping[str, Declared], there: Mapping[str, Endpoint], *, prune: bool
) -> Iterator[Step]:
    for slug in sorted({*wanted, *there}):
        if slug not in there:
            yield _create(wanted[slug])
        elif slug in wanted:
            yield _change(there[slug], wanted[slug])
        elif prune:
            yield _remove(there[slug])
        else:
            yield Step(slug, Action.MISSING, endpoint=there[slug])


def _create(wanted: Declared) -> Step:
    changes = [Change(name, None, value) for name, value in telling(wanted.as_file()).items()]
    effects = [Effect.FIRST_RUN]
    if wanted.key:
        changes.append(Change(KEY, None, f"${wanted.key_from}"))
        effects.append(Effect.KEY_STORED)
    elif wanted.key_from:
        effects.append(Effect.KEY_WANTED)
    return Step(wanted.slug, Action.CREATE, changes, effects, declared=wanted)


def _change(endpoint: Endpoint, wanted: Declared) -> Step:
    now, then = as_file(endpoint), wanted.as_file()
    applied: Applied | None = getattr(endpoint, "applied", None)
    edited = {each.name for each in drift.between(applied.fields if applied else {}, now)}
    changes = [
        Change(name, now[name], then[name], edited_here=name in edited)
        for name in now
        if not same(now[name], then[name])
    ]
    key_changes, effects = _of_key(endpoint, wanted)
    changes += key_changes
    if _OF_THE_PROFILE_KEY & {change.name for change in changes}:
        effects.append(Effect.NEW_PROFILE)
    action = Action.CHANGE if changes else Action.UNCHANGED
    is_adopted = not changes and (applied is None or not same(applied.fields, then))
    return Step(endpoint.slug, action, changes, effects, endpoint, wanted, is_adopted)


def _of_key(endpoint: Endpoint, wanted: Declared) -> tuple[list[Change], list[Effect]]:
    stored: Credential | None = getattr(endpoint, "credential", None)
    moves = origin(endpoint.base_url) != origin(wanted.values["base_url"])
    before = "stored" if stored else None
    if wanted.key is not None:
        if stored and not moves and credentials.matches_key(stored, wanted.key):
            return [], []
        return [Change(KEY, before, f"${wanted.key_from}")], [Effect.KEY_STORED]
    if stored and moves:
        return [Change(KEY, before, None)], [Effect.KEY_DELETED]
    return [], [Effect.KEY_WANTED] if wanted.key_from and not stored else []


def _remove(endpoint: Endpoint) -> Step:
    changes = [Change(name, value, None) for name, value in telling(as_file(endpoint)).items()]
    stored = getattr(endpoint, "credential", None) is not None
    effects = [Effect.ENDED, Effect.KEY_WIPED] if stored else [Effect.ENDED]
    return Step(endpoint.slug, Action.REMOVE, changes, effects, endpoint)
