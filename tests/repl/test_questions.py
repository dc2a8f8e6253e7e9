"""A person is asked in the terminal session whether a call may run: what they see, answer and get back."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.support.processes import Form, until
from tests.support.scripts import bash, call, creating, script, turn, write
from tests.support.terminal import Terminal

import headway as api
from headway.core.run_events import RunFinished, RunStarted, ToolFinished

from .screens import CTRL_C, CTRL_D

NAME = "q"
PROMPT = "  y yes · a always · n no >"
HINT = "Answer y (yes), a (always in this run) or n (no, optionally with a reason)."

pytestmark = [pytest.mark.more, pytest.mark.usefixtures("project")]


class Talk(Terminal):
    """A terminal session in which the model makes these calls, one after the other, for a message that was sent."""

    def __init__(self, *calls: Form, columns: int = 100, lines: int = 40, model: str = "") -> None:
        model = model or script(*(turn("", one) for one in calls), "That is all.")
        env = {"XDG_STATE_HOME": os.path.abspath("home/state")}
        super().__init__("--session", NAME, "--model", model, columns=columns, lines=lines, env=env)
        self.until(lambda shown: "Headway. What" in shown and "scripted:" in self.bottom)
        self.send("Do it\r")

    @property
    def bottom(self) -> str:
        """The line about the session, which is drawn last."""
        return self.shown.rstrip().rpartition("\n")[2]

    @property
    def typed(self) -> str:
        """What stands at the prompt."""
        lines = [line for line in self.shown.splitlines() if line.startswith((">", PROMPT))]
        return lines[-1].removeprefix(PROMPT).removeprefix(">").strip()

    def asked(self, about: str) -> str:
        """The screen, when it waits for the answer to a question that has these words."""
        return self.until(lambda shown: about in shown and PROMPT in shown and "a allows all" in self.bottom)

    def over(self, *texts: str) -> str:
        """The screen, when the run is over and these texts are there."""
        return self.until(
            lambda shown: self.bottom.endswith("/help") and PROMPT not in shown and all(text in shown for text in texts)
        )

    def leave(self) -> int:
        self.send(CTRL_D)
        return self.end()


def session() -> api.Session:
    return api.open(".", NAME)


def results() -> list[str]:
    """What the model was told of its calls."""
    return [event.data.text for event in session().events() if isinstance(event.data, ToolFinished)]


def ends() -> list[str]:
    return [event.data.reason for event in session().events() if isinstance(event.data, RunFinished)]


def tasks() -> list[str]:
    return [event.data.task for event in session().events() if isinstance(event.data, RunStarted)]


def waiting(name: str) -> Form:
    """A command that runs until it is let go."""
    return bash(f"touch {name}; until [ -e go ]; do sleep 0.02; done")


# answers


def test_nothing_runs_before_it_is_allowed_and_yes_is_for_one_call(project: Path) -> None:
    terminal = Talk(bash("touch 1"), bash("touch 2"))
    terminal.asked("? Run: touch 1")
    assert not (project / "1").exists()
    terminal.send("y\r")
    terminal.asked("? Run: touch 2")
    assert (project / "1").exists() and not (project / "2").exists()
    terminal.send("yes\r")
    terminal.over("That is all.")
    assert (project / "2").exists()
    assert terminal.all.count("✓ yes") == 2
    assert [terminal.all.count(f"✓ bash touch {number}") for number in (1, 2)] == [1, 1]
    assert terminal.leave() == 0


def test_no_with_a_reason_reaches_the_model(project: Path) -> None:
    terminal = Talk(bash("touch 1"), bash("touch 2"))
    terminal.asked("? Run: touch 1")
    terminal.send("n use the other 文件\r")
    terminal.asked("? Run: touch 2")
    assert "⊘ no: use the other 文件" in terminal.shown
    assert "⊘ bash touch 1: denied" in terminal.shown
    terminal.send("No\r")
    terminal.over("That is all.")
    first, second = results()
    assert first.startswith("The user declined bash: use the other 文件")
    assert second.startswith("The user declined bash.")
    assert not (project / "1").exists() and not (project / "2").exists()


def test_always_is_for_all_calls_of_the_tool_in_this_run_only(project: Path) -> None:
    terminal = Talk(bash("touch 1"), bash("touch 2"), write("3"))
    terminal.asked("? Run: touch 1")
    terminal.send("a\r")
    terminal.asked("? Create 3")
    assert (project / "2").exists()
    assert "✓ always (bash)" in terminal.shown and "? Run: touch 2" not in terminal.all
    terminal.send("y\r")
    terminal.over("That is all.")
    script(turn("", bash("touch 4")), "And more.")
    terminal.send("Once more\r")
    terminal.asked("? Run: touch 4")
    assert not (project / "4").exists()


@pytest.mark.parametrize(("typed", "made"), [("是", True), ("总是", True), ("否 换一个", False), ("不", False)])
def test_answers_can_be_given_in_chinese(project: Path, typed: str, made: bool) -> None:
    terminal = Talk(bash("touch 1"))
    terminal.asked("? Run: touch 1")
    terminal.send(f"{typed}\r")
    terminal.over("That is all.")
    assert (project / "1").exists() == made
    assert ("换一个" in results()[0]) == ("换一个" in typed)


@pytest.mark.parametrize("typed", ["", "what?", "yn", "y but not here", "a moment, I have to look"])
def test_what_is_no_answer_gets_a_hint_and_nothing_runs(project: Path, typed: str) -> None:
    terminal = Talk(bash("touch 1"))
    terminal.asked("? Run: touch 1")
    terminal.send(f"{typed}\r")
    terminal.until(lambda shown: HINT in shown and PROMPT in shown)
    assert not (project / "1").exists()
    terminal.send("y\r")
    terminal.over("That is all.")
    assert (project / "1").exists()


def test_a_command_can_be_given_while_a_question_waits(project: Path) -> None:
    terminal = Talk(bash("touch 1"), bash("touch 2"))
    terminal.asked("? Run: touch 1")
    terminal.send("/mode yolo\r")
    terminal.until(lambda shown: "> /mode yolo" in shown and PROMPT in shown)
    assert not (project / "1").exists()
    terminal.send("y\r")
    terminal.over("That is all.")
    assert (project / "1").exists() and (project / "2").exists()


def test_a_pasted_yes_is_not_sent_until_enter_is_pressed(project: Path) -> None:
    terminal = Talk(bash("touch 1"))
    terminal.asked("? Run: touch 1")
    terminal.send("\x1b[200~y\ny\n\x1b[201~")
    terminal.until(lambda shown: f"{PROMPT} y" in shown)
    terminal.send("\r")
    terminal.until(lambda shown: HINT in shown)
    assert not (project / "1").exists()


def test_what_was_typed_before_a_question_does_not_answer_it(project: Path) -> None:
    terminal = Talk(waiting("there"), bash("touch 2"))
    terminal.asked("? Run: touch there")
    terminal.send("y\r")
    until(lambda: (project / "there").exists())
    terminal.send("y\r")
    terminal.until(lambda shown: "queued: y" in shown)
    script("And more.")
    (project / "go").touch()
    terminal.asked("? Run: touch 2")
    assert not (project / "2").exists()
    terminal.send("n\r")
    terminal.over("And more.")
    assert tasks() == ["Do it", "y"]


# what is shown


def test_a_question_shows_the_change_of_a_file_that_is_there(project: Path) -> None:
    (project / "a.py").write_text("one = 1\ntwo = 2\n")
    edit = call("edit", path="a.py", old_string="two = 2", new_string="two = 22")
    terminal = Talk(call("read_file", path="a.py"), edit)
    shown = terminal.asked("? Change a.py")
    assert "    -two = 2\n    +two = 22\n" in shown
    assert (project / "a.py").read_text() == "one = 1\ntwo = 2\n"
    terminal.send("y\r")
    terminal.over("That is all.")
    assert (project / "a.py").read_text() == "one = 1\ntwo = 22\n"


def test_a_question_shows_what_a_new_file_has_in_it(project: Path) -> None:
    terminal = Talk(write("b.py", "first = '一'\nsecond\n"))
    assert "    +first = '一'\n    +second\n" in terminal.asked("? Create b.py")
    terminal.send("n\r")
    terminal.over("⊘ write_file b.py: denied")
    assert not (project / "b.py").exists()


def test_a_question_shows_every_line_of_a_command(project: Path) -> None:
    command = "\n".join([*(f"echo {number}" for number in range(50)), "rm -r ."])
    terminal = Talk(bash(command), lines=24)
    terminal.asked("rm -r .")
    lines = terminal.all.splitlines()
    at = lines.index("? Run: echo 0 …")
    assert lines[at + 1 : at + 52] == [f"    {line}" for line in command.split("\n")]


@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (40, 12)])
def test_the_whole_of_a_long_command_and_of_a_long_change_is_seen(columns: int, lines: int) -> None:
    command = f"echo {'x' * 5_000} && echo {'y' * 5_000}"
    terminal = Talk(bash(command), write("long", "z" * 10_000 + "\n"), columns=columns, lines=lines)
    terminal.asked("yyy")
    terminal.send("n\r")
    terminal.asked("zzz")
    seen = terminal.all
    assert min(seen.count("x"), seen.count("y")) >= 5_000 and seen.count("z") >= 10_000
    assert all(len(line) <= columns for line in seen.splitlines())


HOSTILE = "\x1b[2J\x1b[1A\x1b[8m\x08\x08\r \u202e ls \x9b2J \x1b]0;title\x07"
OBEYED = ("\x1b[2J", "\x1b[1A", "\x1b[8m", "\x08", "\u202e", "\x9b", "\x1b]", "\x07")


@pytest.mark.parametrize(
    ("hostile", "about"),
    [
        pytest.param(bash(f"touch 1 # {HOSTILE}\n{HOSTILE} rm 中文"), "? Run: touch 1 # ␛[2J", marks=pytest.mark.smoke),
        (write(f"{HOSTILE}.txt", f"one\n{HOSTILE}two\n\x1b[31mrm 中文\n"), "? Create ␛[2J"),
    ],
)
def test_a_call_cannot_hide_what_it_does(project: Path, hostile: Form, about: str) -> None:
    terminal = Talk(hostile)
    shown = terminal.asked(about)
    assert "rm 中文" in shown and "> Do it" in shown
    terminal.send("n\r")
    terminal.over("denied")
    assert [text for text in OBEYED if text in terminal.raw] == []
    assert [path.name for path in project.iterdir() if path.suffix == ".txt"] == []


def test_a_question_leaves_the_list_in_its_place(project: Path) -> None:
    terminal = Talk(creating("One 第一", "Two"), bash("touch 1"))
    shown = terminal.asked("? Run: touch 1")
    assert shown.count("┌─ Tasks") == shown.count("└──") == 1
    terminal.send("y\r")
    terminal.over("✓ bash touch 1")
    assert terminal.all.count("┌─ Tasks") == 1
    assert PROMPT not in terminal.all


# what was being typed


def test_a_half_typed_message_is_put_aside_while_a_question_waits(project: Path) -> None:
    terminal = Talk(waiting("there"), bash("touch 2"))
    terminal.asked("? Run: touch there")
    terminal.send("y\r")
    until(lambda: (project / "there").exists())
    terminal.send("half a 消息")
    terminal.until(lambda shown: terminal.typed == "half a 消息")
    (project / "go").touch()
    terminal.asked("? Run: touch 2")
    assert terminal.typed == ""
    terminal.send("n\r")
    terminal.over("That is all.")
    assert terminal.typed == "half a 消息"
    script("And more.")
    terminal.send(", whole\r")
    terminal.over("And more.")
    assert tasks() == ["Do it", "half a 消息, whole"]


def test_a_half_typed_answer_is_forgotten_when_another_answered(project: Path) -> None:
    terminal = Talk(bash("touch 1"), bash("touch 2"))
    terminal.asked("? Run: touch 1")
    terminal.send("y")
    terminal.until(lambda shown: f"{PROMPT} y" in shown)
    answer("no")
    terminal.asked("? Run: touch 2")
    assert terminal.typed == ""
    terminal.send("\r")
    terminal.until(lambda shown: HINT in shown)
    assert not (project / "1").exists() and not (project / "2").exists()


def test_an_answer_is_not_in_the_history(project: Path) -> None:
    terminal = Talk(bash("touch 1"))
    terminal.asked("? Run: touch 1")
    terminal.send("n because\r")
    terminal.over("That is all.")
    terminal.send("\x1b[A")
    terminal.until(lambda shown: terminal.typed != "")
    assert terminal.typed == "Do it"


# others


def answer(reply: str, reason: str = "") -> None:
    """From another process."""
    found = session()
    assert found.run is not None
    (question,) = found.run.questions
    found.answer(question, reply, reason=reason)


@pytest.mark.parametrize("reply", ["once", "no"])
def test_a_question_goes_away_when_it_is_answered_elsewhere(project: Path, reply: str) -> None:
    terminal = Talk(bash("touch 1"))
    terminal.asked("? Run: touch 1")
    answer(reply, "not on this branch" if reply == "no" else "")
    terminal.over("That is all.")
    assert (project / "1").exists() == (reply == "once")
    assert ("⊘ no: not on this branch" in terminal.shown) == (reply == "no")
    script("And more.")
    terminal.send("Go on\r")
    terminal.over("And more.")


def test_a_question_goes_away_when_the_run_is_stopped_elsewhere(project: Path) -> None:
    terminal = Talk(bash("touch 1"))
    terminal.asked("? Run: touch 1")
    session().stop_run()
    terminal.over("Stopped")
    assert not (project / "1").exists()
    assert ends() == ["cancelled"]


def test_of_two_calls_made_at_once_one_is_asked_about_after_the_other(project: Path) -> None:
    terminal = Talk(model=script(turn("", bash("touch 1"), bash("touch 2")), "That is all."))
    terminal.asked("? Run: touch 1")
    assert "? Run: touch 2" not in terminal.shown
    terminal.send("n first\r")
    terminal.asked("? Run: touch 2")
    terminal.send("y\r")
    terminal.over("That is all.")
    assert not (project / "1").exists() and (project / "2").exists()
    assert [text.startswith("The user declined bash") for text in results()] == [True, False]


# stopping


def test_ctrl_c_at_a_question_stops_the_run_and_the_session_goes_on(project: Path) -> None:
    terminal = Talk(bash("touch 1"))
    terminal.asked("? Run: touch 1")
    terminal.send(CTRL_C)
    terminal.over("Stopped after 1 round")
    assert not (project / "1").exists()
    assert ends() == ["cancelled"]
    script("And more.")
    terminal.send("Go on\r")
    terminal.over("And more.")
    assert terminal.leave() == 0
    assert terminal.given_back


def test_ctrl_d_at_a_question_leaves_and_nothing_runs(project: Path) -> None:
    terminal = Talk(bash("touch 1"))
    terminal.asked("? Run: touch 1")
    assert terminal.leave() == 0
    assert terminal.given_back
    assert not (project / "1").exists()
    assert ends() == ["cancelled"]
    assert PROMPT not in terminal.all


def test_ctrl_c_at_a_question_gives_back_what_was_waiting_to_be_sent(project: Path) -> None:
    terminal = Talk(waiting("there"), bash("touch 2"))
    terminal.asked("? Run: touch there")
    terminal.send("y\r")
    until(lambda: (project / "there").exists())
    terminal.send("My next message\r")
    terminal.until(lambda shown: "queued: My next message" in shown)
    (project / "go").touch()
    terminal.asked("? Run: touch 2")
    terminal.send(CTRL_C)
    terminal.over("Stopped after")
    assert terminal.typed == "My next message"
