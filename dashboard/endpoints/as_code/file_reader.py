"""Reads the endpoints that a file declares, or reports all mistakes in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

import yaml
from django import forms
from django.utils.translation import gettext as _

from dashboard.core import labels
from dashboard.core.errors import Refused
from dashboard.endpoints.as_code.fields import FIELDS, KEY_FIELD, FormRules, WrongType, error_text
from dashboard.endpoints.as_code.file_errors import InvalidFile, Mistake, Mistakes, quoted
from dashboard.endpoints.as_code.yaml_nodes import compose, is_null
from probes.dialects import NAMED, check_dialect
from probes.errors import TargetError
from probes.messages import JSON
from probes.secret import Secret
from probes.target import Provider, check_key

VERSION = "1"
MAX_BYTES = 1_000_000
MAX_ENDPOINTS = 5_000
# Other names for our fields, beside misspellings.
_SYNONYMS = {"url": "base_url", "host": "base_url", "interval": "ttl", "every": "ttl"}
_SYNONYMS |= {"concurrency": "max_concurrency", "requests": "daily_requests", "labels": "tags"}
_SYNONYMS |= {"tokens": "daily_tokens", "type": "provider", "key_env": KEY_FIELD}
_SYNONYMS |= {"input_price": "price_input", "output_price": "price_output"}
_SECRETS = {"api_key", "key", "token", "secret", "password", "credential"}
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}")
# The author of a file must not be able to send our own secrets to another host.
_OWN_SECRETS = {"SECRET_KEY", "CREDENTIAL_KEYS", "DATABASE_URL", "REDIS_URL", "METRICS_TOKEN"}
_OWN_SECRETS |= {f"{name}_FILE" for name in _OWN_SECRETS}
# Characters that YAML does not allow unescaped, such as NUL. No file contains lone surrogates.
_FORBIDDEN = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class DeclaredEndpoint:
    """An endpoint in the file, with its values as stored."""

    slug: str
    values: Mapping[str, Any]
    # The name of the environment variable, and the key in it if variables may be read.
    key_variable: str = ""
    key: Secret | None = field(default=None, repr=False)

    def as_file(self) -> dict[str, JSON]:
        return {name: FIELDS[name].write(value) for name, value in self.values.items()}


def decode_file(data: bytes) -> str:
    """Decode UTF-8, or raise InvalidFile with the position of the first invalid byte."""
    _check_size(data)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        before = data[: exc.start].decode("utf-8", "replace")
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        message = _("From here on this is not UTF-8. Save the file as UTF-8.")
        raise InvalidFile([Mistake(line, column, message)]) from exc


def read_endpoints(text: str, *, variables: Mapping[str, str] | None) -> list[DeclaredEndpoint]:
    """The endpoints that a text declares, sorted by slug. Raises InvalidFile with all mistakes.

    `variables` is the environment to read keys from; None if it must not be read.
    """
    _check_size(text.encode("utf-8", "surrogatepass"))
    mistakes = Mistakes()
    _check_characters(text, mistakes)
    mistakes.check()
    root = compose(text, mistakes)
    declared = _FileReader(mistakes, variables).read(root) if root is not None else []
    mistakes.check()
    if root is None:
        message = _("The file is empty. Begin with “version: 1” and “endpoints:”.")
        raise InvalidFile([Mistake(1, 1, message)])
    return sorted(declared, key=lambda endpoint: endpoint.slug)


def _check_size(data: bytes) -> None:
    if len(data) > MAX_BYTES:
        message = _("The file is larger than {most} bytes. Split it.")
        raise InvalidFile([Mistake(1, 1, message.format(most=f"{MAX_BYTES:,}"))])


def _check_characters(text: str, mistakes: Mistakes) -> None:
    for number, line in enumerate(text.split("\n"), start=1):
        if match := _FORBIDDEN.search(line):
            message = _("The character {code} is not allowed here. Delete it.")
            code = f"U+{ord(match[0]):04X}"
            mistakes.add(number, match.start() + 1, message.format(code=code))


class _FileReader:
    """Reads the tree of nodes and continues after a mistake."""

    def __init__(self, mistakes: Mistakes, variables: Mapping[str, str] | None) -> None:
        self._mistakes = mistakes
        self._variables = variables
        self._rules = FormRules()

    def read(self, root: yaml.Node) -> list[DeclaredEndpoint]:
        if not isinstance(root, yaml.MappingNode):
            message = _("The file is a mapping with “version: 1” and “endpoints:”, not this.")
            self._mistakes.at(root, message)
            return []
        parts = self._known_values(root, ["version", "endpoints"])
        self._check_version(root, parts.get("version"))
        endpoints = parts.get("endpoints")
        if endpoints is None:
            self._mistakes.at(root, _("“endpoints:” is missing."))
            return []
        return self._read_endpoints(endpoints)

    def _check_version(self, root: yaml.Node, node: yaml.Node | None) -> None:
        if node is None:
            self._mistakes.at(root, _("“version: 1” is missing."))
        elif not isinstance(node, yaml.ScalarNode) or node.value != VERSION:
            message = _("This Toolgauge reads version 1 of the file. Write “version: 1”.")
            self._mistakes.at(node, message)

    def _read_endpoints(self, node: yaml.Node) -> list[DeclaredEndpoint]:
        if is_null(node):
            return []
        if not isinstance(node, yaml.MappingNode):
            message = _("“endpoints” takes a mapping from names to endpoints, not this.")
            self._mistakes.at(node, message)
            return []
        if len(node.value) > MAX_ENDPOINTS:
            message = _("More than {most} endpoints stand here. Split the file.")
            self._mistakes.at(node, message.format(most=f"{MAX_ENDPOINTS:,}"))
            return []
        return [self._read_endpoint(name, body) for name, body in node.value]

    def _read_endpoint(self, name: yaml.Node, body: yaml.Node) -> DeclaredEndpoint:
        slug = self._read_slug(name)
        if not isinstance(body, yaml.MappingNode):
            message = _("{name} takes its fields, one a line and indented, not this.")
            self._mistakes.at(body, message.format(name=quoted(slug)))
            return DeclaredEndpoint(slug, {})
        nodes = self._known_values(body, [*FIELDS, KEY_FIELD])
        variable, key = self._read_key(nodes.pop(KEY_FIELD, None))
        self._check_required(name, nodes)
        values = {
            field.name: self._read_value(field.name, nodes[field.name])
            if field.name in nodes
            else field.default()
            for field in FIELDS.values()
        }
        self._check_dialect(nodes, values)
        return DeclaredEndpoint(slug, values, variable, key)

    def _check_dialect(self, nodes: Mapping[str, yaml.Node], values: Mapping[str, Any]) -> None:
        """A dialect fits its provider, where both are valid by themselves."""
        if not values["provider"] or not values["dialect"]:
            return
        try:
            check_dialect(Provider(values["provider"]), values["dialect"])
        except TargetError as exc:
            text = labels.probe_error_text(exc)
            self._mistakes.at(
                nodes["dialect"], _("{name}: {why}").format(name=quoted("dialect"), why=text)
            )

    def _read_slug(self, name: yaml.Node) -> str:
        try:
            return self._rules.check_slug(name.value)
        except forms.ValidationError as exc:
            message = _("{name} cannot be the name of an endpoint. {why}")
            text = message.format(name=quoted(name.value), why=error_text(exc))
            self._mistakes.at(name, text)
        return str(name.value)

    def _check_required(self, name: yaml.Node, nodes: Mapping[str, yaml.Node]) -> None:
        missing = [f.name for f in FIELDS.values() if f.is_required and f.name not in nodes]
        if missing:
            message = _("{name} lacks {fields}.")
            text = message.format(name=quoted(name.value), fields=", ".join(missing))
            self._mistakes.at(name, text)

    def _read_value(self, name: str, node: yaml.Node) -> Any:
        """The value as stored, or None with a mistake."""
        try:
            return self._rules.check_value(name, FIELDS[name].read(node, self._mistakes))
        except WrongType as exc:
            self._mistakes.at(exc.node, exc.message(quoted(name)))
        except forms.ValidationError as exc:
            self._mistakes.at(node, _refusal_text(name, node, error_text(exc)))
        except Refused as exc:
            self._mistakes.at(node, _refusal_text(name, node, exc.message))
        return None

    def _read_key(self, node: yaml.Node | None) -> tuple[str, Secret | None]:
        if node is None:
            return "", None
        try:
            return _read_key_variable(node, self._variables)
        except Refused as exc:
            self._mistakes.at(node, exc.message)
        return "", None

    def _known_values(self, mapping: yaml.Node, known: list[str]) -> dict[str, yaml.Node]:
        """The values by name. An unknown name is a mistake, with a suggestion."""
        values: dict[str, yaml.Node] = {}
        for name, node in mapping.value:
            if name.value in known:
                values.setdefault(name.value, node)
            else:
                self._mistakes.at(name, _unknown_field_text(name.value, known))
        return values


def _refusal_text(name: str, node: yaml.Node, why: str) -> str:
    value = node.value.lower() if isinstance(node, yaml.ScalarNode) else ""
    if name == "provider" and (close := get_close_matches(value, list(Provider), n=1)):
        message = _("There is no provider {name}. Did you mean {meant}?")
        return message.format(name=quoted(value), meant=quoted(close[0]))
    if name == "dialect" and (close := get_close_matches(value, list(NAMED), n=1)):
        message = _("There is no dialect {name}. Did you mean {meant}?")
        return message.format(name=quoted(value), meant=quoted(close[0]))
    return _("{name}: {why}").format(name=quoted(name), why=why)


def _unknown_field_text(name: str, known: list[str]) -> str:
    if name.lower() in _SECRETS and KEY_FIELD in known:
        message = _("Keys do not stand in files. Set a variable and name it: {field}: MY_KEY.")
        return message.format(field=KEY_FIELD)
    close = get_close_matches(name.lower(), known, n=1)
    meant = _SYNONYMS.get(name.lower()) or (close[0] if close else "")
    if meant in known:
        message = _("There is no field {name}. Did you mean {meant}?")
        return message.format(name=quoted(name), meant=quoted(meant))
    message = _("There is no field {name}. There are {known}.")
    return message.format(name=quoted(name), known=", ".join(known))


def _read_key_variable(
    node: yaml.Node, variables: Mapping[str, str] | None
) -> tuple[str, Secret | None]:
    """The name of the variable and its key; no key if variables must not be read."""
    name = "" if is_null(node) else str(node.value)
    if not isinstance(node, yaml.ScalarNode) or not _VARIABLE.fullmatch(name):
        # The value may be the key itself: the message does not repeat it.
        raise Refused(_("“api_key_env” takes the name of a variable, such as TEAM_KEY, not a key."))
    if name.upper() in _OWN_SECRETS:
        message = _("{name} is a secret of Toolgauge itself and leaves it for no endpoint.")
        raise Refused(message.format(name=quoted(name)))
    return name, None if variables is None else _key_from(name, variables)


def _key_from(name: str, variables: Mapping[str, str]) -> Secret:
    text = variables.get(name, "").strip()
    if not text:
        message = _("The variable {name} is not set. Set it, or delete this line to keep the key.")
        raise Refused(message.format(name=quoted(name)))
    try:
        return check_key(text)
    except TargetError as exc:
        message = _("The variable {name} holds no key. {why}")
        raise Refused(message.format(name=quoted(name), why=exc.message)) from exc
