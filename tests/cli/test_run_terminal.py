"""`headway run` on a real terminal: what a person sees, is asked and answers."""

from __future__ import annotations

import re
import signal
import time
from pathlib import Path

import pytest
from tests.support.processes import Form, until
from tests.support.scripts import LONG, bash, call, creating, script, talking, turn, write, writing
from tests.support.terminal import Terminal, boxes, one_box

import headway as api
from headway.core.run_events import ToolFinished

from .commands import Headway

CTRL_C, CTRL_D = "\x03", "\x04"
HIDE = "\x1b[?25l"
"""What takes the cursor away."""
PROMPT = "a: allow all "

pytestmark = pytest.mark.more


def current(project: Path) -> api.Session:
    """The session that the project's commands use."""
    return api.open(project, api.open(project).store.current() or "default")


def results(project: Path) -> list[str]:
    """What the model was told of its calls."""
    return [event.data.text for event in current(project).events() if isinstance(event.data, ToolFinished)]


def ran(*calls: Form, **more: object) -> str:
    """A model that makes these calls, one after the other, and is done."""
    return script(*(turn("", one) for one in calls), turn("That is all.", **more))


# questions


@pytest.mark.smoke
def test_yes_is_for_one_call_and_always_for_all_that_follow(project: Path) -> None:
    terminal = Terminal("run", "x", "--model", ran(bash("touch 1"), bash("touch 2"), bash("touch 3")))
    terminal.asked("? Run: touch 1")
    assert not (project / "1").exists()
    terminal.send("y\n")
    terminal.asked("? Run: touch 2")
    assert (project / "1").exists() and not (project / "2").exists()
    terminal.send("a\n")
    assert terminal.end() == 0
    assert (project / "3").exists()
    assert terminal.all.count(PROMPT) == 2
    assert [terminal.all.count(f"✓ bash touch {number}") for number in (1, 2, 3)] == [1, 1, 1]


def test_no_with_a_reason_reaches_the_model(project: Path) -> None:
    terminal = Terminal("run", "x", "--model", ran(bash("touch 1"), bash("touch 2")))
    terminal.asked("? Run: touch 1")
    terminal.send("n use the other 文件\n")
    terminal.asked("? Run: touch 2")
    terminal.send("No\n")
    assert terminal.end() == 0
    assert "⊘ bash touch 1: denied" in terminal.all
    first, second = results(project)
    assert first.startswith("The user declined bash: use the other 文件")
    assert second.startswith("The user declined bash.")
    assert not (project / "1").exists() and not (project / "2").exists()


def test_only_an_answer_counts_anything_else_is_asked_again(project: Path) -> None:
    terminal = Terminal("run", "x", "--model", ran(bash("touch 1")))
    terminal.asked("? Run: touch 1")
    for asked, typed in enumerate(("", "what?", "yn", "是的", "\x1b[A"), 1):
        terminal.send(f"{typed}\n")
        terminal.until(lambda shown, asked=asked: shown.count(PROMPT) > asked and shown.rstrip().endswith(">"))
        assert not (project / "1").exists()
    terminal.send("Yes\n")
    assert terminal.end() == 0
    assert (project / "1").exists()


@pytest.mark.parametrize("typed", ["a moment, I have to look", "y but not in this folder"])
def test_a_sentence_that_begins_with_a_letter_of_an_answer_is_none(project: Path, typed: str) -> None:
    terminal = Terminal("run", "x", "--model", ran(bash("touch 1")))
    terminal.asked("? Run: touch 1")
    terminal.send(f"{typed}\n")
    terminal.until(lambda shown: shown.count(PROMPT) == 2 or "That is all." in shown)
    assert not (project / "1").exists()


def test_the_end_of_the_input_is_a_no(project: Path) -> None:
    terminal = Terminal("run", "x", "--model", ran(bash("touch 1"), bash("touch 2")))
    terminal.asked("? Run: touch 1")
    terminal.send(CTRL_D)
    terminal.asked("? Run: touch 2")
    terminal.send("y\n")
    assert terminal.end() == 0
    assert not (project / "1").exists() and (project / "2").exists()
    assert "The user declined bash: the input ended" in results(project)[0]


def test_ctrl_c_at_a_question_stops_the_run(project: Path) -> None:
    terminal = Terminal("run", "x", "--model", ran(creating("Run it"), call("todo", start="t1"), bash("touch 1")))
    terminal.asked("? Run: touch 1")
    terminal.send(CTRL_C)
    assert terminal.end() == 130
    assert not (project / "1").exists()
    assert "⏹  Stopped after 3 rounds" in terminal.shown
    assert "○ t1: Run it (interrupted)" in terminal.shown
    assert terminal.given_back


def test_a_question_shows_the_change_of_a_file_or_the_whole_command(project: Path) -> None:
    (project / "a.py").write_text("one = 1\ntwo = 2\n")
    edit = call("edit", path="a.py", old_string="two = 2", new_string="two = 22")
    terminal = Terminal("run", "x", "--model", ran(call("read_file", path="a.py"), edit, bash("echo 1\necho 2")))
    shown = terminal.asked("? Change a.py")
    assert "    -two = 2\n    +two = 22\n" in shown
    terminal.send("y\n")
    shown = terminal.asked("? Run: echo 1 …")
    assert "    echo 1\n    echo 2\n" in shown
    terminal.send("n\n")
    assert terminal.end() == 0
    assert (project / "a.py").read_text() == "one = 1\ntwo = 22\n"
    assert "Files changed: a.py" in terminal.shown


def test_a_question_and_its_answer_stay_on_the_screen_when_the_box_comes_back(project: Path) -> None:
    terminal = Terminal("run", "x", "--model", ran(creating("One", "Two", "Run it"), bash("echo 1\necho 2")), lines=40)
    terminal.asked("? Run: echo 1 …")
    terminal.send("y\n")
    terminal.end()
    lines = terminal.all.splitlines()
    at = lines.index("? Run: echo 1 …")
    assert lines[at + 1 : at + 3] == ["    echo 1", "    echo 2"]
    assert PROMPT in lines[at + 3] and lines[at + 3].endswith("> y")
    assert lines[at + 4].startswith("✓ bash echo 1")


def test_a_command_cannot_hide_what_it_does_in_the_question(project: Path) -> None:
    hostile = "touch 1 # \x1b[2K\x1b[1A\x1b[8m\x08\x08\r \u202e ls \x9b2J\n\x1b]0;title\x07rm 中文"
    terminal = Terminal("run", "x", "--model", ran(bash(hostile)), lines=40)
    shown = terminal.asked("? Run: touch 1")
    assert "rm 中文" in shown
    asked = terminal.raw[terminal.raw.index("? Run") :]
    assert not re.search("[\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f\u202e]", asked)
    terminal.send("n\n")
    assert terminal.end() == 0
    assert "\x1b]0;" not in terminal.raw and "\u202e" not in terminal.raw


def test_no_line_of_a_command_is_kept_from_who_is_asked(project: Path) -> None:
    command = "\n".join([*(f"echo {number}" for number in range(50)), "rm -r ."])
    terminal = Terminal("run", "x", "--model", ran(bash(command)), lines=80)
    assert "rm -r ." in terminal.asked("? Run: echo 0")


def test_what_came_before_a_question_is_seen_before_it_is_asked(project: Path) -> None:
    items = creating(*(f"Item {number}" for number in range(20)))  # a large box takes its time to draw
    model = script(turn("", items), turn(f"{'word ' * 900}last.", bash("touch 1")), "That is all.")
    terminal = Terminal("run", "x", "--model", model, lines=40)
    terminal.asked("? Run: touch 1")
    assert "last." in terminal.all


@pytest.mark.parametrize("reply", ["once", "no"])
def test_an_answer_from_another_process_counts_while_the_terminal_waits(project: Path, reply: str) -> None:
    terminal = Terminal("run", "x", "--model", ran(bash("touch 1")))
    terminal.asked("? Run: touch 1")
    session = current(project)
    assert session.run is not None
    (question,) = session.run.questions
    session.answer(question, reply, reason="not on this branch" if reply == "no" else "")
    assert terminal.end() == 0
    assert (project / "1").exists() == (reply == "once")
    if reply == "no":
        assert "⊘ no: not on this branch" in terminal.shown
        assert "The user declined bash: not on this branch" in results(project)[0]
    assert not any(line.startswith("  y: yes") for line in terminal.shown.splitlines())


def test_what_was_typed_before_a_question_does_not_answer_it(project: Path) -> None:
    waiting = bash("touch there; until [ -e go ]; do sleep 0.02; done")
    terminal = Terminal("run", "x", "--model", ran(waiting, bash("touch 2")))
    terminal.asked("? Run: touch there")
    terminal.send("y\n")
    until(lambda: (project / "there").exists())
    terminal.send("y\n")
    (project / "go").touch()
    terminal.asked("? Run: touch 2")
    terminal.send("n\n")
    assert terminal.end() == 0
    assert not (project / "2").exists()


def test_what_was_begun_to_be_typed_when_another_process_answered_is_forgotten(project: Path) -> None:
    terminal = Terminal("run", "x", "--model", ran(bash("touch 1"), bash("touch 2")))
    terminal.asked("? Run: touch 1")
    terminal.send("y")
    terminal.until(lambda shown: shown.rstrip().endswith("> y"))
    session = current(project)
    assert session.run is not None
    session.answer(next(iter(session.run.questions)), "no")
    before = terminal.asked("? Run: touch 2").count(PROMPT)
    terminal.send("\n")
    terminal.until(lambda shown: shown.count(PROMPT) > before or "That is all." in shown)
    assert not (project / "2").exists()


def test_without_a_keyboard_nobody_is_asked(project: Path) -> None:
    terminal = Terminal("run", "x", "--model", ran(bash("touch 1")), typed=False)
    assert terminal.end() == 0
    assert "⊘ bash touch 1: denied" in terminal.shown
    assert not (project / "1").exists()


# what is seen


@pytest.mark.parametrize(("columns", "lines"), [pytest.param(80, 24, marks=pytest.mark.smoke), (40, 24), (40, 9)])
def test_the_box_is_redrawn_in_place_under_the_lines_of_the_calls(project: Path, columns: int, lines: int) -> None:
    items = ("Read the parser 解析器 and find out why it keeps the spaces", "Fix the parser", "Run the tests")
    steps = [turn("I look first.", creating(*items), call("ls")), turn("", bash("exit 3")), turn("", bash("true"))]
    model = script(*steps, talking())
    terminal = Terminal("run", "x", "--model", model, "--mode", "yolo", columns=columns, lines=lines)
    terminal.until(lambda shown: "✓ bash true" in shown and "So on" in shown and one_box(shown, rows=5))
    assert all(len(box[0]) == len(box[-1]) <= columns for box in boxes(terminal.shown))
    terminal.signal(signal.SIGINT)
    assert terminal.end() == 130
    assert terminal.given_back
    seen = [line for line in terminal.all.splitlines() if line.startswith(("✓", "✗", "⊘", "●", "I look"))]
    outcomes = ["✓ create_todo_list (3 items)", "✓ ls", "✗ bash exit 3: exit code 3", "✓ bash true"]
    assert seen == ["I look first.", *outcomes]
    assert terminal.all.count("So on") == 1
    assert one_box(terminal.all, rows=5)
    assert "Round" not in terminal.all and "waiting" not in terminal.all


@pytest.mark.smoke
def test_ctrl_c_leaves_no_remains_where_the_box_is_as_wide_as_the_terminal(project: Path) -> None:
    terminal = Terminal("run", "x", "--model", script(turn("", creating("Run it")), talking()), columns=40)
    terminal.until(lambda shown: "So on" in shown and one_box(shown, rows=3))
    terminal.send(CTRL_C)
    assert terminal.end() == 130
    assert terminal.given_back
    assert terminal.all.count("So on") == 1


def test_while_it_waits_or_works_the_line_above_the_box_says_for_what(project: Path) -> None:
    steps = [turn("", creating("Run it")), turn("", bash("echo one; echo two 第二; sleep 1"))]
    model = script(*steps, turn(thinking="Hm, hm, hm.", text="So", delay=LONG))
    terminal = Terminal("run", "x", "--model", model, "--mode", "yolo")
    terminal.until(lambda shown: "  two 第二\n┌─ Tasks" in shown)
    terminal.until(lambda shown: "Round 3/50: waiting for the model …\n┌─ Tasks" in shown)
    assert terminal.until(lambda shown: "✓ bash echo one" in shown).count("(1.") == 1
    terminal.send(CTRL_C)
    assert terminal.end() == 130


@pytest.mark.smoke
def test_streamed_words_are_seen_as_they_come_and_stand_there_once_in_the_end(project: Path) -> None:
    text = (
        "The first line.\n\nThe second one, 第二行 has wide characters and goes on until it is longer than that.\n- a\n"
    )
    terminal = Terminal("run", "x", "--model", script(turn(text, call("ls"), delay=1), "End."), columns=60)
    terminal.until(lambda shown: "The first" in shown and "- a" not in shown)
    terminal.until(lambda shown: "第二行" in shown and "- a" not in shown)
    assert terminal.end() == 0
    shown = terminal.all[: terminal.all.index("✓ ls")]
    said = shown[shown.index("The first") :].splitlines()
    assert "".join(said).replace(" ", "") == text.replace("\n", "").replace(" ", "")
    assert said[:3] == ["The first line.", "", "The second one, 第二行 has wide characters and goes on until"]
    assert all(len(line) <= 60 for line in said)


def test_of_a_long_line_the_newest_words_are_seen_also_when_they_are_wide(project: Path) -> None:
    call_that_takes_long_to_say = bash(f"true {'.' * 5000}")
    model = script(turn(f"{'修复解析器的边界情况' * 8} newest", call_that_takes_long_to_say, delay=1), "End.")
    terminal = Terminal("run", "x", "--model", model, "--mode", "yolo")
    shown = terminal.until(lambda shown: "newest" in shown)
    assert shown.count("解析器") < 8  # not only when the line is over


def test_what_the_model_says_and_calls_is_not_rewritten(project: Path) -> None:
    text = "See `rows[:key:]`, [bold]x[/bold] and 12:heart:34."
    terminal = Terminal("run", "x", "--model", script(turn(text, bash("echo :bug:")), "End."), "--mode", "yolo")
    assert terminal.end() == 0
    assert [line for line in terminal.shown.splitlines() if ":" in line][1:3] == [text, "✓ bash echo :bug:"]


def test_the_time_a_person_takes_is_not_the_time_of_the_call(project: Path) -> None:
    terminal = Terminal("run", "x", "--model", ran(bash("true")))
    terminal.asked("? Run: true")
    time.sleep(1.2)  # the person thinks
    terminal.send("y\n")
    assert terminal.end() == 0
    assert "✓ bash true\n" in terminal.shown


def test_a_terminal_that_is_too_slow_misses_nothing_in_the_end(project: Path) -> None:
    terminal = Terminal("run", "x", "--model", script(f"{'word ' * 4000}last."))
    session = current(project)
    until(lambda: session.run is not None and not session.run.is_active)
    assert terminal.end() == 0
    assert "✅ Finished after 1 round" in terminal.shown and "last." in terminal.shown
    assert terminal.all.count("word") >= 4000


def test_a_person_changes_the_list_meanwhile_and_the_box_shows_it(project: Path, headway: Headway) -> None:
    model = script(turn("", creating("Its item")), talking())
    terminal = Terminal("run", "x", "--model", model)
    terminal.until(lambda shown: "○ Its item" in shown)
    headway("todos", "add", "My item 我的")
    terminal.until(lambda shown: "○ My item 我的" in shown and one_box(shown, rows=4))
    headway("todos", "drop", "t1")
    terminal.until(lambda shown: "Its item" not in shown and one_box(shown, rows=3))
    terminal.send(CTRL_C)
    assert terminal.end() == 130


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_without_colour_everything_is_plain_text_and_questions_are_asked(project: Path, env: dict[str, str]) -> None:
    steps = [turn("Let me 看.", creating("Run it"), bash("touch 1")), turn("", writing(("Run it", "completed")))]
    terminal = Terminal("run", "x", "--model", script(*steps, "End."), env=env)
    terminal.asked("? Run: touch 1")
    terminal.send("y\n")
    assert terminal.end() == 0
    assert not re.search(r"\x1b\[[\d;]*m", terminal.raw) and ("TERM" not in env or "\x1b" not in terminal.raw)
    assert (project / "1").exists()
    shown = terminal.all
    places = [shown.index(text) for text in ("Let me 看.", "✓ bash touch 1", "End.", "┌─ Tasks", "│ ✓ Run it ")]
    assert places == sorted(places)


def test_without_unicode_the_box_is_ascii(project: Path) -> None:
    terminal = Terminal("run", "x", "--model", ran(writing(("第一", "completed"))), env={"PYTHONIOENCODING": "ascii"})
    assert terminal.end() == 0
    assert "+- Tasks ---" in terminal.shown
    assert "| x ??" in terminal.shown


def test_without_unicode_outcomes_can_be_told_apart(project: Path) -> None:
    steps = [turn("", bash("true"), bash("exit 3"), call("write_file", path="/etc/x", content=""))]
    env = {"PYTHONIOENCODING": "ascii"}
    terminal = Terminal("run", "x", "--mode", "yolo", "--model", script(*steps, "End."), env=env)
    assert terminal.end() == 0
    marks = [line[0] for line in terminal.shown.splitlines() if " bash " in line]
    assert len({*marks}) == 2 and "?" not in marks


def test_why_a_call_failed_is_seen_however_long_the_call_is(project: Path) -> None:
    command = bash(f"exit 3 # {'long ' * 20}")
    terminal = Terminal("run", "x", "--mode", "yolo", "--model", ran(command))
    assert terminal.end() == 0
    assert "exit code 3" in terminal.shown


def test_why_a_call_was_not_understood_is_seen(project: Path) -> None:
    terminal = Terminal("run", "x", "--model", ran(call("edit", path="a.py", old="1")))
    assert terminal.end() == 0
    (line,) = [line for line in terminal.shown.splitlines() if line.startswith("✗ edit")]
    assert not line.endswith(":")


def test_keys_pressed_while_it_works_leave_no_remains_of_the_box(project: Path) -> None:
    model = script(turn("", creating("Run it")), turn("One two three four five six seven.", delay=1))
    terminal = Terminal("run", "x", "--model", model, "--max-rounds", "2")
    terminal.until(lambda shown: "One" in shown)
    terminal.send("\n\n")
    terminal.end()
    assert one_box(terminal.all, rows=3)


def test_no_empty_lines_come_with_questions(project: Path) -> None:
    terminal = Terminal("run", "x", "--model", ran(creating("Run it"), call("todo", start="t1"), bash("touch 1")))
    shown = terminal.asked("? Run: touch 1")
    assert "" not in shown.rstrip().splitlines()


def test_a_small_screen_keeps_the_active_item_in_sight(project: Path) -> None:
    items = [(f"Item {n}", "in_progress" if n == 30 else "pending") for n in range(40)]
    model = script(turn("", writing(*items)), talking())
    terminal = Terminal("run", "x", "--model", model, columns=40, lines=12)
    shown = terminal.until(lambda shown: "● Item 30..." in shown and shown.rstrip().endswith("┘"))
    assert len(boxes(shown)) == 1 and len(boxes(shown)[0]) <= 11
    terminal.send(CTRL_C)
    assert terminal.end() == 130
    assert len([line for line in terminal.all.splitlines() if line.startswith("┌─ Tasks")]) == 1


@pytest.mark.smoke
def test_the_box_follows_the_size_of_the_terminal(project: Path) -> None:
    model = script(turn("", creating("A long item " * 9)), turn("word " * 300, delay=LONG))
    terminal = Terminal("run", "x", "--model", model, columns=100)
    terminal.until(lambda shown: "○ A long item" in shown and "word" in shown)
    terminal.resize(columns=40, lines=20)
    terminal.until(lambda shown: any(len(box[0]) == 40 and len(box) == 3 for box in boxes(shown)))
    terminal.send(CTRL_C)
    assert terminal.end() == 130


# how it ends


def test_ctrl_c_stops_the_run_and_gives_the_terminal_back(project: Path) -> None:
    terminal = Terminal("run", "x", "--model", script(turn("Some. " + "More. " * 300, delay=LONG)), loaded=False)
    terminal.until(lambda shown: "Some" in shown)
    terminal.send(CTRL_C)
    assert terminal.end() == 130
    assert terminal.given_back
    assert terminal.shown.count("Some") == 1
    assert terminal.shown.rstrip().endswith("Resume with: headway run --continue")


def test_a_signal_while_the_agent_is_loading_gives_the_terminal_back(project: Path) -> None:
    terminal = Terminal("run", "x", "--model", script("Hello."), loaded=False)
    terminal.until(lambda shown: HIDE in terminal.raw)
    time.sleep(0.2)  # loading takes many times that
    terminal.signal(signal.SIGTERM)
    assert terminal.end() == 130
    assert terminal.given_back


def test_a_terminal_that_goes_away_leaves_nothing_running_and_nothing_in_progress(project: Path) -> None:
    command = bash("echo $$ > pid; exec sleep 60")
    terminal = Terminal(
        "run", "x", "--mode", "yolo", "--model", ran(creating("Run it"), call("todo", start="t1"), command)
    )
    until(lambda: (project / "pid").exists() and (project / "pid").read_text().endswith("\n"))
    terminal.close()
    terminal.wait()
    assert [(todo.status, todo.interrupted) for todo in current(project).todos] == [("pending", True)]
    until(lambda: not Path(f"/proc/{(project / 'pid').read_text().strip()}").exists())


def test_the_summary_tells_verified_from_reported_and_what_is_open(project: Path) -> None:
    steps = [turn("", writing(("One", "completed"), ("Two", "pending")), write("a.txt"))]
    model = script(*steps, turn("So.", usage={"input_tokens": 12345, "output_tokens": 67, "cache_read_tokens": 8900}))
    terminal = Terminal("run", "x", "--model", model, "--mode", "auto_edit", "--max-rounds", "2", lines=40)
    assert terminal.end() == 0
    summary = terminal.shown[terminal.shown.index("✅ Finished after 2 rounds, ") :].splitlines()
    assert summary[1:6] == [
        "Done: 1 of 2 (0 verified, 1 reported)",
        "  ✓? t1: One (reported)",
        "Open: 1",
        "  ○ t2: Two",
        "Files changed: a.txt",
    ]
    assert re.match(r"Tokens: 1\d,\d{3} in \(8,900 cached\), \d+ out · cost: \$0", summary[6])
