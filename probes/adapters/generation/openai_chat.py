"""The options of a generation in Chat Completions."""

from __future__ import annotations

from collections.abc import Mapping

from probes.adapters.generation.options import (
    DEFAULT,
    MAX_USER,
    Option,
    OptionTable,
    Values,
    effort_option,
    number_option,
    stop_option,
    user_option,
)
from probes.adapters.json_fields import fields_with_values, text_or_empty
from probes.messages import JSON, JSONOutput

DEFAULT_NAME = "answer"


def read_schema_output(fields: Mapping[str, JSON]) -> JSONOutput | None:
    """An output with a schema; both OpenAI formats have the same fields at different places."""
    schema, strict = fields.get("schema"), fields.get("strict")
    if not isinstance(schema, Mapping):
        return None
    return JSONOutput(
        schema,
        text_or_empty(fields.get("name")),
        strict if isinstance(strict, bool) else None,
        text_or_empty(fields.get("description")),
    )


def write_schema_output(output: JSONOutput) -> dict[str, JSON]:
    """The fields of an output with a schema; a name is required."""
    fields = fields_with_values(strict=output.strict, description=output.description or None)
    return {"name": output.name or DEFAULT_NAME, "schema": output.schema, **fields}


def _read_output(value: JSON) -> JSONOutput | str | None:
    match value:
        case {"type": "text"}:
            return DEFAULT
        case {"type": "json_object"}:
            return JSONOutput()
        case {"type": "json_schema", "json_schema": Mapping() as fields}:
            return read_schema_output(fields)
        case _:
            return None


def _write_output(output: JSONOutput) -> Values:
    if output.schema is None:
        return ({"type": "json_object"},)
    return ({"type": "json_schema", "json_schema": write_schema_output(output)},)


def _read_flag(value: JSON) -> bool | None:
    return value if isinstance(value, bool) else None


OPTIONS = OptionTable(
    number_option("temperature", "temperature"),
    number_option("top_p", "top_p"),
    number_option("seed", "seed"),
    number_option("presence_penalty", "presence_penalty"),
    number_option("frequency_penalty", "frequency_penalty"),
    stop_option("stop"),
    effort_option("reasoning_effort"),
    Option("output", ("response_format",), _read_output, _write_output),
    user_option("user", "user", "safety_identifier", limit=MAX_USER),
    user_option("session", "prompt_cache_key", limit=MAX_USER),
    Option("include_usage", ("stream_options.include_usage",), _read_flag, lambda flag: (flag,)),
)
