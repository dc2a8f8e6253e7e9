"""The box, `run` and `watch` in a real tmux, which draws many texts wider or narrower than rich counts them."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest
from tests.support.processes import PROGRAM
from tests.support.scripts import bash, script, turn
from tests.support.tmux import Tmux, needs_tmux

import headway as api

TEXTS = {
    "Devanagari": "हिन्दी में दस्तावेज़ लिखो और क्षत्रिय जाँचो",
    "Tamil": "தமிழ் ஆவணத்தை எழுதிச் சரிபார்க்கவும்",
    "Thai": "เขียนเอกสารภาษาไทยให้เสร็จที่นี่",
    "Arabic": "اكتب الوثائق بالعربية ثُمَّ راجِعها",
    "skin tones": "👍🏽 👩🏿‍🚀 👋🏻 wave",
    "flags": "🇩🇪 🇯🇵 🇧🇷 raise",
    "keycaps": "1️⃣ 2️⃣ #️⃣ press",
    "joined": "👨‍👩‍👧 👩‍💻 🏳️‍🌈 join",
    "Chinese": "修复重叠检测的边界情况并更新文档",
    "long": "क्षि 👨‍👩‍👧 ที่ 🇩🇪 " * 20,
}
CHANGES = 50
STATUSES = ("in_progress", "completed", "blocked", "cancelled", "pending")
ROWS = len(TEXTS) + 3

pytestmark = needs_tmux


@pytest.fixture(params=[40, pytest.param(80, marks=pytest.mark.smoke), 120])
def columns(request: pytest.FixtureRequest) -> int:
    return request.param


def rows_of_box(shown: str) -> list[str]:
    """The rows of the one box on the screen; all of it is there, and nothing of another one."""
    lines = shown.rstrip("\n").split("\n")
    start = next((at for at, line in enumerate(lines) if line.startswith("┌─ Tasks ─")), None)
    assert start is not None, shown
    rows, others = lines[start : start + ROWS], lines[:start] + lines[start + ROWS :]
    assert rows[0].endswith("─┐") and rows[-1].startswith("└─") and rows[-1].endswith("─┘"), shown
    assert all(row.startswith("│ ") and row.endswith("│") and row.count("│") == 2 for row in rows[1:-1]), shown
    assert not any(mark in line for mark in "┌┐│└┘" for line in others), shown
    return rows


def play(terminal: Tmux, session: api.Session) -> None:
    """Change the list so that every row has every text in turn; look at the box now and then."""
    ids = [todo.id for todo in session.todos]
    texts = [*TEXTS.values()]
    for change in range(1, CHANGES + 1):
        place = change % len(texts)
        text = texts[(change * 7 + change // len(texts)) % len(texts)]
        session.update(ids[place], content=f"{change} {text}", status=STATUSES[change % len(STATUSES)])
        session.update(ids[-1], content=f"change {change}")
        if change % 10 == 0:

            def is_whole(shown: str, change: int = change) -> bool:
                """Not so while it is being drawn."""
                if f"change {change} " not in shown or "┘" not in shown:
                    return False
                rows = rows_of_box(shown)
                numbered = zip(_numbers(change), rows[1:-2], strict=True)
                return len({*terminal.widths(rows)}) == 1 and all(f"{number} " in row for number, row in numbered)

            terminal.until(is_whole)


def _numbers(change: int) -> list[int]:
    """For each row the last change that it had."""
    count = len(TEXTS)
    return [change - (change - place) % count for place in range(count)]


@pytest.fixture
def session(project: Path) -> api.Session:
    session = api.open(project)
    session.write([*({"content": f"0 {text}"} for text in TEXTS.values()), {"content": "change 0"}])
    return session


@pytest.fixture
def started(project: Path, columns: int) -> Generator[list[Tmux]]:
    terminals: list[Tmux] = []
    yield terminals
    for terminal in terminals:
        terminal.close()


def test_watch_stays_whole(project: Path, session: api.Session, started: list[Tmux], columns: int):
    terminal = Tmux(project, PROGRAM, "watch", columns=columns)
    started.append(terminal)
    terminal.until(lambda shown: "change 0 " in shown)
    play(terminal, session)
    terminal.send("C-c")
    rows_of_box(terminal.until(lambda shown: "exit code 0" in shown))


def test_a_run_stays_whole(project: Path, session: api.Session, started: list[Tmux], columns: int):
    model = script(turn(f"Going on with {TEXTS['Devanagari']}.", bash("touch begun; exec sleep 60")))
    terminal = Tmux(project, PROGRAM, "run", "Go", "--mode", "yolo", "--model", model, columns=columns)
    started.append(terminal)
    terminal.until(lambda shown: (project / "begun").exists() and "change 0 " in shown)
    play(terminal, session)
    terminal.send("C-c")
    rows_of_box(terminal.until(lambda shown: "exit code 130" in shown))


def test_the_box_of_the_terminal_session_stays_whole(
    project: Path, session: api.Session, started: list[Tmux], columns: int
):
    terminal = Tmux(project, PROGRAM, "--model", script("So."), columns=columns)
    started.append(terminal)
    terminal.until(lambda shown: "change 0 " in shown)
    terminal.send(TEXTS["Devanagari"])
    play(terminal, session)
    terminal.send("C-u", TEXTS["joined"], "Enter")
    rows_of_box(terminal.until(lambda shown: "Finished after" in shown and "┘" in shown))
    terminal.send("C-d")
    terminal.until(lambda shown: "exit code 0" in shown)
