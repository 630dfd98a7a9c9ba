"""The first sentence of an endpoint's page: what is wrong, or since when nothing is."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db.models import Max
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard.core import durations
from dashboard.endpoints.summary import EndpointSummary
from dashboard.incidents.queries import Titled
from dashboard.models import Profile
from dashboard.trust.text import day
from health.detector import BaselineState
from health.metric_names import metric_name
from health.status import Status


def headline(summary: EndpointSummary, profile: Profile, opened: Sequence[Titled]) -> str:
    """One sentence that says the finding. At most one query."""
    if opened:
        return _of_incidents(opened)
    if summary.condition.below_gate:
        names = ", ".join(metric_name(metric) for metric in summary.condition.below_gate)
        return _("Never came up to the gate: {metrics}").format(metrics=names)
    said = _of_status(summary)
    if said:
        return said
    return _holding(summary, profile)


def _of_incidents(opened: Sequence[Titled]) -> str:
    worst, others = opened[0].title, len(opened) - 1
    if not others:
        return worst
    said = ngettext(
        "{finding}, and {count} more is open", "{finding}, and {count} more are open", others
    )
    return said.format(finding=worst, count=others)


def _of_status(summary: EndpointSummary) -> str:
    match summary.status:
        case Status.WAITING:
            return _("Not probed yet: the first run decides")
        case Status.OFF:
            return _("It is not probed on schedule, so this is what was last known")
        case Status.NO_VERDICT:
            return _("The last run came to no verdict")
        case Status.STALE:
            assert summary.last_ended_at is not None
            span = durations.format_rough_duration(timezone.now() - summary.last_ended_at)
            return _("No run ended for {span}: this may hold no longer").format(span=span)
        case Status.DEGRADED | Status.FAILING:
            return _of_rate(summary)
        case _:
            return ""


def _of_rate(summary: EndpointSummary) -> str:
    assert summary.rate is not None
    said = _("{failures} of {trials} calls could not be read in the last run")
    return said.format(failures=summary.rate.failures, trials=summary.rate.trials)


def _holding(summary: EndpointSummary, profile: Profile) -> str:
    if summary.condition.known is BaselineState.NONE:
        return _("Nothing is wrong so far, but too few trials were made to know what is normal")
    return _("Holds since {day}").format(day=day(_since(profile)))


def _since(profile: Profile) -> datetime:
    """The end of its last incident, else its beginning."""
    ended: datetime | None = profile.incidents.aggregate(last=Max("ended_at"))["last"]
    return ended or profile.created_at
