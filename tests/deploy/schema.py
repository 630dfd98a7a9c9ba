"""The part of the Compose file format that we use, as a JSON schema; anything else is an error."""

from __future__ import annotations

from typing import Any

STRING = {"type": "string"}
STRINGS = {"type": "array", "items": STRING, "uniqueItems": True}
COMMAND_LINE = {"type": "array", "items": STRING, "minItems": 1}
SIZE = {"type": "string", "pattern": r"^\d+(b|k|m|g|kb|mb|gb)$"}
DURATION = {"type": "string", "pattern": r"^(\d+(\.\d+)?(us|ms|s|m|h))+$"}


def _object(properties: dict[str, Any], *, required: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


HEALTHCHECK = {
    "oneOf": [
        _object({"disable": {"const": True}}, required=("disable",)),
        _object(
            {
                "test": {
                    "type": "array",
                    "prefixItems": [{"enum": ["CMD", "CMD-SHELL"]}],
                    "items": STRING,
                    "minItems": 2,
                },
                "interval": DURATION,
                "timeout": DURATION,
                "start_period": DURATION,
                "retries": {"type": "integer", "minimum": 1},
            },
            required=("test", "interval", "timeout", "retries"),
        ),
    ]
}
CONDITIONS = ["service_started", "service_healthy", "service_completed_successfully"]
SERVICE = _object(
    {
        "build": _object(
            {"context": STRING, "args": {"type": "object", "additionalProperties": STRING}},
            required=("context",),
        ),
        "image": STRING,
        "command": COMMAND_LINE,
        "environment": {"type": "object", "additionalProperties": STRING},
        "user": {"type": "string", "pattern": r"^\d+(:\d+)?$"},
        "init": {"type": "boolean"},
        "read_only": {"type": "boolean"},
        "tmpfs": STRINGS,
        "cap_drop": STRINGS,
        "security_opt": STRINGS,
        "restart": {"type": "string", "pattern": r"^(no|always|unless-stopped|on-failure(:\d+)?)$"},
        "depends_on": {
            "type": "object",
            "additionalProperties": _object({"condition": {"enum": CONDITIONS}}),
        },
        "ports": STRINGS,
        "volumes": STRINGS,
        "shm_size": SIZE,
        "mem_limit": SIZE,
        "stop_signal": {"type": "string", "pattern": "^SIG[A-Z0-9]+$"},
        "stop_grace_period": DURATION,
        "healthcheck": HEALTHCHECK,
    },
    required=("image",),
)
COMPOSE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "pattern": "^[a-z0-9][a-z0-9_-]*$"},
        "services": {"type": "object", "additionalProperties": SERVICE},
        "volumes": {"type": "object", "additionalProperties": {"type": ["object", "null"]}},
    },
    "patternProperties": {"^x-": {}},
    "required": ["services"],
    "additionalProperties": False,
}
