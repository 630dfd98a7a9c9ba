"""The forms of tool classes."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy as _

from dashboard.trust.tool_rules import LONGEST_NOTE
from health.risk import LONGEST_NAME, LONGEST_PATTERN, Risk

_CHOICES = [
    (Risk.READ.value, _("read: looks at things")),
    (Risk.WRITE.value, _("write: changes files or notes")),
    (Risk.DANGEROUS.value, _("dangerous: runs programs, deletes, sends outside, spends money")),
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
    risk = forms.ChoiceField(label=_("Class"), choices=_CHOICES)
    note = forms.CharField(label=_("Note"), required=False, max_length=LONGEST_NOTE)

    def clean_risk(self) -> Risk:
        return Risk(self.cleaned_data["risk"])


class TryForm(forms.Form):
    name = forms.CharField(
        label=_("Name of a tool"),
        # One more than a name may have, so that the answer to a longer one can be seen.
        max_length=LONGEST_NAME + 1,
        strip=False,
        widget=forms.TextInput({"autocomplete": "off", "spellcheck": "false"}),
    )
