"""Checkpoints when things go wrong: killed processes, several at once, damage, files that cannot be read."""

from __future__ import annotations

import os
import resource
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.counts import some
from tests.support.processes import Done, Started, python, start, until

from headway.execute.shadow_repository import NoCheckpoints, ShadowRepository

from .shadows import Content, Program, become, files, git, write

ONE: dict[str, Content] = {f"d{number % 5}/f{number}": b"1" for number in range(40)}
TWO: dict[str, Content] = {f"d{number % 7}/f{number}": b"2" for number in range(40)}


def in_front_of_git(folder: Path, script: str) -> dict[str, str]:
    """An environment in which git does something else first."""
    write(folder, {"git": Program(f'#!/bin/sh\n{script}\nexec {shutil.which("git")} "$@"\n'.encode())})
    return {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


def start_python(project: Path, body: str, environ: dict[str, str] | None = None) -> Started:
    code = (
        "from headway.execute.shadow_repository import ShadowRepository\nshadow = "
        f"ShadowRepository({os.fspath(project)!r})\n{body}"
    )
    return start(python(code, env=environ))


@pytest.mark.parametrize(
    "when",
    ["cat-file", "update-index", *(pytest.param(name, marks=pytest.mark.more) for name in ("write-tree", "status"))],
)
def test_killed_while_git_is_at_work_leaves_nothing_that_the_next_one_stumbles_over(tmp_path: Path, when: str) -> None:
    project = tmp_path / "project"
    write(project, ONE)
    shadow = ShadowRepository(project)
    one = shadow.snapshot()
    become(project, TWO)
    two = shadow.snapshot()
    write(project, {"more": b"1"})
    environ = in_front_of_git(tmp_path / "bin", f'[ "$1" = {when} ] && touch {tmp_path}/at-it && sleep 0.3')
    process = start_python(project, f"now = shadow.snapshot()\nshadow.apply_change(now, {one!r})", environ)
    until((tmp_path / "at-it").exists)
    process.kill()
    now = shadow.snapshot()  # waits for the git that is still at work
    here = files(project)
    time.sleep(0.4)
    assert files(project) == here
    shadow.apply_change(now, two)
    assert files(project) == TWO
    shadow.apply_change(shadow.snapshot(), one)
    assert files(project) == ONE


@pytest.mark.full
def test_killed_at_any_moment_of_going_back_and_forth_the_next_one_works(tmp_path: Path) -> None:
    write(tmp_path, ONE)
    shadow = ShadowRepository(tmp_path)
    one = shadow.snapshot()
    become(tmp_path, TWO)
    two = shadow.snapshot()
    for pause in (0.004, 0.017, 0.0, 0.011, 0.03)[: some(5, 2)]:
        process = start_python(
            tmp_path,
            f"print(flush=True)\nwhile True:\n for to in ({one!r}, {two!r}):\n  "
            "shadow.apply_change(shadow.snapshot(), to)",
        )
        process.out.line()
        time.sleep(0.1 + pause)
        process.kill()
        shadow.apply_change(shadow.snapshot(), one)
        assert files(tmp_path) == ONE
    git(tmp_path, "--git-dir", os.fspath(tmp_path / ".headway/checkpoints"), "fsck", "--strict", "--no-dangling")


def test_locks_left_behind_are_cleared_away(tmp_path: Path) -> None:
    write(tmp_path, {"a": b"1"})
    shadow = ShadowRepository(tmp_path)
    first = shadow.snapshot()
    shadow.make_worktree("w", first)
    locks = {".headway/checkpoints/index.lock": b"", ".headway/checkpoints/indexes/w/index.lock": b""}
    write(tmp_path, {"a": b"2", **locks})
    second = shadow.snapshot()
    write(tmp_path, locks)
    assert shadow.snapshot_worktree("w", first) == first
    assert shadow.apply_change(second, first) == ["a"]


@pytest.mark.full
def test_many_processes_at_once_do_not_get_into_each_others_way(tmp_path: Path) -> None:
    body = (
        "import os\nfor n in range({times}):\n"
        " open(os.path.join({project!r}, '{name}'), 'w').write(str(n))\n"
        " before = shadow.snapshot()\n"
        " folder = shadow.make_worktree('{name}', before)\n"
        " open(os.path.join(folder, 'from-{name}'), 'w').write(str(n))\n"
        " assert shadow.list_changed(before, shadow.snapshot_worktree('{name}', before)) == ['from-{name}']\n"
    )
    names = [f"p{number}" for number in range(4)]
    times = some(6, 3)
    started = [
        start_python(tmp_path, body.format(project=os.fspath(tmp_path), name=name, times=times)) for name in names
    ]
    assert [process.end() for process in started] == [Done(0, "", "")] * 4
    shadow = ShadowRepository(tmp_path)
    last = shadow.snapshot()
    assert files(shadow.make_worktree("look", last)) == dict.fromkeys(names, str(times - 1).encode())
    git(tmp_path, "--git-dir", os.fspath(tmp_path / ".headway/checkpoints"), "fsck", "--strict", "--no-dangling")


def test_one_that_keeps_the_lock_for_too_long_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shadow = ShadowRepository(tmp_path)
    shadow.snapshot()
    body = "import time\nwith shadow._lock_project_tree():\n print(flush=True)\n time.sleep(30)"
    process = start_python(tmp_path, body)
    process.out.line()
    monkeypatch.setattr("headway.execute.git.PATIENCE", 0.1)
    with pytest.raises(NoCheckpoints, match="Another process has locked"):
        shadow.snapshot()
    process.kill()
    shadow.snapshot()


# Damage


def empty_index(store: Path) -> None:
    (store / "index").write_bytes(b"")


def broken_index(store: Path) -> None:
    (store / "index").write_bytes(b"DIRC nonsense")


def no_head(store: Path) -> None:
    (store / "HEAD").unlink()


def empty_head(store: Path) -> None:
    (store / "HEAD").write_bytes(b"")


def unknown_head(store: Path) -> None:
    (store / "HEAD").write_bytes(b"0123456789012345678901234567890123456789\n")


def no_refs(store: Path) -> None:
    shutil.rmtree(store / "refs")


def no_objects(store: Path) -> None:
    shutil.rmtree(store / "objects")


def strange_config(store: Path) -> None:
    (store / "config").write_bytes(b"[core\nbroken")


def empty_objects(store: Path) -> None:
    for path in [*(store / "objects").glob("??/*")]:
        path.chmod(0o600)
        path.write_bytes(b"")


def last_object_broken(store: Path) -> None:
    path = store / "objects" / (store / "HEAD").read_text()[:2] / (store / "HEAD").read_text()[2:].strip()
    path.write_bytes(path.read_bytes()[:-9] + b"123456789")


def only_the_folder(store: Path) -> None:
    shutil.rmtree(store)
    store.mkdir()


@pytest.mark.parametrize(
    "damage",
    [
        *(broken_index, unknown_head, no_refs, no_objects, strange_config, last_object_broken),
        *(
            pytest.param(damage, marks=pytest.mark.more)
            for damage in (empty_index, no_head, empty_head, empty_objects, only_the_folder)
        ),
    ],
)
def test_damage_is_noticed_and_saving_goes_on(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    write(tmp_path, ONE)
    before = ShadowRepository(tmp_path).snapshot()
    store = tmp_path / ".headway/checkpoints"
    damage(store)
    shadow = ShadowRepository(tmp_path)
    if damage in (empty_index, broken_index, no_head, empty_head, unknown_head, no_refs, strange_config):
        become(tmp_path, TWO)
        shadow.apply_change(shadow.snapshot(), before)  # what was saved is not lost
        assert files(tmp_path) == ONE
    become(tmp_path, TWO)
    first = shadow.snapshot()
    become(tmp_path, ONE)
    shadow.apply_change(shadow.snapshot(), first)
    assert files(tmp_path) == TWO


def break_blob(store: Path, blob: str) -> None:
    path = store / "objects" / blob[:2] / blob[2:]
    path.chmod(0o600)
    path.write_bytes(b"")


def break_pack(store: Path, _: str) -> None:
    git(store, "--git-dir", os.fspath(store), "repack", "-adq")
    (pack,) = (store / "objects/pack").glob("*.pack")
    pack.chmod(0o600)
    content = pack.read_bytes()
    middle = len(content) // 2
    pack.write_bytes(content[:middle] + bytes(len(content) - middle - 20) + content[-20:])


@pytest.mark.parametrize("damage", [break_blob, break_pack])
def test_damage_that_is_found_when_going_back_is_mended_by_the_next_snapshot(
    tmp_path: Path, damage: Callable[[Path, str], None]
) -> None:
    write(tmp_path, ONE)
    one = ShadowRepository(tmp_path).snapshot()
    damage(tmp_path / ".headway/checkpoints", git(tmp_path, "hash-object", "d1/f1").strip())
    shadow = ShadowRepository(tmp_path)
    become(tmp_path, TWO)
    with pytest.raises(NoCheckpoints, match="git could not"):
        shadow.apply_change(shadow.snapshot(), one)
    assert files(tmp_path) == TWO
    become(tmp_path, ONE)
    again = shadow.snapshot()
    become(tmp_path, TWO)
    shadow.apply_change(shadow.snapshot(), again)
    assert files(tmp_path) == ONE


def test_a_broken_index_does_not_keep_from_going_back(tmp_path: Path) -> None:
    write(tmp_path, ONE)
    shadow = ShadowRepository(tmp_path)
    one = shadow.snapshot()
    become(tmp_path, TWO)
    two = shadow.snapshot()
    broken_index(tmp_path / ".headway/checkpoints")
    shadow.apply_change(two, one)
    assert files(tmp_path) == ONE


def test_a_full_disk_is_no_reason_to_give_up_what_was_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"project/a": b"1"})
    first = ShadowRepository(tmp_path / "project").snapshot()
    full = (
        'echo "error: missing.txt: failed to insert into database; index file: No space left on device" >&2; exit 128'
    )
    environ = in_front_of_git(tmp_path / "bin", f'[ "$1" = update-index ] && {{ {full}; }}')
    write(tmp_path, {"project/a": b"2"})
    with monkeypatch.context() as there:
        there.setenv("PATH", environ["PATH"])
        with pytest.raises(NoCheckpoints, match=r"could not save the project's files.*No space left"):
            ShadowRepository(tmp_path / "project").snapshot()
    shadow = ShadowRepository(tmp_path / "project")
    second = shadow.snapshot()
    assert shadow.list_changed(first, second) == ["a"]
    store = os.fspath(tmp_path / "project/.headway/checkpoints")
    assert git(tmp_path, "--git-dir", store, "rev-list", second).split() == [second, first]


def test_half_written_commits_of_a_killed_process_do_no_harm(tmp_path: Path) -> None:
    write(tmp_path, {"a": b"1", ".headway/checkpoints/new-0123": b"half", ".headway/checkpoints/config": b""})
    shadow = ShadowRepository(tmp_path)
    first = shadow.snapshot()
    shadow.pack_objects()
    assert files(shadow.make_worktree("w", first)) == {"a": b"1"}


# Files that cannot be read


def test_a_file_that_vanishes_while_it_is_saved_takes_no_other_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    write(project, dict.fromkeys(("a", "b", "c", "d", "e"), b"1"))
    unreadable = 'echo "error: open(\\"c\\"): No such file or directory" >&2; exit 128'
    # git is given its paths, and finds one of them gone when it opens it
    environ = in_front_of_git(
        tmp_path / "bin",
        f'if [ "$1" = update-index ]; then cat > {tmp_path}/given;'
        f" if tr '\\0' '\\n' < {tmp_path}/given | grep -qx c; then {unreadable}; fi;"
        f' {shutil.which("git")} "$@" < {tmp_path}/given; exit $?; fi',
    )
    monkeypatch.setenv("PATH", environ["PATH"])
    shadow = ShadowRepository(project)
    saved = shadow.snapshot()
    assert sorted(files(shadow.make_worktree("w", saved))) == ["a", "b", "d", "e"]


@pytest.mark.full
def test_files_that_come_and_go_all_the_time_do_not_make_it_fail(tmp_path: Path) -> None:
    write(tmp_path, ONE)
    body = (
        "import os, itertools\nos.chdir({0!r})\nprint(flush=True)\n"
        "for n in itertools.count():\n"
        " name = 'tmp%d' % (n % 50)\n open(name, 'w').write('x' * n)\n os.rename(name, 'd1/' + name)\n"
        " os.unlink('d1/' + name)\n"
    )
    process = start_python(tmp_path, body.format(os.fspath(tmp_path)))
    process.out.line()
    shadow = ShadowRepository(tmp_path)
    saved = [shadow.snapshot() for _ in range(some(15, 3))]
    process.kill()
    for path in tmp_path.glob("**/tmp*"):
        path.unlink()
    assert not [path for path in shadow.list_changed(saved[-1], shadow.snapshot()) if path in ONE]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_stays_as_it_was_saved(tmp_path: Path) -> None:
    write(tmp_path, {"a": b"1", "b": b"1", "closed/c": b"1"})
    shadow = ShadowRepository(tmp_path)
    first = shadow.snapshot()
    write(tmp_path, {"a": b"2", "b": b"2", "new": b"2"})
    os.chmod(tmp_path / "b", 0)
    os.chmod(tmp_path / "new", 0)
    os.chmod(tmp_path / "closed", 0)
    second = shadow.snapshot()
    assert shadow.list_changed(first, second) == ["a"]
    assert shadow.snapshot() == second
    os.chmod(tmp_path / "closed", 0o755)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_keeps_all_as_it_is(tmp_path: Path) -> None:
    write(tmp_path, {"a": b"1", "closed/c": b"1"})
    shadow = ShadowRepository(tmp_path)
    first = shadow.snapshot()
    write(tmp_path, {"a": b"2", "closed/c": b"2"})
    second = shadow.snapshot()
    os.chmod(tmp_path / "closed", 0o555)
    with pytest.raises(NoCheckpoints, match="is not writable"):
        shadow.apply_change(second, first)
    os.chmod(tmp_path / "closed", 0o755)
    assert files(tmp_path) == {"a": b"2", "closed/c": b"2"}


def test_what_was_changed_before_a_failure_is_taken_back(tmp_path: Path) -> None:
    one: dict[str, Content] = {"a": b"1", "b": b"1" * 200_000, "d/e": b"1", "z": b"1"}
    two: dict[str, Content] = {"a": b"2", "b": b"2", "d": b"2", "keep": b"2"}
    write(tmp_path, one)
    shadow = ShadowRepository(tmp_path)
    first = shadow.snapshot()
    become(tmp_path, two)
    second = shadow.snapshot()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))  # as a disk that is full
    try:
        with pytest.raises(NoCheckpoints, match=r"could not change the project's files.*File too large"):
            shadow.apply_change(second, first)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert files(tmp_path) == two
    assert shadow.snapshot() == second
    shadow.apply_change(second, first)
    assert files(tmp_path) == one


def test_tidying_never_fails(tmp_path: Path) -> None:
    shadow = ShadowRepository(tmp_path)
    shadow.pack_objects()
    shadow.snapshot()
    shutil.rmtree(tmp_path / ".headway/checkpoints/objects")
    shadow.pack_objects()
    shutil.rmtree(tmp_path / ".headway/checkpoints/objects")
    write(tmp_path, {".headway/checkpoints/objects": b"a file"})
    shadow.pack_objects()
    with pytest.raises(NoCheckpoints, match="git could not save the project's files"):
        shadow.snapshot()
