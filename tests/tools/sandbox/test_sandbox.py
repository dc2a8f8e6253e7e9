"""Commands in a real sandbox: what they cannot write, read and reach, and what works as outside."""

from __future__ import annotations

import os
import signal
import socket
import time
from contextlib import closing
from pathlib import Path
from secrets import randbelow

import pytest

from .conftest import PATHS, ROOT, User

WAIT = 30.0
SOURCES = ROOT / "src"
NO_NETWORK = "[ran in a sandbox: there is no network, "


def processes_with(words: str) -> list[str]:
    """Command lines that have the words in them."""
    found: list[str] = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        found += [line] if words in line else []
    return found


def wait_until_gone(words: str) -> None:
    until = time.monotonic() + WAIT
    while processes_with(words):
        assert time.monotonic() < until, processes_with(words)
        time.sleep(0.05)


def sleeping() -> str:
    return f"sleep 7{randbelow(10**9)}"


def test_a_command_writes_in_the_project_and_temporary_files_and_nowhere_else(user: User) -> None:
    outside = user.home.parent / "tmp"
    (file, _), (elsewhere, code), (kept, _), (home, _) = user.bash(
        "echo made > file && cat file; echo kept > /tmp/kept",
        f"echo x > /etc/planted; echo x > {outside}/planted; echo x > /usr/planted",
        "cat /tmp/kept /var/tmp/kept",
        "echo x > ~/planted; mkdir -p ~/.cache/tool && echo cached",
    )
    assert (file, kept, home) == ("made", "kept\nkept", "cached")
    assert code and "Read-only file system" in elsewhere
    assert elsewhere.endswith("only the project and temporary files can be written, and the home folder is hidden]")
    assert (user.project / "file").read_text() == "made\n"
    assert not (user.home / "planted").exists() and not (user.home / ".cache").exists()
    assert not [*outside.iterdir()], "what commands kept goes with the process that ran them"


def test_secrets_the_home_folder_and_other_projects_are_hidden(user: User) -> None:
    user.run(
        "sh",
        "-c",
        "mkdir -p ../other/.headway ../.config/headway ../lib && echo s | tee ../other/.headway/headway.db ../lib/x",
    )
    user.run("ln", "-s", str(user.home / ".ssh"), "keys")
    hidden, _ = user.bash("ls -A ~; cat ~/.ssh/id_ed25519 keys/id_ed25519 ~/notes.txt ~/other/.headway/headway.db")[0]
    assert "the key" not in hidden and "private" not in hidden and hidden.count("No such file") == 4
    read = user.bash("cat ~/lib/x; touch ~/lib/x", read=["~/lib"])[0][0]
    assert read.startswith("s\n") and "Read-only file system" in read


def test_the_network_is_there_for_what_a_person_approved_and_for_nothing_else(user: User) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        connect = f"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]})); print('reached')"
        command = f'python3 -c "{connect}"'
        assert user.bash(command, mode="default", answer="once") == [("reached", 0)]
        offline = user.bash(command, mode="default", answer="offline")[0][0]
        assert "refused" in offline and NO_NETWORK in offline, "a person said yes, and no to the network"
        unasked, code = user.bash(command)[0]
        assert code and "refused" in unasked and NO_NETWORK in unasked
        calls = [("bash", {"command": command})]
        done = user.ask_for(mode="sandboxed", answer="once", calls=calls)
        assert done["questions"] == [] and NO_NETWORK in done["results"][0][0]


def test_the_mode_sandboxed_edits_and_runs_unasked_but_asks_about_what_runs_later(user: User) -> None:
    calls = [
        ("write_file", {"path": "a.txt", "content": "a\n"}),
        ("bash", {"command": "cat a.txt"}),
        ("write_file", {"path": "conftest.py", "content": "import os\n"}),
    ]
    done = user.ask_for(mode="sandboxed", answer="no", calls=calls)
    assert done["questions"] == ["write_file"], done
    assert done["results"][1] == ["a", 0] and not (user.project / "conftest.py").exists()


def test_git_works_and_nothing_can_be_planted_in_it(repository: User) -> None:
    git = repository.project / ".git"
    (commit, code), (planted, _), _ = repository.bash(
        "echo two >> a.txt && git commit -qam Second && git checkout -qb more && git gc -q && git log --format=%s",
        "mv .git moved; echo x > .git/hooks/pre-commit; rm -r .git/hooks; echo x >> .git/config; "
        "git config core.fsmonitor ./evil; rm .git/config; mv .git/hooks .git/h",
        "echo ../evil > .git/commondir",
    )
    assert (commit, code) == ("Second\nFirst", 0)
    assert planted.count("Device or resource busy") >= 2 and planted.count("Read-only file system") >= 2
    assert not (git / "hooks/pre-commit").exists() and "evil" not in (git / "config").read_text()
    assert not (git / "commondir").exists(), "git would take its settings from there"
    assert repository.run("git", "status", "--short") == ""


def test_git_takes_no_further_settings_from_a_worktrees_own_file(repository: User) -> None:
    repository.run("git", "config", "extensions.worktreeConfig", "true")
    repository.bash("printf '[core]\\n fsmonitor = touch planted; false\\n' > .git/config.worktree")
    repository.run("git", "status", "--short")
    assert not (repository.project / "planted").exists() and not (repository.project / ".git/config.worktree").exists()


def test_hooks_that_a_command_makes_with_a_repository_are_not_run_by_headway(user: User) -> None:
    plant = "touch $HOME/ran; exit 1"
    hooks = " ".join(f".git/hooks/{name}" for name in ("pre-commit", "post-checkout", "post-index-change"))
    planted, _ = user.bash(
        "git init -q; git config core.fsmonitor 'touch $HOME/ran; false'; echo one > a.txt; git add a.txt; "
        f"git -c user.name=A -c user.email=a@localhost commit -qm First; for hook in {hooks}; do "
        f"printf '#!/bin/sh\\n{plant}\\n' > $hook; chmod +x $hook; done; ls {hooks}"
    )[0]
    assert sorted(planted.split()) == sorted(hooks.split())
    write = {"calls": [{"name": "write_file", "args": {"path": "b.txt", "content": "two\n"}}]}
    report = {"calls": [{"name": "report_item", "args": {"status": "completed"}}]}
    todo = {"id": "s1", "content": "Do it", "activeForm": "Doing it", "status": "pending"}
    done = user.ask_for(mode="yolo", todos=[todo], turns=[write, report, {"text": "Done."}])
    assert (done["outcome"], (user.project / "b.txt").read_text()) == ("complete", "two\n"), done
    assert not (user.home / "ran").exists()
    user.start("git", "status").communicate(timeout=60)
    assert (user.home / "ran").exists(), "they were ready to run"


def test_hooks_cannot_be_made_where_there_are_none(repository: User) -> None:
    repository.run("rm", "-r", ".git/hooks")
    text, _ = repository.bash("mkdir -p .git/hooks; echo x > .git/hooks/pre-commit; ls .git/hooks")[0]
    assert "Read-only file system" in text and not (repository.project / ".git/hooks").exists()


def test_a_command_that_ends_leaves_no_gap_for_hooks_to_another_one(repository: User) -> None:
    repository.run("rm", "-r", ".git/hooks")
    commands = (
        "touch first; until [ -e second ]; do sleep 0.02; done",
        "touch second; until [ -e over ]; do sleep 0.02; done; mkdir -p .git/hooks; echo x > .git/hooks/pre-commit",
    )
    first, second = [[("bash", {"command": command})] for command in commands]
    ending = repository.begin(mode="yolo", memory=True, calls=first)
    until = time.monotonic() + WAIT
    while not (repository.project / "first").exists():
        assert time.monotonic() < until
        time.sleep(0.02)
    going_on = repository.begin(mode="yolo", memory=True, calls=second)
    ending.communicate(timeout=WAIT)
    (repository.project / "over").touch()
    out, err = going_on.communicate(timeout=WAIT)
    assert "Read-only file system" in out, err
    assert not (repository.project / ".git/hooks/pre-commit").exists()


def test_a_worktree_of_the_users_own_can_be_committed_in(repository: User) -> None:
    tree = repository.home / "tree"
    repository.run("git", "worktree", "add", "-q", str(tree))
    commit, planted = repository.bash(
        "echo x > b && git add b && git commit -qm There && git log --format=%s -1",
        f"echo x > {repository.project}/.git/hooks/pre-commit; echo x > {repository.project}/a.txt; echo x > .git",
        folder=str(tree),
    )
    assert commit == ("There", 0)
    assert planted[0].count("Read-only") == 2 and (repository.project / "a.txt").read_text() == "one\n"


def test_a_git_file_that_names_another_repository_makes_nothing_writable(repository: User) -> None:
    hostile = repository.home / "hostile"
    repository.run("sh", "-c", f"mkdir {hostile} && echo 'gitdir: {repository.project}/.git' > {hostile}/.git")
    text, code = repository.bash(f"echo x > {repository.project}/.git/planted", folder=str(hostile))[0]
    assert code and not (repository.project / ".git/planted").exists(), text


def test_the_projects_headway_folder_is_out_of_reach(user: User) -> None:
    user.run(
        "sh", "-c", "mkdir -p .headway/outputs && echo whole > .headway/outputs/1 && echo x > .headway/config.toml"
    )
    (seen, _), (todo, code) = user.bash(
        "cd .headway; cat outputs/1; cat config.toml; echo y > config.toml; cd ..; rm -r .headway; mv .headway h",
        f"PYTHONPATH={SOURCES} {user.python} -c 'from headway.cli.todo_write import main; main()' '[]'",
    )
    assert seen.startswith("whole\n") and "y" not in (user.project / ".headway/config.toml").read_text()
    assert code and "A command in the sandbox cannot reach the list; call TodoWrite on a line of its own" in todo


def test_a_project_without_a_headway_folder_gets_none_from_a_command(user: User) -> None:
    text, _ = user.bash("mkdir -p .headway; echo x > .headway/headway.db", memory=True)[0]
    assert "Read-only file system" in text and not (user.project / ".headway").exists()


def test_a_link_in_the_shared_temporary_folder_makes_nothing_outside(user: User) -> None:
    # The home of this user is below /tmp, which commands share: what is mounted there must not follow what they made.
    top = user.home.parent
    assert str(top).startswith("/tmp/")
    texts = user.bash(
        f"mv {top} {top}.moved && ln -s /oldroot{user.home}/.ssh {top} && echo linked", "pwd; echo fine > made"
    )
    assert texts[1] == (str(user.project), 0), texts
    assert sorted(path.name for path in (user.home / ".ssh").iterdir()) == ["id_ed25519"]
    assert (user.project / "made").read_text() == "fine\n"


def test_exit_codes_signals_and_what_is_left_running_are_told_as_outside(user: User) -> None:
    asleep = sleeping()
    results = user.bash(
        "exit 37", "kill -SEGV $$", f"{asleep} & echo begun", "echo out > >(sleep 0.1; cat > tee)", "cat tee"
    )
    assert results == [
        ("(no output)\n[exit code 37]", 37),
        ("(no output)\n[killed by signal 11]", 139),
        ("begun\n[1 process was still running and was stopped]", 0),
        ("(no output)", 0),
        ("out", 0),
    ]
    assert not processes_with(asleep)


def test_cancelling_lets_a_command_clean_up_and_leaves_nothing(user: User) -> None:
    asleep = sleeping()
    trap = f"trap 'echo cleaned > cleaned; exit' TERM; setsid {asleep} & wait"
    assert user.bash(trap, seconds=2) == [("cancelled", None)]
    wait_until_gone(asleep)
    assert (user.project / "cleaned").read_text() == "cleaned\n"


def test_killing_headway_leaves_nothing_running(user: User) -> None:
    asleep = sleeping()
    process = user.begin(mode="yolo", calls=[("bash", {"command": f"setsid {asleep} & echo > begun; wait"})])
    until = time.monotonic() + WAIT
    while not (user.project / "begun").exists():
        assert time.monotonic() < until
        time.sleep(0.05)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    wait_until_gone(asleep)


def test_what_programs_need_is_there(user: User) -> None:
    pool = "import multiprocessing as m; p = m.Pool(2); print(sum(p.map(abs, [-1, -2])))"
    results = user.bash(
        "echo x > /dev/shm/x && cat /dev/shm/x",
        f'python3 -c "{pool}"',
        "python3 -m venv --without-pip env && env/bin/python -c 'import sys; print(sys.prefix)'",
        'python3 -c \'import pty; pty.spawn(["echo", "in a terminal"])\'',
        "ls /proc | grep -c '^[0-9]'; cat /proc/self/status | grep CapEff; tty; env | grep -c HEADWAY_IN_SANDBOX",
    )
    assert [text for text, _ in results[:4]] == ["x", "3", f"{user.project}/env", "in a terminal"]
    number, capabilities, tty, mark = results[4][0].splitlines()
    assert int(number) < 12 and capabilities.endswith("0000000000000000") and (tty, mark) == ("not a tty", "1")


def test_pytest_runs_in_it(user: User) -> None:
    (user.project / "test_it.py").write_text("def test_it(tmp_path):\n    (tmp_path / 'x').write_text('x')\n")
    command = f"PYTHONPATH={PATHS} {user.python} -m pytest -q test_it.py"
    text, code = user.bash(command, read=PATHS.split(os.pathsep))[0]
    assert code == 0 and "1 passed" in text, text


def test_an_attempt_writes_in_its_worktree_and_commits_there(repository: User) -> None:
    commands = [
        "echo done > b.txt && git add b.txt && git commit -qm Attempt && git log --format=%s | head -2",
        f"echo x > .git; git config core.fsmonitor x; cd {repository.project}; echo x > a.txt; ls .headway",
    ]
    calls = [{"calls": [{"name": "bash", "args": {"command": command}}]} for command in commands]
    report = {"calls": [{"name": "report_item", "args": {"status": "completed"}}]}
    done = repository.ask_for(
        mode="yolo",
        todos=[{"id": "s1", "content": "Do it", "activeForm": "Doing it", "status": "pending"}],
        turns=[*calls, report, {"text": "Done."}],
    )
    assert done["outcome"] == "complete", done
    committed, refused, _ = done["results"]
    assert committed == "Attempt\nFirst" and refused.count("Read-only file system") == 2
    assert "resource busy" in refused and refused.endswith("checkpoints\nworktrees")
    assert (repository.project / "b.txt").read_text() == "done\n"
    assert (repository.project / "a.txt").read_text() == "one\n"
    assert repository.run("git", "log", "--format=%s") == "First\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is refused")
def test_root_is_refused_a_sandbox() -> None:
    from headway.core.errors import HeadwayError
    from headway.tools.sandbox.sandbox import describe_sandbox, open_sandbox

    assert open_sandbox("auto") is None and "root could leave it" in describe_sandbox("auto")
    with pytest.raises(HeadwayError, match="The setting 'sandbox' is on, but there is no sandbox: root could leave it"):
        open_sandbox("on")
