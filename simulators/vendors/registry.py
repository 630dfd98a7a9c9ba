"""The simulated vendors. A new one is an entry here."""

from __future__ import annotations

import time
from collections.abc import Mapping

from probes.adapters.fields import object_or_empty
from probes.messages import JSON, Extra
from simulators.vendors import auth, complaints, endpoints, rules, saying, switches
from simulators.vendors.complaints import Complaint, PlainEnvelope
from simulators.vendors.models import (
    DEEPSEEK_MODELS,
    GEMINI_MODELS,
    OLLAMA_MODELS,
    OPENAI_MODELS,
    STEADY,
)
from simulators.vendors.saying import HEX, LOWER, IdStyle, Manner
from simulators.vendors.vendor import Spec

CHAT_IDS = IdStyle("chatcmpl-", 29)
CALL_IDS = IdStyle("call_", 24)
UNPARSED = "We could not parse the JSON body of your request. ({detail})"
NO_MODEL = "The model `{model}` does not exist or you do not have access to it."


def chat_facts(body: Mapping[str, JSON], streamed: bool) -> Extra:
    """The fields that every compatible server adds to an answer."""
    return {"openai": {"created": int(time.time())}}


def openai_facts(body: Mapping[str, JSON], streamed: bool) -> Extra:
    facts: dict[str, JSON] = {"created": int(time.time()), "service_tier": "default"}
    if not streamed:
        facts["$message"] = {"refusal": None, "annotations": []}
        facts["$choice"] = {"logprobs": None}
    return {"openai": facts}


def responses_facts(body: Mapping[str, JSON], streamed: bool) -> Extra:
    echoed = ("tools", "tool_choice", "parallel_tool_calls", "instructions", "metadata")
    own: dict[str, JSON] = {key: body[key] for key in echoed if key in body}
    return {"openai_responses": {"created_at": int(time.time()), **own}}


def ollama_facts(body: Mapping[str, JSON], streamed: bool) -> Extra:
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return {"ollama": {"created_at": now, "total_duration": 1, "load_duration": 1}}


def chat_counts(body: Mapping[str, JSON], streamed: bool) -> bool:
    """A stream of Chat Completions tells its usage only when asked to."""
    return not streamed or object_or_empty(body.get("stream_options")).get("include_usage") is True


_CHAT_MODELS = {("GET", "/models"): endpoints.openai_models}
_OPENAI = Spec(
    name="openai",
    title="OpenAI Chat Completions",
    mount="/openai/v1",
    manner=Manner("openai", CHAT_IDS, CALL_IDS, fingerprint="fp_5e1f0a7c42"),
    models=OPENAI_MODELS,
    envelope=complaints.openai_envelope,
    rule=rules.openai,
    switch=switches.chat,
    unknown_model=Complaint(NO_MODEL, status=404, code="model_not_found"),
    auth=auth.OPENAI,
    malformed=UNPARSED,
    facts=openai_facts,
    counts=chat_counts,
    endpoints=_CHAT_MODELS,
)

SPECS: tuple[Spec, ...] = (
    _OPENAI,
    Spec(
        name="open",
        title="The same without a key",
        mount="/open/v1",
        manner=_OPENAI.manner,
        models=OPENAI_MODELS,
        envelope=complaints.openai_envelope,
        rule=rules.openai,
        switch=switches.chat,
        unknown_model=_OPENAI.unknown_model,
        malformed=UNPARSED,
        facts=openai_facts,
        counts=chat_counts,
        endpoints=_CHAT_MODELS,
    ),
    Spec(
        name="responses",
        title="OpenAI Responses",
        mount="/responses/v1",
        manner=Manner("openai_responses", IdStyle("resp_", 48, HEX), CALL_IDS, saying.as_item),
        models=STEADY,
        envelope=complaints.openai_envelope,
        rule=rules.responses,
        switch=switches.responses,
        unknown_model=Complaint(
            "The requested model '{model}' does not exist.", param="model", code="model_not_found"
        ),
        auth=auth.OPENAI,
        malformed=UNPARSED,
        facts=responses_facts,
        endpoints=_CHAT_MODELS,
    ),
    Spec(
        name="anthropic",
        title="Anthropic Messages",
        mount="/anthropic",
        manner=Manner("anthropic", IdStyle("msg_01", 22), IdStyle("toolu_01", 22), saying.as_block),
        models=STEADY,
        envelope=complaints.anthropic_envelope,
        rule=rules.anthropic,
        switch=switches.anthropic,
        unknown_model=Complaint("model: {model}", status=404),
        auth=auth.ANTHROPIC,
        malformed="The request body is not valid: {detail}",
        request_id="request-id",
        endpoints={("GET", "/v1/models"): endpoints.anthropic_models},
    ),
    Spec(
        name="gemini",
        title="Gemini generateContent",
        mount="/gemini",
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
        name="ollama",
        title="Ollama",
        mount="/ollama",
        manner=Manner(
            "ollama", IdStyle("", 1), IdStyle("call_", 8, LOWER), saying.as_field("thinking")
        ),
        models=OLLAMA_MODELS,
        envelope=PlainEnvelope("ollama"),
        rule=rules.ollama,
        switch=switches.ollama,
        unknown_model=Complaint("model '{model}' not found", status=404),
        facts=ollama_facts,
        endpoints={
            ("GET", "/api/version"): endpoints.ollama_version,
            ("GET", "/api/tags"): endpoints.ollama_tags,
            ("POST", "/api/show"): endpoints.ollama_show,
        },
    ),
    Spec(
        name="llamacpp",
        title="llama.cpp server",
        mount="/llamacpp",
        prefix="/v1",
        manner=Manner(
            "openai",
            IdStyle("chatcmpl-", 32),
            IdStyle("", 32),
            saying.as_field("reasoning_content"),
            endpoints.LLAMACPP_BUILD,
        ),
        models=STEADY,
        envelope=complaints.llamacpp_envelope,
        rule=None,
        switch=switches.chat,
        unknown_model=Complaint(NO_MODEL, status=404),
        facts=chat_facts,
        counts=chat_counts,
        any_model=True,
        endpoints={
            ("GET", "/props"): endpoints.llamacpp_props,
            ("GET", "/v1/models"): endpoints.openai_models,
        },
    ),
    Spec(
        name="vllm",
        title="vLLM",
        mount="/vllm",
        prefix="/v1",
        manner=Manner(
            "openai",
            IdStyle("chatcmpl-", 32, HEX),
            IdStyle("chatcmpl-tool-", 32, HEX),
            saying.as_field("reasoning"),
        ),
        models=STEADY,
        envelope=complaints.vllm_envelope,
        rule=None,
        switch=switches.chat,
        unknown_model=Complaint("The model `{model}` does not exist.", status=404),
        facts=chat_facts,
        counts=chat_counts,
        endpoints={
            ("GET", "/version"): endpoints.vllm_version,
            ("GET", "/v1/models"): endpoints.vllm_models,
        },
    ),
    Spec(
        name="deepseek",
        title="DeepSeek",
        mount="/deepseek/v1",
        manner=Manner(
            "openai",
            IdStyle("", 32, HEX),
            IdStyle("call_", 24, indexed=True),
            saying.as_field("reasoning_content"),
            "fp_a49d71b8a1",
        ),
        models=DEEPSEEK_MODELS,
        envelope=complaints.deepseek_envelope,
        rule=rules.deepseek,
        switch=switches.chat,
        unknown_model=Complaint("Model Not Exist"),
        auth=auth.DEEPSEEK,
        malformed="Failed to deserialize the JSON body into the target type: {detail}",
        facts=chat_facts,
        counts=chat_counts,
        request_id="x-ds-trace-id",
        endpoints=_CHAT_MODELS,
    ),
)
