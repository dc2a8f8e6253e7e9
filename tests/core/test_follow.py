"""One log for all who have a session open in a process, and following it from threads, processes and event loops."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.support.processes import python, run_to_end, start

import headway
from headway import Event, Session, Todo
from headway.core.errors import HeadwayError, StoreConflict

from .running import SECONDS, until
from .samples import in_memory

WATCHERS = "headway follow"


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with headway.open(tmp_path) as session:
        yield session


def add_elsewhere(project: Path, *contents: str) -> None:
    """In another process."""
    code = "import sys, headway\nfor text in sys.argv[2:]: headway.open(sys.argv[1]).add(text)"
    done = run_to_end(python(code, project, *contents))
    assert done.code == 0, done.err


def versions(events: list[Event]) -> list[int]:
    return [event.version for event in events]


def watching_threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name == WATCHERS}


# one log for all who have it open


def test_two_who_open_a_session_have_one_log_and_hear_each_other_at_once(session: Session, tmp_path: Path) -> None:
    other = headway.open(tmp_path)
    heard: list[list[str]] = []

    def note(todos: list[Todo]) -> None:
        heard.append([todo.content for todo in todos])

    session.on("todos:update", note)
    other.add("A")
    headway.open(tmp_path).agent("main").add("B")
    assert heard == [["A"], ["A", "B"]]
    assert other.log is session.log
    assert headway.open(tmp_path, "another").log is not session.log


def test_what_one_closes_stays_open_for_the_others(session: Session, tmp_path: Path) -> None:
    mine, others = list[Event](), list[Event]()
    with headway.open(tmp_path) as other:
        other.subscribe(others.append)
        session.subscribe(mine.append)
        session.add("A")
    session.add("B")
    assert (versions(mine), versions(others)) == ([1, 2], [1])
    assert next(session.follow(1)).version == 2


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts what a process has open")
def test_the_last_who_closes_a_session_closes_its_file(tmp_path: Path) -> None:
    def is_open() -> bool:
        names = [os.readlink(link) for link in Path("/proc/self/fd").iterdir() if link.exists()]
        return any(name.startswith(str(tmp_path)) for name in names)

    first, second = headway.open(tmp_path), headway.open(tmp_path, "another")
    first.add("A")
    second.add("B")
    first.close()
    assert is_open()
    second.close()
    assert not is_open()
    assert [todo.content for todo in first.todos] == ["A"]
    first.close()
    assert not is_open()


# what other processes add


def test_a_listener_hears_other_processes_without_being_asked(session: Session, tmp_path: Path) -> None:
    heard: list[Event] = []
    lists: list[int] = []

    def count(todos: list[Todo]) -> None:
        lists.append(len(todos))

    session.subscribe(heard.append)
    session.on("todos:update", count)
    session.add("here")
    add_elsewhere(tmp_path, "A", "B", "C")
    until(lambda: len(heard) == 4 and lists[-1:] == [4])
    session.add("here again")
    until(lambda: len(heard) == 5)
    assert versions(heard) == [1, 2, 3, 4, 5]
    assert lists == sorted(lists)


def test_a_listener_that_is_held_up_holds_up_nobody_who_follows(session: Session, tmp_path: Path) -> None:
    free = threading.Event()
    heard: list[int] = []

    def hold_up(event: Event) -> None:
        free.wait(SECONDS)
        heard.append(event.version)

    session.subscribe(hold_up)
    follower = session.follow(timeout=SECONDS)
    add_elsewhere(tmp_path, "A", "B")
    assert [next(follower).version for _ in range(2)] == [1, 2]
    assert heard == []
    free.set()
    until(lambda: heard == [1, 2])


def test_listeners_are_told_in_order_and_by_whoever_made_the_change_however_slow_one_is(session: Session) -> None:
    told: list[tuple[str, int, threading.Thread]] = []

    def react_slowly(todos: list[Todo]) -> None:
        told.append(("first", len(todos), threading.current_thread()))
        if len(todos) == 1:
            time.sleep(0.2)  # the thread that finds what other processes add looks meanwhile
            session.add("B")

    def note(todos: list[Todo]) -> None:
        told.append(("second", len(todos), threading.current_thread()))

    session.on("todos:update", react_slowly)
    session.on("todos:update", note)
    session.add("A")
    assert [who[:2] for who in told] == [("first", 1), ("second", 1), ("first", 2), ("second", 2)]
    assert {thread for *_, thread in told} == {threading.current_thread()}


def test_a_session_that_another_process_begins_again_is_heard_from_its_first_event(
    session: Session, tmp_path: Path
) -> None:
    for n in range(3):
        session.add(f"old {n}")
    heard: list[Event] = []
    session.subscribe(heard.append)
    follower = session.follow(2, timeout=SECONDS)
    assert next(follower).version == 3
    code = """
import sys, headway
session = headway.open(sys.argv[1])
session.store.delete("default")
for n in range(4): session.add(f"new {n}")
"""
    assert run_to_end(python(code, tmp_path)).code == 0
    until(lambda: versions(heard) == [1, 2, 3, 4])
    assert list(follower) == []


def test_who_follows_a_file_that_cannot_be_read_any_more_is_told_so(session: Session, tmp_path: Path) -> None:
    session.add("A")
    follower = session.follow(timeout=SECONDS)
    assert next(follower).version == 1
    other = session.afollow(1, timeout=SECONDS)
    file = tmp_path / ".headway" / "headway.db"
    file.with_name("broken").write_bytes(b"nothing of Headway's" * 500)
    file.with_name("headway.db-wal").unlink()
    file.with_name("broken").replace(file)

    async def follow() -> list[Event]:
        return [event async for event in other]

    with pytest.raises(HeadwayError):
        next(follower)
    with pytest.raises(HeadwayError):
        asyncio.run(follow())


# how it ends


def test_following_ends_in_its_time_however_busy_the_list_is(session: Session) -> None:
    is_over = threading.Event()

    def work() -> None:
        while not is_over.is_set():
            session.add("more")

    worker = threading.Thread(target=work)
    worker.start()
    try:
        got = versions(list(session.follow(max_wait=0.3, timeout=SECONDS)))
    finally:
        is_over.set()
        worker.join(SECONDS)
    assert got == list(range(1, len(got) + 1))
    assert got


def test_following_for_no_time_yields_all_that_is_there(session: Session) -> None:
    for n in range(3):
        session.add(f"{n}")
    assert versions(list(session.follow(max_wait=0))) == [1, 2, 3]


@pytest.mark.parametrize("of_the_session", [False, True])
def test_closing_ends_who_waits_in_another_thread_and_on_a_loop(session: Session, of_the_session: bool) -> None:
    session.add("A")
    followers = [session.follow(), session.agent("sub-1").follow(), session.afollow()]
    got: list[list[Event]] = [[], [], []]

    async def follow() -> None:
        async for event in followers[2]:
            got[2].append(event)

    threads = [threading.Thread(target=got[n].extend, args=(followers[n],)) for n in range(2)]
    threads.append(threading.Thread(target=lambda: asyncio.run(follow())))
    for thread in threads:
        thread.start()
    until(lambda: all(got))
    for one in [session] if of_the_session else followers:
        one.close()
    for thread in threads:
        thread.join(SECONDS)
        assert not thread.is_alive()
    assert [versions(events) for events in got] == [[1], [1], [1]]
    assert list(followers[0]) == []


def test_when_nobody_follows_any_more_no_thread_looks() -> None:
    before = watching_threads()
    session = in_memory()
    follower = session.follow(timeout=0.01)
    stop = session.on("todos:update", print)
    assert list(follower) == []
    (thread,) = watching_threads() - before
    stop()
    thread.join(SECONDS)
    assert not thread.is_alive()
    session.on("todos:update", print)
    (thread,) = watching_threads() - before
    del session, follower, stop  # nobody can change it any more here, nor stop to listen
    gc.collect()
    thread.join(SECONDS)
    assert not thread.is_alive()


LISTENING = """
import sys, threading, headway
session = headway.open(sys.argv[1])
session.add("A")
print(threading.active_count())
session.on("todos:update", print)
print(threading.active_count())
"""


def test_only_who_listens_has_a_thread_which_keeps_no_program_from_ending(tmp_path: Path) -> None:
    done = run_to_end(python(LISTENING, tmp_path))
    assert (done.code, done.out.split(), done.err) == (0, ["1", "2"], "")


# on an event loop


async def test_a_loop_goes_on_while_it_follows_this_process_and_others(session: Session, tmp_path: Path) -> None:
    session.add("A")
    follower = session.afollow(timeout=SECONDS)
    assert (await anext(follower)).version == 1
    waiting = asyncio.ensure_future(anext(follower))
    await asyncio.to_thread(add_elsewhere, tmp_path, "B")
    assert (await waiting).version == 2
    session.add("C")
    event = await anext(follower)
    assert (event.version, [todo.content for todo in event.todos or ()]) == (3, ["A", "B", "C"])
    follower.close()
    assert [event async for event in follower] == []


async def test_who_gives_up_while_events_are_read_misses_none_of_them(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(5):
        session.add(f"{n}")
    reads, may, read = threading.Event(), threading.Event(), session.store.events

    def read_slowly(name: str, after: int, limit: int | None = None) -> list[Event]:
        events = read(name, after, limit)
        reads.set()
        assert may.wait(SECONDS)
        return events

    follower = session.afollow()
    monkeypatch.setattr(session.store, "events", read_slowly)
    first = asyncio.ensure_future(anext(follower))
    assert await asyncio.to_thread(reads.wait, SECONDS)
    first.cancel()
    again = asyncio.ensure_future(anext(follower))
    await asyncio.sleep(0.05)
    may.set()
    got = [(await asyncio.wait_for(again, SECONDS)).version]
    got += [(await asyncio.wait_for(anext(follower), SECONDS)).version for _ in range(4)]
    assert got == [1, 2, 3, 4, 5]


# threads and forks


def test_who_reads_from_the_file_and_who_writes_to_it_do_not_wait_for_each_other(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.add("A")
    follower = session.follow()
    reader, append, tries = threading.Thread(target=follower.prepare, daemon=True), session.store.append, count(1)

    def append_in_the_end(*of: Any, **more: Any) -> object:
        if next(tries) < 3:
            raise StoreConflict("someone else was faster")
        reader.start()  # the writer has the file for itself now
        time.sleep(0.05)
        return append(*of, **more)

    monkeypatch.setattr(session.store, "append", append_in_the_end)
    writer = threading.Thread(target=session.add, args=("B",), daemon=True)
    writer.start()
    for thread in (writer, reader):
        thread.join(SECONDS)
        assert not thread.is_alive()
    assert session.version == 2


FORKED = """
import os, sys, time, headway
session = headway.open(sys.argv[1])
session.add("A")
heard = []
session.subscribe(lambda event: heard.append(event.version))
follower = session.follow(timeout=20)
next(follower)
child = os.fork()
if not child:
    session.add("of the child")
    print("ready", flush=True)
    while len(heard) < 2: time.sleep(0.01)
    print(heard, [next(follower).version for _ in range(2)], flush=True)
    os._exit(0)
os.waitpid(child, 0)
while len(heard) < 2: time.sleep(0.01)
print(heard, [next(follower).version for _ in range(2)])
"""


def test_a_child_hears_and_follows_on_its_own(tmp_path: Path) -> None:
    process = start(python(FORKED, tmp_path))
    try:
        assert process.out.line() == "ready"
        add_elsewhere(tmp_path, "of another")
        done = process.end()
    finally:
        process.discard()
    assert done.out.splitlines() == ["[2, 3] [2, 3]", "[2, 3] [2, 3]"]
