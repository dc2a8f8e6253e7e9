"""The server over HTTP, for several clients on this machine that have its token. Token and port are kept."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import uvicorn
from starlette.datastructures import Headers
from starlette.responses import JSONResponse

from headway.app.server_places import HOST, MCP_SERVER, ServerPlace
from headway.mcp.server import TodoServer
from headway.mcp.tools import TOOLS, ServedTool

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from headway.mcp.agents import SessionFinder

PATH = "/mcp"
_PATIENCE = 2
"""Seconds that open streams have when the server ends."""


class TokenGuard:
    """Around everything else: only programs that know the token are answered, and no page of a browser."""

    def __init__(self, app: ASGIApp, place: ServerPlace) -> None:
        self._app = app
        self._expected = f"Bearer {place.token}".encode()
        self._hosts = {f"{name}:{place.port}" for name in (HOST, "localhost")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (refusal := self._refuse(Headers(scope=scope))):
            await refusal(scope, receive, send)
        elif scope["type"] != "websocket":
            await self._app(scope, receive, send)

    def _refuse(self, headers: Headers) -> JSONResponse | None:
        if headers.get("host") not in self._hosts or "origin" in headers:
            return JSONResponse({"error": "This server accepts requests only of programs on this machine."}, 403)
        if not hmac.compare_digest(headers.get("authorization", "").encode(), self._expected):
            said = "Send the header 'Authorization: Bearer TOKEN' with the token that 'headway mcp --http' printed."
            return JSONResponse({"error": said}, 401)
        return None


def serve_http(
    finder: SessionFinder,
    project: str,
    port: int | None,
    ready: Callable[[ServerPlace], None],
    tools: Sequence[ServedTool] = TOOLS,
) -> None:
    """Serve until it is stopped. Raises `AlreadyServed` if another process does."""
    with MCP_SERVER.lock(project):
        bound, place = MCP_SERVER.listen(project, port)
        server = TodoServer(finder, tools, shared=True)
        app = TokenGuard(server.sdk.streamable_http_app(streamable_http_path=PATH, host=HOST), place)
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            ws="none",
            lifespan="on",
            timeout_graceful_shutdown=_PATIENCE,
        )
        ready(place)
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[bound])
