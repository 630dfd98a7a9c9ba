"""Why a run ended without a verdict, as pages say it.

Rows keep the reason in English, for programs too. What our own services wrote is told in the
reader's language; what an endpoint or its library said stays as it is.
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
class Reason:
    """What we say, and after it what was given to us."""

    said: str = ""
    given: str = ""


def told(stored: str) -> Reason:
    """The reason of a run for its reader."""
    if stored.startswith(_NO_VERDICT):
        return Reason(_("No verdict."), stored.removeprefix(_NO_VERDICT))
    if stored.startswith(_CANCELLED):
        name = stored.removeprefix(_CANCELLED)
        return Reason(_("cancelled by {name}").format(name=name))
    if found := _OVER_BUDGET.match(stored):
        return Reason(_over_budget(*found.groups()))
    known = {
        "the worker stopped answering": _("the worker stopped answering"),
        "the endpoint was removed": _("the endpoint was removed"),
        "superseded by a changed profile key": _("superseded by a changed profile key"),
        "superseded: no worker has this version of the suite any more": _(
            "superseded: no worker has this version of the suite any more"
        ),
    }
    return Reason(said=known[stored]) if stored in known else Reason(given=stored)


def _over_budget(
    most_requests: str | None, most_tokens: str | None, requests: str, tokens: str
) -> str:
    if most_tokens is None:
        budget = _("{requests} requests").format(requests=most_requests)
    elif most_requests is None:
        budget = _("{tokens} tokens").format(tokens=most_tokens)
    else:
        both = _("{requests} requests and {tokens} tokens")
        budget = both.format(requests=most_requests, tokens=most_tokens)
    return _(
        "The budget of {budget} a day leaves no room for this run, which may take {requests} "
        "requests and {tokens} tokens. Raise the budget, or wait for the next day (UTC)."
    ).format(budget=budget, requests=requests, tokens=tokens)
