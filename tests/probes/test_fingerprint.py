from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from probes import fingerprint
from probes.fingerprint import CANARY, MOST_REQUESTS, EngineFacts
from probes.http_messages import WireResponse
from probes.messages import Reply, Stop
from probes.outcomes import Attempt, Evidence, Outcome
from probes.secret import Secret
from probes.target import Provider, Target
from probes.transport import Transport
from tests.probes.httpx_responses import answer

pytestmark = pytest.mark.anyio

KEY = "sim-canary-4711"
TEMPLATE = "{{ bos }}{% for m in messages %}…"
HASH = hashlib.sha256(TEMPLATE.encode()).hexdigest()
CANARY_ANSWER = {
    "choices": [{"message": {"content": "canary"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 123, "completion_tokens": 2},
}
CHAT = "/v1/chat/completions"


async def read_facts(
    served: Mapping[str, Any],
    provider: Provider = Provider.OPENAI,
    path: str = "/v1",
    host: str = "e.test",
) -> tuple[EngineFacts, list[httpx.Request]]:
    """The facts of an endpoint that serves these paths, and its requests."""
    requests: list[httpx.Request] = []

    def handle(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        body = served.get(request.url.path)
        if isinstance(body, Exception):
            raise body
        return answer(404, b"") if body is None else answer(200, body)

    target = Target(provider, f"https://{host}{path}", "m", Secret(KEY))
    async with Transport(inner=httpx.MockTransport(handle)) as transport:
        return await fingerprint.read_engine(target, transport), requests


ENGINES: dict[str, tuple[dict[str, Any], str, dict[str, str]]] = {
    "llama.cpp": (
        {"/props": {"chat_template": TEMPLATE, "build_info": "b9999", "model_path": "/m.gguf"}},
        HASH,
        {"engine": "b9999", "model_path": "/m.gguf"},
    ),
    "vLLM": (
        {"/version": {"version": "0.25.0"}, "/tokenizer_info": {"chat_template": TEMPLATE}},
        HASH,
        {"engine": "0.25.0"},
    ),
    "SGLang": (
        {
            "/server_info": {
                "version": "0.5.9",
                "tool_call_parser": "qwen25",
                "reasoning_parser": "qwen3",
            }
        },
        "",
        {"engine": "0.5.9", "tool_call_parser": "qwen25", "reasoning_parser": "qwen3"},
    ),
    "Ollama": (
        {
            "/api/show": {
                "template": TEMPLATE,
                "parser": "qwen3-coder",
                "renderer": "qwen3-coder",
                "modified_at": "2026-07-01",
                "capabilities": ["tools", "completion"],
            },
            "/api/version": {"version": "0.21.0"},
        },
        HASH,
        {
            "engine": "0.21.0",
            "parser": "qwen3-coder",
            "renderer": "qwen3-coder",
            "modified_at": "2026-07-01",
            "engine_capabilities": "completion, tools",
        },
    ),
}


# Every engine serves these formats beside its own.
SHARED = (Provider.OPENAI, Provider.ANTHROPIC, Provider.OPENAI_RESPONSES)


@pytest.mark.parametrize(
    ("name", "provider"),
    [*((name, provider) for name in ENGINES for provider in SHARED), ("Ollama", Provider.OLLAMA)],
)
async def test_each_engine_tells_what_it_is_in_every_format(name: str, provider: Provider) -> None:
    """Version, parsers and the hash of the chat template come from the engine's own endpoints."""
    served, template_hash, facts = ENGINES[name]

    engine, _ = await read_facts(served, provider, "/v1" if provider is Provider.OPENAI else "")

    assert (engine.chat_template_hash, dict(engine.facts)) == (template_hash, facts)


@pytest.mark.parametrize("provider", Provider)
async def test_no_more_requests_are_sent_than_are_planned(provider: Provider) -> None:
    """Also at a host that answers every question about engines."""
    everything: dict[str, Any] = {}
    for served, _, _ in ENGINES.values():
        everything |= served

    for some in (everything, {}, ENGINES["Ollama"][0]):
        _, requests = await read_facts(some, provider)
        assert len(requests) <= MOST_REQUESTS


async def test_ollama_is_asked_for_its_model() -> None:
    """Its endpoint is about one model, which is named."""
    _, requests = await read_facts(ENGINES["Ollama"][0], Provider.OLLAMA, "")

    (show,) = [request for request in requests if request.url.path == "/api/show"]
    assert (show.method, json.loads(show.content)) == ("POST", {"model": "m"})


async def test_the_list_of_models_is_a_hash_that_does_not_mind_the_order() -> None:
    """It changes when another model is served."""
    first, _ = await read_facts({"/v1/models": {"data": [{"id": "a"}, {"id": "b"}]}})
    turned, _ = await read_facts({"/v1/models": {"data": [{"id": "b"}, {"id": "a"}]}})
    other, _ = await read_facts({"/v1/models": {"data": [{"id": "a"}, {"id": "c"}]}})

    assert first.facts == turned.facts
    assert first.facts["models_hash"] != other.facts["models_hash"]


async def test_the_canary_tells_how_many_tokens_a_fixed_question_takes() -> None:
    """The question never changes, so another number means another template or tokenizer."""
    engine, requests = await read_facts({CHAT: CANARY_ANSWER})

    assert engine.facts["prompt_tokens_canary"] == "123"
    (canary_request,) = [request for request in requests if request.url.path == CHAT]
    assert json.loads(canary_request.content)["messages"] == [{"role": "user", "content": CANARY}]


@pytest.mark.parametrize(
    ("provider", "host", "path"),
    [
        (Provider.ANTHROPIC, "api.anthropic.com", "/v1/messages"),
        (Provider.OPENAI, "api.openai.com", CHAT),
        (Provider.OPENAI_RESPONSES, "api.openai.com", "/v1/responses"),
        (Provider.DEEPSEEK, "e.test", CHAT),
    ],
)
async def test_a_hosted_vendor_is_asked_for_its_models_and_the_canary_alone(
    provider: Provider, host: str, path: str
) -> None:
    """Endpoints of self-hosted engines are not requested."""
    _, requests = await read_facts({}, provider, host=host)

    assert sorted(request.url.path for request in requests) == sorted([path, "/v1/models"])


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"\xff\xfe",
        b"{",
        [],
        "text",
        {},
        {"version": 7, "chat_template": ["x"], "data": "none", "models": {"a": 1}},
        {"data": [None, 3, "x"], "usage": {"prompt_tokens": "many"}},
        httpx.ConnectError("refused"),
        httpx.ReadError("gone"),
    ],
)
@pytest.mark.parametrize("provider", [*SHARED, Provider.OLLAMA])
async def test_broken_answers_give_no_facts_and_no_error(body: Any, provider: Provider) -> None:
    """Unreadable facts are unknown; nothing fails a run."""
    paths = ("/props", "/version", "/tokenizer_info", "/server_info", "/api/show", "/api/version")

    engine, _ = await read_facts(
        dict.fromkeys(
            (*paths, "/v1/models", CHAT, "/v1/messages", "/v1/responses", "/api/chat"), body
        ),
        provider,
    )

    assert engine.chat_template_hash == ""
    assert set(engine.facts) <= {"models_hash"}


async def test_the_key_goes_out_and_never_into_a_fact() -> None:
    """An echoed key is redacted, and long facts are cut."""
    props = {"build_info": f"b1 {KEY}", "model_path": "x" * 1000}

    engine, requests = await read_facts({"/props": props})

    assert {request.headers["authorization"] for request in requests} == {f"Bearer {KEY}"}
    assert engine.facts == {"engine": "b1 [redacted]", "model_path": "x" * 200}


async def test_a_base_url_without_a_version_is_its_own_root() -> None:
    """Engines serve their endpoints beside the version, wherever they are mounted."""
    _, plain = await read_facts({}, path="")
    _, mounted = await read_facts({}, path="/vllm/v1")

    assert "/props" in {request.url.path for request in plain}
    assert "/vllm/props" in {request.url.path for request in mounted}


def test_an_answer_gives_away_who_made_it() -> None:
    """Model, fingerprint and server; missing values are omitted."""
    incoming = WireResponse(200, {"server": "nginx", "via": "1.1 relay", "x": "y"})
    reply = Reply((), Stop.END, model="m-1", fingerprint="fp")

    assert fingerprint.read_reply_facts(incoming, reply) == {
        "model": "m-1",
        "system_fingerprint": "fp",
        "server": "nginx",
        "via": "1.1 relay",
    }
    assert fingerprint.read_reply_facts(None, None) == {}


def test_facts_of_a_run_are_merged_and_differences_stand_in_a_list() -> None:
    """Two models behind one name show up."""
    attempts = [
        Attempt(
            "format", trial, Outcome.PASS, (), (), Evidence(), datetime.now(UTC), fingerprint=facts
        )
        for trial, facts in enumerate([{"model": "a"}, {"model": "b", "server": "x"}, {}], 1)
    ]

    merged = fingerprint.merge_facts(EngineFacts("", {"engine": "1", "server": "x"}), attempts)

    assert merged == {"engine": "1", "server": "x", "model": ["a", "b"]}


@pytest.mark.parametrize(
    ("provider", "vendor"),
    [
        (Provider.OPENAI, "llamacpp/v1"),
        (Provider.ANTHROPIC, "llamacpp-messages"),
        (Provider.OPENAI_RESPONSES, "llamacpp-responses/v1"),
    ],
)
async def test_one_server_has_one_template_and_a_whole_prompt_in_every_format(
    provider: Provider, vendor: str, vendor_url: str
) -> None:
    """The Anthropic format reports all but one token of the prompt as cached."""
    target = Target(provider, f"{vendor_url}/{vendor}", "sim-steady")
    async with Transport() as transport:
        engine = await fingerprint.read_engine(target, transport)

    truth = httpx.get(f"{vendor_url}/_truth/llamacpp", trust_env=False).json()
    assert engine.chat_template_hash == truth["chat_template_hash"]
    assert engine.facts["engine"] == "b6500-1f2e3d4c"
    assert int(engine.facts["prompt_tokens_canary"]) > 50
