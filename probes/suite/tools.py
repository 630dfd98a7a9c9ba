from __future__ import annotations

from probes.messages import ToolSpec

TAGS = ("alpha", "beta")

PROBE_ECHO = ToolSpec(
    name="probe_echo",
    description="Echoes a message back under a tag. Has no side effects.",
    schema={
        "type": "object",
        "properties": {
            "message": {"type": "string", "description": "The text to echo, exactly as given."},
            "tag": {"type": "string", "enum": list(TAGS), "description": "The label of the echo."},
        },
        # Every property required and nothing else allowed: what a strict mode asks for.
        "required": ["message", "tag"],
        "additionalProperties": False,
    },
)
