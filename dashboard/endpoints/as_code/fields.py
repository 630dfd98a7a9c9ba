"""The fields of an endpoint in a file: how each is read, validated and written.

The endpoint form supplies the validation rules.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import yaml
from django import forms
from django.db import models
from django.utils.translation import gettext as _

from dashboard.core import durations
from dashboard.endpoints.as_code.file_errors import Mistakes, quoted
from dashboard.endpoints.as_code.yaml_nodes import BOOL, INT, is_null, json_value
from dashboard.endpoints.forms import EndpointForm, check_slug
from dashboard.endpoints.tags import check_tags
from dashboard.models import Endpoint
from probes.messages import JSON

# The name of the environment variable with the key; not a field of the model.
KEY_FIELD = "api_key_env"
_INTEGER = re.compile(r"[0-9]{1,18}")
_NUMBER = re.compile(r"[0-9]{1,18}(\.[0-9]{1,18})?([eE]-?[0-9]{1,2})?")


class WrongType(Exception):
    """The value has the wrong type; `sentence` names the right one."""

    def __init__(self, node: yaml.Node, sentence: str) -> None:
        super().__init__(sentence)
        self.node, self._sentence = node, sentence

    def message(self, name: str) -> str:
        return self._sentence.format(name=name, found=_type_name(self.node))


def _type_name(node: yaml.Node) -> str:
    if isinstance(node, yaml.SequenceNode):
        return _("a list")
    if isinstance(node, yaml.MappingNode):
        return _("a mapping")
    return _("nothing") if is_null(node) else quoted(node.value)


def _read_text(node: yaml.Node, mistakes: Mistakes) -> str:
    """The text as written: a model 3.10 stays 3.10 without quotes."""
    if not isinstance(node, yaml.ScalarNode) or is_null(node):
        raise WrongType(node, _("{name} takes a text, not {found}."))
    return str(node.value)


def _read_optional_text(node: yaml.Node, mistakes: Mistakes) -> str:
    return "" if is_null(node) else _read_text(node, mistakes)


def _read_team(node: yaml.Node, mistakes: Mistakes) -> str | None:
    return None if is_null(node) else _read_text(node, mistakes).strip() or None


def _read_integer(node: yaml.Node, mistakes: Mistakes) -> int | None:
    if is_null(node):
        return None
    if node.tag == INT and _INTEGER.fullmatch(node.value):
        return int(node.value)
    raise WrongType(
        node, _("{name} takes a whole number such as 2000, without quotes, not {found}.")
    )


def _read_bool(node: yaml.Node, mistakes: Mistakes) -> bool:
    if node.tag != BOOL:
        raise WrongType(node, _("{name} takes true or false, not {found}."))
    return bool(json_value(node, mistakes))


def _read_price(node: yaml.Node, mistakes: Mistakes) -> str | None:
    """The price as text, since a float would not be exact."""
    if is_null(node):
        return None
    if isinstance(node, yaml.ScalarNode) and _NUMBER.fullmatch(node.value):
        return str(node.value)
    raise WrongType(node, _("{name} takes a number such as 0.15, not {found}."))


def _read_tags(node: yaml.Node, mistakes: Mistakes) -> list[str]:
    if not isinstance(node, yaml.SequenceNode):
        raise WrongType(node, _("{name} takes a list of words such as [eu, coding], not {found}."))
    return [_read_text(item, mistakes) for item in node.value]


def _read_options(node: yaml.Node, mistakes: Mistakes) -> JSON:
    if not isinstance(node, yaml.MappingNode):
        raise WrongType(node, _("{name} takes a mapping such as {{temperature: 0}}, not {found}."))
    return json_value(node, mistakes)


def _unchanged(value: JSON) -> JSON:
    return value


@dataclass(frozen=True, slots=True)
class Field:
    """A field of an endpoint in the file, named as in the API."""

    name: str
    read: Callable[[yaml.Node, Mistakes], Any]
    write: Callable[[Any], JSON] = _unchanged
    is_required: bool = False
    # Not written if it has its default.
    omits_default: bool = False

    def default(self) -> Any:
        """The value if the file omits the field."""
        column = Endpoint._meta.get_field(self.name)
        assert isinstance(column, models.Field)
        return column.get_default()


def _write_price(value: Decimal | None) -> JSON:
    return None if value is None else float(value)


def _write_team(value: object) -> JSON:
    """The name of a Team, or of one that is not looked up yet."""
    return None if value is None else str(value)


FIELDS = {
    field.name: field
    for field in (
        Field("provider", _read_text, is_required=True),
        Field("base_url", _read_text, is_required=True),
        Field("model", _read_text, is_required=True),
        Field("options", _read_options),
        Field("dialect", _read_optional_text),
        Field("chat_template_hash", _read_optional_text),
        Field("team", _read_team, _write_team),
        Field("tags", _read_tags, list),
        Field("ttl", _read_text, durations.format_duration),
        Field("max_concurrency", _read_integer),
        Field("enabled", _read_bool),
        Field("daily_requests", _read_integer),
        Field("daily_tokens", _read_integer),
        Field("price_input", _read_price, _write_price),
        Field("price_output", _read_price, _write_price),
        Field("currency", _read_text, omits_default=True),
    )
}


class FormRules:
    """Validates one value at a time with the endpoint form, without the database."""

    def __init__(self) -> None:
        self._form = EndpointForm()

    def check_slug(self, text: str) -> str:
        field = self._form.fields["slug"]
        return check_slug(field.clean(text))

    def check_value(self, name: str, value: Any) -> Any:
        """The value as stored. Raises ValidationError or Refused."""
        if name == "tags":
            return check_tags(value)
        if name == "team":
            # The planner looks the team up in the database.
            return value
        raw = json.dumps(value) if name == "options" else value
        cleaned = self._form.fields[name].clean(raw)
        self._form.cleaned_data = {name: cleaned}
        clean = getattr(self._form, f"clean_{name}", None)
        return clean() if clean else cleaned


def error_text(error: forms.ValidationError) -> str:
    return " ".join(str(message) for message in error.messages)


def as_file(endpoint: Endpoint) -> dict[str, JSON]:
    """An endpoint as file values, for comparison, storage and export."""
    return {name: field.write(getattr(endpoint, name)) for name, field in FIELDS.items()}


def significant_fields(fields: Mapping[str, JSON]) -> dict[str, JSON]:
    """Drop empty values and the default currency."""
    return {name: value for name, value in fields.items() if _is_significant(FIELDS[name], value)}


def _is_significant(field: Field, value: JSON) -> bool:
    if field.omits_default and value == field.write(field.default()):
        return False
    return field.is_required or value not in (None, {}, [], "")
