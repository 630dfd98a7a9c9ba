"""The form of a channel."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django import forms

from dashboard import durations
from dashboard.models import Channel, Notice
from dashboard.models.channel import WANTED

_WISHES = (
    "kinds",
    "min_severity",
    "quiet_from",
    "quiet_until",
    "time_zone",
    "remind_every",
    "group_for",
    "enabled",
)
_WORDS = {
    Notice.Kind.OPENED: "A degradation was found",
    Notice.Kind.ESCALATED: "It got worse",
    Notice.Kind.RECOVERED: "It is over",
    Notice.Kind.MODE_CHANGED: "A mode was switched",
    Notice.Kind.DECISION_WANTED: "Somebody has to decide",
    Notice.Kind.REMINDER: "It is still open",
    Notice.Kind.FLAPPING: "It comes and goes",
}
_SEVERITIES = [("1", "all"), ("2", "2 and 3"), ("3", "3 alone")]


class ChannelForm(forms.Form):
    name = forms.CharField(max_length=80, widget=forms.TextInput({"autocomplete": "off"}))
    kind = forms.ChoiceField(choices=Channel.Kind.choices, initial=Channel.Kind.APPRISE.value)
    url = forms.CharField(
        label="URL",
        max_length=2048,
        help_text="Of Apprise, such as slack://… or mailtos://…, or the https address of your own "
        "receiver. It is stored encrypted and never shown again; after a mistake, type it anew.",
        widget=forms.PasswordInput({"autocomplete": "new-password"}),
    )
    kinds = forms.MultipleChoiceField(
        label="Tell when",
        required=False,
        choices=[(kind, _WORDS[Notice.Kind(kind)]) for kind in WANTED],
        help_text="None ticked means all.",
        widget=forms.CheckboxSelectMultiple,
    )
    min_severity = forms.TypedChoiceField(
        label="Severities", coerce=int, choices=_SEVERITIES, initial="1"
    )
    quiet_from = forms.TimeField(
        label="Quiet from", required=False, widget=forms.TimeInput({"type": "time"}, "%H:%M")
    )
    quiet_until = forms.TimeField(
        label="Quiet until", required=False, widget=forms.TimeInput({"type": "time"}, "%H:%M")
    )
    time_zone = forms.CharField(
        max_length=64,
        initial="UTC",
        help_text="Such as Europe/Vienna. In quiet hours notices wait, except severity 3 and "
        "decisions that are wanted.",
    )
    remind_every = forms.CharField(
        label="Remind every",
        required=False,
        max_length=10,
        help_text="While an incident is open and not acknowledged: 5m to 30d. Empty is never.",
    )
    group_for = forms.CharField(
        label="Gather for",
        max_length=10,
        initial="60s",
        help_text="What comes within this time is told in one message. Up to 1h; 0s is at once.",
    )
    enabled = forms.BooleanField(label="Switched on", required=False, initial=True)

    def __init__(self, data: Any = None, *, channel: Channel | None = None) -> None:
        super().__init__(data, initial=_initial(channel) if channel else None)
        if channel is not None:
            # Another kind would need another URL: that is another channel.
            del self.fields["kind"]
            self.fields["url"].required = False
            self.fields["url"].help_text = f"Now {channel.hint}. Leave it empty to keep it."

    def clean_remind_every(self) -> timedelta | None:
        text: str = self.cleaned_data["remind_every"]
        return _span(text, timedelta(minutes=5), timedelta(days=30)) if text else None

    def clean_group_for(self) -> timedelta:
        return _span(self.cleaned_data["group_for"], timedelta(), timedelta(hours=1))

    def wishes(self) -> dict[str, Any]:
        """What the channel wants to hear, and when."""
        return {name: self.cleaned_data[name] for name in _WISHES}


def _span(text: str, least: timedelta, most: timedelta) -> timedelta:
    try:
        span = durations.parse(text)
    except ValueError as exc:
        raise forms.ValidationError("Write a number and a unit: 60s, 30m or 6h.") from exc
    if not least <= span <= most:
        between = f"{durations.short(least)} and {durations.short(most)}"
        raise forms.ValidationError(f"Between {between}, please.")
    return span


def _initial(channel: Channel) -> dict[str, Any]:
    remind = channel.remind_every
    return {
        **{name: getattr(channel, name) for name in ("name", *_WISHES)},
        "remind_every": durations.short(remind) if remind else "",
        "group_for": durations.short(channel.group_for),
    }
