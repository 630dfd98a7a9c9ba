"""What vendors serve beside answers: lists of models, versions, templates."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping

from probes.messages import JSON
from simulators.vendors.complaints import Complaint
from simulators.vendors.models import Model

Models = Mapping[str, Model]
Endpoint = Callable[[Models, Mapping[str, JSON]], dict[str, JSON]]

CREATED = 1_767_225_600
CREATED_AT = "2026-01-01T00:00:00Z"
LLAMACPP_BUILD = "b6500-1f2e3d4c"
VLLM_VERSION = "0.18.1"
OLLAMA_VERSION = "0.24.0"
TEMPLATE = (
    "{%- for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}"
    "<|im_end|>\n{%- endfor %}<|im_start|>assistant\n"
)


def openai_models(models: Models, body: Mapping[str, JSON]) -> dict[str, JSON]:
    entries: list[JSON] = [
        {"id": name, "object": "model", "created": CREATED, "owned_by": "simulators"}
        for name in models
    ]
    return {"object": "list", "data": entries}


def vllm_models(models: Models, body: Mapping[str, JSON]) -> dict[str, JSON]:
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
        for name in models
    ]
    return {"object": "list", "data": entries}


def vllm_version(models: Models, body: Mapping[str, JSON]) -> dict[str, JSON]:
    return {"version": VLLM_VERSION}


def llamacpp_props(models: Models, body: Mapping[str, JSON]) -> dict[str, JSON]:
    return {
        "default_generation_settings": {"n_ctx": 32768},
        "total_slots": 4,
        "model_path": f"/models/{next(iter(models))}.gguf",
        "chat_template": TEMPLATE,
        "chat_template_caps": {"supports_tools": True, "supports_parallel_tool_calls": True},
        "build_info": LLAMACPP_BUILD,
    }


def anthropic_models(models: Models, body: Mapping[str, JSON]) -> dict[str, JSON]:
    entries: list[JSON] = [
        {"type": "model", "id": name, "display_name": name, "created_at": CREATED_AT}
        for name in models
    ]
    names = list(models)
    return {"data": entries, "has_more": False, "first_id": names[0], "last_id": names[-1]}


def gemini_models(models: Models, body: Mapping[str, JSON]) -> dict[str, JSON]:
    entries: list[JSON] = [
        {
            "name": f"models/{name}",
            "version": "001",
            "displayName": name,
            "inputTokenLimit": 1_048_576,
            "outputTokenLimit": 65_536,
            "supportedGenerationMethods": ["generateContent"],
        }
        for name in models
    ]
    return {"models": entries}


def ollama_version(models: Models, body: Mapping[str, JSON]) -> dict[str, JSON]:
    return {"version": OLLAMA_VERSION}


def ollama_tags(models: Models, body: Mapping[str, JSON]) -> dict[str, JSON]:
    entries: list[JSON] = [
        {
            "name": name,
            "model": name,
            "modified_at": CREATED_AT,
            "size": 4_683_087_332,
            "digest": hashlib.sha256(name.encode()).hexdigest(),
            "details": _details(),
        }
        for name in models
    ]
    return {"models": entries}


def ollama_show(models: Models, body: Mapping[str, JSON]) -> dict[str, JSON]:
    asked = str(body.get("model") or body.get("name") or "")
    name = asked if ":" in asked else f"{asked}:latest"
    if name not in models:
        raise Complaint(f"model '{asked}' not found", status=404)
    capabilities: list[JSON] = ["completion"]
    if models[name].takes_tools:
        capabilities += ["tools", "thinking"]
    return {
        "modelfile": f"FROM {name}\n",
        "template": TEMPLATE,
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
