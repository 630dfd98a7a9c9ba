from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from probes.adapters import FORMATS
from probes.errors import AuthRejected, NotJSON, Overloaded, ProviderError, RateLimited, Redirected
from probes.http_messages import Chunk, WireResponse
from probes.http_reply import read_http_reply
from tests.simulators.fault_client import (
    ECHOED,
    EVERY_FORMAT,
    HEADERS,
    ONE,
    FaultyVendor,
    question,
    read_calls,
)

every_format = pytest.mark.parametrize("wire_format", EVERY_FORMAT)
both_ways = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
OTHERS = [wire_format for wire_format in EVERY_FORMAT if wire_format != "openai"]

LIMITED: dict[str, Any] = {
    "openai": {
        "message": "Rate limit reached for requests",
        "type": "rate_limit_error",
        "param": None,
        "code": "rate_limit_exceeded",
    },
    "anthropic": {
        "type": "rate_limit_error",
        "message": "This request would exceed your account's rate limit. Please try again later.",
    },
    "gemini": {
        "code": 429,
        "message": "Resource has been exhausted (e.g. check quota).",
        "status": "RESOURCE_EXHAUSTED",
    },
    "ollama": "too many concurrent requests",
}
LIMITED["openai_responses"] = LIMITED["openai"]
TROUBLE: dict[tuple[str, int], Any] = {
    ("openai", 500): {
        "message": "The server had an error while processing your request. Sorry about that!",
        "type": "server_error",
        "param": None,
        "code": None,
    },
    ("openai", 503): {
        "message": "The engine is currently overloaded, please try again later",
        "type": "service_unavailable_error",
        "param": None,
        "code": None,
    },
    ("anthropic", 500): {"type": "api_error", "message": "Internal server error"},
    ("anthropic", 529): {"type": "overloaded_error", "message": "Overloaded"},
    ("gemini", 500): {
        "code": 500,
        "message": "An internal error has occurred. Please retry.",
        "status": "INTERNAL",
    },
    ("gemini", 503): {
        "code": 503,
        "message": "The model is overloaded. Please try again later.",
        "status": "UNAVAILABLE",
    },
    ("ollama", 500): "llama runner process has terminated: signal: killed",
    ("ollama", 503): "server busy, please try again.  maximum pending requests exceeded",
}
LOST: dict[str, tuple[str, str]] = {
    "openai": ("Incorrect API key provided: ***.", "authentication_error"),
    "openai_responses": ("Incorrect API key provided: ***.", "authentication_error"),
    "anthropic": ("invalid x-api-key", "authentication_error"),
    "gemini": ("Request had invalid authentication credentials.", "UNAUTHENTICATED"),
    "ollama": ("unauthorized", ""),
}
METADATA_PATHS = (
    "/openai/v1/models",
    "/anthropic/v1/models",
    "/gemini/v1beta/models",
    "/ollama/api/tags",
    "/llamacpp/props",
    "/vllm/version",
)


def ask(url: str, switches: str, wire_format: str, *, stream: bool = False) -> httpx.Response:
    return FaultyVendor(url, switches).ask(wire_format, question(ONE), stream=stream)


def read_error(wire_format: str, answer: httpx.Response) -> ProviderError:
    """The error that our library raises for an answer."""
    incoming = WireResponse(answer.status_code, dict(answer.headers), (Chunk(0, answer.content),))
    with pytest.raises(ProviderError) as caught:
        read_http_reply(FORMATS[wire_format], incoming)
    return caught.value


@both_ways
@every_format
def test_a_rate_limit_has_a_retry_after(vendor_url: str, wire_format: str, stream: bool) -> None:
    """A rate limit is a 429 with Retry-After in the vendor's envelope, streamed or not."""
    answer = ask(vendor_url, "rate-limit,value=7", wire_format, stream=stream)

    assert (answer.status_code, answer.headers["retry-after"]) == (429, "7")
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["error"] == LIMITED[wire_format]
    error = read_error(wire_format, answer)
    assert isinstance(error, RateLimited)
    assert error.retry_after == 7


def test_a_rate_limit_has_a_default_wait(vendor_url: str) -> None:
    """Retry-After defaults to two seconds; fractions are rounded up."""
    assert ask(vendor_url, "rate-limit", "openai").headers["retry-after"] == "2"
    assert ask(vendor_url, "rate-limit,value=0.2", "openai").headers["retry-after"] == "1"


@pytest.mark.parametrize(("wire_format", "status"), TROUBLE)
def test_a_server_error_has_the_vendors_message(
    vendor_url: str, wire_format: str, status: int
) -> None:
    """Type, status and message are those of a server error, not of a bad request."""
    answer = ask(vendor_url, f"server-error,value={status}", wire_format)

    assert answer.status_code == status
    assert answer.json()["error"] == TROUBLE[wire_format, status]
    assert isinstance(read_error(wire_format, answer), Overloaded)


@every_format
@pytest.mark.parametrize(
    ("status", "title"), [(502, "502 Bad Gateway"), (504, "504 Gateway Time-out")]
)
def test_a_gateway_error_is_a_proxys_page(
    vendor_url: str, wire_format: str, status: int, title: str
) -> None:
    """The vendor never saw the request."""
    answer = ask(vendor_url, f"server-error,value={status}", wire_format)

    assert (answer.status_code, answer.headers["server"]) == (status, "nginx")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert f"<center><h1>{title}</h1></center>" in answer.text
    assert isinstance(read_error(wire_format, answer), Overloaded)


@pytest.mark.parametrize(
    ("vendor", "path", "kind"),
    [
        ("mistral", "/mistral/v1/chat/completions", "service_unavailable_error"),
        ("minimax", "/minimax/v1/chat/completions", "api_error"),
        ("llamacpp", "/llamacpp/v1/chat/completions", "service_unavailable_error"),
    ],
)
def test_every_envelope_has_the_type_of_a_server_error(
    vendor_url: str, vendor: str, path: str, kind: str
) -> None:
    """Envelopes for bad requests also get the type of a server error."""
    answer = httpx.post(f"{vendor_url}/with/server-error,value=503{path}", json={}, trust_env=False)

    body = answer.json()
    assert answer.status_code == 503
    assert (body.get("error") or body)["type"] == kind


@pytest.mark.parametrize(
    ("switches", "sentence"),
    [
        ("server-error,value=200", "200 is no status of a server error; give one from 500 to 599."),
        ("cut,value=2", "2 is no share of an answer; give a number from 0 to 1."),
        ("base-resp,value=5", "MiniMax has no code 5; give one of 1000, 1001"),
        ("html,value=5", "html takes no value."),
    ],
)
def test_a_wrong_value_is_explained(vendor_url: str, switches: str, sentence: str) -> None:
    """The error explains which values are allowed."""
    answer = ask(vendor_url, switches, "openai")

    assert answer.status_code == 404
    assert sentence in answer.json()["error"]["message"]


@every_format
def test_a_vendor_that_is_down_answers_nothing(vendor_url: str, wire_format: str) -> None:
    """A vendor that is down answers 503 in its own envelope."""
    answer = ask(vendor_url, "down", wire_format)

    assert answer.status_code == 503
    assert answer.json()["error"]
    assert isinstance(read_error(wire_format, answer), Overloaded)


@pytest.mark.parametrize("path", METADATA_PATHS)
@pytest.mark.parametrize(("fault", "status"), [("down", 503), ("auth-lost", 401)])
def test_metadata_is_refused_too(vendor_url: str, fault: str, status: int, path: str) -> None:
    """Lists, versions and templates are refused as well."""
    answer = httpx.get(f"{vendor_url}/with/{fault}{path}", headers=HEADERS, trust_env=False)

    assert answer.status_code == status
    assert answer.json()["error"]


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/props", "/v1/models"])
def test_a_server_is_loading_its_model(vendor_url: str, path: str) -> None:
    """Every request gets llama.cpp's loading error."""
    address = f"{vendor_url}/with/loading/llamacpp{path}"
    method = "POST" if "chat" in path else "GET"
    answer = httpx.request(method, address, json={}, trust_env=False)

    expected = {"message": "Loading model", "type": "unavailable_error", "code": 503}
    assert (answer.status_code, answer.json()) == (503, {"error": expected})
    assert isinstance(read_error("openai", answer), Overloaded)


@pytest.mark.parametrize("switches", ["loading", "base-resp"])
@pytest.mark.parametrize("wire_format", OTHERS)
def test_other_formats_are_unaffected(vendor_url: str, switches: str, wire_format: str) -> None:
    """Formats without that error are unaffected."""
    assert read_calls(
        FaultyVendor(vendor_url, switches).read_reply(wire_format, question(ONE))
    ) == [ECHOED]


@both_ways
@every_format
def test_a_key_is_lost(vendor_url: str, wire_format: str, stream: bool) -> None:
    """A valid key gets 401 with the vendor's message."""
    answer = ask(vendor_url, "auth-lost", wire_format, stream=stream)

    message, error_type = LOST[wire_format]
    assert answer.status_code == 401
    assert message in answer.text
    assert error_type in answer.text
    assert isinstance(read_error(wire_format, answer), AuthRejected)


def test_a_key_is_good_until_it_is_lost(vendor_url: str) -> None:
    """A key is valid until the switch takes effect."""
    assert ask(vendor_url, "auth-lost,from=1000000000", "openai").status_code == 200


@both_ways
@pytest.mark.parametrize(
    ("switches", "code"), [("base-resp", 1002), ("base-resp,value=1008", 1008)]
)
def test_an_error_is_inside_a_success(
    vendor_url: str, switches: str, code: int, stream: bool
) -> None:
    """An answer without choices carries MiniMax's error field."""
    answer = ask(vendor_url, switches, "openai", stream=stream)

    message = {1002: "rate limit", 1008: "insufficient balance"}[code]
    body = json.loads(answer.text)
    assert answer.status_code == 200
    assert body["choices"] is None
    assert body["base_resp"] == {"status_code": code, "status_msg": message}
    assert message in read_error("openai", answer).message


@both_ways
@every_format
def test_a_sign_in_page_replaces_the_answer(
    vendor_url: str, wire_format: str, stream: bool
) -> None:
    """A sign-in page arrives in place of the vendor's answer."""
    answer = ask(vendor_url, "html", wire_format, stream=stream)

    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert answer.text.startswith("<!doctype html>\n<html><head><title>Sign in</title>")
    assert isinstance(read_error(wire_format, answer), NotJSON)


@both_ways
@every_format
def test_a_redirect_leads_elsewhere(vendor_url: str, wire_format: str, stream: bool) -> None:
    """The redirect is a 307, which makes a following client resend request and key."""
    answer = ask(vendor_url, "redirect", wire_format, stream=stream)

    assert answer.status_code == 307
    assert answer.headers["location"] == "/hostile/landing/v1/chat/completions"
    assert isinstance(read_error(wire_format, answer), Redirected)
