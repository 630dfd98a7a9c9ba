"""The ground truth of vendors, and of stories over time."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

from simulators.server import build_app
from simulators.stories import DAY, HOUR, STORIES
from simulators.vendors.vendor_registry import SPECS


def get_truth(url: str, vendor: str, **query: str) -> Any:
    answer = httpx.get(f"{url}/_truth/{vendor}", params=query, trust_env=False)
    answer.raise_for_status()
    return answer.json()


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_the_truth_covers_every_model_of_every_vendor(vendor_url: str, spec: Any) -> None:
    """The truth has all fields of a profile, and a rate per metric."""
    for model in spec.models:
        truth = get_truth(vendor_url, spec.name, model=model)
        assert set(truth["capabilities"]) == {
            "schema_level",
            "tool_call_format",
            "parser",
            "supports_parallel_tool_use",
            "parallel",
            "reasoning_replay",
            "supports_streaming_tool_use",
            "error_repair",
            "tool_choice",
            "streaming",
            "system_position",
            "prompted_tools",
            "result_role",
            "image_result",
        }
        assert all(get_rate["rate"] in (0, 1) for get_rate in truth["metrics"].values())
        assert truth["base_path"].startswith(spec.mount)
        assert truth["provider"] == spec.provider


@pytest.mark.parametrize(
    ("vendor", "model", "options", "replay"),
    [
        ("deepseek", "sim-v4", {}, "required_all_turns"),
        ("deepseek", "sim-v4", {"thinking": {"type": "disabled"}}, "none"),
        ("deepseek", "sim-v3.2-reasoner", {}, "required_same_turn"),
        ("deepseek", "sim-v3.2-chat", {}, "none"),
        ("gemini", "sim-gemini-3", {}, "required_same_turn"),
        ("gemini", "sim-gemini-2.5", {}, "none"),
        ("anthropic", "sim-steady", {"thinking": {"type": "enabled"}}, "tolerated"),
    ],
)
def test_the_truth_depends_on_the_options_of_the_request(
    vendor_url: str, vendor: str, model: str, options: Any, replay: str
) -> None:
    """Reasoning must be replayed only if the options enable it."""
    truth = get_truth(vendor_url, vendor, model=model, options=json.dumps(options))

    assert truth["capabilities"]["reasoning_replay"] == replay


def test_a_fault_changes_the_truth_by_its_probability(vendor_url: str) -> None:
    """A permanent fault changes capabilities; a partial one changes rates."""
    always = get_truth(f"{vendor_url}/with/leak-qwen-xml", "openai")
    at_times = get_truth(f"{vendor_url}/with/leak-qwen-xml,p=0.3+prose,p=0.5", "openai")

    assert always["capabilities"]["tool_call_format"] == "xml"
    assert always["capabilities"]["parser"] == "qwen_xml"
    assert always["metrics"]["leak"] == {"rate": 1}
    # Calls that always arrive in the same text format can be parsed.
    assert always["metrics"]["parse_success"] == {"rate": 1}
    assert at_times["capabilities"]["tool_call_format"] == "openai"
    assert "tool_call_format" in at_times["undetermined"]
    assert at_times["metrics"]["parse_success"]["rate"] == pytest.approx(0.7 * 0.5)
    assert at_times["metrics"]["stream_disagreement"] == {"rate": None}


@pytest.mark.parametrize(
    ("vendor", "fault", "field", "value"),
    [
        ("openai", "same-id", "parallel", "none"),
        ("vllm-bare", "same-id", "parallel", "any"),
        ("openai", "invalid-json", "schema_level", "unknown"),
        ("vllm-bare", "invalid-json", "schema_level", "strict_json_schema"),
        ("qwen-xml", "leak-hermes", "parser", "qwen_xml"),
        ("vllm-bare", "leak-unknown-tags", "parser", "hermes"),
        ("vllm-bare", "phantom-finish", "tool_call_format", "json_text"),
        ("vllm-bare", "malformed-call", "tool_call_format", "none"),
        ("vllm-bare", "lost-tail", "streaming", "works"),
        ("vllm-bare", "stream-prose", "streaming", "loses_calls"),
        ("vllm-bare", "nine-character-ids", "error_repair", "unknown"),
        ("mistral", "nine-character-ids", "error_repair", "reliable"),
        ("openai", "refuses-closure", "reasoning_replay", "none"),
        ("kimi", "refuses-closure", "reasoning_replay", "unknown"),
        ("mistral", "route-strict", "reasoning_replay", "required_all_turns"),
        ("gemini", "route-strict", "reasoning_replay", "required_same_turn"),
        ("openai", "leak-in-reasoning", "reasoning_replay", "tolerated"),
        ("kimi", "leak-in-reasoning", "reasoning_replay", "required_all_turns"),
        ("openai", "ignores-late-system", "system_position", "ignored"),
        ("mistral", "ignores-late-system", "system_position", "first_only"),
    ],
)
def test_the_effect_of_a_fault_depends_on_the_vendor(
    vendor_url: str, vendor: str, fault: str, field: str, value: str
) -> None:
    """A fault of calls on the wire has none where they leak; without reasoning none is refused."""
    assert get_truth(f"{vendor_url}/with/{fault}", vendor)["capabilities"][field] == value


@pytest.mark.parametrize(
    ("vendor", "fault", "options", "rate"),
    [
        ("openai", "phantom-finish", {}, 0),
        ("glm", "phantom-finish", {}, None),
        ("minimax", "phantom-finish", {}, 1),
        ("glm", "phantom-finish", {"thinking": {"type": "disabled"}}, 0),
        ("glm", "phantom-stream", {}, None),
        ("glm", "empty", {}, 0),
        ("minimax", "malformed-call", {}, 1),
        ("minimax", "malformed-call", {"reasoning_split": False}, 0),
        ("anthropic-strict", "malformed-call", {}, 1),
        ("openai", "leak-in-reasoning", {}, 1),
        ("vllm-bare", "leak-in-reasoning", {}, 0),
    ],
)
def test_bare_reasoning_is_left_of_a_model_that_shows_it(
    vendor_url: str, vendor: str, fault: str, options: Any, rate: float | None
) -> None:
    """A lost call leaves the reasoning, if it stands beside the text."""
    truth = get_truth(f"{vendor_url}/with/{fault}", vendor, options=json.dumps(options))

    assert truth["metrics"]["reasoning_only"] == {"rate": rate}


def test_what_a_reader_decides_is_undetermined(vendor_url: str) -> None:
    """Markup in the name of a leaked call: one client reads it, another does not."""
    on_wire = get_truth(f"{vendor_url}/with/polluted-name", "vllm")
    in_text = get_truth(f"{vendor_url}/with/polluted-name", "vllm-bare")

    assert on_wire["undetermined"] == []
    assert {"schema_level", "tool_call_format", "parallel"} <= set(in_text["undetermined"])
    assert in_text["metrics"]["schema_failure"] == {"rate": None}


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/_truth/nobody", 404),
        ("/_truth/openai?model=gpt-nope", 400),
        ("/_truth/openai?options=[1", 400),
        ("/_truth/openai?options=3", 400),
        ("/_truth/openai?at=never", 400),
        ("/stories/no-such-story/_truth/openai", 404),
    ],
)
def test_an_invalid_truth_request_gets_an_error(vendor_url: str, path: str, status: int) -> None:
    """An invalid request gets a message, not a stack trace."""
    answer = httpx.get(vendor_url + path, trust_env=False)

    assert answer.status_code == status
    assert answer.json()["error"]["message"]


@pytest.mark.parametrize("story", STORIES.values(), ids=lambda story: story.name)
def test_every_story_has_an_existing_vendor(vendor_url: str, story: Any) -> None:
    """The vendor, model and switches of every story exist."""
    truth = get_truth(f"{vendor_url}/stories/{story.name}", story.vendor, model=story.model)

    assert truth["base_path"].startswith(f"/stories/{story.name}/")


def get_rate(story_name: str, metric: str, at: float) -> float:
    with TestClient(build_app()) as client:
        story = STORIES[story_name]
        query: dict[str, Any] = {"model": story.model, "at": at}
        truth = client.get(f"/stories/{story_name}/_truth/{story.vendor}", params=query).json()
    return float(truth["metrics"][metric]["rate"])


def test_stories_change_the_truth_over_time() -> None:
    """Decay ramps up, flapping alternates, an outage ends, a new template fixes leaks."""
    decay = [get_rate("slow-decay", "parse_success", day * DAY) for day in (0, 5, 12, 19, 30)]
    assert decay == pytest.approx([1, 1, 0.7, 0.4, 0.4])
    flapping = [get_rate("flapping", "leak", minutes * 60) for minutes in (5, 30, 125)]
    assert flapping == [0.5, 0, 0.5]
    outage = [get_rate("outage", "availability", DAY * 2 + HOUR * hours) for hours in (1, 7, 13)]
    assert outage == [1, 0, 1]
    swap = [get_rate("template-swap", "leak", day * DAY) for day in (6, 8)]
    assert swap == pytest.approx([0.33, 0])
    assert [get_rate("healthy", "parse_success", day * DAY) for day in (0, 300)] == [1, 1]


def test_the_re_route_makes_every_replay_fail() -> None:
    """From the tenth day on no history with a call is taken, whatever reasoning it carries."""
    with TestClient(build_app()) as client:
        path = "/stories/lost-replay/_truth/relay"
        before, after = (client.get(path, params={"at": day * DAY}).json() for day in (9, 11))

    rates = [truth["metrics"]["reasoning_replay_error"]["rate"] for truth in (before, after)]
    assert rates == [0, 1]
    assert before["capabilities"]["reasoning_replay"] == "none"
    assert after["capabilities"]["reasoning_replay"] == "unknown"


def test_advancing_the_clock_advances_the_stories() -> None:
    """Advancing the clock advances the stories."""
    with TestClient(build_app(latency=(0, 0))) as client:
        story = STORIES["template-swap"]
        path = f"/stories/template-swap/_truth/{story.vendor}"
        old = client.get(path).json()
        assert client.post("/_clock", json={"advance": 8 * DAY}).json()["now"] >= 8 * DAY
        new = client.get(path).json()
        assert client.post("/_clock", json={"advance": "soon"}).status_code == 400

    assert old["chat_template_hash"] != new["chat_template_hash"]
    leaks = [answer["metrics"]["leak"]["rate"] for answer in (old, new)]
    assert leaks == pytest.approx([0.33, 0])


@pytest.mark.parametrize("vendor", ["llamacpp", "ollama"])
def test_a_swapped_template_changes_its_hash(vendor_url: str, vendor: str) -> None:
    """The truth's hash is that of the template that the server exposes."""
    hashes = set()
    for prefix in ("", "/with/new-template"):
        url = f"{vendor_url}{prefix}"
        template_hash = get_truth(url, vendor)["chat_template_hash"]
        if vendor == "llamacpp":
            template = httpx.get(f"{url}/llamacpp/props", trust_env=False).json()["chat_template"]
        else:
            body = {"model": "sim-steady"}
            answer = httpx.post(f"{url}/ollama/api/show", json=body, trust_env=False)
            template = answer.json()["template"]
        assert hashlib.sha256(template.encode()).hexdigest() == template_hash
        hashes.add(template_hash)

    assert len(hashes) == 2


def test_engine_echo_fingerprint_and_token_count_can_be_swapped(vendor_url: str) -> None:
    """Each change is visible in the vendor's answers or metadata."""
    body = {"model": "sim-steady", "messages": [{"role": "user", "content": "Hello."}]}

    def answer(switch: str) -> Any:
        url = f"{vendor_url}{switch}/open/v1/chat/completions"
        return httpx.post(url, json=body, trust_env=False).json()

    plain = answer("")
    assert answer("/with/new-echo")["model"] != plain["model"]
    assert answer("/with/new-fingerprint")["system_fingerprint"] != plain["system_fingerprint"]
    tokens = [answer(s)["usage"]["prompt_tokens"] for s in ("", "/with/new-template")]
    assert tokens[0] != tokens[1]
    versions = [
        httpx.get(f"{vendor_url}{switch}/vllm/version", trust_env=False).json()["version"]
        for switch in ("", "/with/new-engine")
    ]
    assert versions[0] != versions[1]
