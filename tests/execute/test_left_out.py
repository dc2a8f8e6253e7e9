"""What checkpoints leave out: it stays as it is, whatever is merged or rolled back, and worktrees can read it."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest

from headway.core.events import Event
from headway.core.execution_events import AttemptFinished, ExecutionFinished, ExecutionStarted
from headway.core.run_events import TextDelta
from headway.execute.checkpoint_rules import CheckpointRules
from headway.execute.shadow_repository import NoCheckpoints, ShadowRepository
from headway.execute.workspaces import Workspace, Workspaces, open_workspaces

from .executing import facts, go, item, model, opened, put, runs
from .shadows import Content, Link, files, git, write

LARGE = b"x" * 1_000_001
SECRETS: dict[str, Content] = {
    ".env": b"TOKEN=1",
    "app/.env.local": b"TOKEN=2",
    "server.key": b"key",
    "certificates/site.pem": b"pem",
    "id_ed25519": b"key",
    "deploy/credentials-prod.json": b"{}",
    ".netrc": b"machine x",
}
GENERATED: dict[str, Content] = {
    "node_modules/left-pad/index.js": b"1",
    "tools/venv/bin/python": b"2",
    "src/__pycache__/a.pyc": b"3",
    ".mypy_cache/x": b"4",
}
SOURCE: dict[str, Content] = {
    "src/a.py": b"a = 1\n",
    ".env.example": b"TOKEN=\n",
    "id_ed25519.pub": b"public",
    "src/environment.py": b"",
}


LARGER = {"huge.bin", "vendor/lib"}


def rules(**others: object) -> CheckpointRules:
    return CheckpointRules(**{"max_file_mb": 1, **others})  # pyright: ignore[reportArgumentType]


def saved(project: Path, shadow: ShadowRepository) -> set[str]:
    """The paths that a new checkpoint has."""
    checkpoints = project / ".headway/checkpoints"
    return set(git(checkpoints, "ls-tree", "-r", "--name-only", shadow.snapshot()).splitlines())


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    write(folder, {**SECRETS, **GENERATED, **SOURCE, "data.bin": LARGE})
    return folder


def test_secrets_generated_folders_and_large_files_are_not_saved(project: Path) -> None:
    shadow = ShadowRepository(project, rules=rules())
    assert saved(project, shadow) == set(SOURCE)
    assert shadow.too_large == ("data.bin",)
    assert b"TOKEN=1" not in b"".join(path.read_bytes() for path in (project / ".headway").rglob("*") if path.is_file())


def test_what_the_users_git_tracks_is_saved_unless_it_is_large(project: Path) -> None:
    git(project, "init", "-q")
    git(project, "add", "-f", ".env", "node_modules", "src", "data.bin")
    there = saved(project, ShadowRepository(project, rules=rules()))
    assert there == {*SOURCE, ".env", "node_modules/left-pad/index.js", "src/__pycache__/a.pyc"}


def test_patterns_are_added_and_taken_away_by_the_setting_and_by_the_project(project: Path) -> None:
    write(project, {".gitignore": b"!server.key\n", "data/huge.csv": b"1"})
    shadow = ShadowRepository(project, rules=rules(exclude=("!.netrc", "/data/"), max_file_mb=2))
    assert saved(project, shadow) == {*SOURCE, ".gitignore", ".netrc", "server.key", "data.bin"}


def test_what_an_old_checkpoint_has_and_a_new_one_leaves_out_stays_in_the_project(project: Path) -> None:
    old = ShadowRepository(project, rules=rules(exclude=("!*",), max_file_mb=20))
    first = old.snapshot()
    write(project, {"src/a.py": b"a = 2\n"})
    second = old.snapshot()
    here = files(project)
    shadow = ShadowRepository(project, rules=rules())
    now = shadow.snapshot()
    target, conflicts = shadow.merge(second, now, first)  # roll back
    assert (conflicts, target is not None) == ([], True)
    assert target is not None
    assert shadow.apply_change(now, target) == ["src/a.py"]
    assert files(project) == {**here, "src/a.py": b"a = 1\n"}


def test_a_file_that_grows_is_left_out_from_then_on_and_saved_when_it_shrinks(project: Path) -> None:
    shadow = ShadowRepository(project, rules=rules())
    shadow.snapshot()
    write(project, {"src/a.py": LARGE})
    assert "src/a.py" not in saved(project, shadow)
    assert shadow.too_large == ("data.bin", "src/a.py")
    write(project, {"src/a.py": b"small"})
    assert "src/a.py" in saved(project, shadow)
    assert shadow.too_large == ("data.bin",)


# In a worktree


def worktree(project: Path, **others: object) -> tuple[ShadowRepository, Workspace, Path]:
    shadow = ShadowRepository(project, rules=rules(**others))
    first = shadow.snapshot()
    folder = shadow.make_worktree("w", first)
    return shadow, Workspace("t1", folder, first, "w", True, shadow.include_files("w")), Path(folder)


def collect(project: Path, shadow: ShadowRepository, workspace: Workspace) -> tuple[set[str], set[str]]:
    """What came into the project, and what is named as not merged."""
    places = Workspaces(os.fspath(project), "s", shadow, True)
    assert workspace.checkpoint is not None
    changes = places._merge(shadow, workspace, workspace.checkpoint, True, (), lambda before, after: None)  # pyright: ignore[reportPrivateUsage]
    return set(changes.files), set(changes.not_merged)


@pytest.fixture
def links(project: Path) -> None:
    """Something too large to be copied, and a repository."""
    write(project, {"vendor/lib/code.c": b"int x;", "huge.bin": b""})
    os.truncate(project / "huge.bin", 20_000_001)
    git(project / "vendor/lib", "init", "-q")


@pytest.mark.usefixtures("links")
def test_a_worktree_has_write_protected_copies_of_large_files_and_repositories(project: Path) -> None:
    _, _, folder = worktree(project)
    assert (folder / "server.key").read_bytes() == b"key"
    assert not (folder / "server.key").is_symlink()
    assert not stat.S_IMODE((folder / "server.key").stat().st_mode) & 0o222
    assert (folder / "data.bin").read_bytes() == LARGE
    assert (folder / "huge.bin").stat().st_size == 20_000_001
    assert not stat.S_IMODE((folder / "vendor/lib/code.c").stat().st_mode) & 0o222
    assert git(folder / "vendor/lib", "status", "--short") == "?? code.c\n"
    assert not (folder / "src/__pycache__").exists()


def test_what_git_ignores_too_is_not_brought_into_a_worktree(project: Path) -> None:
    write(project, {".gitignore": b"*.key\n.env\n"})
    _, _, folder = worktree(project)
    assert not (folder / "server.key").exists()
    assert (folder / "certificates/site.pem").exists()
    assert (folder / ".env").read_bytes() == b"TOKEN=1"  # as .worktreeinclude says


@pytest.mark.usefixtures("links")
def test_nothing_of_what_is_left_out_counts_as_a_change_of_the_attempt(project: Path) -> None:
    shadow, workspace, folder = worktree(project)
    write(folder, {"src/a.py": b"a = 2\n", "src/__pycache__/b.pyc": b"1", ".pytest_cache/x": b"1"})
    here = files(project)
    assert collect(project, shadow, workspace) == ({"src/a.py"}, set())
    assert files(project) == {**here, "src/a.py": b"a = 2\n"}


@pytest.mark.usefixtures("links")
def test_a_change_of_what_is_not_merged_is_named(project: Path) -> None:
    shadow, workspace, folder = worktree(project)
    for path in (".env", "server.key", "data.bin", "huge.bin", "vendor/lib/code.c"):
        os.chmod(folder / path, 0o600)
    write(folder, {".env": b"TOKEN=changed", "server.key": b"changed", "new.pem": b"made by the item"})
    write(
        folder,
        {"data.bin": b"changed", "huge.bin": b"changed", "vendor/lib/code.c": b"int y;", "dump.sql": LARGE},
    )
    write(folder, {"src/a.py": LARGE, "clone/file": b"1"})
    git(folder / "clone", "init", "-q")
    (folder / "node_modules").rename(folder / "modules")
    here = files(project)
    came, named = collect(project, shadow, workspace)
    assert came == set()
    assert named == {".env", "server.key", "data.bin", "new.pem", "dump.sql", "src/a.py", "clone/", "modules", *LARGER}
    assert files(project) == here


def test_ignored_links_are_copied_as_links_and_not_where_they_lead_out(project: Path) -> None:
    write(project, {".gitignore": b".env*\n", ".env.out": Link("/etc/passwd"), ".env.in": Link(".env")})
    _, _, folder = worktree(project)
    assert (os.path.lexists(folder / ".env.out"), os.readlink(folder / ".env.in")) == (False, ".env")


@pytest.mark.usefixtures("links")
def test_a_renamed_large_file_is_named_and_not_merged(project: Path) -> None:
    shadow, workspace, folder = worktree(project)
    (folder / "huge.bin").rename(folder / "other.bin")
    assert collect(project, shadow, workspace) == (set(), {"huge.bin", "other.bin"})
    assert not (project / "other.bin").exists()


def test_what_there_is_no_room_for_is_left_out(project: Path) -> None:
    write(project, {"one.bin": b"", "two.bin": b""})
    for name in ("one.bin", "two.bin"):
        os.truncate(project / name, 120_000_000)
    _, workspace, folder = worktree(project)
    assert workspace.included is not None
    assert (workspace.included.missing, (folder / "one.bin").exists()) == (("two.bin",), True)


def test_a_submodule_is_copied_without_the_way_to_its_repository(project: Path) -> None:
    write(project, {"lib/code.c": b"int x;", "lib/.git": b"gitdir: ../.git/modules/lib\n"})
    write(project, {".git/modules/lib/HEAD": b"ref: refs/heads/main\n", ".git/modules/lib/objects/x": b""})
    write(project, {".git/modules/lib/refs/x": b"", ".git/modules/lib/config": b"[core]\n\tbare = false\n"})
    shadow, workspace, folder = worktree(project)
    assert ((folder / "lib/code.c").read_bytes(), (folder / "lib/.git").exists()) == (b"int x;", False)
    write(folder, {"lib/new.c": b"made"})
    assert collect(project, shadow, workspace) == (set(), {"lib"})


def test_large_files_are_named_once_for_the_execution(project: Path) -> None:
    places = open_workspaces(os.fspath(project), "s", parallel=1, in_memory=False, rules=rules())
    assert places.note == "Files over 1 MB are not saved, merged or rolled back: data.bin."
    places.close()


# What is borrowed from the user's repository


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    write(folder, {"a": b"first\n", "deep/b": b"second\n"})
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "one")
    return folder


def test_checkpoints_outlive_what_they_borrowed_from_the_users_repository(repository: Path) -> None:
    shadow = ShadowRepository(repository)
    first = shadow.snapshot()
    objects = repository / ".headway/checkpoints/objects"
    blob = git(repository, "rev-parse", "HEAD:a").strip()
    assert not (objects / blob[:2] / blob[2:]).exists()
    shadow.pack_objects()
    write(repository, {"a": b"changed\n"})
    shutil.rmtree(repository / ".git")
    later = ShadowRepository(repository)
    now = later.snapshot()
    later.apply_change(now, first)
    assert (repository / "a").read_bytes() == b"first\n"


def test_a_project_can_be_saved_again_after_the_users_repository_lost_what_was_borrowed(repository: Path) -> None:
    shadow = ShadowRepository(repository)
    first = shadow.snapshot()
    blob = git(repository, "rev-parse", "HEAD:a").strip()
    os.unlink(repository / ".git/objects" / blob[:2] / blob[2:])
    with pytest.raises(NoCheckpoints):
        shadow.make_worktree("w", first)
    again = ShadowRepository(repository)
    assert files(again.make_worktree("w", again.snapshot())) == files(repository)


def test_many_new_files_are_written_as_one_pack(tmp_path: Path) -> None:
    write(tmp_path, {f"folder/{number}": b"%d\n" % number for number in range(300)})
    shadow = ShadowRepository(tmp_path)
    folder = Path(shadow.make_worktree("w", shadow.snapshot()))
    assert files(folder) == files(tmp_path)
    objects = list((tmp_path / ".headway/checkpoints/objects").glob("??/*"))
    assert len(objects) < 10


# What it costs


async def test_what_saving_takes_is_shown_and_counted(tmp_path: Path) -> None:
    put(tmp_path, {f"folder/{number}": f"{number}\n" for number in range(300)})
    session = opened(tmp_path, [item("a")])
    seen: list[str] = []

    def watch(event: Event) -> None:
        if isinstance(event.data, TextDelta) and event.data.kind == "progress":
            seen.append(event.data.text)

    result = await go(session, model(a=runs("echo x > y")), on_event=watch)
    assert seen == ["Saving the project's files… 300 files"]
    started, done = facts(session, ExecutionStarted)[0], facts(session, AttemptFinished)[0]
    assert 0 < started.saving_seconds <= result.seconds
    assert 0 < done.saving_seconds <= done.seconds
    finished = facts(session, ExecutionFinished)[0]
    assert finished.saving_seconds >= max(started.saving_seconds, done.saving_seconds)
