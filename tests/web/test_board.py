"""The sessions of a project as everyone sees them: begun, changed, deleted, unreadable, under any name."""

from __future__ import annotations

import json
import signal
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.support.processes import Form, start, until

import headway
from headway.project import open_store
from headway.web.board import SessionBoard

from .conftest import Begun
from .running import Door, Scripted, answer, asked, ended, started, turn
from .serving import Server, Stream, at, item, program

NAMES = ["feature/login", "a/events", "../up", "a b", "50%", "%2F", "what?", "a#b", "c++", "发布 1.0", "🚀"]


def one(sessions: list[Form], name: str) -> Form | None:
    return next((session for session in sessions if session["name"] == name), None)


def told(stream: Stream, name: str, **fields: object) -> None:
    """Waits until the list has the session with these fields."""
    while True:
        session = one(stream.sessions(), name)
        if session is not None and all(session[field] == value for field, value in fields.items()):
            return


@pytest.mark.parametrize("name", NAMES)
def test_a_session_of_any_name_can_be_worked_with(server: Server, name: str) -> None:
    todo_id = server.made(name, "add", content="One")["id"]
    assert [todo["id"] for todo in server.state(name)["todos"]] == [todo_id]
    assert [event["version"] for event in server.get(f"{at(name)}/events").data] == [1]
    with server.stream(name) as stream:
        assert stream.next().data["session"] == name
    assert headway.open(server.folder, name).todos[0].content == "One"


def test_everyone_is_told_of_sessions_that_are_begun_changed_and_deleted(server: Server, name: str) -> None:
    other = f"{name} other"
    with server.stream_of_all() as everyone:
        session = headway.open(server.folder, name)
        session.write([item("a"), item("b")])
        told(everyone, name, total=2, completed=0)
        with server.stream(name) as watching:
            headway.open(server.folder, other).add("One")
            told(watching, other, total=1)
            told(everyone, other, total=1)
            session.update("a", status="completed")
            told(everyone, name, completed=1)
            session.store.delete(other)
            while one(watching.sessions(), other):
                pass
            while one(everyone.sessions(), other):
                pass


def test_the_current_session_is_told(server: Server, name: str, begun: Begun) -> None:
    session = begun("a")
    with server.stream_of_all() as everyone:
        session.store.set_current(name)
        told(everyone, name, current=True)


def test_a_session_that_cannot_be_read_is_told_with_what_is_wrong(server: Server, name: str, begun: Begun) -> None:
    begun("a")
    with server.stream_of_all() as everyone:
        told(everyone, name, total=1)
        with sqlite3.connect(server.folder / ".headway" / "headway.db") as db:
            of = "session_id = (SELECT id FROM sessions WHERE name = ?)"
            db.execute(f"UPDATE events SET type = 'FromTheFuture' WHERE {of}", (name,))
            db.execute(f"DELETE FROM snapshots WHERE {of}", (name,))
            sql = "INSERT INTO events SELECT session_id, 2, at, agent, actor, type, data FROM events WHERE "
            db.execute(sql + of, (name,))
        db.close()
        told(everyone, name, version=2, total=0)
        record = one(server.get("/api/sessions").data, name)
        assert record is not None and "a newer Headway" in record["problem"]
    got = server.get(at(name))
    assert (got.status, got.error["message"]) == (503, record["problem"])
    assert headway.open(server.folder, name).store.delete(name)


def test_a_session_that_was_deleted_and_begun_again_is_known_to_be_another(
    server: Server, name: str, begun: Begun
) -> None:
    session = begun("a")
    state = server.state(name)
    with server.stream(name, after=1, log=state["log"]) as stream:
        session.add("b")
        assert stream.next().data["version"] == 2
    session.store.delete(name)
    headway.open(server.folder, name).write([item("other")])
    headway.open(server.folder, name).add("b")
    assert server.state(name)["version"] == 2
    with server.stream(name, after=2, log=state["log"]) as stream:
        assert stream.next().kind == "gone"
    anew = server.state(name)
    assert anew["log"] != state["log"]
    with server.stream(name, after=2, log=anew["log"]) as stream:
        headway.open(server.folder, name).add("c")
        assert stream.next().data["version"] == 3


def test_a_run_whose_process_was_killed_is_seen_to_be_over(
    server: Server, name: str, begun: Begun, scripted: Scripted, door: Door
) -> None:
    begun("a")
    model = scripted(a=[turn(door.command), "Done."])
    words = ("todos", "execute-all", "--mode", "yolo", "--session", name, "--model", model)
    killed = start(program(server.folder, "headway", *words))
    door.reached()
    with server.stream(name) as stream:
        run: Form = stream.next().data["run"]
        assert run["goes_on"]
        killed.signal(signal.SIGKILL)
        killed.wait()
        door.let()
        while run["goes_on"]:
            run = stream.next().data.get("run", run)
        assert run["reason"] == "error"
    until(lambda: not (one(server.get("/api/sessions").data, name) or {})["running"])


# one item, one event, one project


def test_what_happened_to_one_item_can_be_asked_for(
    server: Server, name: str, begun: Begun, scripted: Scripted
) -> None:
    session = begun("a", "b")
    for number in range(1_100):
        session.update("b", notes=str(number))
    started(server, name, only="a", mode="yolo", model=scripted(a=[turn("echo of-a"), "Done."]))
    ended(server, name)
    events = server.get(f"{at(name)}/events?item=a&limit=500").data
    kinds = [event["type"] for event in events]
    assert kinds[0] == "TodoListUpdated" and {"ItemStarted", "ToolStarted", "ToolFinished", "ItemFinished"} <= {*kinds}
    assert "of-a" in json.dumps(events) and [event["version"] for event in events] == sorted(
        event["version"] for event in events
    )
    of_b = server.get(f"{at(name)}/events?item=b&limit=3").data
    assert [event["version"] for event in of_b] == [1_099, 1_100, 1_101]
    assert server.get(f"{at(name)}/events?item=nobody").data == []


def test_a_long_text_is_cut_and_can_be_had_whole(server: Server, name: str, begun: Begun, scripted: Scripted) -> None:
    begun("a")
    long = "长" * 2_001
    started(server, name, "message", text="said", model=scripted(said=[long]))
    ended(server, name)
    events = server.get(f"{at(name)}/events").data
    (cut,) = [event for event in events if "cut" in event]
    assert (cut["cut"], cut["role"], cut["text"]) == (["text"], "assistant", f"{'长' * 2_000}…")
    (whole,) = server.get(f"{at(name)}/events?after={cut['version'] - 1}&limit=1&whole=1").data
    assert "cut" not in whole and whole["text"] == long


def test_what_is_set_for_the_project_is_told(server: Server, tmp_path: Path) -> None:
    about = server.get("/api/project").data
    assert about == {
        "name": "project",
        "model": "scripted:script.json",
        "mode": "default",
        "parallel": 1,
        "sandbox": False,
    }


def test_of_two_that_start_a_run_at_once_one_is_refused(
    server: Server, name: str, begun: Begun, scripted: Scripted
) -> None:
    begun("a")
    wanted = {"action": "execute", "model": scripted(a=[turn("true"), "Done."])}
    with ThreadPoolExecutor(4) as pool:
        asks = [pool.submit(server.post, f"{at(name)}/run", wanted) for _ in range(4)]
    answers = [ask.result() for ask in asks]
    assert sorted(got.status for got in answers) == [200, 409, 409, 409]
    refused = next(got for got in answers if got.status == 409)
    assert "A run is already in progress" in refused.error["message"]
    question = asked(server, name)
    answer(server, name, question, "once")
    ended(server, name)


def test_a_session_is_begun_only_where_there_is_none(server: Server, name: str) -> None:
    assert server.change(name, "begin", content="One").status == 200
    assert [one["name"] for one in server.get("/api/sessions").data if one["current"]] == [name]
    again = server.change(name, "begin", content="Two")
    assert (again.status, again.error["kind"]) == (409, "AlreadyThere")
    assert [todo["content"] for todo in server.state(name)["todos"]] == ["One"]


@pytest.mark.parametrize("method", ["HEAD", "GET"])
def test_who_only_asked_for_a_stream_leaves_nothing_behind(
    server: Server, name: str, begun: Begun, method: str
) -> None:
    session = begun("a")
    if method == "HEAD":
        server.send("HEAD", f"{at(name)}/stream", server.own)
    else:
        with server.stream(name, log="deadbeef") as stream:
            assert stream.next().kind == "gone"
    session.store.delete(name)
    headway.open(server.folder, name).write([item("other")])
    with server.stream(name, after=1, log=server.state(name)["log"]) as stream:
        headway.open(server.folder, name).add("b")
        assert stream.next().data["version"] == 2


async def test_the_sessions_are_told_of_again_after_a_mistake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    headway.open(tmp_path, "one").add("One")
    board = SessionBoard(open_store(tmp_path))
    told = board.follow()
    assert "one" in await anext(told)
    right, wrong = board.list_records, iter([True])

    def records() -> list[Form]:
        if next(wrong, False):
            raise ValueError("a mistake")
        return right()

    monkeypatch.setattr(board, "list_records", records)
    headway.open(tmp_path, "two").add("Two")
    assert "two" in await anext(told)
    await told.aclose()


def test_whoever_looks_elsewhere_is_told_that_a_session_asks(
    server: Server, name: str, begun: Begun, scripted: Scripted
) -> None:
    begun("a")
    scripted(a=[turn("true"), "Done."])
    before = server.get("/api/sessions").data
    with server.stream_of_all() as everyone:
        started(server, name)
        told(everyone, name, asks=1, running=True)
        answer(server, name, asked(server, name), "once")
        told(everyone, name, asks=0, running=False)
    after = server.get("/api/sessions").data
    # what commands in a terminal use is for them to say
    assert [one["name"] for one in before if one["current"]] == [one["name"] for one in after if one["current"]]
