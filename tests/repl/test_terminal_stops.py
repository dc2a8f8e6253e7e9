"""How a run and a terminal session end, and go on: keys, signals, lost terminals, killed processes; and other sizes."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from tests.support.processes import Running, run, until
from tests.support.scripts import bash, script, talking, turn, write, writing
from tests.support.terminal import boxes, one_box

from headway.core.run_events import RunStarted

from .screens import (
    CTRL_C,
    CTRL_D,
    ENTER,
    NAME,
    SO_LONG,
    Repl,
    bottom,
    events,
    kept,
    prompt,
    reasons,
    said,
    statuses,
    talk,
    typed,
)

pytestmark = pytest.mark.more


def working() -> str:
    """A model that begins with the first of two items and does not come to the end of it."""
    return script(turn("I begin.", writing(("One", "in_progress"), ("Two", "pending"))), turn("", bash(SO_LONG)))


def is_begun(project: Path) -> None:
    until(lambda: (project / "begun").exists())


# Ctrl+C


@pytest.mark.smoke
def test_ctrl_c_stops_an_answer_and_the_session_goes_on(project: Path) -> None:
    terminal = talk(model=script(turn("", writing(("One", "in_progress"))), talking()))
    terminal.say("first")
    terminal.busy("So on on", "● One")
    terminal.send(CTRL_C)
    seen = terminal.idle("Stopped after 2 rounds")
    assert one_box(seen, "○ One") and prompt(seen) == ">"
    assert terminal.all.count("So on") == 1
    assert statuses(project) == ["pending"] and reasons(project) == ["cancelled"]
    script(turn("", writing(("One", "completed"))), "Heard you.")
    terminal.say("second")
    terminal.idle("Heard you.")
    assert said(project) == ["first", "second"]
    assert reasons(project) == ["cancelled", "all_done"]


def test_ctrl_c_stops_a_command_and_all_it_started(project: Path) -> None:
    command = "sleep 61 & echo $! > pid; echo begun > begun; wait"
    terminal = talk(model=script(turn("", writing(("One", "in_progress"))), turn("", bash(command))))
    terminal.say("first")
    is_begun(project)
    terminal.busy("● bash sleep 61")
    terminal.send(CTRL_C)
    seen = terminal.idle("Stopped after")
    assert "● bash" not in seen and statuses(project) == ["pending"]
    until(lambda: not Path(f"/proc/{(project / 'pid').read_text().strip()}").exists())
    script("Heard you.")
    terminal.say("second")
    terminal.idle("Heard you.")


@pytest.mark.parametrize("keys", [["\x1b"], ["\x1b", "do it"], ["\x1bdo it"], ["\x1b", "\x1b[Ado it"]], ids=repr)
def test_esc_stops_and_what_is_typed_after_it_is_not_lost(project: Path, keys: list[str]) -> None:
    terminal = talk(model=working())
    terminal.say("first")
    is_begun(project)
    for text in keys:
        terminal.send(text)
    seen = terminal.idle("Stopped after")
    assert seen.count("Stopped after") == 1
    if "do it" in keys[-1]:
        terminal.until(lambda seen: typed(seen).endswith("do it"))
    assert reasons(project) == ["cancelled"]


def test_alt_with_a_key_edits_what_is_typed_while_a_run_goes_on(project: Path) -> None:
    terminal = talk(model=working())
    terminal.say("first")
    is_begun(project)
    terminal.type("one two")
    terminal.send("\x1bb\x1bd")
    terminal.until(lambda seen: typed(seen) == "one")
    terminal.send("\x1b\rmore")
    terminal.until(lambda seen: "\nmore" in seen)
    assert bottom(terminal.seen).endswith("Ctrl+C stop")
    terminal.send("\x1b")
    terminal.idle("Stopped after")


def test_in_memory_nothing_is_said_to_be_kept(project: Path) -> None:
    terminal = talk("--memory", model=script("Hello."))
    terminal.say("first")
    terminal.idle("Finished after")
    terminal.send(CTRL_C)
    terminal.until_there("Press Ctrl+D or type /quit to leave.")
    terminal.say("/help")
    terminal.idle("/quit")
    assert terminal.leave() == 0
    assert "kept" not in terminal.all and "Go on with" not in terminal.all


def test_a_setting_that_cannot_be_used_is_said_before_anything_is_drawn(project: Path) -> None:
    terminal = Repl("--model", script(turn("", writing(("One", "completed"))), "So."), env={"TODO_MAX_ITEMS": "abc"})
    terminal.idle()
    warning = "Warning: TODO_MAX_ITEMS must be a positive whole number, not 'abc'; using 50."
    assert terminal.all.startswith(warning)
    terminal.say("first")
    terminal.idle("All done after")
    assert terminal.raw.count("TODO_MAX_ITEMS") == 1


def test_ctrl_c_twice_stops_too_and_a_third_one_hints(project: Path) -> None:
    terminal = talk(model=working())
    terminal.say("first")
    is_begun(project)
    terminal.send(CTRL_C + CTRL_C)
    terminal.until(lambda seen: "Stopped" in seen and bottom(seen).endswith("/help"))
    assert statuses(project) == ["pending", "pending"]
    terminal.send(CTRL_C)
    terminal.idle("Press Ctrl+D or type /quit")
    script("Heard you.", "I say.", "That is it.")
    terminal.say("second")
    terminal.idle("Heard you.", "Finished after")
    assert reasons(project) == ["cancelled", "finished"]


def test_ctrl_c_stops_a_run_that_waits_for_an_answer(project: Path) -> None:
    terminal = talk("--mode", "default", model=script(turn("", bash("touch 1")), "Done."))
    terminal.say("first")
    terminal.until_there("? Run: touch 1", "no >")
    terminal.send(CTRL_C)
    terminal.idle("Stopped after")
    assert prompt(terminal.seen) == ">" and not (project / "1").exists()
    terminal.say("second")
    terminal.until(lambda seen: seen.count("? Run: touch 1") == 2 and "no >" in seen)
    terminal.say("y")
    terminal.idle("Done.")
    assert (project / "1").exists()


def test_ctrl_c_without_a_run_clears_what_was_typed_and_hints_where_nothing_was(project: Path) -> None:
    terminal = talk(model=script("Hello."))
    terminal.type("not this")
    terminal.send(CTRL_C)
    seen = terminal.until(lambda seen: typed(seen) == "")
    assert "Ctrl+D or /quit" not in seen
    terminal.send(CTRL_C)
    terminal.until_there("Press Ctrl+D or type /quit to leave; the session is saved.")
    assert not kept(project).version


def test_a_run_stopped_from_elsewhere_says_so(project: Path) -> None:
    terminal = talk(model=script(talking()))
    terminal.say("first")
    terminal.busy("So on")
    kept(project).stop_run(actor="somebody")
    terminal.idle("Stopped by somebody", "Stopped after 1 round")


def test_a_run_that_fails_says_why_and_the_session_goes_on(project: Path) -> None:
    terminal = talk(model=script({"error": {"status": 401, "message": "no such key"}}))
    terminal.say("first")
    seen = terminal.idle("Failed after")
    assert "❌ The scripted model refused the key (401)" in seen
    script("Heard you.")
    terminal.say("second")
    terminal.idle("Heard you.")


def test_a_message_right_after_ctrl_c_is_sent_when_the_run_is_over(project: Path) -> None:
    terminal = talk(model=script(talking()))
    terminal.say("first")
    terminal.busy("So on")
    script("Heard you.")
    terminal.send(f"{CTRL_C}second{ENTER}")
    terminal.idle("Stopped after")
    terminal.say("/todos add Sign")
    assert "queued:" not in terminal.idle("✅ Added t1")
    terminal.idle("Heard you.")
    assert said(project) == ["first", "second"]


def test_an_interrupt_from_outside_stops_the_run_as_ctrl_c_does(project: Path) -> None:
    terminal = talk(model=working())
    terminal.say("first")
    is_begun(project)
    terminal.signal(signal.SIGINT)
    terminal.idle("Stopped after")
    assert statuses(project) == ["pending", "pending"]
    assert terminal.leave() == 0


def test_ctrl_c_before_anything_is_loaded_stops_too(project: Path) -> None:
    terminal = Repl("--session", NAME, "--model", script(talking()), loaded=False)
    terminal.until(lambda seen: prompt(seen) == ">")
    terminal.say("first")
    terminal.until_there("> first")
    terminal.send(CTRL_C)
    terminal.idle("Stopped")
    script("Heard you.")
    terminal.say("second")
    terminal.idle("Heard you.")


# leaving


@pytest.mark.parametrize("how", [pytest.param(CTRL_D, marks=pytest.mark.smoke), f"/quit{ENTER}", f"/exit{ENTER}"])
def test_leaving_gives_the_terminal_back_and_says_how_to_go_on(project: Path, how: str) -> None:
    terminal = talk(model=script(turn("Hello.", writing(("One", "completed"))), "Bye."))
    terminal.say("first")
    terminal.idle("All done after")
    terminal.send(how)
    assert terminal.end() == 0
    assert terminal.given_back
    assert terminal.shown.rstrip().endswith(f"Resume with: headway --continue   (session {NAME})")
    assert not boxes(terminal.all) and "Hello." in terminal.shown


@pytest.mark.smoke
def test_leaving_from_a_cold_start_gives_the_terminal_back(project: Path) -> None:
    terminal = Repl("--model", script("Hello."), loaded=False)
    terminal.until(lambda seen: prompt(seen) == ">")
    terminal.send(CTRL_D)
    assert terminal.end() == 0
    assert terminal.given_back and "Resume with" not in terminal.all


def test_ctrl_d_deletes_where_something_is_typed(project: Path) -> None:
    terminal = talk(model=script("Hello."))
    terminal.type("ab")
    terminal.send("\x01" + CTRL_D)
    terminal.until(lambda seen: typed(seen) == "b")
    terminal.send(CTRL_D + CTRL_D)
    assert terminal.end() == 0


@pytest.mark.parametrize("how", [CTRL_D, f"/quit{ENTER}", signal.SIGTERM, signal.SIGHUP])
def test_leaving_during_a_run_leaves_nothing_running_and_nothing_in_progress(
    project: Path, how: str | signal.Signals
) -> None:
    command = "echo $$ > begun; exec sleep 60"
    terminal = talk(model=script(turn("", writing(("One", "in_progress"))), turn("", bash(command))))
    terminal.say("first")
    terminal.busy("● bash echo $$")
    is_begun(project)
    if isinstance(how, str):
        terminal.send(how)
    else:
        terminal.signal(how)
    assert terminal.end() == 0
    assert terminal.given_back
    assert statuses(project) == ["pending"] and reasons(project) == ["cancelled"]
    until(lambda: not Path(f"/proc/{(project / 'begun').read_text().strip()}").exists())
    assert not boxes(terminal.all)


def test_a_signal_while_nothing_goes_on_gives_the_terminal_back(project: Path) -> None:
    terminal = talk(model=script("Hello."))
    terminal.type("a draft")
    terminal.signal(signal.SIGTERM)
    assert terminal.end() == 0
    assert terminal.given_back


# Not strict: it depends on whether something is drawn between the end of the terminal and the end of its input.
@pytest.mark.parametrize("during", ["nothing", "an answer", "a command", "a question"])
def test_a_terminal_that_goes_away_ends_the_session_in_order(project: Path, during: str) -> None:
    last = {"an answer": talking(), "a command": turn("", bash(SO_LONG)), "a question": turn("", bash("touch 1"))}
    mode = "default" if during == "a question" else "yolo"
    model = script(turn("", writing(("One", "in_progress"))), last.get(during, "End."))
    terminal = talk("--mode", mode, model=model)
    if during != "nothing":
        terminal.say("first")
        terminal.until_there({"an answer": "So on", "a command": "● bash", "a question": "no >"}[during])
    terminal.close()
    terminal.wait()
    if during != "nothing":
        assert statuses(project) == ["pending"] and reasons(project) == ["cancelled"]
        assert not (project / "1").exists()


# going on


@pytest.mark.parametrize("during", ["an answer", pytest.param("a command", marks=pytest.mark.smoke)])
def test_a_killed_session_goes_on_where_it_was(project: Path, during: str) -> None:
    last = talking() if during == "an answer" else turn("", bash(SO_LONG))
    model = script(turn("I begin **now**.", writing(("One", "in_progress"), ("Two", "pending"))), last)
    terminal = talk(model=model)
    terminal.say("first 第一")
    terminal.busy("So on on" if during == "an answer" else "● bash", "● One")
    if during == "a command":
        is_begun(project)
    terminal.signal(signal.SIGKILL)
    terminal.wait()

    script(turn("", writing(("One", "completed"), ("Two", "completed"))), "All is done.")
    again = Repl("--continue", "--model", model, "--mode", "yolo")
    seen = again.idle(f"Resuming {NAME}.", "> first 第一", "I begin now.")
    assert one_box(seen, "○ One", "○ Two") and prompt(seen) == ">"
    again.say("go on")
    again.idle("All is done.")
    again.until(lambda seen: one_box(seen, "✓ One", "✓ Two"))
    assert said(project) == ["first 第一", "go on"]
    assert statuses(project) == ["completed", "completed"]
    assert again.leave() == 0


def test_continue_shows_what_was_said_last_and_the_list(project: Path) -> None:
    terminal = talk(model=script(turn("Old words."), match="first"))
    terminal.say("first")
    terminal.idle("Old words.")
    script(turn("", writing(("One", "completed"))), "New **words**.\n\n- a 甲\n- b")
    terminal.say("second")
    terminal.idle("New words.")
    assert terminal.leave() == 0
    again = Repl("--continue", "--model", script("Third."))
    seen = again.idle(f"Resuming {NAME}.", "> second")
    assert "New words." in seen and "• a 甲" in seen and "Old words." not in seen
    assert one_box(seen, "✓ One")


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("auto_edit", "The mode is that of the last run, auto_edit; change it with /mode."),
        ("yolo", "The last run was in yolo mode; this one asks as default does."),
    ],
)
def test_a_conversation_goes_on_in_its_own_mode_but_never_in_yolo(project: Path, mode: str, said: str) -> None:
    terminal = Repl("--model", script("First."), "--mode", mode)
    terminal.idle("What would you like to do?")
    terminal.say("first")
    terminal.idle("First.")
    assert terminal.leave() == 0
    again = Repl("--continue", "--model", script("Second."))
    again.idle(said)
    again.say("second")
    again.idle("Second.")
    assert again.leave() == 0
    modes = [event.data.mode for event in kept(project).events() if isinstance(event.data, RunStarted)]
    assert modes == [mode, mode if mode != "yolo" else "default"]


def test_a_new_conversation_has_the_list_and_says_how_the_last_one_is_resumed(project: Path) -> None:
    kept(project).add("Fix the parser")
    terminal = talk(model=script("First.", match="first"))
    assert "headway --continue" not in terminal.seen
    terminal.say("first")
    terminal.idle("First.")
    assert terminal.leave() == 0
    again = talk(model=script("The list alone.", match="Fix the parser"))
    seen = again.idle("This is a new conversation; headway --continue resumes the last one.")
    assert one_box(seen, "○ Fix the parser") and "> first" not in seen
    again.say("second")
    again.idle("The list alone.")
    again.say("third")
    again.idle("> third", "The list alone.")
    assert [event.data.new_conversation for event in events(project) if isinstance(event.data, RunStarted)] == [
        True,
        True,
        False,
    ]


def test_there_is_nothing_to_continue_where_there_was_nothing(project: Path) -> None:
    terminal = Repl("--continue", "--model", script("Hello."))
    assert terminal.end() == 1
    assert "has no conversation to continue" in terminal.shown and terminal.given_back


def test_a_session_that_works_elsewhere_is_not_worked_on_twice(project: Path) -> None:
    elsewhere = Running("run", "x", "--session", NAME, "--model", script(talking()), "--json")
    elsewhere.event("RoundStarted")
    terminal = Repl("--continue", "--model", script("Hello."))
    terminal.idle()
    terminal.say("me too")
    seen = terminal.idle(f"❌ Another run has been using the session '{NAME}' since ")
    assert f"(process {elsewhere.id} on " in seen
    assert "or start another session with /session new." in " ".join(seen.split())
    assert not reasons(project)
    elsewhere.signal(signal.SIGINT)
    elsewhere.end()
    terminal.say("now")
    terminal.idle("Hello.")


def test_a_conversation_that_was_begun_elsewhere_meanwhile_is_continued_and_said_so(project: Path) -> None:
    terminal = talk(model=script("First.", "More.", match="first"))
    terminal.say("first")
    terminal.idle("First.")
    assert run("run", "second", "--model", script("Second.", name="other.json")).code == 0
    terminal.until_there("Second.")
    script("Second it is.", match="second")
    terminal.say("third")
    seen = terminal.idle("Second it is.")
    assert "Another process started a new conversation here; this message continues it." in " ".join(seen.split())
    terminal.say("fourth")
    terminal.until(lambda seen: seen.count("Second it is.") == 2 and seen.count("Another process started") == 1)


def test_two_terminals_on_one_session_see_one_list_and_one_run(project: Path) -> None:
    one = talk(model=script(talking()))
    one.say("first")
    one.busy("So on")
    two = Repl("--continue", "--model", script("Hello.", name="other.json"), "--mode", "yolo")
    two.idle()
    two.say("/todos add Mine")
    two.until(lambda seen: one_box(seen, "○ Mine"))
    one.until(lambda seen: one_box(seen, "○ Mine"))
    two.say("second")
    two.idle("❌ Another run has been using the session")
    one.busy()
    one.send(CTRL_C)
    one.idle("Stopped after")
    two.say("third")
    two.idle("Hello.")
    assert said(project) == ["first", "third"]


# the size of the terminal


SIZES = [(50, 30), (120, 30), (40, 14)]


def in_shape(seen: str, columns: int, lines: int) -> bool:
    """Whether the screen is that large, and its lower part there once and whole."""
    rows = seen.split("\n")
    box = boxes(seen)
    if len(rows) != lines or max(map(len, rows)) > columns or len(box) != 1:
        return False
    whole = box[0][0].startswith("┌─ Tasks") and box[0][-1].endswith("┘")
    return whole and len(box[0][0]) < columns and ">" in rows[rows.index(bottom(seen)) - 1]


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_another_size_while_nothing_goes_on(project: Path, size: tuple[int, int]) -> None:
    kept(project).write([{"content": "A long item " * 6}, {"content": "第二个项目"}])
    terminal = talk(model=script("Some words that are said. " * 12, "So.", "So."))
    terminal.say("first")
    terminal.idle("Some words", "Finished after")
    terminal.type("a draft")
    for columns, lines in (size, (100, 30)):
        terminal.resize(columns, lines)
        seen = terminal.until(lambda seen, columns=columns, lines=lines: in_shape(seen, columns, lines))
        assert typed(seen) == "a draft" and "Finished after" in seen
        assert len(boxes(terminal.all)) == 1
    terminal.send(f"{CTRL_C}{CTRL_D}")
    assert terminal.end() == 0
    assert not boxes(terminal.all)


@pytest.mark.parametrize("size", [*SIZES[:-1], pytest.param(SIZES[-1], marks=pytest.mark.smoke)], ids=str)
def test_another_size_while_an_answer_comes(project: Path, size: tuple[int, int]) -> None:
    items = writing(("A long item " * 6, "in_progress"), ("第二个项目", "pending"))
    terminal = talk(model=script(turn("", items), turn("一些 words " * 300, delay=60)))
    terminal.say("first")
    terminal.busy("一些 words", "第二个项目")
    for columns, lines in (size, (100, 30)):
        terminal.resize(columns, lines)
        terminal.until(lambda seen, columns=columns, lines=lines: in_shape(seen, columns, lines) and "words" in seen)
    terminal.send(CTRL_C)
    terminal.idle("Stopped after")
    assert len(boxes(terminal.all)) == 1


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_another_size_while_a_question_waits(project: Path, size: tuple[int, int]) -> None:
    kept(project).write([{"content": "A long item " * 6}, {"content": "第二个项目"}])
    terminal = talk("--mode", "default", model=script(turn("", write("a.txt")), "Done.", "Done.", "Done."))
    terminal.say("first")
    terminal.until_there("a.txt", "no >")
    for columns, lines in (size, (100, 30)):
        terminal.resize(columns, lines)
        terminal.until(lambda seen, columns=columns, lines=lines: in_shape(seen, columns, lines) and "no >" in seen)
        assert "+new" in terminal.seen
    terminal.say("y")
    terminal.idle("Done.")
    assert (project / "a.txt").exists()


def test_many_sizes_one_after_the_other_leave_one_box(project: Path) -> None:
    kept(project).write([{"content": f"Item {number}"} for number in range(4)])
    terminal = talk(model=script("\n\n".join([*(f"Paragraph {number}." for number in range(30)), "So."])))
    terminal.say("first")
    terminal.idle("Finished after")
    for columns in range(99, 60, -3):
        terminal.resize(columns, 30)
    terminal.resize(98, 26)
    terminal.until(lambda seen: in_shape(seen, 98, 26) and len(bottom(seen)) > 90)
    assert "So.\n✓ Finished after" in terminal.seen


def test_a_long_list_leaves_room_for_what_is_said_and_shows_what_is_worked_on(project: Path) -> None:
    states = ["in_progress" if number == 30 else "pending" for number in range(40)]
    kept(project).write([{"content": f"Item {number}", "status": state} for number, state in enumerate(states)])
    terminal = talk(model=script(talking()), columns=80, lines=24)
    terminal.say("first")
    seen = terminal.busy("So on", "● Item 30...")
    (box,) = boxes(seen)
    assert len(box) <= 12 and box[-1].endswith("┘") and prompt(seen) == ">"
