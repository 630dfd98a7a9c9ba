"""What a question asks for, as an operator set it or a client sent it."""

from __future__ import annotations

from collections.abc import Mapping

from probes.messages import JSON, ModelCall

# Where the adapters keep tools that are no functions.
_OTHER_TOOLS = ("$tools", "tools")


def has_field(call: ModelCall, key: str) -> bool:
    """Whether the operator or the client set a field of the request."""
    return any(key in sent for sent in _requested(call))


def is_enabled(call: ModelCall, key: str) -> bool:
    """Whether a field of the request has a value that says yes."""
    return any(sent.get(key) for sent in _requested(call))


def contains_fields(call: ModelCall, fields: Mapping[str, JSON]) -> bool:
    """Whether the request has all of these fields, with what stands inside them."""
    return any(_contains(sent, fields) for sent in _requested(call))


def client_enables(call: ModelCall, key: str) -> bool:
    """The same of what a client sent, which its adapter keeps under the format's name."""
    return any(isinstance(sent, Mapping) and sent.get(key) for sent in call.extra.values())


def non_function_tools(fields: JSON) -> list[str]:
    """The names under which one format's fields hold tools that are no functions."""
    if not isinstance(fields, Mapping):
        return []
    return [name for name in _OTHER_TOOLS if fields.get(name)]


def without_fields(sent: JSON, *names: str) -> JSON:
    """One format's fields without some of them."""
    if not isinstance(sent, Mapping):
        return sent
    return {key: value for key, value in sent.items() if key not in names}


def _requested(call: ModelCall) -> list[Mapping[str, JSON]]:
    kept = [fields for fields in call.extra.values() if isinstance(fields, Mapping)]
    return [call.options, *kept]


def _contains(sent: Mapping[str, JSON], fields: Mapping[str, JSON]) -> bool:
    for key, value in fields.items():
        given = sent.get(key)
        if isinstance(value, Mapping) and isinstance(given, Mapping):
            if not _contains(given, value):
                return False
        elif given != value:
            return False
    return True
