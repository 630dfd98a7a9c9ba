"""Presets of the endpoint form for well-known vendors and servers."""

from __future__ import annotations

from dataclasses import dataclass

from probes.target import Provider


@dataclass(frozen=True, slots=True)
class Preset:
    """The usual address of a vendor. `model` is an example, not a recommendation."""

    name: str  # in the address of the form
    label: str  # a proper name
    provider: Provider
    base_url: str
    model: str
    needs_key: bool = True


# The first preset of a provider supplies its examples in the form.
PRESETS = (
    Preset("openai", "OpenAI", Provider.OPENAI, "https://api.openai.com/v1", "gpt-5.6"),
    Preset(
        "anthropic",
        "Anthropic",
        Provider.ANTHROPIC,
        "https://api.anthropic.com",
        "claude-sonnet-4-5",
    ),
    Preset(
        "ollama",
        "Ollama",
        Provider.OLLAMA,
        "http://127.0.0.1:11434",
        "qwen3:8b",
        needs_key=False,
    ),
    Preset(
        "vllm",
        "vLLM or SGLang",
        Provider.OPENAI,
        "http://127.0.0.1:8000/v1",
        "Qwen/Qwen3-32B",
        needs_key=False,
    ),
    Preset(
        "llamacpp",
        "llama.cpp",
        Provider.OPENAI,
        "http://127.0.0.1:8080/v1",
        "default",
        needs_key=False,
    ),
    Preset(
        "openrouter",
        "OpenRouter",
        Provider.OPENAI,
        "https://openrouter.ai/api/v1",
        "qwen/qwen3-coder",
    ),
    Preset(
        "openai_responses",
        "OpenAI Responses",
        Provider.OPENAI_RESPONSES,
        "https://api.openai.com/v1",
        "gpt-5.6",
    ),
    Preset(
        "deepseek",
        "DeepSeek",
        Provider.DEEPSEEK,
        "https://api.deepseek.com/v1",
        "deepseek-v4-pro",
    ),
    Preset(
        "gemini",
        "Gemini",
        Provider.GEMINI,
        "https://generativelanguage.googleapis.com",
        "gemini-3-pro",
    ),
    Preset("glm", "GLM", Provider.GLM, "https://api.z.ai/api/paas/v4", "glm-5.3"),
    Preset("kimi", "Kimi", Provider.KIMI, "https://api.moonshot.ai/v1", "kimi-k2.6"),
    Preset("minimax", "MiniMax", Provider.MINIMAX, "https://api.minimax.io/v1", "MiniMax-M2.5"),
    Preset(
        "mistral", "Mistral", Provider.MISTRAL, "https://api.mistral.ai/v1", "mistral-large-latest"
    ),
    Preset(
        "qwen",
        "Qwen",
        Provider.QWEN,
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        "qwen3.8-max",
    ),
)


def find_preset(name: str) -> Preset | None:
    return next((preset for preset in PRESETS if preset.name == name), None)


def provider_preset(provider: str) -> Preset:
    """The first preset of a provider."""
    return next(preset for preset in PRESETS if preset.provider == provider)


def provider_examples() -> dict[str, dict[str, str]]:
    """The placeholders per provider that the form's script puts into empty fields."""
    presets = {provider.value: provider_preset(provider) for provider in Provider}
    return {
        name: {"base_url": preset.base_url, "model": preset.model}
        for name, preset in presets.items()
    }
