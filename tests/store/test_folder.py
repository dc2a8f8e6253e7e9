"""The folder `.headway`: closed to others from the beginning, or from now on."""

from __future__ import annotations

import os
import stat
from contextlib import closing
from pathlib import Path

import pytest

import headway
from headway import StoreError
from headway.store.folder import make_closed_folder, make_private_folder


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(params=[0o000, 0o022, 0o077])
def umask(request: pytest.FixtureRequest):
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


@pytest.mark.usefixtures("umask")
def test_a_new_folder_and_the_file_in_it_are_the_owners_alone(tmp_path: Path):
    make_private_folder(str(tmp_path / "deep" / ".headway"))
    assert mode(tmp_path / "deep" / ".headway") == 0o700
    assert mode(tmp_path / "deep" / ".headway" / ".gitignore") == 0o600


def test_a_folder_that_was_open_is_closed_and_keeps_what_is_in_it(tmp_path: Path):
    folder = tmp_path / ".headway"
    folder.mkdir(mode=0o755)
    (folder / "kept").write_text("x")
    (folder / ".gitignore").write_text("mine\n")
    make_private_folder(str(folder))
    make_private_folder(str(folder))
    assert mode(folder) == 0o700
    assert (folder / "kept").read_text() == "x"
    assert (folder / ".gitignore").read_text() == "mine\n"


def test_git_is_told_to_ignore_all_of_it(tmp_path: Path):
    make_private_folder(str(tmp_path / ".headway"))
    assert (tmp_path / ".headway" / ".gitignore").read_text() == "*\n"


def test_a_folder_inside_is_closed_without_a_word_to_git(tmp_path: Path):
    (tmp_path / "outputs").mkdir(mode=0o777)
    make_closed_folder(str(tmp_path / "outputs"))
    assert mode(tmp_path / "outputs") == 0o700
    assert [*(tmp_path / "outputs").iterdir()] == []


@pytest.mark.parametrize("make", [make_private_folder, make_closed_folder])
def test_a_file_in_its_place_is_an_error_that_says_so(tmp_path: Path, make: object):
    (tmp_path / ".headway").write_text("x")
    for path in (".headway", ".headway/below"):
        with pytest.raises(StoreError, match="is not a folder; move it out of the way and try again"):
            make(str(tmp_path / path))  # pyright: ignore
    assert (tmp_path / ".headway").read_text() == "x"


def test_a_session_closes_the_folder_it_is_kept_in(tmp_path: Path):
    (tmp_path / ".headway").mkdir(mode=0o755)
    headway.open(tmp_path).add("something")
    assert mode(tmp_path / ".headway") == 0o700


def test_a_copy_is_closed_to_others_before_it_is_read(tmp_path: Path) -> None:
    with closing(headway.open(tmp_path)) as session:
        session.add("A")
    folder, elsewhere = tmp_path / ".headway", tmp_path / "elsewhere"
    elsewhere.write_text("x")
    (folder / "outputs").mkdir()
    (folder / "config.toml").write_text("")
    (folder / "link").symlink_to(elsewhere)
    (folder / "also-elsewhere").hardlink_to(elsewhere)
    for path, bits in (
        (folder, 0o755),
        (folder / "outputs", 0o777),
        (folder / "headway.db", 0o664),
        (elsewhere, 0o644),
    ):
        path.chmod(bits)
    (folder / "config.toml").chmod(0o644)
    with closing(headway.open(tmp_path)) as session:
        assert [todo.content for todo in session.todos] == ["A"]
    assert {path.name: mode(path) for path in (folder, *(folder / name for name in os.listdir(folder)))} == {
        ".headway": 0o700,
        ".gitignore": 0o600,
        "outputs": 0o700,
        "headway.db": 0o600,
        "config.toml": 0o600,
        "link": 0o644,
        "also-elsewhere": 0o644,
    }
