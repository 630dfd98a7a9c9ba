"""The options of a generation in the Responses API."""

from __future__ import annotations

from collections.abc import Mapping

from probes.adapters.generation.openai_chat import read_schema_output, write_schema_output
from probes.adapters.generation.options import (
    DEFAULT,
    MAX_USER,
    Option,
    OptionTable,
    Values,
    effort_option,
    number_option,
    user_option,
)
from probes.messages import JSON, JSONOutput


def _read_output(value: JSON) -> JSONOutput | str | None:
    match value:
        case {"type": "text"}:
            return DEFAULT
        case {"type": "json_object"}:
            return JSONOutput()
        case Mapping() if value.get("type") == "json_schema":
            return read_schema_output(value)
        case _:
            return None


def _write_output(output: JSONOutput) -> Values:
    if output.schema is None:
        return ({"type": "json_object"},)
    return ({"type": "json_schema", **write_schema_output(output)},)


OPTIONS = OptionTable(
    number_option("temperature", "temperature"),
    number_option("top_p", "top_p"),
    effort_option("reasoning.effort"),
    Option("output", ("text.format",), _read_output, _write_output),
    user_option("user", "safety_identifier", "user", limit=MAX_USER),
    user_option("session", "prompt_cache_key", limit=MAX_USER),
)
