"""Reasons that people give for what they do."""

from __future__ import annotations

from django.utils.translation import gettext as _

from dashboard.core.errors import Refused

LONGEST_REASON = 1000


def checked_reason(reason: str) -> str:
    """The reason as it is kept; refuses one that says nothing or too much."""
    reason = reason.replace("\0", "").strip()
    if not reason:
        raise Refused(_("Say why: others will want to know it."))
    if len(reason) > LONGEST_REASON:
        told = _("The reason is longer than {count} characters.")
        raise Refused(told.format(count=LONGEST_REASON))
    return reason
