"""Facts about the engine behind an endpoint, which explain changes of its behaviour.

The hash of the chat template is part of the profile key. An endpoint is asked for what engines
report about themselves (PROTOCOLS §11). Missing answers leave facts unknown and never fail a run.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from probes.adapters import adapter_for
from probes.adapters.request_url import VERSIONS
from probes.errors import ProbesError
from probes.exchange import EndpointClient
from probes.http_messages import WireRequest, WireResponse
from probes.messages import JSON, Reply
from probes.outcomes import Attempt
from probes.pacing import Pacer
from probes.redaction import Redactor
from probes.strict_json import parse_json
from probes.suite.base import Answer, Question
from probes.suite.probe_tools import PROBE_ADD, PROBE_ECHO
from probes.suite.question_builder import QuestionBuilder
from probes.suite.script_steps import start_conversation
from probes.target import Provider, Target
from probes.transport import Transport

MAX_FACT = 200
MAX_BODY = 4 * 1024 * 1024
# Never change it: its number of tokens reveals another template or tokenizer.
CANARY = "Reply with the word canary. Do not call a tool."
CANARY_TOOLS = (PROBE_ECHO, PROBE_ADD)
# Upper bounds of `read_engine`; only one request, the canary, costs tokens.
MOST_REQUESTS = 7
MOST_TOKENS = 4000

Facts = dict[str, str]


@dataclass(frozen=True, slots=True)
class EngineFacts:
    """Facts that an endpoint reports about itself outside of its answers."""

    chat_template_hash: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)


def read_reply_facts(incoming: WireResponse | None, reply: Reply | None) -> Facts:
    """Facts about the engine in an answer and its headers."""
    facts = {
        "model": reply.model if reply else None,
        "system_fingerprint": reply.fingerprint if reply else None,
        "server": incoming.headers.get("server") if incoming else None,
        "via": incoming.headers.get("via") if incoming else None,
    }
    return {name: value for name, value in facts.items() if value}


async def read_engine(target: Target, transport: Transport) -> EngineFacts:
    """Query an endpoint for facts about its engine; a handful of concurrent requests."""
    client = _Client(target, transport)
    readers = _readers_for(target)
    answers = await asyncio.gather(
        *(reader(client) for reader in readers), _count_canary_tokens(client)
    )
    # An empty fact of one reader must not replace the value of another.
    facts = {name: value for answer in answers for name, value in answer.items() if value}
    redactor = Redactor(target.key)
    template = facts.pop("chat_template", "")
    return EngineFacts(
        _sha256(template) if template else "",
        {name: redactor.text(value)[:MAX_FACT] for name, value in facts.items()},
    )


def merge_facts(engine: EngineFacts, attempts: Iterable[Attempt]) -> dict[str, JSON]:
    """The facts of an endpoint and of its answers; several values become a list."""
    merged: dict[str, list[str]] = {name: [value] for name, value in engine.facts.items()}
    for attempt in attempts:
        for name, value in attempt.fingerprint.items():
            if value not in merged.setdefault(name, []):
                merged[name].append(value)
    return {name: values[0] if len(values) == 1 else values for name, values in merged.items()}


@dataclass(frozen=True, slots=True)
class _Client:
    target: Target
    transport: Transport

    @property
    def root(self) -> str:
        """The base URL without its version segment, where engines serve their own endpoints."""
        base, _, last = self.target.base_url.rpartition("/")
        return base if last in VERSIONS else self.target.base_url

    async def json(self, path: str, body: Mapping[str, JSON] | None = None) -> Mapping[str, JSON]:
        """The JSON object at a path, or an empty one."""
        headers = adapter_for(self.target.provider).headers(self.target.key)
        data = b"" if body is None else json.dumps(body).encode()
        outgoing = WireRequest(
            "GET" if body is None else "POST",
            self.root + path,
            {"Content-Type": "application/json", **headers},
            data,
            may_be_long=True,
        )
        try:
            incoming = await self.transport.send(outgoing)
            text = incoming.body.decode("utf-8")
        except (ProbesError, UnicodeDecodeError):
            return {}
        value = parse_json(text, max_bytes=MAX_BODY).value if incoming.status == 200 else None
        return value if isinstance(value, Mapping) else {}


async def _read_llamacpp(client: _Client) -> Facts:
    props = await client.json("/props")
    return {
        "chat_template": _text(props, "chat_template"),
        "engine": _text(props, "build_info"),
        "model_path": _text(props, "model_path"),
    }


async def _read_vllm_or_ollama(client: _Client) -> Facts:
    """One of the two, by which of them tells its version: only that one is asked further."""
    vllm, ollama = await asyncio.gather(client.json("/version"), client.json("/api/version"))
    if version := _text(vllm, "version"):
        info = await client.json("/tokenizer_info")
        return {"engine": version, "chat_template": _text(info, "chat_template")}
    if version := _text(ollama, "version"):
        return {"engine": version, **await _read_ollama_model(client)}
    return {}


async def _read_sglang(client: _Client) -> Facts:
    info = await client.json("/server_info")
    return {
        "engine": _text(info, "version"),
        "tool_call_parser": _text(info, "tool_call_parser"),
        "reasoning_parser": _text(info, "reasoning_parser"),
    }


async def _read_ollama(client: _Client) -> Facts:
    facts, version = await asyncio.gather(_read_ollama_model(client), client.json("/api/version"))
    return {**facts, "engine": _text(version, "version")}


async def _read_ollama_model(client: _Client) -> Facts:
    show = await client.json("/api/show", {"model": client.target.model})
    capabilities = show.get("capabilities")
    names = sorted(map(str, capabilities)) if isinstance(capabilities, list) else []
    return {
        "chat_template": _text(show, "template"),
        "parser": _text(show, "parser"),
        "renderer": _text(show, "renderer"),
        "modified_at": _text(show, "modified_at"),
        "engine_capabilities": ", ".join(names),
    }


async def _read_models_hash(client: _Client) -> Facts:
    """A hash of the list of models, which changes with the models that the host serves."""
    body = await client.json("/v1/models")
    entries = body.get("data") or body.get("models")
    if not isinstance(entries, list):
        return {}
    names = sorted(_text(entry, "id") or _text(entry, "name") for entry in entries)
    return {"models_hash": _sha256("\n".join(names))[:16]}


async def _count_canary_tokens(client: _Client) -> Facts:
    target = client.target
    adapter = adapter_for(target.provider)
    dialect = target.resolve_dialect()
    builder = QuestionBuilder(target.model, dialect, adapter.format, target.options)
    call = builder.call(start_conversation(CANARY), CANARY_TOOLS)
    endpoint_client = EndpointClient(target, adapter, client.transport, Pacer(1, tries=1))
    _, answer = await endpoint_client.ask(Question(call, "canary"))
    if not isinstance(answer, Answer) or answer.reply is None:
        return {}
    tokens = answer.reply.usage.input_tokens
    return {} if tokens is None else {"prompt_tokens_canary": str(tokens)}


_Reader = Callable[[_Client], Awaitable[Facts]]
_ENGINES: tuple[_Reader, ...] = (
    _read_llamacpp,
    _read_vllm_or_ollama,
    _read_sglang,
    _read_models_hash,
)
# Engines serve these formats; a host of the others serves a list of models and no more.
_READERS: Mapping[Provider, tuple[_Reader, ...]] = {
    Provider.OPENAI: _ENGINES,
    Provider.ANTHROPIC: _ENGINES,
    Provider.OPENAI_RESPONSES: _ENGINES,
    Provider.OLLAMA: (_read_ollama,),
}
# The vendors' own addresses, which have no engine to ask.
_OFFICIAL_HOSTS = frozenset(
    {
        *("api.openai.com", "api.anthropic.com", "api.deepseek.com", "openrouter.ai"),
        *("api.minimax.io", "api.minimaxi.com", "api.z.ai", "open.bigmodel.cn"),
        *("dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com", "api.moonshot.ai"),
        *("api.moonshot.cn", "api.mistral.ai", "generativelanguage.googleapis.com"),
    }
)


def _readers_for(target: Target) -> tuple[_Reader, ...]:
    if urlsplit(target.base_url).hostname in _OFFICIAL_HOSTS:
        return (_read_models_hash,)
    return _READERS.get(target.provider, (_read_models_hash,))


def _text(value: JSON, key: str) -> str:
    text = value.get(key) if isinstance(value, Mapping) else None
    return text if isinstance(text, str) else ""


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
