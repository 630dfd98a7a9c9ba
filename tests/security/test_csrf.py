"""No form from another site is accepted: every URL requires the token, every form carries it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern

from dashboard.urls import urlpatterns
from tests.security.people import sign_in

ROOT = Path(__file__).resolve().parents[2]
# Something of each kind that an address may name; nothing is looked up before the token is.
PARTS = {
    "int": "1",
    "slug": "steady",
    "str": "x",
    "uuid": "00000000-0000-0000-0000-000000000000",
}
FORM = re.compile(r"<form\b[^>]*>.*?</form>", re.DOTALL)

pytestmark = pytest.mark.usefixtures("static_files")


def address(pattern: URLPattern) -> str:
    route = str(pattern.pattern)
    return "/" + re.sub(r"<(\w+):\w+>", lambda match: PARTS[match[1]], route)


@pytest.mark.django_db
def test_no_address_takes_a_form_without_its_token() -> None:
    """Every page refuses a POST without a token, even an administrator's."""
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.create_superuser("root"))

    statuses = {
        address(pattern): client.post(address(pattern)).status_code for pattern in urlpatterns
    }

    assert {path: status for path, status in statuses.items() if status != 403} == {}
    assert len(statuses) > 80


@pytest.mark.django_db
def test_a_token_counts_only_from_this_site() -> None:
    """The right token sent from elsewhere is refused; so is another browser's."""
    client = Client(enforce_csrf_checks=True)
    page = client.get("/login/").content.decode()
    token = re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', page)[0]
    elsewhere = {"Origin": "https://evil.example"}
    form = {"csrfmiddlewaretoken": token}

    assert client.post("/login/", form, headers=elsewhere).status_code == 403
    assert Client(enforce_csrf_checks=True).post("/login/", form).status_code == 403
    assert sign_in(client, csrfmiddlewaretoken=token).status_code == 200


@pytest.mark.django_db
def test_a_session_changes_nothing_by_the_api() -> None:
    """Operations accept no CSRF token, so a session cookie only allows reading."""
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.create_superuser("root"))

    for path in ("/api/v1/endpoints", "/api/v1/endpoints/x/runs", "/api/v1/telemetry"):
        answer = client.post(path, "{}", content_type="application/json")
        assert answer.status_code == 401, path


def test_every_form_that_is_sent_carries_a_token() -> None:
    """In every template, a POST form has its token, and no form leads to another site."""
    wrong = []
    for path in sorted((ROOT / "templates").rglob("*.html")):
        for form in FORM.findall(path.read_text()):
            head = form.partition(">")[0].lower()
            has_token = "{% csrf_token %}" in form
            if ('method="post"' in head) != has_token or "http" in head:
                wrong.append(f"{path.name}: {head}")

    assert wrong == []
