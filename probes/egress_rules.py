"""The addresses that may be connected to: public ones, and those that an administrator granted.

A name is checked by the addresses that it resolves to at the time of connecting, so that neither a
redirect, nor an odd spelling of an address, nor a changed DNS answer leads anywhere else.
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
    """The address must not be connected to; a retry changes nothing."""

    retryable = False


# Refused even if granted: cloud metadata services, link-local addresses, and addresses of many
# machines or of none.
ALWAYS_DENIED: tuple[Network, ...] = tuple(
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
# Listed here, because the standard library's answer changes between releases.
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
# Everything else in IPv6 is local, reserved or unassigned.
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
_COMPATIBLE = IPv6Network("::/96")  # obsolete, and ::1 is among them


@dataclass(frozen=True, slots=True)
class EgressGrant:
    """Addresses on the ports from first to last: allowed although not public, or denied."""

    network: Network
    first_port: int = 1
    last_port: int = 65535

    def covers(self, address: Address, port: int) -> bool:
        return _within(address, self.network) and self.first_port <= port <= self.last_port


@dataclass(frozen=True, slots=True)
class EgressRules:
    """The addresses that may be connected to. If not `public`, only granted ones."""

    grants: tuple[EgressGrant, ...] = ()
    # Toolgauge's own servers, which no endpoint can be: addresses, and names with their ports.
    denied: tuple[EgressGrant, ...] = ()
    denied_names: frozenset[tuple[str, int]] = frozenset()
    public: bool = True

    def check_name(self, host: str, port: int) -> None:
        """Raise EgressDenied if the name is ours, whatever it resolves to."""
        if (host.rstrip(".").lower(), port) in self.denied_names:
            raise _own_server_denied(f"{host}:{port}")

    def check(self, host: str, port: int) -> None:
        """Raise EgressDenied unless the numeric address may be connected to."""
        try:
            address = ip_address(host.partition("%")[0])
        except ValueError as exc:
            raise EgressDenied("{host} is not an IP address.", host=repr(host)) from exc
        if any(
            _within(wrapped, network)
            for wrapped in _wrapped_addresses(address)
            for network in ALWAYS_DENIED
        ):
            raise EgressDenied(
                "{address} is never connected to, whatever is granted.", address=str(address)
            )
        for wrapped in _effective_addresses(address):
            self._check(wrapped, port)

    def _check(self, address: Address, port: int) -> None:
        if any(own.covers(address, port) for own in self.denied):
            raise _own_server_denied(_format_address(address, port))
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
    """Parse grants such as `127.0.0.0/8 10.0.0.0/8:8000-8010, [::1]:11434`, or raise ValueError."""
    return tuple(_parse_grant(item) for item in text.replace(",", " ").split())


def _parse_grant(text: str) -> EgressGrant:
    network_text, ports = _split_ports(text)
    first, _, last = ports.partition("-")
    try:
        network = ip_network(network_text)
    except ValueError as exc:
        raise ValueError(
            f"{text!r} is no grant: write an address or a network, such as 10.0.0.0/8, "
            "with ports after a colon where not all are meant, such as [::1]:11434."
        ) from exc
    if not ports:
        return EgressGrant(network)
    numbers = [_parse_port(first, text), _parse_port(last or first, text)]
    if numbers[0] > numbers[1]:
        raise ValueError(f"The ports of the grant {text!r} are the wrong way round.")
    return EgressGrant(network, *numbers)


def _split_ports(text: str) -> tuple[str, str]:
    """The network and the ports; an IPv6 network with ports is in brackets."""
    if text.startswith("["):
        network_text, _, rest = text[1:].partition("]")
        if rest and not rest.startswith(":"):
            raise ValueError(f"{text!r} is no grant: ports follow a colon, as in [::1]:11434.")
        return network_text, rest[1:]
    if text.count(":") > 1:
        return text, ""
    network_text, _, ports = text.partition(":")
    return network_text, ports


def _parse_port(text: str, grant: str) -> int:
    if text.isascii() and text.isdecimal() and 1 <= int(text) <= 65535:
        return int(text)
    raise ValueError(f"The ports of the grant {grant!r} must be between 1 and 65535.")


def _own_server_denied(address: str) -> EgressDenied:
    return EgressDenied("{address} is a server of Toolgauge itself.", address=address)


def _is_public(address: Address) -> bool:
    if any(_within(address, network) for network in _NOT_PUBLIC):
        return False
    return address.version == 4 or _within(address, _GLOBAL_UNICAST)


def _effective_addresses(address: Address) -> Iterator[Address]:
    """The addresses that packets end up at: the embedded ones if any, else the address itself."""
    inside = tuple(_embedded_ipv4(address))
    yield from inside or (address,)


def _wrapped_addresses(address: Address) -> Iterator[Address]:
    yield address
    yield from _embedded_ipv4(address)


def _embedded_ipv4(address: Address) -> Iterator[IPv4Address]:
    """The IPv4 addresses that an IPv6 address carries: mapped, compatible, 6to4, Teredo, NAT64."""
    if isinstance(address, IPv4Address):
        return
    if address.ipv4_mapped:
        yield address.ipv4_mapped
    if address.sixtofour:
        yield address.sixtofour
    if address.teredo:
        yield from address.teredo
    if address in _NAT64 or (address in _COMPATIBLE and not address.is_loopback):
        yield IPv4Address(int(address) & 0xFFFFFFFF)


def _within(address: Address, network: Network) -> bool:
    return address.version == network.version and address in network


def _format_address(address: Address, port: int) -> str:
    return f"[{address}]:{port}" if address.version == 6 else f"{address}:{port}"
