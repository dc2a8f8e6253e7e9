"""Where the web tools may connect to: a host is looked up once, every address it has is checked, and one is used.

Since the connection goes to a checked address, a name that answers differently the second time gains nothing.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Network, ip_network
from typing import TYPE_CHECKING, TypeAlias

from headway.core.errors import HeadwayError
from headway.core.text import sanitize_for_display
from headway.tools.base import ToolFault
from headway.tools.web.addresses import IP, BadAddress, WebAddress, parse_host, parse_ip

if TYPE_CHECKING:
    import ssl

Lookup: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
"""Gives a host's addresses. Raises `socket.gaierror`."""
_TRANSLATED = IPv6Network("64:ff9b::/96")
"""IPv4 behind a translator; the last four bytes say where it leads."""
_UNICAST = IPv6Network("2000::/3")
_SPECIAL = tuple(
    ip_network(text)
    for text in (
        "168.63.129.16/32",  # Azure's own services, reached from every virtual machine
        "192.0.0.0/24",
        "192.88.99.0/24",
        "2001::/23",  # Teredo and other tunnels
        "2002::/16",  # 6to4, with any IPv4 address inside
        "3fff::/20",
    )
)
"""What the `ipaddress` of some Python versions takes for public."""


async def look_up_host(host: str, port: int) -> Sequence[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


@dataclass(frozen=True, slots=True)
class HostPolicy:
    """Which hosts can be reached, and how."""

    private_hosts: frozenset[str] = frozenset()
    lookup: Lookup = look_up_host
    tls: ssl.SSLContext | None = None
    """Whose certificates are trusted; None: those that the system trusts."""

    async def resolve(self, address: WebAddress) -> list[IP]:
        """The host's addresses, each checked. Raises `ToolFault` if even one of them is private."""
        found = [address.host] if address.to_ip else await self._look_up(address)
        result: list[IP] = []
        for text in found:
            ip = parse_ip(text)
            if ip is None or not self._is_allowed(address.host, ip):
                raise ToolFault(self.explain_refusal(address.host, text))
            if ip not in result:
                result.append(ip)
        return result

    def check(self, address: WebAddress) -> None:
        """Refuses what can be refused without looking anything up. Raises `ToolFault`."""
        ip = parse_ip("127.0.0.1") if _is_local(address.host) else address.to_ip
        if ip and not self._is_allowed(address.host, ip):
            raise ToolFault(self.explain_refusal(address.host, address.host))

    def explain_refusal(self, host: str, address: str) -> str:
        what = (
            f"'{sanitize_for_display(host)}'"
            if host == address
            else f"'{sanitize_for_display(host)}' leads to {sanitize_for_display(address)}, which"
        )
        return (
            f"{what} is a private or special address, so nothing was fetched; only the user can allow it, by "
            "adding it to private_hosts in the settings."
        )

    def _is_allowed(self, host: str, ip: IP) -> bool:
        if is_public(ip) or host in self.private_hosts or str(ip) in self.private_hosts:
            return True
        # A name for this machine may lead to either of its addresses.
        return ip.is_loopback and _is_local(host) and not self.private_hosts.isdisjoint(("127.0.0.1", "::1"))

    async def _look_up(self, address: WebAddress) -> Sequence[str]:
        try:
            found = await self.lookup(address.host, address.port)
        except (socket.gaierror, UnicodeError) as error:
            if isinstance(error, socket.gaierror) and error.errno == socket.EAI_AGAIN:
                raise ToolFault(
                    f"The host '{sanitize_for_display(address.host)}' cannot be "
                    "resolved right now; the network may be down."
                ) from None
            found = ()
        if not found:
            raise ToolFault(f"There is no host '{sanitize_for_display(address.host)}'; check the address.")
        return found


def _is_local(host: str) -> bool:
    return host == "localhost" or host.endswith(".localhost")


def make_host_policy(
    private_hosts: Sequence[str], lookup: Lookup = look_up_host, tls: ssl.SSLContext | None = None
) -> HostPolicy:
    try:
        return HostPolicy(frozenset(map(parse_host, private_hosts)), lookup, tls)
    except BadAddress as error:
        raise HeadwayError(f"{error}; correct private_hosts in the settings.") from None


def is_public(ip: IP) -> bool:
    """Whether everyone reaches the same machine at this address, and it is no service of the network itself."""
    if ip.version == 6:
        if ip in _TRANSLATED:
            return is_public(IPv4Address(ip.packed[-4:]))
        if ip not in _UNICAST:
            return False
    if ip.is_multicast or ip.is_reserved or ip.is_link_local or not ip.is_global:
        return False
    return not any(ip.version == network.version and ip in network for network in _SPECIAL)
