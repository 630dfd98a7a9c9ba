"""Official SDKs through the gateway, each over every wire format, whole and streamed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gateway.running_gateway import (
    TOKEN,
    RunningGateway,
    live_endpoint,
    read_truth,
    run_gateway,
)
from tests.simulators.sdk_conversations import SDKS, SdkOptions

# A vendor of each wire format.
VENDORS = {
    "openai": "openai",
    "anthropic": "anthropic",
    "openai_responses": "responses",
    "gemini": "gemini",
    "ollama": "ollama",
}
# What an SDK appends its own path to.
BASE_PATHS = {"openai": "/v1", "openai_responses": "/v1"}
both_ways = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])


@pytest.fixture(scope="module")
def gateway(vendor_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningGateway]:
    endpoints = [
        live_endpoint(read_truth(vendor_url, vendor), vendor_url, slug=vendor)
        for vendor in VENDORS.values()
    ]
    folder: Path = tmp_path_factory.mktemp("gateway")
    with run_gateway(folder, *endpoints) as running:
        yield running


@both_ways
@pytest.mark.parametrize("upstream", VENDORS)
@pytest.mark.parametrize("client", SDKS)
def test_an_sdk_holds_a_conversation_over_every_format(
    gateway: RunningGateway, client: str, upstream: str, streamed: bool
) -> None:
    """Two parallel calls, an error result, a corrected call, an answer."""
    url = gateway.base_url(VENDORS[upstream]) + BASE_PATHS.get(client, "")
    options = SdkOptions(url, "any-model", TOKEN, streamed=streamed)
    SDKS[client](options).check()
