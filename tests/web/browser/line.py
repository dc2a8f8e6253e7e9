"""What is between a browser and a server: it can be cut, and it can fall silent. Spoken to as a SOCKS proxy."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

NO_LINE = r"net::ERR_"
"""What the browser itself says of a line that was cut."""


class Line:
    def __init__(self) -> None:
        self._ends: set[asyncio.StreamWriter] = set()
        self._streams: set[asyncio.StreamWriter] = set()
        self._is_cut = False
        self._flows = asyncio.Event()
        self._flows.set()

    @asynccontextmanager
    async def laid(self) -> AsyncGenerator[None]:
        door = await asyncio.start_server(self._taken, "127.0.0.1", 0)
        self.address = f"socks5://127.0.0.1:{door.sockets[0].getsockname()[1]}"
        try:
            yield
        finally:
            door.close()
            self.cut()
            await door.wait_closed()

    def cut(self) -> None:
        """Ends every connection; there are no new ones."""
        self._is_cut = True
        self._flows.set()
        for end in self._ends:
            end.transport.abort()

    def silence(self) -> None:
        """Nothing comes through the streams any more, and nobody is told; there are no other connections."""
        self._is_cut = True
        self._flows.clear()
        for end in self._ends - self._streams:
            end.transport.abort()

    def mend(self) -> None:
        """All is well again; what was held back comes through."""
        self._is_cut = False
        self._flows.set()

    async def _taken(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._ends.add(writer)
        try:
            with suppress(OSError, EOFError):
                if not self._is_cut:
                    await self._connect(reader, writer)
        finally:
            self._ends.discard(writer)
            writer.close()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, methods = await reader.readexactly(2)
        await reader.readexactly(methods)
        writer.write(b"\x05\x00")
        *_, length = await reader.readexactly(5)
        host = (await reader.readexactly(length)).decode()
        port = int.from_bytes(await reader.readexactly(2), "big")
        back, on = await asyncio.open_connection(host, port)
        self._ends.add(on)
        writer.write(b"\x05\x00\x00\x01" + bytes(6))
        try:
            await asyncio.gather(self._ask(reader, on, writer), self._tell(back, writer))
        finally:
            self._ends.discard(on)
            on.close()

    async def _ask(self, reader: asyncio.StreamReader, on: asyncio.StreamWriter, back: asyncio.StreamWriter) -> None:
        while part := await reader.read(65_536):
            if b"/stream?" in part.partition(b"\r\n")[0]:
                self._streams |= {on, back}
            on.write(part)
            await on.drain()
        on.close()

    async def _tell(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while part := await reader.read(65_536):
            await self._flows.wait()
            writer.write(part)
            await writer.drain()
        writer.close()
