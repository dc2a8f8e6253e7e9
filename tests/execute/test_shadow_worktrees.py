"""Worktrees of checkpoints: each item has the files of a commit to itself, and what it changed is merged."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

import pytest
from tests.support.tables import check_rows

from headway.core.errors import HeadwayError
from headway.execute.checkpoint_rules import CheckpointRules
from headway.execute.shadow_repository import NoCheckpoints, ShadowRepository

from .shadows import Content, Link, Program, become, files, git, write

TREE: dict[str, Content] = {
    "a": b"1\n2\n3\n4\n5\n6\n7\n8\n9\n",
    "deep/b\n": b"1",
    "run": Program(b"x"),
    "link": Link("deep"),
    ".gitignore": b"*.o\n.venv/\n",
}


@pytest.fixture
def shadow(tmp_path: Path) -> ShadowRepository:
    write(tmp_path, TREE)
    return ShadowRepository(tmp_path)


def test_a_worktree_has_exactly_the_files_of_its_commit(tmp_path: Path, shadow: ShadowRepository) -> None:
    first = shadow.snapshot()
    write(tmp_path, {"a": b"later", "new": b"later"})
    second = shadow.snapshot()
    folder = shadow.make_worktree("t1", first)
    assert Path(folder) == tmp_path / ".headway/worktrees/t1"
    assert files(folder) == TREE
    assert files(shadow.make_worktree("t2", second)) == files(tmp_path)
    assert files(folder) == TREE


def test_a_worktree_used_again_has_nothing_of_its_earlier_use(tmp_path: Path, shadow: ShadowRepository) -> None:
    first = shadow.snapshot()
    folder = Path(shadow.make_worktree("t1", first))
    become(folder, {"a/b": b"file became folder", "x.o": b"ignored", "deep": Link("/etc"), "junk/x.o": b"1"})
    write(folder, {"run": b"no program"})
    git(tmp_path, "init", "-q", os.fspath(folder / "clone"))
    write(folder, {"clone/x": b"1", "clone.o/y": b"2"})
    (folder / "empty").mkdir()
    os.chmod(folder / "junk", 0o500)
    assert files(shadow.make_worktree("t1", first)) == TREE
    write(folder, {"a": b"edited\n"})
    shadow.snapshot_worktree("t1", first)
    assert files(shadow.make_worktree("t1", first)) == TREE


@pytest.mark.parametrize("spoilt", ["gone", "a link", "a file", "its .git", "the index"])
def test_a_worktree_that_was_spoilt_is_made_again(tmp_path: Path, shadow: ShadowRepository, spoilt: str) -> None:
    first = shadow.snapshot()
    folder, elsewhere = Path(shadow.make_worktree("t1", first)), tmp_path / ".headway/elsewhere"
    write(elsewhere, {"precious": b"1", "a": b"1"})
    if spoilt == "its .git":
        os.unlink(folder / ".git")
        write(folder, {".git/config": b"[core]\n"})
    elif spoilt == "the index":
        write(tmp_path, {".headway/checkpoints/indexes/t1/index": b"nonsense"})
    else:
        become(folder, {})
        os.unlink(folder / ".git")
        folder.rmdir()
        if spoilt == "a link":
            os.symlink(elsewhere, folder)
        elif spoilt == "a file":
            folder.write_bytes(b"1")
    assert files(shadow.make_worktree("t1", first)) == TREE
    assert not folder.is_symlink()
    assert git(folder, "status", "--porcelain") == ""
    assert files(elsewhere) == {"precious": b"1", "a": b"1"}


def test_shared_folders_are_linked_and_never_saved(tmp_path: Path, shadow: ShadowRepository) -> None:
    write(tmp_path, {".venv/bin/python": Program(b"1"), "node_modules/x/.git/HEAD": b"1", "venv": b"not a folder"})
    write(tmp_path, {".git/info/exclude": b"node_modules/\n"})
    first = shadow.snapshot()
    folder = Path(shadow.make_worktree("t1", first))
    assert os.readlink(folder / ".venv") == os.fspath(tmp_path / ".venv")
    assert (folder / ".venv/bin/python").read_bytes() == b"1"
    assert (folder / "node_modules/x").is_dir()
    assert files(folder)["venv"] == b"not a folder"
    assert shadow.snapshot_worktree("t1", first) == first
    write(folder, {"new": b"1"})
    assert shadow.list_changed(first, shadow.snapshot_worktree("t1", first)) == ["new"]
    shadow.make_worktree("t1", first)
    assert (folder / ".venv/bin/python").exists()
    shadow.remove_worktrees()
    assert (tmp_path / ".venv/bin/python").read_bytes() == b"1"


def test_a_folder_that_is_saved_is_not_linked(tmp_path: Path) -> None:
    write(tmp_path, {"node_modules/x": b"1"})
    shadow = ShadowRepository(tmp_path, rules=CheckpointRules(exclude=("!node_modules/",)))
    folder = Path(shadow.make_worktree("t1", shadow.snapshot()))
    assert not (folder / "node_modules").is_symlink()
    write(folder, {"node_modules/x": b"2"})
    assert (tmp_path / "node_modules/x").read_bytes() == b"1"


def test_a_shared_folder_that_is_saved_later_takes_the_place_of_its_link(
    tmp_path: Path, shadow: ShadowRepository
) -> None:
    write(tmp_path, {".venv/x": b"1"})
    shadow.make_worktree("t1", shadow.snapshot())
    write(tmp_path, {".gitignore": b"!.venv/\n"})
    folder = Path(shadow.make_worktree("t1", shadow.snapshot()))
    assert not (folder / ".venv").is_symlink()
    assert (folder / ".venv/x").read_bytes() == b"1"
    assert (tmp_path / ".venv/x").read_bytes() == b"1"


def test_a_link_of_the_item_by_the_name_of_a_shared_folder_is_saved(tmp_path: Path, shadow: ShadowRepository) -> None:
    first = shadow.snapshot()
    folder = Path(shadow.make_worktree("t1", first))
    write(folder, {"venv": Link("deep")})
    assert shadow.list_changed(first, shadow.snapshot_worktree("t1", first)) == ["venv"]


def test_git_in_a_worktree_shows_what_the_item_changed(tmp_path: Path, shadow: ShadowRepository) -> None:
    git(tmp_path, "init", "-q")
    folder = Path(shadow.make_worktree("t1", shadow.snapshot()))
    assert git(folder, "status", "--porcelain") == ""
    write(folder, {"a": b"edited\n"})
    assert git(folder, "status", "--porcelain") == " M a\n"
    assert git(folder, "rev-parse", "--show-toplevel").strip() == os.fspath(folder)


def test_what_the_item_tells_git_hides_nothing_from_its_snapshot(tmp_path: Path, shadow: ShadowRepository) -> None:
    first = shadow.snapshot()
    folder = Path(shadow.make_worktree("t1", first))
    git(folder, "update-index", "--assume-unchanged", "a")
    git(folder, "update-index", "--skip-worktree", "run")
    git(folder, "config", "core.fileMode", "false")
    write(folder, {"a": b"edited\n", "new": b"1"})
    os.unlink(folder / "run")
    os.chmod(folder / "deep/b\n", 0o755)
    git(folder, "add", "new", "deep")
    git(folder, "commit", "-qm", "of the item")
    git(folder, "config", "core.fsmonitor", "touch fsmonitor-ran")
    assert shadow.list_changed(first, shadow.snapshot_worktree("t1", first)) == ["a", "deep/b\n", "new", "run"]
    assert not (folder / "fsmonitor-ran").exists()


def test_a_snapshot_of_a_worktree_is_a_child_of_its_base(tmp_path: Path, shadow: ShadowRepository) -> None:
    first = shadow.snapshot()
    folder = Path(shadow.make_worktree("t1", first))
    assert shadow.snapshot_worktree("t1", first) == first
    write(folder, {"a": b"x", "ignored.o": b"1"})
    os.unlink(folder / "run")
    second = shadow.snapshot_worktree("t1", first)
    assert shadow.list_changed(first, second) == ["a", "run"]
    shadow_git = ("--git-dir", os.fspath(tmp_path / ".headway/checkpoints"))
    assert git(tmp_path, *shadow_git, "rev-list", "--parents", "-1", second).split() == [second, first]
    assert files(tmp_path) == TREE
    assert shadow.snapshot() == first


def test_all_worktrees_go_also_those_of_a_killed_process(tmp_path: Path, shadow: ShadowRepository) -> None:
    first = shadow.snapshot()
    folder = Path(shadow.make_worktree("t1", first))
    write(folder, {"locked/x": b"1"})
    os.chmod(folder / "locked", 0)
    write(tmp_path, {".headway/worktrees/left/x": b"1", ".headway/worktrees/loose": Link(os.fspath(tmp_path / "deep"))})
    ShadowRepository(tmp_path).remove_worktrees()
    assert not (tmp_path / ".headway/worktrees").exists()
    assert files(tmp_path) == TREE
    shadow.remove_worktrees()
    assert files(shadow.make_worktree("t1", first)) == TREE


def test_only_the_worktrees_that_are_wanted_go(tmp_path: Path, shadow: ShadowRepository) -> None:
    first = shadow.snapshot()
    kept, gone = Path(shadow.make_worktree("mine-1", first)), Path(shadow.make_worktree("other-1", first))
    write(kept, {"new": b"1"})
    shadow.remove_worktrees(lambda name: name.startswith("other-"))
    assert not gone.exists()
    assert shadow.list_changed(first, shadow.snapshot_worktree("mine-1", first)) == ["new"]


@pytest.mark.parametrize("place", ["worktrees", "checkpoints/worktrees", "checkpoints/indexes"])
def test_removing_worktrees_follows_no_link(tmp_path: Path, shadow: ShadowRepository, place: str) -> None:
    shadow.make_worktree("t1", shadow.snapshot())
    link = tmp_path / ".headway" / place
    shutil.rmtree(link)
    link.symlink_to(tmp_path / "deep")
    with pytest.raises(HeadwayError, match="is a link"):
        shadow.remove_worktrees()
    assert files(tmp_path) == TREE


def test_a_snapshot_that_failed_half_way_loses_nothing(
    tmp_path: Path, shadow: ShadowRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = shadow.snapshot()
    write(shadow.make_worktree("t1", first), {"new": b"1"})

    def fails(*_: object) -> str:
        raise OSError("No space left on device")

    with monkeypatch.context() as full:
        full.setattr(ShadowRepository, "_commit", fails)
        with pytest.raises(NoCheckpoints, match="No space left"):
            shadow.snapshot_worktree("t1", first)
    assert shadow.list_changed(first, shadow.snapshot_worktree("t1", first)) == ["new"]


def test_a_name_that_is_no_folder_is_refused(shadow: ShadowRepository) -> None:
    saved = shadow.snapshot()

    def refuses(name: str) -> None:
        with pytest.raises(ValueError, match="not a name"):
            shadow.make_worktree(name, saved)

    check_rows(["", ".", "..", "a/b", "../x", "/x", "a\nb", "x" * 101, ".git"], refuses)


def test_a_folder_of_worktrees_that_leads_out_of_the_project_is_refused(tmp_path: Path) -> None:
    outside, project = tmp_path / "outside", tmp_path / "project"
    write(outside, {"t1/precious": b"1"})
    project.mkdir()
    shadow = ShadowRepository(project)
    first = shadow.snapshot()
    write(project, {".headway/worktrees": Link(os.fspath(outside))})
    for use in (lambda: shadow.make_worktree("t1", first), shadow.remove_worktrees):
        with pytest.raises(HeadwayError, match="leads out of the project"):
            use()
    assert files(outside) == {"t1/precious": b"1"}


def test_worktrees_are_made_and_saved_side_by_side(tmp_path: Path, shadow: ShadowRepository) -> None:
    first = shadow.snapshot()
    found: dict[str, list[str]] = {}

    def item(name: str) -> None:
        for turn in range(3):
            folder = Path(shadow.make_worktree(name, first))
            write(folder, {f"{name}-{turn}": b"1"})
            found[f"{name}-{turn}"] = shadow.list_changed(first, shadow.snapshot_worktree(name, first))

    threads = [threading.Thread(target=item, args=(f"t{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {name: [name] for name in (f"t{number}-{turn}" for number in range(4) for turn in range(3))}


# Merging


def changed_by(
    shadow: ShadowRepository, name: str, base: str, change: dict[str, Content], *, gone: tuple[str, ...] = ()
) -> str:
    folder = shadow.make_worktree(name, base)
    for path in gone:
        os.unlink(os.path.join(folder, path))
    write(folder, change)
    return shadow.snapshot_worktree(name, base)


def test_changes_of_two_items_are_merged_and_applied_one_after_the_other(
    tmp_path: Path, shadow: ShadowRepository
) -> None:
    base = shadow.snapshot()
    one = changed_by(shadow, "t1", base, {"a": b"one\n1\n2\n3\n4\n5\n6\n7\n8\n9\n", "from1": Program(b"1")})
    two = changed_by(shadow, "t2", base, {"a": b"1\n2\n3\n4\n5\n6\n7\n8\n9\ntwo\n"}, gone=("run",))
    write(tmp_path, {"users": b"own edit meanwhile"})
    for theirs in (one, two):
        now = shadow.snapshot()
        both, conflicts = shadow.merge(base, now, theirs)
        assert both is not None
        assert conflicts == []
        shadow.apply_change(now, both)
    assert files(tmp_path) == {
        **{path: content for path, content in TREE.items() if path != "run"},
        "a": b"one\n1\n2\n3\n4\n5\n6\n7\n8\n9\ntwo\n",
        "from1": Program(b"1"),
        "users": b"own edit meanwhile",
    }


def test_a_merge_is_a_child_of_the_side_that_it_is_made_on(tmp_path: Path, shadow: ShadowRepository) -> None:
    base = shadow.snapshot()
    one = changed_by(shadow, "t1", base, {"x": b"1"})
    two = changed_by(shadow, "t2", base, {"y": b"1"})
    both, _ = shadow.merge(base, one, two)
    shadow_git = ("--git-dir", os.fspath(tmp_path / ".headway/checkpoints"))
    assert git(tmp_path, *shadow_git, "rev-list", "--parents", "-1", both or "").split() == [both, one]
    git(tmp_path, *shadow_git, "fsck", "--strict", "--no-dangling")


def test_changes_that_do_not_agree_are_told_by_path_and_change_nothing(
    tmp_path: Path, shadow: ShadowRepository
) -> None:
    base = shadow.snapshot()
    one = changed_by(shadow, "t1", base, {"a": b"one\n", "odd\nname": b"1", "fine1": b"1", "link2": Link("a")})
    two = changed_by(shadow, "t2", base, {"a": b"two\n", "odd\nname": b"2", "fine2": b"1"}, gone=("run",))
    assert shadow.merge(base, one, two) == (None, ["a", "odd\nname"])
    assert files(tmp_path) == TREE
    assert shadow.snapshot() == base


@pytest.mark.parametrize(
    ("one", "two", "conflicts"),
    [
        ({"run": Program(b"edited")}, ("run",), ["run"]),
        ({"x": b"file"}, {"x/y": b"folder"}, ["x"]),
        ({"x": Link("a")}, {"x": Link("run")}, ["x"]),
        ({"x": b"\0\1"}, {"x": b"\0\2"}, ["x"]),
        ({"x": b"same"}, {"x": b"same"}, []),
    ],
)
def test_each_kind_of_disagreement_is_noticed(
    shadow: ShadowRepository, one: dict[str, Content], two: dict[str, Content] | tuple[str, ...], conflicts: list[str]
) -> None:
    base = shadow.snapshot()
    ours = changed_by(shadow, "t1", base, one)
    gone, change = (two, {}) if isinstance(two, tuple) else ((), two)
    theirs = changed_by(shadow, "t2", base, change, gone=gone)
    both, found = shadow.merge(base, ours, theirs)
    assert found == conflicts
    assert (both is None) == bool(conflicts)


SETTINGS = b"".join(b"setting %d\n" % number for number in range(20))


@pytest.mark.parametrize("first", [0, 1])
def test_an_edit_does_not_go_into_a_similar_file_that_has_another_name(
    tmp_path: Path, shadow: ShadowRepository, first: int
) -> None:
    write(tmp_path, {"production.ini": SETTINGS})
    base = shadow.snapshot()
    similar = SETTINGS.replace(b"setting 19", b"mine")
    sides = [
        changed_by(shadow, "t1", base, {"staging.ini": similar}, gone=("production.ini",)),
        changed_by(shadow, "t2", base, {"production.ini": SETTINGS.replace(b"setting 0", b"edited")}),
    ]
    assert shadow.merge(base, sides[first], sides[1 - first]) == (None, ["production.ini"])


def test_a_file_that_is_made_in_a_renamed_folder_stays_where_it_was_made(
    tmp_path: Path, shadow: ShadowRepository
) -> None:
    write(tmp_path, {"lib/a": SETTINGS, "lib/b": SETTINGS[::-1]})
    base = shadow.snapshot()
    one = changed_by(shadow, "t1", base, {"src/a": SETTINGS, "src/b": SETTINGS[::-1]}, gone=("lib/a", "lib/b"))
    two = changed_by(shadow, "t2", base, {"lib/new": b"1"})
    both, _ = shadow.merge(base, one, two)
    assert both is not None
    assert shadow.list_changed(one, both) == ["lib/new"]


def test_what_both_delete_and_what_differs_in_mode_and_content_is_merged(
    tmp_path: Path, shadow: ShadowRepository
) -> None:
    base = shadow.snapshot()
    one = changed_by(shadow, "t1", base, {"a": Program(bytes(TREE["a"]))}, gone=("run",))  # pyright: ignore[reportArgumentType]
    two = changed_by(shadow, "t2", base, {"a": b"two\n"}, gone=("run",))
    for ours, theirs in ((one, two), (two, one)):
        both, conflicts = shadow.merge(base, ours, theirs)
        assert (both is None, conflicts) == (False, [])
        folder = shadow.make_worktree("t3", both or "")
        assert (files(folder)["a"], "run" in files(folder)) == (Program(b"two\n"), False)


def test_nothing_that_was_made_is_cleared_away(tmp_path: Path, shadow: ShadowRepository) -> None:
    base = shadow.snapshot()
    one = changed_by(shadow, "t1", base, {"x": b"1"})
    two = changed_by(shadow, "t2", base, {"y": b"1"})
    both, _ = shadow.merge(base, one, two)
    mixed = shadow.commit_with_paths(one, two, ["y"])
    shadow.remove_worktrees()
    git(tmp_path, "--git-dir", os.fspath(tmp_path / ".headway/checkpoints"), "gc", "--quiet", "--prune=now")
    shadow.pack_objects()
    assert shadow.list_changed(base, both or "") == shadow.list_changed(base, mixed) == ["x", "y"]
    assert shadow.list_changed(one, two) == ["x", "y"]
    assert shadow.snapshot() == base
