"""What a connection is about: whose list it is, what clients are told of, what is left when one ends, and rubbish."""

from __future__ import annotations

import json
import signal
import warnings
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.to_thread import run_sync
from mcp import Client, types
from mcp.client.subscriptions import ResourceUpdated
from pydantic import FileUrl
from tests.support import processes
from tests.support.processes import NOTHING, WAIT

import headway
from headway.core.model import Status

from .clients import ERAS, McpProcess, connected, text_of

HELLO: Any = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "a\x1bgent", "version": "1"}}
ONE = [{"content": "A", "status": "in_progress"}, {"content": "B"}]


def shaken_hands(*words: str, **env: str) -> McpProcess:
    """A server to which requests are sent by hand."""
    process = McpProcess(*words, env=env)
    assert process.request("initialize", **HELLO)["result"]["serverInfo"]["name"] == "headway"
    process.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
    return process


def call(process: McpProcess, name: str, arguments: object, number: int = 7) -> Any:
    return process.request("tools/call", number, name=name, arguments=arguments)["result"]


# rubbish


def test_whatever_comes_is_answered_and_only_the_protocol_is_on_standard_output(project: Path) -> None:
    process = shaken_hands()
    process.write("\n")
    for line in (
        "nonsense",
        "\x00\x01",
        "[" * 30_000,
        "[]",
        "{}",
        '{"jsonrpc": "2.0"}',
        '{"jsonrpc":"2.0","id":3,"method":5}',
    ):
        process.write(f"{line}\n")
        answer = json.loads(process.out.line())
        assert answer["id"] is None and answer["error"]["message"].startswith("This is ")
    assert process.request("no/method", 11)["error"]["code"] == types.METHOD_NOT_FOUND
    assert "there are headway://todos" in process.request("resources/read", 12, uri="headway://x")["error"]["message"]
    assert "there is work_with_todos" in process.request("prompts/get", 13, name="x")["error"]["message"]
    for arguments in ("todos", [1], 5):
        answer = call(process, "todo_write", arguments)
        assert answer["isError"] and "send its arguments as one JSON object" in answer["content"][0]["text"]
    assert "Required" in call(process, "todo_write", None)["content"][0]["text"]
    deep: Any = "x"
    for _ in range(500):
        deep = [deep]
    refused = process.request("tools/call", 14, name="todo_write", arguments={"todos": deep})
    assert "too deep" in refused["error"]["message"]
    assert call(process, "todo_write", {"todos": [[[[[["x"]]]]]]})["isError"]
    assert call(process, "todo_update", {"id": {"a": 1}, "status": [["x"]]})["isError"]
    answer = call(process, "todo_write", {"todos": [{"content": "half \ud83d"}]})
    assert "half" in json.dumps(answer)
    assert not call(process, "todo_write", {"todos": ONE})["isError"]
    process.close_stdin()
    done = process.end()
    assert done.code == 0 and "Traceback" not in done.err
    for line in done.out.splitlines():
        assert json.loads(line)["jsonrpc"] == "2.0"


def test_a_store_that_cannot_be_used_is_a_tool_error_and_the_server_lives_on(project: Path) -> None:
    process = shaken_hands()
    (project / ".headway").symlink_to(project.parent)
    refused = call(process, "todo_read", {})
    assert refused["isError"] and "is a link" in refused["content"][0]["text"]
    assert "is a link" in process.request("resources/read", 8, uri="headway://todos")["error"]["message"]
    (project / ".headway").unlink()
    assert not call(process, "todo_write", {"todos": ONE})["isError"]


# which project and session


async def test_arguments_come_before_the_environment_and_that_before_roots_and_those_before_the_folder(
    project: Path,
) -> None:
    for name in ("argument", "variable", "root", "root/below", "here"):
        (project / name).mkdir()
    for name in ("argument", "variable", "root", "here"):
        (project / name / ".git").mkdir()

    async def written(*words: str, mode: str, roots: list[str] | None, env: Mapping[str, str] = NOTHING) -> set[str]:
        async def list_roots(context: object) -> types.ListRootsResult:
            return types.ListRootsResult(roots=[types.Root(uri=FileUrl(uri)) for uri in roots or []])

        callback: Any = {} if roots is None else {"list_roots_callback": list_roots}
        async with connected(*words, mode=mode, env=env, **callback) as client:
            assert not (await client.call_tool("todo_write", {"todos": [{"content": "A"}]})).is_error
        where = {path.parent.name for path in project.glob("*/.headway")} | {
            "." for _ in project.glob(".headway/headway.db")
        }
        for name in where:
            headway.open(project / name).clear()
            for file in (project / name / ".headway").iterdir():
                file.unlink()
            (project / name / ".headway").rmdir()
        return where

    uri = (project / "root/below").as_uri()
    for mode in ERAS:
        roots = ["file://elsewhere/root", uri]
        variable = {"HEADWAY_PROJECT": str(project / "variable")}
        assert await written("--project", "argument", mode=mode, roots=roots, env=variable) == {"argument"}
        assert await written(mode=mode, roots=roots, env=variable) == {"variable"}
        assert await written(mode=mode, roots=roots) == {"root"}
        assert await written(mode=mode, roots=["file:///nowhere/at/all"]) == {"."}
        assert await written(mode=mode, roots=None) == {"."}


async def test_the_server_follows_the_current_session_unless_one_was_named(project: Path) -> None:
    headway.open(project, "other").write([{"content": "Other"}])
    headway.open(project).write([{"content": "First"}])
    async with connected() as client, connected("--session", "default") as fixed:

        async def seen(one: Client) -> str:
            return text_of(await one.call_tool("todo_read", {})).splitlines()[1]

        assert await seen(client) == "[ ] t1: First"
        assert processes.run("sessions", "resume", "other").code == 0
        assert await seen(client) == "[ ] t1: Other"
        assert await seen(fixed) == "[ ] t1: First"


# what others change


async def test_a_client_that_subscribed_is_told_what_others_change(project: Path) -> None:
    session = headway.open(project)
    session.write([{"content": "A"}])

    async def expect(next_uri: Callable[[], Any], *uris: str) -> None:
        with anyio.fail_after(WAIT):
            assert {await next_uri() for _ in uris} == {*uris}

    async with modern_updates() as next_uri:
        session.update("t1", status="in_progress")
        await expect(next_uri, "headway://todos", "headway://recap")
        session.set_plan({"title": "P", "overview": "O", "steps": [{"id": "a", "description": "Look"}]})
        await expect(next_uri, "headway://plan")
    async with legacy_updates() as next_uri:
        session.update("t1", status="completed")
        await expect(next_uri, "headway://todos")
        session.clear_plan()
        session.add("B")
        await expect(next_uri, "headway://todos")


@asynccontextmanager
async def modern_updates() -> AsyncGenerator[Callable[[], Any]]:
    async with connected() as client:
        uris = ["headway://todos", "headway://plan", "headway://recap"]
        async with client.listen(resource_subscriptions=uris) as events:
            await client.call_tool("todo_read", {})
            await anyio.sleep(0.5)  # the first look is what changes are told against

            async def next_uri() -> str:
                event = await anext(aiter(events))
                assert isinstance(event, ResourceUpdated)
                return event.uri

            yield next_uri


@asynccontextmanager
async def legacy_updates() -> AsyncGenerator[Callable[[], Any]]:
    told, heard = anyio.create_memory_object_stream[str](100)

    async def hear(message: Any) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            await told.send(str(message.params.uri))

    async with connected(mode="legacy", message_handler=hear) as client:
        with warnings.catch_warnings(action="ignore"):  # the newer protocol has another way
            await client.subscribe_resource("headway://todos")  # pyright: ignore[reportDeprecated]
        await anyio.sleep(0.5)
        yield heard.receive
    told.close()
    heard.close()


async def test_resources_and_the_prompt_say_what_there_is(project: Path) -> None:
    session = headway.open(project)
    session.write([{"content": "A", "status": "in_progress"}, {"content": "B"}])
    async with connected() as client:

        async def read(uri: str) -> str:
            (contents,) = (await client.read_resource(uri)).contents
            assert isinstance(contents, types.TextResourceContents)
            return contents.text

        assert [str(one.uri) for one in (await client.list_resources()).resources] == [
            *("headway://todos", "headway://plan", "headway://recap")
        ]
        assert [todo["id"] for todo in json.loads(await read("headway://todos"))["todos"]] == ["t1", "t2"]
        assert await read("headway://recap") == "[0/2] In progress: A. Pending: B."
        assert await read("headway://plan") == "There is no plan.\n"
        session.set_plan({"title": "P", "overview": "O", "steps": [{"id": "a", "description": "Look"}]})
        assert (await read("headway://plan")).startswith("# P\n")
        (prompt,) = (await client.list_prompts()).prompts
        for arguments, end in (({"task": "Mend it"}, "The task: Mend it"), ({}, "Go on with what is open.")):
            (message,) = (await client.get_prompt(prompt.name, arguments)).messages
            assert isinstance(message.content, types.TextContent) and message.content.text.endswith(end)


# what is left behind


def end_by_closing(process: McpProcess) -> None:
    process.close_stdin()


def end_by_signal(process: McpProcess) -> None:
    process.signal(signal.SIGTERM)


@pytest.mark.parametrize("end", [end_by_closing, end_by_signal])
def test_what_a_client_started_and_left_is_pending_and_marked(project: Path, end: Callable[[McpProcess], None]) -> None:
    session = headway.open(project)
    process = shaken_hands()
    call(process, "todo_write", {"todos": [{"content": name} for name in "ABCDE"]})
    call(process, "todo_update", {"id": "t1", "status": "in_progress"})
    call(process, "todo_update", {"id": "t1", "status": "completed"})
    call(process, "todo_update", {"id": "t2", "status": "in_progress"})
    call(process, "todo_claim", {"worker": "another"})
    call(process, "todo_update", {"id": "t4", "status": "in_progress"})
    session.update("t4", status="pending")
    session.update("t4", status="in_progress")
    session.update("t5", status="in_progress")
    end(process)
    assert process.end().code in (0, 128 + signal.SIGTERM)
    left = [(str(todo.status), todo.interrupted) for todo in session.todos]
    working = (str(Status.IN_PROGRESS), False)
    assert left == [("completed", False), ("pending", True), working, working, working]
    assert session.todos[2].owner == "another"


async def test_a_client_that_dies_leaves_the_others_alone(project: Path) -> None:
    async with connected() as client:
        await client.call_tool("todo_write", {"todos": [{"content": "A"}]})
        other = shaken_hands()
        await run_sync(call, other, "todo_update", {"id": "t1", "status": "in_progress"})
        other.write('{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"todo_upd')
        other.close_stdin()
        await run_sync(other.end)
        read = await client.call_tool("todo_read", {})
        assert read.structured_content["todos"][0]["interrupted"]
