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
    Spec(
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
        rule=None,
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
    ),
    _VLLM,
    _vllm_variant("vllm-bare", "vLLM without a tool parser", STEADY, "leak-hermes"),
    _vllm_variant("qwen-hermes", "vLLM with Qwen and its Hermes parser", HERMES_MODELS),
    _vllm_variant(
        "qwen-xml", "vLLM with Qwen's coder and the wrong parser", CODER_MODELS, "leak-qwen-xml"
    ),
)
