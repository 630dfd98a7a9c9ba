"""Forms that ask a person why."""

from __future__ import annotations

from datetime import timedelta

from django import forms
from django.utils.translation import gettext_lazy as _

from dashboard.core.reasons import LONGEST_REASON
from health.modes import Mode

_NO_END = "none"
_LASTS = [
    ("1", _("1 hour")),
    ("8", _("8 hours")),
    ("24", _("1 day")),
    ("168", _("7 days")),
    (_NO_END, _("no end")),
]


class ReasonForm(forms.Form):
    reason = forms.CharField(
        label=_("Reason"),
        max_length=LONGEST_REASON,
        error_messages={"required": _("Say why: others will want to know it.")},
        widget=forms.TextInput({"autocomplete": "off"}),
    )


class NoteForm(forms.Form):
    note = forms.CharField(
        label=_("Note"),
        max_length=LONGEST_REASON,
        required=False,
        widget=forms.TextInput({"autocomplete": "off"}),
    )


class SwitchOnForm(ReasonForm):
    mode = forms.ChoiceField(choices=[(mode.value, mode.value) for mode in Mode])
    lasts = forms.ChoiceField(label=_("For"), choices=_LASTS, initial="8")
    until = forms.DateTimeField(
        label=_("or until (UTC)"),
        required=False,
        widget=forms.DateTimeInput({"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
        error_messages={"invalid": _("Write the time as 2026-11-30 18:00, in UTC.")},
    )

    # Letting go of a pinned one takes a second person.
    pinned = forms.BooleanField(required=False)

    def clean_mode(self) -> Mode:
        return Mode(self.cleaned_data["mode"])

    def clean_lasts(self) -> timedelta | None:
        hours: str = self.cleaned_data["lasts"]
        return None if hours == _NO_END else timedelta(hours=int(hours))
