"""Forms, with errors a person can act on."""

from __future__ import annotations

import json
import math
import re
from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy

from dashboard import durations
from dashboard.models import Endpoint
from dashboard.models.endpoint import TTL_MAX, TTL_MIN
from probes.errors import TargetError
from probes.secret import Secret
from probes.target import Provider, check_base_url, check_key, check_options

# Paths of pages that live beside /endpoints/<slug>/.
RESERVED_SLUGS = {"new"}
MAX_OPTIONS = 10_000
MAX_DEPTH = 20
_SLUG = re.compile(r"[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?")


class EndpointForm(forms.Form):
    slug = forms.CharField(
        label="Name",
        max_length=60,
        help_text="Its address in these pages: lower-case letters, digits and hyphens.",
        widget=forms.TextInput(
            {"placeholder": "vllm-qwen3-32b", "autocapitalize": "none", "autocomplete": "off"}
        ),
    )
    provider = forms.ChoiceField(
        choices=[(provider.value, provider.value) for provider in Provider],
        initial=Provider.OPENAI.value,
        help_text="Who speaks at the other end. For vLLM, SGLang or llama.cpp choose openai.",
        error_messages={"invalid_choice": "There is no provider %(value)r."},
    )
    base_url = forms.CharField(
        label="Base URL",
        help_text="As you would give it to a client library, such as https://host/v1.",
        widget=forms.TextInput({"inputmode": "url", "placeholder": "https://host/v1"}),
    )
    model = forms.CharField(max_length=200, help_text="The model name that is sent with requests.")
    key = forms.CharField(
        label="API key",
        required=False,
        max_length=4000,
        widget=forms.PasswordInput({"autocomplete": "new-password"}),
    )
    forget_key = forms.BooleanField(label="Forget the stored key", required=False)
    ttl = forms.CharField(
        label="Probe every",
        initial="6h",
        help_text="A number with a unit: 30m, 6h, 1d. From 5m to 30d.",
    )
    max_concurrency = forms.IntegerField(
        label="Requests at once", initial=4, min_value=1, max_value=64
    )
    daily_requests = forms.IntegerField(
        label="Requests a day",
        required=False,
        min_value=1,
        max_value=1_000_000,
        help_text="The most that probing may send in a day (UTC). A full run takes about 120.",
    )
    daily_tokens = forms.IntegerField(
        label="Tokens a day",
        required=False,
        min_value=1,
        max_value=10**12,
        help_text="The most that probing may cost in a day, input and output together.",
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
    options = forms.CharField(
        label="Request options",
        required=False,
        initial="{}",
        help_text='A JSON object sent with every request, such as {"temperature": 0}. '
        "It is shown to everyone here: no secrets.",
        widget=forms.Textarea({"rows": 4, "spellcheck": "false"}),
    )
    enabled = forms.BooleanField(label="Probe on schedule", required=False, initial=True)
    # What the editor looked at; a change by somebody else in between is not overwritten.
    seen = forms.CharField(required=False, max_length=40, widget=forms.HiddenInput)

    def __init__(self, data: Any = None, *, endpoint: Endpoint | None = None) -> None:
        super().__init__(data, initial=_initial(endpoint) if endpoint else None)
        self.endpoint = endpoint

    def clean_slug(self) -> str:
        slug: str = self.cleaned_data["slug"]
        if _SLUG.fullmatch(slug) is None:
            raise forms.ValidationError(
                "Use lower-case letters a-z, digits, hyphens and underscores; "
                "begin and end with a letter or digit."
            )
        if slug in RESERVED_SLUGS:
            raise forms.ValidationError(f"“{slug}” is a page of its own; choose another name.")
        taken = Endpoint.objects.kept().filter(slug=slug)
        if (taken.exclude(pk=self.endpoint.pk) if self.endpoint else taken).exists():
            raise forms.ValidationError(f"There is already an endpoint called “{slug}”.")
        return slug

    def clean_base_url(self) -> str:
        try:
            return check_base_url(self.cleaned_data["base_url"])
        except TargetError as exc:
            raise forms.ValidationError(exc.message) from exc

    def clean_key(self) -> Secret | None:
        text: str = self.cleaned_data["key"]
        try:
            return check_key(text) if text else None
        except TargetError as exc:
            raise forms.ValidationError(exc.message) from exc

    def clean_ttl(self) -> timedelta:
        try:
            span = durations.parse(self.cleaned_data["ttl"])
        except ValueError as exc:
            raise forms.ValidationError("Write a number and a unit: 30m, 6h or 1d.") from exc
        if not TTL_MIN <= span <= TTL_MAX:
            raise forms.ValidationError("Between 5m and 30d, please.")
        return span

    def clean_options(self) -> dict[str, Any]:
        options = _read_options(self.cleaned_data["options"] or "{}")
        try:
            check_options(options)
        except TargetError as exc:
            raise forms.ValidationError(exc.message) from exc
        return options

    def clean_currency(self) -> str:
        return self.cleaned_data["currency"].strip() or "USD"

    def clean_seen(self) -> datetime | None:
        try:
            return datetime.fromisoformat(self.cleaned_data["seen"])
        except ValueError:
            return None

    def fields_to_create(self) -> dict[str, Any]:
        """What the service that registers an endpoint takes."""
        editing = {"forget_key", "seen"}
        return {name: value for name, value in self.cleaned_data.items() if name not in editing}


def _initial(endpoint: Endpoint) -> dict[str, Any]:
    same = ["slug", "provider", "base_url", "model", "max_concurrency", "enabled"]
    same += ["daily_requests", "daily_tokens", "price_input", "price_output", "currency"]
    return {
        **{name: getattr(endpoint, name) for name in same},
        "seen": endpoint.updated_at.isoformat(),
        "ttl": durations.short(endpoint.ttl),
        "options": json.dumps(endpoint.options, indent=2, ensure_ascii=False),
    }


def _read_options(text: str) -> dict[str, Any]:
    if len(text) > MAX_OPTIONS:
        raise forms.ValidationError(f"At most {MAX_OPTIONS:,} characters, please.")
    try:
        options = json.loads(text, parse_constant=_no_constant)
    except RecursionError as exc:
        raise forms.ValidationError("This is nested too deeply.") from exc
    except json.JSONDecodeError as exc:
        where = f"line {exc.lineno}, column {exc.colno}"
        raise forms.ValidationError(f"This is not JSON: {exc.msg} at {where}.") from exc
    except ValueError as exc:
        raise forms.ValidationError(f"This is not JSON: {exc}.") from exc
    if not isinstance(options, dict):
        raise forms.ValidationError('This must be a JSON object, such as {"temperature": 0}.')
    _check_storable(options)
    return options


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _check_storable(value: Any, depth: int = 0) -> None:
    """Refuse what JSON can spell and a database column cannot hold."""
    if depth > MAX_DEPTH:
        raise forms.ValidationError("This is nested too deeply.")
    if isinstance(value, str) and ("\0" in value or any("\ud800" <= c <= "\udfff" for c in value)):
        raise forms.ValidationError("A text in it has a NUL or half of a surrogate pair.")
    if isinstance(value, float) and not math.isfinite(value):
        raise forms.ValidationError("A number in it is too large.")
    if isinstance(value, dict):
        value = [*value.keys(), *value.values()]
    if isinstance(value, list):
        for inner in value:
            _check_storable(inner, depth + 1)
