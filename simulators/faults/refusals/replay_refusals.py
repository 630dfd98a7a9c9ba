"""Reasoning that must come back with a history, in each vendor's words for what is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from probes.adapters.json_fields import text_or_empty
from probes.outcomes import Metric
from simulators.faults.fault import Effect, Fault
from simulators.faults.refusals.chat_reasoning import MUST_RETURN, reasoning_of, refuse_missing
from simulators.faults.refusals.filled_reasoning import REFUSES_FILLER
from simulators.faults.refusals.refusal import (
    Body,
    Refusing,
    assistants,
    blocks,
    call_ids,
    entries,
    fault,
    on_body,
    while_thinking,
)
from simulators.faults.refusals.signed_blocks import BLOCKS_UNMODIFIED, PREFIX_BOUND, THINKING
from simulators.faults.thinking_models import always_thinking, thinking
from simulators.vendors import responses_rules, rules
from simulators.vendors.closure_rules import contents_of, parts_of
from simulators.vendors.error_envelopes import Complaint
from simulators.vendors.item_ids import needed_reasoning
from simulators.vendors.model_traits import Replay
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


def _need_current(body: Body) -> None:
    """The reasoning of calls since the last question."""
    users = [i for i, item in enumerate(entries(body, "messages")) if item.get("role") == "user"]
    last = users[-1] if users else -1
    for index, message in assistants(body):
        if index > last and call_ids(message) and reasoning_of(message) is None:
            raise Complaint(MISSING_FIELD.replace("{index}", str(index)))


def _need_calls(body: Body) -> None:
    """The reasoning of every message that calls."""
    for index, message in assistants(body):
        if call_ids(message) and reasoning_of(message) is None:
            raise Complaint(KIMI_MISSING.replace("{index}", str(index)))


def _need_all(body: Body) -> None:
    refuse_missing(body, lambda said: said is not None)


def _need_words(body: Body) -> None:
    refuse_missing(body, bool)


def _need_blocks(body: Body) -> None:
    """A thinking block in every message from the first call of a turn on."""
    for _, message in _in_tool_turns(body):
        if not any(blocks(message, kind) for kind in THINKING):
            raise Complaint(BLOCK_MUST_RETURN)


def _in_tool_turns(body: Body) -> Iterator[tuple[int, Body]]:
    called = False
    for index, message in enumerate(entries(body, "messages")):
        if message.get("role") == "assistant":
            called = called or bool(blocks(message, "tool_use"))
            if called:
                yield index, message
        elif not blocks(message, "tool_result"):
            called = False


def _no_fields(body: Body) -> None:
    for index, message in assistants(body):
        for name in ("reasoning_content", "reasoning", "reasoning_details"):
            if name in message:
                where = f"messages[{index}].{name}"
                text = f"Unknown parameter: '{where}'."
                raise Complaint(text, param=where, code="unknown_parameter")


def _no_blocks(body: Body) -> None:
    for index, message in assistants(body):
        for kind in THINKING:
            for place, _ in blocks(message, kind):
                where = f"messages.{index}.content.{place}.{kind}"
                raise Complaint(f"{where}: Extra inputs are not permitted")


def _refuse_chat(body: Body) -> None:
    if any(call_ids(message) for _, message in assistants(body)):
        raise Complaint(MUST_RETURN, code="invalid_request_error")


def _refuse_blocks(body: Body) -> None:
    if any(blocks(message, "tool_use") for _, message in assistants(body)):
        raise Complaint(BLOCK_MUST_RETURN)


def _refuse_items(body: Body) -> None:
    for item in entries(body, "input"):
        if item.get("type") == "function_call":
            id_ = text_or_empty(item.get("id")) or text_or_empty(item.get("call_id"))
            needed = needed_reasoning(id_) or "rs_0"
            raise Complaint(
                f"Item '{id_}' of type 'function_call' was provided without its required "
                f"'reasoning' item: '{needed}'.",
                param="input",
            )


def _refuse_parts(body: Body) -> None:
    for content in contents_of(body):
        if any("functionCall" in part for part in parts_of(content)):
            raise Complaint("Corrupted thought signature.")


def _signing(spec: Spec) -> Spec:
    models = {name: replace(model, replay=Replay.SIGNATURES) for name, model in spec.models.items()}
    return replace(spec, models=models)


def _wants(name: str, row: str, shows: str, check: Callable[[Body], None], replay: Replay) -> Fault:
    """A rule of Chat Completions that a client meets which gives all reasoning back."""
    bend = Refusing({"openai": while_thinking(check)}, partial(thinking, replay=replay))
    return fault(name, row, shows, bend)


FAULTS = (
    _wants(
        "wants-reasoning-same-turn",
        "Z01",
        "400 where a call since the last question comes back without its reasoning, with the index",
        _need_current,
        Replay.SAME_TURN,
    ),
    _wants(
        "wants-reasoning-all-turns",
        "Z02",
        "400 where a tool turn of any age comes back without its reasoning",
        _need_all,
        Replay.ALL_TURNS,
    ),
    _wants(
        "refuses-blank-reasoning",
        "Z04",
        "the same also where the reasoning is empty; a single space passes",
        _need_words,
        Replay.ALL_TURNS,
    ),
    REFUSES_FILLER,
    _wants(
        "kimi-reasoning",
        "Z08",
        "400 where a message with calls comes back without its reasoning, in Kimi's words",
        _need_calls,
        Replay.CALL_TURNS,
    ),
    fault(
        "wants-thinking-blocks",
        "Z06",
        "400 where a tool turn comes back without its thinking block",
        Refusing(
            {"anthropic": while_thinking(_need_blocks)},
            partial(thinking, replay=Replay.ALL_TURNS),
        ),
    ),
    BLOCKS_UNMODIFIED,
    PREFIX_BOUND,
    fault(
        "wants-signatures",
        "Z12, Z13",
        "400 where a call of the current turn comes back without its thought signature",
        # The format's own rule looks at signatures, where its models sign.
        Refusing({"gemini": rules.gemini}, _signing),
    ),
    fault(
        "wants-items",
        "Z51",
        "400 where a call comes back without the reasoning item before it, or the item alone",
        Refusing(
            {"openai_responses": responses_rules.responses},
            partial(thinking, replay=Replay.ALL_TURNS),
        ),
    ),
    fault(
        "rejects-reasoning",
        "",
        "a history that carries reasoning is refused as an unknown parameter",
        Refusing(
            {"openai": on_body(_no_fields), "anthropic": on_body(_no_blocks)}, always_thinking
        ),
        Effect(fields={"reasoning_replay": "rejected"}),
    ),
    fault(
        "refuses-replay",
        "Z03",
        "every continuation of a call is refused for its reasoning, which came back as it was",
        Refusing(
            {
                "openai": on_body(_refuse_chat),
                "anthropic": on_body(_refuse_blocks),
                "openai_responses": on_body(_refuse_items),
                "gemini": on_body(_refuse_parts),
            },
            always_thinking,
        ),
        Effect(
            {Metric.REASONING_REPLAY_ERROR: 1},
            {"reasoning_replay": "unknown", "error_repair": "unknown"},
        ),
    ),
)
