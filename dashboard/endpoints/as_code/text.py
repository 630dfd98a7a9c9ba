"""The plan as text for pages and terminals."""

from __future__ import annotations

import json
from collections.abc import Iterator

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard.core import safe_text
from dashboard.endpoints.as_code.apply_plan import Action, Change, Plan, Step
from probes.messages import JSON

# A sign per action, so that colour is not the only difference.
SIGNS = {
    Action.CREATE: "+",
    Action.CHANGE: "~",
    Action.REMOVE: "-",
    Action.UNCHANGED: "=",
    Action.MISSING: "?",
}
MAX_VALUE = 2000
MAX_MISSING = 20


def done_label(action: Action) -> str:
    """The label of an executed step."""
    return {
        Action.CREATE: _("created"),
        Action.CHANGE: _("changed"),
        Action.REMOVE: _("removed"),
    }.get(action, _("left as it was"))


def plan_summary(plan: Plan) -> str:
    """The counts in one line."""
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
        text = ngettext(
            "{n} not in the file (kept)", "{n} not in the file (kept)", counts["missing"]
        )
        parts.append(text.format(n=counts["missing"]))
    return ", ".join(parts)


def plan_lines(plan: Plan) -> Iterator[str]:
    """The plan for a terminal. Unchanged endpoints are only counted."""
    for step in plan.changing:
        yield f"{SIGNS[step.action]} {step.action.value} {step.slug}"
        yield from _change_lines(step)
        yield from (f"      {effect.label}" for effect in step.effects)
    missing = [step.slug for step in plan.steps_with(Action.MISSING)]
    for slug in missing[:MAX_MISSING]:
        yield f"{SIGNS[Action.MISSING]} {slug} does not stand in the file; it is kept."
    if len(missing) > MAX_MISSING:
        yield f"{SIGNS[Action.MISSING]} and {len(missing) - MAX_MISSING} more."
    yield f"Plan: {plan_summary(plan)}."


def _change_lines(step: Step) -> Iterator[str]:
    if step.action is Action.REMOVE:
        return
    for change in step.changes:
        if step.action is Action.CREATE:
            yield f"    {change.name}: {format_value(change.new)}"
        else:
            old, new = format_value(change.old), format_value(change.new)
            yield f"    {change.name}: {old} -> {new}{_edit_note(change)}"


def _edit_note(change: Change) -> str:
    return "  (edited here since the last apply)" if change.edited_here else ""


def format_value(value: JSON) -> str:
    """Shorten a value and make hidden characters visible; None is a dash."""
    if value is None:
        return "–"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return safe_text.visible(safe_text.clip(text, MAX_VALUE))
