"""One request over the wire: to a checked address, within a time and a size, and nothing followed or remembered.

The web library is loaded when a download happens. Redirects are the caller's matter.
"""

from __future__ import annotations

import asyncio
import re
import ssl
import zlib
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from headway.core.text import sanitize_for_display
from headway.tools.base import ToolFault
from headway.tools.limits import Limits
from headway.tools.web.addresses import IP, WebAddress
from headway.tools.web.host_policy import HostPolicy

if TYPE_CHECKING:
    import httpx2

_MOST_ADDRESSES = 4
"""Addresses of one host that are tried, one after the other."""
_CONNECT_SECONDS = 10.0
"""For one of them, or half of the time that there is."""
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_CHARSET = re.compile(r"\bcharset\s*=\s*[\"']?([^\s;\"',]{1,40})", re.IGNORECASE)
_ACCEPT = "text/html, text/*;q=0.9, application/json;q=0.9, application/xml;q=0.8, */*;q=0.5"


@dataclass(frozen=True, slots=True)
class HttpRequest:
    address: WebAddress
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    body: bytes | None = None
    """What is posted; None: the address is only asked for."""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """What a server said."""

    address: WebAddress
    status: int
    media_type: str
    """In lower case; empty if it said none."""
    charset: str | None
    location: str | None
    """Where a redirect leads."""
    size: int | None
    """Bytes that were promised."""
    body: bytes | None = None
    """None: it was not wanted."""
    cut: bool = False
    """The body is longer than the limit."""


@asynccontextmanager
async def with_deadline(limits: Limits, address: WebAddress) -> AsyncGenerator[None]:
    """Everything inside takes no longer than a download may. Raises `ToolFault`."""
    try:
        async with asyncio.timeout(limits.fetch_seconds):
            yield
    except TimeoutError:
        raise ToolFault(
            f"{sanitize_for_display(address.place)} took longer than {limits.fetch_seconds:g} "
            "seconds, so the request was stopped."
        ) from None


async def download(
    request: HttpRequest, reach: HostPolicy, limits: Limits, wanted: Callable[[str], bool]
) -> HttpAnswer:
    """The answer to one request; its body only if its media type is wanted. Raises `ToolFault`."""
    import httpx2

    place = sanitize_for_display(request.address.place)
    failure: httpx2.HTTPError | None = None
    for ip in (await reach.resolve(request.address))[:_MOST_ADDRESSES]:
        try:
            return await _exchange(request, ip, reach, limits, wanted)
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            if (fault := _find_cause(error, ssl.SSLError)) is not None:
                raise ToolFault(_explain_tls(place, fault)) from None
            failure = error
        except (httpx2.HTTPError, zlib.error, OSError) as error:
            raise ToolFault(f"{place} sent an invalid answer: {_explain_error(error)}.") from None
    why = "it took too long" if isinstance(failure, httpx2.ConnectTimeout) else _explain_error(failure)
    raise ToolFault(f"Could not connect to {place}: {why}. The server may be down, or the address may be wrong.")


async def _exchange(
    request: HttpRequest, ip: IP, reach: HostPolicy, limits: Limits, wanted: Callable[[str], bool]
) -> HttpAnswer:
    import httpx2

    address = request.address
    # The connection goes to the checked address; certificate and Host header are those of the name.
    url = httpx2.URL(scheme=address.scheme, host=str(ip), port=address.port, raw_path=address.target.encode())
    client = httpx2.AsyncClient(
        verify=reach.tls or True,
        trust_env=False,
        follow_redirects=False,
        timeout=httpx2.Timeout(None, connect=min(_CONNECT_SECONDS, limits.fetch_seconds / 2)),
    )
    async with (
        client,
        client.stream(
            "GET" if request.body is None else "POST",
            url,
            headers={**_build_headers(), **request.headers, "Host": address.place},
            content=request.body,
            extensions={"sni_hostname": address.host},
        ) as response,
    ):
        media_type, charset = _parse_content_type(response.headers.get("content-type", ""))
        answer = HttpAnswer(
            address, response.status_code, media_type, charset, _find_location(response), _find_size(response)
        )
        if answer.location is not None or not wanted(media_type):
            return answer
        body, cut = await _read_body(response, limits.fetch_bytes)
        return replace(answer, body=body, cut=cut)


async def _read_body(response: httpx2.Response, limit: int) -> tuple[bytes, bool]:
    """At most `limit` bytes, unpacked, and whether there were more. Never holds much more than that."""
    packing = response.headers.get("content-encoding", "identity").strip().lower()
    if packing not in ("", "identity", "gzip"):
        raise ToolFault(
            f"The page uses a compression that was not requested ({sanitize_for_display(packing)}), so it was not read."
        )
    unpack = zlib.decompressobj(zlib.MAX_WBITS | 16) if packing == "gzip" else None
    body, received = bytearray(), 0
    async with aclosing(response.aiter_raw()) as pieces:
        async for piece in pieces:
            received += len(piece)
            body += piece if unpack is None else unpack.decompress(piece, limit + 1 - len(body))
            if len(body) > limit or received > limit:
                return bytes(body[:limit]), True
            if unpack is not None and unpack.eof:
                break
    if unpack is not None and received and not unpack.eof:
        raise zlib.error("it is incomplete")
    return bytes(body), False


def _build_headers() -> dict[str, str]:
    from headway import __version__

    return {"User-Agent": f"Headway/{__version__}", "Accept": _ACCEPT, "Accept-Encoding": "gzip, identity"}


def _parse_content_type(header: str) -> tuple[str, str | None]:
    media_type, _, parameters = header.partition(";")
    charset = _CHARSET.search(parameters)
    return media_type.strip().lower(), charset[1] if charset else None


def _find_location(response: httpx2.Response) -> str | None:
    return response.headers.get("location") if response.status_code in _REDIRECTS else None


def _find_size(response: httpx2.Response) -> int | None:
    text = response.headers.get("content-length", "")
    return int(text) if text.isdecimal() and len(text) < 20 else None


Kind = TypeVar("Kind", bound=BaseException)


def _find_cause(error: BaseException | None, kind: type[Kind]) -> Kind | None:
    """The first of a kind among an error and what led to it."""
    for _ in range(20):
        # That the handshake waits for bytes is no fault, but stands among the causes of whatever comes then.
        if isinstance(error, kind) and not isinstance(error, ssl.SSLWantReadError | ssl.SSLWantWriteError):
            return error
        error = error and (error.__cause__ or error.__context__)
    return None


def _explain_tls(place: str, fault: ssl.SSLError) -> str:
    if isinstance(fault, ssl.SSLCertVerificationError):
        return (
            f"The certificate of {place} cannot be trusted: "
            f"{sanitize_for_display(fault.verify_message, 200)}; nothing was read."
        )
    return (
        f"Could not make a secure connection to {place}: "
        f"{sanitize_for_display(fault.reason or 'the handshake failed', 200)}."
    )


def _explain_error(error: BaseException | None) -> str:
    if _find_cause(error, ConnectionRefusedError):
        return "the connection was refused"
    system = _find_cause(error, OSError)
    text = system.strerror if system is not None and system.strerror else str(error or "")
    return sanitize_for_display(text.rstrip("."), 200) or "the connection was closed"
