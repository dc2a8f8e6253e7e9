"""Git in a worktree: the user's history with their uncommitted changes on top, to which all commands go back."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headway.core.execution_events import AttemptFinished
from headway.execute.shadow_repository import ShadowRepository

from .executing import facts, go, model, opened, put, runs, states, texts
from .shadows import Content, bytes_below, files, git, write

BRANCH = "git checkout -qb feat && echo work > f.txt && git add -A && git commit -qm m && git checkout -q trunk"
WHO = "git config user.name x; git config user.email x;"


@pytest.fixture
def dirty(folder: Path) -> Path:
    """With changes that a person has staged, changed and made since their last commit."""
    put(folder, {"readme.txt": "staged\n", "staged.txt": "staged\n"})
    git(folder, "add", ".")
    put(folder, {"readme.txt": "dirty\n", "untracked.txt": "untracked\n"})
    return folder


@pytest.mark.parametrize(
    "command",
    [
        "git stash -q -u; git stash drop -q",
        "git clean -fdxq; git checkout -q -- .",
        "git reset -q --hard HEAD",
        "git checkout -q -b feat; git checkout -q trunk; git branch -q -D feat",
        "git switch -q --detach; git restore .; git switch -q trunk",
        "rm untracked.txt; git commit -qam x; git revert --no-edit HEAD >/dev/null",
    ],
)
async def test_git_commands_in_a_worktree_lose_nothing_of_a_persons_uncommitted_work(dirty: Path, command: str) -> None:
    here, before = texts(dirty), bytes_below(dirty / ".git")
    session = opened(dirty, ["a"])
    await go(session, model(a=runs(f"{WHO} {command}; echo a > a.txt")))
    assert [(fact.files, fact.removed) for fact in facts(session, AttemptFinished)] == [(("a.txt",), ())]
    assert (texts(dirty), bytes_below(dirty / ".git")) == ({**here, "a.txt": "a\n"}, before)


@pytest.mark.parametrize(
    ("command", "named"),
    [
        (BRANCH, "feat"),
        ("echo work > readme.txt; git stash -q; echo a > a.txt", "git stash"),
        ("echo work > f.txt; git stash -q -u; echo a > a.txt", "git stash"),
    ],
)
async def test_work_that_is_only_in_a_branch_or_a_stash_is_not_completed_and_kept(
    dirty: Path, command: str, named: str
) -> None:
    here = texts(dirty)
    session = opened(dirty, ["a"])
    await go(session, model(a=runs(f"{WHO} {command}")), retries=0)
    [finished] = facts(session, AttemptFinished)
    assert (states(session), texts(dirty)) == ({"a": "blocked"}, here)
    assert f"work is in {named} and not in the files" in finished.reason
    assert finished.worktree is not None
    look = ("stash", "show", "-u") if named == "git stash" else ("show", "feat")
    found = git(dirty / finished.worktree, *look)
    assert "readme.txt" in found or "f.txt" in found


@pytest.mark.parametrize(
    "command",
    [
        f"{BRANCH} && git merge -q feat",
        f"{BRANCH} && git merge -q --squash feat",
        "echo work > f.txt; git stash -q -u; git stash pop -q",
        "echo work > f.txt; git stash -q -u; git stash apply -q",
        "echo work > f.txt; git add -A; git commit -qm m; git checkout -q --detach",
    ],
)
async def test_work_that_came_back_from_a_branch_or_a_stash_is_merged(dirty: Path, command: str) -> None:
    here = texts(dirty)
    session = opened(dirty, ["a"])
    await go(session, model(a=runs(f"{WHO} {command}")), retries=0)
    assert (states(session), texts(dirty)) == ({"a": "completed"}, {**here, "f.txt": "work\n"})


async def test_links_lead_into_the_worktree_and_not_into_the_project(folder: Path) -> None:
    put(folder, {"src/m.py": "m\n"})
    put(folder.parent, {"outside.txt": "outside\n"})
    (folder / "current").symlink_to(folder / "src")
    (folder / "log").symlink_to("../outside.txt")
    git(folder, "add", "current")
    git(folder, "commit", "-qm", "link")
    session = opened(folder, ["a", "b"])
    sees = "git reset -q --hard; cat log > seen.txt; git status --short > status.txt"
    moves = "mv current now; ln -s $PWD/src/m.py mine"
    turns = model(a=runs("echo a >> current/m.py; false"), b=runs(f"{sees}; echo b >> current/m.py; {moves}"))
    await go(session, turns, retries=0, keep_going=True)
    assert states(session) == {"a": "blocked", "b": "completed"}
    _, b = facts(session, AttemptFinished)
    assert set(b.files) == {"current", "now", "mine", "src/m.py", "seen.txt", "status.txt"}
    assert ((folder / "src/m.py").read_text(), (folder / "seen.txt").read_text()) == ("m\nb\n", "outside\n")
    assert ((folder / "now").readlink(), (folder / "mine").readlink()) == (folder / "src", folder / "src/m.py")
    assert (folder / "log").readlink() == Path("../outside.txt")
    assert "current" not in (folder / "status.txt").read_text()


def commit_all(root: Path, tree: dict[str, Content], *options: str) -> None:
    write(root, tree)
    git(root, "init", "-q", "-b", "main", *options)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "one")


def test_a_clean_project_has_its_own_last_commit_and_a_changed_one_another_on_top(tmp_path: Path) -> None:
    commit_all(tmp_path, {"a": b"1\n", "b": b"2\n"})
    shadow = ShadowRepository(tmp_path)
    folder = shadow.make_worktree("w", shadow.snapshot())
    assert git(folder, "log", "--format=%s", "main").split() == ["one"]
    assert git(folder, "rev-parse", "HEAD") == git(tmp_path, "rev-parse", "HEAD")
    write(tmp_path, {"a": b"dirty\n"})
    folder = shadow.make_worktree("w", shadow.snapshot())
    assert git(folder, "log", "--format=%s", "main").splitlines() == ["Uncommitted changes", "one"]
    assert git(folder, "diff", "--name-only", "HEAD~1").split() == ["a"]
    assert git(folder, "status", "--porcelain") == ""
    assert not shadow.has_commits("w")


@pytest.mark.parametrize("how", ["sha1", "sha256", "detached"])
@pytest.mark.parametrize("inside", ["", "packages/app", "new"])
def test_all_that_git_puts_back_is_as_it_was_wherever_the_project_is(tmp_path: Path, how: str, inside: str) -> None:
    tree: dict[str, Content] = {"packages/app/a": b"1\n", "packages/app/gone": b"2\n", "other/b": b"3\n", "a": b"4\n"}
    commit_all(tmp_path, tree, *(["--object-format=sha256"] if how == "sha256" else []))
    if how == "detached":
        git(tmp_path, "checkout", "-q", "--detach")
    project = tmp_path / inside
    write(project, {"a": b"dirty\n", "untracked": b"5\n", ".gitignore": b"*.o\n"})
    if inside == "packages/app":
        os.unlink(project / "gone")
    expected = files(project)
    shadow = ShadowRepository(project)
    folder = shadow.make_worktree("w", first := shadow.snapshot())
    assert git(folder, "status", "--porcelain") == ""
    assert not shadow.has_commits("w")
    git(folder, "rm", "-rqf", ".")
    git(folder, "reset", "-q", "--hard")
    assert files(folder) == expected
    assert shadow.snapshot_worktree("w", first) == first
    write(folder, {"mine": b"1"})
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "mine")
    assert shadow.has_commits("w")
    assert shadow.list_stray("w", shadow.snapshot_worktree("w", first)) == []


def test_submodules_and_converted_line_ends_are_no_uncommitted_changes(tmp_path: Path) -> None:
    write(tmp_path, {".gitattributes": b"*.txt text eol=crlf\n", "a.txt": b"1\r\n2\r\n"})
    git(tmp_path, "init", "-q", "sub")
    write(tmp_path, {"sub/x": b"1"})
    git(tmp_path / "sub", "add", ".")
    git(tmp_path / "sub", "commit", "-qm", "sub")
    commit_all(tmp_path, {})
    shadow = ShadowRepository(tmp_path)
    folder = shadow.make_worktree("w", shadow.snapshot())
    assert git(folder, "log", "--format=%s").split() == ["one"]
    git(folder, "reset", "-q", "--hard")
    assert (Path(folder) / "a.txt").read_bytes() == b"1\r\n2\r\n"
