"""One sentence on who changed something before the last incident: the endpoint, or us."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from django.utils.translation import gettext as _

from dashboard.charts import endpoint_changes
from dashboard.charts.endpoint_changes import EndpointChange
from dashboard.core import durations
from dashboard.incidents.queries import IncidentHeading
from dashboard.models import Endpoint, Incident, Profile

# A change explains an incident only within this time or two probe intervals, if that is longer.
EXPLAINING_SPAN = timedelta(days=1)


def attribution_text(
    endpoint: Endpoint, profile: Profile, changes: Sequence[EndpointChange]
) -> str:
    """Describe the changes shortly before the last incident. One query."""
    incident = (
        Incident.objects.filter(profile__endpoint=endpoint)
        .select_related("profile__endpoint")
        .order_by("-opened_at")
        .first()
    )
    if incident is None:
        return _("There was no incident so far that a change could explain.")
    span = max(EXPLAINING_SPAN, 2 * endpoint.ttl)
    recent = endpoint_changes.changes_before(changes, incident.opened_at, span)
    values = {
        "finding": IncidentHeading(incident).title,
        "span": durations.format_rough_duration(span),
        **_change_names(recent),
    }
    return _attribution(recent, is_silent=not profile.fingerprint).format(**values)


def _change_names(recent: Sequence[EndpointChange]) -> dict[str, str]:
    theirs = dict.fromkeys(each.names for each in recent if each.is_theirs)
    ours = dict.fromkeys(each.names for each in recent if not each.is_theirs)
    return {"theirs": ", ".join(theirs), "ours": ", ".join(ours)}


def _attribution(recent: Sequence[EndpointChange], *, is_silent: bool) -> str:
    has_theirs = any(each.is_theirs for each in recent)
    has_ours = any(not each.is_theirs for each in recent)
    if has_theirs and has_ours:
        return _(
            "Both sides changed in the {span} before “{finding}”: they ({theirs}) and we ({ours})."
        )
    if has_theirs:
        return _("They changed in the {span} before “{finding}”: {theirs}. Nothing of ours did.")
    if has_ours:
        return _(
            "We changed in the {span} before “{finding}”: {ours}. "
            "The endpoint told nothing new about itself."
        )
    if is_silent:
        return _(
            "Nothing of ours changed in the {span} before “{finding}”. The endpoint tells "
            "nothing about itself, so a change on its side would not be seen."
        )
    return _(
        "Neither side is known to have changed in the {span} before “{finding}”: "
        "the endpoint told nothing new about itself, and nothing of ours was edited."
    )
