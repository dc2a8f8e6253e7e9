"""Whether git tracks a file, read from the indexes of real repositories, made by git."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from headway.store.foreign_files import is_tracked

FILE = ".headway/headway.db"


def git(folder: Path, *words: str) -> None:
    identity = ["-c", "user.name=A", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, timeout=60)


def is_file_tracked(root: Path) -> bool:
    return is_tracked(str(root / FILE))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a file that git does not know."""
    made = tmp_path / "project"
    (made / ".headway").mkdir(parents=True)
    (made / FILE).touch()
    return made


@pytest.mark.parametrize("digest", ["sha1", "sha256"])
@pytest.mark.parametrize("version", ["2", "4"])
def test_a_tracked_file_is_found_among_others(folder: Path, version: str, digest: str) -> None:
    git(folder, "init", f"--object-format={digest}")
    for name in ("a", ".headway/headway.d", f"sub/{FILE}"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
        git(folder, "add", "-f", name)
    git(folder, "update-index", "--index-version", version)
    assert not is_file_tracked(folder)
    git(folder, "add", "-f", FILE)
    assert is_file_tracked(folder)


def test_a_clone_a_worktree_and_a_folder_below_are_looked_into(folder: Path, tmp_path: Path) -> None:
    git(folder, "init")
    for place in (FILE, f"sub/{FILE}"):
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).touch()
        git(folder, "add", "-f", place)
    git(folder, "commit", "-m", "A")
    git(tmp_path, "clone", str(folder), "clone")
    git(folder, "worktree", "add", str(tmp_path / "tree"))
    git(folder, "update-index", "--split-index")
    for root in (folder, tmp_path / "clone", tmp_path / "tree"):
        assert (root / ".git").is_file() is (root.name == "tree")
        assert is_file_tracked(root) and is_file_tracked(root / "sub")


def test_a_submodule_and_links_are_looked_through(folder: Path, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "headway.db").touch()
    git(inner, "init")
    git(inner, "add", "headway.db")
    git(inner, "commit", "-m", "A")
    (folder / FILE).unlink()
    (folder / ".headway").rmdir()
    git(folder, "init")
    git(folder, "submodule", "add", str(inner), ".headway")
    assert is_file_tracked(folder)
    other = tmp_path / "other"
    (other / "stuff").mkdir(parents=True)
    (other / "stuff/headway.db").touch()
    (other / ".headway").symlink_to("stuff")
    git(other, "init")
    git(other, "add", ".")
    assert is_file_tracked(other)
    (tmp_path / "way").symlink_to(other)
    assert is_file_tracked(tmp_path / "way")


def test_another_way_of_writing_the_name_counts(folder: Path) -> None:
    (folder / ".Headway").mkdir()
    (folder / ".Headway/Headway.db").touch()
    git(folder, "init")
    git(folder, "add", "-f", ".Headway")
    assert is_file_tracked(folder)


@pytest.mark.parametrize("index", [b"", b"DIRC", b"nonsense" * 50, b"DIRC\0\0\0\x09\0\0\0\x01" + b"\0" * 80])
def test_an_index_that_cannot_be_read_counts_as_a_yes(folder: Path, index: bytes) -> None:
    (folder / ".git").mkdir()
    assert not is_file_tracked(folder)
    (folder / ".git/index").write_bytes(index)
    assert is_file_tracked(folder)
