"""The form that plans a maintenance window."""

from __future__ import annotations

from django import forms

from dashboard.models import Endpoint
from dashboard.services.maintenance import LONGEST_REASON


class _Moment(forms.DateTimeInput):
    input_type = "datetime-local"

    def __init__(self) -> None:
        super().__init__(format="%Y-%m-%dT%H:%M")


class MaintenanceForm(forms.Form):
    endpoint = forms.ModelChoiceField(
        Endpoint.objects.kept().order_by("slug"),
        required=False,
        to_field_name="slug",
        empty_label="every endpoint",
        error_messages={"invalid_choice": "There is no such endpoint."},
    )
    starts_at = forms.DateTimeField(label="Begins (UTC)", widget=_Moment())
    ends_at = forms.DateTimeField(label="Ends (UTC)", widget=_Moment())
    reason = forms.CharField(
        max_length=LONGEST_REASON,
        help_text="Shown here and in the charts, such as “the vendor moves data centres”.",
        widget=forms.TextInput({"autocomplete": "off"}),
    )
