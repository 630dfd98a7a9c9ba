"""The one table of what a file can say of an endpoint; the rules are those of the form."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.db import models

from dashboard.endpoints.as_code import values
from dashboard.endpoints.as_code.mistakes import Mistakes
from dashboard.endpoints.as_code.tree import Node
from dashboard.endpoints.forms import EndpointForm, check_slug
from dashboard.endpoints.tags import check_tags
from dashboard.models import Endpoint
from probes.messages import JSON

# Names the variable of the environment that holds the key; no field of the row.
KEY_FIELD = "api_key_env"


@dataclass(frozen=True, slots=True)
class Field:
    """One line of an endpoint in the file, named as in the API."""

    name: str
    read: Callable[[Node, Mistakes], Any]
    write: Callable[[Any], JSON] = values.as_is
    is_required: bool = False
    # Of no interest where it is the default.
    is_quiet: bool = False

    def default(self) -> Any:
        """What is stored where the file is silent."""
        column = Endpoint._meta.get_field(self.name)
        assert isinstance(column, models.Field)
        return column.get_default()


FIELDS = {
    field.name: field
    for field in (
        Field("provider", values.text, is_required=True),
        Field("base_url", values.text, is_required=True),
        Field("model", values.text, is_required=True),
        Field("options", values.options),
        Field("team", values.name, values.name_out),
        Field("tags", values.words, values.words_out),
        Field("ttl", values.text, values.span_out),
        Field("max_concurrency", values.whole),
        Field("enabled", values.switch),
        Field("daily_requests", values.whole),
        Field("daily_tokens", values.whole),
        Field("price_input", values.price, values.price_out),
        Field("price_output", values.price, values.price_out),
        Field("currency", values.text, is_quiet=True),
    )
}


class Rules:
    """The rules of the form, asked for one value at a time and without the database."""

    def __init__(self) -> None:
        self._form = EndpointForm()

    def slug(self, text: str) -> str:
        field = self._form.fields["slug"]
        return check_slug(field.clean(text))

    def stored(self, name: str, value: Any) -> Any:
        """The value as it is stored; raises ValidationError as the form would, or Refused."""
        if name == "tags":
            return check_tags(value)
        if name == "team":
            # Whether there is such a team is a question to the database: planning asks it.
            return value
        given = json.dumps(value) if name == "options" else value
        cleaned = self._form.fields[name].clean(given)
        self._form.cleaned_data = {name: cleaned}
        clean = getattr(self._form, f"clean_{name}", None)
        return clean() if clean else cleaned


def said(error: forms.ValidationError) -> str:
    return " ".join(str(message) for message in error.messages)


def as_file(endpoint: Endpoint) -> dict[str, JSON]:
    """A row in the words of the file: what is compared, remembered and exported."""
    return {name: field.write(getattr(endpoint, name)) for name, field in FIELDS.items()}


def telling(fields: Mapping[str, JSON]) -> dict[str, JSON]:
    """Without what says nothing: no limit, no options, the currency that everybody has."""
    return {name: value for name, value in fields.items() if _tells(FIELDS[name], value)}


def _tells(field: Field, value: JSON) -> bool:
    if field.is_quiet and value == field.write(field.default()):
        return False
    return field.is_required or value not in (None, {}, [], "")
