"""The fields of a question, set by the operator or sent by the client."""

from __future__ import annotations

from collections.abc import Mapping

from probes.messages import JSON, ModelCall

# Where the adapters keep tools other than functions.
_OTHER_TOOLS = ("$tools", "tools")


def has_field(call: ModelCall, key: str) -> bool:
    """Whether the operator or the client set a field of the request."""
    return any(key in sent for sent in _requested(call))


def is_enabled(call: ModelCall, key: str) -> bool:
    """Whether a field of the request has a truthy value."""
    return any(sent.get(key) for sent in _requested(call))


def contains_fields(call: ModelCall, fields: Mapping[str, JSON]) -> bool:
    """Whether the request has all of these fields, nested values included."""
    return any(_contains(sent, fields) for sent in _requested(call))


def client_enables(call: ModelCall, key: str) -> bool:
    """The same for the client's fields, which its adapter keeps under the format's name."""
    return any(isinstance(sent, Mapping) and sent.get(key) for sent in call.extra.values())


def non_function_tools(fields: JSON) -> list[str]:
    """The names of one format's fields that hold tools other than functions."""
    if not isinstance(fields, Mapping):
        return []
    return [name for name in _OTHER_TOOLS if fields.get(name)]


def without_fields(sent: JSON, *names: str) -> JSON:
    """One format's fields without these."""
    if not isinstance(sent, Mapping):
        return sent
    return {key: value for key, value in sent.items() if key not in names}


def _requested(call: ModelCall) -> list[Mapping[str, JSON]]:
    client_fields = [fields for fields in call.extra.values() if isinstance(fields, Mapping)]
    return [call.options, *client_fields]


def _contains(sent: Mapping[str, JSON], fields: Mapping[str, JSON]) -> bool:
    for key, value in fields.items():
        actual = sent.get(key)
        if isinstance(value, Mapping) and isinstance(actual, Mapping):
            if not _contains(actual, value):
                return False
        elif actual != value:
            return False
    return True
