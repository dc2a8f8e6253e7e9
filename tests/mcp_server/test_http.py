"""Over HTTP: several clients at once, nobody without the token, and what is left of a client that went away."""

from __future__ import annotations

import http.client
import json
import os
import signal
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from tests.support import processes
from tests.support.processes import WAIT, Started, until

import headway

from .clients import ERAS, HEADWAY_IN_MODE, text_of


class HttpServer:
    """`headway mcp --http` in the working folder."""

    def __init__(self) -> None:
        self.process = Started(processes.headway("mcp", "--http", "--json"), given=Path(os.devnull))
        place = json.loads(self.process.out.line())
        self.url: str = place["url"]
        self.port: int = place["port"]
        self.token: str = place["token"]
        assert self.ask()[0] == 401  # it serves by now

    @asynccontextmanager
    async def connect(self, mode: str) -> AsyncGenerator[Client]:
        async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {self.token}"}) as http_client:
            transport = streamable_http_client(self.url, http_client=http_client)
            async with Client(transport, mode=mode) as client:
                assert client.protocol_version == HEADWAY_IN_MODE[mode]
                yield client

    def ask(self, method: str = "POST", body: str = "{}", **headers: str) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, "/mcp", body, {"Content-Type": "application/json", **named})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text

    def stop(self) -> None:
        self.process.signal(signal.SIGINT)
        assert self.process.end().err == ""


@pytest.fixture
def server(project: Path) -> Iterator[HttpServer]:
    made = HttpServer()
    yield made
    made.stop()


@pytest.mark.parametrize("mode", ERAS)
async def test_two_clients_work_on_one_list_at_once(project: Path, server: HttpServer, mode: str) -> None:
    session = headway.open(project)
    names = {"worker": "a"}, {"worker": "b"}
    async with server.connect(mode) as one, server.connect(mode) as other:

        async def work(client: Client, who: dict[str, str]) -> None:
            while True:
                claimed: Any = (await client.call_tool("todo_claim", who)).structured_content
                if "todo" not in claimed:
                    return
                done = {"id": claimed["todo"]["id"], "status": "completed", **who}
                assert not (await client.call_tool("todo_update", done)).is_error

        await one.call_tool("todo_write", {"todos": [{"content": f"Item {n}"} for n in range(12)]})
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(work, one, names[0])
            tasks.start_soon(work, other, names[1])
        refused = await one.call_tool("todo_wrote", {})
        assert refused.is_error and "There is no tool" in text_of(refused)
        if mode == "auto":  # there is no connection, and so no name
            assert "Pass `worker`" in text_of(await one.call_tool("todo_claim", {}))
    assert {todo.status for todo in session.todos} == {"completed"}
    assert {todo.owner for todo in session.todos} == {"a", "b"}


async def test_what_a_client_left_in_progress_is_pending_when_its_session_ends(
    project: Path, server: HttpServer
) -> None:
    session = headway.open(project)
    async with server.connect("legacy") as one:
        await one.call_tool("todo_write", {"todos": [{"content": "A", "status": "in_progress"}]})
        async with server.connect("legacy") as other:
            await other.call_tool("todo_read", {})
        assert session.todos[0].status == "in_progress"
    until(lambda: session.todos[0].interrupted)


def test_only_programs_with_the_token_are_answered(server: HttpServer) -> None:
    bearer = f"Bearer {server.token}"
    assert server.ask()[0] == 401
    for wrong in ("Bearer x", server.token, f"Bearer {server.token}x", "Bearer é"):
        code, text = server.ask(Authorization=wrong)
        assert code == 401 and "headway mcp --http" in text
    for method in ("GET", "DELETE", "OPTIONS"):
        assert server.ask(method)[0] == 401
    assert server.ask(Authorization=bearer, Host=f"evil.example:{server.port}")[0] == 403
    assert server.ask(Authorization=bearer, Origin="http://127.0.0.1:1")[0] == 403
    code, text = server.ask(Authorization=bearer, Accept="application/json, text/event-stream", body="nonsense")
    assert code == 400 and "jsonrpc" in text


def test_token_and_port_are_kept_and_a_second_server_says_where_the_first_is(project: Path) -> None:
    first = HttpServer()
    second = processes.run("mcp", "--http")
    assert second.code == 0 and "already running" in second.out and first.token in second.out
    assert (project / ".headway/mcp.json").stat().st_mode & 0o777 == 0o600
    first.stop()
    again = HttpServer()
    assert (again.url, again.token) == (first.url, first.token)
    again.stop()
    assert "--port has no effect without --http" in processes.run("mcp", "--port", "5000").err
