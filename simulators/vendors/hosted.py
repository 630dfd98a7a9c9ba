"""The vendors that serve models of their own, each in its own format, and Mistral."""

from __future__ import annotations

from dataclasses import replace

from simulators.vendors import (
    anthropic_rules,
    auth,
    complaints,
    endpoints,
    facts,
    mistral_rules,
    responses_rules,
    rules,
    saying,
    switches,
)
from simulators.vendors.complaints import Complaint, PlainEnvelope
from simulators.vendors.models import (
    GEMINI_MODELS,
    MISTRAL_MODELS,
    OPENAI_MODELS,
    OPUS_MODELS,
    RESPONSES_MODELS,
    STEADY,
)
from simulators.vendors.saying import HEX, LOWER, IdStyle, Manner
from simulators.vendors.spec import Spec

_OPENAI = Spec(
    name="openai",
    title="OpenAI Chat Completions",
    mount="/openai/v1",
    provider="openai",
    manner=Manner("openai", saying.CHAT_IDS, saying.CALL_IDS, fingerprint="fp_5e1f0a7c42"),
    models=OPENAI_MODELS,
    envelope=complaints.openai_envelope,
    rule=rules.openai,
    switch=switches.chat,
    unknown_model=Complaint(complaints.NO_MODEL, status=404, code="model_not_found"),
    auth=auth.OPENAI,
    malformed=complaints.UNPARSED,
    facts=facts.openai_facts,
    counts=facts.chat_counts,
    endpoints=endpoints.CHAT_MODELS,
)

_ANTHROPIC_IDS = (IdStyle("msg_01", 22), IdStyle("toolu_01", 22))
_ANTHROPIC = Spec(
    name="anthropic",
    title="Anthropic Messages",
    mount="/anthropic",
    provider="anthropic",
    manner=Manner("anthropic", *_ANTHROPIC_IDS, saying.as_block),
    models=STEADY,
    envelope=complaints.anthropic_envelope,
    rule=anthropic_rules.anthropic,
    thinking_choices=("auto", "none"),
    switch=switches.anthropic,
    unknown_model=Complaint("model: {model}", status=404),
    auth=auth.ANTHROPIC,
    malformed="The request body is not valid: {detail}",
    request_id="request-id",
    endpoints={("GET", "/v1/models"): endpoints.anthropic_models},
)

HOSTED: tuple[Spec, ...] = (
    _OPENAI,
    replace(_OPENAI, name="open", title="The same without a key", mount="/open/v1", auth=None),
    Spec(
        name="responses",
        title="OpenAI Responses",
        mount="/responses/v1",
        provider="openai_responses",
        manner=Manner(
            "openai_responses", IdStyle("resp_", 48, HEX), saying.CALL_IDS, saying.as_item
        ),
        models=RESPONSES_MODELS,
        envelope=complaints.openai_envelope,
        rule=responses_rules.responses,
        switch=switches.responses,
        unknown_model=Complaint(
            "The requested model '{model}' does not exist.", param="model", code="model_not_found"
        ),
        auth=auth.OPENAI,
        malformed=complaints.UNPARSED,
        facts=facts.responses_facts,
        endpoints=endpoints.CHAT_MODELS,
    ),
    _ANTHROPIC,
    replace(
        _ANTHROPIC,
        name="anthropic-strict",
        title="Anthropic Messages, models since Opus 5.5",
        mount="/anthropic-strict",
        manner=Manner("anthropic", *_ANTHROPIC_IDS, saying.as_omitted_block),
        models=OPUS_MODELS,
        rule=anthropic_rules.anthropic_strict,
        choices=("auto", "none"),
        thinking_choices=None,
    ),
    Spec(
        name="gemini",
        title="Gemini generateContent",
        mount="/gemini",
        provider="gemini",
        manner=Manner("gemini", IdStyle("", 22), IdStyle("", 8, LOWER), saying.as_thought),
        models=GEMINI_MODELS,
        envelope=PlainEnvelope("gemini"),
        rule=rules.gemini,
        switch=switches.gemini,
        unknown_model=Complaint(
            "models/{model} is not found for API version v1beta, or is not supported for "
            "generateContent. Call ListModels to see the list of available models and their "
            "supported methods.",
            status=404,
        ),
        auth=auth.GEMINI,
        malformed="Invalid JSON payload received. {detail}",
        endpoints={("GET", "/v1beta/models"): endpoints.gemini_models},
    ),
    Spec(
        name="mistral",
        title="Mistral",
        mount="/mistral/v1",
        provider="mistral",
        manner=Manner("openai", IdStyle("", 32, HEX), IdStyle("", 9)),
        models=MISTRAL_MODELS,
        envelope=complaints.mistral_envelope,
        rule=mistral_rules.mistral,
        switch=switches.chat,
        unknown_model=Complaint("Invalid model: {model}", code="1500"),
        auth=auth.MISTRAL,
        facts=facts.chat_facts,
        counts=facts.chat_counts,
        request_id="mistral-correlation-id",
        endpoints=endpoints.CHAT_MODELS,
    ),
)
