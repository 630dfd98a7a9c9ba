from __future__ import annotations

import pytest

from probes.adapters.openai_chat.adapter import OpenAIChatAdapter
from probes.errors import NotJSON, Overloaded, ProviderError, RateLimited
from probes.http_messages import Chunk, WireResponse
from probes.http_reply import read_http_reply


def answer(status: int, body: bytes = b"", **headers: str) -> WireResponse:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return WireResponse(status, named, (Chunk(0, body),))


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("7", 7), ("0.5", 0.5), ("-3", 0), ("1e9", 86400), ("nan", None), ("soon", None)],
)
def test_a_wait_that_is_asked_for_is_read_within_reason(header: str, seconds: float | None) -> None:
    """Retry-After is untrusted: bounded, and None if it is no number."""
    with pytest.raises(RateLimited) as caught:
        read_http_reply(OpenAIChatAdapter(), answer(429, retry_after=header))

    assert caught.value.retry_after == seconds
    assert caught.value.retryable


def test_the_request_id_travels_with_the_error() -> None:
    """A vendor's support asks for it."""
    with pytest.raises(Overloaded) as caught:
        read_http_reply(OpenAIChatAdapter(), answer(503, x_request_id="req_1"))

    assert caught.value.request_id == "req_1"
    assert caught.value.status == 503


def test_a_plain_text_error_is_quoted_and_a_web_page_is_not() -> None:
    """A short text helps a person; a page of markup does not."""
    with pytest.raises(ProviderError, match=r"\(500\): upstream gone"):
        read_http_reply(
            OpenAIChatAdapter(), answer(500, b"upstream gone", content_type="text/plain")
        )
    with pytest.raises(ProviderError, match=r"\(500\)\.$"):
        read_http_reply(OpenAIChatAdapter(), answer(500, b"<html>x", content_type="text/html"))


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"", "empty body"),
        (b"  <!doctype html>", "web page"),
        (b"\xff\xfe", "not UTF-8"),
        (b"{", "not answer in JSON"),
        (b'{"a": NaN}', "NaN"),
    ],
)
def test_what_came_instead_of_json_is_named(body: bytes, sentence: str) -> None:
    """The message describes a 200 without JSON."""
    with pytest.raises(NotJSON, match=sentence):
        read_http_reply(OpenAIChatAdapter(), answer(200, body))
