"""Which side changed before the last incident, in one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from django.utils.translation import gettext as _

from dashboard.charts import endpoint_changes
from dashboard.charts.endpoint_changes import EndpointChange
from dashboard.core import durations
from dashboard.incidents.queries import IncidentHeading
from dashboard.models import Endpoint, Incident, Profile

# What changed longer ago than this, or than two runs, hardly explains a fall.
LONG_BEFORE = timedelta(days=1)


def sentence(endpoint: Endpoint, profile: Profile, found: Sequence[EndpointChange]) -> str:
    """What is known about the time before the last incident. One query."""
    last = (
        Incident.objects.filter(profile__endpoint=endpoint)
        .select_related("profile__endpoint")
        .order_by("-opened_at")
        .first()
    )
    if last is None:
        return _("There was no incident so far that a change could explain.")
    span = max(LONG_BEFORE, 2 * endpoint.ttl)
    near = endpoint_changes.changes_before(found, last.opened_at, span)
    words = {
        "finding": IncidentHeading(last).title,
        "span": durations.format_rough_duration(span),
        **_names(near),
    }
    return _verdict(near, silent=not profile.fingerprint).format(**words)


def _names(near: Sequence[EndpointChange]) -> dict[str, str]:
    theirs = dict.fromkeys(each.names for each in near if each.is_theirs)
    ours = dict.fromkeys(each.names for each in near if not each.is_theirs)
    return {"theirs": ", ".join(theirs), "ours": ", ".join(ours)}


def _verdict(near: Sequence[EndpointChange], *, silent: bool) -> str:
    theirs = any(each.is_theirs for each in near)
    ours = any(not each.is_theirs for each in near)
    if theirs and ours:
        return _(
            "Both sides changed in the {span} before “{finding}”: they ({theirs}) and we ({ours})."
        )
    if theirs:
        return _("They changed in the {span} before “{finding}”: {theirs}. Nothing of ours did.")
    if ours:
        return _(
            "We changed in the {span} before “{finding}”: {ours}. "
            "The endpoint told nothing new about itself."
        )
    if silent:
        return _(
            "Nothing of ours changed in the {span} before “{finding}”. The endpoint tells "
            "nothing about itself, so a change on its side would not be seen."
        )
    return _(
        "Neither side is known to have changed in the {span} before “{finding}”: "
        "the endpoint told nothing new about itself, and nothing of ours was edited."
    )
