"""The forms that invite somebody and give them roles."""

from __future__ import annotations

from django import forms
from django.contrib.auth.models import User
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.utils.translation import gettext_lazy as _

from dashboard.core.reasons import MAX_REASON_LENGTH
from dashboard.models import Team
from dashboard.models.people import Role
from dashboard.people.services.people import InvitedRights
from dashboard.people.text import ADMINISTRATOR

_ROLES = [*Role.choices, (ADMINISTRATOR, _("Administrator"))]


class OptionalReasonForm(forms.Form):
    reason = forms.CharField(
        label=_("Reason"),
        max_length=MAX_REASON_LENGTH,
        required=False,
        widget=forms.TextInput({"autocomplete": "off"}),
    )


def form_reason(form: OptionalReasonForm) -> str:
    """What was given as a reason; one that is too long is cut, since nothing depends on it."""
    given: str = form.data.get("reason", "")
    return form.cleaned_data["reason"] if form.is_valid() else given[:MAX_REASON_LENGTH]


class InviteForm(forms.Form):
    username = forms.CharField(
        label=_("Name"),
        max_length=150,
        validators=[UnicodeUsernameValidator()],
        help_text=_("What they sign in with: letters, digits and @ . + - _"),
        widget=forms.TextInput({"autocomplete": "off", "autocapitalize": "none"}),
    )
    email = forms.EmailField(
        label=_("E-mail address"),
        required=False,
        max_length=254,
        help_text=_("A note of where to reach them; nothing is sent there."),
        widget=forms.EmailInput({"autocomplete": "off"}),
    )
    roles = forms.MultipleChoiceField(
        label=_("Roles"),
        choices=_ROLES,
        initial=[Role.VIEWER.value],
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": _("Choose at least one role.")},
    )
    team = forms.ModelChoiceField(
        Team.objects.order_by("name"),
        label=_("Where"),
        required=False,
        empty_label=_("Everywhere"),
        help_text=_("Administrators may do everything everywhere."),
    )

    def clean_username(self) -> str:
        # As the model does it: two spellings of the same letters are one name.
        name: str = User.normalize_username(self.cleaned_data["username"])
        return name

    def rights(self) -> InvitedRights:
        """What they are invited as, once the form is valid."""
        chosen: list[str] = self.cleaned_data["roles"]
        roles = [role for role in Role if role.value in chosen]
        if len(roles) > 1:
            roles = [role for role in roles if role is not Role.VIEWER]  # every other one reads too
        return InvitedRights(ADMINISTRATOR in chosen, roles, self.cleaned_data["team"])


class GrantForm(OptionalReasonForm):
    role = forms.ChoiceField(label=_("Role"), choices=Role.choices)
    team = forms.ModelChoiceField(
        Team.objects.order_by("name"),
        label=_("Where"),
        required=False,
        empty_label=_("Everywhere"),
    )
    field_order = ("role", "team", "reason")

    def clean_role(self) -> Role:
        return Role(self.cleaned_data["role"])
