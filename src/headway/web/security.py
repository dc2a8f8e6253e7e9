"""Who may talk to the server: a browser of this machine that has the token, from a page of the server itself.

The server runs commands for whoever may talk to it, so everything that is not clearly allowed is refused: other hosts
in the address (a page whose name was made to lead here), other sites, requests without the token.
"""

from __future__ import annotations

from hmac import compare_digest
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response

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
_LOST = "Open the link that 'headway web' printed: it has the key to this page.\n"


class Guard:
    """Around everything else."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self._app = app
        self._token = token
        self._cookie = f"headway-{port}"
        names = ("127.0.0.1", "localhost", "[::1]")
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
            return PlainTextResponse("This server answers only under its own address.\n", 403)
        if not self._is_own(scope["method"], headers):
            return PlainTextResponse("Requests from other sites are refused.\n", 403)
        given = parse_qs(scope["query_string"].decode("latin-1"), max_num_fields=20).get("token", [""])[0]
        if scope["path"] == "/" and scope["method"] in _SAFE and given:
            return self._welcome(given)
        return None if self._has_token(headers) else PlainTextResponse(_LOST, 401)

    def _is_own(self, method: str, headers: Headers) -> bool:
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if origin is not None and origin not in self._origins:
            return False
        if method in _SAFE:
            # A link elsewhere may lead to the page; it has no cookie then, and no more than the page can be seen.
            return site in (None, *_SITES) or headers.get("sec-fetch-mode") == "navigate"
        return site in (None, *_SITES) and headers.get("content-type", "").startswith("application/json")

    def _has_token(self, headers: Headers) -> bool:
        given = headers.get("authorization", "").removeprefix("Bearer ")
        if not given:
            try:
                found = SimpleCookie(headers.get("cookie", "")).get(self._cookie)
            except CookieError:
                return False
            given = found.value if found is not None else ""
        return self._is_token(given)

    def _is_token(self, given: str) -> bool:
        return compare_digest(given.encode(errors="replace"), self._token.encode())

    def _welcome(self, given: str) -> Response:
        """The first visit: the token goes from the address into a cookie."""
        if not self._is_token(given):
            return PlainTextResponse(_LOST, 401)
        answer = RedirectResponse("/", 303)
        answer.set_cookie(self._cookie, self._token, httponly=True, samesite="strict", max_age=30 * 86_400)
        return answer
