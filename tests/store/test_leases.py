"""Leases beside the log: one holder at a time, gone with its process, and what becomes of a run whose lease is gone."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.core.running import Running, create, status, statuses, until
from tests.support.processes import Started, python, run_python, start
from tests.support.projects import temporary_folder

import headway
from headway import RunRefused, Session, Status
from headway.core import commands
from headway.core.codec import to_event_json
from headway.core.run_events import MessageAdded, RunFinished
from headway.core.runs import CUT_OFF
from headway.session import SessionStore
from headway.store.leases import is_live, this_process
from headway.store.migrations import APPLICATION_ID, NEWEST, m001_log
from headway.store.sqlite import SqliteStore

from .conftest import Opener
from .samples import connection, contents, event, file_of, look, over

KEY = "run:main"
LONG, SHORT = 600.0, 0.05


def run(script: str, *arguments: object) -> str:
    done = run_python(script, *arguments)
    assert done.code == 0, done.err
    return done.out


# what every store promises


def test_a_lease_has_one_holder_until_it_is_let_go(store: SessionStore) -> None:
    assert store.lease_holder("s", KEY) is None
    assert store.hold_lease("s", KEY, "ada", LONG) is None
    assert store.lease_holder("s", KEY) == "ada"
    assert store.hold_lease("s", KEY, "bob", LONG) == "ada"
    assert store.lease_holder("s", KEY) == "ada"
    store.release_lease("s", KEY, "ada")
    assert store.lease_holder("s", KEY) is None
    assert store.hold_lease("s", KEY, "bob", LONG) is None
    assert store.lease_holder("s", KEY) == "bob"


def test_a_lease_is_let_go_only_by_its_holder(store: SessionStore) -> None:
    store.release_lease("s", KEY, "ada")
    store.hold_lease("s", KEY, "ada", LONG)
    store.release_lease("s", KEY, "bob")
    assert store.lease_holder("s", KEY) == "ada"


def test_leases_of_other_sessions_and_keys_are_apart(store: SessionStore) -> None:
    store.hold_lease("s", KEY, "ada", LONG)
    assert store.hold_lease("s", "run:sub-1", "bob", LONG) is None
    assert store.hold_lease("other", KEY, "cy", LONG) is None
    store.release_lease("s", KEY, "ada")
    holders = [store.lease_holder(*pair) for pair in (("s", KEY), ("s", "run:sub-1"), ("other", KEY))]
    assert holders == [None, "bob", "cy"]


def test_a_lease_that_ran_out_is_anyones(store: SessionStore) -> None:
    store.hold_lease("s", KEY, "ada", SHORT)
    until(lambda: store.lease_holder("s", KEY) is None)
    assert store.hold_lease("s", KEY, "bob", LONG) is None
    assert store.hold_lease("s", KEY, "ada", LONG) == "bob"
    store.release_lease("s", KEY, "ada")  # who lost it cannot give it away
    assert store.lease_holder("s", KEY) == "bob"


def test_a_lease_is_renewed_by_holding_it_again(store: SessionStore) -> None:
    store.hold_lease("s", KEY, "ada", SHORT)
    store.hold_lease("other", KEY, "bob", SHORT)
    assert store.hold_lease("s", KEY, "ada", LONG) is None
    until(lambda: store.lease_holder("other", KEY) is None)
    assert store.lease_holder("s", KEY) == "ada"
    assert store.hold_lease("s", KEY, "ada", SHORT) is None  # and it may be shortened
    until(lambda: store.lease_holder("s", KEY) is None)


def test_who_ran_out_and_was_not_replaced_may_take_it_again(store: SessionStore) -> None:
    store.hold_lease("s", KEY, "ada", SHORT)
    until(lambda: store.lease_holder("s", KEY) is None)
    assert store.hold_lease("s", KEY, "ada", LONG) is None
    assert store.lease_holder("s", KEY) == "ada"


def test_leases_are_not_in_the_log(store: SessionStore) -> None:
    store.append("s", 0, [event(1)], None)
    before = store.position("s")
    store.hold_lease("s", KEY, "ada", LONG)
    store.release_lease("s", KEY, "ada")
    assert (store.position("s"), store.events("s", 0)) == (before, [event(1)])
    store.append("s", 1, [event(2)], None)


def test_of_many_that_want_it_at_once_one_gets_it(store: SessionStore) -> None:
    together = threading.Barrier(8)
    got: list[str] = []

    def take(name: str) -> None:
        together.wait(20)
        if store.hold_lease("s", KEY, name, LONG) is None:
            got.append(name)

    threads = [threading.Thread(target=take, args=(f"worker-{n}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert got == [store.lease_holder("s", KEY)]


# in a file


def test_looking_for_a_lease_makes_no_file(opened: Opener, path: Path) -> None:
    assert opened().lease_holder("s", KEY) is None
    assert not path.parent.exists()


def test_a_lease_outlives_the_store_that_took_it(opened: Opener) -> None:
    first = opened()
    first.hold_lease("s", KEY, "ada", LONG)
    first.close()
    second = opened()
    assert second.lease_holder("s", KEY) == "ada"
    assert second.hold_lease("s", KEY, "bob", LONG) == "ada"
    second.release_lease("s", KEY, "ada")
    assert first.lease_holder("s", KEY) is None


TAKE = """
import sys, headway
from headway.store.leases import this_process
store = headway.open(sys.argv[1]).store
sys.stdin.readline()
print(store.hold_lease("s", "run:main", this_process(sys.argv[2]), 600) or "mine", flush=True)
sys.stdin.readline()
"""


def test_of_several_processes_that_want_it_at_once_one_gets_it(tmp_path: Path) -> None:
    workers = [start(python(TAKE, tmp_path, f"worker-{n}"), given=None) for n in range(3)]
    for worker in workers:
        worker.write("go\n")
    said = [worker.out.line().strip() for worker in workers]
    for worker in workers:
        worker.write("\n")
        assert worker.end().code == 0
    winner = said.index("mine")
    assert said.count("mine") == 1
    for answer in said[:winner] + said[winner + 1 :]:
        assert answer.endswith(f"worker-{winner}")
        assert f"process {workers[winner].id} on" in answer


# gone with its process


HOLD = """
import sys, headway
from headway.store.leases import this_process
store = headway.open(sys.argv[1]).store
holder = this_process("(run r1)")
assert store.hold_lease("s", "run:main", holder, 600) is None
print(holder, flush=True)
sys.stdin.read()
"""


@contextmanager
def process_with(script: str, *arguments: object) -> Generator[tuple[Started, str]]:
    """A process that runs until it is killed, and the first line that it says."""
    process = start(python(script, *arguments), given=None)
    try:
        yield process, process.out.line().strip()
    finally:
        process.discard()


@contextmanager
def child(script: str, *arguments: object) -> Generator[tuple[subprocess.Popen[str], str]]:
    """The same, with a process that stays until its parent, which is this one, has waited for it."""
    with subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


def test_the_lease_of_a_killed_process_counts_no_longer(tmp_path: Path, opened: Opener) -> None:
    store = opened()
    with process_with(HOLD, tmp_path) as (process, holder):
        assert holder.startswith(f"process {process.id} on ")
        assert store.lease_holder("s", KEY) == store.hold_lease("s", KEY, "bob", LONG) == holder
        process.kill()
        assert store.lease_holder("s", KEY) is None
        assert store.hold_lease("s", KEY, "bob", LONG) is None


def test_the_lease_of_a_killed_process_that_nobody_waited_for_counts_no_longer(tmp_path: Path, opened: Opener) -> None:
    store = opened()
    with child(HOLD, tmp_path) as (process, holder):
        os.kill(process.pid, signal.SIGKILL)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # it is over, and still there
        os.kill(process.pid, 0)
        assert store.lease_holder("s", KEY) is None
        assert not is_live(holder, time.time() + LONG)


def test_a_process_that_is_only_stopped_keeps_its_lease(tmp_path: Path, opened: Opener) -> None:
    store = opened()
    with child(HOLD, tmp_path) as (process, holder):
        os.kill(process.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        assert store.lease_holder("s", KEY) == holder


def dead_pid() -> int:
    process = subprocess.Popen(["true"])
    process.wait(20)
    return process.pid


def holder_with(pid: object, place: str | None = None) -> str:
    words = this_process("(run r1)").split(" ")
    words[1] = str(pid)
    words[3] = place or words[3]
    return " ".join(words)


@pytest.mark.parametrize("pid", [None, 10**30, 2**31 - 1])
def test_a_process_that_is_not_there_holds_nothing(store: SessionStore, pid: int | None) -> None:
    store.hold_lease("s", KEY, holder_with(pid or dead_pid()), LONG)
    assert store.lease_holder("s", KEY) is None
    assert store.hold_lease("s", KEY, "ada", LONG) is None


def test_a_process_elsewhere_holds_its_lease_until_it_runs_out(store: SessionStore) -> None:
    there = holder_with(dead_pid(), "another-machine/4026531836")
    store.hold_lease("s", KEY, there, LONG)
    assert store.lease_holder("s", KEY) == there
    assert store.hold_lease("s", KEY, "ada", LONG) == there
    store.hold_lease("s", KEY, there, SHORT)
    until(lambda: store.lease_holder("s", KEY) is None)


def test_this_process_holds_its_lease_as_long_as_it_is_there(store: SessionStore) -> None:
    """Also if it was stopped for longer than the lease lasts."""
    mine = this_process("(run r1)")
    assert mine != this_process("(run r2)")
    store.hold_lease("s", KEY, mine, LONG)
    assert store.lease_holder("s", KEY) == mine
    assert store.hold_lease("s", KEY, this_process("(run r2)"), LONG) == mine
    store.hold_lease("s", KEY, mine, -LONG)
    assert store.lease_holder("s", KEY) == mine
    store.release_lease("s", KEY, mine)
    assert store.lease_holder("s", KEY) is None


@pytest.mark.parametrize(
    "name",
    ["", "process", "process 1", "process x on y z", "process ² on y z", "工人 一号", "a\nb", "process -1 on y z"],
)
def test_any_text_can_be_a_holder(store: SessionStore, name: str) -> None:
    assert store.hold_lease("s", KEY, name, LONG) is None
    assert store.lease_holder("s", KEY) == name
    assert store.hold_lease("s", KEY, "ada", LONG) == name


AS_NOBODY = """
import json, os, platform, sys, tempfile, time, urllib.parse
import platformdirs, headway.adoption
import headway, headway.core.store, headway.store.sqlite, headway.core.run_commands, headway.core.runs
platform.node()  # what is loaded or asked for late may be out of reach then
from headway.store.leases import is_live
if os.getuid() == 0:  # whom no permission stops
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
"""


def test_a_process_of_another_user_counts_as_there() -> None:
    script = AS_NOBODY + "print(is_live(sys.argv[1], time.time() + 600))"
    assert run(script, this_process("(run r1)")) == "True\n"
    assert run(script, holder_with(dead_pid())) == "False\n"


# a run whose process is gone


RUN = """
import sys
import headway
from headway.core.log import run_lease_key
from headway.core.model import LOOP, MODEL
from headway.core.run_commands import StartRun
from headway.core.run_events import RunStarted
from headway.store.leases import this_process
session = headway.open(sys.argv[1])
session.write([{"content": "Run the tests"}], replace=True, cause="create")
holder = this_process("(run r1)")
assert session.store.hold_lease(session.name, run_lease_key("main"), holder, 600) is None
start = RunStarted(run_id="r1", task="Do it", model="scripted", max_rounds=5, holder=holder)
session.log.execute(lambda state: StartRun("main", LOOP, "2025-01-02T03:04:05.000Z", start))
session.update("t1", actor=MODEL, status="in_progress")
print("ready", flush=True)
sys.stdin.read()
"""


@contextmanager
def session_of(folder: Path) -> Generator[Session]:
    session = headway.open(folder)
    try:
        yield session
    finally:
        session.close()


@pytest.fixture
def attentive(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is looked often whether the process of a run is still there."""
    monkeypatch.setattr("headway.core.log._ATTEND_EVERY", 0.05)


def ended(session: Session) -> bool:
    run = session.run
    assert run is not None
    return not run.is_active


def test_a_killed_run_is_over_when_its_session_is_opened(tmp_path: Path) -> None:
    with process_with(RUN, tmp_path) as (process, _):
        with session_of(tmp_path) as session:
            assert not ended(session)
            assert status(session) is Status.IN_PROGRESS
        process.kill()
        with session_of(tmp_path) as session:
            todo = session.todos[0]
            assert (todo.status, todo.interrupted) == (Status.PENDING, True)
            assert ended(session)
            assert list(session.events())[-1].data == RunFinished(
                run_id="r1", reason="error", rounds=0, tool_calls=0, error=CUT_OFF
            )


@pytest.mark.usefixtures("attentive")
def test_a_session_that_was_open_all_the_time_notices_that_a_run_was_killed(tmp_path: Path) -> None:
    with process_with(RUN, tmp_path) as (process, _), session_of(tmp_path) as session:
        heard: list[str] = []
        session.subscribe(lambda event: heard.append(event.type))
        assert not ended(session)
        process.kill()
        until(lambda: ended(session))
        assert heard == ["TodoListUpdated", "RunFinished"]
        assert Running(session).begin().run.is_active


def test_a_change_comes_after_the_end_of_a_killed_run(tmp_path: Path) -> None:
    with process_with(RUN, tmp_path) as (process, _):
        process.kill()
        with session_of(tmp_path) as session:
            session.update("t1", status="completed")
            todo = session.todos[0]
            assert (todo.status, todo.completed_at_round) == (Status.COMPLETED, None)
            assert ended(session)


@pytest.mark.usefixtures("attentive")
def test_a_run_whose_lease_ran_out_is_over(store: SessionStore) -> None:
    session = store.session("s")
    create(session, "Run the tests")
    running = Running(session).begin()
    running.hold(SHORT)
    until(lambda: store.lease_holder("s", KEY) is None)
    until(lambda: ended(session))
    with pytest.raises(RunRefused):
        running.next_round()


def test_of_several_that_find_a_dead_run_one_ends_it_and_live_ones_go_on(opened: Opener) -> None:
    first = over(opened())
    Running(first).begin(rounds=0).let_go()
    Running(first.agent("sub-1")).begin(rounds=0)
    sessions = [over(opened()) for _ in range(4)]
    together = threading.Barrier(4)
    found: list[bool] = []

    def look_at(session: Session) -> None:
        together.wait(20)
        found.append(ended(session))

    threads = [threading.Thread(target=look_at, args=(session,)) for session in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert found == [True] * 4
    assert [event.agent for event in first.events() if isinstance(event.data, RunFinished)] == ["main"]
    assert not ended(sessions[0].agent("sub-1"))


@pytest.mark.usefixtures("attentive")
def test_a_watcher_sees_the_end_of_a_run_whose_process_is_gone(store: SessionStore) -> None:
    session = store.session("s")
    create(session, "Run the tests")
    running = Running(session).begin()
    running.call()
    watcher = session.watch(timeout=2.5)
    running.let_go()
    assert [event.type for event in next(watcher)] == ["TodoListUpdated", "RunFinished"]


# where nothing may be written


@pytest.fixture
def folder() -> Iterator[Path]:
    """A project that everybody may enter."""
    with temporary_folder() as folder:
        folder.chmod(0o755)
        yield folder
        (folder / ".headway").chmod(0o755)


READ_TWICE = (
    AS_NOBODY
    + """
os.environ["XDG_CONFIG_HOME"] = tempfile.mkdtemp()
headway.adoption.adopt_file(os.path.join(sys.argv[1], ".headway", "headway.db"))
session = headway.open(sys.argv[1])
found = [[str(todo.status) for todo in session.todos], session.run.is_active if session.run else None]
try:
    session.add("B")
except headway.StoreReadOnly:
    found.append("refused")
found.append([str(todo.status) for todo in session.todos])
print(json.dumps(found))
"""
)


def test_a_dead_run_in_a_project_that_may_not_be_written_is_read_as_it_is(folder: Path) -> None:
    with session_of(folder) as session:
        create(session, "Run the tests")
        running = Running(session).begin()
        running.call()
        running.let_go()
    (folder / ".headway").chmod(0o555)
    assert json.loads(run(READ_TWICE, folder)) == [["in_progress"], True, "refused", ["in_progress"]]
    with session_of(folder) as session:
        assert statuses(session) == ["pending"]


# a file from before there were leases


def old_file(path: Path) -> None:
    """A file of schema 1 with three items."""
    path.parent.mkdir(mode=0o755)
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("BEGIN")
    m001_log(db)
    db.execute("PRAGMA user_version = 1")
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute("INSERT INTO sessions (name) VALUES ('default')")
    for each in (event(1), event(2), event(3)):
        row = (each.version, each.at, each.agent, each.actor, each.type, to_event_json(each))
        db.execute("INSERT INTO events VALUES (1, ?, ?, ?, ?, ?, ?)", row)
    db.execute("INSERT INTO settings VALUES ('current', 'default')")
    db.execute("COMMIT")
    db.close()


def test_a_file_of_the_first_schema_is_brought_up_to_date_and_keeps_what_it_has(opened: Opener, path: Path) -> None:
    old_file(path)
    store = opened()
    assert store.lease_holder("default", KEY) is None
    assert contents(over(store)) == ["item 1", "item 2", "item 3"]
    assert store.events("default", 0) == [event(1), event(2), event(3)]
    assert store.current() == "default"
    running = Running(over(store)).begin()
    assert store.lease_holder("default", KEY) == running.id
    store.close()
    assert look(path, "PRAGMA user_version") == [(NEWEST,)]
    assert look(path, "SELECT session, key, holder FROM leases") == [("default", KEY, running.id)]
    assert over(opened()).version == 5


def test_many_that_open_a_file_of_the_first_schema_at_once_all_succeed(tmp_path: Path) -> None:
    failures: list[BaseException] = []
    for attempt in range(5):
        path = file_of(tmp_path / str(attempt))
        path.parent.parent.mkdir()
        old_file(path)
        together = threading.Barrier(5)

        def work(name: str, path: Path = path, together: threading.Barrier = together) -> None:
            store = SqliteStore(str(path))
            try:
                together.wait(20)
                store.hold_lease("default", name, name, LONG)
                assert store.version("default") == 3
            except BaseException as error:
                failures.append(error)
            finally:
                store.close()

        threads = [threading.Thread(target=work, args=(name,)) for name in "abcde"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        assert look(path, "SELECT count(*) FROM leases") == [(5,)]
    assert failures == []


def test_a_file_of_the_first_schema_that_may_not_be_written_is_read(folder: Path) -> None:
    old_file(file_of(folder))
    file_of(folder).chmod(0o444)
    (folder / ".headway").chmod(0o555)
    three = ["pending"] * 3
    assert json.loads(run(READ_TWICE, folder)) == [three, None, "refused", three]


# what is on the disk


def test_a_list_change_waits_for_the_disk_even_if_another_process_was_faster(opened: Opener) -> None:
    first, second = opened(), opened()
    session = over(first)
    running = Running(session).begin()
    running.record(MessageAdded(message={}))
    assert connection(first).execute("PRAGMA synchronous").fetchone() == (1,)
    tries: list[object] = []

    def add(state: object) -> commands.Command:
        if not tries:
            over(second).add("by another")
        tries.append(state)
        return commands.Add("main", "user", "2025-01-02T03:04:05.000Z", {"content": "by this one"}, None)

    session.log.execute(add)
    assert (len(tries), contents(session)) == (2, ["by another", "by this one"])
    assert connection(first).execute("PRAGMA synchronous").fetchone() == (2,)


def test_what_tracking_makes_of_a_call_waits_for_the_disk_as_little_as_the_call(opened: Opener) -> None:
    store = opened()
    session = over(store)
    create(session, "Run the tests")
    Running(session).begin().calls(True, True, True)
    assert statuses(session) == ["completed"]
    assert connection(store).execute("PRAGMA synchronous").fetchone() == (1,)
    session.add("by a person")
    assert connection(store).execute("PRAGMA synchronous").fetchone() == (2,)
