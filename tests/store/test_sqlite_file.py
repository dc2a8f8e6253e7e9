"""The file of the SQLite store: when it is made, how it is set up, what is in it, and reading it again."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import headway
from headway import Event, Session, StoreConflict, StoreCorrupt
from headway.core.codec import read_state
from headway.store.migrations import APPLICATION_ID, MIGRATIONS, NEWEST, migrate
from headway.store.sqlite import SqliteStore

from .conftest import Opener
from .samples import connection, contents, event, file_of, look, over, side_files


def test_nothing_is_on_the_disk_before_the_first_write(tmp_path: Path) -> None:
    session = headway.open(tmp_path)
    assert (session.todos, session.version, session.history(), session.recap()) == (
        [],
        0,
        [],
        "[0/0] In progress: None.",
    )
    assert session.store.sessions() == []
    assert session.store.current() is None
    assert session.store.delete("default") is False
    session.on("todos:update", print)
    assert list(session.watch(timeout=0.01)) == []
    with pytest.raises(headway.TodoNotFound):
        session.update("t1", status="completed")
    session.clear()
    assert os.listdir(tmp_path) == []
    session.add("A")
    assert os.listdir(tmp_path) == [".headway"]
    session.close()


def test_the_folder_ignores_itself_in_git(opened: Opener, path: Path) -> None:
    over(opened()).add("A")
    assert (path.parent / ".gitignore").read_text() == "*\n"


def test_an_ignore_file_that_is_there_stays_as_it_is(opened: Opener, path: Path) -> None:
    path.parent.mkdir()
    (path.parent / ".gitignore").write_text("mine\n")
    over(opened()).add("A")
    assert (path.parent / ".gitignore").read_text() == "mine\n"


def test_after_closing_there_is_one_file(opened: Opener, path: Path) -> None:
    store = opened()
    over(store).add("A")
    store.close()
    assert side_files(path) == [".gitignore", "headway.db"]


def test_a_session_in_memory_can_be_used_after_it_is_closed(session: Session) -> None:
    session.add("A")
    session.close()
    assert [todo.content for todo in session.todos] == ["A"]


def test_a_closed_store_opens_again_when_it_is_used(opened: Opener) -> None:
    store = opened()
    session = over(store)
    session.add("A")
    store.close()
    store.close()
    assert contents(session) == ["A"]
    session.add("B")
    assert contents(session) == ["A", "B"]


@pytest.mark.disk
@pytest.mark.parametrize("again", [False, True])
def test_appends_are_durable_and_rows_stay_linked(opened: Opener, again: bool) -> None:
    store = opened()
    over(store).add("A")
    if again:
        store.close()
        assert store.version("default") == 1
    settings = ("journal_mode", "synchronous", "foreign_keys", "user_version", "application_id")
    found = [connection(store).execute(f"PRAGMA {name}").fetchone()[0] for name in settings]
    assert found == ["wal", 2, 1, NEWEST, APPLICATION_ID]


def test_an_append_is_seen_by_others_when_it_returns(opened: Opener, path: Path) -> None:
    over(opened()).add("A")
    assert look(path, "SELECT name, version, actor FROM sessions JOIN events ON session_id = id") == [
        ("default", 1, "user")
    ]


def test_deleting_a_session_leaves_none_of_its_rows(opened: Opener, path: Path) -> None:
    store = opened()
    store.append("s", 0, [event(1)], "{}")
    store.delete("s")
    for table in ("sessions", "events", "snapshots", "settings"):
        assert look(path, f"SELECT count(*) FROM {table}") == [(0,)]


@pytest.mark.disk
def test_opening_again_gives_an_equal_state(tmp_path: Path) -> None:
    session = headway.open(tmp_path, "work")
    session.write(
        [
            {"content": "修复 😀\x00\x1b[0m", "status": "in_progress", "risks": ["a"], "notes": "line\nline"},
            {"content": "B", "priority": "low", "evidence": {"level": "verified", "files": ["f"]}},
        ],
        title="T",
        summary="S",
    )
    session.set_plan({"title": "P", "overview": "O", "steps": [{"id": "s", "description": "d"}]})
    session.claim("ada")
    session.renew("t2", "ada", 999)
    session.agent("sub-1").add("C")
    session.undo()
    session.set_plan_mode(True)
    state, events = session.state, list(session.events())
    session.close()
    again = headway.open(tmp_path, "work")
    assert again.state == state
    assert [todo.id for todo in again.todos] == ["t1", "t2"]
    assert list(again.events()) == events
    assert again.redo()[1].owner == "ada"
    assert again.version == state.version + 1
    again.close()


def many_changes(store: SqliteStore, count: int) -> None:
    session = over(store)
    session.write([{"content": "A"}, {"content": "B"}])
    for n in range(count - 1):
        session.update("t1", notes=f"note {n}")


def test_a_snapshot_is_written_about_every_hundred_events_and_used(opened: Opener, path: Path, tmp_path: Path) -> None:
    store = opened()
    many_changes(store, 99)
    assert store.snapshot("default") is None
    over(store).update("t2", status="completed")
    over(store).agent("sub-1").add("C")
    many = over(store)
    for n in range(130):
        many.update("t1", notes=f"later {n}")
    snapshot = store.snapshot("default")
    assert snapshot is not None
    assert snapshot.version == 200
    state = read_state(snapshot.text)
    assert state is not None
    assert state.version == 200
    expected = many.state
    store.close()
    copy = file_of(tmp_path / "copy")
    copy.parent.mkdir(parents=True)
    shutil.copy(path, copy)
    look(copy, "DELETE FROM events WHERE version <= 200")
    reader = SqliteStore(str(copy))
    assert over(reader).state == expected
    with pytest.raises(StoreCorrupt, match="event 200 is missing"):
        over(reader).undo(32)
    reader.close()


@pytest.mark.parametrize(
    "text",
    [
        '{"format":99,"lists":"other"}',
        "{}",
        "[]",
        "null",
        "",
        "{",
        '{"format":1}',
        '{"format":1,"version":7,"lists":[]}',
    ],
)
def test_a_snapshot_that_cannot_be_read_is_ignored(opened: Opener, path: Path, text: str) -> None:
    store = opened()
    many_changes(store, 103)
    expected = over(store).state
    store.close()
    assert look(path, "UPDATE snapshots SET state = ? RETURNING version", text) == [(100,)]
    assert over(opened()).state == expected


def test_migrations_are_numbered_without_gaps() -> None:
    assert NEWEST == len(MIGRATIONS) > 0
    for number, step in enumerate(MIGRATIONS, start=1):
        assert re.fullmatch(rf"m{number:03}_\w+", step.__name__)


def test_a_migration_is_recorded_and_not_applied_twice() -> None:
    db = sqlite3.connect(":memory:", isolation_level=None)
    migrate(db)
    assert db.execute("PRAGMA user_version").fetchone() == (NEWEST,)
    migrate(db)
    assert db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'events'").fetchone() == (1,)
    db.close()


def test_a_file_of_zero_bytes_works(opened: Opener, path: Path) -> None:
    path.parent.mkdir()
    path.touch()
    session = over(opened())
    assert session.todos == []
    assert path.stat().st_size == 0
    session.add("A")
    assert contents(over(opened())) == ["A"]


def test_a_file_whose_creation_was_cut_off_works(opened: Opener, path: Path) -> None:
    path.parent.mkdir()
    look(path, "PRAGMA journal_mode = WAL")
    assert path.stat().st_size > 0
    session = over(opened())
    assert session.todos == []
    session.add("A")
    assert contents(over(opened())) == ["A"]


def test_a_file_deleted_while_open_is_made_anew(opened: Opener, path: Path) -> None:
    session, other = over(opened()), over(opened())
    session.add("A")
    assert contents(other) == ["A"]
    path.unlink()
    assert session.todos == []
    assert session.add("B").id == "t1"
    assert contents(other) == ["B"]
    other.add("C")
    assert contents(session) == ["B", "C"]
    assert look(path, "PRAGMA integrity_check") == [("ok",)]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_session_deleted_and_begun_again_elsewhere_is_told_from_the_one_before(opened: Opener, count: int) -> None:
    mine, other = over(opened()), over(opened())
    other.write([{"content": "A"}, {"content": "B"}])
    other.update("t1", status="completed")
    assert mine.version == 2
    other.store.delete("default")
    for n in range(count):
        other.add(f"new {n}")
    assert contents(mine) == [f"new {n}" for n in range(count)]
    mine.add("mine")
    assert mine.state == other.state


def test_a_folder_deleted_while_open_is_made_anew(opened: Opener, path: Path) -> None:
    session = over(opened())
    session.add("A")
    shutil.rmtree(path.parent)
    session.add("B")
    assert contents(over(opened())) == ["B"]
    assert (path.parent / ".gitignore").exists()


def test_a_project_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(headway.HeadwayError, match="There is no folder"):
        headway.open(tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["", " ", "a\nb", "x" * 201])
def test_a_session_needs_a_printable_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(headway.HeadwayError, match="The name of a session must have"):
        headway.open(tmp_path, name)


def test_a_growing_list_is_not_written_out_again_and_again(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path / ".headway" / "headway.db"))
    kept: list[int] = []
    append = store.append

    def counted(
        session: str, expected: int, events: list[Event], snapshot: str | None, *, identity: object = None
    ) -> object:
        if snapshot is not None:
            kept.append(expected)
        return append(session, expected, events, snapshot, identity=identity)

    store.append = counted
    session = over(store)
    for number in range(3_000):
        session.add(f"Item {number}")
    session.close()
    assert len(kept) < 25


def test_large_events_bring_a_snapshot_sooner(tmp_path: Path) -> None:
    session = headway.open(tmp_path)
    for step in range(8):
        session.write([{"content": f"Item {number} of step {step}"} for number in range(300)])
    (version,) = look(tmp_path / ".headway" / "headway.db", "SELECT version FROM snapshots")[0]
    session.close()
    assert version in (6, 7, 8)


@pytest.mark.parametrize("name", ["headway.db", "headway.db-wal", "headway.db-shm"])
def test_a_file_that_is_a_link_is_not_followed(tmp_path: Path, name: str) -> None:
    (tmp_path / ".headway").mkdir()
    (tmp_path / ".headway" / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(headway.HeadwayError, match="is a link"):
        headway.open(tmp_path)
    assert not (tmp_path / "elsewhere").exists()


# appends that count on nobody having been faster


@pytest.mark.parametrize("number", [1, 12, 13, 40])
def test_a_store_that_knows_its_log_is_refused_when_another_was_faster(opened: Opener, number: int) -> None:
    first, second = opened(), opened()
    first.append("s", 0, [event(1)], None)
    second.append("s", 1, [event(2)], None)
    mine = [event(2 + at) for at in range(number)]
    with pytest.raises(StoreConflict):
        first.append("s", 1, mine, None)
    assert first.events("s", 0) == [event(1), event(2)]
    later = [event(3 + at) for at in range(number)]
    first.append("s", 2, later, None)
    assert second.events("s", 2) == later and first.version("s") == second.version("s") == 2 + number


def test_a_store_that_knows_its_log_is_refused_when_another_deleted_it(opened: Opener, path: Path) -> None:
    first, second = opened(), opened()
    identity = first.append("s", 0, [event(1)], None)
    second.delete("s")
    with pytest.raises(StoreConflict):
        first.append("s", 1, [event(2)], None, identity=identity)
    second.append("s", 0, [event(1)], None)
    with pytest.raises(StoreConflict):
        first.append("s", 1, [event(2)], None, identity=identity)
    assert look(path, "SELECT count(*) FROM events") == [(1,)]
    assert first.position("s") == second.position("s")


def test_what_others_write_to_other_sessions_disturbs_no_append(opened: Opener) -> None:
    first, second = opened(), opened()
    first.append("s", 0, [event(1)], None)
    for version in range(1, 20):
        second.append("other", version - 1, [event(version)], None)
        first.append("s", version, [event(version + 1)], None)
    assert first.version("s") == 20 and first.version("other") == 19
    assert second.version("s") == 20


@pytest.mark.parametrize("number", [1, 20])
def test_a_file_that_was_put_back_meanwhile_takes_no_append_after_what_is_gone(
    opened: Opener, path: Path, tmp_path: Path, number: int
) -> None:
    store = opened()
    store.append("s", 0, [event(1)], None)
    with closing(sqlite3.connect(path)) as db, closing(sqlite3.connect(tmp_path / "copy")) as copy:
        db.backup(copy)
        store.append("s", 1, [event(2), event(3)], None)
        copy.backup(db)
    with pytest.raises(StoreConflict):
        store.append("s", 3, [event(4 + at) for at in range(number)], None)
    assert store.events("s", 0) == [event(1)]
    store.append("s", 1, [event(2)], None)
    assert opened().version("s") == 2


def test_an_append_after_what_was_read_is_taken_also_if_the_position_was_read_before(opened: Opener) -> None:
    first, second = opened(), opened()
    first.append("s", 0, [event(1)], None)
    assert first.version("s") == 1
    second.append("s", 1, [event(2)], None)
    assert len(first.events("s", 0)) == 2
    first.append("s", 2, [event(3)], None)
    assert second.version("s") == 3
