"""The form that makes an API token, with as much as its maker may give."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from dashboard.core import permissions, token_rights
from dashboard.core.permissions import Right
from dashboard.models import Team

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
        offered = token_rights.offered_scopes(person)
        self.fields["scopes"].choices = [(s.value, s.label) for s in offered]  # type: ignore[attr-defined]
        self.fields["team"].queryset = _readable_teams(person)  # type: ignore[attr-defined]

    @property
    def offers_something(self) -> bool:
        """Whether there is anything that a token of this person could do."""
        return bool(self.fields["scopes"].choices)  # type: ignore[attr-defined]

    @property
    def offers_teams(self) -> bool:
        return bool(self.fields["team"].queryset)  # type: ignore[attr-defined]

    def clean_lasts(self) -> timedelta | None:
        days: str = self.cleaned_data["lasts"]
        return None if days == _NEVER[0] else timedelta(days=int(days))


def _readable_teams(person: User) -> QuerySet[Team]:
    """The teams in which somebody may at least read."""
    teams = permissions.user_actor(person).teams(Right.READ)
    found = Team.objects.order_by("name")
    return found if teams is None else found.filter(pk__in=teams)
