"""The plan of an apply: endpoints to create, change and remove, with the effects."""

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
from dashboard.endpoints.as_code.fields import as_file, significant_fields
from dashboard.endpoints.as_code.file_errors import quoted
from dashboard.endpoints.as_code.file_reader import DeclaredEndpoint
from dashboard.models import Applied, Credential, Endpoint
from dashboard.models.people import Team
from dashboard.runs import credentials
from probes.messages import JSON
from probes.strict_json import is_same_json
from probes.target import origin

# A change of any of these opens a new profile.
_PROFILE_FIELDS = frozenset({"provider", "model", "base_url", "dialect", "options"})
KEY = "api_key"


class Action(TextChoices):
    CREATE = "create", _("create")
    CHANGE = "change", _("change")
    REMOVE = "remove", _("remove")
    UNCHANGED = "unchanged", _("unchanged")
    # Registered, not in the file, and kept.
    MISSING = "missing", _("not in the file")


class Effect(TextChoices):
    """A side effect of a step."""

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
    # The old value was set in the UI or API after the last apply.
    edited_here: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """The plan of one endpoint."""

    slug: str
    action: Action
    changes: Sequence[Change] = ()
    effects: Sequence[Effect] = ()
    endpoint: Endpoint | None = field(default=None, repr=False)
    declared: DeclaredEndpoint | None = field(default=None, repr=False)
    # It already matches the file, but no apply recorded that yet.
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

    def steps_with(self, action: Action) -> list[Step]:
        return [step for step in self.steps if step.action is action]

    @cached_property
    def changing(self) -> list[Step]:
        return [step for step in self.steps if step.action in _CHANGING]

    @property
    def adopted(self) -> int:
        """The number of endpoints that the apply records without changing them."""
        return sum(step.is_adopted for step in self.steps)

    @cached_property
    def counts(self) -> dict[str, int]:
        return {action.value: len(self.steps_with(action)) for action in Action}

    @cached_property
    def state(self) -> str:
        """A hash of the changes: another state means that the apply would do something else."""
        steps = [
            [*step.as_json().values(), step.endpoint.pk if step.endpoint else 0]
            for step in self.changing
        ]
        return hashlib.sha256(json.dumps(steps, sort_keys=True).encode()).hexdigest()

    def as_json(self) -> dict[str, JSON]:
        return {
            "state": self.state,
            "counts": {**self.counts},
            "endpoints": [step.as_json() for step in self.steps],
        }


_CHANGING = {Action.CREATE, Action.CHANGE, Action.REMOVE}


def make_plan(declared: Sequence[DeclaredEndpoint], *, prune: bool) -> Plan:
    """Compare a file with the registered endpoints, without a change. Refuses unknown teams."""
    kept = Endpoint.objects.kept().select_related("credential", "applied", "team")
    registered = {endpoint.slug: endpoint for endpoint in kept.order_by("slug")}
    by_slug = {each.slug: each for each in _resolve_teams(declared)}
    return Plan(list(_plan_steps(by_slug, registered, prune=prune)))


def _resolve_teams(declared: Sequence[DeclaredEndpoint]) -> list[DeclaredEndpoint]:
    """Replace team names by teams, ignoring case. No query if no team is named."""
    names = {str(each.values["team"]) for each in declared if each.values["team"]}
    teams = {team.name.lower(): team for team in Team.objects.all()} if names else {}
    if missing := sorted(name for name in names if name.lower() not in teams):
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


def _plan_steps(
    declared: Mapping[str, DeclaredEndpoint], registered: Mapping[str, Endpoint], *, prune: bool
) -> Iterator[Step]:
    for slug in sorted({*declared, *registered}):
        if slug not in registered:
            yield _plan_create(declared[slug])
        elif slug in declared:
            yield _plan_change(registered[slug], declared[slug])
        elif prune:
            yield _plan_remove(registered[slug])
        else:
            yield Step(slug, Action.MISSING, endpoint=registered[slug])


def _plan_create(declared: DeclaredEndpoint) -> Step:
    changes = [
        Change(name, None, value) for name, value in significant_fields(declared.as_file()).items()
    ]
    effects = [Effect.FIRST_RUN]
    if declared.key:
        changes.append(Change(KEY, None, f"${declared.key_variable}"))
        effects.append(Effect.KEY_STORED)
    elif declared.key_variable:
        effects.append(Effect.KEY_WANTED)
    return Step(declared.slug, Action.CREATE, changes, effects, declared=declared)


def _plan_change(endpoint: Endpoint, declared: DeclaredEndpoint) -> Step:
    current, target = as_file(endpoint), declared.as_file()
    applied: Applied | None = getattr(endpoint, "applied", None)
    edited = {each.name for each in drift.find_edits(applied.fields if applied else {}, current)}
    changes = [
        Change(name, current[name], target[name], edited_here=name in edited)
        for name in current
        if not is_same_json(current[name], target[name])
    ]
    key_changes, effects = _plan_key(endpoint, declared)
    changes += key_changes
    if _opens_profile(endpoint, {change.name for change in changes}):
        effects.append(Effect.NEW_PROFILE)
    action = Action.CHANGE if changes else Action.UNCHANGED
    is_adopted = not changes and (applied is None or not is_same_json(applied.fields, target))
    return Step(endpoint.slug, action, changes, effects, endpoint, declared, is_adopted)


def _opens_profile(endpoint: Endpoint, changed: set[str]) -> bool:
    """Whether the changes are of what was measured; a declared template only if none was shown."""
    if "chat_template_hash" in changed and not endpoint.profile.has_shown_template:
        return True
    return bool(_PROFILE_FIELDS & changed)


def _plan_key(endpoint: Endpoint, declared: DeclaredEndpoint) -> tuple[list[Change], list[Effect]]:
    stored: Credential | None = getattr(endpoint, "credential", None)
    is_moving = origin(endpoint.base_url) != origin(declared.values["base_url"])
    before = "stored" if stored else None
    if declared.key is not None:
        if stored and not is_moving and credentials.matches_key(stored, declared.key):
            return [], []
        return [Change(KEY, before, f"${declared.key_variable}")], [Effect.KEY_STORED]
    if stored and is_moving:
        return [Change(KEY, before, None)], [Effect.KEY_DELETED]
    return [], [Effect.KEY_WANTED] if declared.key_variable and not stored else []


def _plan_remove(endpoint: Endpoint) -> Step:
    changes = [
        Change(name, value, None) for name, value in significant_fields(as_file(endpoint)).items()
    ]
    stored = getattr(endpoint, "credential", None) is not None
    effects = [Effect.ENDED, Effect.KEY_WIPED] if stored else [Effect.ENDED]
    return Step(endpoint.slug, Action.REMOVE, changes, effects, endpoint)
