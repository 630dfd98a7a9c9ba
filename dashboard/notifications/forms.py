"""The forms of channels and of maintenance windows."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, cast

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from dashboard.core import durations
from dashboard.core.permissions import Actor, Right
from dashboard.models import Channel, Endpoint, Notice
from dashboard.models.notification import WANTED
from dashboard.notifications.services.maintenance import MAX_REASON_LENGTH

_PREFERENCES = (
    "kinds",
    "min_severity",
    "quiet_from",
    "quiet_until",
    "time_zone",
    "remind_every",
    "group_for",
    "enabled",
)
_KIND_LABELS = {
    Notice.Kind.OPENED: _("A degradation was found"),
    Notice.Kind.ESCALATED: _("It got worse"),
    Notice.Kind.RECOVERED: _("It is over"),
    Notice.Kind.MODE_CHANGED: _("A mode was switched"),
    Notice.Kind.DECISION_WANTED: _("Somebody has to decide"),
    Notice.Kind.ROLLOUT_REQUESTED: _("Somebody asks for the next stage"),
    Notice.Kind.ROLLOUT_DECIDED: _("A request was decided on or is over"),
    Notice.Kind.STAGE_CHANGED: _("A stage was stepped back"),
    Notice.Kind.REMINDER: _("It is still open"),
    Notice.Kind.FLAPPING: _("It comes and goes"),
}
_SEVERITIES = [("1", _("all severities")), ("2", _("2 and 3")), ("3", _("3 alone"))]


class ChannelForm(forms.Form):
    name = forms.CharField(
        label=_("Name"), max_length=80, widget=forms.TextInput({"autocomplete": "off"})
    )
    kind = forms.ChoiceField(
        label=_("Kind"), choices=Channel.Kind.choices, initial=Channel.Kind.APPRISE.value
    )
    url = forms.CharField(
        label="URL",
        max_length=2048,
        help_text=_(
            "Of Apprise, such as slack://… or mailtos://…, or the https address of your own "
            "receiver. It is stored encrypted and never shown again; after a mistake, type it anew."
        ),
        widget=forms.PasswordInput({"autocomplete": "new-password"}),
    )
    kinds = forms.MultipleChoiceField(
        label=_("Tell when"),
        required=False,
        choices=[(kind, _KIND_LABELS[Notice.Kind(kind)]) for kind in WANTED],
        help_text=_("None ticked means all."),
        widget=forms.CheckboxSelectMultiple,
    )
    min_severity = forms.TypedChoiceField(
        label=_("Severities"), coerce=int, choices=_SEVERITIES, initial="1"
    )
    quiet_from = forms.TimeField(
        label=_("Quiet from"), required=False, widget=forms.TimeInput({"type": "time"}, "%H:%M")
    )
    quiet_until = forms.TimeField(
        label=_("Quiet until"), required=False, widget=forms.TimeInput({"type": "time"}, "%H:%M")
    )
    time_zone = forms.CharField(
        label=_("Time zone"),
        max_length=64,
        initial="UTC",
        help_text=_(
            "Such as Europe/Vienna. In quiet hours notices wait, except severity 3 and decisions "
            "that are wanted."
        ),
    )
    remind_every = forms.CharField(
        label=_("Remind every"),
        required=False,
        max_length=10,
        help_text=_("While an incident is open and not acknowledged: 5m to 30d. Empty is never."),
    )
    group_for = forms.CharField(
        label=_("Gather for"),
        max_length=10,
        initial="60s",
        help_text=_("What comes within this time is told in one message. Up to 1h; 0s is at once."),
    )
    enabled = forms.BooleanField(label=_("Switched on"), required=False, initial=True)

    def __init__(self, data: Any = None, *, channel: Channel | None = None) -> None:
        super().__init__(data, initial=_channel_initial(channel) if channel else None)
        if channel is not None:
            # Another kind needs another URL, which makes it another channel.
            del self.fields["kind"]
            self.fields["url"].required = False
            text = gettext("Now {hint}. Leave it empty to keep it.")
            self.fields["url"].help_text = text.format(hint=channel.hint)

    def clean_remind_every(self) -> timedelta | None:
        text: str = self.cleaned_data["remind_every"]
        return _parse_span(text, timedelta(minutes=5), timedelta(days=30)) if text else None

    def clean_group_for(self) -> timedelta:
        return _parse_span(self.cleaned_data["group_for"], timedelta(), timedelta(hours=1))

    def preferences(self) -> dict[str, Any]:
        """The kinds, severities and times of notices."""
        return {name: self.cleaned_data[name] for name in _PREFERENCES}


def _parse_span(text: str, shortest: timedelta, longest: timedelta) -> timedelta:
    try:
        span = durations.parse_duration(text)
    except ValueError as exc:
        raise forms.ValidationError(_("Write a number and a unit: 60s, 30m or 6h.")) from exc
    if not shortest <= span <= longest:
        message = gettext("Between {least} and {most}, please.")
        raise forms.ValidationError(
            message.format(
                least=durations.format_duration(shortest), most=durations.format_duration(longest)
            )
        )
    return span


def _channel_initial(channel: Channel) -> dict[str, Any]:
    remind = channel.remind_every
    return {
        **{name: getattr(channel, name) for name in ("name", *_PREFERENCES)},
        "remind_every": durations.format_duration(remind) if remind else "",
        "group_for": durations.format_duration(channel.group_for),
    }


class _DateTimeInput(forms.DateTimeInput):
    input_type = "datetime-local"

    def __init__(self) -> None:
        super().__init__(format="%Y-%m-%dT%H:%M")


class MaintenanceForm(forms.Form):
    endpoint = forms.ModelChoiceField(
        Endpoint.objects.none(),
        label=_("Endpoint"),
        required=False,
        to_field_name="slug",
        empty_label=_("every endpoint"),
        error_messages={"invalid_choice": _("There is no such endpoint.")},
    )
    starts_at = forms.DateTimeField(label=_("Begins (UTC)"), widget=_DateTimeInput())
    ends_at = forms.DateTimeField(label=_("Ends (UTC)"), widget=_DateTimeInput())
    reason = forms.CharField(
        label=_("Reason"),
        max_length=MAX_REASON_LENGTH,
        help_text=_("Shown here and in the charts, such as “the vendor moves data centres”."),
        widget=forms.TextInput({"autocomplete": "off"}),
    )

    def __init__(self, data: Any, *, actor: Actor, initial: dict[str, Any]) -> None:
        super().__init__(data, initial=initial)
        teams = actor.teams(Right.OPERATE)
        endpoint = cast("forms.ModelChoiceField[Endpoint]", self.fields["endpoint"])
        endpoint.queryset = Endpoint.objects.kept().of_teams(teams).order_by("slug")
        # Only a global role may plan a window for all endpoints.
        if teams is not None:
            endpoint.required, endpoint.empty_label = True, None
