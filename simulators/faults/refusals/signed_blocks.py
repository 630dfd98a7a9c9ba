"""Signed thinking blocks that must be unmodified, or are bound to everything before them."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import replace

from typing_extensions import override

from probes.adapters.json_fields import list_or_empty, object_or_empty, text_or_empty
from probes.messages import JSON, Part, Reasoning, ReasoningKind, Reply
from probes.outcomes import Metric
from simulators.faults.fault import Effect, Fault
from simulators.faults.refusals.refusal import (
    Body,
    RefusalCheck,
    assistant_messages,
    check_body,
    find_blocks,
    list_entries,
    refusal_fault,
)
from simulators.vendors.error_envelopes import RequestRefused
from simulators.vendors.hooks import FaultHooks
from simulators.vendors.reply_style import is_own_signature, sign_text
from simulators.vendors.spec import Rule, Spec, VendorRequest

FORMAT = "anthropic"
# The length of the block's own signature; the rest binds the block to its conversation.
SIGNATURE_LENGTH = len(sign_text(""))
THINKING = ("thinking", "redacted_thinking")
MODIFIED = (
    "messages.{index}.content.{place}: `thinking` or `redacted_thinking` blocks in the latest "
    "assistant message cannot be modified. These blocks must remain as they were in the original "
    "response."
)
BOUND_ELSEWHERE = (
    "messages.{index}.content.{place}: Invalid `signature` in `thinking` block. The block is bound "
    "to a different conversation. Remove the block, or set "
    '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
)


class PrefixBinding(FaultHooks):
    """Binds each thinking block to system text, tools and messages before it."""

    @override
    def spec(self, spec: Spec) -> Spec:
        return replace(spec, rule=_with_binding_check(spec.rule)) if spec.format == FORMAT else spec

    @override
    def reply(self, reply: Reply, request: VendorRequest, rng: random.Random) -> Reply:
        binding = _binding(request.body, len(list_entries(request.body, "messages")))
        return replace(reply, parts=tuple(_with_binding(part, binding) for part in reply.parts))


def _with_binding(part: Part, binding: str) -> Part:
    if not isinstance(part, Reasoning) or part.kind is not ReasoningKind.BLOCK:
        return part
    raw = object_or_empty(part.raw)
    return replace(part, raw={**raw, "signature": f"{raw.get('signature', '')}{binding}"})


def _with_binding_check(rule: Rule | None) -> Rule:
    def check(request: VendorRequest) -> None:
        if rule is not None:
            rule(replace(request, body=_without_bindings(request.body)))
        if not _allows_dropping(request.body):
            _check_bindings(request.body)

    return check


def _check_bindings(body: Body) -> None:
    for index, message in enumerate(list_entries(body, "messages")):
        for place, block in find_blocks(message, "thinking"):
            binding = text_or_empty(block.get("signature"))[SIGNATURE_LENGTH:]
            # Blocks issued before the fault began are not bound.
            if binding and binding != _binding(body, index):
                text = BOUND_ELSEWHERE.replace("{index}", str(index))
                raise RequestRefused(text.replace("{place}", str(place)))


def _binding(body: Body, index: int) -> str:
    """A signature of everything before a message."""
    before = list_or_empty(body.get("messages"))[:index]
    prefix = [body.get("system"), body.get("tools"), before]
    return sign_text(json.dumps(prefix, sort_keys=True))


def _allows_dropping(body: Body) -> bool:
    """Whether the client allows mismatching blocks to be dropped."""
    binding = object_or_empty(object_or_empty(body.get("thinking")).get("block_binding"))
    return binding.get("prefix_mismatch_behavior") == "drop_block"


def _without_bindings(value: JSON) -> Body:
    """The body with plain signatures, as the vendor's own rule expects them."""
    body = object_or_empty(value)
    messages: list[JSON] = [
        _message_without_bindings(item) for item in list_entries(body, "messages")
    ]
    return {**body, "messages": messages} if messages else body


def _message_without_bindings(message: Body) -> Body:
    content = message.get("content")
    if not isinstance(content, list):
        return message
    return {**message, "content": [_block_without_binding(block) for block in content]}


def _block_without_binding(block: JSON) -> JSON:
    if not isinstance(block, Mapping) or block.get("type") != "thinking":
        return block
    return {**block, "signature": text_or_empty(block.get("signature"))[:SIGNATURE_LENGTH]}


def _require_unmodified(body: Body) -> None:
    """Require the latest message's blocks to come first, unmodified."""
    for index, message in list(assistant_messages(body))[-1:]:
        kinds = [block.get("type") for block in list_entries(message, "content")]
        for place, block in find_blocks(message, "thinking"):
            is_moved = any(kind not in THINKING for kind in kinds[:place])
            if is_moved or not _is_as_issued(block):
                text = MODIFIED.replace("{index}", str(index)).replace("{place}", str(place))
                raise RequestRefused(text)


def _is_as_issued(block: Body) -> bool:
    thinking, signature = (
        text_or_empty(block.get("thinking")),
        text_or_empty(block.get("signature")),
    )
    # A vendor can omit the text and sign the reasoning behind it.
    return (
        signature.startswith(sign_text(thinking))
        if thinking
        else is_own_signature(signature[:SIGNATURE_LENGTH])
    )


_HOOKS = PrefixBinding()
PREFIX_BOUND = Fault(
    "prefix-bound",
    "Z69",
    "400 where system text, tools or messages before a thinking block have changed",
    lambda value: _HOOKS,
    frozenset({FORMAT}),
    # A trimmed history is refused; how many of the histories are trimmed depends on the client.
    Effect({Metric.REASONING_REPLAY_ERROR: None}),
)
BLOCKS_UNMODIFIED = refusal_fault(
    "blocks-unmodified",
    "Z54",
    "400 where a thinking block of the latest answer was changed or moved",
    RefusalCheck({"anthropic": check_body(_require_unmodified)}),
)
