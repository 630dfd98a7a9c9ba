"""Which addresses may be connected to: public ones, and what an administrator granted.

A name is judged by what it resolves to at the moment of connecting, so that neither a redirect,
nor an odd spelling of an address, nor an answer of DNS that changes leads anywhere else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

from probes.errors import ConnectFailed

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


class EgressDenied(ConnectFailed):
    """The address is not one that may be connected to; asking again changes nothing."""

    retryable = False


# Refused even when granted: metadata services of clouds, what only this link can mean, and
# addresses that stand for many machines or for none.
NEVER: tuple[Network, ...] = tuple(
    ip_network(text)
    for text in (
        "0.0.0.0/8",
        "100.100.100.200/32",  # Alibaba Cloud
        "168.63.129.16/32",  # Azure; looks public
        "169.254.0.0/16",
        "192.0.0.192/32",  # Oracle Cloud
        "224.0.0.0/4",
        "255.255.255.255/32",
        "::/128",
        "fd00:ec2::254/128",  # Amazon
        "fd20:ce::254/128",  # Google
        "fe80::/10",
        "ff00::/8",
    )
)
# Listed here rather than asked of the standard library, whose opinion changes between releases.
_NOT_PUBLIC: tuple[Network, ...] = tuple(
    ip_network(text)
    for text in (
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "240.0.0.0/4",
        "2001::/23",
        "2001:db8::/32",
        "3fff::/20",
    )
)
# Everything else in IPv6 is local, reserved or yet to be given out.
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")


@dataclass(frozen=True, slots=True)
class EgressGrant:
    """Addresses that are allowed although they are not public, on the ports from first to last."""

    network: Network
    first_port: int = 1
    last_port: int = 65535

    def covers(self, address: Address, port: int) -> bool:
        return _within(address, self.network) and self.first_port <= port <= self.last_port


@dataclass(frozen=True, slots=True)
class EgressRules:
    """What may be connected to. Without public addresses, only what is granted."""

    grants: tuple[EgressGrant, ...] = ()
    # Our own servers, which nothing that we are told to call can be.
    denied: frozenset[tuple[str, int]] = frozenset()
    public: bool = True

    def check(self, host: str, port: int) -> None:
        """Raise EgressDenied unless the address, written as numbers, may be connected to."""
        try:
            address = ip_address(host.partition("%")[0])
        except ValueError as exc:
            raise EgressDenied("{host} is not an IP address.", host=repr(host)) from exc
        if any(_within(part, network) for part in _wrapped_addresses(address) for network in NEVER):
            raise EgressDenied(
                "{address} is never connected to, whatever is granted.", address=str(address)
            )
        for part in _effective_addresses(address):
            self._check(part, port)

    def _check(self, address: Address, port: int) -> None:
        if (str(address), port) in self.denied:
            raise EgressDenied(
                "{address} is a server of Toolgauge itself.", address=_format_address(address, port)
            )
        if any(grant.covers(address, port) for grant in self.grants):
            return
        if not _is_public(address):
            raise EgressDenied(
                "{address} is not a public address; an administrator can allow it with "
                "EGRESS_GRANTS.",
                address=_format_address(address, port),
            )
        if not self.public or not 1 <= port <= 65535:
            raise EgressDenied(
                "{address} takes a grant; an administrator can give it with EGRESS_GRANTS.",
                address=_format_address(address, port),
            )


def parse_grants(text: str) -> tuple[EgressGrant, ...]:
    """Grants such as `127.0.0.0/8 10.0.0.0/8:8000-8010, [::1]:11434`, or a ValueError."""
    return tuple(_grant(item) for item in text.replace(",", " ").split())


def _grant(text: str) -> EgressGrant:
    place, ports = _halves(text)
    first, _, last = ports.partition("-")
    try:
        network = ip_network(place)
    except ValueError as exc:
        raise ValueError(
            f"{text!r} is no grant: write an address or a network, such as 10.0.0.0/8, "
            "with ports after a colon where not all are meant, such as [::1]:11434."
        ) from exc
    if not ports:
        return EgressGrant(network)
    numbers = [_port(first, text), _port(last or first, text)]
    if numbers[0] > numbers[1]:
        raise ValueError(f"The ports of the grant {text!r} are the wrong way round.")
    return EgressGrant(network, *numbers)


def _halves(text: str) -> tuple[str, str]:
    """The network and the ports; an IPv6 network with ports stands in brackets."""
    if text.startswith("["):
        place, _, rest = text[1:].partition("]")
        if rest and not rest.startswith(":"):
            raise ValueError(f"{text!r} is no grant: ports follow a colon, as in [::1]:11434.")
        return place, rest[1:]
    if text.count(":") > 1:
        return text, ""
    place, _, ports = text.partition(":")
    return place, ports


def _port(text: str, grant: str) -> int:
    if text.isascii() and text.isdecimal() and 1 <= int(text) <= 65535:
        return int(text)
    raise ValueError(f"The ports of the grant {grant!r} must be between 1 and 65535.")


def _is_public(address: Address) -> bool:
    if any(_within(address, network) for network in _NOT_PUBLIC):
        return False
    return address.version == 4 or _within(address, _GLOBAL_UNICAST)


def _effective_addresses(address: Address) -> Iterator[Address]:
    """Where packets to the address end up: those inside it where it wraps any, else itself."""
    inside = tuple(_embedded_ipv4(address))
    yield from inside or (address,)


def _wrapped_addresses(address: Address) -> Iterator[Address]:
    yield address
    yield from _embedded_ipv4(address)


def _embedded_ipv4(address: Address) -> Iterator[IPv4Address]:
    """The IPv4 addresses that an IPv6 address carries: mapped, 6to4, Teredo, NAT64."""
    if isinstance(address, IPv4Address):
        return
    if address.ipv4_mapped:
        yield address.ipv4_mapped
    if address.sixtofour:
        yield address.sixtofour
    if address.teredo:
        yield from address.teredo
    if address in _NAT64:
        yield IPv4Address(int(address) & 0xFFFFFFFF)


def _within(address: Address, network: Network) -> bool:
    return address.version == network.version and address in network


def _format_address(address: Address, port: int) -> str:
    return f"[{address}]:{port}" if address.version == 6 else f"{address}:{port}"
