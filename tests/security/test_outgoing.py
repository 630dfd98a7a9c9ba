"""No URL leads to this machine, its network or a metadata service."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from typing import Any

import pytest
from django.test import Client

from dashboard.core import egress_grants
from dashboard.models.people import Role
from probes.egress_rules import EgressDenied, EgressRules, parse_grants
from probes.errors import ConnectFailed, ProbesError
from probes.http_messages import WireRequest, WireResponse
from probes.outcomes import Attempt, Outcome
from probes.runner import run_trials
from probes.suite import plan_trials
from probes.target import Limits, Provider, Target
from probes.transport import Transport
from tests.factories import make_person
from tests.markup import assert_contains
from tests.security.recording_server import RecordingServer

# Every spelling of an address that resolvers, browsers or libraries are known to accept.
FORMS = [
    "http://127.0.0.1:{port}/",
    "http://127.0.0.1.:{port}/",
    "http://127.1:{port}/",
    "http://127.0.1:{port}/",
    "http://2130706433:{port}/",
    "http://017700000001:{port}/",
    "http://0177.0.0.1:{port}/",
    "http://0177.0.0.01:{port}/",
    "http://0x7f000001:{port}/",
    "http://0x7f.0.0.1:{port}/",
    "http://0x7f.1:{port}/",
    "http://0x7F.0x0.0x0.0x1:{port}/",
    "http://127.0.0.1%2e:{port}/",
    "http://127.127.127.127:{port}/",
    "http://127.0.0.2:{port}/",
    "http://user@127.0.0.1:{port}/",
    "http://user:word@127.0.0.1:{port}/",
    "http://example.com@127.0.0.1:{port}/",
    "http://example.com%40127.0.0.1:{port}/",
    "http://example.com#@127.0.0.1:{port}/",
    "http://127.0.0.1:{port}#example.com",
    "http://127.0.0.1:{port}?example.com",
    "http://127。0。0。1:{port}/",
    "http://①②⑦.⓪.⓪.①:{port}/",
    "http://localhost:{port}/",
    "http://LOCALHOST:{port}/",
    "http://localhost.:{port}/",
    "http://ip6-localhost:{port}/",
    "http://0:{port}/",
    "http://0.0.0.0:{port}/",
    "http://00.00.00.00:{port}/",
    "http://[::]:{port}/",
    "http://[::1]:{port}/",
    "http://[0:0:0:0:0:0:0:1]:{port}/",
    "http://[0000::0001]:{port}/",
    "http://[::127.0.0.1]:{port}/",
    "http://[::ffff:127.0.0.1]:{port}/",
    "http://[::ffff:7f00:1]:{port}/",
    "http://[0:0:0:0:0:ffff:7f00:1]:{port}/",
    "http://[64:ff9b::7f00:1]:{port}/",
    "http://[2002:7f00:1::]:{port}/",
    "http://[::1%25lo]:{port}/",
    "http://[fe80::1%25lo]:{port}/",
    "http://10.0.0.1:{port}/",
    "http://172.16.0.1:{port}/",
    "http://192.168.0.1:{port}/",
    "http://100.64.0.1:{port}/",
    "http://198.18.0.1:{port}/",
    "http://240.0.0.1:{port}/",
    "http://255.255.255.255:{port}/",
    "http://224.0.0.1:{port}/",
    "http://169.254.169.254/latest/meta-data/",
    "http://2852039166/latest/meta-data/",
    "http://0xa9fea9fe/latest/meta-data/",
    "http://0251.0376.0251.0376/latest/meta-data/",
    "http://[::ffff:169.254.169.254]/latest/meta-data/",
    "http://[fd00:ec2::254]/latest/meta-data/",
    "http://100.100.100.200/latest/meta-data/",
    "http://192.0.0.192/opc/v2/instance/",
    "http://168.63.129.16/machine/",
    "https://127.0.0.1:{port}/",
    "https://localhost:{port}/",
    "ftp://127.0.0.1:{port}/",
    "file:///etc/passwd",
    "gopher://127.0.0.1:{port}/_INFO",
    "unix:///var/run/docker.sock",
    "//127.0.0.1:{port}/",
    "http:127.0.0.1:{port}/",
    "http:///127.0.0.1:{port}/",
    "http://127.0.0.1:{port}\\@example.com/",
]


def granted(text: str) -> EgressRules:
    return EgressRules(parse_grants(text))


def fetch(*urls: str, rules: EgressRules) -> list[WireResponse]:
    async def send() -> list[WireResponse]:
        async with Transport(Limits(connect_s=5, total_s=5), egress=rules) as transport:
            return [await transport.send(WireRequest("GET", url, {})) for url in urls]

    return asyncio.run(send())


@pytest.mark.parametrize("form", FORMS)
def test_no_spelling_of_an_address_reaches_us(wildcard_server: RecordingServer, form: str) -> None:
    """No spelling of an address connects to this machine or its network."""
    wildcard_server.hosts.clear()

    with pytest.raises(ProbesError):
        fetch(form.format(port=wildcard_server.server_port), rules=EgressRules())

    assert wildcard_server.hosts == []


# Those that lead to this machine, if anywhere.
LOCAL_FORMS = FORMS[: FORMS.index("http://10.0.0.1:{port}/")]
EVERYTHING = "0.0.0.0/0 ::/0"


@pytest.mark.parametrize("form", LOCAL_FORMS)
def test_no_spelling_reaches_our_own_servers(
    wildcard_server: RecordingServer, settings: Any, form: str
) -> None:
    """Not even if everything is granted: a probe of ourselves would look like a person."""
    port = wildcard_server.server_port
    settings.EGRESS_GRANTS, settings.PUBLIC_URL = EVERYTHING, f"http://127.0.0.1:{port}"
    wildcard_server.hosts.clear()

    with pytest.raises(ProbesError):
        fetch(form.format(port=port), rules=egress_grants.read_egress_rules())

    assert wildcard_server.hosts == []


def test_our_own_ports_are_refused_on_every_address_of_this_machine(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever address the setting names; the same port elsewhere is not ours."""
    settings.EGRESS_GRANTS = EVERYTHING
    settings.PUBLIC_URL, settings.OWN_SERVERS = "http://localhost:7991", [("127.0.0.1", 7992)]
    settings.REDIS_URL = "redis://127.0.0.1:7993/0"
    monkeypatch.setitem(settings.DATABASES["default"], "HOST", "127.0.0.1")
    monkeypatch.setitem(settings.DATABASES["default"], "PORT", "7994")

    rules = egress_grants.read_egress_rules()

    for host in ("127.0.0.1", "127.0.0.2", "127.255.0.1", "::1", "::ffff:127.0.0.9"):
        for port in (7991, 7992, 7993, 7994):
            with pytest.raises(EgressDenied, match="itself"):
                rules.check(host, port)
            rules.check("10.0.0.1", port)
        rules.check(host, 7990)


def test_our_public_name_is_refused_before_it_is_looked_up(settings: Any) -> None:
    """Behind a proxy the address belongs to others too, so the name counts."""
    settings.PUBLIC_URL = "https://gauge.example"
    rules = egress_grants.read_egress_rules()

    for url in ("https://gauge.example/v1", "https://GAUGE.example./v1"):
        with pytest.raises(EgressDenied, match="itself"):
            fetch(url, rules=rules)


@pytest.mark.django_db
@pytest.mark.usefixtures("static_files")
def test_try_it_refuses_the_port_that_serves_it(
    client: Client, settings: Any, wildcard_server: RecordingServer
) -> None:
    """Also where no setting names it, because a proxy stands in front."""
    settings.EGRESS_GRANTS, settings.PUBLIC_URL = EVERYTHING, "https://gauge.example"
    client.force_login(make_person("olga", Role.OPERATOR))
    port = wildcard_server.server_port
    form = {"provider": "openai", "base_url": f"http://127.0.0.2:{port}/v1", "model": "m"}
    served_at: dict[str, Any] = {"SERVER_NAME": "127.0.0.1", "SERVER_PORT": str(port)}

    page = client.post("/endpoints/new/try/", {**form, "options": "{}"}, **served_at)

    assert_contains(page, "a server of Toolgauge itself")
    assert wildcard_server.hosts == []


def test_there_are_enough_forms() -> None:
    """The list above must not get shorter unnoticed."""
    assert len(set(FORMS)) >= 60


def test_the_listener_would_have_noticed(wildcard_server: RecordingServer) -> None:
    """The tests above can fail: with a grant the same address answers."""
    url = f"http://localhost:{wildcard_server.server_port}/"

    assert fetch(url, rules=granted("127.0.0.0/8, ::1"))[0].status == 200
    assert wildcard_server.hosts[-1] == f"localhost:{wildcard_server.server_port}", "the name stays"


def test_a_refusal_says_what_to_do(first_server: RecordingServer) -> None:
    """The message tells an administrator how to allow the address."""
    with pytest.raises(ConnectFailed, match="EGRESS_GRANTS") as caught:
        fetch(f"http://127.0.0.1:{first_server.server_port}/", rules=EgressRules())

    assert not caught.value.retryable


def fake_resolver(monkeypatch: pytest.MonkeyPatch, *rounds: list[str]) -> list[str]:
    """Make the resolver answer any name with these addresses, one list per lookup."""
    names: list[str] = []
    real = socket.getaddrinfo

    def resolve(host: Any, port: Any, *args: Any, **kwargs: Any) -> list[Any]:
        name = host.decode() if isinstance(host, bytes) else host
        if not name.endswith(".test"):
            return real(host, port, *args, **kwargs)
        names.append(name)
        addresses = rounds[min(len(names), len(rounds)) - 1]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, port)) for ip in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return names


def test_a_name_is_refused_unless_all_its_addresses_pass(
    first_server: RecordingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One bad address among good ones is enough."""
    fake_resolver(monkeypatch, ["127.0.0.1", "127.0.0.2"])

    with pytest.raises(EgressDenied, match=r"127\.0\.0\.2"):
        fetch(f"http://mixed.test:{first_server.server_port}/", rules=granted("127.0.0.1"))

    assert first_server.hosts == []


def test_the_address_that_was_checked_is_the_one_connected_to(
    first_server: RecordingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name is resolved once: a resolver that changes its answer has no effect."""
    names = fake_resolver(monkeypatch, ["127.0.0.1"], ["127.0.0.2"])

    url = f"http://flips.test:{first_server.server_port}/"
    assert fetch(url, url, rules=granted("127.0.0.1"))[1].status == 200

    assert names == ["flips.test"]
    assert first_server.hosts == [f"flips.test:{first_server.server_port}"] * 2


@pytest.mark.parametrize("second", ["127.0.0.1", "169.254.169.254", "10.0.0.1"])
def test_each_new_connection_is_checked_anew(
    first_server: RecordingServer, monkeypatch: pytest.MonkeyPatch, second: str
) -> None:
    """A name that was allowed earlier is refused once it resolves to a denied address."""
    fake_resolver(monkeypatch, ["127.0.0.3"], [second])
    url = f"http://flips.test:{first_server.server_port}/"
    with pytest.raises(ConnectFailed, match="refused"):  # allowed, but without a listener
        fetch(url, rules=granted("127.0.0.3"))

    with pytest.raises(EgressDenied):
        fetch(url, rules=granted("127.0.0.3"))

    assert first_server.hosts == []


@pytest.mark.parametrize("host", ["nowhere.invalid", "a" * 64 + ".test", "a..test"])
def test_what_is_no_name_is_no_connection(host: str) -> None:
    """A name that does not resolve is an ordinary error."""
    with pytest.raises(ConnectFailed):
        fetch(f"http://{host}:80/", rules=EgressRules())


def test_a_redirect_is_not_followed(
    first_server: RecordingServer, second_server: RecordingServer
) -> None:
    """The redirect itself is the response."""
    first_server.redirect = f"http://127.0.0.2:{second_server.server_port}/"

    answer = fetch(f"http://127.0.0.1:{first_server.server_port}/", rules=granted("127.0.0.0/8"))[0]

    assert (answer.status, second_server.hosts) == (302, [])


def test_an_address_that_does_not_answer_gives_way_to_the_next(
    first_server: RecordingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name with several addresses works if one of them does."""
    fake_resolver(monkeypatch, ["127.0.0.9", "127.0.0.1"])

    url = f"http://several.test:{first_server.server_port}/"
    assert fetch(url, rules=granted("127.0.0.0/8"))[0].status == 200


def test_tls_is_for_the_name_and_not_for_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """The certificate must match the host name of the URL."""
    fake_resolver(monkeypatch, ["127.0.0.1"])
    names: list[str | None] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=_note_names, args=(listener, names))
        thread.start()
        with pytest.raises(ConnectFailed, match="TLS"):
            fetch(f"https://named.test:{listener.getsockname()[1]}/", rules=granted("127.0.0.1"))
        thread.join()

    assert names == ["named.test"]


def _note_names(listener: socket.socket, names: list[str | None]) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.sni_callback = lambda _sock, name, _context: names.append(name)
    sock, _ = listener.accept()
    with sock, pytest.raises(OSError):  # noqa: PT011 -- there is no certificate to show
        context.wrap_socket(sock, server_side=True)


def test_probing_a_refused_address_gives_no_verdict(first_server: RecordingServer) -> None:
    """A refused endpoint gets no verdict, and no further requests."""
    target = Target(Provider.OPENAI, f"http://127.0.0.1:{first_server.server_port}/v1", "m")

    async def collect() -> list[Attempt]:
        async with Transport(egress=EgressRules()) as transport:
            attempts = run_trials(target, plan_trials("light"), seed=1, transport=transport)
            return [attempt async for attempt in attempts]

    attempts = asyncio.run(collect())
    assert {attempt.outcome for attempt in attempts} == {Outcome.VOID}
    assert all("EGRESS_GRANTS" in attempt.findings[0].message for attempt in attempts)
    assert first_server.hosts == []


def test_our_own_database_and_broker_are_refused(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A grant for the whole network of the servers does not open them."""
    settings.EGRESS_GRANTS = "10.0.0.0/8, 127.0.0.0/8"
    monkeypatch.setitem(settings.DATABASES["default"], "HOST", "127.0.0.1")
    monkeypatch.setitem(settings.DATABASES["default"], "PORT", "5433")
    settings.REDIS_URL = "redis://:word@127.0.0.1/0"

    rules = egress_grants.read_egress_rules()

    rules.check("10.0.0.1", 5433)
    rules.check("127.0.0.1", 80)
    for port in (5433, 6379):
        with pytest.raises(EgressDenied, match="itself"):
            rules.check("127.0.0.1", port)


@pytest.mark.parametrize("host", ["", "/var/run/postgresql", "nowhere.invalid"])
def test_servers_without_an_address_are_no_trouble(
    settings: Any, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    """A socket in the file system, or a name that does not resolve, denies nothing."""
    settings.EGRESS_GRANTS, settings.PUBLIC_URL = "", "http://127.0.0.1:8000"
    monkeypatch.setitem(settings.DATABASES["default"], "HOST", host)
    monkeypatch.setitem(settings.DATABASES["default"], "PORT", "")
    settings.REDIS_URL = "redis://127.0.0.1:6379/0"

    rules = egress_grants.read_egress_rules()

    assert {each.first_port for each in rules.denied} == {6379, 8000}
