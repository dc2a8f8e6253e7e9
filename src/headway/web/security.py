"""Who may talk to the server: a tab that was let in with the token, from a page of the server itself.

The server runs commands for whoever may talk to it, so everything that is not clearly allowed is refused: other hosts
in the address (a page whose name was made to lead here), other sites, requests without the tab's key and the cookie of
this start of the server, or the token. The page's own files are the same for everyone and hold nothing of the project.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_plus

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

# What makes a tab of the page known to the server, though a cookie goes to every port of the machine.

_NAME = re.compile(r"[\w-]{16,64}", re.ASCII)


def sign(secret: str, *words: str) -> str:
    """Return what only someone who knows the secret can say of these words. The page has the same function."""
    return hmac.new(secret.encode(), "\n".join(words).encode(), hashlib.sha256).hexdigest()


class TabKeys:
    """Of one start of the server."""

    def __init__(self, token: str, port: int) -> None:
        self._token = token
        self._port = str(port)
        self._start = secrets.token_urlsafe(32)

    def issue(self) -> str:
        """Return a name and a secret for a new tab, as it gets them in its address."""
        name = secrets.token_urlsafe(16)
        return f"{name}.{self._secret(name)}"

    def proof(self, name: str, nonce: str) -> dict[str, str] | None:
        """Return what shows a tab that this is the server that let it in; None if it asks for nothing sensible."""
        if not (_NAME.fullmatch(name) and _NAME.fullmatch(nonce)):
            return None
        # With the port: what another server passes on from here proves nothing about that one.
        return {"start": self._start, "proof": sign(self._secret(name), "server", self._port, nonce, self._start)}

    def is_valid(self, name: str, key: str) -> bool:
        return is_same(key, self._key(name))

    def is_signed(self, name: str, path: str, signature: str) -> bool:
        """Return whether a tab made the link to this path, which is opened in another tab."""
        return is_same(signature, sign(self._key(name), path))

    def _secret(self, name: str) -> str:
        return sign(self._token, "tab", name)

    def _key(self, name: str) -> str:
        return sign(self._secret(name), "key", self._start)


def is_same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(errors="replace"), other.encode())


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
ENTRY = "/api/entry"
TICKET_LASTS = 60
_LOST = "Open the link that 'headway web' printed; it contains the key to this page."


def _make_refusal(scope: Scope, message: str, status: int) -> Response:
    """In words for a person, as data for a program."""
    if str(scope["path"]).startswith("/api"):
        return JSONResponse({"error": {"kind": "Refused", "code": "refused", "message": message}}, status)
    return PlainTextResponse(f"{message}\n", status)


def _path(scope: Scope) -> str:
    """Return the path as it came, which is what it is routed by."""
    return scope["raw_path"].decode("ascii", "replace")


def _query(scope: Scope, *names: str) -> list[str]:
    """Return what an address says under these names, however much else is in it."""
    found = dict.fromkeys(names, "")
    for part in scope["query_string"].decode("latin-1").split("&"):
        name, _, value = part.partition("=")
        if name in found:
            found[name] = found[name] or unquote_plus(value)
    return [*found.values()]


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
        self._tabs = TabKeys(token, port)
        self._cookie = f"headway-{port}"
        self._cookie_value = secrets.token_urlsafe(32)
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

        refusal = self._refuse(scope, Headers(scope=scope))
        await (refusal or self._app)(scope, receive, guarded)

    def _refuse(self, scope: Scope, headers: Headers) -> Response | None:
        """The answer to a request that goes no further; None for one that may."""
        if headers.get("host") not in self._hosts:
            return _make_refusal(scope, "This server accepts requests only at its own address.", 403)
        if not self._is_same_origin(scope["method"], headers):
            return _make_refusal(scope, "Requests from other sites are refused.", 403)
        if scope["method"] not in _SAFE and not headers.get("content-type", "").startswith("application/json"):
            return _make_refusal(scope, "Send requests that change something as application/json.", 403)
        path = _path(scope)
        if path == ENTRY:
            return self._enter(scope, headers)
        if path == "/" and scope["method"] in _SAFE:
            return self._welcome(scope) if scope["method"] == "GET" else None
        if path.startswith("/static/") and scope["method"] in _SAFE:
            return None
        may = self._has_token(headers) or (
            self._has_cookie(headers) and (self._has_tab_key(headers) or self._is_signed(scope))
        )
        return None if may else _make_refusal(scope, _LOST, 401)

    def _is_same_origin(self, method: str, headers: Headers) -> bool:
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if origin is not None and origin not in self._origins:
            return False
        if method in _SAFE:
            # A link elsewhere may lead to the page; it has no cookie then, and no more than the page can be seen.
            return site in (None, *_SITES) or headers.get("sec-fetch-mode") == "navigate"
        return site in (None, *_SITES)

    def _has_token(self, headers: Headers) -> bool:
        return is_same(_authorization(headers, "bearer"), self._token)

    def _has_cookie(self, headers: Headers) -> bool:
        # By hand: cookies of other servers on this machine come along, in whatever form.
        pairs = (part.strip().partition("=") for part in headers.get("cookie", "").split(";"))
        return any(is_same(value, self._cookie_value) for name, _, value in pairs if name == self._cookie)

    def _has_tab_key(self, headers: Headers) -> bool:
        name, _, key = _authorization(headers, "tab").partition(".")
        return self._tabs.is_valid(name, key)

    def _is_signed(self, scope: Scope) -> bool:
        """A link to a report, which is opened in another tab, as nothing but an address."""
        path = _path(scope)
        name, signature = _query(scope, "tab", "signature")
        return scope["method"] == "GET" and path.endswith("/report") and self._tabs.is_signed(name, path, signature)

    def _welcome(self, scope: Scope) -> Response | None:
        """The first visit: a secret for this tab takes the token's place in the address, where no server sees it."""
        token, ticket = _query(scope, "token", "ticket")
        if not (token or ticket):
            return None
        if not (is_same(token, self._token) or self._tickets.take(ticket)):
            return _make_refusal(scope, _LOST, 401)
        return self._with_cookie(RedirectResponse(f"/#tab={self._tabs.issue()}", 303))

    def _enter(self, scope: Scope, headers: Headers) -> Response:
        """A tab that was let in once, also before the server was started again."""
        if scope["method"] == "POST" and self._has_tab_key(headers):
            return self._with_cookie(JSONResponse({}))
        proof: dict[str, Any] | None = None
        if scope["method"] == "GET":
            proof = self._tabs.proof(*_query(scope, "tab", "nonce"))
        return JSONResponse(proof) if proof else _make_refusal(scope, _LOST, 401)

    def _with_cookie(self, answer: Response) -> Response:
        answer.set_cookie(self._cookie, self._cookie_value, httponly=True, samesite="strict")
        return answer


def _authorization(headers: Headers, scheme: str) -> str:
    """Return what is given under a scheme; empty under another one."""
    given, _, value = headers.get("authorization", "").partition(" ")
    return value if given.lower() == scheme else ""
