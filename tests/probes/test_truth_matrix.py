"""Every simulated vendor, healthy and with every kind of fault: the profile equals the truth."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeAlias
from urllib.parse import urlencode

import pytest

from health.run_report import Report
from probes.outcomes import Attempt, Outcome
from probes.runner import run_trials
from probes.secret import Secret
from probes.suite.sampling import first_trials
from probes.target import Provider, Target
from probes.transport import Transport, WireRequest
from simulators import virtual_time
from simulators.faults.streams import chat_streams, other_streams, stream_only
from simulators.in_process import InProcessTransport
from simulators.server import build_app
from tests.extent import EXTENT

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
    ("llamacpp-messages", "", {}),
    ("llamacpp-responses", "", {}),
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
    ("anthropic", "ignores-results", {}),
    ("deepseek", "ignores-results", {}),
    ("openai", "collapsed-space", {}),
    ("gemini", "collapsed-space", {}),
    ("anthropic", "escaped-html", {}),
    ("ollama", "escaped-html", {}),
    ("openai", "cut-at-tag", {}),
    ("anthropic", "string-input", {}),
    ("openai", "same-id", {}),
    ("anthropic", "same-id", {}),
    ("kimi", "constant-id", {}),
    ("gemini", "constant-id", {}),
    ("openai", "double-encoded", {}),
    ("responses", "invalid-json", {}),
    ("anthropic", "truncated", {}),
    ("openai", "glued-name", {}),
    ("openai", "wants-reasoning-same-turn", {}),
    ("openai", "wants-reasoning-all-turns", {}),
    ("openai", "kimi-reasoning", {}),
    ("openai", "refuses-blank-reasoning", {}),
    ("openai", "rejects-reasoning", {}),
    ("openai", "refuses-replay", {}),
    ("anthropic", "wants-thinking-blocks", {}),
    ("deepseek", "rejects-reasoning", {}),
    ("glm", "wants-reasoning-all-turns", {}),
    ("relay", "route-strict", {}),
    ("deepseek", "refuses-replay", {}),
    ("openai", "refuses-closure", {}),
    ("qwen", "rejects-reasoning", {}),
    ("openai", "forced-choice-refused", {}),
    ("vllm", "no-tools", {}),
    ("vllm", "vllm-no-auto", {}),
    ("vllm", "last-invoke-only", {}),
    ("openai", "index-zero+no-finish+crlf-keepalive", {}),
    ("anthropic", "input-in-start+no-block-stop", {}),
    ("openai", "down", {}),
    ("gemini", "html", {}),
    ("openai", "lost-tail+one-call+gives-up", {}),
    ("openai", "new-echo+new-fingerprint+leak-hermes", {}),
    ("openai", "ignores-late-system", {}),
    ("anthropic", "ignores-late-system", {}),
    ("responses", "ignores-late-system+ignores-prompted-tools", {}),
    ("vllm", "late-system-refused", {}),
    ("ollama", "late-system-refused+cuts-at-tag", {}),
    ("ollama:sim-plain", "ignores-prompted-tools", {}),
    ("vllm", "no-tools+ignores-prompted-tools", {}),
    ("vllm", "no-tools+cuts-at-tag", {}),
    ("gemini", "ignores-prompted-tools", {}),
    ("openai", "refuses-ref", {}),
    ("openai", "twice", {}),
    # Of these kinds, drawn at random (benchmarks.truth_pairs), pairs were wrong at first.
    ("mistral", "route-strict", {}),
    ("qwen", "leak-unterminated", {}),
    ("deepseek:sim-v3.2-reasoner", "channel-in-name", {}),
    ("glm", "phantom-stream", {}),
    ("minimax", "leak-in-reasoning", {}),
    ("minimax", "unknown-parameter", {}),
    ("minimax", "base-resp", {}),
    ("kimi", "refuses-closure", {}),
    ("responses", "not-an-object", {}),
    ("vllm-bare", "wrong-enum", {}),
    ("vllm-bare", "double-encoded", {}),
    ("qwen-xml", "wrapped", {}),
    ("qwen-xml", "phantom-finish", {}),
    ("openai", "tool-role-refused", {}),
    ("ollama", "tool-role-refused", {}),
    ("anthropic", "tool-role-refused", {}),
    ("deepseek", "tool-role-refused", {}),
    ("vllm", "template-without-tools", {}),
    ("vllm", "tool-role-ignored", {}),
    ("gemini", "tool-role-ignored", {}),
    ("anthropic", "tool-role-ignored", {}),
    ("vllm", "blind", {}),
    ("gemini", "blind-results", {}),
    ("ollama", "blind-results", {}),
    ("anthropic", "images-refused", {}),
    ("vllm", "result-images-refused", {}),
    ("responses", "images-fail", {}),
    ("vllm", "result-images-fail", {}),
    ("ollama", "result-images-fail", {}),
    ("openai", "images-fail+ignores-prompted-tools", {}),
]
# Healthy vendors under a chosen dialect.
DIALECTS = [
    ("anthropic-strict", "anthropic_bound"),
    ("deepseek:sim-v3.2-reasoner", "deepseek_v32"),
    ("deepseek-anthropic", "deepseek_anthropic"),
    ("minimax", "plain"),
    ("minimax-anthropic", "minimax_anthropic"),
    ("glm:sim-4.7", "glm_preserved"),
    ("qwen-hermes", "qwen_preserved"),
    ("openai", "openai_reasoning"),
    ("vllm", "plain"),
]
# A vendor of each wire format, for the faults of streams.
STREAMING_VENDORS = {
    "openai": "openai",
    "anthropic": "anthropic",
    "openai_responses": "responses",
    "gemini": "gemini",
    "ollama": "ollama",
}
STREAMS: list[tuple[str, str, dict[str, Any]]] = [
    (vendor, fault.name, {})
    for fault in (*chat_streams.FAULTS, *other_streams.FAULTS, *stream_only.FAULTS)
    for wire_format, vendor in STREAMING_VENDORS.items()
    if wire_format in fault.formats
]
EVERY = HEALTHY + FAULTY + STREAMS
pytestmark = pytest.mark.usefixtures("short_rests")


Measurement: TypeAlias = tuple[Report, Any]


@dataclass(frozen=True, slots=True)
class Vendors:
    """The simulated vendors: where they are and how they are reached."""

    url: str
    connect: Callable[[], Transport]
    run: Callable[[Coroutine[Any, Any, Measurement]], Measurement]

    def measure(
        self,
        vendor: str,
        switches: str = "",
        options: dict[str, Any] | None = None,
        *,
        dialect: str = "",
        samples: int = 2,  # one whole, one streamed
    ) -> Measurement:
        """The report on a vendor, and the truth about it."""
        settings = dict(options or {})
        return self.run(self._measure(vendor, switches, settings, dialect, samples))

    async def _measure(
        self, vendor: str, switches: str, options: dict[str, Any], dialect: str, samples: int
    ) -> Measurement:
        async with self.connect() as transport:
            truth = await self._read_truth(transport, vendor, switches, options)
            target = Target(
                Provider(truth["provider"]),
                self.url + truth["base_path"],
                truth["model"],
                Secret("sim-truth"),
                options,
                max_concurrency=4,
                dialect=dialect,
            )
            trials = first_trials("full", samples)
            attempts: list[Attempt] = [
                attempt
                async for attempt in run_trials(target, trials, seed="truth", transport=transport)
            ]
        return Report(target.profile_key(), datetime.now(UTC), attempts), truth

    async def _read_truth(
        self, transport: Transport, vendor: str, switches: str, options: dict[str, Any]
    ) -> Any:
        name, _, model = vendor.partition(":")
        prefix = f"/with/{switches}" if switches else ""
        query = urlencode({"options": json.dumps(options), **({"model": model} if model else {})})
        url = f"{self.url}{prefix}/_truth/{name}?{query}"
        answer = await transport.send(WireRequest("GET", url, {}, b""))
        assert answer.status == 200
        return json.loads(answer.body)


@pytest.fixture(scope="session")
def vendors(vendor_url: str) -> Vendors:
    """The vendors over HTTP, served by a separate process."""
    return Vendors(vendor_url, Transport, asyncio.run)


@pytest.fixture(scope="session")
def faulty_vendors(request: pytest.FixtureRequest) -> Vendors:
    """The same bytes without sockets, which take half of the time; with `--all` over HTTP too."""
    if EXTENT.faults_over_http:
        over_http: Vendors = request.getfixturevalue("vendors")
        return over_http
    app = build_app(latency=(0, 0))
    return Vendors("http://vendors.test", lambda: InProcessTransport(app), virtual_time.run)


def test_the_list_is_long_enough() -> None:
    """At least a hundred different combinations."""
    combinations = {json.dumps(entry) for entry in EVERY}
    assert len(combinations) == len(EVERY) >= 100


def name_combinations(combinations: list[tuple[str, str, dict[str, Any]]]) -> list[str]:
    return [
        f"{vendor}-{switches or 'healthy'}-{number}"
        for number, (vendor, switches, _) in enumerate(combinations)
    ]


@pytest.mark.parametrize(("vendor", "switches", "options"), HEALTHY, ids=name_combinations(HEALTHY))
def test_the_profile_of_a_healthy_vendor_is_the_truth(
    vendors: Vendors, vendor: str, switches: str, options: dict[str, Any]
) -> None:
    """Every field that is not random, and the rate of every metric with trials."""
    check_report(*vendors.measure(vendor, switches, options))


@pytest.mark.parametrize(
    ("vendor", "switches", "options"), FAULTY + STREAMS, ids=name_combinations(FAULTY + STREAMS)
)
def test_the_profile_of_a_faulty_vendor_is_the_truth(
    faulty_vendors: Vendors, vendor: str, switches: str, options: dict[str, Any]
) -> None:
    """Every field that is not random, and the rate of every metric with trials."""
    check_report(*faulty_vendors.measure(vendor, switches, options))


@pytest.mark.parametrize(("vendor", "dialect"), DIALECTS)
def test_the_profile_under_a_chosen_dialect_is_the_truth(
    vendors: Vendors, vendor: str, dialect: str
) -> None:
    """A dialect changes how a vendor is asked, not what is true of it."""
    check_report(*vendors.measure(vendor, dialect=dialect))


@pytest.mark.parametrize(("split", "failing"), [({}, 0), ({"reasoning_split": False}, 4)])
def test_a_healthy_minimax_passes_every_question_where_it_splits_its_reasoning(
    vendors: Vendors, split: dict[str, Any], failing: int
) -> None:
    """Its dialect asks for that; without it, thoughts stand in answers that must be exact."""
    report, _ = vendors.measure("minimax", options=split)

    failed = [each.probe for each in report.attempts if each.outcome is not Outcome.PASS]
    assert len(failed) == failing
    assert set(failed) <= {"no_call_wanted", "tag_in_text"}


def check_report(report: Report, truth: Any) -> None:
    capabilities = {name: field.value for name, field in report.capabilities.items()}
    assert {name: capabilities[name] for name in truth["capabilities"]} == truth["capabilities"]

    rates = {str(metric): rate.value for metric, rate in report.metrics.items()}
    expected = {name: rate["rate"] for name, rate in truth["metrics"].items()}
    known = [name for name in expected if None not in (expected[name], rates[name])]
    assert {name: rates[name] for name in known} == {name: expected[name] for name in known}


# Faults that act on half of the answers, and a field that their trials cannot settle.
CHANCE = [
    ("leak-hermes", "tool_call_format"),
    ("leak-unknown-tags", "tool_call_format"),
    ("same-id", "supports_parallel_tool_use"),
    ("one-call", "supports_parallel_tool_use"),
    ("wrong-value-type", "schema_level"),
    ("ignores-choice", "tool_choice"),
]


@pytest.mark.parametrize(("fault", "split"), CHANCE)
def test_a_fault_by_chance_leaves_its_fields_unsettled(
    faulty_vendors: Vendors, fault: str, split: str
) -> None:
    """No majority hides it; fields that it does not touch still equal the truth."""
    report, truth = faulty_vendors.measure("openai", f"{fault},p=0.5", samples=8)
    capabilities = report.capabilities

    assert capabilities[split].unsettled
    assert capabilities[split].counts
    assert split in truth["undetermined"]
    determined = set(truth["capabilities"]) - set(truth["undetermined"])
    assert {name: capabilities[name].value for name in determined} == {
        name: truth["capabilities"][name] for name in determined
    }
