"""The exact texts of open questions: there for whoever may answer, nowhere else, and gone with the question."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from headway import StoreBusy, StoreError
from headway.session import SessionStore
from headway.store.leases import this_process

from .conftest import Opener
from .samples import event

TEXT = "rm -rf \udcff / # 第一"


@pytest.fixture
def asking(store: SessionStore) -> SessionStore:
    """A store with a run that asks one question."""
    store.append("s", 0, [event(1)], None)
    store.hold_lease("s", "run:main", this_process("run 1"), 20)
    store.keep_question("s", "q", "run:main", TEXT)
    return store


def files(path: Path) -> list[Path]:
    return sorted(Path(f"{path}-questions").glob("*"))


def test_a_kept_question_is_there_until_it_is_dropped(asking: SessionStore) -> None:
    assert asking.question("s", "q") == TEXT
    assert asking.question("s", "p") is asking.question("t", "q") is None
    asking.drop_question("s", "p")
    asking.drop_ended_questions()
    assert asking.question("s", "q") == TEXT
    asking.drop_question("s", "q")
    assert asking.question("s", "q") is None


def test_a_question_is_gone_with_its_run(asking: SessionStore) -> None:
    asking.release_lease("s", "run:main", this_process("run 1"))
    assert asking.question("s", "q") is None
    asking.hold_lease("s", "run:main", this_process("run 2"), 20)
    assert asking.question("s", "q") is None
    asking.drop_ended_questions()
    asking.release_lease("s", "run:main", this_process("run 2"))
    asking.hold_lease("s", "run:main", this_process("run 1"), 20)
    assert asking.question("s", "q") is None


def test_a_question_of_no_run_is_not_kept(store: SessionStore) -> None:
    store.append("s", 0, [event(1)], None)
    store.keep_question("s", "q", "run:main", TEXT)
    assert store.question("s", "q") is None


def test_another_process_reads_it_and_only_its_owner_can(opened: Opener, path: Path) -> None:
    store = opened()
    store.append("s", 0, [event(1)], None)
    store.hold_lease("s", "run:main", this_process("run 1"), 20)
    store.keep_question("s", "../../q", "run:main", TEXT)
    assert opened().question("s", "../../q") == TEXT
    (file,) = files(path)
    modes = [stat.S_IMODE(one.stat().st_mode) for one in (file, file.parent)]
    assert (modes, file.parent.parent) == ([0o600, 0o700], path.parent)
    shutil.copy(path, path.parent / "backup.db")
    for copy in path.parent.glob("*.db*"):
        assert copy.is_dir() or b"rm -rf" not in copy.read_bytes()
    opened().drop_question("s", "../../q")
    assert files(path) == []


def test_what_a_killed_run_asked_is_gone_when_the_store_is_next_opened(opened: Opener, path: Path) -> None:
    store = opened()
    store.append("s", 0, [event(1)], None)
    store.hold_lease("s", "run:main", this_process("run 1"), 20)
    store.keep_question("s", "open", "run:main", TEXT)
    store.hold_lease("s", "run:sub", "process 1 on elsewhere/1 run 2", 0.0)
    store.hold_lease("s", "run:gone", "elsewhere", 20)
    store.keep_question("s", "ended", "run:gone", TEXT)
    store.release_lease("s", "run:gone", "elsewhere")
    (Path(f"{path}-questions") / "odd").write_text("{")
    assert len(files(path)) == 3
    again = opened()
    assert (again.version("s"), len(files(path)), again.question("s", "open")) == (1, 1, TEXT)


def test_an_open_question_is_kept_while_the_store_is_too_busy_to_say_whose_it_is(opened: Opener, path: Path) -> None:
    store, other = opened(), opened(timeout=0.05)
    store.append("s", 0, [event(1)], None)
    store.hold_lease("s", "run:main", this_process("run 1"), 20)
    store.keep_question("s", "q", "run:main", TEXT)
    store.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as holding:
        holding.execute("PRAGMA locking_mode = EXCLUSIVE")
        holding.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreBusy):
            other.version("s")
        other.drop_ended_questions()
    assert store.question("s", "q") == TEXT


def test_nothing_is_written_or_removed_through_a_link(opened: Opener, path: Path, tmp_path: Path) -> None:
    store = opened()
    store.append("s", 0, [event(1)], None)
    store.hold_lease("s", "run:main", this_process("run 1"), 20)
    target = tmp_path / "theirs"
    target.mkdir()
    (target / "file").write_text("theirs")
    os.symlink(target, f"{path}-questions")
    with pytest.raises(StoreError, match="is a link"):
        store.keep_question("s", "q", "run:main", TEXT)
    store.drop_ended_questions()
    assert opened().version("s") == 1
    assert os.listdir(target) == ["file"]
