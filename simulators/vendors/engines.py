"""The servers that people run themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from simulators.vendors import complaints, endpoints, facts, rules, saying, switches
from simulators.vendors.complaints import Complaint, PlainEnvelope
from simulators.vendors.models import (
    CODER_MODELS,
    HERMES_MODELS,
    OLLAMA_MODELS,
    STEADY,
    Model,
)
from simulators.vendors.saying import HEX, LOWER, IdStyle, Manner
from simulators.vendors.spec import Spec

LLAMACPP_BUILD = "b6500-1f2e3d4c"
_VLLM = Spec(
    name="vllm",
    title="vLLM",
    mount="/vllm",
    provider="openai",
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
    facts=facts.chat_facts,
    counts=facts.chat_counts,
    engine="0.18.1",
    endpoints={
        ("GET", "/version"): endpoints.vllm_version,
        ("GET", "/v1/models"): endpoints.vllm_models,
    },
)


def _vllm(name: str, title: str, models: Mapping[str, Model], faults: str = "") -> Spec:
    return replace(_VLLM, name=name, title=title, mount=f"/{name}", models=models, faults=faults)


ENGINES: tuple[Spec, ...] = (
    Spec(
        name="ollama",
        title="Ollama",
        mount="/ollama",
        provider="ollama",
        manner=Manner(
            "ollama", IdStyle("", 1), IdStyle("call_", 8, LOWER), saying.as_field("thinking")
        ),
        models=OLLAMA_MODELS,
        envelope=PlainEnvelope("ollama"),
        rule=rules.ollama,
        switch=switches.ollama,
        unknown_model=Complaint("model '{model}' not found", status=404),
        facts=facts.ollama_facts,
        choices=("auto", "none"),
        engine="0.24.0",
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
        provider="openai",
        prefix="/v1",
        manner=Manner(
            "openai",
            IdStyle("chatcmpl-", 32),
            IdStyle("", 32),
            saying.as_field("reasoning_content"),
            LLAMACPP_BUILD,
        ),
        models=STEADY,
        envelope=complaints.llamacpp_envelope,
        rule=None,
        switch=switches.chat,
        unknown_model=Complaint(complaints.NO_MODEL, status=404),
        facts=facts.chat_facts,
        counts=facts.chat_counts,
        any_model=True,
        engine=LLAMACPP_BUILD,
        endpoints={
            ("GET", "/props"): endpoints.llamacpp_props,
            ("GET", "/v1/models"): endpoints.openai_models,
        },
    ),
    _VLLM,
    _vllm("vllm-bare", "vLLM without a tool parser", STEADY, "leak-hermes"),
    _vllm("qwen-hermes", "vLLM with Qwen and its Hermes parser", HERMES_MODELS),
    _vllm("qwen-xml", "vLLM with Qwen's coder and the wrong parser", CODER_MODELS, "leak-qwen-xml"),
)
