"""The reason that a person states for an action, and the forms that ask for it."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from dashboard.core.errors import Refused

MAX_REASON_LENGTH = 1000


def clean_reason(reason: str) -> str:
    """The reason as it is stored; refuses an empty one and one that is too long."""
    reason = reason.replace("\0", "").strip()
    if not reason:
        raise Refused(gettext("Say why: others will want to know it."))
    if len(reason) > MAX_REASON_LENGTH:
        text = gettext("The reason is longer than {count} characters.")
        raise Refused(text.format(count=MAX_REASON_LENGTH))
    return reason


class ReasonForm(forms.Form):
    reason = forms.CharField(
        label=_("Reason"),
        max_length=MAX_REASON_LENGTH,
        error_messages={"required": _("Say why: others will want to know it.")},
        widget=forms.TextInput({"autocomplete": "off"}),
    )


class NoteForm(forms.Form):
    note = forms.CharField(
        label=_("Note"),
        max_length=MAX_REASON_LENGTH,
        required=False,
        widget=forms.TextInput({"autocomplete": "off"}),
    )
