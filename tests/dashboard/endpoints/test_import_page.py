from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from pytest_django.asserts import assertRedirects
from pytest_django.fixtures import DjangoAssertNumQueries

from dashboard.endpoints.services import endpoints
from dashboard.models import Applied, Endpoint
from probes.secret import Secret
from tests.dashboard.endpoints.as_code.builders import NEW, STEADY, apply_file, make_plan
from tests.factories import make_endpoint
from tests.markup import assert_contains, assert_not_contains

pytestmark = pytest.mark.django_db
PAGE = "/settings/import/"
PLAN = {"do": "plan"}
APPLY = {"do": "apply"}


@pytest.fixture
def administrator(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("admin"))
    return client


def test_a_file_is_planned_then_applied(administrator: Client) -> None:
    """The page shows the plan, then the result with links to the created endpoints."""
    make_endpoint(ttl=timedelta(hours=1))
    form = {"text": STEADY + NEW}

    page = administrator.post(PAGE, form | PLAN)

    assert_contains(page, "2 endpoints would change")
    assert_contains(page, '<del translate="no"><code>1h</code></del>')
    assert_contains(page, '<ins translate="no"><code>6h</code></ins>')
    assert Endpoint.objects.count() == 1
    page = administrator.post(PAGE, form | APPLY | {"state": page.context["plan"].state})
    assert_contains(page, "Applied: 2 endpoints changed")
    assert_contains(page, 'href="/endpoints/fresh/"')
    assert Applied.objects.get(endpoint__slug="fresh").by == User.objects.get(username="admin")


def test_mistakes_are_shown_with_their_lines(administrator: Client) -> None:
    """The page keeps the typed text, and nothing is stored."""
    text = STEADY.replace("openai", "opanai") + "    ttl: soon\n# <b>mine</b>\n"

    page = administrator.post(PAGE, {"text": text, "prune": "on"} | APPLY)

    assert_contains(page, "2 things in the file to mend")
    assert_contains(page, "Line 4, column 15:")
    assert_contains(page, "<code>    ttl: soon</code>")
    assert_contains(page, "# &lt;b&gt;mine&lt;/b&gt;")
    assert_contains(page, 'name="prune" checked')
    assert not Endpoint.objects.exists()


def test_a_file_can_be_uploaded_instead_of_text(administrator: Client) -> None:
    """The text field contains the file, so that it can be corrected there."""
    file = SimpleUploadedFile("endpoints.yaml", b"\xef\xbb\xbf" + STEADY.encode())

    page = administrator.post(PAGE, {"text": "old", "file": file} | PLAN)

    assert_contains(page, "1 endpoint would change")
    assert page.context["submission"].text == STEADY


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\xff\xfe", "not UTF-8"),
        (b"x" * 1_000_001, "larger than 1,000,000 bytes"),
        (b"a: \0", "U+0000"),
        (b"a: &a [*a]", "Anchors"),
        (b'"<script>alert(1)</script>": 1', "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("version: 1\nendpoints: {a: {m\u202eodel: x}}".encode(), "⟦U+202E⟧"),
    ],
    ids=["bytes", "large", "nul", "bomb", "script", "bidi"],
)
def test_a_hostile_file_is_refused_with_a_message(
    administrator: Client, data: bytes, message: str
) -> None:
    """The page describes the mistake and escapes the file."""
    page = administrator.post(PAGE, {"file": SimpleUploadedFile("x", data)} | PLAN)

    assert_contains(page, message)
    assert_not_contains(page, "<script>alert")
    assert_not_contains(page, "\0")


def test_a_concurrent_change_requires_a_new_plan(administrator: Client) -> None:
    """Nothing is applied until the new plan is confirmed."""
    endpoint = make_endpoint(ttl=timedelta(hours=1))
    state = make_plan(STEADY).state
    endpoints.update(endpoint, key=None, forget_key=False, model="m-9")

    page = administrator.post(PAGE, {"text": STEADY, "state": state} | APPLY)

    assert_contains(page, "Nothing was applied; look again.")
    assert_contains(page, "A new profile begins")
    assert Endpoint.objects.get().model == "m-9"
    administrator.post(PAGE, {"text": STEADY, "state": page.context["plan"].state} | APPLY)
    assert Endpoint.objects.get().model == "m-1"


def test_the_button_names_removals(administrator: Client) -> None:
    """The button says how many endpoints it removes."""
    make_endpoint(slug="gone", key=Secret("sk-abcdefghijklmnop"))

    page = administrator.post(PAGE, {"text": STEADY, "prune": "on"} | PLAN)

    assert_contains(page, "Apply and remove 1 endpoint")
    assert_contains(page, "Its stored API key is deleted.")


def test_an_empty_file_does_not_empty_the_fleet(administrator: Client) -> None:
    """The apply is refused with a message and the plan."""
    make_endpoint()
    form = {"text": "version: 1\nendpoints:\n", "prune": "on"}
    state = administrator.post(PAGE, form | PLAN).context["plan"].state

    page = administrator.post(PAGE, form | APPLY | {"state": state})

    assert_contains(page, "would remove all of them")
    assert Endpoint.objects.kept().exists()


def test_keys_of_the_web_process_are_not_read(
    administrator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a file could send any secret of the server to another host."""
    monkeypatch.setenv("TEAM_KEY", "sk-abcdefghijklmnop")
    form = {"text": STEADY + "    api_key_env: TEAM_KEY\n"}
    page = administrator.post(PAGE, form | PLAN)
    assert_contains(page, "It has no API key")

    page = administrator.post(PAGE, form | APPLY | {"state": page.context["plan"].state})

    assert_contains(page, "These have no API key yet")
    assert not hasattr(Endpoint.objects.get(), "credential")


def test_a_large_file_is_shown_in_part_with_few_queries(
    administrator: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    """The number of queries does not depend on the number of endpoints."""
    body = STEADY.split("endpoints:\n")[1]
    text = "version: 1\nendpoints:\n" + "".join(
        body.replace("steady", f"e{n}") for n in range(1000)
    )

    with django_assert_max_num_queries(4):
        page = administrator.post(PAGE, {"text": text} | PLAN)

    assert_contains(page, "1,000 endpoints would change")
    assert_contains(page, "900 more are not shown here")


def test_the_export_is_a_file_that_changes_nothing(administrator: Client) -> None:
    """Importing the unchanged export has an empty plan."""
    make_endpoint()

    response = administrator.get("/settings/export/")

    assert response["Content-Disposition"] == 'attachment; filename="endpoints.yaml"'
    page = administrator.post(PAGE, {"text": response.content.decode()} | PLAN)
    assert_contains(page, "Nothing would change")


def test_an_endpoint_edited_since_the_apply_is_marked(signed_in: Client) -> None:
    """Its page shows the field with both values, the list a mark; others have no mark."""
    apply_file(STEADY)
    endpoint = Endpoint.objects.get()
    for path in ("/", "/endpoints/steady/"):
        assert_not_contains(signed_in.get(path), "since the last apply")

    endpoints.update(endpoint, key=None, forget_key=False, model="m-9")

    assert_contains(signed_in.get("/"), "edited since the last apply")
    page = signed_in.get("/endpoints/steady/")
    assert_contains(page, "edited here since the last apply")
    assert_contains(page, 'the file said <code translate="no">m-1</code>')


def test_only_administrators_import(client: Client, signed_in: Client) -> None:
    """Other users get 403 and anonymous users the login; every user can export."""
    assert signed_in.get(PAGE).status_code == 403
    assert signed_in.post(PAGE, {"text": STEADY} | PLAN).status_code == 403
    assert signed_in.get("/settings/export/").status_code == 200
    client.logout()
    for path in (PAGE, "/settings/export/"):
        assertRedirects(client.get(path), f"/login/?next={path}")
