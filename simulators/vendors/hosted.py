"""Vendors that serve their own models, each in its own format, and Mistral."""

from __future__ import annotations

from dataclasses import replace

from simulators.vendors import (
    anthropic_rules,
    error_envelopes,
    extra_fields,
    metadata_routes,
    mistral_rules,
    reply_style,
    responses_rules,
    rules,
    thinking_switches,
    vendor_auth,
)
from simulators.vendors.error_envelopes import PlainEnvelope, RequestRefused
from simulators.vendors.model_traits import (
    GEMINI_MODELS,
    MISTRAL_MODELS,
    OPENAI_MODELS,
    OPUS_MODELS,
    RESPONSES_MODELS,
    STEADY,
)
from simulators.vendors.reply_style import HEX, LOWER, IdStyle, ReplyStyle
from simulators.vendors.spec import Spec

_OPENAI = Spec(
    name="openai",
    title="OpenAI Chat Completions",
    mount="/openai/v1",
    provider="openai",
    style=ReplyStyle(
        "openai", reply_style.CHAT_IDS, reply_style.CALL_IDS, fingerprint="fp_5e1f0a7c42"
    ),
    models=OPENAI_MODELS,
    envelope=error_envelopes.openai_envelope,
    rule=rules.check_openai,
    images=("refused", "used"),
    thinking_switch=thinking_switches.chat,
    unknown_model=RequestRefused(error_envelopes.NO_MODEL, status=404, code="model_not_found"),
    auth=vendor_auth.OPENAI,
    malformed=error_envelopes.UNPARSED,
    extra_fields=extra_fields.openai_fields,
    reports_usage=extra_fields.chat_reports_usage,
    endpoints=metadata_routes.CHAT_MODELS,
)

_ANTHROPIC_IDS = (IdStyle("msg_01", 22), IdStyle("toolu_01", 22))
_ANTHROPIC = Spec(
    name="anthropic",
    title="Anthropic Messages",
    mount="/anthropic",
    provider="anthropic",
    style=ReplyStyle("anthropic", *_ANTHROPIC_IDS, reply_style.reasoning_as_block),
    models=STEADY,
    envelope=error_envelopes.anthropic_envelope,
    rule=anthropic_rules.check_anthropic,
    thinking_choices=("auto", "none"),
    thinking_switch=thinking_switches.anthropic,
    unknown_model=RequestRefused("model: {model}", status=404),
    auth=vendor_auth.ANTHROPIC,
    malformed="The request body is not valid: {detail}",
    request_id="request-id",
    endpoints={("GET", "/v1/models"): metadata_routes.anthropic_models},
)

HOSTED: tuple[Spec, ...] = (
    _OPENAI,
    replace(_OPENAI, name="open", title="The same without a key", mount="/open/v1", auth=None),
    Spec(
        name="responses",
        title="OpenAI Responses",
        mount="/responses/v1",
        provider="openai_responses",
        style=ReplyStyle(
            "openai_responses",
            IdStyle("resp_", 48, HEX),
            reply_style.CALL_IDS,
            reply_style.reasoning_as_item,
        ),
        models=RESPONSES_MODELS,
        envelope=error_envelopes.openai_envelope,
        rule=responses_rules.check_responses,
        thinking_switch=thinking_switches.responses,
        unknown_model=RequestRefused(
            "The requested model '{model}' does not exist.", param="model", code="model_not_found"
        ),
        auth=vendor_auth.OPENAI,
        malformed=error_envelopes.UNPARSED,
        extra_fields=extra_fields.responses_fields,
        endpoints=metadata_routes.CHAT_MODELS,
    ),
    _ANTHROPIC,
    replace(
        _ANTHROPIC,
        name="anthropic-strict",
        title="Anthropic Messages, models since Opus 5.5",
        mount="/anthropic-strict",
        style=ReplyStyle("anthropic", *_ANTHROPIC_IDS, reply_style.reasoning_as_omitted_block),
        models=OPUS_MODELS,
        rule=anthropic_rules.check_anthropic_strict,
        choices=("auto", "none"),
        thinking_choices=None,
    ),
    Spec(
        name="gemini",
        title="Gemini generateContent",
        mount="/gemini",
        provider="gemini",
        style=ReplyStyle(
            "gemini", IdStyle("", 22), IdStyle("", 8, LOWER), reply_style.reasoning_as_thought
        ),
        models=GEMINI_MODELS,
        envelope=PlainEnvelope("gemini"),
        rule=rules.check_gemini,
        system_position="first_only",
        thinking_switch=thinking_switches.gemini,
        unknown_model=RequestRefused(
            "models/{model} is not found for API version v1beta, or is not supported for "
            "generateContent. Call ListModels to see the list of available models and their "
            "supported methods.",
            status=404,
        ),
        auth=vendor_auth.GEMINI,
        malformed="Invalid JSON payload received. {detail}",
        endpoints={("GET", "/v1beta/models"): metadata_routes.gemini_models},
    ),
    Spec(
        name="mistral",
        title="Mistral",
        mount="/mistral/v1",
        provider="mistral",
        style=ReplyStyle("openai", IdStyle("", 32, HEX), IdStyle("", 9)),
        models=MISTRAL_MODELS,
        envelope=error_envelopes.mistral_envelope,
        rule=mistral_rules.check_mistral,
        # A user message right after a result is refused.
        images=("used", "refused"),
        system_position="first_only",
        thinking_switch=thinking_switches.chat,
        unknown_model=RequestRefused("Invalid model: {model}", code="1500"),
        auth=vendor_auth.MISTRAL,
        extra_fields=extra_fields.chat_fields,
        reports_usage=extra_fields.chat_reports_usage,
        request_id="mistral-correlation-id",
        endpoints=metadata_routes.CHAT_MODELS,
    ),
)
