"""Histories that are refused for the ids of their calls and results."""

from __future__ import annotations

import re
from dataclasses import replace

from probes.adapters.json_fields import text_or_empty
from probes.outcomes import Metric
from simulators.faults.fault import Effect
from simulators.faults.refusals.refusal import (
    Body,
    RefusalCheck,
    assistant_messages,
    check_body,
    find_blocks,
    list_entries,
    read_call_ids,
    refusal_fault,
)
from simulators.vendors.error_envelopes import RequestRefused
from simulators.vendors.reply_style import IdStyle
from simulators.vendors.spec import Spec

NINE_CHARACTERS = re.compile(r"[a-zA-Z0-9]{9}")


def _check_unique_uses(body: Body) -> None:
    ids = [
        (f"messages.{index}.content.{place}", text_or_empty(block.get("id")))
        for index, message in assistant_messages(body)
        for place, block in find_blocks(message, "tool_use")
    ]
    _require_unique(ids)


def _check_unique_calls(body: Body) -> None:
    """The same message on a Chat route, which converts calls to blocks."""
    ids = [
        (f"messages.{index}.content.{place}", id_)
        for index, message in assistant_messages(body)
        for place, id_ in enumerate(read_call_ids(message))
    ]
    _require_unique(ids)


def _require_unique(ids: list[tuple[str, str]]) -> None:
    seen: set[str] = set()
    for where, id_ in ids:
        if id_ in seen:
            raise RequestRefused(f"{where}: `tool_use` ids must be unique")
        seen.add(id_)


def _check_single_outputs(body: Body) -> None:
    seen: set[str] = set()
    for item in list_entries(body, "input"):
        if item.get("type") != "function_call_output":
            continue
        id_ = text_or_empty(item.get("call_id"))
        if id_ in seen:
            raise RequestRefused(
                f"Duplicate function_call_output for call_id '{id_}'. Each function_call must have "
                "exactly one matching function_call_output",
                param="input",
            )
        seen.add(id_)


def _check_nine_characters(body: Body) -> None:
    for message in list_entries(body, "messages"):
        ids = read_call_ids(message)
        if message.get("role") == "tool":
            ids.append(text_or_empty(message.get("tool_call_id")))
        for id_ in ids:
            if not NINE_CHARACTERS.fullmatch(id_):
                raise RequestRefused(
                    f"Tool call id was {id_} but must be a-z, A-Z, 0-9, with a length of 9.",
                    code="3280",
                )


def _with_nine_character_ids(spec: Spec) -> Spec:
    return replace(spec, style=replace(spec.style, call_ids=IdStyle("", 9)))


FAULTS = (
    refusal_fault(
        "unique-ids",
        "Z72",
        "400 where an id of a call stands twice in the history",
        RefusalCheck(
            {"anthropic": check_body(_check_unique_uses), "openai": check_body(_check_unique_calls)}
        ),
    ),
    refusal_fault(
        "duplicate-output",
        "Z44",
        "400 where two outputs have one call_id",
        RefusalCheck({"openai_responses": check_body(_check_single_outputs)}),
    ),
    refusal_fault(
        "nine-character-ids",
        "Z49",
        "ids of nine letters and digits, and 400 for any other in a history",
        RefusalCheck({"openai": check_body(_check_nine_characters)}, _with_nine_character_ids),
        # Calls in the text have no ids, and those that a client gives them are refused.
        Effect(
            in_text=Effect(
                {Metric.CLOSURE_ERROR: 1}, {"error_repair": "unknown"}, hides_replay=True
            )
        ),
    ),
)
