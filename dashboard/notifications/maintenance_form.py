"""The form that plans a maintenance window."""

from __future__ import annotations

from typing import Any, cast

from django import forms
from django.utils.translation import gettext_lazy as _

from dashboard.core.permissions import Actor, Right
from dashboard.models import Endpoint
from dashboard.notifications.services.maintenance import MAX_REASON_LENGTH


class _DateTimeInput(forms.DateTimeInput):
    input_type = "datetime-local"

    def __init__(self) -> None:
        super().__init__(format="%Y-%m-%dT%H:%M")


class MaintenanceForm(forms.Form):
    endpoint = forms.ModelChoiceField(
        Endpoint.objects.none(),
        label=_("Endpoint"),
        required=False,
        to_field_name="slug",
        empty_label=_("every endpoint"),
        error_messages={"invalid_choice": _("There is no such endpoint.")},
    )
    starts_at = forms.DateTimeField(label=_("Begins (UTC)"), widget=_DateTimeInput())
    ends_at = forms.DateTimeField(label=_("Ends (UTC)"), widget=_DateTimeInput())
    reason = forms.CharField(
        label=_("Reason"),
        max_length=MAX_REASON_LENGTH,
        help_text=_("Shown here and in the charts, such as “the vendor moves data centres”."),
        widget=forms.TextInput({"autocomplete": "off"}),
    )

    def __init__(self, data: Any, *, actor: Actor, initial: dict[str, Any]) -> None:
        super().__init__(data, initial=initial)
        teams = actor.teams(Right.OPERATE)
        endpoint = cast("forms.ModelChoiceField[Endpoint]", self.fields["endpoint"])
        endpoint.queryset = Endpoint.objects.kept().of_teams(teams).order_by("slug")
        # Every endpoint is for those whose role holds for every endpoint.
        if teams is not None:
            endpoint.required, endpoint.empty_label = True, None
