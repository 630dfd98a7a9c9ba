"""Reasoning that must be replayed with a history, with each vendor's error message."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from probes.adapters.json_fields import text_or_empty
from probes.outcomes import Metric
from simulators.faults.fault import Effect, Fault
from simulators.faults.refusals.chat_reasoning import MUST_RETURN, read_reasoning, require_reasoning
from simulators.faults.refusals.filled_reasoning import REFUSES_FILLER
from simulators.faults.refusals.refusal import (
    Body,
    RefusalCheck,
    assistant_messages,
    check_body,
    check_while_thinking,
    find_blocks,
    list_entries,
    read_call_ids,
    refusal_fault,
)
from simulators.faults.refusals.signed_blocks import BLOCKS_UNMODIFIED, PREFIX_BOUND, THINKING
from simulators.faults.thinking_models import with_constant_thinking, with_thinking
from simulators.vendors import responses_rules, rules
from simulators.vendors.closure_rules import read_contents, read_parts
from simulators.vendors.error_envelopes import RequestRefused
from simulators.vendors.item_ids import required_reasoning_id
from simulators.vendors.model_traits import ReplayDuty
from simulators.vendors.spec import Spec

BLOCK_MUST_RETURN = "The `content[].thinking` in the thinking mode must be passed back to the API."
MISSING_FIELD = (
    "Missing `reasoning_content` field in the assistant message at message index {index}. For more "
    "information, please refer to https://api-docs.deepseek.com/guides/thinking_mode#tool-calls"
)
KIMI_MISSING = (
    "thinking is enabled but reasoning_content is missing in assistant tool call message at index "
    "{index}"
)


def _require_current_turn(body: Body) -> None:
    """Require the reasoning of calls since the last question."""
    users = [
        i for i, item in enumerate(list_entries(body, "messages")) if item.get("role") == "user"
    ]
    last = users[-1] if users else -1
    for index, message in assistant_messages(body):
        if index > last and read_call_ids(message) and read_reasoning(message) is None:
            raise RequestRefused(MISSING_FIELD.replace("{index}", str(index)))


def _require_with_calls(body: Body) -> None:
    """Require the reasoning of every message with calls."""
    for index, message in assistant_messages(body):
        if read_call_ids(message) and read_reasoning(message) is None:
            raise RequestRefused(KIMI_MISSING.replace("{index}", str(index)))


def _require_all(body: Body) -> None:
    require_reasoning(body, lambda reasoning: reasoning is not None)


def _require_nonempty(body: Body) -> None:
    require_reasoning(body, bool)


def _require_blocks(body: Body) -> None:
    """Require a thinking block in every message from the first call of a turn on."""
    for _, message in _iter_tool_turns(body):
        if not any(find_blocks(message, kind) for kind in THINKING):
            raise RequestRefused(BLOCK_MUST_RETURN)


def _iter_tool_turns(body: Body) -> Iterator[tuple[int, Body]]:
    called = False
    for index, message in enumerate(list_entries(body, "messages")):
        if message.get("role") == "assistant":
            called = called or bool(find_blocks(message, "tool_use"))
            if called:
                yield index, message
        elif not find_blocks(message, "tool_result"):
            called = False


def _reject_fields(body: Body) -> None:
    for index, message in assistant_messages(body):
        for name in ("reasoning_content", "reasoning", "reasoning_details"):
            if name in message:
                where = f"messages[{index}].{name}"
                text = f"Unknown parameter: '{where}'."
                raise RequestRefused(text, param=where, code="unknown_parameter")


def _reject_blocks(body: Body) -> None:
    for index, message in assistant_messages(body):
        for kind in THINKING:
            for place, _ in find_blocks(message, kind):
                where = f"messages.{index}.content.{place}.{kind}"
                raise RequestRefused(f"{where}: Extra inputs are not permitted")


def _refuse_chat(body: Body) -> None:
    if any(read_call_ids(message) for _, message in assistant_messages(body)):
        raise RequestRefused(MUST_RETURN, code="invalid_request_error")


def _refuse_blocks(body: Body) -> None:
    if any(find_blocks(message, "tool_use") for _, message in assistant_messages(body)):
        raise RequestRefused(BLOCK_MUST_RETURN)


def _refuse_items(body: Body) -> None:
    for item in list_entries(body, "input"):
        if item.get("type") == "function_call":
            id_ = text_or_empty(item.get("id")) or text_or_empty(item.get("call_id"))
            needed = required_reasoning_id(id_) or "rs_0"
            raise RequestRefused(
                f"Item '{id_}' of type 'function_call' was provided without its required "
                f"'reasoning' item: '{needed}'.",
                param="input",
            )


def _refuse_parts(body: Body) -> None:
    for content in read_contents(body):
        if any("functionCall" in part for part in read_parts(content)):
            raise RequestRefused("Corrupted thought signature.")


# Require the reasoning of every tool turn, where a format can carry it.
REPLAY_CHECKS = {
    "openai": check_while_thinking(_require_all),
    "anthropic": check_while_thinking(_require_blocks),
}


def _with_signatures(spec: Spec) -> Spec:
    models = {
        name: replace(model, replay=ReplayDuty.SIGNATURES) for name, model in spec.models.items()
    }
    return replace(spec, models=models)


def _replay_fault(
    name: str, row: str, symptom: str, check: Callable[[Body], None], replay: ReplayDuty
) -> Fault:
    """A rule of Chat Completions that is met by replaying all reasoning."""
    hooks = RefusalCheck(
        {"openai": check_while_thinking(check)}, partial(with_thinking, replay=replay)
    )
    return refusal_fault(name, row, symptom, hooks)


FAULTS = (
    _replay_fault(
        "wants-reasoning-same-turn",
        "Z01",
        "400 where a call since the last question comes back without its reasoning, with the index",
        _require_current_turn,
        ReplayDuty.SAME_TURN,
    ),
    _replay_fault(
        "wants-reasoning-all-turns",
        "Z02",
        "400 where a tool turn of any age comes back without its reasoning",
        _require_all,
        ReplayDuty.ALL_TURNS,
    ),
    _replay_fault(
        "refuses-blank-reasoning",
        "Z04",
        "the same also where the reasoning is empty; a single space passes",
        _require_nonempty,
        ReplayDuty.ALL_TURNS,
    ),
    REFUSES_FILLER,
    _replay_fault(
        "kimi-reasoning",
        "Z08",
        "400 where a message with calls comes back without its reasoning, in Kimi's words",
        _require_with_calls,
        ReplayDuty.CALL_TURNS,
    ),
    refusal_fault(
        "wants-thinking-blocks",
        "Z06",
        "400 where a tool turn comes back without its thinking block",
        RefusalCheck(
            {"anthropic": check_while_thinking(_require_blocks)},
            partial(with_thinking, replay=ReplayDuty.ALL_TURNS),
        ),
    ),
    BLOCKS_UNMODIFIED,
    PREFIX_BOUND,
    refusal_fault(
        "wants-signatures",
        "Z12, Z13",
        "400 where a call of the current turn comes back without its thought signature",
        # The format's own rule checks signatures if its models sign.
        RefusalCheck({"gemini": rules.check_gemini}, _with_signatures),
    ),
    refusal_fault(
        "wants-items",
        "Z51",
        "400 where a call comes back without the reasoning item before it, or the item alone",
        RefusalCheck(
            {"openai_responses": responses_rules.check_responses},
            partial(with_thinking, replay=ReplayDuty.ALL_TURNS),
        ),
    ),
    refusal_fault(
        "rejects-reasoning",
        "",
        "a history that carries reasoning is refused as an unknown parameter",
        RefusalCheck(
            {"openai": check_body(_reject_fields), "anthropic": check_body(_reject_blocks)},
            with_constant_thinking,
        ),
        Effect(fields={"reasoning_replay": "rejected"}),
    ),
    refusal_fault(
        "refuses-replay",
        "Z03",
        "every continuation of a call is refused for its reasoning, which came back as it was",
        RefusalCheck(
            {
                "openai": check_body(_refuse_chat),
                "anthropic": check_body(_refuse_blocks),
                "openai_responses": check_body(_refuse_items),
                "gemini": check_body(_refuse_parts),
            },
            with_constant_thinking,
        ),
        Effect(
            {Metric.REASONING_REPLAY_ERROR: 1},
            dict.fromkeys(
                ("reasoning_replay", "error_repair", "result_role", "image_result"), "unknown"
            ),
        ),
    ),
)
