"""Checkpoints beside the user's own repository: it is never touched, and what it ignores stays out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headway.core.errors import HeadwayError
from headway.execute.shadow_repository import ShadowRepository

from .shadows import Content, Link, Program, become, bytes_below, files, git, write


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """With staged and unstaged changes, a stash, hooks, and in the middle of a merge."""
    project = tmp_path / "project"
    write(project, {"a": b"1\n", "b": b"1\n", "c": b"1\n", "deep/d": b"1\n"})
    git(project, "init", "-q", "-b", "main")
    git(project, "add", ".")
    git(project, "commit", "-qm", "one")
    write(project, {"b": b"stashed\n"})
    git(project, "stash")
    git(project, "checkout", "-qb", "other")
    write(project, {"a": b"theirs\n"})
    git(project, "commit", "-qam", "theirs")
    git(project, "checkout", "-q", "main")
    write(project, {"a": b"ours\n"})
    git(project, "commit", "-qam", "ours")
    git(project, "merge", "other", fine=(1,))
    write(project, {"c": b"staged\n"})
    git(project, "add", "c")
    write(project, {"c": b"dirty\n", "new": b"untracked\n"})
    for hook in ("pre-commit", "post-index-change", "post-checkout", "post-commit", "reference-transaction"):
        write(project, {f".git/hooks/{hook}": Program(f"#!/bin/sh\ntouch {project}/hook-ran\n".encode())})
    return project


def test_nothing_of_the_users_repository_changes_whatever_is_done(repository: Path) -> None:
    before, here = bytes_below(repository / ".git"), files(repository)
    shadow = ShadowRepository(repository)
    first = shadow.snapshot()
    write(repository, {"c": b"again\n", "deep/e": b"2\n"})
    os.unlink(repository / "b")
    second = shadow.snapshot()
    folder = Path(shadow.make_worktree("w", first))
    write(folder, {"x": b"from the item\n"})
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "of the item")
    git(folder, "stash", "list")
    theirs = shadow.snapshot_worktree("w", first)
    both, _ = shadow.merge(first, second, theirs)
    assert both is not None
    shadow.apply_change(second, both)
    assert (repository / "x").read_bytes() == b"from the item\n"
    shadow.apply_change(shadow.snapshot(), shadow.commit_with_paths(second, first, ["b"]))
    shadow.apply_change(shadow.snapshot(), first)
    shadow.remove_worktrees()
    shadow.pack_objects()
    assert bytes_below(repository / ".git") == before
    assert files(repository) == here
    assert "both modified" in git(repository, "status")


def test_variables_of_a_surrounding_git_lead_nowhere(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = bytes_below(repository / ".git")
    for name, value in {
        "GIT_DIR": repository / ".git",
        "GIT_WORK_TREE": repository,
        "GIT_INDEX_FILE": repository / ".git/index",
        "GIT_OBJECT_DIRECTORY": repository / ".git/objects",
        "GIT_CONFIG_PARAMETERS": "'core.bare'='nonsense'",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_EXTERNAL_DIFF": "/bin/false",
    }.items():
        monkeypatch.setenv(name, os.fspath(value))
    shadow = ShadowRepository(repository)
    first = shadow.snapshot()
    write(repository, {"b": b"2\n"})
    second = shadow.snapshot()
    assert shadow.list_changed(first, second) == ["b"]
    assert bytes_below(repository / ".git") == before


def test_no_setting_of_the_user_applies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    ran = tmp_path / "ran"
    git(tmp_path, "init", "-q", "project")
    write(
        home,
        {
            ".gitconfig": f"""
[core]
    autocrlf = true
    hooksPath = {home}/hooks
    fsmonitor = {home}/run
    symlinks = false
    fileMode = false
    looseCompression = nonsense
    attributesFile = {home}/attributes
[filter "evil"]
    clean = {home}/run
    smudge = {home}/run
    required = true
[merge "evil"]
    driver = {home}/run
[diff "evil"]
    textconv = {home}/run
    command = {home}/run
[commit]
    gpgSign = true
[gpg]
    program = {home}/run
[diff]
    external = {home}/run
[status]
    showUntrackedFiles = no
""".encode(),
            "attributes": b"* filter=evil merge=evil diff=evil\n",
            "run": Program(f"#!/bin/sh\ntouch {ran}\n".encode()),
            "hooks/post-index-change": Program(f"#!/bin/sh\ntouch {ran}\n".encode()),
            "hooks/reference-transaction": Program(f"#!/bin/sh\ntouch {ran}\n".encode()),
        },
    )
    monkeypatch.setenv("HOME", os.fspath(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", os.fspath(home / "none"))
    tree: dict[str, Content] = {
        ".gitattributes": b"* filter=evil merge=evil diff=evil\n",
        "a": b"1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\r\n",
        "run": Program(b"x"),
        "link": Link("a"),
    }
    write(project, tree)
    shadow = ShadowRepository(project)
    first = shadow.snapshot()
    folder = Path(shadow.make_worktree("w", first))
    assert files(folder) == tree
    write(folder, {"a": b"1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\r\nitem\r\n"})
    theirs = shadow.snapshot_worktree("w", first)
    write(project, {"a": b"user\r\n1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\r\n"})
    now = shadow.snapshot()
    both, _ = shadow.merge(first, now, theirs)
    assert both is not None
    shadow.apply_change(now, both)
    assert (project / "a").read_bytes() == b"user\r\n1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\r\nitem\r\n"
    assert not ran.exists()


@pytest.mark.parametrize(
    "attributes",
    [
        b"* text eol=crlf\n",
        b"* text=auto eol=lf\n",
        b"* ident\n",
        b"* working-tree-encoding=UTF-16LE\n",
        b"* filter=lfs diff=lfs merge=lfs -text\n",
        b"[attr]mine text eol=crlf ident\n* mine crlf\n",
        b"* export-subst export-ignore -diff -merge\n",
    ],
)
@pytest.mark.parametrize("where", [".gitattributes", pytest.param("d/.gitattributes", marks=pytest.mark.more)])
def test_the_projects_attributes_change_no_byte(tmp_path: Path, attributes: bytes, where: str) -> None:
    tree: dict[str, Content] = {
        where: attributes,
        "d/lf": b"a\nb\n$Id$\n",
        "d/crlf": b"a\r\nb\n$Id: x $\r\n",
        "d/utf16": "ä\r\n".encode("utf-16"),
    }
    write(tmp_path, tree)
    shadow = ShadowRepository(tmp_path)
    first = shadow.snapshot()
    assert files(shadow.make_worktree("w", first)) == tree
    become(tmp_path, {where: attributes})
    shadow.apply_change(shadow.snapshot(), first)
    assert files(tmp_path) == tree


# What is ignored


def saved(project: Path) -> list[str]:
    shadow = ShadowRepository(project)
    return sorted(files(shadow.make_worktree("look", shadow.snapshot())))


def test_what_any_ignore_file_names_stays_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    write(home, {".gitconfig": b"[core]\nexcludesFile = ~/my ignore\n", "my ignore": b"*.mine\n"})
    monkeypatch.setenv("HOME", os.fspath(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", os.fspath(home / "none"))
    git(tmp_path, "init", "-q", "project")
    write(
        project,
        {
            ".gitignore": b"*.o\n!keep.o\n/build/\n",
            "deep/.gitignore": b"secret\n",
            ".git/info/exclude": b"*.local",
            **dict.fromkeys(("a", "a.o", "keep.o", "a.local", "a.mine", "build/x", "secret", "deep/secret"), b"1"),
            ".headway/settings": b"1",
        },
    )
    assert saved(project) == [".gitignore", "a", "deep/.gitignore", "keep.o", "secret"]


def test_the_default_ignore_file_of_the_user_applies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"home/.config/git/ignore": b"*.mine\n", "project/a.mine": b"1", "project/a": b"1"})
    monkeypatch.setenv("HOME", os.fspath(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    assert saved(tmp_path / "project") == ["a"]


def test_the_users_exclude_file_is_read_anew_each_time(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    shadow = ShadowRepository(tmp_path)
    first = shadow.snapshot()
    write(tmp_path, {".git/info/exclude": b"x\n", "x": b"1", "y": b"1"})
    second = shadow.snapshot()
    assert shadow.list_changed(first, second) == ["y"]
    write(tmp_path, {".git/info/exclude": b""})
    assert shadow.list_changed(second, shadow.snapshot()) == ["x"]


def test_headways_own_folder_stays_out_even_if_the_project_asks_for_it(tmp_path: Path) -> None:
    write(
        tmp_path,
        {".gitignore": b"*\n!*/\n!*.py\n!.gitignore\n!.headway/\n!.headway/**\n", "a.py": b"1", ".headway/b.py": b"1"},
    )
    shadow = ShadowRepository(tmp_path)
    first = shadow.snapshot()
    folder = shadow.make_worktree("w", first)
    assert sorted(files(folder)) == [".gitignore", "a.py"]
    write(folder, {".headway/c.py": b"1"})
    assert shadow.snapshot_worktree("w", first) == first


def test_what_the_user_tracks_is_saved_though_it_is_ignored(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    write(tmp_path, {".gitignore": b"*.log\nbuild/\n", "kept.log": b"1", "other.log": b"1", "build/odd\nname": b"1"})
    git(tmp_path, "add", "-f", "kept.log", "build")
    shadow = ShadowRepository(tmp_path)
    first = shadow.snapshot()
    write(tmp_path, {"kept.log": b"2", "other.log": b"2", "build/odd\nname": b"2"})
    second = shadow.snapshot()
    assert shadow.list_changed(first, second) == ["build/odd\nname", "kept.log"]
    shadow.apply_change(second, first)
    assert (tmp_path / "kept.log").read_bytes() == b"1"
    os.unlink(tmp_path / "kept.log")
    gone = shadow.snapshot()
    assert shadow.list_changed(first, gone) == ["kept.log"]
    write(tmp_path, {"kept.log": b"1"})
    assert shadow.list_changed(first, shadow.snapshot()) == []
    write(tmp_path, {"later.log": b"1"})
    git(tmp_path, "add", "-f", "later.log")
    assert shadow.list_changed(first, shadow.snapshot()) == ["later.log"]


def test_a_project_inside_of_a_repository_is_ignored_by_its_rules(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    project = tmp_path / "packages/one"
    write(
        tmp_path,
        {
            ".gitignore": b"*.o\n/top.txt\n/packages/one/built\npackages/two/x\n!keep.o\n",
            "packages/.gitignore": b"secret/\n/one/*.tmp\n",
            ".git/info/exclude": b"*.local\n",
        },
    )
    names = ("a", "a.o", "keep.o", "top.txt", "built", "x", "secret/b", "c.tmp", "d.local", "forced.o")
    write(project, dict.fromkeys(names, b"1"))
    git(tmp_path, "add", "-f", "packages/one/forced.o")
    assert saved(project) == ["a", "forced.o", "keep.o", "top.txt", "x"]


def test_a_repository_above_that_ignores_the_whole_project_has_no_say(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    write(tmp_path, {".gitignore": b"*\n", "project/a": b"1"})
    assert saved(tmp_path / "project") == ["a"]


def test_a_project_that_is_a_worktree_of_the_user_has_its_rules(tmp_path: Path) -> None:
    write(tmp_path, {"main/a": b"1"})
    git(tmp_path / "main", "init", "-q")
    git(tmp_path / "main", "add", ".")
    git(tmp_path / "main", "commit", "-qm", "one")
    git(tmp_path / "main", "worktree", "add", "-q", "../second")
    write(tmp_path, {"main/.git/info/exclude": b"*.local\n", "second/b.local": b"1", "second/kept.local": b"1"})
    git(tmp_path / "second", "add", "-f", "kept.local")
    before = bytes_below(tmp_path / "main/.git")
    assert saved(tmp_path / "second") == ["a", "kept.local"]
    assert bytes_below(tmp_path / "main/.git") == before


# Repositories inside


def test_repositories_inside_are_left_out_and_alone(tmp_path: Path) -> None:
    write(tmp_path, {"a": b"1", "with-commit/x": b"1", "without/x": b"1", "deep/er/x": b"1"})
    for inside in ("with-commit", "without", "deep/er"):
        git(tmp_path, "init", "-q", inside)
    git(tmp_path / "with-commit", "add", ".")
    git(tmp_path / "with-commit", "commit", "-qm", "one")
    shadow = ShadowRepository(tmp_path)
    first = shadow.snapshot()
    assert files(shadow.make_worktree("w", first)) == {"a": b"1"}
    write(tmp_path, {"a": b"2", "with-commit/x": b"2", "without/y": b"2", "deep/z": b"2"})
    here = {path: content for path, content in files(tmp_path).items() if path not in ("a", "deep/z")}
    second = shadow.snapshot()
    assert shadow.list_changed(first, second) == ["a", "deep/z"]
    shadow.apply_change(second, first)
    assert files(tmp_path) == {**here, "a": b"1"}


def test_submodules_of_the_users_repository_are_left_out(tmp_path: Path) -> None:
    write(tmp_path, {"module/m": b"1", "project/a": b"1"})
    git(tmp_path / "module", "init", "-q")
    git(tmp_path / "module", "add", ".")
    git(tmp_path / "module", "commit", "-qm", "one")
    git(tmp_path / "project", "init", "-q")
    git(tmp_path / "project", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../module", "sub")
    assert saved(tmp_path / "project") == [".gitmodules", "a"]


def test_a_file_that_became_a_repository_leaves_and_cannot_push_it_away(tmp_path: Path) -> None:
    write(tmp_path, {"a": b"1", "b": b"1"})
    shadow = ShadowRepository(tmp_path)
    first = shadow.snapshot()
    os.unlink(tmp_path / "a")
    git(tmp_path, "init", "-q", "a")
    write(tmp_path, {"a/x": b"1"})
    git(tmp_path / "a", "add", ".")
    git(tmp_path / "a", "commit", "-qm", "one")
    second = shadow.snapshot()
    assert shadow.list_changed(first, second) == ["a"]
    here = files(tmp_path)
    with pytest.raises(Exception, match=r"Someone changed these files"):
        shadow.apply_change(second, first)
    assert files(tmp_path) == here


def test_a_saved_folder_that_became_a_repository_stays_in(tmp_path: Path) -> None:
    write(tmp_path, {"sub/a": b"1"})
    shadow = ShadowRepository(tmp_path)
    first = shadow.snapshot()
    git(tmp_path, "init", "-q", "sub")
    write(tmp_path, {"sub/a": b"2"})
    second = shadow.snapshot()
    assert shadow.list_changed(first, second) == ["sub/a"]
    before = bytes_below(tmp_path / "sub/.git")
    shadow.apply_change(second, first)
    assert (tmp_path / "sub/a").read_bytes() == b"1"
    assert bytes_below(tmp_path / "sub/.git") == before


@pytest.mark.parametrize(
    ("place", "target"),
    [
        (".headway", ".git"),
        (".headway/checkpoints", "../.git"),
        (".headway/worktrees", "../deep"),
        (".headway/checkpoints/index", "../../.git/index"),
        *((f".headway/checkpoints/{part}", f"../../.git/{part}") for part in ("refs", "objects", "info", "HEAD")),
        *((f".headway/checkpoints/{part}", "../../deep") for part in ("staging", "indexes", "worktrees", "paths")),
        (".headway/checkpoints/refs/kept", "../../../.git/refs/heads"),
        (".headway/checkpoints/objects/pack", "../../../.git/objects/pack"),
    ],
)
def test_a_clone_that_ships_links_among_headways_own_files_is_refused(
    repository: Path, place: str, target: str
) -> None:
    write(repository, {place: Link(target)})
    before, here = bytes_below(repository / ".git"), files(repository)
    with pytest.raises(HeadwayError, match="is a link"):
        ShadowRepository(repository).snapshot()
    with pytest.raises(HeadwayError, match="is a link"):
        ShadowRepository(repository).remove_worktrees()
    assert (bytes_below(repository / ".git"), files(repository)) == (before, here)


def test_the_index_of_a_worktree_is_no_link_to_the_users(repository: Path) -> None:
    write(repository, {".headway/checkpoints/indexes/w/index": Link("../../../../.git/index")})
    write(repository, {".headway/checkpoints/HEADWAY": b"x"})
    before, shadow = bytes_below(repository / ".git"), ShadowRepository(repository)
    with pytest.raises(HeadwayError, match="is a link"):
        shadow.make_worktree("w", shadow.snapshot())
    assert bytes_below(repository / ".git") == before


@pytest.mark.parametrize("place", [".headway/worktrees/w", ".headway/worktrees/w/deep"])
@pytest.mark.parametrize("early", [False, True])
def test_a_worktree_is_not_filled_through_a_link(tmp_path: Path, place: str, early: bool) -> None:
    """The project is deep in a repository, and so are its files in a worktree."""
    write(
        tmp_path, {"repository/deep/inner/a": b"1", "outside/inner/precious": b"1", "outside/deep/inner/precious": b"1"}
    )
    project, outside = tmp_path / "repository/deep/inner", files(tmp_path / "outside")
    git(tmp_path / "repository", "init", "-q")
    git(tmp_path / "repository", "add", ".")
    git(tmp_path / "repository", "commit", "-qm", "one")
    write(project, {place: Link(str(tmp_path / "outside"))})
    shadow = ShadowRepository(project)
    if early:
        shadow.fill_worktree_early("w")
    assert files(shadow.make_worktree("w", shadow.snapshot())) == {"a": b"1"}
    assert files(tmp_path / "outside") == outside
