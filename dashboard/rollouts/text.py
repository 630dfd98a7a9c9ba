"""Labels of stages and requests, and what each stage allows."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from dashboard.models import RolloutRequest
from dashboard.models.profile import Stage

STAGE_NAMES: Mapping[str, Promise] = {
    Stage.SHADOW: gettext_lazy("Shadow"),
    Stage.READ_ONLY: gettext_lazy("Read only"),
    Stage.WRITE: gettext_lazy("Write"),
    Stage.FULL: gettext_lazy("Full"),
    Stage.REJECTED: gettext_lazy("Rejected"),
    Stage.ROLLED_BACK: gettext_lazy("Rolled back"),
}
_STAGE_ACCESS: Mapping[str, Promise] = {
    Stage.SHADOW: gettext_lazy("It is probed. Callers get no tools."),
    Stage.READ_ONLY: gettext_lazy("Callers may use tools that read."),
    Stage.WRITE: gettext_lazy("Callers may use tools that read or write."),
    Stage.FULL: gettext_lazy("Callers may use every tool."),
    Stage.REJECTED: gettext_lazy("It was rejected. Callers get no tools."),
    Stage.ROLLED_BACK: gettext_lazy("It was stepped back. Callers may use tools that read."),
}
_State = RolloutRequest.State
STATE_LABELS: Mapping[str, Promise] = {
    _State.PENDING: pgettext_lazy("request", "waiting"),
    _State.APPROVED: pgettext_lazy("request", "approved"),
    _State.REJECTED: pgettext_lazy("request", "rejected"),
    _State.WITHDRAWN: pgettext_lazy("request", "withdrawn"),
    _State.VOIDED: pgettext_lazy("request", "void"),
    _State.EXPIRED: pgettext_lazy("request", "expired"),
}


def stage_name(stage: str) -> str:
    return str(STAGE_NAMES[stage])


def stage_access(stage: str) -> str:
    """Which tools callers may use at that stage, as a sentence."""
    return str(_STAGE_ACCESS[stage])


def state_label(request: RolloutRequest) -> str:
    return str(STATE_LABELS[request.state])


def request_label(request: RolloutRequest) -> str:
    """The requested change, such as “Shadow → Read only”."""
    if request.switch is not None:
        return _("let go of {mode}").format(mode=request.switch.mode)
    names = {"before": stage_name(request.from_stage), "after": stage_name(request.to_stage)}
    return _("{before} → {after}").format(**names)
