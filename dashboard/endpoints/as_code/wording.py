"""What a plan says to people."""

from __future__ import annotations

import json
from collections.abc import Iterator

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard.core import safe_text
from dashboard.endpoints.as_code.planning import Action, Change, Effect, Plan, Step
from probes.messages import JSON

# A sign for each action, so that none is told by its colour alone.
SIGNS = {
    Action.CREATE: "+",
    Action.CHANGE: "~",
    Action.REMOVE: "-",
    Action.UNCHANGED: "=",
    Action.MISSING: "?",
}
LONGEST_VALUE = 2000
MOST_MISSING = 20


def action_words(action: Action) -> str:
    """What is to happen to an endpoint, in a word."""
    return {
        Action.CREATE: _("create"),
        Action.CHANGE: _("change"),
        Action.REMOVE: _("remove"),
        Action.UNCHANGED: _("unchanged"),
        Action.MISSING: _("not in the file"),
    }[action]


def done_words(action: Action) -> str:
    """What has happened to it."""
    return {
        Action.CREATE: _("created"),
        Action.CHANGE: _("changed"),
        Action.REMOVE: _("removed"),
        Action.UNCHANGED: _("left as it was"),
        Action.MISSING: _("left as it was"),
    }[action]


def effect_words(effect: Effect) -> str:
    """What else a step does, in a sentence."""
    return {
        Effect.FIRST_RUN: _("Its first run is due at once."),
        Effect.NEW_PROFILE: _(
            "A new profile begins with a full run; the old one stays as history."
        ),
        Effect.KEY_STORED: _("The API key from the environment is stored."),
        Effect.KEY_DELETED: _("The stored API key is deleted: it never follows to another host."),
        Effect.KEY_WANTED: _(
            "It has no API key: apply the file where its variable is set, or edit it."
        ),
        Effect.ENDED: _(
            "It is no longer probed, a run under way stops, and its name is free again."
        ),
        Effect.KEY_WIPED: _("Its stored API key is deleted."),
    }[effect]


def summary(plan: Plan) -> str:
    """All of it in one line."""
    counts = plan.counts
    parts = [
        ngettext("{n} to create", "{n} to create", counts["create"]).format(n=counts["create"]),
        ngettext("{n} to change", "{n} to change", counts["change"]).format(n=counts["change"]),
        ngettext("{n} to remove", "{n} to remove", counts["remove"]).format(n=counts["remove"]),
        ngettext("{n} unchanged", "{n} unchanged", counts["unchanged"]).format(
            n=counts["unchanged"]
        ),
    ]
    if counts["missing"]:
        kept = ngettext(
            "{n} not in the file (kept)", "{n} not in the file (kept)", counts["missing"]
        )
        parts.append(kept.format(n=counts["missing"]))
    return ", ".join(parts)


def plan_lines(plan: Plan) -> Iterator[str]:
    """The plan for a terminal; what stays as it is, only counted."""
    for step in plan.changing:
        yield f"{SIGNS[step.action]} {step.action.value} {step.slug}"
        yield from _change_lines(step)
        yield from (f"      {effect_words(effect)}" for effect in step.effects)
    missing = [step.slug for step in plan.of(Action.MISSING)]
    for slug in missing[:MOST_MISSING]:
        yield f"{SIGNS[Action.MISSING]} {slug} does not stand in the file; it is kept."
    if len(missing) > MOST_MISSING:
        yield f"{SIGNS[Action.MISSING]} and {len(missing) - MOST_MISSING} more."
    yield f"Plan: {summary(plan)}."


def _change_lines(step: Step) -> Iterator[str]:
    if step.action is Action.REMOVE:
        return
    for change in step.changes:
        if step.action is Action.CREATE:
            yield f"    {change.name}: {shown(change.new)}"
        else:
            yield f"    {change.name}: {shown(change.old)} -> {shown(change.new)}{_note(change)}"


def _note(change: Change) -> str:
    return "  (edited here since the last apply)" if change.edited_here else ""


def shown(value: JSON) -> str:
    """A value as one can read it: bounded, nothing hidden; nothing is a dash."""
    if value is None:
        return "–"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return safe_text.visible(safe_text.clip(text, LONGEST_VALUE))
