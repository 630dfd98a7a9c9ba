"""One exchange and everything that can go wrong with it, over real sockets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from gateway.app import GatewaySettings
from gateway.exchange import Clocks
from simulators.background_server import serve_in_background
from tests.gateway import scripted_upstream as scripts
from tests.gateway.policies import TRUTH
from tests.gateway.running_gateway import TOKEN, RunningGateway, live_endpoint, run_gateway
from tests.gateway.scripted_upstream import ScriptedUpstream

TOOL = {
    "type": "function",
    "function": {
        "name": "Read",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
    },
}
BODY: dict[str, Any] = {
    "model": "mine",
    "messages": [{"role": "user", "content": "Hi"}],
    "tools": [TOOL],
}
HEADERS = {"authorization": f"Bearer {TOKEN}", "user-agent": "claude-cli/2.1 (external)"}
QUICK = Clocks(total=20, first_data=1, idle=1, hold_status=0.1, heartbeat=0.1)
Start = Callable[..., tuple[RunningGateway, ScriptedUpstream]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    with ExitStack() as stack:

        def begin(
            *run: Any, status: tuple[int, ...] = (200,), clocks: Clocks = QUICK
        ) -> tuple[RunningGateway, ScriptedUpstream]:
            upstream = ScriptedUpstream(list(run), list(status))
            url = stack.enter_context(serve_in_background(upstream))
            endpoint = live_endpoint(TRUTH, url)
            settings = GatewaySettings(clocks=clocks)
            running = stack.enter_context(run_gateway(tmp_path, endpoint, settings=settings))
            return running, upstream

        yield begin


def ask(running: RunningGateway, **changed: Any) -> httpx.Response:
    url = f"{running.base_url()}/v1/chat/completions"
    return httpx.post(url, json=BODY | changed, headers=HEADERS, trust_env=False, timeout=30)


def test_an_answer_is_recorded_with_its_agent_and_policy(start: Start) -> None:
    running, upstream = start(scripts.good)
    answer = ask(running, stream=True)

    assert answer.status_code == 200
    assert answer.headers["x-toolgauge-policy"] == "7"
    assert upstream.bodies[0]["model"] == "sim-steady"
    (event,) = running.events()
    assert (event["agent"], event["status"], event["end"]) == ("Claude Code", 200, "end")
    assert event["policy"] == 7
    assert event["latency_ms"] >= event["first_token_ms"] >= event["first_byte_ms"]


@pytest.mark.parametrize("streamed", [False, True])
def test_a_half_call_is_an_error_and_no_finish_reason(start: Start, streamed: bool) -> None:
    running, _ = start(scripts.half_call_then_end)
    answer = ask(running, stream=streamed)

    assert "tool_calls" not in answer.text
    assert '"finish_reason": "' not in answer.text
    assert '"error"' in answer.text
    (event,) = running.events()
    assert event["calls"] == 0


@pytest.mark.parametrize("script", [scripts.hang, scripts.text_then_hang])
def test_a_client_that_leaves_ends_the_request_to_the_endpoint(start: Start, script: Any) -> None:
    """Nothing is generated and billed for nobody."""
    running, upstream = start(script, clocks=Clocks(heartbeat=0.1, hold_status=0.1))
    url = f"{running.base_url()}/v1/chat/completions"
    with (
        httpx.Client(trust_env=False) as client,
        client.stream("POST", url, json=BODY | {"stream": True}, headers=HEADERS) as answer,
    ):
        next(answer.iter_raw())

    assert upstream.left.wait(30)


def test_a_client_that_leaves_a_whole_answer_ends_the_request_too(start: Start) -> None:
    running, upstream = start(scripts.hang, clocks=Clocks())
    url = f"{running.base_url()}/v1/chat/completions"
    with httpx.Client(trust_env=False) as client, pytest.raises(httpx.ReadTimeout):
        client.post(url, json=BODY, headers=HEADERS, timeout=0.5)

    assert upstream.left.wait(30)


def test_heartbeats_of_the_format_come_while_the_endpoint_thinks(start: Start) -> None:
    """The status is held for a while, then the stream begins; silence ends as an error in it."""
    running, upstream = start(scripts.hang)
    answer = ask(running, stream=True)

    assert answer.status_code == 200
    assert answer.text.count('"delta"') >= 3, "heartbeats"
    assert '"error"' in answer.text
    assert upstream.left.wait(30)


@pytest.mark.parametrize(
    ("run", "status"),
    [
        ((scripts.error_first, scripts.good), (200,)),
        ((scripts.error_body, scripts.good), (503, 200)),
        ((scripts.error_body, scripts.good), (429, 200)),
    ],
)
def test_a_failure_before_the_first_byte_is_tried_once_more(
    start: Start, run: tuple[Any, ...], status: tuple[int, ...]
) -> None:
    running, upstream = start(*run, status=status, clocks=Clocks())
    answer = ask(running, stream=True)

    assert "Done." in answer.text
    assert len(upstream.bodies) == 2
    (event,) = running.events()
    assert event["retries"] == 1


@pytest.mark.parametrize(
    ("status", "seen", "requests"), [(400, 400, 1), (401, 403, 1), (404, 403, 1), (500, 500, 1)]
)
def test_errors_of_the_endpoint_reach_the_client_in_its_format(
    start: Start, status: int, seen: int, requests: int
) -> None:
    """A wrong key of the endpoint is not the client's: no 401, which it would retry."""
    running, upstream = start(scripts.error_body, status=(status,), clocks=Clocks())
    answer = ask(running, stream=True)

    assert answer.status_code == seen
    assert "Something is wrong." in answer.json()["error"]["message"]
    assert len(upstream.bodies) == requests
    if seen == 403:
        assert answer.headers["x-should-retry"] == "false"


@pytest.mark.parametrize(
    "header",
    [
        {"authorization": f"Bearer {TOKEN}"},
        {"x-api-key": TOKEN},
        {"x-goog-api-key": TOKEN},
    ],
    ids=lambda header: next(iter(header)),
)
def test_the_token_is_read_from_the_headers_that_clients_use(
    start: Start, header: dict[str, str]
) -> None:
    running, _ = start(scripts.good)
    url = f"{running.base_url()}/v1/chat/completions"

    answer = httpx.post(url, json=BODY | {"stream": True}, headers=header, trust_env=False)
    assert answer.status_code == 200
    wrong = {name: value[:-1] + "b" for name, value in header.items()}
    answer = httpx.post(url, json=BODY, headers=wrong, trust_env=False)
    assert answer.status_code == 401
    assert answer.headers["x-should-retry"] == "false"


def test_a_stopped_gateway_ends_its_streams_with_an_error(start: Start) -> None:
    running, _ = start(scripts.text_then_hang, clocks=Clocks(hold_status=0.1, heartbeat=0.1))
    url = f"{running.base_url()}/v1/chat/completions"
    with (
        httpx.Client(trust_env=False, timeout=60) as client,
        client.stream("POST", url, json=BODY | {"stream": True}, headers=HEADERS) as answer,
    ):
        pieces = answer.iter_text()
        text = next(pieces)
        running.in_its_loop(running.gateway.end_all)
        text += "".join(pieces)

    assert "being stopped" in text
    assert '"finish_reason": "' not in text
