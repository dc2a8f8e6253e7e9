"""What is set reaches the tools and the approvals of a run: real commands, a real server on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

import headway.planner.config
from headway.agent import instructions
from headway.core.errors import HeadwayError
from headway.settings import Settings, TodoTools, load_settings
from headway.tools import Answer, Approvals, Executor, Mode, Question, ToolResult, builtin_tools
from headway.tools.todos import make_todo_tools

from .conftest import Write

PLAIN = ["read_file", "read_many_files", "ls", "glob", "grep", "write_file", "edit", "bash", "web_fetch"]
PLANNED = [*PLAIN, "create_plan"]


def names(chosen: Settings, folder: Path) -> list[str]:
    return [tool.name for tool in chosen.make_tools(str(folder), {"BRAVE_API_KEY": "k"})]


@pytest.mark.parametrize(
    ("text", "todos"),
    [
        ("full", ["TodoWrite", "create_todo_list", "update_todo_item"]),
        ("light", ["create_todo_list", "todo"]),
        ("plan", ["write_todos"]),
        ("off", []),
    ],
)
def test_the_todo_tools_are_those_that_are_set(folder: Path, in_project: Write, text: str, todos: list[str]) -> None:
    in_project(f'todo_tools = "{text}"\n')
    chosen = load_settings(folder, environ={}).settings
    assert names(chosen, folder) == [*PLANNED, *todos]
    assert chosen.todo_tools is TodoTools(text)
    assert instructions(folder, todo_tools=chosen.todo_tools) == instructions(folder, todo_tools=TodoTools(text))


def test_the_kinds_of_todo_tools_are_one_type_that_takes_its_names_too(folder: Path) -> None:
    assert TodoTools is headway.planner.config.TodoTools
    assert type(Settings().todo_tools) is TodoTools
    assert instructions(folder) == instructions(folder, todo_tools="light")
    assert instructions(folder, todo_tools=TodoTools.OFF) == instructions(folder, todo_tools="off")
    by_type, by_name = (builtin_tools(folder, todo_tools=kind) for kind in (TodoTools.LIGHT, TodoTools("light")))
    assert [tool.name for tool in by_type] == [tool.name for tool in by_name]
    assert [tool.name for tool in make_todo_tools(TodoTools.LIGHT)] == [tool.name for tool in make_todo_tools("light")]


def test_there_is_a_web_search_only_if_one_is_set(folder: Path) -> None:
    off = Settings(todo_tools=TodoTools.OFF)
    assert names(off, folder) == PLANNED
    searching = off.model_copy(update={"web_search": "brave"})
    assert names(searching, folder) == [*PLAIN, "web_search", "create_plan"]
    with pytest.raises(HeadwayError, match="BRAVE_API_KEY"):
        searching.make_tools(str(folder), {})


async def called(chosen: Settings, folder: Path, tool: str, *, by: Approvals | None = None, **args: str) -> ToolResult:
    """What comes of a call as it is set, with nobody there to be asked unless `by` has someone."""
    run = Executor(chosen.make_tools(str(folder), {}), approvals=by or chosen.make_approvals(), project=folder)
    return await run.call(tool, args)


async def test_a_run_may_do_what_mode_and_allow_say(folder: Path) -> None:
    async def write(chosen: Settings) -> bool:
        return (await called(chosen, folder, "write_file", path="a.txt", content="x")).ok

    async def echo(chosen: Settings) -> bool:
        return (await called(chosen, folder, "bash", command="echo hello")).ok

    assert [await write(Settings()), await echo(Settings())] == [False, False]
    edits = Settings(mode=Mode.AUTO_EDIT)
    (folder / "a.txt").unlink(missing_ok=True)
    assert [await write(edits), await echo(edits)] == [True, False]
    (folder / "a.txt").unlink()
    allowing = Settings(allow=("bash: echo *",))
    assert [await write(allowing), await echo(allowing)] == [False, True]
    everything = Settings(mode=Mode.YOLO)
    assert [await write(everything), await echo(everything)] == [True, True]
    assert everything.make_approvals().mode is Mode.YOLO


async def test_commands_get_the_variables_that_are_set(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_FLAVOUR", "vanilla")
    monkeypatch.setenv("MY_COLOUR", "green")
    chosen = Settings(mode=Mode.YOLO, env=("MY_FLAVOUR",))
    command = 'echo "flavour=$MY_FLAVOUR colour=$MY_COLOUR"'
    said = await called(chosen, folder, "bash", command=command)
    assert "flavour=vanilla colour=\n" in f"{said.text}\n"
    said = await called(Settings(mode=Mode.YOLO), folder, "bash", command=command)
    assert "flavour= colour=\n" in f"{said.text}\n"


class Page(BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Nothing is logged."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/plain")
        self.end_headers()
        self.wfile.write(b"A page at home.")


@pytest.fixture
def page() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Page) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/page.txt"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("chosen", "reached"),
    [
        (Settings(), False),
        (Settings(hosts=("127.0.0.1",)), False),
        (Settings(private_hosts=("127.0.0.1",)), False),
        (Settings(hosts=("127.0.0.1",), private_hosts=("127.0.0.1",)), True),
        (Settings(mode=Mode.YOLO), False),
        (Settings(mode=Mode.YOLO, private_hosts=("127.0.0.1",)), True),
    ],
)
async def test_a_host_is_reached_unasked_and_at_home_only_if_both_are_set(
    folder: Path, page: str, chosen: Settings, reached: bool
) -> None:
    answer = await called(chosen, folder, "web_fetch", url=page)
    assert (answer.ok, "A page at home." in answer.text) == (reached, reached)


async def test_who_is_asked_and_told_can_be_given(folder: Path) -> None:
    heard: list[str] = []

    async def ask(question: Question) -> Answer:
        heard.append(f"asked {question.tool}")
        return Answer("no", "Not today.")

    def asked(question: Question) -> None:
        heard.append(f"will ask {question.tool}")

    def answered(question: Question, answer: Answer) -> None:
        heard.append(f"answered {answer.reason}")

    approvals = Settings(mode=Mode.AUTO_EDIT).make_approvals(ask, on_asked=asked, on_answered=answered)
    assert approvals.mode is Mode.AUTO_EDIT
    said = await called(Settings(), folder, "bash", by=approvals, command="touch a")
    assert (said.ok, "Not today." in said.text) == (False, True)
    assert heard == ["will ask bash", "asked bash", "answered Not today."]
    assert not (folder / "a").exists()
