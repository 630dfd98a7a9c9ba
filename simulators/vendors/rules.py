"""Request rules of OpenAI, Gemini and Ollama beyond the JSON shape, with their messages."""

from __future__ import annotations

from collections.abc import Mapping

from probes.adapters.json_fields import object_or_empty, text_or_empty
from probes.messages import JSON
from simulators.model.pictures import find_pictures
from simulators.vendors import closure_rules
from simulators.vendors.error_envelopes import RequestRefused
from simulators.vendors.model_traits import ReplayDuty
from simulators.vendors.openai_rules import check_request
from simulators.vendors.reply_style import is_own_signature
from simulators.vendors.spec import VendorRequest

# A model without its vision part.
NO_IMAGES = (
    "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"
)
SKIPPED_SIGNATURES = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")


def check_openai(request: VendorRequest) -> None:
    check_request(request.body)
    closure_rules.OPENAI_CLOSURE.check(request.body)


def check_llamacpp(request: VendorRequest) -> None:
    if any(find_pictures(request.body)):
        raise RequestRefused(NO_IMAGES, status=500)


def check_gemini(request: VendorRequest) -> None:
    if not closure_rules.read_contents(request.body):
        raise RequestRefused("* GenerateContentRequest.contents: contents is not specified")
    closure_rules.check_gemini_closure(request.body)
    if request.model.replay is ReplayDuty.SIGNATURES:
        _check_signatures(request.body)


def check_ollama(request: VendorRequest) -> None:
    if request.call.tools and not request.model.takes_tools:
        name = request.call.model
        raise RequestRefused(f"registry.ollama.ai/library/{name} does not support tools")


def _check_signatures(body: Mapping[str, JSON]) -> None:
    """Require a signature on the first call of every step of the current turn."""
    contents = closure_rules.read_contents(body)
    user_turns = [
        index
        for index, content in enumerate(contents)
        if content.get("role") != "model"
        and any("text" in p for p in closure_rules.read_parts(content))
    ]
    for index, content in enumerate(contents):
        calls = [part for part in closure_rules.read_parts(content) if "functionCall" in part]
        if not calls or (user_turns and index < user_turns[-1]):
            continue
        signature = text_or_empty(calls[0].get("thoughtSignature"))
        name = text_or_empty(object_or_empty(calls[0]["functionCall"]).get("name"))
        if not signature:
            raise RequestRefused(
                "Function call is missing a thought_signature in functionCall parts. This is "
                "required for tools to work correctly, and missing thought_signature may lead to "
                "degraded model performance. Additional data, function call "
                f"`default_api:{name}`, position {index + 1}."
            )
        if signature not in SKIPPED_SIGNATURES and not is_own_signature(signature):
            raise RequestRefused("Invalid thought signature.")
