"""The form that steps an endpoint back to a tighter stage without an approval."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dashboard.core.reasons import ReasonForm
from dashboard.models import Endpoint
from dashboard.rollouts.text import stage_access, stage_name
from dashboard.trust import rollout_requests
from health.stages import LADDER, is_tighter

REJECT = "reject"


class StepBackForm(ReasonForm):
    to = forms.ChoiceField(
        label=gettext_lazy("Down to"),
        widget=forms.RadioSelect,
        error_messages=dict.fromkeys(
            ("required", "invalid_choice"), gettext_lazy("Choose how far it goes back.")
        ),
    )
    field_order = ("to", "reason")

    def __init__(self, endpoint: Endpoint, data: Mapping[str, Any] | None) -> None:
        super().__init__(data)
        self.in_force, self.profile = endpoint.profile_in_force, endpoint.profile
        tighter = [each for each in reversed(LADDER) if is_tighter(each, self.in_force.stage)]
        choices = [(stage, _choice_label(stage)) for stage in tighter]
        if self.profile.stage != "rejected":
            label = _("Reject profile {epoch}: it is not wanted. Callers get no tools from it.")
            choices.append((REJECT, label.format(epoch=self.profile.epoch)))
        self.choices = choices
        field = self.fields["to"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = choices

    def step_back(self, *, by: User) -> str:
        """Apply the choice and return the success message."""
        to, reason = self.cleaned_data["to"], self.cleaned_data["reason"]
        if to == REJECT:
            rollout_requests.reject_profile(self.profile, by=by, reason=reason)
            return _("Profile {epoch} is rejected.").format(epoch=self.profile.epoch)
        rollout_requests.step_back(self.in_force, to=to, by=by, reason=reason)
        return _("It is stepped back to {stage}.").format(stage=stage_name(to))


def _choice_label(stage: str) -> str:
    return _("{stage}. {allows}").format(stage=stage_name(stage), allows=stage_access(stage))
