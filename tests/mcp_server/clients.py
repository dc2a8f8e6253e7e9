"""The official client over real transports: a server process per connection, and what it wrote besides the protocol."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
from anyio.to_thread import run_sync
from mcp import Client, types
from mcp.shared.message import SessionMessage
from tests.support import processes
from tests.support.processes import NOTHING, Form

ERAS = ("legacy", "auto")
"""The handshake of 2025, and the protocol without one of 2026."""
HEADWAY_IN_MODE = {"legacy": "2025-11-25", "auto": "2026-07-28"}


class McpProcess(processes.Started):
    """`headway mcp` in the working folder. What it prints on standard output is read line by line."""

    def __init__(self, *words: str, env: Mapping[str, str] = NOTHING) -> None:
        super().__init__(processes.headway("mcp", *words, env=env), given=None)

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[tuple[Any, Any]]:
        """The transport for the client: closing it closes the standard input of the process."""
        arrived, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        sent, leaving = anyio.create_memory_object_stream[SessionMessage](0)

        async def read() -> None:
            async with arrived:
                while True:
                    try:
                        line = await run_sync(self.out.line)
                    except AssertionError:  # it ended
                        return
                    try:
                        await arrived.send(SessionMessage(types.jsonrpc_message_adapter.validate_json(line)))
                    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                        continue  # the client does not listen any more; the process may still have something to say

        async def write() -> None:
            async with leaving:
                async for message in leaving:
                    self.write(message.message.model_dump_json(by_alias=True, exclude_unset=True) + "\n")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            tasks.start_soon(write)
            try:
                yield received, sent
            finally:
                self.close_stdin()
                sent.close()
                received.close()

    def request(self, method: str, number: int = 1, **params: object) -> Form:
        """Send a request by hand, and return the answer to it."""
        self.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n")
        while True:
            answer: Form = json.loads(self.out.line())
            if answer.get("id") == number:
                return answer


@asynccontextmanager
async def connected(
    *words: str, mode: str = "auto", env: Mapping[str, str] = NOTHING, **more: Any
) -> AsyncGenerator[Client]:
    """A client of a server of its own, which ends without a complaint when the client leaves."""
    process = McpProcess(*words, env=env)
    async with Client(process.connect(), mode=mode, **more) as client:
        yield client
    done = process.end()
    assert (done.code, done.err) == (0, "")


def text_of(result: types.CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text
