"""The form that lets somebody in."""

from __future__ import annotations

from django import forms
from django.contrib.auth.models import User
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.utils.translation import gettext_lazy as _


class PersonForm(forms.Form):
    username = forms.CharField(
        label=_("Name"),
        max_length=150,
        validators=[UnicodeUsernameValidator()],
        help_text=_("What they sign in with: letters, digits and @ . + - _"),
        widget=forms.TextInput({"autocomplete": "off", "autocapitalize": "none"}),
    )
    administrator = forms.BooleanField(
        label=_("Administrator"),
        required=False,
        help_text=_("May change settings: people, API tokens, channels and tool rules."),
    )

    def clean_username(self) -> str:
        # As the model does it: two spellings of the same letters are one name.
        name: str = User.normalize_username(self.cleaned_data["username"])
        return name
