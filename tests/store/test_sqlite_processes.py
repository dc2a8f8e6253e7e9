"""Several processes, threads and sessions on one file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.support.processes import python, run_python, start

import headway
from headway import Session, Todo
from headway.store.sqlite import SqliteStore

from .conftest import Opener
from .samples import contents, file_of, look, over

FORK = """
import json, os, sys, headway
session = headway.open(sys.argv[1])
session.add("before")
child = os.fork()
name = "parent" if child else "child"
for n in range(20):
    session.add(f"{name} {n}")
if not child:
    session.store.close()
    assert len(session.todos) >= 21
    session.close()
    os._exit(0)
_, status = os.waitpid(child, 0)
session.add("after")
print(json.dumps({"status": status, "todos": [todo.content for todo in session.todos], "version": session.version}))
session.close()
"""


def test_after_a_fork_parent_and_child_both_write_and_nothing_is_lost(tmp_path: Path) -> None:
    done = run_python(FORK, tmp_path)
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert (found["status"], found["version"]) == (0, 42)
    expected = ["before", "after", *(f"{name} {n}" for name in ("parent", "child") for n in range(20))]
    assert sorted(found["todos"]) == sorted(expected)
    session = headway.open(tmp_path)
    assert contents(session) == found["todos"]
    session.close()
    assert look(file_of(tmp_path), "PRAGMA integrity_check") == [("ok",)]


CHILD_THAT_ONLY_CLOSES = """
import os, sys, headway
session = headway.open(sys.argv[1])
session.add("A")
child = os.fork()
if not child:
    session.close()
    sys.exit(0)
_, status = os.waitpid(child, 0)
session.add("B")
other = headway.open(sys.argv[1])
other.add("C")
print(status, len(session.todos), os.path.exists(os.path.join(sys.argv[1], ".headway", "headway.db-wal")))
other.close()
session.close()
"""


def test_a_child_that_closes_what_it_inherited_does_not_harm_its_parent(tmp_path: Path) -> None:
    assert run_python(CHILD_THAT_ONLY_CLOSES, tmp_path) == (0, "0 3 True\n", "")


def test_two_sessions_see_each_others_changes_and_listeners_hear_of_them(tmp_path: Path) -> None:
    first, second = headway.open(tmp_path), headway.open(tmp_path)
    heard: list[list[str]] = []

    def note(todos: list[Todo]) -> None:
        heard.append([todo.content for todo in todos])

    first.on("todos:update", note)
    second.add("A")
    assert contents(first) == ["A"]
    second.agent("sub-1").add("not for the listener")
    second.add("B")
    assert first.version == 3
    first.add("C")
    assert contents(second) == ["A", "B", "C"]
    second.undo()
    assert contents(first) == ["A", "B"]
    assert heard == [["A"], ["A", "B"], ["A", "B", "C"], ["A", "B"]]
    first.close()
    second.close()


def test_a_change_by_another_session_is_decided_on_its_fresh_state(opened: Opener) -> None:
    first, second = over(opened()), over(opened())
    first.write([{"content": "A"}, {"content": "B"}])
    assert contents(second) == ["A", "B"]
    first.drop("t1")
    second.write([{"id": "t2", "status": "completed"}])
    assert [(todo.id, todo.status) for todo in first.todos] == [("t2", "completed")]


def run_together(work: list[threading.Thread]) -> None:
    for thread in work:
        thread.start()
    for thread in work:
        thread.join(60)
    assert not any(thread.is_alive() for thread in work)


def test_two_threads_on_one_session_lose_nothing(opened: Opener) -> None:
    session = over(opened())

    def work(name: str) -> None:
        for n in range(25):
            session.add(f"{name} {n}")

    run_together([threading.Thread(target=work, args=(name,)) for name in "ab"])
    assert len({todo.id for todo in session.todos}) == session.version == 50
    assert len(over(opened()).todos) == 50


@pytest.mark.disk
def test_many_that_make_the_file_at_once_all_succeed(tmp_path: Path) -> None:
    failures: list[BaseException] = []
    for attempt in range(10):
        path = file_of(tmp_path / str(attempt))
        together = threading.Barrier(5)

        def work(name: str, path: Path = path, together: threading.Barrier = together) -> None:
            store = SqliteStore(str(path))
            try:
                together.wait(30)
                over(store).add(name)
            except BaseException as error:
                failures.append(error)
            finally:
                store.close()

        run_together([threading.Thread(target=work, args=(name,)) for name in "abcde"])
        reader = SqliteStore(str(path))
        assert sorted(contents(over(reader))) == list("abcde")
        reader.close()
    assert failures == []


CLAIM = """
import sys, headway
session = headway.open(sys.argv[1])
sys.stdin.readline()
while todo := session.claim(sys.argv[2]):
    session.update(todo.id, status="completed", actor=sys.argv[2])
    print(todo.id, flush=True)
session.close()
"""


@pytest.mark.disk
def test_of_several_processes_that_claim_at_once_each_item_goes_to_exactly_one(tmp_path: Path) -> None:
    session = headway.open(tmp_path)
    session.write([{"content": f"item {n}"} for n in range(30)])
    workers = [start(python(CLAIM, tmp_path, f"worker-{n}"), given=None) for n in range(3)]
    claimed: list[str] = []
    for worker in workers:
        worker.write("go\n")
    for worker in workers:
        done = worker.end()
        assert done.code == 0, done.err
        claimed += done.out.split()
    assert sorted(claimed) == sorted(todo.id for todo in session.todos)
    assert {todo.status for todo in session.todos} == {"completed"}
    session.close()


WATCH = """
import sys, headway
session = headway.open(sys.argv[1])
watch = session.watch(timeout=30)
print("ready", flush=True)
for events in watch:
    content = session.todos[-1].content
    print(content, flush=True)
    if content == "last":
        break
session.close()
"""


def test_a_watcher_in_another_process_sees_changes_from_the_first_on(tmp_path: Path) -> None:
    watcher = start(python(WATCH, tmp_path))
    assert watcher.out.line() == "ready"
    session = headway.open(tmp_path)
    session.add("first")
    assert watcher.out.line() == "first"
    session.add("last")
    assert watcher.end() == (0, "last\n", "")
    session.close()


KILLED = """
import os, sys, headway
session = headway.open(sys.argv[1])
session.add("A")
session.claim("ada")
os.kill(os.getpid(), 9)
"""


@pytest.mark.disk
def test_what_a_killed_process_wrote_is_there(tmp_path: Path) -> None:
    assert run_python(KILLED, tmp_path).code == -9
    session: Session = headway.open(tmp_path)
    assert (contents(session), session.version) == (["A"], 2)
    session.add("B")
    session.close()
    assert sorted(os.listdir(tmp_path / ".headway")) == [".gitignore", "headway.db"]


INTERRUPTED = """
import signal, sys, time
import headway
session = headway.open(sys.argv[1])
session.write([{"content": "A"}])
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.setitimer(signal.ITIMER_REAL, 0.0)
signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
interrupts = number = 0
begin = time.perf_counter()
for _ in range(50):
    session.update("t1", notes=str(_))
takes = (time.perf_counter() - begin) / 50
while interrupts < 200 and number < 20_000:
    number += 1
    try:
        signal.setitimer(signal.ITIMER_REAL, takes * (number % 40 + 1) / 40)  # at every stage of an update
        session.update("t1", notes=str(number))
    except KeyboardInterrupt:
        interrupts += 1
    finally:
        try:
            signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            interrupts += 1
    session.update("t1", notes=f"after {number}")
    assert session.todos[0].notes == f"after {number}"
other = headway.open(sys.argv[1])
other.update("t1", notes="other")
assert session.todos == other.todos
print(interrupts)
"""


def test_an_interrupted_write_leaves_the_session_usable_and_the_file_free(tmp_path: Path) -> None:
    done = run_python(INTERRUPTED, tmp_path)
    assert (done.err, done.out) == ("", "200\n")


FORKED = """
import os, sys, threading
import headway
session = headway.open(sys.argv[1])
session.write([{"content": "A"}])
stop = threading.Event()
def work():
    number = 0
    while not stop.is_set():
        session.update("t1", notes=str(number))
        number += 1
thread = threading.Thread(target=work, daemon=True)
thread.start()
for _ in range(15):
    child = os.fork()
    if child == 0:
        os._exit(0 if session.todos and session.add("B") else 1)
    assert os.waitpid(child, 0)[1] == 0
stop.set()
thread.join()
print(len(session.todos))
"""


def test_a_child_forked_while_a_thread_writes_can_use_the_session(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED, str(tmp_path)], capture_output=True, text=True, timeout=60
    )
    assert (done.stdout.strip(), done.stderr) == ("16", "")
