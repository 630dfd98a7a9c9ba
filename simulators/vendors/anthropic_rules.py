"""Anthropic's request rules beyond the JSON shape, with its error messages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from probes.adapters.json_fields import list_or_empty, object_or_empty, text_or_empty
from probes.messages import JSON
from simulators.vendors import closure_rules
from simulators.vendors.error_envelopes import RequestRefused
from simulators.vendors.reply_style import is_own_signature, sign_text
from simulators.vendors.spec import VendorRequest

Body = Mapping[str, JSON]
PARAMETERS = frozenset(
    {
        "cache_control",
        "container",
        "context_management",
        "inference_geo",
        "max_tokens",
        "mcp_servers",
        "messages",
        "metadata",
        "model",
        "output_config",
        "output_format",
        "service_tier",
        "stop_sequences",
        "stream",
        "system",
        "temperature",
        "thinking",
        "tool_choice",
        "tools",
        "top_k",
        "top_p",
    }
)
THINKING_FIELDS = {
    "adaptive": {"type", "display"},
    "disabled": {"type"},
    "enabled": {"type", "budget_tokens", "display"},
}
BINDING_BETA = "thinking-binding-controls-2026-08-01"
THINKING_TYPES = ("thinking", "redacted_thinking")
_ID = re.compile(r"[a-zA-Z0-9_-]+")


def check_anthropic(request: VendorRequest) -> None:
    _check_head(request)
    if request.thinks and request.forces:
        raise RequestRefused("Thinking may not be enabled when tool_choice forces tool use.")
    _check_history(request.body)
    for where, block in _thinking_blocks(request.body):
        if block.get("signature") != sign_text(text_or_empty(block.get("thinking"))):
            raise RequestRefused(f"{where}: Invalid `signature` in `thinking` block")


def check_anthropic_strict(request: VendorRequest) -> None:
    """Rules of the newest models: thinking cannot be switched, and no tool can be forced."""
    kind = object_or_empty(request.body.get("thinking")).get("type")
    if kind in ("disabled", "enabled"):
        raise RequestRefused(
            f'"thinking.type.{kind}" is not supported for this model. Use '
            '"thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
        )
    _check_head(request)
    if request.forces:
        raise RequestRefused('tool_choice: type "tool" and "any" are not supported for this model.')
    _check_history(request.body)
    for where, block in _thinking_blocks(request.body):
        thinking, signature = block.get("thinking"), text_or_empty(block.get("signature"))
        # The text can be omitted; a text that is present must match the signature.
        if not is_own_signature(signature) or (
            thinking and signature != sign_text(text_or_empty(thinking))
        ):
            raise RequestRefused(f"{where}: Invalid `signature` in `thinking` block")


def read_messages(body: Body) -> list[Body]:
    return [object_or_empty(item) for item in list_or_empty(body.get("messages"))]


def read_blocks(message: Body) -> list[Body]:
    """The blocks of a message; a string counts as one text block."""
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [object_or_empty(block) for block in list_or_empty(content)]


def _check_head(request: VendorRequest) -> None:
    if "anthropic-version" not in request.headers:
        raise RequestRefused("anthropic-version: header is required")
    if request.call.max_tokens is None:
        raise RequestRefused("max_tokens: Field required")
    if not list_or_empty(request.body.get("messages")):
        raise RequestRefused("messages: at least one message is required")
    for field in _extra_inputs(request.body, request.headers):
        raise RequestRefused(f"{field}: Extra inputs are not permitted")


def _extra_inputs(body: Body, headers: Mapping[str, str]) -> Iterator[str]:
    yield from (name for name in body if name not in PARAMETERS)
    thinking = object_or_empty(body.get("thinking"))
    kind = text_or_empty(thinking.get("type"))
    known = set(THINKING_FIELDS.get(kind, thinking))
    if BINDING_BETA in headers.get("anthropic-beta", ""):
        known.add("block_binding")
    yield from (f"thinking.{kind}.{name}" for name in thinking if name not in known)
    for index, message in enumerate(read_messages(body)):
        extra = (name for name in message if name not in ("role", "content"))
        yield from (f"messages.{index}.{name}" for name in extra)


def _check_history(body: Body) -> None:
    messages = read_messages(body)
    for index, message in enumerate(messages):
        _check_blocks(index, read_blocks(message))
    closure_rules.check_anthropic_closure(body)


def _check_blocks(index: int, blocks: Sequence[Body]) -> None:
    has_thinking = any(block.get("type") in THINKING_TYPES for block in blocks)
    if has_thinking and blocks[0].get("type") not in THINKING_TYPES:
        raise RequestRefused(
            f"messages.{index}.content.0: If an assistant message contains any thinking blocks, "
            "the first block must be `thinking` or `redacted_thinking`. Found "
            f"`{blocks[0].get('type')}`."
        )
    for place, block in enumerate(blocks):
        if block.get("type") == "text":
            _check_text(text_or_empty(block.get("text")))
        for kind, key in (("tool_use", "id"), ("tool_result", "tool_use_id")):
            id_ = text_or_empty(block.get(key))
            if block.get("type") == kind and not _ID.fullmatch(id_):
                where = f"messages.{index}.content.{place}.{kind}.{key}"
                raise RequestRefused(f"{where}: String should match pattern '^[a-zA-Z0-9_-]+$'")


def _check_text(text: str) -> None:
    if not text:
        raise RequestRefused("messages: text content blocks must be non-empty")
    if not text.strip():
        raise RequestRefused("messages: text content blocks must contain non-whitespace text")


def _thinking_blocks(body: Body) -> Iterator[tuple[str, Body]]:
    """Thinking blocks, which must be replayed unchanged, each with its path."""
    for index, message in enumerate(read_messages(body)):
        for place, block in enumerate(read_blocks(message)):
            if block.get("type") == "thinking":
                yield f"messages.{index}.content.{place}", block
