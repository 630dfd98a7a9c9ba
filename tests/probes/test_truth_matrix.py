"""Every simulated vendor, healthy and with every kind of fault: the profile equals the truth."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from health.run_report import Report
from probes.outcomes import Attempt
from probes.runner import run_trials
from probes.secret import Secret
from probes.suite.sampling import first_trials
from probes.target import Provider, Target

THINKING = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
OFF = {"thinking": {"type": "disabled"}}
# vendor and model, switches, request options
HEALTHY: list[tuple[str, str, dict[str, Any]]] = [
    ("openai", "", {}),
    ("open", "", {}),
    ("responses", "", {}),
    ("responses", "", {"reasoning": {"effort": "low"}}),
    ("anthropic", "", {}),
    ("anthropic", "", THINKING),
    ("anthropic-strict", "", {}),
    ("gemini:sim-gemini-3", "", {}),
    ("gemini:sim-gemini-2.5", "", {}),
    ("gemini", "", {"generationConfig": {"thinkingConfig": {"includeThoughts": True}}}),
    ("mistral", "", {}),
    ("deepseek:sim-v4", "", {}),
    ("deepseek:sim-v4", "", OFF),
    ("deepseek:sim-v3.2-reasoner", "", {}),
    ("deepseek:sim-v3.2-chat", "", {}),
    ("deepseek-anthropic", "", {}),
    ("minimax", "", {}),
    ("minimax", "", {"reasoning_split": True}),
    ("minimax-anthropic", "", {}),
    ("glm:sim-4.7", "", {}),
    ("glm:sim-4.7", "", OFF),
    ("glm:sim-5.3", "", {}),
    ("qwen:sim-max", "", {}),
    ("qwen:sim-coder", "", {}),
    ("qwen-hermes", "", {}),
    ("qwen-xml", "", {}),
    ("kimi", "", {}),
    ("relay", "", {}),
    ("ollama", "", {}),
    ("ollama", "", {"think": True}),
    ("ollama:sim-plain", "", {}),
    ("llamacpp", "", {}),
    ("vllm", "", {"reasoning_effort": "low"}),
    ("vllm-bare", "", {}),
]
FAULTY: list[tuple[str, str, dict[str, Any]]] = [
    ("anthropic", "leak-minimax-m2", {}),
    ("deepseek", "leak-dsml", {}),
    ("gemini", "leak-pythonic", {}),
    ("ollama", "leak-harmony", {}),
    ("kimi", "leak-kimi-k2", {}),
    ("glm", "leak-glm", {}),
    ("mistral", "leak-mistral", {}),
    ("openai", "leak-in-reasoning", {}),
    ("openai", "leak-unknown-tags", {}),
    ("anthropic", "leak-unknown-json", {}),
    ("gemini", "leak-unknown-code", {}),
    ("openai", "leak-and-call", {}),
    ("responses", "prose", {}),
    ("anthropic", "empty", {}),
    ("deepseek", "reasoning-only", {}),
    ("openai", "phantom-finish", {}),
    ("gemini", "malformed-call", {}),
    ("ollama", "server-parse", {}),
    ("openai", "truncated", {}),
    ("anthropic", "wrong-enum", {}),
    ("gemini", "wrong-value-type", {}),
    ("ollama", "missing-required", {}),
    ("openai", "invalid-json", {}),
    ("responses", "double-encoded", {}),
    ("qwen", "nested-as-string", {}),
    ("vllm", "strings-only", {}),
    ("openai", "empty-arguments", {}),
    ("openai", "polluted-name", {}),
    ("openai", "unknown-tool", {}),
    ("openai", "one-call", {}),
    ("gemini", "one-call+no-repair", {}),
    ("anthropic", "gives-up", {}),
    ("deepseek", "slow-repair", {}),
    ("openai", "ignores-choice", {}),
    ("vllm", "calls-despite-none", {}),
    ("openai", "same-id", {}),
    ("kimi", "constant-id", {}),
    ("openai", "wants-reasoning-same-turn", {}),
    ("relay", "route-strict", {}),
    ("deepseek", "refuses-replay", {}),
    ("openai", "refuses-closure", {}),
    ("qwen", "rejects-reasoning", {}),
    ("openai", "forced-choice-refused", {}),
    ("vllm", "no-tools", {}),
    ("vllm", "vllm-no-auto", {}),
    ("openai", "lost-tail", {}),
    ("vllm", "last-invoke-only", {}),
    ("openai", "phantom-stream", {}),
    ("ollama", "error-line", {}),
    ("openai", "index-zero+no-finish+crlf-keepalive", {}),
    ("anthropic", "input-in-start+no-block-stop", {}),
    ("openai", "down", {}),
    ("gemini", "html", {}),
    ("openai", "lost-tail+one-call+gives-up", {}),
    ("openai", "new-echo+new-fingerprint+leak-hermes", {}),
]


def read_truth(url: str, vendor: str, switches: str, options: dict[str, Any]) -> Any:
    name, _, model = vendor.partition(":")
    prefix = f"/with/{switches}" if switches else ""
    query = {"options": json.dumps(options), **({"model": model} if model else {})}
    answer = httpx.get(f"{url}{prefix}/_truth/{name}", params=query, trust_env=False)
    return answer.raise_for_status().json()


async def run_measurement(url: str, truth: Any, options: dict[str, Any]) -> Report:
    target = Target(
        Provider(truth["provider"]),
        url + truth["base_path"],
        truth["model"],
        Secret("sim-truth"),
        options,
        max_concurrency=16,
    )
    trials = first_trials("full", 1)
    attempts: list[Attempt] = [
        attempt async for attempt in run_trials(target, trials, seed="truth")
    ]
    return Report(target.profile_key(), datetime.now(UTC), attempts)


def test_the_list_is_long_enough() -> None:
    """At least sixty different combinations."""
    combinations = {json.dumps(entry) for entry in HEALTHY + FAULTY}
    assert len(combinations) == len(HEALTHY + FAULTY) >= 60


@pytest.mark.parametrize(
    ("vendor", "switches", "options"),
    HEALTHY + FAULTY,
    ids=[
        f"{vendor}-{switches or 'healthy'}-{number}"
        for number, (vendor, switches, _) in enumerate(HEALTHY + FAULTY)
    ],
)
def test_the_profile_is_the_truth(
    vendor_url: str, vendor: str, switches: str, options: dict[str, Any]
) -> None:
    """Every field that is not random, and the rate of every metric with trials."""
    truth = read_truth(vendor_url, vendor, switches, options)
    report = asyncio.run(run_measurement(vendor_url, truth, options))
    capabilities = {name: field.value for name, field in report.capabilities.items()}
    assert {name: capabilities[name] for name in truth["capabilities"]} == truth["capabilities"]

    rates = {str(metric): rate.value for metric, rate in report.metrics.items()}
    expected = {name: rate["rate"] for name, rate in truth["metrics"].items()}
    known = [name for name in expected if None not in (expected[name], rates[name])]
    assert {name: rates[name] for name in known} == {name: expected[name] for name in known}
