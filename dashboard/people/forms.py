"""Forms that invite people, give roles and create API tokens."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from dashboard.core import permissions, token_rights
from dashboard.core.permissions import Right
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
    """The reason from the form; one that is too long is cut, since it is optional."""
    text: str = form.data.get("reason", "")
    return form.cleaned_data["reason"] if form.is_valid() else text[:MAX_REASON_LENGTH]


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
        # As the model does: two encodings of the same letters are one name.
        name: str = User.normalize_username(self.cleaned_data["username"])
        return name

    def rights(self) -> InvitedRights:
        """The rights that a valid form grants."""
        chosen: list[str] = self.cleaned_data["roles"]
        roles = [role for role in Role if role.value in chosen]
        if len(roles) > 1:
            roles = [role for role in roles if role is not Role.VIEWER]  # all others may read too
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


_NEVER = ("never", _("never"))
_EXPIRIES = [("30", _("in 30 days")), ("90", _("in 90 days")), ("365", _("in a year")), _NEVER]


class TokenForm(forms.Form):
    name = forms.CharField(
        label=_("Name"),
        max_length=80,
        help_text=_("Who or what will use it, such as “nightly report”."),
        widget=forms.TextInput({"autocomplete": "off"}),
    )
    scopes = forms.MultipleChoiceField(
        label=_("It may"),
        initial=["read"],
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": _("Choose at least one.")},
    )
    team = forms.ModelChoiceField(
        queryset=Team.objects.none(),
        label=_("Only endpoints of the team"),
        required=False,
        empty_label=_("all that I may reach"),
    )
    lasts = forms.ChoiceField(label=_("Expires"), choices=_EXPIRIES, initial="90")

    def __init__(self, data: Any = None, *, person: User) -> None:
        super().__init__(data)
        scopes = token_rights.offered_scopes(person)
        self.fields["scopes"].choices = [(s.value, s.label) for s in scopes]  # type: ignore[attr-defined]
        self.fields["team"].queryset = _readable_teams(person)  # type: ignore[attr-defined]

    @property
    def offers_something(self) -> bool:
        """Whether a token of this person could have any scope."""
        return bool(self.fields["scopes"].choices)  # type: ignore[attr-defined]

    @property
    def offers_teams(self) -> bool:
        return bool(self.fields["team"].queryset)  # type: ignore[attr-defined]

    def clean_lasts(self) -> timedelta | None:
        days: str = self.cleaned_data["lasts"]
        return None if days == _NEVER[0] else timedelta(days=int(days))


def _readable_teams(person: User) -> QuerySet[Team]:
    """The teams where the person may at least read."""
    teams = permissions.user_actor(person).teams(Right.READ)
    every_team = Team.objects.order_by("name")
    return every_team if teams is None else every_team.filter(pk__in=teams)
