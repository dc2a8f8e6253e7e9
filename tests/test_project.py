"""Which folder is the project: the nearest with `.headway` or `.git`, never one further up that is not meant."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from headway.project import find_project


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    return folder


def found(start: Path) -> str:
    return find_project(os.environ, str(start))


def test_the_nearest_of_either_marker_wins(home: Path) -> None:
    deep = home / "outer" / "inner" / "deep"
    deep.mkdir(parents=True)
    assert found(deep) == str(deep)
    (home / "outer" / ".headway").mkdir()
    assert found(deep) == str(home / "outer")
    (home / "outer" / "inner" / ".git").write_text("gitdir: elsewhere\n")  # as in a worktree or submodule
    assert found(deep) == str(home / "outer" / "inner")
    (deep / ".headway").mkdir()
    assert found(deep) == str(deep)


@pytest.mark.parametrize("marker", [".headway", ".git"])
def test_the_home_folder_is_a_project_only_for_who_is_in_it(home: Path, marker: str) -> None:
    (home / marker).mkdir()
    (home / "code" / "repository").mkdir(parents=True)
    assert found(home / "code" / "repository") == str(home / "code" / "repository")
    assert found(home) == str(home)
    (home.parent / "link").symlink_to(home)
    assert found(home.parent / "link" / "code") == str(home.parent / "link" / "code")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
@pytest.mark.parametrize("named", ["", "home"])
def test_without_a_usable_name_for_it_the_home_folder_is_the_one_of_the_account(
    home: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    entry = pwd.struct_passwd(("a", "x", 1, 1, "A", str(home), "/bin/sh"))

    def entry_of_account(_: int) -> pwd.struct_passwd:
        return entry

    monkeypatch.setattr(pwd, "getpwuid", entry_of_account)
    monkeypatch.setenv("HOME", named)
    (home / ".headway").mkdir()
    (home / "code").mkdir()
    assert found(home / "code") == str(home / "code")


def test_the_search_does_not_enter_a_folder_of_another_user(tmp_path: Path, home: Path) -> None:
    shared = tmp_path / "shared"
    (shared / "mine" / "deep").mkdir(parents=True)
    (shared / ".headway").mkdir()
    assert found(shared / "mine" / "deep") == str(shared)
    os.chown(shared, 12345, 12345)
    assert found(shared / "mine" / "deep") == str(shared / "mine" / "deep")
    assert found(shared) == str(shared)


def test_a_project_that_is_named_counts_wherever_it_is(home: Path) -> None:
    (home / ".git").mkdir()
    assert find_project({"HEADWAY_PROJECT": str(home)}, str(home.parent)) == str(home)
