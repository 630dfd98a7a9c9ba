"""Forms of tool rules and of modes."""

from __future__ import annotations

from datetime import timedelta

from django import forms
from django.utils.translation import gettext_lazy as _

from dashboard.core.reasons import ReasonForm
from dashboard.trust.tool_rules import MAX_NOTE_LENGTH
from health.modes import Mode
from health.risk import LONGEST_NAME, LONGEST_PATTERN, Risk

_RISK_CHOICES = [
    (Risk.READ.value, _("read: looks at things")),
    (Risk.WRITE.value, _("write: changes files or notes")),
    (Risk.DANGEROUS.value, _("dangerous: runs programs, deletes, sends outside, spends money")),
]
_NO_END = "none"
_DURATIONS = [
    ("1", _("1 hour")),
    ("8", _("8 hours")),
    ("24", _("1 day")),
    ("168", _("7 days")),
    (_NO_END, _("no end")),
]


class ToolRuleForm(forms.Form):
    pattern = forms.CharField(
        label=_("Tool name or pattern"),
        max_length=LONGEST_PATTERN,
        help_text=_(
            "* is any text, ? any one character; letters of any case. Such as mcp__docs__*"
        ),
        widget=forms.TextInput({"autocomplete": "off", "spellcheck": "false"}),
    )
    risk = forms.ChoiceField(label=_("Class"), choices=_RISK_CHOICES)
    note = forms.CharField(label=_("Note"), required=False, max_length=MAX_NOTE_LENGTH)

    def clean_risk(self) -> Risk:
        return Risk(self.cleaned_data["risk"])


class ToolNameForm(forms.Form):
    name = forms.CharField(
        label=_("Name of a tool"),
        # One more than the longest name, so that the answer to a longer one can be tried.
        max_length=LONGEST_NAME + 1,
        strip=False,
        widget=forms.TextInput({"autocomplete": "off", "spellcheck": "false"}),
    )


class SwitchOnForm(ReasonForm):
    mode = forms.ChoiceField(choices=[(mode.value, mode.value) for mode in Mode])
    lasts = forms.ChoiceField(label=_("For"), choices=_DURATIONS, initial="8")
    until = forms.DateTimeField(
        label=_("or until (UTC)"),
        required=False,
        widget=forms.DateTimeInput({"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
        error_messages={"invalid": _("Write the time as 2026-11-30 18:00, in UTC.")},
    )

    # Releasing a pinned mode takes a second person.
    pinned = forms.BooleanField(required=False)

    def clean_mode(self) -> Mode:
        return Mode(self.cleaned_data["mode"])

    def clean_lasts(self) -> timedelta | None:
        hours: str = self.cleaned_data["lasts"]
        return None if hours == _NO_END else timedelta(hours=int(hours))
