"""The endpoint form and the rules of its fields."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, cast

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from typing_extensions import override

from dashboard.core import durations, labels
from dashboard.core.errors import Refused
from dashboard.core.permissions import Actor, Right
from dashboard.endpoints.presets import Preset, provider_preset
from dashboard.endpoints.tags import check_tags
from dashboard.models import Endpoint
from dashboard.models.endpoint import TTL_MAX, TTL_MIN
from dashboard.models.people import Team
from probes.dialects import BY_FORMAT, check_dialect
from probes.errors import TargetError
from probes.secret import Secret
from probes.target import (
    Provider,
    check_base_url,
    check_key,
    check_options,
    check_template_hash,
)

# Paths of pages that live beside /endpoints/<slug>/.
RESERVED_SLUGS = {"new"}
MAX_OPTIONS = 10_000
MAX_DEPTH = 20
_SLUG = re.compile(r"[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?")


def _dialect_choices() -> list[Any]:
    """The provider's own, and all dialects in groups by wire format."""
    groups = [
        (wire_format, [(each.name, each.name) for each in dialects])
        for wire_format, dialects in BY_FORMAT.items()
        if len(dialects) > 1
    ]
    return [("", _("the provider's own")), *groups]


class EndpointForm(forms.Form):
    slug = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=60,
        help_text=gettext_lazy(
            "Its address in these pages: lower-case letters, digits and hyphens."
        ),
        widget=forms.TextInput(
            {
                "placeholder": "vllm-qwen3-32b",
                "autocapitalize": "none",
                "autocomplete": "off",
                "translate": "no",
            }
        ),
    )
    provider = forms.ChoiceField(
        label=gettext_lazy("Provider"),
        choices=[(provider.value, provider.value) for provider in Provider],
        initial=Provider.OPENAI.value,
        help_text=gettext_lazy(
            "Who speaks at the other end. For vLLM, SGLang or llama.cpp choose openai."
        ),
        error_messages={"invalid_choice": gettext_lazy("There is no provider %(value)r.")},
        widget=forms.Select({"translate": "no"}),
    )
    base_url = forms.CharField(
        label=gettext_lazy("Base URL"),
        help_text=gettext_lazy(
            "As you would give it to a client library, such as https://host/v1."
        ),
        widget=forms.TextInput(
            {
                "inputmode": "url",
                "autocapitalize": "none",
                "autocomplete": "off",
                "translate": "no",
            }
        ),
    )
    model = forms.CharField(
        label=gettext_lazy("Model"),
        max_length=200,
        help_text=gettext_lazy("The model name that is sent with requests."),
        widget=forms.TextInput(
            {"autocapitalize": "none", "autocomplete": "off", "translate": "no"}
        ),
    )
    key = forms.CharField(
        label=gettext_lazy("API key"),
        required=False,
        max_length=4000,
        widget=forms.PasswordInput({"autocomplete": "new-password"}),
    )
    forget_key = forms.BooleanField(label=gettext_lazy("Forget the stored key"), required=False)
    ttl = forms.CharField(
        label=gettext_lazy("Probe every"),
        initial="6h",
        help_text=gettext_lazy("A number with a unit: 30m, 6h, 1d. From 5m to 30d."),
    )
    max_concurrency = forms.IntegerField(
        label=gettext_lazy("Requests at once"),
        initial=4,
        min_value=1,
        max_value=64,
        help_text=gettext_lazy("How many probes may ask it at the same time, up to 64."),
    )
    daily_requests = forms.IntegerField(
        label=gettext_lazy("Requests a day"),
        required=False,
        min_value=1,
        max_value=1_000_000,
        help_text=gettext_lazy(
            "The most that probing may send in a day (UTC). A full run takes about 120."
        ),
    )
    daily_tokens = forms.IntegerField(
        label=gettext_lazy("Tokens a day"),
        required=False,
        min_value=1,
        max_value=10**12,
        help_text=gettext_lazy(
            "The most that probing may cost in a day, input and output together."
        ),
    )
    tags = forms.CharField(
        label=gettext_lazy("Tags"),
        required=False,
        max_length=1000,
        help_text=gettext_lazy(
            "Words to find and group it by, with commas between: a team, a region."
        ),
        widget=forms.TextInput({"autocapitalize": "none", "autocomplete": "off"}),
    )
    team = forms.ModelChoiceField(
        Team.objects.none(),
        label=gettext_lazy("Team"),
        required=False,
        to_field_name="name",
        empty_label=gettext_lazy("no team"),
        help_text=gettext_lazy(
            "Whose it is. Its people see it, and those whose role holds for every endpoint."
        ),
        error_messages={
            "invalid_choice": gettext_lazy("There is no team %(value)r that you may give it to."),
        },
        widget=forms.Select({"translate": "no"}),
    )
    price_input = forms.DecimalField(
        label=gettext_lazy("Price of a million input tokens"),
        required=False,
        min_value=0,
        max_digits=12,
        decimal_places=6,
        help_text=gettext_lazy("With both prices, the page shows what probing costs."),
    )
    price_output = forms.DecimalField(
        label=gettext_lazy("Price of a million output tokens"),
        required=False,
        min_value=0,
        max_digits=12,
        decimal_places=6,
    )
    currency = forms.CharField(
        label=gettext_lazy("Currency"),
        required=False,
        initial="USD",
        max_length=8,
        help_text=gettext_lazy("A short word, such as USD. Nothing is converted."),
    )
    dialect = forms.ChoiceField(
        label=gettext_lazy("Dialect"),
        required=False,
        choices=_dialect_choices,
        help_text=gettext_lazy(
            "Which version or route of a vendor's API it speaks. It decides what is sent, so "
            "another one opens a new profile."
        ),
        error_messages={"invalid_choice": gettext_lazy("There is no dialect %(value)r.")},
        widget=forms.Select({"translate": "no"}),
    )
    chat_template_hash = forms.CharField(
        label=gettext_lazy("Chat template hash"),
        required=False,
        max_length=100,
        help_text=gettext_lazy(
            "The SHA-256 of the model's chat template, for a server that does not show it. "
            "Another one opens a new profile. A template that the server shows takes precedence."
        ),
        widget=forms.TextInput(
            {"autocapitalize": "none", "autocomplete": "off", "translate": "no"}
        ),
    )
    options = forms.CharField(
        label=gettext_lazy("Request options"),
        required=False,
        initial="{}",
        help_text=gettext_lazy(
            'A JSON object sent with every request, such as {"temperature": 0}. '
            "Other options open a new profile. They are shown to everyone here: no secrets."
        ),
        widget=forms.Textarea({"rows": 4, "spellcheck": "false"}),
    )
    enabled = forms.BooleanField(
        label=gettext_lazy("Probe on schedule"), required=False, initial=True
    )
    # Collapsed on the page.
    ADVANCED = (
        "daily_requests",
        "daily_tokens",
        "price_input",
        "price_output",
        "currency",
        "dialect",
        "chat_template_hash",
        "options",
    )
    # The updated_at that the editor loaded: a later change by another user is not overwritten.
    seen = forms.CharField(required=False, max_length=40, widget=forms.HiddenInput)

    def __init__(
        self,
        data: Any = None,
        *,
        endpoint: Endpoint | None = None,
        initial: Mapping[str, Any] | None = None,
        actor: Actor | None = None,
    ) -> None:
        values = _endpoint_values(endpoint) if endpoint else {}
        super().__init__(data, initial={**values, **(initial or {})})
        self.endpoint = endpoint
        _offer_teams(self, actor)
        example = provider_preset(_provider_or_default(self["provider"].value()))
        self.fields["base_url"].widget.attrs["placeholder"] = example.base_url
        self.fields["model"].widget.attrs["placeholder"] = example.model

    def clean_slug(self) -> str:
        slug = check_slug(self.cleaned_data["slug"])
        same_slug = Endpoint.objects.kept().filter(slug=slug)
        if (same_slug.exclude(pk=self.endpoint.pk) if self.endpoint else same_slug).exists():
            message = _("There is already an endpoint called “{slug}”.")
            raise forms.ValidationError(message.format(slug=slug))
        return slug

    def clean_base_url(self) -> str:
        try:
            return check_base_url(self.cleaned_data["base_url"])
        except TargetError as exc:
            raise forms.ValidationError(labels.probe_error_text(exc)) from exc

    def clean_key(self) -> Secret | None:
        text: str = self.cleaned_data["key"]
        try:
            return check_key(text) if text else None
        except TargetError as exc:
            raise forms.ValidationError(labels.probe_error_text(exc)) from exc

    def clean_ttl(self) -> timedelta:
        try:
            span = durations.parse_duration(self.cleaned_data["ttl"])
        except ValueError as exc:
            raise forms.ValidationError(_("Write a number and a unit: 30m, 6h or 1d.")) from exc
        if not TTL_MIN <= span <= TTL_MAX:
            raise forms.ValidationError(_("Between 5m and 30d, please."))
        return span

    def clean_options(self) -> dict[str, Any]:
        options = _read_options(self.cleaned_data["options"] or "{}")
        try:
            check_options(options)
        except TargetError as exc:
            raise forms.ValidationError(labels.probe_error_text(exc)) from exc
        return options

    def clean_chat_template_hash(self) -> str:
        try:
            return check_template_hash(self.cleaned_data["chat_template_hash"])
        except TargetError as exc:
            raise forms.ValidationError(labels.probe_error_text(exc)) from exc

    @override
    def clean(self) -> dict[str, Any]:
        try:
            check_dialect(
                Provider(self.cleaned_data["provider"]), self.cleaned_data.get("dialect", "")
            )
        except KeyError:
            # Its own message names the provider that does not exist.
            pass
        except TargetError as exc:
            self.add_error("dialect", labels.probe_error_text(exc))
        return self.cleaned_data

    def clean_tags(self) -> list[str]:
        try:
            return check_tags(re.split(r"[,\s]+", self.cleaned_data["tags"]))
        except Refused as exc:
            raise forms.ValidationError(exc.message) from exc

    def clean_currency(self) -> str:
        return self.cleaned_data["currency"].strip() or "USD"

    def clean_seen(self) -> datetime | None:
        try:
            return datetime.fromisoformat(self.cleaned_data["seen"])
        except ValueError:
            return None

    @property
    def has_advanced_values(self) -> bool:
        """An advanced field has an error or is not the default, so the page expands them."""
        defaults = {"currency": "USD", "options": "{}"}
        return any(
            self[name].errors or str(self[name].value() or "") not in {"", defaults.get(name, "")}
            for name in self.ADVANCED
        )

    def fields_to_create(self) -> dict[str, Any]:
        """The arguments of the service that creates an endpoint."""
        edit_only = {"forget_key", "seen"}
        return {name: value for name, value in self.cleaned_data.items() if name not in edit_only}


class TryForm(EndpointForm):
    """The endpoint form with only the fields that a request needs."""

    TRY_FIELDS = ("provider", "base_url", "model", "key", "forget_key", "options", "dialect")

    def __init__(self, data: Any, *, endpoint: Endpoint | None = None) -> None:
        super().__init__(data, endpoint=endpoint)
        for name in [name for name in self.fields if name not in self.TRY_FIELDS]:
            del self.fields[name]


def _offer_teams(form: forms.Form, actor: Actor | None) -> None:
    """Offer the teams that the actor may operate. Without an actor or a team there is no field.

    An endpoint without a team belongs to users with a global role: only they may leave it empty.
    """
    teams = actor.teams(Right.OPERATE) if actor else frozenset()
    offered = Team.objects.order_by("name")
    if teams is not None:
        offered = offered.filter(pk__in=teams)
    if not actor or not offered.exists():
        del form.fields["team"]
        return
    field = cast("forms.ModelChoiceField[Team]", form.fields["team"])
    field.queryset = offered
    if teams is not None:
        field.required, field.empty_label = True, None


def preset_initial(preset: Preset, model: str) -> dict[str, Any]:
    """The initial values from a preset, whose own model is only an example."""
    return {"provider": preset.provider.value, "base_url": preset.base_url, "model": model[:200]}


def typed_values(data: Mapping[str, str]) -> dict[str, Any]:
    """The submitted values without the key, to show them again without validation."""
    checkboxes = {name: name in data for name in ("enabled", "forget_key")}
    names = EndpointForm.base_fields.keys() - checkboxes.keys() - {"key"}
    return {**checkboxes, **{name: data[name] for name in names if name in data}}


def _provider_or_default(provider: object) -> Provider:
    """The provider of that name, or OpenAI."""
    known = {each.value: each for each in Provider}
    return known.get(str(provider), Provider.OPENAI)


def check_slug(slug: str) -> str:
    """The slug if it is valid. It may still be in use."""
    if _SLUG.fullmatch(slug) is None:
        raise forms.ValidationError(
            _(
                "Use lower-case letters a-z, digits, hyphens and underscores; "
                "begin and end with a letter or digit."
            )
        )
    if slug in RESERVED_SLUGS:
        message = _("“{slug}” is a page of its own; choose another name.")
        raise forms.ValidationError(message.format(slug=slug))
    return slug


def _endpoint_values(endpoint: Endpoint) -> dict[str, Any]:
    unchanged = ["slug", "provider", "base_url", "model", "max_concurrency", "enabled"]
    unchanged += ["daily_requests", "daily_tokens", "price_input", "price_output", "currency"]
    unchanged += ["dialect", "chat_template_hash"]
    return {
        **{name: getattr(endpoint, name) for name in unchanged},
        "tags": ", ".join(endpoint.tags),
        "team": endpoint.team,
        "seen": endpoint.updated_at.isoformat(),
        "ttl": durations.format_duration(endpoint.ttl),
        "options": json.dumps(endpoint.options, indent=2, ensure_ascii=False),
    }


def _read_options(text: str) -> dict[str, Any]:
    if len(text) > MAX_OPTIONS:
        message = _("At most {count} characters, please.").format(count=f"{MAX_OPTIONS:,}")
        raise forms.ValidationError(message)
    try:
        options = json.loads(text, parse_constant=_refuse_constant)
    except RecursionError as exc:
        raise forms.ValidationError(_("This is nested too deeply.")) from exc
    except json.JSONDecodeError as exc:
        message = _("This is not JSON: {what} at line {line}, column {column}.")
        position = {"line": exc.lineno, "column": exc.colno}
        raise forms.ValidationError(message.format(what=exc.msg, **position)) from exc
    except ValueError as exc:
        raise forms.ValidationError(_("This is not JSON: {what}.").format(what=exc)) from exc
    if not isinstance(options, dict):
        raise forms.ValidationError(_('This must be a JSON object, such as {"temperature": 0}.'))
    _check_storable(options)
    return options


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _check_storable(value: Any, depth: int = 0) -> None:
    """Refuse JSON values that a database column cannot hold."""
    if depth > MAX_DEPTH:
        raise forms.ValidationError(_("This is nested too deeply."))
    if isinstance(value, str) and ("\0" in value or any("\ud800" <= c <= "\udfff" for c in value)):
        raise forms.ValidationError(_("A text in it has a NUL or half of a surrogate pair."))
    if isinstance(value, float) and not math.isfinite(value):
        raise forms.ValidationError(_("A number in it is too large."))
    if isinstance(value, dict):
        value = [*value.keys(), *value.values()]
    if isinstance(value, list):
        for inner in value:
            _check_storable(inner, depth + 1)
