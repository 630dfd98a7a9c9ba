"""Faults that only a streamed answer has: the same question, asked whole, is answered well."""

from __future__ import annotations

import json

import httpx
import pytest

from tests.simulators.conversation import FIRST
from tests.simulators.stream_client import CHAT, EVERY, OLLAMA, StreamClient, read_calls

every_format = pytest.mark.parametrize("client", EVERY, ids=lambda client: client.format)


@every_format
@pytest.mark.parametrize("fault", ["stream-leak", "stream-prose"])
def test_a_stream_has_text_instead_of_calls(
    vendor_url: str, client: StreamClient, fault: str
) -> None:
    """The whole answer has both calls; the stream has none, and only a leak shows their markup."""
    streamed = client.streamed(vendor_url, fault).reply

    assert read_calls(client.whole(vendor_url, fault)) == FIRST
    assert not streamed.calls
    assert ("<tool_call>" in (streamed.text or "")) == (fault == "stream-leak")


@pytest.mark.parametrize(
    "client", [each for each in EVERY if each is not OLLAMA], ids=lambda client: client.format
)
def test_a_stream_comes_as_one_json_body(vendor_url: str, client: StreamClient) -> None:
    """`not-streamed`: a whole answer where a stream was asked for."""
    got = client.streamed(vendor_url, "not-streamed")

    assert isinstance(json.loads(got.data), dict)
    assert read_calls(client.whole(vendor_url, "not-streamed")) == FIRST


@every_format
def test_a_stream_is_cut_in_the_middle(vendor_url: str, client: StreamClient) -> None:
    """`stream-cut`: the connection ends, and the whole answer arrives."""
    with pytest.raises(httpx.RemoteProtocolError):
        client.streamed(vendor_url, "stream-cut")

    assert read_calls(client.whole(vendor_url, "stream-cut")) == FIRST


def test_calls_are_streamed_in_the_opposite_order(vendor_url: str) -> None:
    """`reordered-calls`: the same calls, the last one first."""
    assert read_calls(CHAT.streamed(vendor_url, "reordered-calls").reply) == FIRST[::-1]
    assert read_calls(CHAT.whole(vendor_url, "reordered-calls")) == FIRST
