"""Files that cannot be used: each ends in the right error, one line long, and stays as it is byte for byte."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from headway import Session, StoreCorrupt, StoreError, StoreTooNew

from .conftest import Opener
from .samples import connection, look, over


@pytest.fixture
def full(opened: Opener, path: Path) -> Path:
    """A file with a few hundred events."""
    session = over(opened())
    session.write([{"content": f"item {n} " + "x" * 200} for n in range(50)])
    for n in range(100):
        session.update("t1", notes=f"note {n}")
    session.close()
    return path


def refused(opened: Opener, path: Path, kind: type[StoreError]) -> str:
    """Reading and writing both fail with this error; the file stays as it is. Returns what the error says."""
    before = path.read_bytes()
    said = ""
    actions: list[Callable[[Session], object]] = [
        lambda session: session.todos,
        lambda session: session.write([{"content": "new"}]),
        lambda session: session.undo(),
    ]
    for action in actions:
        session = over(opened())
        with pytest.raises(StoreError) as caught:
            action(session)
        session.close()
        assert type(caught.value) is kind
        said = str(caught.value)
        assert str(path) in said
        assert "\n" not in said
        assert said.endswith(".")
        assert path.read_bytes() == before
    return said


@pytest.mark.parametrize("text", [b"ab", b"just some text\n", b"# notes\n" * 2000, b"SQLite format 3\x00", bytes(4096)])
def test_a_file_that_is_no_database_is_refused(opened: Opener, path: Path, text: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(text)
    assert "damaged or is not a Headway file" in refused(opened, path, StoreCorrupt)


@pytest.mark.parametrize("keep", [2, 50, 100, 1000, 4096, 5000, 12_000])
def test_a_truncated_file_is_refused(opened: Opener, full: Path, keep: int) -> None:
    with full.open("r+b") as file:
        file.truncate(keep)
    assert "Restore it from a backup" in refused(opened, full, StoreCorrupt)


def test_a_file_with_overwritten_pages_is_refused(opened: Opener, full: Path) -> None:
    with full.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (full.stat().st_size - 4096))
    refused(opened, full, StoreCorrupt)


@pytest.mark.parametrize(
    "marks",
    [
        ["CREATE TABLE notes (text)"],
        ["PRAGMA user_version = 3", "CREATE TABLE notes (text)"],
        ["PRAGMA application_id = 7", "PRAGMA user_version = 0"],
    ],
)
def test_a_database_of_another_program_is_left_alone(opened: Opener, path: Path, marks: list[str]) -> None:
    path.parent.mkdir()
    for statement in marks:
        look(path, statement)
    assert "it belongs to another program" in refused(opened, path, StoreCorrupt)


def test_a_file_from_a_newer_version_is_left_alone(opened: Opener, full: Path) -> None:
    look(full, "PRAGMA user_version = 99")
    said = refused(opened, full, StoreTooNew)
    assert "schema 99" in said
    assert "Upgrade Headway" in said


@pytest.mark.parametrize(
    "data",
    [
        "",
        "{",
        "null",
        "[]",
        "{}",
        "7",
        '{"cause":"write"}',
        '{"cause":"write","previous":0,"changed":[]}',
        '{"cause":"write","previous":0,"changed":{"t1":{"nope":[1,2]}}}',
        '{"cause":"write","previous":0,"changed":{"t1":{"status":["pending","lost"]}}}',
        '{"cause":"write","previous":0,"added":[{"id":"t1"}]}',
        '{"cause":"write","previous":0,"added":[{"id":"t1","content":"a","evidence":"x"}]}',
        '{"cause":"write","previous":0,"order":[1]}',
    ],
)
def test_an_event_that_cannot_be_read_is_named(opened: Opener, full: Path, data: str) -> None:
    look(full, "UPDATE events SET data = ? WHERE version = 101", data)
    assert "event 101 cannot be read" in refused(opened, full, StoreCorrupt)


def test_a_plan_that_cannot_be_read_is_named(opened: Opener, full: Path) -> None:
    look(full, """UPDATE events SET type = 'PlanUpdated', data = '{"plan":{}}' WHERE version = 101""")
    assert "event 101 cannot be read" in refused(opened, full, StoreCorrupt)


def test_an_event_of_an_unknown_kind_comes_from_a_newer_headway(opened: Opener, full: Path) -> None:
    look(full, "UPDATE events SET type = 'SomethingElse' WHERE version = 101")
    assert "event 101 is a 'SomethingElse'" in refused(opened, full, StoreTooNew)


def test_an_unknown_field_of_an_item_comes_from_a_newer_headway(opened: Opener, full: Path) -> None:
    data = '{"cause":"write","previous":0,"added":[{"id":"t1","content":"a","labels":1}]}'
    look(full, "UPDATE events SET data = ? WHERE version = 101", data)
    assert "the field 'labels'" in refused(opened, full, StoreTooNew)


def test_a_gap_in_the_log_is_an_error_that_says_so(opened: Opener, full: Path) -> None:
    look(full, "UPDATE events SET version = 102 WHERE version = 101")
    assert "events are missing after version 100" in refused(opened, full, StoreCorrupt)


def test_text_that_is_no_utf8_is_an_error_that_says_so(opened: Opener, full: Path) -> None:
    look(full, "UPDATE events SET data = CAST(x'7bff7d' AS TEXT) WHERE version = 101")
    assert "UTF-8" in refused(opened, full, StoreCorrupt)


def test_a_missing_table_is_an_error_that_says_so(opened: Opener, full: Path) -> None:
    look(full, "DROP TABLE events")
    refused(opened, full, StoreCorrupt)


def test_a_file_moved_away_lets_the_project_start_anew(opened: Opener, full: Path) -> None:
    full.write_bytes(b"broken")
    session = over(opened())
    with pytest.raises(StoreCorrupt):
        _ = session.todos
    shutil.move(full, full.with_suffix(".old"))
    assert session.add("A").id == "t1"


def test_a_folder_in_the_place_of_the_file_is_an_error(opened: Opener, path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(StoreError, match="is not a file; move it out of the way"):
        over(opened()).add("A")


def test_a_file_in_the_place_of_the_folder_is_an_error(opened: Opener, path: Path) -> None:
    path.parent.write_text("not a folder")
    session = over(opened())
    assert session.todos == []
    with pytest.raises(StoreError, match="is not a folder; move it out of the way"):
        session.add("A")
    assert path.parent.read_text() == "not a folder"


def test_a_sound_file_passes_the_check_that_the_damaged_ones_fail(opened: Opener, full: Path) -> None:
    store = opened()
    assert len(over(store).todos) == 50
    assert connection(store).execute("PRAGMA integrity_check").fetchone() == ("ok",)
