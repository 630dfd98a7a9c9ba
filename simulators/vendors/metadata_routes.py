"""Metadata that vendors serve: lists of models, versions, templates."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from probes.messages import JSON
from simulators.vendors.error_envelopes import RequestRefused
from simulators.vendors.spec import Spec

CREATED = 1_767_225_600
CREATED_AT = "2026-01-01T00:00:00Z"


def openai_models(spec: Spec, body: Mapping[str, JSON]) -> dict[str, JSON]:
    entries: list[JSON] = [
        {"id": name, "object": "model", "created": CREATED, "owned_by": "simulators"}
        for name in spec.models
    ]
    return {"object": "list", "data": entries}


def vllm_models(spec: Spec, body: Mapping[str, JSON]) -> dict[str, JSON]:
    entries: list[JSON] = [
        {
            "id": name,
            "object": "model",
            "created": CREATED,
            "owned_by": "vllm",
            "root": name,
            "parent": None,
            "max_model_len": 32768,
        }
        for name in spec.models
    ]
    return {"object": "list", "data": entries}


def vllm_version(spec: Spec, body: Mapping[str, JSON]) -> dict[str, JSON]:
    return {"version": spec.engine}


def llamacpp_props(spec: Spec, body: Mapping[str, JSON]) -> dict[str, JSON]:
    return {
        "default_generation_settings": {"n_ctx": 32768},
        "total_slots": 4,
        "model_path": f"/models/{next(iter(spec.models))}.gguf",
        "chat_template": spec.template,
        "chat_template_caps": {"supports_tools": True, "supports_parallel_tool_calls": True},
        "build_info": spec.engine,
    }


def anthropic_models(spec: Spec, body: Mapping[str, JSON]) -> dict[str, JSON]:
    entries: list[JSON] = [
        {"type": "model", "id": name, "display_name": name, "created_at": CREATED_AT}
        for name in spec.models
    ]
    names = list(spec.models)
    return {"data": entries, "has_more": False, "first_id": names[0], "last_id": names[-1]}


def gemini_models(spec: Spec, body: Mapping[str, JSON]) -> dict[str, JSON]:
    entries: list[JSON] = [
        {
            "name": f"models/{name}",
            "version": "001",
            "displayName": name,
            "inputTokenLimit": 1_048_576,
            "outputTokenLimit": 65_536,
            "supportedGenerationMethods": ["generateContent"],
        }
        for name in spec.models
    ]
    return {"models": entries}


def ollama_version(spec: Spec, body: Mapping[str, JSON]) -> dict[str, JSON]:
    return {"version": spec.engine}


def ollama_tags(spec: Spec, body: Mapping[str, JSON]) -> dict[str, JSON]:
    entries: list[JSON] = [
        {
            "name": name,
            "model": name,
            "modified_at": CREATED_AT,
            "size": 4_683_087_332,
            "digest": hashlib.sha256(name.encode()).hexdigest(),
            "details": _details(),
        }
        for name in spec.models
    ]
    return {"models": entries}


def ollama_show(spec: Spec, body: Mapping[str, JSON]) -> dict[str, JSON]:
    requested = str(body.get("model") or body.get("name") or "")
    name = requested if ":" in requested else f"{requested}:latest"
    if name not in spec.models:
        raise RequestRefused(f"model '{requested}' not found", status=404)
    capabilities: list[JSON] = ["completion"]
    if spec.models[name].takes_tools:
        capabilities += ["tools", "thinking"]
    return {
        "modelfile": f"FROM {name}\n",
        "template": spec.template,
        "details": _details(),
        "model_info": {"general.architecture": "sim", "sim.context_length": 32768},
        "capabilities": capabilities,
        "modified_at": CREATED_AT,
    }


def _details() -> dict[str, JSON]:
    return {
        "parent_model": "",
        "format": "gguf",
        "family": "sim",
        "families": ["sim"],
        "parameter_size": "7.6B",
        "quantization_level": "Q4_K_M",
    }


CHAT_MODELS = {("GET", "/models"): openai_models}
