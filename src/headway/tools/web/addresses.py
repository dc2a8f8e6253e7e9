"""Web addresses from outside, read strictly and in one way of writing each: what is asked about is what is reached.

Only parses; looks nothing up. Numbers in disguise (`0x7f.1`, `2130706433`) become the address they stand for.
"""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass
from fnmatch import fnmatchcase
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TypeAlias
from urllib.parse import SplitResult, quote, urljoin, urlsplit

from headway.core.text import sanitize_for_display

LONGEST = 2_000
"""Characters of an address; longer ones carry data rather than name a page."""
IP: TypeAlias = IPv4Address | IPv6Address
_PORTS = {"http": 80, "https": 443}
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_IN_PATH = "!$%&'()*+,/:;=@~-._"
_IN_QUERY = _IN_PATH + "?[]|{}^\\`"


class BadAddress(ValueError):
    """No address that can be fetched. Its text says why."""


@dataclass(frozen=True, slots=True)
class WebAddress:
    """An http or https address, in its one way of writing."""

    scheme: str
    host: str
    """A name in lower case and ASCII, or an IP address without brackets."""
    port: int
    target: str
    """Path and query, as they are sent."""

    @property
    def to_ip(self) -> IP | None:
        """The address that the host is, if it is no name."""
        return parse_ip(self.host)

    @property
    def place(self) -> str:
        """The host, with the port where it is not the usual one: what a person is asked about, and the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.place}{self.target}"

    def is_same_site(self, other: WebAddress) -> bool:
        """Whether a redirect to the other one stays where the person allowed it to go."""
        if self.host != other.host:
            return False
        if (self.scheme, self.port) == (other.scheme, other.port):
            return True
        return (self.scheme, self.port, other.scheme, other.port) == ("http", 80, "https", 443)


def parse_address(text: str, base: WebAddress | None = None) -> WebAddress:
    """The address that a text means, or that it means on the page `base`. Raises `BadAddress`."""
    text = text.strip()
    if len(text) > LONGEST:
        raise BadAddress(f"Must have at most {LONGEST:,} characters, received {len(text):,}")
    if not text.isprintable():
        raise BadAddress("Must not contain control or invisible characters")
    try:
        parts = urlsplit(text if base is None else urljoin(base.url, text))
        port = parts.port
    except ValueError:
        raise BadAddress(f"Must be a valid address, received '{sanitize_for_display(text)}'") from None
    if parts.scheme not in _PORTS:
        raise BadAddress(f"Must begin with http:// or https://, received '{sanitize_for_display(text)}'")
    if "@" in parts.netloc:
        raise BadAddress("Must not contain a user name or password")
    if not parts.hostname or port == 0:
        raise BadAddress(f"Must name a host, received '{sanitize_for_display(text)}'")
    host = parse_host(f"[{parts.hostname}]" if "[" in parts.netloc else parts.hostname)
    return WebAddress(parts.scheme, host, port or _PORTS[parts.scheme], _build_target(parts))


def parse_host(text: str) -> str:
    """A host's name or IP address in its one way of writing. Raises `BadAddress`."""
    try:
        if ":" in text:
            return _parse_ipv6(text.removeprefix("[").removesuffix("]"))
        name = _to_ascii(text.lower()).removesuffix(".")
        if len(name) > 253 or not _NAME.fullmatch(name):
            raise ValueError
        if _NUMBER.fullmatch(name.rpartition(".")[2]):
            return str(IPv4Address(socket.inet_aton(name)))
    except (ValueError, OSError):
        raise BadAddress(f"'{sanitize_for_display(text)}' is not a valid host") from None
    return name


def parse_ip(text: str) -> IP | None:
    try:
        return to_ipv4_if_mapped(ip_address(text))
    except ValueError:
        return None


def to_ipv4_if_mapped(address: IP) -> IP:
    """An IPv4 address that is written as IPv6 as what it is."""
    return address.ipv4_mapped or address if isinstance(address, IPv6Address) else address


def does_host_match(pattern: str, place: str) -> bool:
    """Whether an allow-list's pattern covers a host, which may have a port: `docs.python.org`, `*.python.org`."""
    pattern = to_ascii_pattern(pattern)
    bare = re.sub(r":[0-9]+\Z", "", place)
    return any(pattern == form or fnmatchcase(form, pattern) for form in (place, bare, bare.strip("[]")))


def to_ascii_pattern(pattern: str) -> str:
    """The pattern in the letters of addresses: `*.例子.cn` as `*.xn--fsqu00a.cn`."""
    pattern = pattern.strip().lower()
    stars, name = ("*.", pattern[2:]) if pattern.startswith("*.") else ("", pattern)
    try:
        return stars + _to_ascii(name)
    except UnicodeError:
        return pattern


def _parse_ipv6(text: str) -> str:
    if "%" in text:  # a zone names an interface of this machine, and nothing behind one is public
        raise ValueError
    return str(to_ipv4_if_mapped(IPv6Address(text)))


def _to_ascii(name: str) -> str:
    if name.isascii():
        return name
    import idna

    return idna.encode(name, uts46=True).decode("ascii")


def _build_target(parts: SplitResult) -> str:
    path = quote(parts.path, safe=_IN_PATH) or "/"
    return f"{path}?{quote(parts.query, safe=_IN_QUERY)}" if parts.query else path
