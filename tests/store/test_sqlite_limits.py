"""When the file cannot be written: locked, read-only, no room. Nothing changes, reading goes on, and it passes."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.processes import python, run_python, start
from tests.support.projects import temporary_folder

import headway
from headway import StoreBusy, StoreError, StoreFull

from .conftest import Opener
from .samples import connection, contents, file_of, look, over


@pytest.fixture
def lock(path: Path, opened: Opener) -> Iterator[sqlite3.Connection]:
    """Another program's connection that holds the file for writing."""
    over(opened()).add("A")
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    yield db
    db.close()


def test_a_file_locked_for_long_is_readable_and_a_write_says_who_is_in_the_way(
    lock: sqlite3.Connection, opened: Opener, path: Path
) -> None:
    session = over(opened(timeout=0.3))
    assert contents(session) == ["A"]
    with pytest.raises(StoreBusy) as caught:
        session.add("B")
    assert "locked for over 0.3 seconds; nothing was changed" in str(caught.value)
    for write in (lambda: session.store.set_current("x"), lambda: session.store.delete("default")):
        with pytest.raises(StoreBusy):
            write()
    assert (contents(session), session.version) == (["A"], 1)
    lock.execute("ROLLBACK")
    session.add("B")
    assert contents(over(opened())) == ["A", "B"]


def test_a_write_waits_for_a_lock_that_is_given_up_in_time(lock: sqlite3.Connection, opened: Opener) -> None:
    session = over(opened(timeout=30))
    thread = threading.Thread(target=session.add, args=("B",))
    thread.start()
    lock.execute("ROLLBACK")
    thread.join(30)
    assert contents(session) == ["A", "B"]


def test_a_lock_while_the_file_is_made_is_called_by_its_name(opened: Opener, path: Path) -> None:
    path.parent.mkdir()
    path.touch()
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("BEGIN EXCLUSIVE")
    session = over(opened(timeout=0.1))
    with pytest.raises(StoreBusy):
        session.add("A")
    db.execute("ROLLBACK")
    db.close()
    session.add("A")
    assert contents(session) == ["A"]


def test_without_room_nothing_changes_and_with_room_it_goes_on(opened: Opener, path: Path) -> None:
    store = opened()
    session = over(store)
    session.write([{"content": "A"}])
    session.set_plan({"title": "t", "overview": "o", "steps": [{"id": "s", "description": "d"}]})
    heard: list[object] = []
    session.on("todos:update", heard.append)
    db = connection(store)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    (pages,) = db.execute("PRAGMA page_count").fetchone()
    db.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreFull, match="There is no space left on the disk to write"):
        session.write([{"content": "x" * 100_000}])
    assert (contents(session), session.version, heard) == (["A"], 2, [])
    assert contents(over(opened())) == ["A"]
    db.execute(f"PRAGMA max_page_count = {pages + 1000}")
    session.write([{"content": "x" * 100_000}])
    assert (session.version, len(heard)) == (3, 1)
    assert look(path, "PRAGMA integrity_check") == [("ok",)]


FILE_SIZE = """
import json, resource, sys, headway
session = headway.open(sys.argv[1])
session.add("A")
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
errors = []
for n in range(50):
    try:
        session.add(f"{n} " + "x" * 10_000)
    except headway.StoreError as error:
        errors.append(type(error).__name__)
        break
kept = [todo.content.split()[0] for todo in session.todos]
version = session.version
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
session.add("last")
print(json.dumps({"errors": errors, "kept": kept, "version": version, "after": len(session.todos)}))
session.close()
"""


def run(script: str, *arguments: object) -> dict[str, list[str] | int | str]:
    """Runs a script in a process of its own; it prints one JSON object."""
    done = run_python(f"import warnings; warnings.simplefilter('error')\n{script}", *arguments)
    assert done.code == 0, done.err
    return json.loads(done.out)


def test_a_limit_on_the_size_of_files_is_survived(tmp_path: Path) -> None:
    found = run(FILE_SIZE, tmp_path)
    errors, kept = found["errors"], found["kept"]
    assert isinstance(kept, list)
    assert errors in (["StoreError"], ["StoreFull"])
    assert len(kept) == found["version"]
    assert found["after"] == len(kept) + 1
    session = headway.open(tmp_path)
    assert [content.split()[0] for content in contents(session)] == [*kept, "last"]
    session.close()
    assert look(file_of(tmp_path), "PRAGMA integrity_check") == [("ok",)]


AS_NOBODY = """
import contextlib, json, os, sys, tempfile, urllib.parse
import platformdirs
import headway, headway.adoption, headway.core.store, headway.store.sqlite
if os.getuid() == 0:  # whom no permission stops
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
os.environ["XDG_CONFIG_HOME"] = tempfile.mkdtemp()
with contextlib.suppress(OSError):  # the file is not there, or cannot be reached
    headway.adoption.adopt_file(os.path.join(sys.argv[1], ".headway", "headway.db"))

def outcome(action):
    try:
        return action()
    except headway.HeadwayError as error:
        return [type(error).__name__, str(error)]

session = headway.open(sys.argv[1])
read = lambda: [todo.content for todo in session.todos]
found = {
    "read": outcome(read),
    "write": outcome(lambda: session.add("B").id),
    "current": outcome(lambda: session.store.set_current("x")),
    "again": outcome(read),
    "sessions": outcome(lambda: [info.name for info in session.store.sessions()]),
}
session.close()
print(json.dumps(found))
"""


@pytest.fixture
def readable_project() -> Iterator[Path]:
    """A project with one todo, in a folder that everybody may enter."""
    with temporary_folder() as folder:
        folder.chmod(0o755)
        session = headway.open(folder)
        session.add("A")
        session.close()
        yield folder
        for entry in (folder, folder / ".headway"):
            if entry.exists():
                entry.chmod(0o755)


def refused_writes(found: dict[str, list[str] | int | str]) -> bool:
    outcomes = [found["write"], found["current"]]
    return all(isinstance(outcome, list) and outcome[0] == "StoreReadOnly" for outcome in outcomes)


@pytest.mark.parametrize(("folder_mode", "file_mode"), [(0o777, 0o444), (0o555, 0o444), (0o555, 0o666)])
def test_a_file_or_folder_that_may_only_be_read_is_read(
    readable_project: Path, folder_mode: int, file_mode: int
) -> None:
    path = file_of(readable_project)
    before = path.read_bytes()
    path.chmod(file_mode)
    path.parent.chmod(folder_mode)
    found = run(AS_NOBODY, readable_project)
    assert (found["read"], found["again"], found["sessions"]) == (["A"], ["A"], ["default"])
    assert refused_writes(found)
    assert isinstance(found["write"], list)
    assert "is not writable" in found["write"][1]
    assert path.read_bytes() == before


def test_a_project_where_nothing_may_be_made_reads_as_empty(readable_project: Path) -> None:
    shutil.rmtree(readable_project / ".headway")
    readable_project.chmod(0o555)
    found = run(AS_NOBODY, readable_project)
    assert (found["read"], found["again"], found["sessions"]) == ([], [], [])
    assert refused_writes(found)
    assert os.listdir(readable_project) == []


def test_a_folder_that_may_not_be_looked_into_is_an_error_and_not_an_empty_list(readable_project: Path) -> None:
    (readable_project / ".headway").chmod(0o000)
    found = run(AS_NOBODY, readable_project)
    for name in ("read", "write", "again", "sessions"):
        outcome = found[name]
        assert isinstance(outcome, list)
        assert outcome[0] == "StoreReadOnly"


def test_changes_that_wait_beside_a_read_only_file_are_not_passed_over(readable_project: Path) -> None:
    keeper = sqlite3.connect(file_of(readable_project))
    keeper.execute("SELECT count(*) FROM events").fetchone()
    session = headway.open(readable_project)
    session.add("not yet in the main file")
    copy = readable_project / "copy"
    shutil.copytree(readable_project / ".headway", copy / ".headway")
    session.close()
    keeper.close()
    (copy / ".headway" / "headway.db-shm").unlink()
    (copy / ".headway").chmod(0o555)
    found = run(AS_NOBODY, copy)
    (copy / ".headway").chmod(0o755)
    read = found["read"]
    assert isinstance(read, list)
    assert read[0] == "StoreReadOnly" or "not yet in the main file" in read


def test_a_read_only_project_shows_what_others_write_and_is_written_once_it_may_be(readable_project: Path) -> None:
    script = AS_NOBODY.split("def outcome")[0] + (
        "session = headway.open(sys.argv[1])\n"
        "def say(): print(json.dumps([todo.content for todo in session.todos]), flush=True)\n"
        "say()\n"
        "for line in sys.stdin:\n"
        "    if line.strip(): session.add(line.strip())\n"
        "    say()\n"
        "session.close()\n"
    )
    folder = readable_project / ".headway"
    folder.chmod(0o555)
    reader = start(python(script, readable_project), given=None)
    assert json.loads(reader.out.line()) == ["A"]
    folder.chmod(0o777)
    session = headway.open(readable_project)  # which closes the folder to others
    session.add("B")
    session.close()
    folder.chmod(0o777)
    file_of(readable_project).chmod(0o666)
    reader.write("\n")
    assert json.loads(reader.out.line()) == ["A", "B"]
    reader.write("C\n")
    reader.close_stdin()
    assert json.loads(reader.end().out) == ["A", "B", "C"]


def test_an_error_of_the_store_is_also_an_os_error() -> None:
    assert issubclass(StoreError, OSError)


NO_ROOM = """
import resource, sys
import headway
resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))
session = headway.open(sys.argv[1])
print([todo.content for todo in session.todos])
try:
    session.add("B")
except headway.StoreFull as error:
    print(error)
print([todo.content for todo in session.todos])
"""


def test_a_list_can_be_read_where_there_is_no_room_even_for_the_files_beside_it(tmp_path: Path) -> None:
    session = headway.open(tmp_path)
    session.add("A")
    session.close()
    done = run_python(NO_ROOM, tmp_path)
    assert done.err == ""
    before, said, after = done.out.splitlines()
    assert before == after == "['A']"
    assert said.startswith("There is no space left on the disk to write")
    session.add("B")
    assert [todo.content for todo in session.todos] == ["A", "B"]
    session.close()
