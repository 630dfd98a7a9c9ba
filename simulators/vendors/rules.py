"""What OpenAI, Gemini and Ollama demand of a request beyond its shape, in their own words."""

from __future__ import annotations

from collections.abc import Mapping

from probes.adapters.json_fields import object_or_empty, text_or_empty
from probes.messages import JSON
from simulators.vendors import closure_rules
from simulators.vendors.error_envelopes import Complaint
from simulators.vendors.model_traits import Replay
from simulators.vendors.openai_rules import check_request
from simulators.vendors.reply_style import is_ours
from simulators.vendors.spec import Asked

SKIPPED_SIGNATURES = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")


def openai(asked: Asked) -> None:
    check_request(asked.body)
    closure_rules.OPENAI_CLOSURE.check(asked.body)


def gemini(asked: Asked) -> None:
    if not closure_rules.contents_of(asked.body):
        raise Complaint("* GenerateContentRequest.contents: contents is not specified")
    closure_rules.check_gemini(asked.body)
    if asked.model.replay is Replay.SIGNATURES:
        _check_signatures(asked.body)


def ollama(asked: Asked) -> None:
    if asked.call.tools and not asked.model.takes_tools:
        name = asked.call.model
        raise Complaint(f"registry.ollama.ai/library/{name} does not support tools")


def _check_signatures(body: Mapping[str, JSON]) -> None:
    """The first call of every step of the current turn carries its signature."""
    contents = closure_rules.contents_of(body)
    real = [
        index
        for index, content in enumerate(contents)
        if content.get("role") != "model"
        and any("text" in p for p in closure_rules.parts_of(content))
    ]
    for index, content in enumerate(contents):
        calls = [part for part in closure_rules.parts_of(content) if "functionCall" in part]
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
