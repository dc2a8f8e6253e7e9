"""What a page hears of a session: every change once and in order, whoever makes it, wherever the page was before."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, cast

import pytest
from tests.support.processes import WAIT, Form, run_to_end, until

import headway
from headway.core.events import Event
from headway.core.follow import Follower
from headway.project import open_store
from headway.web.hub import Hub, SessionGone, StateChange
from headway.web.wire import to_change_record

from .conftest import Begun
from .serving import Server, Told, applied, at, program, writer


def known(state: Form, heard: list[Told]) -> Form:
    """The state after what was heard, which must fit together."""
    for told in heard:
        assert (told.kind, told.id) == ("change", str(told.data["version"]))
        state = applied(state, told.data)
    return state


def versions(heard: list[Told]) -> list[int]:
    """What was heard of, event by event; what is told as a whole stands for all up to it."""
    found: list[int] = []
    for told in heard:
        first = told.data["from"] + 1
        events = [event["version"] for event in told.data.get("events", [])]
        found += [*range(first, told.data["version"] + 1)] if told.data.get("whole") else events
    return found


def test_a_page_that_comes_in_is_told_everything_at_once(server: Server, name: str, begun: Begun) -> None:
    begun("a", "b")
    for last in (None, "0", "x", "-1", "9" * 20, "1.0"):
        with server.stream(name, last=last) as stream:
            told = stream.next()
            assert (told.kind, told.id, told.data["whole"]) == ("change", "1", True)
            assert applied({}, told.data) == server.state(name)


def test_changes_of_other_processes_arrive_once_and_in_order(server: Server, name: str, begun: Begun) -> None:
    begun("a", "b")
    before = server.state(name)
    with server.stream(name, after=1) as stream:
        assert writer(server.folder, name, 40).wait() == 0
        heard = stream.until(41)
    assert versions(heard) == [*range(2, 42)]
    assert known(before, heard) == server.state(name)


def test_a_command_in_a_shell_is_seen_on_the_page(server: Server, name: str, begun: Begun) -> None:
    begun("a")
    before = server.state(name)
    with server.stream(name, after=1) as stream:
        adding = program(server.folder, "headway", "todos", "add", "From a shell", HEADWAY_SESSION=name)
        assert run_to_end(adding).code == 0
        heard = stream.until(2)
    assert [todo["content"] for todo in known(before, heard)["todos"]] == ["Do a", "From a shell"]


def test_every_kind_of_change_of_the_page_is_heard_as_it_is(server: Server, name: str, begun: Begun) -> None:
    begun("a", "b", "c")
    plan = {"title": "T", "overview": "O", "steps": [{"id": "s", "description": "Step"}]}
    changes: list[Form] = [
        {"kind": "add", "content": "More", "after": "a"},
        {"kind": "edit", "id": "a", "status": "in_progress"},
        {"kind": "move", "id": "a", "position": 3},
        {"kind": "drop", "id": "b"},
        {"kind": "undo", "n": 2},
        {"kind": "redo"},
        {"kind": "plan_mode", "on": True},
        {"kind": "plan_mode", "on": False},
        {"kind": "plan_to_todos"},
        {"kind": "clear"},
        {"kind": "undo"},
    ]
    with server.stream(name) as stream:
        state = known({}, [stream.next()])
        assert server.put(f"{at(name)}/plan", plan).status == 200
        state = known(state, stream.until(2))
        for change in changes:
            version = server.post(f"{at(name)}/changes", change).data["version"]
            state = known(state, stream.until(version))
            assert state == server.state(name), change
        version = server.delete(f"{at(name)}/plan").data["version"]
        assert known(state, stream.until(version)) == server.state(name)


def test_a_page_can_come_back_at_any_point(server: Server, name: str, begun: Begun) -> None:
    session = begun("a", "b")
    states = {0: {}, 1: server.state(name)}
    with server.stream(name, after=1) as stream:
        for number in range(24):
            if number % 3:
                session.update("a", notes=f"Note {number}")
            else:
                session.add(f"Item {number}")
            states[session.version] = server.state(name)
        stream.until(session.version)
    session.add("While nobody watched")
    end = server.state(name)
    for version, state in states.items():
        with server.stream(name, last=str(version)) as stream:
            heard = stream.until(end["version"])
        assert known(state, heard) == end, version
        assert versions(heard) == [*range(version + 1, end["version"] + 1)]


def test_what_a_page_heard_last_counts_more_than_its_address(server: Server, name: str, begun: Begun) -> None:
    session = begun("a")
    session.add("b")
    with server.stream(name, after=0, last="2") as stream:
        session.add("c")
        told = stream.next()
    assert (told.data["from"], versions([told])) == (2, [3])


def test_a_page_that_breaks_off_again_and_again_misses_nothing(server: Server, name: str, begun: Begun) -> None:
    begun("a", "b")
    state = server.state(name)
    process = writer(server.folder, name, 120)
    while state["version"] < 121:
        with server.stream(name, last=str(state["version"])) as stream:
            state = known(state, [stream.next()])
    assert process.wait() == 0
    assert state == server.state(name)


def test_many_pages_hear_everything(server: Server, name: str, begun: Begun, in_threads: Callable[..., None]) -> None:
    begun("a", "b")
    before = server.state(name)
    heard: list[list[Told]] = []
    with ExitStack() as open_pages:
        pages = [open_pages.enter_context(server.stream(name, after=1)) for _ in range(20)]
        process = writer(server.folder, name, 200)
        in_threads(*(lambda page=page: heard.append(page.until(201)) for page in pages))
        assert process.wait() == 0
    after = server.state(name)
    assert len(heard) == 20
    for one in heard:
        assert versions(one) == [*range(2, 202)]
        assert known(before, one) == after


def test_a_page_of_one_session_hears_nothing_of_another(server: Server, name: str, begun: Begun) -> None:
    session = begun("a")
    other = headway.open(server.folder, f"{name} other")
    other.add("x")
    with server.stream(name, after=1) as stream, server.stream(other.name, after=1) as others:
        other.add("y")
        session.add("z")
        assert [event["session_id"] for event in stream.next().data["events"]] == [name]
        assert [event["session_id"] for event in others.next().data["events"]] == [other.name]


def test_a_page_is_told_that_its_session_is_gone(server: Server, name: str, begun: Begun) -> None:
    session = begun("a")
    with server.stream(name, after=1) as stream, server.stream(name) as other:
        other.next()
        assert session.store.delete(name)
        assert (stream.next().kind, other.next().kind) == ("gone", "gone")
        with pytest.raises(EOFError):
            stream.next()
    assert server.get(f"{at(name)}/stream").status == 404
    assert server.get(at(name)).status == 404


def test_a_session_of_the_same_name_is_another_one(server: Server, name: str, begun: Begun) -> None:
    session = begun("a", "b")
    session.add("c")
    with server.stream(name, after=2) as stream:
        session.store.delete(name)
        headway.open(server.folder, name).add("Anew")
        assert stream.next().kind == "gone"
    with server.stream(name, last="2") as stream:
        assert stream.next().kind == "gone"
    with server.stream(name) as stream:
        assert [todo["content"] for todo in stream.next().data["todos"]] == ["Anew"]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts what a process has open")
def test_a_page_that_goes_away_leaves_nothing_behind(server: Server, name: str, begun: Begun) -> None:
    session = begun("a")

    def held() -> int:
        links: list[str] = []
        for one in Path(f"/proc/{server.pid}/fd").iterdir():
            with suppress(FileNotFoundError):
                links.append(os.readlink(one))
        return sum(link.startswith("socket:") for link in links)

    with ExitStack() as pages:
        for _ in range(20):
            pages.enter_context(server.stream(name)).next()
        assert held() > 20
        session.add("b")
    session.add("c")
    until(lambda: held() < 10)


def test_a_server_that_is_started_again_goes_on_where_it_was(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    session = headway.open(folder, "mine")
    session.add("One")
    server = Server(folder)
    port, token, state = server.port, server.token, server.state("mine")
    with server.stream("mine", after=1) as stream:
        session.add("Two")
        state = known(state, stream.until(2))
        server.stop()
        with pytest.raises(EOFError):
            stream.next()
    session.add("Three")
    server.start()
    try:
        assert (server.port, server.token) == (port, token)
        with server.stream("mine", last=str(state["version"])) as stream:
            state = known(state, stream.until(3))
            session.add("Four")
            state = known(state, stream.until(4))
        assert state == server.state("mine")
    finally:
        assert "Traceback" not in server.stop()


# who watches, without a server


class Slow:
    """Holds up one change while it is written down."""

    def __init__(self) -> None:
        self.holds = False
        self.reads, self.may = threading.Event(), threading.Event()

    def __call__(self, *of: Any) -> Form:
        record = to_change_record(*of)
        if self.holds:
            self.holds = False
            self.reads.set()
            self.may.wait(WAIT)
        return record


@pytest.fixture
def slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Slow]:
    headway.open(tmp_path, "mine").write([{"id": "a", "content": "Do a"}])
    slow = Slow()
    monkeypatch.setattr("headway.web.hub.to_change_record", slow)
    yield slow
    slow.may.set()


def pages_of(hub: Hub, after: int) -> AsyncGenerator[StateChange]:
    return cast("AsyncGenerator[StateChange]", hub.channel("mine").follow(after))


async def left_while_it_was_read(tmp_path: Path, slow: Slow) -> Hub:
    """The only page goes away in the moment in which a change is read; before, it heard one."""
    hub, session = Hub(open_store(tmp_path)), headway.open(tmp_path, "mine")
    page = pages_of(hub, 1)
    hearing = asyncio.ensure_future(anext(page))
    session.update("a", notes="2")
    assert (await asyncio.wait_for(hearing, WAIT)).version == 2
    slow.holds = True
    hearing = asyncio.ensure_future(anext(page))
    await asyncio.sleep(0)
    session.update("a", notes="3")
    assert await asyncio.to_thread(slow.reads.wait, WAIT)
    hearing.cancel()
    with suppress(asyncio.CancelledError):
        await hearing
    return hub


async def heard_up_to(hub: Hub, after: int, version: int) -> list[StateChange]:
    heard: list[StateChange] = []
    page = pages_of(hub, after)
    while not heard or heard[-1].version < version:
        heard.append(await asyncio.wait_for(anext(page), WAIT))
    await page.aclose()
    return heard


def fit(after: int, heard: list[StateChange]) -> bool:
    """Each begins where the one before ended."""
    return [change.before for change in heard] == [after, *(change.version for change in heard[:-1])]


async def test_a_change_that_is_read_while_the_last_page_leaves_is_no_gap(tmp_path: Path, slow: Slow) -> None:
    hub = await left_while_it_was_read(tmp_path, slow)
    slow.may.set()
    await asyncio.sleep(0.5)
    headway.open(tmp_path, "mine").update("a", notes="4")
    await heard_up_to(hub, 3, 4)
    assert fit(1, await heard_up_to(hub, 1, 4))


async def test_a_look_that_ends_late_makes_no_doubles(tmp_path: Path, slow: Slow) -> None:
    hub, session = await left_while_it_was_read(tmp_path, slow), headway.open(tmp_path, "mine")
    page = pages_of(hub, 2)
    assert (await asyncio.wait_for(anext(page), WAIT)).version == 3
    session.update("a", notes="4")
    assert (await asyncio.wait_for(anext(page), WAIT)).version == 4
    slow.may.set()
    await asyncio.sleep(0.5)
    session.update("a", notes="5")
    heard = await heard_up_to(hub, 1, 5)
    await page.aclose()
    assert fit(1, heard)


async def test_a_page_that_is_hardly_behind_hears_the_change_itself(tmp_path: Path, slow: Slow) -> None:
    hub, session = Hub(open_store(tmp_path)), headway.open(tmp_path, "mine")
    page = pages_of(hub, 1)
    hearing = asyncio.ensure_future(anext(page))
    session.update("a", notes="2")
    await asyncio.wait_for(hearing, WAIT)
    slow.holds = True
    session.update("a", notes="3")
    assert await asyncio.to_thread(slow.reads.wait, WAIT)
    slow.may.set()
    threading.Event().wait(0.5)  # nothing else goes on here, as when a server is busy; the look ends meanwhile
    told = json.loads((await asyncio.wait_for(anext(page), WAIT)).text)
    await page.aclose()
    assert "whole" not in told


@pytest.mark.parametrize(("limit", "most"), [("KEPT", 5), ("KEPT_CHARACTERS", 5_000)])
async def test_a_page_that_is_far_behind_is_told_everything_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, most: int
) -> None:
    monkeypatch.setattr(f"headway.web.hub.{limit}", most)
    session = headway.open(tmp_path, "mine")
    session.write([{"id": "a", "content": "Do a"}])
    hub = Hub(open_store(tmp_path))
    page = pages_of(hub, 1)
    for number in range(2, 12):
        session.update("a", notes=str(number))
        assert (await asyncio.wait_for(anext(page), WAIT)).version == number
    behind, near = await heard_up_to(hub, 1, 11), await heard_up_to(hub, 8, 11)
    await page.aclose()
    assert [json.loads(change.text).get("whole") for change in behind] == [True]
    assert (fit(1, behind), fit(8, near), near[-1].version) == (True, True, 11)
    assert json.loads(behind[0].text)["todos"][0]["notes"] == "11"


async def test_of_items_that_only_moved_the_order_is_told(tmp_path: Path) -> None:
    session = headway.open(tmp_path, "mine")
    session.write([{"id": todo_id, "content": f"Do {todo_id}"} for todo_id in "abcd"])
    page = pages_of(Hub(open_store(tmp_path)), 1)
    session.move("d", 1)
    told = json.loads((await asyncio.wait_for(anext(page), WAIT)).text)
    await page.aclose()
    assert (told["order"], "items" in told) == (["d", "a", "b", "c"], False)


async def test_when_nobody_watches_nothing_looks(tmp_path: Path) -> None:
    headway.open(tmp_path, "mine").add("One")
    hub = Hub(open_store(tmp_path))
    before = len(asyncio.all_tasks())
    pages = [pages_of(hub, 0) for _ in range(5)]
    for page in pages:
        assert (await anext(page)).version == 1
    assert len(asyncio.all_tasks()) == before + 1
    for page in pages:
        await page.aclose()
    await asyncio.sleep(0.2)
    assert len(asyncio.all_tasks()) == before


async def test_who_knows_more_than_there_is_knew_another_session(tmp_path: Path) -> None:
    headway.open(tmp_path, "mine").add("One")
    with pytest.raises(SessionGone):
        await anext(pages_of(Hub(open_store(tmp_path)), 9))


async def test_a_session_that_is_deleted_while_a_change_is_read_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = headway.open(tmp_path, "mine")
    session.add("One")
    take_all = Follower.take_all

    def take_all_and_delete(follower: Follower) -> list[Event]:
        events = take_all(follower)
        if events and session.store.delete("mine"):
            assert session.todos == []
        return events

    monkeypatch.setattr(Follower, "take_all", take_all_and_delete)
    hearing = asyncio.ensure_future(anext(pages_of(Hub(open_store(tmp_path)), 1)))
    await asyncio.sleep(0.05)
    await asyncio.to_thread(session.add, "Two")
    with pytest.raises(SessionGone):
        await asyncio.wait_for(hearing, WAIT)
