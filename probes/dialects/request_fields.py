"""The fields of a question, set by the operator or sent by the client."""

from __future__ import annotations

from collections.abc import Mapping

from probes.messages import JSON, ModelCall


def has_field(call: ModelCall, format: str, key: str) -> bool:
    """Whether the operator, or a client of the same format, set a field of the request."""
    return any(key in sent for sent in _requested(call, format))


def is_enabled(call: ModelCall, format: str, key: str) -> bool:
    """Whether a field of the request has a truthy value."""
    return any(sent.get(key) for sent in _requested(call, format))


def contains_fields(call: ModelCall, format: str, fields: Mapping[str, JSON]) -> bool:
    """Whether the request has all of these fields, nested values included."""
    return any(_contains(sent, fields) for sent in _requested(call, format))


def client_enables(call: ModelCall, key: str) -> bool:
    """The same for the client's fields, which its adapter keeps under the format's name."""
    return any(isinstance(sent, Mapping) and sent.get(key) for sent in call.extra.values())


def without_fields(sent: JSON, *names: str) -> JSON:
    """One format's fields without these."""
    if not isinstance(sent, Mapping):
        return sent
    return {key: value for key, value in sent.items() if key not in names}


def _requested(call: ModelCall, format: str) -> list[Mapping[str, JSON]]:
    # Fields of another format are not sent, whatever they are called.
    fields = call.extra.get(format)
    return [call.options, fields] if isinstance(fields, Mapping) else [call.options]


def _contains(sent: Mapping[str, JSON], fields: Mapping[str, JSON]) -> bool:
    for key, value in fields.items():
        actual = sent.get(key)
        if isinstance(value, Mapping) and isinstance(actual, Mapping):
            if not _contains(actual, value):
                return False
        elif actual != value:
            return False
    return True
