"""A key that is planted, used and echoed back by hostile endpoints leaves no trace."""

from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path
from urllib.parse import quote

import pytest
import zstandard
from django.test import Client

from dashboard.models import Attempt, Endpoint, Evidence, Run
from tests.live import broker, celery_worker, environment, eventually

pytestmark = pytest.mark.django_db(transaction=True)

CANARY = 'sim-canary/"Zq7+Rt=9"-0123456789'
FORMS = {
    CANARY,
    quote(CANARY, safe=""),
    json.dumps(CANARY)[1:-1],
    base64.b64encode(CANARY.encode()).decode().rstrip("="),
    base64.b64encode(f"Bearer {CANARY}".encode()).decode().rstrip("="),
}
PATHS = ("openai", "hostile/echo-auth", "hostile/unauthorized", "hostile/redirect")


def add_through_the_page(client: Client, slug: str, base_url: str) -> None:
    answer = client.post(
        "/endpoints/new/",
        {
            "slug": slug,
            "provider": "openai",
            "base_url": base_url,
            "model": "sim-steady",
            "key": CANARY,
            "ttl": "6h",
            "max_concurrency": "4",
            "options": "{}",
            "enabled": "on",
        },
    )
    assert answer.status_code == 302, answer.content.decode()


def database_dump() -> str:
    """The whole content of Postgres, with evidence unpacked."""
    from launcher.binaries import postgres_folder

    url = environment()["DATABASE_URL"]
    dump = subprocess.run(
        [postgres_folder() / "pg_dump", "--inserts", url],
        capture_output=True,
        text=True,
        check=True,
    )
    bodies = [zstandard.decompress(bytes(row.body)).decode() for row in Evidence.objects.all()]
    return dump.stdout + "".join(bodies)


def broker_dump() -> str:
    client = broker()
    return repr([(key, client.dump(key)) for key in client.scan_iter("*")])


def test_a_planted_key_is_nowhere_but_in_its_seal(
    admin_client: Client, vendor_url: str, tmp_path: Path, static_files: Path
) -> None:
    """Database, evidence, broker, logs and pages: none shows the key in any form."""
    for number, path in enumerate(PATHS):
        add_through_the_page(admin_client, f"e{number}", f"{vendor_url}/{path}/v1")
    log = tmp_path / "worker.log"

    with celery_worker(log, concurrency=2, LOG_LEVEL="DEBUG"):
        eventually(lambda: Run.objects.filter(finished_at__isnull=False).count() == len(PATHS))

    places = {
        "database": database_dump(),
        "broker": broker_dump(),
        "log": log.read_text(),
        "pages": every_page(admin_client),
    }
    assert Run.objects.get(endpoint__slug="e0").passed > 0, "the key was sent and accepted"
    assert "[redacted]" in places["database"], "the echoing endpoint was heard"
    traces = [(place, form) for place, text in places.items() for form in FORMS if form in text]
    assert traces == []


def every_page(client: Client) -> str:
    addresses = ["/"]
    for endpoint in Endpoint.objects.all():
        addresses += [f"/endpoints/{endpoint.slug}/", f"/endpoints/{endpoint.slug}/edit/"]
    for run in Run.objects.all():
        addresses += [f"/runs/{run.pk}/"]
    for attempt in Attempt.objects.all():
        addresses += [f"/runs/{attempt.run_id}/attempts/{attempt.probe}/{attempt.trial}/"]
    answers = [client.get(address) for address in addresses]
    assert {answer.status_code for answer in answers} == {200}
    return "".join(answer.content.decode() for answer in answers)
