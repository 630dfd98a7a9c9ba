"""Stages and requests in the reader's words: what each is called and what it allows."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from dashboard.models import RolloutRequest
from dashboard.models.profile import Stage

NAMED: Mapping[str, Promise] = {
    Stage.SHADOW: gettext_lazy("Shadow"),
    Stage.READ_ONLY: gettext_lazy("Read only"),
    Stage.WRITE: gettext_lazy("Write"),
    Stage.FULL: gettext_lazy("Full"),
    Stage.REJECTED: gettext_lazy("Rejected"),
    Stage.ROLLED_BACK: gettext_lazy("Rolled back"),
}
_ALLOWS: Mapping[str, Promise] = {
    Stage.SHADOW: gettext_lazy("It is probed. Callers get no tools."),
    Stage.READ_ONLY: gettext_lazy("Callers may use tools that read."),
    Stage.WRITE: gettext_lazy("Callers may use tools that read or write."),
    Stage.FULL: gettext_lazy("Callers may use every tool."),
    Stage.REJECTED: gettext_lazy("It was rejected. Callers get no tools."),
    Stage.ROLLED_BACK: gettext_lazy("It was stepped back. Callers may use tools that read."),
}
_State = RolloutRequest.State
STATES: Mapping[str, Promise] = {
    _State.PENDING: pgettext_lazy("request", "waiting"),
    _State.APPROVED: pgettext_lazy("request", "approved"),
    _State.REJECTED: pgettext_lazy("request", "rejected"),
    _State.WITHDRAWN: pgettext_lazy("request", "withdrawn"),
    _State.VOIDED: pgettext_lazy("request", "void"),
    _State.EXPIRED: pgettext_lazy("request", "expired"),
}


def name_of(stage: str) -> str:
    return str(NAMED[stage])


def allows(stage: str) -> str:
    """What callers may do at that stage, in one sentence."""
    return str(_ALLOWS[stage])


def state_of(request: RolloutRequest) -> str:
    return str(STATES[request.state])


def asked_for(request: RolloutRequest) -> str:
    """What a request asks for, in a few words."""
    if request.switch is not None:
        return _("let go of {mode}").format(mode=request.switch.mode)
    told = {"before": name_of(request.from_stage), "after": name_of(request.to_stage)}
    return _("{before} → {after}").format(**told)
