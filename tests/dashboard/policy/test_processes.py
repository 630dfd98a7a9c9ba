"""Two web processes of one installation."""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from dashboard.people.services import tokens
from tests.dashboard.api.web_process import Site, start_site
from tests.dashboard.policy.builders import make_trusted_endpoint

# How long a mode may take to reach every caller.
PROMISED_SECONDS = 5


@pytest.fixture
def two_sites(
    transactional_db: None, static_files: Path, tmp_path: Path
) -> Iterator[tuple[Site, Site]]:
    with start_site(tmp_path / "a.log") as one, start_site(tmp_path / "b.log") as other:
        yield one, other


def test_a_mode_switched_at_one_process_is_in_the_policy_of_the_other(
    two_sites: tuple[Site, Site],
) -> None:
    """Processes cache nothing: the other one answers 304 before, and the new policy in time."""
    one, other = two_sites
    make_trusted_endpoint()
    text = tokens.issue_token(name="a gateway", scopes=["read", "operate"], by=None).text
    known = other.request(text, "GET", "/endpoints/steady/policy")
    assert _status(other, text, known["version"]) == 304

    body = {"mode": "no_parallel", "reason": "trying", "lasts_s": 600}
    one.request(text, "POST", "/endpoints/steady/modes", body)

    end = time.monotonic() + PROMISED_SECONDS
    while _status(other, text, known["version"]) == 304:
        assert time.monotonic() < end
    changed = other.request(text, "GET", "/endpoints/steady/policy")
    assert changed["modes"]["effective"] == ["no_parallel"]
    assert changed["version"] > known["version"]


def _status(site: Site, text: str, version: int) -> int:
    headers = {"Authorization": f"Bearer {text}", "If-None-Match": f'"{version}"'}
    url = f"{site.url}/api/v1/endpoints/steady/policy"
    try:
        request = urllib.request.Request(url, headers=headers)  # noqa: S310
        with urllib.request.urlopen(request) as answer:  # noqa: S310
            return int(answer.status)
    except urllib.error.HTTPError as exc:
        return exc.code
