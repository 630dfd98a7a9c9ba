"""Self-hosted inference servers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from simulators.vendors import (
    error_envelopes,
    extra_fields,
    metadata_routes,
    reply_style,
    rules,
    thinking_switches,
)
from simulators.vendors.error_envelopes import PlainEnvelope, RequestRefused
from simulators.vendors.model_traits import (
    CODER_MODELS,
    HERMES_MODELS,
    OLLAMA_MODELS,
    STEADY,
    Model,
)
from simulators.vendors.reply_style import HEX, LOWER, IdStyle, ReplyStyle
from simulators.vendors.spec import Spec

LLAMACPP_BUILD = "b6500-1f2e3d4c"
_VLLM = Spec(
    name="vllm",
    title="vLLM",
    mount="/vllm",
    provider="openai",
    prefix="/v1",
    style=ReplyStyle(
        "openai",
        IdStyle("chatcmpl-", 32, HEX),
        IdStyle("chatcmpl-tool-", 32, HEX),
        reply_style.reasoning_as_field("reasoning"),
    ),
    models=STEADY,
    envelope=error_envelopes.vllm_envelope,
    rule=None,
    thinking_switch=thinking_switches.chat,
    unknown_model=RequestRefused("The model `{model}` does not exist.", status=404),
    extra_fields=extra_fields.chat_fields,
    reports_usage=extra_fields.chat_reports_usage,
    engine="0.18.1",
    endpoints={
        ("GET", "/version"): metadata_routes.vllm_version,
        ("GET", "/v1/models"): metadata_routes.vllm_models,
    },
)


_LLAMACPP = Spec(
    name="llamacpp",
    title="llama.cpp server",
    mount="/llamacpp",
    provider="openai",
    prefix="/v1",
    style=ReplyStyle(
        "openai",
        IdStyle("chatcmpl-", 32),
        IdStyle("", 32),
        reply_style.reasoning_as_field("reasoning_content"),
        LLAMACPP_BUILD,
    ),
    models=STEADY,
    envelope=error_envelopes.llamacpp_envelope,
    rule=rules.check_llamacpp,
    images=("refused", "refused"),
    thinking_switch=thinking_switches.chat,
    unknown_model=RequestRefused(error_envelopes.NO_MODEL, status=404),
    extra_fields=extra_fields.chat_fields,
    reports_usage=extra_fields.chat_reports_usage,
    any_model=True,
    engine=LLAMACPP_BUILD,
    endpoints={
        ("GET", "/props"): metadata_routes.llamacpp_props,
        ("GET", "/v1/models"): metadata_routes.openai_models,
    },
)


def _vllm_variant(name: str, title: str, models: Mapping[str, Model], faults: str = "") -> Spec:
    return replace(_VLLM, name=name, title=title, mount=f"/{name}", models=models, faults=faults)


ENGINES: tuple[Spec, ...] = (
    Spec(
        name="ollama",
        title="Ollama",
        mount="/ollama",
        provider="ollama",
        style=ReplyStyle(
            "ollama",
            IdStyle("", 1),
            IdStyle("call_", 8, LOWER),
            reply_style.reasoning_as_field("thinking"),
        ),
        models=OLLAMA_MODELS,
        envelope=PlainEnvelope("ollama"),
        rule=rules.check_ollama,
        thinking_switch=thinking_switches.ollama,
        unknown_model=RequestRefused("model '{model}' not found", status=404),
        extra_fields=extra_fields.ollama_fields,
        choices=("auto", "none"),
        engine="0.24.0",
        endpoints={
            ("GET", "/api/version"): metadata_routes.ollama_version,
            ("GET", "/api/tags"): metadata_routes.ollama_tags,
            ("POST", "/api/show"): metadata_routes.ollama_show,
        },
    ),
    _LLAMACPP,
    # The same server at its other addresses.
    replace(
        _LLAMACPP,
        name="llamacpp-messages",
        title="llama.cpp server in Anthropic's format",
        mount="/llamacpp-messages",
        provider="anthropic",
        prefix="",
        style=ReplyStyle(
            "anthropic", IdStyle("chatcmpl-", 32), IdStyle("", 32), reply_style.reasoning_as_block
        ),
        thinking_switch=thinking_switches.anthropic,
        extra_fields=extra_fields.no_extra_fields,
        reports_usage=extra_fields.always_reports_usage,
        caches_prompts=True,
    ),
    replace(
        _LLAMACPP,
        name="llamacpp-responses",
        title="llama.cpp server in OpenAI's Responses format",
        mount="/llamacpp-responses",
        provider="openai_responses",
        style=ReplyStyle(
            "openai_responses",
            IdStyle("resp_", 32),
            IdStyle("call_", 32),
            reply_style.reasoning_as_item,
        ),
        thinking_switch=thinking_switches.responses,
        extra_fields=extra_fields.responses_fields,
        reports_usage=extra_fields.always_reports_usage,
    ),
    _VLLM,
    _vllm_variant("vllm-bare", "vLLM without a tool parser", STEADY, "leak-hermes"),
    _vllm_variant("qwen-hermes", "vLLM with Qwen and its Hermes parser", HERMES_MODELS),
    _vllm_variant(
        "qwen-xml", "vLLM with Qwen's coder and the wrong parser", CODER_MODELS, "leak-qwen-xml"
    ),
)
