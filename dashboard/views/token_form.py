"""The form that makes an API token."""

from __future__ import annotations

from datetime import timedelta

from django import forms
from django.utils.translation import gettext_lazy as _

from dashboard.models.api_token import Scope

_NEVER = ("never", _("never"))
_LASTS = [("30", _("in 30 days")), ("90", _("in 90 days")), ("365", _("in a year")), _NEVER]


class TokenForm(forms.Form):
    name = forms.CharField(
        label=_("Name"),
        max_length=80,
        help_text=_("Who or what will use it, such as “nightly report”."),
        widget=forms.TextInput({"autocomplete": "off"}),
    )
    scopes = forms.MultipleChoiceField(
        label=_("It may"),
        choices=Scope.choices,
        initial=[Scope.READ.value],
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": _("Choose at least one.")},
    )
    lasts = forms.ChoiceField(label=_("Expires"), choices=_LASTS, initial="90")

    def clean_lasts(self) -> timedelta | None:
        days: str = self.cleaned_data["lasts"]
        return None if days == _NEVER[0] else timedelta(days=int(days))
