"""A person and the agent in one terminal session: plan mode, from a plan to a list, and what is typed meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.processes import Form, run, until
from tests.support.scripts import bash, call, creating, script, talking, turn, write, writing
from tests.support.terminal import boxes, one_box

from headway.core.run_events import TodoListContextInjected

from .screens import (
    CTRL_C,
    CTRL_P,
    CTRL_T,
    ENTER,
    NAME,
    Repl,
    answers,
    bottom,
    events,
    kept,
    prompt,
    reasons,
    said,
    talk,
    typed,
    words,
)

pytestmark = pytest.mark.more


def waiting(sign: str = "go") -> Form:
    """A command that ends when there is a file of this name."""
    return bash(f"touch there; until [ -e {sign} ]; do sleep 0.02; done")


PLAN = call(
    "create_plan",
    title="Add a parser",
    overview="It reads what it is given.",
    steps=[
        {"id": "step-1", "description": "Write the parser", "module": "parse", "estimatedTime": "45min"},
        {"id": "step-2", "description": "Test it 测试", "dependencies": ["step-1"], "risks": ["slow"]},
    ],
)


# plan mode


def test_ctrl_p_turns_plan_mode_on_and_off_and_the_session_keeps_it(project: Path) -> None:
    terminal = talk(model=script("Hello."))
    assert prompt(terminal.seen) == ">"
    terminal.send(CTRL_P)
    terminal.until(lambda seen: prompt(seen) == "[PLAN] >")
    until(lambda: kept(project).plan_mode)
    terminal.send(CTRL_P)
    terminal.until(lambda seen: prompt(seen) == ">")
    assert not kept(project).plan_mode
    assert terminal.leave() == 0


def test_plan_mode_is_set_by_a_command_too_and_said(project: Path) -> None:
    terminal = talk(model=script("Hello."))
    terminal.say("/plan on")
    terminal.until(lambda seen: prompt(seen) == "[PLAN] >" and "✅ Plan mode is on:" in seen)
    terminal.say("/plan on")
    terminal.until_there("Plan mode is already on:")
    terminal.say("/plan off")
    terminal.until(lambda seen: prompt(seen) == ">" and "✅ Plan mode is off:" in seen)
    terminal.say("/plan onn")
    seen = terminal.until_there("Error:")
    assert "did you mean '/plan on'?" in seen


def test_it_begins_in_plan_mode_where_that_is_wanted_and_is_in_it_the_next_time(project: Path) -> None:
    terminal = talk("--plan", model=script("Hello."))
    assert prompt(terminal.seen) == "[PLAN] >"
    assert terminal.leave() == 0
    again = talk("--continue", model=script("Hello."))
    assert prompt(again.seen) == "[PLAN] >"


def test_plan_mode_in_the_middle_of_a_run_counts_from_the_next_call_on(project: Path) -> None:
    calls = [write("a.txt"), PLAN, bash("touch b.txt")]
    terminal = talk(model=script(turn("", waiting()), *(turn("", call) for call in calls), "So."))
    terminal.say("begin")
    until(lambda: (project / "there").exists())
    terminal.send(CTRL_P)
    terminal.until(lambda seen: prompt(seen) == "[PLAN] >")
    (project / "go").touch()
    terminal.idle("✓ bash touch there", "⊘ write_file a.txt", "📋 Plan: Add a parser", "⊘ bash touch b.txt")
    assert [path.name for path in project.glob("*.txt")] == []
    assert "plan mode" in answers(project)[1]
    terminal.send(CTRL_P)
    terminal.until(lambda seen: prompt(seen) == ">")
    script(turn("", write("c.txt")), "Written.")
    terminal.say("now")
    terminal.idle("✓ write_file c.txt", "Written.")
    assert (project / "c.txt").exists()


@pytest.mark.smoke
def test_a_plan_becomes_the_list_which_is_seen_changed_and_exported(project: Path) -> None:
    terminal = talk("--plan", model=script(turn("I planned it.", PLAN), "It has two steps."), lines=60)
    terminal.say("plan a parser")
    seen = terminal.idle("✓ create_plan", "It has two steps.")
    plan = seen[seen.index("📋 Plan: Add a parser") :]
    assert "1. step-1: Write the parser" in plan and "module: parse · time: 45min" in plan
    assert "2. step-2: Test it 测试" in plan and "depends on: step-1" in plan and "risk: slow" in plan
    assert "Critical path: step-1 → step-2" in plan
    assert plan.index("/plan to-todos turns it into todos") < plan.index("It has two steps.")
    assert not boxes(seen)

    terminal.send(CTRL_P)
    terminal.until(lambda seen: prompt(seen) == ">" and "There is a plan: /plan to-todos" in seen)
    terminal.say("/plan to-todos")
    terminal.idle('✅ Created 2 todos from plan "Add a parser"', "/todos next")
    assert one_box(terminal.until(lambda seen: boxes(seen)), "○ Write the parser", "○ Test it 测试")

    terminal.say("/todos list")
    seen = terminal.idle("📋 Todo List (2 total)")
    listed = seen[seen.index("📋 Todo List") : seen.index("┌─ Tasks")]
    assert "step-1: Write the parser" in listed and "step-2: Test it 测试" in listed

    terminal.say("/todos update step-1 completed")
    terminal.idle("✅ Updated step-1 → completed")
    terminal.until(lambda seen: one_box(seen, "✓ Write the parser", "○ Test it 测试") and "· 1/2" in bottom(seen))

    terminal.say("/todos export --format md out.md")
    terminal.idle("✅ Exported 2 todos to out.md")
    lines = (project / "out.md").read_text(encoding="utf-8").splitlines()
    items = [line for line in lines if line.startswith("- [")]
    assert items == ["- [x] `step-1` Write the parser", "- [ ] `step-2` Test it 测试"]
    outside = run("todos", "list").out
    assert "✓? step-1: Write the parser" in outside and "step-2: Test it 测试" in outside
    assert terminal.leave() == 0


def test_a_plan_with_faults_is_not_shown_and_the_commands_say_that_there_is_none(project: Path) -> None:
    faulty = call("create_plan", title="X", overview="", steps=[])
    terminal = talk("--plan", model=script(turn("", faulty), "I failed."))
    terminal.say("plan it")
    terminal.idle("✗ create_plan", "I failed.")
    assert "📋" not in terminal.seen
    terminal.say("/plan to-todos")
    terminal.idle("❌ No active plan")


# the list


@pytest.mark.smoke
def test_there_is_one_box_at_every_moment_and_it_changes_in_place(project: Path) -> None:
    items = ("Read the parser 解析器", "Fix it")
    steps = [
        turn("I look first.", writing((items[0], "in_progress"), (items[1], "pending"))),
        turn("Then I fix it.\n\nAnd so on.", bash("true"), writing((items[0], "completed"), (items[1], "in_progress"))),
        turn("", writing(*((item, "completed") for item in items))),
        turn("All is done.\n\n- a\n- b"),
    ]
    terminal = talk(model=script(*steps), lines=16)
    terminal.say("go")
    terminal.until(lambda seen: boxes(seen))
    terminal.looks = [terminal.seen]
    terminal.idle("All is done.", "✓ ")
    terminal.until(lambda seen: one_box(seen, f"✓ {items[0]}", f"✓ {items[1]}"))
    assert "· 2/2" in bottom(terminal.seen)
    assert all(one_box(look, *(row.strip("│ ") for row in boxes(look)[0][1:-1])) for look in terminal.looks)
    assert len(boxes(terminal.all)) == 1
    assert terminal.leave() == 0
    assert not boxes(terminal.all)


def test_ctrl_t_hides_the_list_and_shows_it_again_also_during_a_run(project: Path) -> None:
    terminal = talk(model=script(turn("", creating("Its item")), talking()))
    terminal.say("go")
    terminal.busy("So on", "○ Its item")
    terminal.send(CTRL_T)
    terminal.until(lambda seen: not boxes(seen))
    terminal.send(CTRL_C)
    seen = terminal.idle("Stopped")
    assert not boxes(seen) and "· 0/1" in bottom(seen)
    terminal.send(CTRL_T)
    terminal.until(lambda seen: one_box(seen, "○ Its item"))


def test_what_another_process_changes_is_seen_while_idle_and_during_a_run(project: Path) -> None:
    terminal = talk(model=script(talking()))
    kept(project).add("From elsewhere 别处")
    terminal.until(lambda seen: one_box(seen, "○ From elsewhere 别处"))
    terminal.say("go")
    terminal.busy("So on")
    kept(project).add("Another")
    terminal.until(lambda seen: one_box(seen, "○ From elsewhere 别处", "○ Another") and "So on" in seen)
    kept(project).drop("t1")
    terminal.until(lambda seen: one_box(seen, "○ Another"))
    kept(project).set_plan_mode(True)
    terminal.until(lambda seen: prompt(seen) == "[PLAN] >")


def test_a_list_command_during_a_run_counts_at_once_and_the_model_is_told(project: Path) -> None:
    terminal = talk(model=script(turn("", waiting()), "Done.", "Done.", "Done."))
    terminal.say("go")
    terminal.busy("● bash touch there")
    terminal.say('/todos add "My own 自己的"')
    terminal.busy("✅ Added t1")
    terminal.until(lambda seen: one_box(seen, "○ My own 自己的") and "Ctrl+C stop" in seen)
    assert [todo.content for todo in kept(project).todos] == ["My own 自己的"]
    (project / "go").touch()
    terminal.idle("✓ Finished after")
    told = [event.data for event in events(project) if isinstance(event.data, TodoListContextInjected)]
    assert (told[0].round, told[0].total_items) == (2, 1)


# what is typed meanwhile


@pytest.mark.smoke
def test_messages_typed_during_a_run_wait_and_are_sent_in_order(project: Path) -> None:
    terminal = talk(model=script(turn("", waiting()), "Done."))
    terminal.say("first")
    terminal.busy("● bash touch there")
    terminal.say("second 第二")
    terminal.busy("queued: second 第二")
    terminal.say("third")
    seen = terminal.busy("queued: second 第二\nqueued: third")
    assert typed(seen) == ""
    assert said(project) == ["first"]
    (project / "go").touch()
    terminal.until(lambda seen: seen.count("✓ Finished after 2 rounds") == 3 and "queued:" not in seen)
    assert said(project) == ["first", "second 第二", "third"]
    lines = [line for line in terminal.idle().splitlines() if line.startswith("> ")]
    assert lines == ["> first", "> second 第二", "> third"]


def test_a_message_of_several_lines_is_one_message(project: Path) -> None:
    terminal = talk(model=script("Done."))
    terminal.send("one\\")
    terminal.send(ENTER)
    terminal.send("two\x1b\rthree")
    terminal.until_there("> one\ntwo\nthree")
    terminal.send("\x1b[200~\nfour\n/five\x1b[201~")  # pasted
    terminal.until_there("three\nfour\n/five")
    terminal.send(ENTER)
    terminal.idle("Done.")
    assert said(project) == ["one\ntwo\nthree\nfour\n/five"]


def test_ctrl_c_gives_back_what_was_not_sent_yet(project: Path) -> None:
    terminal = talk(model=script(talking()))
    terminal.say("first")
    terminal.busy("So on")
    terminal.say("second")
    terminal.busy("queued: second")
    terminal.say("third")
    terminal.busy("queued: third")
    terminal.send("dra")
    terminal.until(lambda seen: typed(seen) == "dra")
    terminal.send(CTRL_C)
    terminal.idle("> second\nthird\ndra")
    assert "queued:" not in terminal.seen
    script("Heard.")
    terminal.send(f"ft{ENTER}")
    terminal.idle("Heard.")
    assert said(project) == ["first", "second\nthird\ndraft"]


def test_what_was_typed_is_there_the_next_time(project: Path) -> None:
    terminal = talk(model=script("Done."))
    terminal.say("remember 记住")
    terminal.idle("Done.")
    assert terminal.leave() == 0
    again = talk(model=script("Done."), name="other")
    again.send("\x1b[A")
    again.until(lambda seen: typed(seen) == "remember 记住")


# questions


@pytest.mark.smoke
def test_a_question_is_answered_at_the_prompt_and_what_was_being_typed_is_kept(project: Path) -> None:
    model = script(turn("", waiting()), turn("", write("a.txt", "new 新\n"), write("b.txt")), "Done.")
    terminal = talk("--mode", "default", model=model)
    terminal.say("go")
    terminal.until_there("? Run: touch there", "y yes · a always · n no >")
    terminal.say("y")
    terminal.until(lambda seen: "● bash touch there" in seen and prompt(seen) == ">")
    terminal.send("a draft")
    terminal.until(lambda seen: typed(seen) == "a draft")
    (project / "go").touch()
    terminal.until_there("a.txt", "+new 新", "no >")
    terminal.say("n not there")
    terminal.until_there("⊘ no: not there", "b.txt", "no >")
    terminal.say("a")
    terminal.idle("Done.")
    assert typed(terminal.seen) == "a draft"
    assert not (project / "a.txt").exists() and (project / "b.txt").exists()


def test_a_question_that_another_process_answers_goes_away(project: Path) -> None:
    terminal = talk("--mode", "default", model=script(turn("", bash("touch 1")), "Done."))
    terminal.say("go")
    terminal.until_there("? Run: touch 1", "no >")
    session = kept(project)
    assert session.run is not None
    session.answer(next(iter(session.run.questions)), "once")
    terminal.idle("✓ bash touch 1", "Done.")
    assert "no >" not in terminal.seen and (project / "1").exists()


def test_what_is_typed_right_after_an_answer_is_kept(project: Path) -> None:
    terminal = talk("--mode", "default", model=script(turn("", bash("true")), "Done."))
    terminal.say("go")
    terminal.until_there("? Run: true", "no >")
    terminal.send(f"y{ENTER}a draft")
    assert typed(terminal.idle("Done.")) == "a draft"


# other sessions and settings


def test_another_session_is_gone_to_with_its_list(project: Path) -> None:
    kept(project, "other").add("Theirs")
    terminal = talk(model=script("Hello."))
    terminal.say("/todos add Mine")
    terminal.until(lambda seen: one_box(seen, "○ Mine"))
    terminal.say("/session other")
    terminal.until(lambda seen: one_box(seen, "○ Theirs") and " · other" in bottom(seen))
    terminal.say("/session new")
    terminal.until(lambda seen: not boxes(seen) and " · session-" in bottom(seen))
    terminal.say(f"/session {NAME}")
    terminal.until(lambda seen: one_box(seen, "○ Mine"))
    terminal.say("hello")
    terminal.idle("Hello.")
    assert said(project) == ["hello"]


def test_without_a_model_it_says_how_to_set_one_and_everything_else_works(project: Path) -> None:
    terminal = Repl("--session", NAME)
    terminal.idle("Project: ", "No model is set", "/model provider:name", 'Type "demo"')
    assert bottom(terminal.seen).startswith("no model · ")
    terminal.say("/todos add Mine")
    terminal.until(lambda seen: one_box(seen, "○ Mine"))
    terminal.say(f"/model {script('Hello.')}")
    terminal.idle("✅ The model is scripted:script.json")
    terminal.say("hello")
    terminal.idle("Hello.")


def test_without_unicode_everything_is_ascii(project: Path) -> None:
    model = script(turn("I **go** on", writing(("One", "in_progress"))), turn("- a", bash("exit 3")), "B.", "C.", "D.")
    terminal = Repl("--session", NAME, "--model", model, "--mode", "yolo", env={"PYTHONIOENCODING": "ascii"})
    terminal.idle()
    terminal.say("go")
    seen = terminal.idle("Finished after")
    assert all(text in seen for text in ("+- Tasks ---", "| o One ", " * a", "x bash exit 3: exit code 3"))
    assert terminal.raw.isascii() and "?" not in seen.replace("What would you like to do?", "")


def test_plan_mode_that_cannot_be_kept_is_said_in_a_sentence(project: Path) -> None:
    (project / ".headway").touch()
    terminal = talk(model=script("Hello."))
    terminal.send(CTRL_P)
    terminal.until(lambda seen: "isnotafolder;moveitoutoftheway" in words(seen))
    assert "Traceback" not in terminal.all and prompt(terminal.seen) == ">"


# the editor


WAITS = "until [ -e go ]; do sleep 0.02; done"


def editing(project: Path, *commands: str) -> dict[str, str]:
    """An editor that does this, says that it is there, waits, and gives the plan another title."""
    lines = ["#!/bin/sh", *commands, "touch editing", WAITS, 'sed -i "s/Old title/New title/" "$1"']
    (project / "editor").write_text("\n".join(lines))
    (project / "editor").chmod(0o755)
    kept(project).set_plan({"title": "Old title", "overview": "So.", "steps": [{"id": "a", "description": "A"}]})
    return {"EDITOR": str(project / "editor")}


# Not strict: it depends on whether the lower part was drawn again before the editor began.
def test_a_plan_is_edited_and_the_terminal_is_as_before(project: Path) -> None:
    env = editing(project, "echo HERE")
    kept(project).add("One")
    terminal = Repl("--session", NAME, "--model", script("Hello."), env=env)
    terminal.idle()
    terminal.say("/plan edit")
    until(lambda: (project / "editing").exists())
    terminal.until(lambda _: "HERE" in terminal.shown)
    (project / "go").touch()
    terminal.idle('✅ The plan is now "New title"')
    assert one_box(terminal.until(lambda seen: boxes(seen)), "○ One")
    terminal.say("hello")
    terminal.idle("Hello.")


def test_ctrl_c_in_the_editor_is_for_the_editor(project: Path) -> None:
    env = editing(project, "trap 'touch interrupted' INT")
    terminal = Repl("--session", NAME, "--model", script("Hello."), env=env)
    terminal.idle()
    terminal.say("/plan edit")
    until(lambda: (project / "editing").exists())
    terminal.send(CTRL_C)
    until(lambda: (project / "interrupted").exists())
    (project / "go").touch()
    terminal.idle('✅ The plan is now "New title"')


def test_another_size_while_the_editor_is_open_doubles_nothing(project: Path) -> None:
    env = editing(project)
    model = script(turn("", bash("until [ -e editing ]; do sleep 0.02; done")), "Said meanwhile.")
    terminal = Repl("--session", NAME, "--model", model, "--mode", "yolo", env=env)
    terminal.idle()
    terminal.say("go")
    terminal.busy("● bash until")
    terminal.say("/plan edit")
    until(lambda: reasons(project))
    terminal.resize(90, 28)
    (project / "go").touch()
    terminal.idle('✅ The plan is now "New title"')
    assert terminal.seen.count("Said meanwhile.") == 1
