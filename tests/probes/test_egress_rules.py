"""The addresses that may be connected to."""

from __future__ import annotations

import pytest

from probes.egress_rules import ALWAYS_DENIED, EgressDenied, EgressRules, Network, parse_grants

EVERYWHERE = parse_grants("0.0.0.0/0, ::/0")

PUBLIC = [
    "1.1.1.1",
    "8.8.8.8",
    "93.184.216.34",
    "100.63.255.255",
    "100.128.0.1",
    "172.15.255.255",
    "172.32.0.1",
    "192.167.255.255",
    "198.17.255.255",
    "223.255.255.255",
    "2606:4700:4700::1111",
    "2a00:1450:4001:81b::200e",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
    "2002:808:808::1",
]
PRIVATE = [
    "10.0.0.1",
    "100.64.0.1",
    "100.127.255.255",
    "127.0.0.1",
    "127.255.255.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.1",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "240.0.0.1",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:7f00:1",
    "64:ff9b::127.0.0.1",
    "64:ff9b::a00:1",
    "64:ff9b:1::8.8.8.8",
    "2002:7f00:1::1",
    "2002:a00:1::",
    "2001:0:808:808::80ff:fffe",  # Teredo, a public server and the client 127.0.0.1
    "2001:0:7f00:1::f7f7:f7f7",  # Teredo, the server 127.0.0.1 and a public client
    "2001:db8::1",
    "2001:20::1",
    "3fff::1",
    "4000::1",
    "fc00::1",
    "fd12:3456::1",
    "fec0::1",
]
REFUSED_ALWAYS = [
    "0.0.0.0",
    "0.1.2.3",
    "100.100.100.200",
    "168.63.129.16",
    "169.254.0.1",
    "169.254.169.254",
    "192.0.0.192",
    "224.0.0.1",
    "239.255.255.255",
    "255.255.255.255",
    "::",
    "fd00:ec2::254",
    "fd20:ce::254",
    "fe80::1",
    "fe80::1%eth0",
    "ff02::1",
    "::ffff:169.254.169.254",
    "::ffff:0.0.0.0",
    "64:ff9b::169.254.169.254",
    "2001::1",  # Teredo, the server 0.0.0.0
    "2002:a9fe:a9fe::1",
    "2001:0:a9fe:a9fe::f7f7:f7f7",
]


@pytest.mark.parametrize("host", PUBLIC)
def test_public_addresses_pass(host: str) -> None:
    """Addresses that the whole internet can reach are allowed."""
    EgressRules().check(host, 443)


@pytest.mark.parametrize("host", PRIVATE)
def test_other_addresses_need_a_grant(host: str) -> None:
    """Local addresses are refused, also if embedded in another address."""
    with pytest.raises(EgressDenied, match="EGRESS_GRANTS"):
        EgressRules().check(host, 443)

    EgressRules(EVERYWHERE).check(host, 443)


@pytest.mark.parametrize("host", REFUSED_ALWAYS)
def test_some_addresses_are_never_connected_to(host: str) -> None:
    """No grant opens a metadata service, or an address of many machines or of none."""
    with pytest.raises(EgressDenied, match="never"):
        EgressRules(EVERYWHERE).check(host, 443)


@pytest.mark.parametrize("network", ALWAYS_DENIED, ids=str)
def test_the_first_and_last_address_of_each_refused_network_are_refused(network: Network) -> None:
    """The whole network is refused."""
    for address in (network[0], network[-1]):
        with pytest.raises(EgressDenied):
            EgressRules(EVERYWHERE).check(str(address), 443)


@pytest.mark.parametrize("host", ["", "localhost", "0x7f.1", "2130706433", "127.1", "1.2.3.4.5"])
def test_only_plain_addresses_are_judged(host: str) -> None:
    """Names and odd spellings are for the resolver; none passes as an address."""
    with pytest.raises(EgressDenied, match="not an IP address"):
        EgressRules(EVERYWHERE).check(host, 443)


@pytest.mark.parametrize(
    ("host", "port", "passes"),
    [
        ("127.0.0.1", 1, True),
        ("127.9.9.9", 65535, True),
        ("10.1.2.3", 8000, True),
        ("10.1.2.3", 8010, True),
        ("10.1.2.3", 8011, False),
        ("10.1.2.3", 7999, False),
        ("::1", 11434, True),
        ("::1", 11435, False),
        ("::2", 11434, False),
        ("fd00::77", 9, True),
        ("::ffff:10.1.2.3", 8000, True),
        ("192.168.0.9", 443, True),
        ("192.168.0.8", 443, False),
    ],
)
def test_a_grant_opens_its_addresses_and_ports(host: str, port: int, passes: bool) -> None:
    """Other addresses and ports stay closed."""
    grants = parse_grants(
        "127.0.0.0/8 10.0.0.0/8:8000-8010,[::1]:11434, fd00::/16  192.168.0.9:443,"
    )
    rules = EgressRules(grants)

    if passes:
        rules.check(host, port)
    else:
        with pytest.raises(EgressDenied):
            rules.check(host, port)


@pytest.mark.parametrize(
    "text",
    [
        "localhost",
        "10.0.0.1/8",
        "10.0.0.0/33",
        "10.0.0.0/8:0",
        "10.0.0.0/8:65536",
        "10.0.0.0/8:-",
        "10.0.0.0/8:9-8",
        "10.0.0.0/8:http",
        "[::1]11434",
        "[::1]:x",
        "*",
    ],
)
def test_a_wrong_grant_is_named(text: str) -> None:
    """The message repeats the grant."""
    with pytest.raises(ValueError, match="grant") as caught:
        parse_grants(f"127.0.0.1, {text}")

    assert repr(text) in str(caught.value)


def test_no_grant_is_the_rule() -> None:
    """By default nothing is granted."""
    assert parse_grants("") == parse_grants(" , ") == ()


@pytest.mark.parametrize("host", ["127.0.0.1", "::ffff:127.0.0.1"])
def test_our_own_servers_are_refused_although_granted(host: str) -> None:
    """A grant for this machine does not open our database."""
    rules = EgressRules(EVERYWHERE, denied=parse_grants("127.0.0.1:5432"))

    rules.check(host, 5433)
    with pytest.raises(EgressDenied, match="Toolgauge itself"):
        rules.check(host, 5432)


def test_rules_without_public_addresses_leave_the_grants() -> None:
    """If only granted addresses are allowed, a public address needs a grant too."""
    rules = EgressRules(parse_grants("10.0.0.0/8, 8.8.8.8"), public=False)

    rules.check("10.0.0.1", 80)
    rules.check("8.8.8.8", 80)
    with pytest.raises(EgressDenied, match="grant"):
        rules.check("1.1.1.1", 80)
