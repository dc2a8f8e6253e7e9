"""Files of sessions that someone else may have written: refused until they are adopted."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

import headway
from headway import StoreCorrupt, StoreForeign
from headway.adoption import adopt_file
from headway.store.foreign_files import FOLDED_TO_ASCII

from .samples import file_of


def git(folder: Path, *words: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with one todo."""
    folder = tmp_path / "project"
    folder.mkdir()
    with closing(headway.open(folder)) as session:
        session.add("A")
    return folder


def contents(project: Path) -> list[str]:
    with closing(headway.open(project)) as session:
        return [todo.content for todo in session.todos]


ALTERATIONS = {
    "trigger": "CREATE TRIGGER extra AFTER INSERT ON events BEGIN DELETE FROM settings; END",
    "view": "CREATE VIEW extra AS SELECT 1",
    "table": "CREATE TABLE extra (x)",
    "index": "CREATE INDEX extra ON events (at)",
    "expression index": "CREATE INDEX extra ON events (hex(data))",
    "generated column": "ALTER TABLE leases ADD COLUMN extra AS (abs(until))",
    "column": "ALTER TABLE settings ADD COLUMN extra TEXT DEFAULT 'x'",
    "virtual table": "CREATE VIRTUAL TABLE extra USING fts5(x)",
    "missing table": "DROP TABLE leases",
    "replaced table": "DROP TABLE settings; CREATE VIEW settings AS SELECT 'current' AS key, 'x' AS value",
}


@pytest.mark.parametrize("sql", ALTERATIONS.values(), ids=ALTERATIONS)
def test_a_file_with_anything_headway_did_not_make_is_refused_and_left_as_it_is(project: Path, sql: str) -> None:
    with closing(sqlite3.connect(file_of(project), isolation_level=None)) as db:
        db.executescript(sql)
    before = file_of(project).read_bytes()
    for _ in range(2):
        with pytest.raises(StoreCorrupt, match="which Headway did not make like that; it was left as it is") as error:
            contents(project)
        assert re.search(r"has '(extra|leases|settings)'", str(error.value))
    assert file_of(project).read_bytes() == before


def test_a_trigger_hidden_behind_a_name_of_sqlite_is_refused(project: Path) -> None:
    with closing(sqlite3.connect(file_of(project), isolation_level=None)) as db:
        db.execute("CREATE TRIGGER extra AFTER INSERT ON events BEGIN DELETE FROM settings; END")
        db.execute("PRAGMA writable_schema = ON")
        db.execute("UPDATE sqlite_master SET name = 'sqlite_stat1', type = 'trigger' WHERE name = 'extra'")
    with pytest.raises(StoreCorrupt):
        contents(project)


def test_the_figures_of_analyze_are_no_alteration(project: Path) -> None:
    with closing(sqlite3.connect(file_of(project), isolation_level=None)) as db:
        db.execute("ANALYZE")
    assert contents(project) == ["A"]


@pytest.mark.parametrize("number", [1, 20])
def test_a_trigger_made_while_the_file_is_open_is_noticed_by_the_next_append(project: Path, number: int) -> None:
    session = headway.open(project)
    assert session.version == 1
    with closing(sqlite3.connect(file_of(project), isolation_level=None)) as db:
        db.execute(
            "CREATE TRIGGER extra AFTER INSERT ON events WHEN new.type <> 'x' BEGIN INSERT INTO events"
            " VALUES (new.session_id, new.version + 100, new.at, new.agent, new.actor, 'x', '{}'); END"
        )
    with pytest.raises(StoreCorrupt, match="changed by itself"):
        session.write([{"content": f"B{n}"} for n in range(number)])
    session.close()


def test_a_file_that_git_tracks_is_used_only_once_it_is_adopted(project: Path, tmp_path: Path) -> None:
    git(project, "init", "-q")
    (project / ".headway/.gitignore").unlink()
    git(project, "add", "-f", ".headway/headway.db")
    git(project, "commit", "-qm", "A")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(project), "clone")
    for folder in (project, clone):
        with pytest.raises(StoreForeign, match=r"git tracks the file: .*adopt it"):
            contents(folder)
        with closing(headway.open(folder)) as session, pytest.raises(StoreForeign):
            session.add("B")
    adopt_file(str(file_of(clone)))
    assert contents(clone) == ["A"]
    with pytest.raises(StoreForeign):
        contents(project)
    shutil.copy(file_of(clone), file_of(clone).with_name("other"))  # another file in its place was not adopted
    os.replace(file_of(clone).with_name("other"), file_of(clone))
    with pytest.raises(StoreForeign):
        contents(clone)


@pytest.mark.parametrize("suffix", ["-wal", "-journal"])
def test_a_side_file_that_came_with_a_pull_is_not_taken_for_a_part_of_the_users_file(
    project: Path, suffix: str
) -> None:
    git(project, "init", "-q")
    side = file_of(project).with_name(f"headway.db{suffix}")
    side.write_bytes(b"x")
    git(project, "add", "-f", str(side))
    with pytest.raises(StoreForeign, match="git tracks the file"):
        contents(project)


@pytest.mark.parametrize("kind", ["link", "other name", "pipe", "folder"])
@pytest.mark.parametrize("suffix", ["", "-wal"])
def test_a_file_that_is_not_one_of_its_own_is_refused_and_left_as_it_is(
    project: Path, tmp_path: Path, kind: str, suffix: str
) -> None:
    place, other = file_of(project).with_name(f"headway.db{suffix}"), tmp_path / "other"
    other.write_bytes(file_of(project).read_bytes() if not suffix else b"of the user\n")
    before = other.read_bytes()
    place.unlink(missing_ok=True)
    match kind:
        case "link":
            place.symlink_to(other)
        case "other name":
            os.link(other, place)
        case "pipe":
            os.mkfifo(place)
        case _:
            place.mkdir()
    with pytest.raises(StoreForeign, match=r"is a link|is not a file|is another name of some other file"):
        contents(project)
    with pytest.raises(StoreForeign), closing(headway.open(project)) as session:
        session.add("B")
    assert other.read_bytes() == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
@pytest.mark.parametrize("path", [".headway", ".headway/headway.db"])
def test_a_file_of_another_user_is_not_used(project: Path, path: str) -> None:
    os.chown(project / path, 12345, 12345)
    with pytest.raises(StoreForeign, match="another user owns the file"):
        contents(project)


def test_letters_that_may_be_taken_for_ascii_are_all_known() -> None:
    from unicodedata import normalize

    found = {
        letter: folded
        for letter in map(chr, range(0x80, 0x110000))
        if (folded := normalize("NFC", letter).casefold()).isascii() and not "\ud800" <= letter <= "\udfff"
    }
    assert {letter: folded for letter, folded in found.items() if folded.isalpha()} == FOLDED_TO_ASCII
