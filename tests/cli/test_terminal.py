"""The commands in a real pseudo-terminal, and as real processes."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pexpect
import pyte
import pytest

import headway as api

PROGRAM = str(Path(sys.executable).with_name("headway"))
WAIT = 20.0


class Terminal:
    """A program on a terminal of a given size, with the screen as a person sees it."""

    def __init__(self, *words: str, columns: int = 80, lines: int = 24, **env: str) -> None:
        self._screen = pyte.Screen(columns, lines)
        self._stream = pyte.Stream(self._screen)
        self.raw = ""
        self.child: pexpect.spawn[str] = pexpect.spawn(
            PROGRAM,
            list(words),
            dimensions=(lines, columns),
            env={**os.environ, "TERM": "xterm-256color", **env},
            encoding="utf-8",
            timeout=WAIT,
        )

    def resize(self, columns: int, lines: int) -> None:
        termios.tcsetwinsize(self.child.child_fd, (lines, columns))
        self._screen.resize(lines, columns)

    @property
    def shown(self) -> str:
        return "\n".join(line.rstrip() for line in self._screen.display)

    def until(self, condition: Callable[[str], bool]) -> str:
        deadline = time.monotonic() + WAIT
        while not condition(self.shown):
            assert time.monotonic() < deadline, self.shown
            try:
                text = self.child.read_nonblocking(4096, timeout=0.2)
            except pexpect.TIMEOUT:
                continue
            except pexpect.EOF:
                assert condition(self.shown), self.shown
                break
            self.raw += text
            self._stream.feed(text)
        return self.shown

    def end(self) -> int | None:
        self.child.expect(pexpect.EOF)
        self.raw += self.child.before or ""
        self._stream.feed(self.child.before or "")
        self.child.close()
        return self.child.exitstatus


def one_box(shown: str, rows: int) -> bool:
    """The screen has one whole box of that many rows, and no remains of another."""
    lines = [line for line in shown.splitlines() if line.startswith(("┌", "│", "└"))]
    return len(lines) == rows and lines[0].endswith("┐") and lines[-1].endswith("┘")


@pytest.fixture
def session(project: Path) -> Iterator[api.Session]:
    session = api.open(project)
    session.write([{"content": "First 第一", "status": "in_progress"}, {"content": "Second"}])
    yield session
    session.close()


def test_watch_redraws_in_place_when_another_process_changes_the_list(session: api.Session) -> None:
    terminal = Terminal("watch")
    terminal.until(lambda shown: "● First 第一..." in shown)
    session.update("t1", status="completed")
    terminal.until(lambda shown: "✓ First 第一" in shown and one_box(shown, rows=4) and shown.count("Second") == 1)
    terminal.child.sendintr()
    assert terminal.end() == 0


def test_watch_keeps_the_active_item_in_sight_on_a_small_screen(session: api.Session) -> None:
    session.write([{"content": f"Item {n}", "status": "in_progress" if n == 40 else "pending"} for n in range(50)])
    terminal = Terminal("watch", lines=12, columns=40)
    shown = terminal.until(lambda shown: "● Item 40..." in shown)
    assert "more" in shown
    terminal.child.sendintr()
    assert terminal.end() == 0


def test_watch_draws_the_box_anew_when_the_terminal_changes_its_size(session: api.Session) -> None:
    terminal = Terminal("watch", columns=100)
    terminal.until(lambda shown: "● First 第一..." in shown)
    terminal.resize(columns=40, lines=10)
    terminal.until(lambda shown: "┌─ Tasks ──────────────────────────────┐" in shown and one_box(shown, rows=4))
    terminal.resize(columns=120, lines=30)
    wide = "┌─ Tasks ─────────────────────────────────────────────┐"
    terminal.until(lambda shown: wide in shown and one_box(shown, rows=4) and shown.count("First") == 1)
    terminal.child.sendintr()
    assert terminal.end() == 0


def test_watch_shows_that_its_session_was_deleted(session: api.Session) -> None:
    terminal = Terminal("watch")
    terminal.until(lambda shown: "● First 第一..." in shown)
    session.store.delete("default")
    terminal.until(lambda shown: "No tasks yet" in shown)
    terminal.child.sendintr()
    assert terminal.end() == 0


@pytest.mark.parametrize("words", [["todos", "list"], ["todos", "list", "--json"], ["--help"]])
def test_an_answer_that_cannot_be_printed_is_said_in_one_sentence(
    session: api.Session, project: Path, words: list[str]
) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [PROGRAM, *words], cwd=project, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60
        )
    assert done.returncode == 1
    assert done.stderr.startswith("Error: the answer could not be printed (No space left on device)")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_without_colour_the_box_is_plain_text(session: api.Session, env: dict[str, str]) -> None:
    terminal = Terminal("watch", columns=80, lines=24, **env)
    terminal.until(lambda shown: "● First 第一..." in shown)
    assert "\x1b" not in terminal.raw
    terminal.child.sendintr()
    assert terminal.end() == 0


def test_without_unicode_the_box_is_ascii(session: api.Session) -> None:
    terminal = Terminal("watch", PYTHONIOENCODING="ascii", NO_COLOR="1")
    shown = terminal.until(lambda shown: "* First ??..." in shown)
    assert "+- Tasks ---" in shown
    terminal.child.sendintr()
    assert terminal.end() == 0


def test_watch_as_json_prints_one_event_per_line(session: api.Session, project: Path) -> None:
    watcher = subprocess.Popen([PROGRAM, "watch", "--json"], cwd=project, stdout=subprocess.PIPE)
    assert watcher.stdout is not None
    try:
        deadline = time.monotonic() + WAIT
        while not select.select([watcher.stdout], [], [], 0.05)[0]:
            assert time.monotonic() < deadline
            session.add("More")
        event = json.loads(watcher.stdout.readline())
        assert event["type"] == "TodoListUpdated"
        assert event["added"][0]["content"] == "More"
    finally:
        watcher.send_signal(signal.SIGINT)
        assert watcher.wait(WAIT) == 0
        watcher.stdout.close()


def test_watch_ends_quietly_when_its_reader_goes_away(session: api.Session, project: Path) -> None:
    watcher = subprocess.Popen(
        [PROGRAM, "watch"], cwd=project, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert watcher.stdout is not None and watcher.stderr is not None
    assert watcher.stdout.readline().startswith("┌─ Tasks")
    watcher.stdout.close()
    deadline = time.monotonic() + WAIT
    while watcher.poll() is None and time.monotonic() < deadline:
        session.add("More")
        time.sleep(0.05)
    assert watcher.wait(WAIT) == 0
    assert watcher.stderr.read() == ""
    watcher.stderr.close()


def test_the_demo_plans_executes_tries_again_and_reports(project: Path) -> None:
    terminal = Terminal("demo", "--fast", lines=120, columns=110, TMPDIR=str(project))
    assert terminal.end() == 0
    shown = terminal.shown
    assert "The model is scripted" in shown
    assert shown.count("┌─ Tasks") == 1
    before, after = shown.split("3. They are executed")
    assert "FAILED (errors=4)" in before and "Critical path: step-1 → step-3 → step-5" in before
    assert "Trying again. Its last command failed" in after and "⏱ 20min (attempt 2)" in after
    assert "Executed 5/5 todos in" in after
    for line in ("✓ step-3: Read Chinese dates: 2026年11月15日", "✓? step-4: Say in the README", "    OK"):
        assert line in after
    (folder,) = project.glob("headway-demo-*")
    tested = subprocess.run([sys.executable, "-m", "unittest", "-q"], cwd=folder, capture_output=True, text=True)
    assert tested.returncode == 0, tested.stderr
    changed = subprocess.run(["git", "status", "--short"], cwd=folder, capture_output=True, text=True, check=True)
    assert changed.stdout.splitlines() == [" M README.md", " M dates.py", "?? readers/"]
    (report,) = folder.glob(".headway/reports/*.html")
    assert str(report) in "".join(shown.split()) and "<svg" in report.read_text(encoding="utf-8")


def test_the_demo_runs_without_a_terminal(project: Path) -> None:
    done = subprocess.run(
        [PROGRAM, "demo"], env={**os.environ, "TMPDIR": str(project)}, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_printed(shell: str) -> None:
    done = subprocess.run([PROGRAM, "completion", shell], capture_output=True, text=True, timeout=60, check=True)
    assert "_HEADWAY_COMPLETE" in done.stdout


def completed(project: Path, *words: str) -> list[str]:
    env = {**os.environ, "_HEADWAY_COMPLETE": "bash_complete", "COMP_WORDS": " ".join(words)}
    env["COMP_CWORD"] = str(len(words) - 1)
    done = subprocess.run([PROGRAM], cwd=project, env=env, capture_output=True, text=True, timeout=60, check=False)
    return [line.split(",", 1)[1] for line in done.stdout.splitlines()]


def test_the_shell_completes_commands_ids_statuses_and_sessions(session: api.Session, project: Path) -> None:
    assert completed(project, "headway", "to") == ["todos"]
    assert completed(project, "headway", "todos", "un") == ["undo"]
    assert completed(project, "headway", "todos", "update", "t") == ["t1", "t2"]
    assert completed(project, "headway", "todos", "update", "t1", "c") == ["completed", "cancelled"]
    assert completed(project, "headway", "sessions", "resume", "d") == ["default"]


def test_the_command_loads_neither_rich_nor_views_it_does_not_use() -> None:
    code = "import sys, headway.cli.app, headway.cli.todo_write; print(sorted(m for m in sys.modules if 'rich' in m))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(("answer", "left"), [("n", ["default"]), ("y", [])])
def test_deleting_a_session_is_asked_for_on_a_terminal(session: api.Session, answer: str, left: list[str]) -> None:
    terminal = Terminal("sessions", "delete", "default")
    terminal.until(lambda shown: "Delete 'default' with its whole history?" in shown)
    terminal.child.sendline(answer)
    assert terminal.end() == 0
    assert [info.name for info in session.store.sessions()] == left
