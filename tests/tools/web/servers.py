"""Real servers on loopback that say exactly what a test wants, and note who came."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from headway.tools.base import Context, ToolFault, ToolResult
from headway.tools.files.known_files import KnownFiles
from headway.tools.limits import Limits
from headway.tools.outputs import OutputFiles
from headway.tools.web.web_fetch import WebFetch

HERE = "127.0.0.1"
PUBLIC = "93.184.215.14"


class Server:
    """Answers each request with the next of its answers; the last one is repeated."""

    def __init__(self, answers: Sequence[bytes], *, endless: bytes = b"", drip: bytes = b"") -> None:
        self.answers = list(answers)
        self.endless = endless
        self.drip = drip
        self.port = 0
        self.connections = 0
        self.requests: list[str] = []

    def url(self, path: str = "/", host: str = HERE, scheme: str = "http") -> str:
        return f"{scheme}://{host}:{self.port}{path}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            first = await reader.readexactly(1)
            if first == b"\x16":  # the beginning of TLS, of which this server knows nothing
                writer.write(b"HTTP/1.0 400 Bad Request\r\n\r\n")
                return
            head = (first + await reader.readuntil(b"\r\n\r\n")).decode()
            length = next(
                (int(line[15:]) for line in head.splitlines() if line.lower().startswith("content-length:")), 0
            )
            self.requests.append(head + (await reader.readexactly(length)).decode())
            writer.write(self.answers[0] if len(self.answers) == 1 else self.answers.pop(0))
            while self.endless or self.drip:
                writer.write(self.endless or self.drip)
                await writer.drain()
                await asyncio.sleep(0.01 if self.drip else 0)
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def serving(
    *answers: bytes, endless: bytes = b"", drip: bytes = b"", tls: ssl.SSLContext | None = None
) -> AsyncGenerator[Server]:
    server = Server(answers or [page("hello")], endless=endless, drip=drip)
    listening = await asyncio.start_server(server.serve, HERE, 0, ssl=tls)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()


def page(
    body: str | bytes = b"", kind: str | None = "text/plain", status: str = "200 OK", headers: Sequence[str] = ()
) -> bytes:
    data = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(data)}", "Connection: close", *headers]
    if kind is not None:
        lines.append(f"Content-Type: {kind}")
    return "\r\n".join([*lines, "", ""]).encode() + data


def moved(to: str, status: str = "302 Found") -> bytes:
    return page(status=status, headers=[f"Location: {to}"])


def context(tmp_path: Path, **limits: float) -> Context:
    return Context(
        project=str(tmp_path),
        session=None,
        limits=Limits.model_validate(limits),
        seen=KnownFiles(),
        outputs=OutputFiles(str(tmp_path), kept_bytes=10_000),
    )


class Names:
    """A directory of hosts. Each time a host is looked up it gives its next answer; the last one is repeated."""

    def __init__(self, **hosts: Sequence[Sequence[str]]) -> None:
        self._hosts = {name.replace("_", "."): list(answers) for name, answers in hosts.items()}
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        answers = self._hosts[host]
        return answers[0] if len(answers) == 1 else answers.pop(0)


async def fetched(tool: WebFetch, url: str, context: Context) -> ToolResult:
    """What a model would get: the answer, or the fault as an answer."""
    try:
        return await tool.run(tool.parse_input({"url": url}), context)
    except ToolFault as fault:
        return ToolResult(str(fault), ok=False)
