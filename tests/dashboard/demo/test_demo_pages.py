"""The pages of the simulated fleet."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django.asserts import assertRedirects

from dashboard.demo.demo_fleet import PATHS, build_fleet
from dashboard.demo.queries import filter_simulated, is_simulated
from dashboard.demo.services import fleet as demo
from dashboard.models import Endpoint
from dashboard.models.people import Role
from dashboard.runs import services as runs
from tests.factories import make_endpoint, make_finished_run, make_person
from tests.markup import assert_contains, assert_not_contains

URL = "http://127.0.0.1:8900"


@pytest.fixture(autouse=True)
def _vendors(settings: Any) -> None:
    settings.SIMULATOR_URL = URL


@pytest.fixture
def administrator(client: Client, db: None) -> Client:
    client.force_login(User.objects.create_superuser("root"))
    return client


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("slug", "base_url", "expected"),
    [
        ("demo-steady", f"{URL}/stories/healthy/openai/v1", True),
        ("by-hand", f"{URL}/openai/v1", True),
        # The vendors moved to another port: only endpoints of the demo are recognised.
        ("demo-steady", "http://127.0.0.1:4444/stories/healthy/openai/v1", True),
        ("by-hand", "http://127.0.0.1:4444/stories/healthy/openai/v1", False),
        ("demo-steady", "https://api.openai.com/v1", False),
        ("real", "http://127.0.0.1:8901/v1", False),
    ],
)
def test_simulated_endpoints_are_recognised_by_url(
    slug: str, base_url: str, expected: bool
) -> None:
    """The rule for one endpoint and the query agree."""
    endpoint = make_endpoint(slug=slug, base_url=base_url)

    assert is_simulated(endpoint) is expected
    assert filter_simulated(Endpoint.objects.kept()).exists() is expected


@pytest.mark.django_db
def test_without_vendors_only_the_demo_is_simulated(settings: Any) -> None:
    """Without SIMULATOR_URL no other endpoint counts as simulated."""
    settings.SIMULATOR_URL = ""
    make_endpoint(slug="real", base_url="https://api.example/v1")
    make_endpoint(slug="demo-gemini", base_url=f"{URL}/gemini")

    assert [endpoint.slug for endpoint in filter_simulated(Endpoint.objects.kept())] == [
        "demo-gemini"
    ]


def test_the_simulated_fleet_is_removed_after_confirmation(administrator: Client) -> None:
    """The confirmation lists the endpoints, the result counts them; real endpoints stay."""
    demo.register_fleet(URL)
    make_endpoint(slug="by-hand", base_url=f"{URL}/openai/v1")
    make_endpoint(slug="real", base_url="https://api.example/v1")

    confirmation = administrator.get("/settings/demo/remove/")
    for slug in (*PATHS, "by-hand"):
        assert_contains(confirmation, f">{slug}</a>")
    assert_not_contains(confirmation, ">real</a>")
    page = administrator.post("/settings/demo/remove/", follow=True)

    assert_contains(page, "11 simulated endpoints were removed.")
    assert [endpoint.slug for endpoint in Endpoint.objects.kept()] == ["real"]


def test_removing_twice_is_harmless(administrator: Client) -> None:
    """The second removal says that nothing was left."""
    page = administrator.post("/settings/demo/remove/", follow=True)

    assert_contains(page, "No simulated endpoint was left to remove.")
    assertRedirects(administrator.get("/settings/demo/remove/"), "/settings/demo/")


def test_the_fleet_can_be_started_again(administrator: Client) -> None:
    """It gets the same names; an existing endpoint is not registered again."""
    demo.register_fleet(URL)
    administrator.post("/settings/demo/remove/")
    make_endpoint(slug="demo-steady", base_url="https://api.example/v1")
    assert_contains(administrator.get("/settings/demo/"), "The simulated fleet is not here")

    page = administrator.post("/settings/demo/start/", follow=True)
    again = administrator.post("/settings/demo/start/", follow=True)

    assert_contains(page, "9 simulated endpoints are registered.")
    assert_contains(again, "The simulated fleet is here already.")
    base_urls = {endpoint.slug: endpoint.base_url for endpoint in Endpoint.objects.kept()}
    assert base_urls.keys() == PATHS.keys()
    assert base_urls["demo-steady"] == "https://api.example/v1"


def test_without_vendors_there_is_nothing_to_start(administrator: Client, settings: Any) -> None:
    """The page says what is needed, and a POST registers nothing."""
    settings.SIMULATOR_URL = ""

    assert_contains(administrator.get("/settings/demo/"), "No simulated vendors run here")
    page = administrator.post("/settings/demo/start/", follow=True)

    assert_contains(page, "start with SIMULATOR_URL set")
    assert not Endpoint.objects.exists()


def test_the_banner_can_be_hidden(signed_in: Client) -> None:
    """It counts the endpoints and stays hidden for the session."""
    demo.register_fleet(URL)
    assert_contains(signed_in.get("/"), "10 endpoints here are simulated")

    part = signed_in.post("/settings/demo/hide/", headers={"HX-Request": "true"})

    assert part.content == b""
    assert_not_contains(signed_in.get("/"), "endpoints here are simulated")


def test_only_administrators_can_remove_the_demo(
    administrator: Client,
) -> None:
    """Other users see the endpoints but no button."""
    operator = Client()
    operator.force_login(make_person("omar", Role.OPERATOR))
    demo.register_fleet(URL)

    for address in ("/", "/settings/demo/"):
        assert_contains(operator.get(address), "demo-steady")
        assert_not_contains(operator.get(address), "/settings/demo/remove/")
        assert_contains(administrator.get(address), "/settings/demo/remove/")
    assert operator.post("/settings/demo/remove/").status_code == 403


def test_a_fleet_of_real_endpoints_has_no_banner(signed_in: Client) -> None:
    """Without simulated endpoints there is no banner."""
    make_endpoint(base_url="https://api.example/v1")

    assert_not_contains(signed_in.get("/"), 'id="demo-banner"')


@pytest.mark.parametrize(
    ("address", "method"),
    [("", "get"), ("start/", "post"), ("remove/", "get"), ("remove/", "post"), ("hide/", "post")],
)
def test_the_demo_requires_a_login(client: Client, db: None, address: str, method: str) -> None:
    """Anonymous users are redirected to the login, and nothing is removed."""
    demo.register_fleet(URL)

    response = getattr(client, method)(f"/settings/demo/{address}")

    assert response.headers["Location"].startswith("/login/")
    assert Endpoint.objects.kept().count() == len(PATHS)


def test_an_empty_installation_shows_the_first_steps(administrator: Client) -> None:
    """The page shows the steps, the cost, the presets and the demo."""
    page = administrator.get("/")

    assert_contains(page, "The first verdict takes a minute")
    assert_contains(page, 'href="/endpoints/new/?preset=ollama"')
    assert_contains(page, "Start the simulated fleet")
    assert_contains(page, f"up to {runs.price_ceiling('full').requests} requests")
    make_endpoint(base_url=build_fleet(URL)[0].base_url)
    assert_not_contains(administrator.get("/"), "The first verdict takes a minute")


def test_an_empty_installation_without_vendors_offers_no_demo(
    administrator: Client, settings: Any
) -> None:
    """The button is hidden if it cannot work."""
    settings.SIMULATOR_URL = ""

    assert_not_contains(administrator.get("/"), "Start the simulated fleet")


@pytest.mark.parametrize("page", ["/", "/endpoints/demo-steady/", "/runs/{run}/", "/compare/"])
def test_a_simulated_endpoint_is_marked_on_every_page(signed_in: Client, page: str) -> None:
    """A real endpoint has no such mark."""
    endpoint = make_endpoint(slug="demo-steady", base_url=build_fleet(URL)[0].base_url)
    address = page.format(run=make_finished_run(endpoint).pk)
    marked = signed_in.get(address)

    Endpoint.objects.update(base_url="https://api.example/v1")

    assert_contains(marked, 'class="tag simulated"')
    assert_not_contains(signed_in.get(address), 'class="tag simulated"')
