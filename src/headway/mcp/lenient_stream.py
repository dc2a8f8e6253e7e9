"""Messages that the SDK cannot read: taken after all if they are JSON with a fault in a text, else refused in words.

Without it a call with half a character in it, which JavaScript writes as it is, would never be answered.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import anyio
from mcp import types
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from headway.contracts.arguments import parse_arguments
from headway.core.json_text import BadJson
from headway.core.rules import is_object

if TYPE_CHECKING:
    from types import TracebackType

Messages: TypeAlias = SessionMessage | Exception


class LenientStream:
    """The messages of a transport; what cannot be read is answered on the other stream of it."""

    def __init__(self, received: Any, sent: Any) -> None:
        self._received = received
        self._sent = sent

    @property
    def last_context(self) -> Any:
        return getattr(self._received, "last_context", None)

    async def receive(self) -> Messages:
        while True:
            item = await self._received.receive()
            if not isinstance(item, ValidationError):
                return item
            fault = item.errors(include_url=False)[0]
            if fault["type"] != "json_invalid":
                await self._refuse(types.INVALID_REQUEST, "This is JSON, but not a JSON-RPC 2.0 message.")
            elif fault["input"].strip():
                sent: object = None
                try:
                    sent = json.loads(fault["input"])
                    message, _ = parse_arguments(sent)
                    return SessionMessage(types.jsonrpc_message_adapter.validate_python(message, by_name=False))
                except (ValueError, RecursionError, BadJson):
                    request = sent.get("id") if is_object(sent) else None
                    await self._refuse(types.PARSE_ERROR, "This is not JSON that can be read, or too deep.", request)

    async def _refuse(self, code: int, text: str, request: object = None) -> None:
        error = types.ErrorData(code=code, message=text)
        known = request if isinstance(request, int | str) else None
        await self._sent.send(SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=known, error=error)))

    async def aclose(self) -> None:
        await self._received.aclose()

    def __aiter__(self) -> Any:
        return self

    async def __anext__(self) -> Messages:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()
