"""One safe question, asked once."""

from __future__ import annotations

import json
import socket

import httpx
import pytest

from probes.errors import ConnectFailed, ConnectFailureReason, RateLimited
from probes.findings import FindingKind
from probes.secret import Secret
from probes.target import Provider, Target
from probes.transport import Transport
from probes.try_endpoint import FEW_TOKENS, MAX_SHOWN, TryResult, try_once
from tests.probes.httpx_responses import answer

pytestmark = pytest.mark.anyio
KEY = "sk-a-secret-of-somebody"


class Vendor:
    """Gives every request the same answer and records the requests."""

    def __init__(self, status: int, body: object, **headers: str) -> None:
        self.requests: list[httpx.Request] = []
        self._status, self._body, self._headers = status, body, headers

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        return answer(self._status, self._body, **self._headers)


async def try_vendor(vendor: Vendor, **options: object) -> TryResult:
    target = Target(Provider.OPENAI, "http://v/v1", "m", Secret(KEY), options=options)  # type: ignore[arg-type]
    async with Transport(inner=httpx.MockTransport(vendor)) as transport:
        return await try_once(target, transport)


def reply(text: str) -> dict[str, object]:
    message = {"role": "assistant", "content": text}
    return {"model": "m", "choices": [{"message": message, "finish_reason": "stop"}]}


async def test_it_is_asked_once_with_few_tokens_and_a_harmless_tool() -> None:
    """One request, no stream, no history, and a limit far below that of a run."""
    vendor = Vendor(200, reply("I would rather talk."))

    result = await try_vendor(vendor)

    (request,) = vendor.requests
    body = json.loads(request.content)
    assert [tool["function"]["name"] for tool in body["tools"]] == ["probe_echo"]
    assert FEW_TOKENS in (body.get("max_tokens"), body.get("max_completion_tokens"))
    assert [finding.kind for finding in result.findings] == [FindingKind.NO_CALL]
    assert result.format is None


async def test_a_rate_limit_is_told_and_not_waited_for() -> None:
    """A run pauses and repeats; a user who waits for a page gets the result at once."""
    vendor = Vendor(429, {"error": {"message": "slow down"}}, retry_after="1")

    result = await try_vendor(vendor)

    assert len(vendor.requests) == 1
    assert isinstance(result.error, RateLimited)


async def test_options_bring_back_the_room_that_a_run_has() -> None:
    """A thinking budget from an option has to fit below the limit."""
    result = await try_vendor(Vendor(200, reply("no")), reasoning_effort="high")

    assert result.max_tokens > FEW_TOKENS


async def test_texts_are_redacted_before_they_are_cut() -> None:
    """No part of the key remains at the cut."""
    text = "x" * (MAX_SHOWN - 5) + KEY

    result = await try_vendor(Vendor(200, reply(text)))

    assert len(result.text) <= MAX_SHOWN
    assert "sk-a" not in result.text


@pytest.mark.parametrize(
    ("base_url", "why"),
    [
        ("http://127.0.0.1:9/v1", ConnectFailureReason.REFUSED),
        ("http://nobody.invalid/v1", ConnectFailureReason.NAME),
    ],
)
async def test_why_no_connection_came_about_is_told(
    monkeypatch: pytest.MonkeyPatch, base_url: str, why: ConnectFailureReason
) -> None:
    """An unknown name differs from a closed port."""
    real = socket.getaddrinfo

    def resolve(host: str, *args: object, **kwargs: object) -> object:
        if str(host).endswith(".invalid"):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return real(host, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    async with Transport() as transport:
        result = await try_once(Target(Provider.OPENAI, base_url, "m"), transport)

    assert isinstance(result.error, ConnectFailed)
    assert result.error.why is why
