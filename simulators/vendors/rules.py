"""What each vendor demands of a request beyond its shape, in the vendor's own words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from probes.adapters.fields import list_or_empty, object_or_empty, text_or_empty
from probes.messages import JSON, ModelCall
from simulators.vendors import closure
from simulators.vendors.complaints import Complaint
from simulators.vendors.models import Model, Replay
from simulators.vendors.openai_rules import check_request
from simulators.vendors.saying import is_ours, sign

SKIPPED_SIGNATURES = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")


@dataclass(frozen=True, slots=True)
class Asked:
    """A request on its way to the model: as sent, as read, and whom it asks."""

    body: Mapping[str, JSON]
    headers: Mapping[str, str]
    call: ModelCall
    model: Model
    thinks: bool

    @property
    def forces(self) -> bool:
        """Whether the model must call a tool."""
        choice = self.call.tool_choice
        return choice is not None and choice.mode in ("required", "named")


Rule = Callable[[Asked], None]


def openai(asked: Asked) -> None:
    check_request(asked.body)
    closure.OPENAI_CLOSURE.check(asked.body)


def responses(asked: Asked) -> None:
    previous = asked.body.get("previous_response_id")
    if isinstance(previous, str):
        # Nothing is stored, as for an account without data retention.
        raise Complaint(
            f"Previous response with id '{previous}' not found.",
            param="previous_response_id",
            code="previous_response_not_found",
        )
    closure.check_responses(asked.body)


def anthropic(asked: Asked) -> None:
    if "anthropic-version" not in asked.headers:
        raise Complaint("anthropic-version: header is required")
    if asked.call.max_tokens is None:
        raise Complaint("max_tokens: Field required")
    if not list_or_empty(asked.body.get("messages")):
        raise Complaint("messages: at least one message is required")
    if asked.thinks and asked.forces:
        raise Complaint("Thinking may not be enabled when tool_choice forces tool use.")
    closure.check_anthropic(asked.body)
    _check_blocks(asked.body)


def deepseek(asked: Asked) -> None:
    if asked.thinks and asked.forces:
        raise Complaint("Thinking mode does not support this tool_choice")
    closure.DEEPSEEK_CLOSURE.check(asked.body)
    if asked.thinks:
        _check_reasoning(asked.body, asked.model.replay)


def gemini(asked: Asked) -> None:
    if not closure.contents_of(asked.body):
        raise Complaint("* GenerateContentRequest.contents: contents is not specified")
    closure.check_gemini(asked.body)
    if asked.model.replay is Replay.SIGNATURES:
        _check_signatures(asked.body)


def ollama(asked: Asked) -> None:
    if asked.call.tools and not asked.model.takes_tools:
        name = asked.call.model
        raise Complaint(f"registry.ollama.ai/library/{name} does not support tools")


def _check_blocks(body: Mapping[str, JSON]) -> None:
    """A thinking block is as it was, or not there."""
    for index, item in enumerate(list_or_empty(body.get("messages"))):
        blocks = list_or_empty(object_or_empty(item).get("content"))
        for place, block in enumerate(blocks):
            entry = object_or_empty(block)
            if entry.get("type") != "thinking":
                continue
            said = text_or_empty(entry.get("thinking"))
            if entry.get("signature") != sign(said):
                where = f"messages.{index}.content.{place}"
                raise Complaint(f"{where}: Invalid `signature` in `thinking` block")


def _check_reasoning(body: Mapping[str, JSON], replay: Replay) -> None:
    """The reasoning of tool turns comes back: of the current one, or of all."""
    messages = [object_or_empty(item) for item in list_or_empty(body.get("messages"))]
    users = [index for index, message in enumerate(messages) if message.get("role") == "user"]
    last_user = users[-1] if users else -1
    called = False
    for index, message in enumerate(messages):
        if message.get("role") == "user":
            called = False
        if message.get("role") != "assistant":
            continue
        called = called or bool(list_or_empty(message.get("tool_calls")))
        if not called or isinstance(message.get("reasoning_content"), str):
            continue
        if replay is Replay.ALL_TURNS:
            raise Complaint(
                "The `reasoning_content` in the thinking mode must be passed back to the API.",
                code="invalid_request_error",
            )
        if replay is Replay.SAME_TURN and index > last_user and message.get("tool_calls"):
            raise Complaint(
                f"Missing `reasoning_content` field in the assistant message at message index "
                f"{index}. For more information, please refer to "
                "https://api-docs.deepseek.com/guides/thinking_mode#tool-calls"
            )


def _check_signatures(body: Mapping[str, JSON]) -> None:
    """The first call of every step of the current turn carries its signature."""
    contents = closure.contents_of(body)
    real = [
        index
        for index, content in enumerate(contents)
        if content.get("role") != "model" and any("text" in p for p in closure.parts_of(content))
    ]
    for index, content in enumerate(contents):
        calls = [part for part in closure.parts_of(content) if "functionCall" in part]
        if not calls or (real and index < real[-1]):
            continue
        signature = text_or_empty(calls[0].get("thoughtSignature"))
        name = text_or_empty(object_or_empty(calls[0]["functionCall"]).get("name"))
        if not signature:
            raise Complaint(
                "Function call is missing a thought_signature in functionCall parts. This is "
                "required for tools to work correctly, and missing thought_signature may lead to "
                "degraded model performance. Additional data, function call "
                f"`default_api:{name}`, position {index + 1}."
            )
        if signature not in SKIPPED_SIGNATURES and not is_ours(signature):
            raise Complaint("Invalid thought signature.")
