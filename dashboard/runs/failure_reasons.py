"""Translates why a run ended without a verdict.

Rows store the reason in English. Reasons written by our services are translated; text from an
endpoint or a library is shown unchanged.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from django.utils.translation import gettext as _

_NO_VERDICT = "No verdict. "
_CANCELLED = "cancelled by "
_OVER_BUDGET = re.compile(
    r"The budget of (?:([\d,]+) requests)?(?: and )?(?:([\d,]+) tokens)? a day leaves no room for "
    r"this run, which may take ([\d,]+) requests and ([\d,]+) tokens\."
)


@dataclass(frozen=True, slots=True)
class FailureReason:
    """Our translated message, and after it text from elsewhere."""

    message: str = ""
    detail: str = ""


def translate_reason(stored: str) -> FailureReason:
    if stored.startswith(_NO_VERDICT):
        return FailureReason(_("No verdict."), stored.removeprefix(_NO_VERDICT))
    if stored.startswith(_CANCELLED):
        name = stored.removeprefix(_CANCELLED)
        return FailureReason(_("cancelled by {name}").format(name=name))
    if over_budget := _OVER_BUDGET.match(stored):
        return FailureReason(_budget_message(*over_budget.groups()))
    known = {
        "the worker stopped answering": _("the worker stopped answering"),
        "the endpoint was removed": _("the endpoint was removed"),
        "superseded by a changed profile key": _("superseded by a changed profile key"),
        "superseded: no worker has this version of the suite any more": _(
            "superseded: no worker has this version of the suite any more"
        ),
    }
    return FailureReason(known[stored]) if stored in known else FailureReason(detail=stored)


def _budget_message(
    max_requests: str | None, max_tokens: str | None, requests: str, tokens: str
) -> str:
    if max_tokens is None:
        budget = _("{requests} requests").format(requests=max_requests)
    elif max_requests is None:
        budget = _("{tokens} tokens").format(tokens=max_tokens)
    else:
        both = _("{requests} requests and {tokens} tokens")
        budget = both.format(requests=max_requests, tokens=max_tokens)
    return _(
        "The budget of {budget} a day leaves no room for this run, which may take {requests} "
        "requests and {tokens} tokens. Raise the budget, or wait for the next day (UTC)."
    ).format(budget=budget, requests=requests, tokens=tokens)
