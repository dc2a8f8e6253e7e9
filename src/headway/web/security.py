"""Who may talk to the server: a browser of this machine that has the token, from a page of the server itself.

The server runs commands for whoever may talk to it, so everything that is not clearly allowed is refused: other hosts
in the address (a page whose name was made to lead here), other sites, requests without the token.
"""

from __future__ import annotations

import secrets
import time
from hmac import compare_digest
from typing import TYPE_CHECKING
from urllib.parse import unquote_plus

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_SAFE = frozenset({"GET", "HEAD"})
_SITES = frozenset({"same-origin", "none"})
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
TICKET_LASTS = 60
_LOST = "Open the link that 'headway web' printed; it contains the key to this page."


def _refusal(scope: Scope, message: str, status: int) -> Response:
    """In words for a person, as data for a program."""
    if str(scope["path"]).startswith("/api"):
        return JSONResponse({"error": {"kind": "Refused", "message": message}}, status)
    return PlainTextResponse(f"{message}\n", status)


def _keys(query: bytes) -> tuple[str, str]:
    """(token, ticket) in an address, however much else is in it."""
    found = {"token": "", "ticket": ""}
    for part in query.decode("latin-1").split("&"):
        name, _, value = part.partition("=")
        if name in found:
            found[name] = found[name] or unquote_plus(value)
    return found["token"], found["ticket"]


class Tickets:
    """Each lets one browser in, once and soon: in an address that others on this machine may see for a moment."""

    def __init__(self) -> None:
        self._until: dict[str, float] = {}

    def issue(self) -> str:
        now = time.monotonic()
        self._until = {ticket: until for ticket, until in self._until.items() if until > now}
        ticket = secrets.token_urlsafe(32)
        self._until[ticket] = now + TICKET_LASTS
        return ticket

    def take(self, ticket: str) -> bool:
        return self._until.pop(ticket, 0) > time.monotonic()


class Guard:
    """Around everything else."""

    def __init__(self, app: ASGIApp, token: str, tickets: Tickets, port: int) -> None:
        self._app = app
        self._token = token
        self._tickets = tickets
        self._cookie = f"headway-{port}"
        names = ("127.0.0.1", "localhost")
        self._hosts = {f"{name}:{port}" for name in names}
        self._origins = {f"http://{host}" for host in self._hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = self._refused(scope, Headers(scope=scope))
        await (refusal or self._app)(scope, receive, guarded)

    def _refused(self, scope: Scope, headers: Headers) -> Response | None:
        """The answer to a request that goes no further; None for one that may."""
        if headers.get("host") not in self._hosts:
            return _refusal(scope, "This server accepts requests only at its own address.", 403)
        if not self._is_own(scope["method"], headers):
            return _refusal(scope, "Requests from other sites are refused.", 403)
        if scope["method"] not in _SAFE and not headers.get("content-type", "").startswith("application/json"):
            return _refusal(scope, "Send requests that change something as application/json.", 403)
        token, ticket = _keys(scope["query_string"])
        if scope["path"] == "/" and scope["method"] == "GET" and (token or ticket):
            return self._welcome(scope, self._is_token(token) or self._tickets.take(ticket))
        return None if self._has_token(headers) else _refusal(scope, _LOST, 401)

    def _is_own(self, method: str, headers: Headers) -> bool:
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if origin is not None and origin not in self._origins:
            return False
        if method in _SAFE:
            # A link elsewhere may lead to the page; it has no cookie then, and no more than the page can be seen.
            return site in (None, *_SITES) or headers.get("sec-fetch-mode") == "navigate"
        return site in (None, *_SITES)

    def _has_token(self, headers: Headers) -> bool:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            # By hand: cookies of other servers on this machine come along, in whatever form.
            pairs = (part.strip().partition("=") for part in headers.get("cookie", "").split(";"))
            return any(self._is_token(value) for name, _, value in pairs if name == self._cookie)
        return self._is_token(given)

    def _is_token(self, given: str) -> bool:
        return compare_digest(given.encode(errors="replace"), self._token.encode())

    def _welcome(self, scope: Scope, may: bool) -> Response:
        """The first visit: the key goes from the address into a cookie."""
        if not may:
            return _refusal(scope, _LOST, 401)
        answer = RedirectResponse("/", 303)
        answer.set_cookie(self._cookie, self._token, httponly=True, samesite="strict", max_age=30 * 86_400)
        return answer
