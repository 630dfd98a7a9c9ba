"""The form that makes an API token."""

from __future__ import annotations

from datetime import timedelta

from django import forms

from dashboard.models.api_token import Scope

_NEVER = ("never", "never")


class TokenForm(forms.Form):
    name = forms.CharField(
        max_length=80,
        help_text="Who or what will use it, such as “nightly report”.",
        widget=forms.TextInput({"autocomplete": "off"}),
    )
    scopes = forms.MultipleChoiceField(
        label="It may",
        choices=Scope.choices,
        initial=[Scope.READ.value],
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one."},
    )
    lasts = forms.ChoiceField(
        label="Expires",
        choices=[("30", "in 30 days"), ("90", "in 90 days"), ("365", "in a year"), _NEVER],
        initial="90",
    )

    def clean_lasts(self) -> timedelta | None:
        days: str = self.cleaned_data["lasts"]
        return None if days == _NEVER[0] else timedelta(days=int(days))
