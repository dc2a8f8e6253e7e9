"""Items being executed in the terminal session: what is seen, asked, typed meanwhile, and left afterwards."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.support.executions import (
    COMPLETE,
    FAILED,
    FAILS,
    NAME,
    at,
    done,
    door,
    item,
    let,
    listed,
    scripted,
    starts,
    states,
)
from tests.support.processes import Form, until
from tests.support.scripts import bash, call, talking, turn, write
from tests.support.terminal import one_box

from .screens import CTRL_C, CTRL_P, Repl, bottom, kept, prompt, said, talk, typed

NO_MODEL = "No model is set yet. Everything else works: /help lists the commands."
HOSTILE = "Fix \x1b[31mred\x1b[0m\x07 \x1b]0;title\x07\n▶ [9/9] Fake \u202edetrever 解析"

pytestmark = [pytest.mark.more, pytest.mark.usefixtures("repository")]


def asking(*words: str, model: str, columns: int = 100, lines: int = 30) -> Repl:
    """A terminal session in which one is asked."""
    terminal = Repl("--session", NAME, "--model", model, *words, columns=columns, lines=lines)
    terminal.idle()
    return terminal


def doing(seen: str) -> list[str]:
    """The lines about what runs, above the box."""
    above = seen[: seen.index("┌─ Tasks")] if "┌─ Tasks" in seen else ""
    return [line for line in above.splitlines() if line.startswith("● ")]


# what is seen


@pytest.mark.smoke
def test_items_are_executed_under_the_eyes_of_the_person_and_the_session_goes_on() -> None:
    listed(item("s1", "Write it"), item("s2", "Implement JWT", "s1", estimated_time="45min"))
    model = scripted(s1=["Written."], s2=[door("two"), "Done, **too**."], said=["Heard you."])
    terminal = talk(model=model)
    terminal.say("/todos execute-all")
    seen = terminal.busy("● bash touch", "▶ [2/2] Implement JWT ⏱ 45min")
    assert one_box(seen, "✓ Write it", "● Implement JWT...")
    assert "Written." in seen and re.search(r"^✓\? s1: Write it \(reported, \d+\.\d s\)$", seen, re.MULTILINE)
    assert bottom(seen).startswith("scripted:script.json · yolo · 1/2 · ")
    let("two")
    seen = terminal.idle(COMPLETE, "Executed 2/2 todos in ", "Done, too.")
    assert one_box(seen, "✓ Write it", "✓ Implement JWT") and doing(seen) == [] and prompt(seen) == ">"
    assert " · 2/2 · " in bottom(seen)
    terminal.say("said anything")
    terminal.idle("Heard you.")
    assert terminal.leave() == 0 and terminal.given_back


def test_at_once_each_item_has_a_line_above_the_one_box_until_it_ends() -> None:
    listed(*(item(f"s{number}", f"第 {number}") for number in range(1, 4)))
    model = scripted(**{f"s{number}": [door(f"d{number}"), "Done."] for number in range(1, 4)})
    terminal = talk(model=model, columns=80, lines=24)
    terminal.say("/todos execute-all --parallel=3")
    seen = terminal.until(lambda seen: seen.count("  bash touch") == 3 and bottom(seen).endswith("Ctrl+C stop"))
    assert [line.split("  ")[0] for line in doing(seen)] == ["● s1", "● s2", "● s3"]
    assert one_box(seen, "● 第 1...", "● 第 2...", "● 第 3...")
    let("d2")
    seen = terminal.until(lambda seen: "✓? s2: 第 2 (" in seen and len(doing(seen)) == 2)
    assert one_box(seen, "● 第 1...", "✓ 第 2", "● 第 3...")
    let("d1", "d3")
    seen = terminal.idle("Executed 3/3 todos in ")
    assert doing(seen) == [] and terminal.all.count("┌─ Tasks") == 1
    assert [line for line in terminal.all.splitlines() if line == "Done."] == []


def test_a_failure_is_told_with_what_to_type_and_typing_it_goes_on() -> None:
    listed("s1", "s2", "s3")
    terminal = talk(model=done("s1", "s3", s2=FAILS * 2))
    terminal.say("/todos execute-all")
    seen = terminal.idle(FAILED)
    told = seen[seen.index(FAILED) :].splitlines()[:4]
    assert told == [
        FAILED,
        "s2 failed: Its last command failed (exit code 3: exit 3).",
        "Progress: 1 completed, 1 failed",
        "Resume with: /todos execute-all   (also retries failed items)",
    ]
    assert one_box(seen, "✓ Do s1", "✗ Do s2", "○ Do s3")
    done("s2", "s3")
    terminal.say("/todos execute-all")
    terminal.idle("Executed 2/2 todos in ")
    terminal.say("/todos execute-all")
    terminal.idle("No pending todos")


def test_what_cannot_be_executed_is_told_and_the_session_goes_on() -> None:
    listed(item("step-1", status="cancelled"), item("step-3", "", "step-1"))
    terminal = talk(model=scripted(said=["Heard you."]))
    terminal.say("/todos execute step-3")
    seen = terminal.idle("❌ Cannot execute step-3. Dependencies not completed:")
    assert "  - step-1 (cancelled: reopen it, or remove the dependency)" in seen
    terminal.say("/todos execute step-9")
    terminal.idle("Error: No todo has the id 'step-9'; the ids are: step-1, step-3.")
    terminal.say("/todos execute-all")
    seen = terminal.idle("⏸ Some items cannot run", "For details: /todos next")
    assert "headway todos" not in seen
    terminal.say("/plan on")
    terminal.until(lambda seen: prompt(seen) == "[PLAN] >")
    terminal.say("/todos execute-all")
    terminal.idle("❌ Plan mode is on, which changes nothing; first turn it off with /plan off.")
    terminal.say("/plan off")
    terminal.until(lambda seen: prompt(seen) == ">")
    terminal.say("said now")
    terminal.idle("Heard you.")
    assert starts() == []


def test_without_a_model_it_says_how_to_set_one_and_then_it_works() -> None:
    listed("s1")
    terminal = Repl("--session", NAME)
    terminal.idle(NO_MODEL)
    terminal.say("/todos execute-all")
    terminal.until(lambda seen: seen.count(NO_MODEL) == 2)
    terminal.say(f"/model {done('s1')}")
    terminal.idle("scripted:script.json ·")
    terminal.say("/todos execute-all")
    terminal.idle("Executed 1/1 todos in ")


@pytest.mark.parametrize("parallel", [1, 2])
def test_hostile_items_are_shown_and_not_obeyed(parallel: int) -> None:
    listed(item("s1", HOSTILE, estimated_time="1h\x1b[2J"), "s2")
    terminal = talk(model=done("s2", s1=FAILS))
    terminal.say(f"/todos execute-all --retries=0 --keep-going --parallel={parallel}")
    terminal.idle(FAILED)
    for obeyed in ("\x1b]0;", "\x1b[31mred", "\x07", "\u202e"):
        assert obeyed not in terminal.raw
    assert "Fix ␛[31mred␛[0m␇" in terminal.all
    assert [line for line in terminal.all.splitlines() if line.startswith("▶ [9/9]")] == []


def test_without_unicode_only_ascii_is_printed() -> None:
    listed(item("s1", "第一", estimated_time="1h"), "s2")
    model = done("s1", s2=FAILS)
    env = {"PYTHONIOENCODING": "ascii"}
    terminal = Repl("--session", NAME, "--mode", "yolo", "--model", model, env=env)
    terminal.until(lambda seen: "tokens" in bottom(seen))
    terminal.say("/todos execute-all --retries=0 --parallel=2")
    terminal.until(lambda seen: "Batch Execution Failed" in seen and "Resume with: " in seen)
    assert terminal.leave() == 0
    assert terminal.raw.isascii()


# typed meanwhile


def test_a_message_typed_meanwhile_waits_and_is_sent_when_all_is_executed() -> None:
    listed("s1", "s2")
    terminal = talk(model=done("s2", s1=[door("one"), "Done."], said=["Heard you."]))
    terminal.say("/todos execute-all")
    at("one")
    terminal.say("said later")
    terminal.busy("queued: said later")
    terminal.type("half a thou")
    let("one")
    seen = terminal.idle("Heard you.")
    assert typed(seen) == "half a thou"
    places = [seen.index(text) for text in ("Executed 2/2 todos in ", "> said later", "Heard you.")]
    assert places == sorted(places)
    assert said_to_main() == ["Execute all: 2 todos", "said later"]


def said_to_main() -> list[str]:
    return [text for text in said(Path()) if not text.startswith("Execute todo: ")]


def test_after_a_failure_messages_that_waited_are_given_back() -> None:
    listed("s1")
    terminal = talk(model=scripted(s1=[door("one"), *FAILS], said=["Heard you."]))
    terminal.say("/todos execute-all --retries=0")
    at("one")
    terminal.say("said later")
    terminal.busy("queued: said later")
    let("one")
    seen = terminal.idle(FAILED)
    assert typed(seen) == "said later" and "queued" not in seen
    assert said_to_main() == ["Execute all: 1 todo"]


def test_commands_on_the_list_apply_at_once(repository: Path) -> None:
    listed("s1", "s2")
    terminal = talk(model=scripted(s1=[door("one", "touch after"), "Done."], s2=[door("two"), "Done."], t1=["Done."]))
    terminal.say("/todos execute-all")
    at("one")
    terminal.say("/todos update s1 cancelled")
    at("two")
    terminal.say('/todos add "One more"')
    terminal.busy("○ One more")
    let("two")
    seen = terminal.idle("▶ [3/3] One more", "Executed 2/3 todos in ")
    assert "⏸ s1: Do s1: stopped, since it was cancelled meanwhile" in seen
    assert states() == {"s1": "cancelled", "s2": "completed", "t1": "completed"}
    assert not (repository / "after").exists()


def test_what_cannot_be_done_meanwhile_is_refused_and_it_goes_on() -> None:
    listed("s1", "s2")
    terminal = talk(model=done("s2", s1=[door("one"), "Done."]))
    terminal.say("/todos execute-all")
    at("one")
    wait = "Error: A run is in progress here; wait for it, or stop it with Ctrl+C first."
    for line, told in {
        "/todos execute-all": wait,
        "/todos execute s2": wait,
        "/todos rollback s1": "Error: A run is in progress in this session; wait for it or stop it before",
        "/session new": "Error: A run is in progress here; stop it with Ctrl+C before you change the session.",
    }.items():
        terminal.say(line)
        terminal.busy(f"> {line}\n{told}")
    let("one")
    terminal.idle("Executed 2/2 todos in ")
    assert len(starts()) == 2


# how much is asked


def test_the_mode_of_an_execution_lasts_as_long_as_it_does(repository: Path) -> None:
    listed("s1")
    model = scripted(s1=[turn("", bash("touch 1")), "Done."], said=[turn("", bash("touch 2")), "Heard you."])
    terminal = asking(model=model)
    terminal.say("/todos execute-all --mode=yolo")
    terminal.idle("Executed 1/1 todos in ")
    assert (repository / "1").exists()
    terminal.say("/mode")
    terminal.idle("The mode is default.")
    terminal.say("said now")
    terminal.until_there("? Run: touch 2", "no >")
    terminal.say("n")
    terminal.idle("Heard you.")
    assert not (repository / "2").exists()


def test_the_mode_in_force_is_shown_as_long_as_it_lasts_in_another_terminal_session_too(repository: Path) -> None:
    listed("s1")
    terminal = asking(model=scripted(s1=[door("one"), "Done."]))
    other = asking(model="scripted:script.json")
    assert " · default · " in bottom(terminal.seen) and " · default · " in bottom(other.seen)
    terminal.say("/todos execute-all --mode=yolo")
    at("one")
    terminal.until(lambda seen: " · yolo · " in bottom(seen) and "  Mode: yolo (never asks)" in seen)
    other.until(lambda seen: " · yolo · " in bottom(seen))
    terminal.say("/mode auto_edit")
    other.until(lambda seen: " · auto_edit · " in bottom(seen))
    let("one")
    assert " · auto_edit · " in bottom(terminal.idle("Executed 1/1 todos in "))
    other.until(lambda seen: " · default · " in bottom(seen))


def test_ctrl_p_pauses_the_execution_and_says_so_until_it_is_pressed_again(repository: Path) -> None:
    listed("s1", "s2")
    terminal = talk(model=done("s2", s1=[door("one"), turn("", write("a.txt")), "Done."]))
    terminal.say("/todos execute-all")
    at("one")
    terminal.send(CTRL_P)
    terminal.busy("[PLAN] >", "⏸ The execution is paused until plan mode is off")
    let("one")
    terminal.busy("⏸ Execution paused until plan mode is off")
    terminal.send(CTRL_P)
    seen = terminal.idle("Executed 2/2 todos in ")
    assert "✓ write_file a.txt" in seen and "⊘" not in seen and "✗" not in seen
    assert (repository / "a.txt").exists()


def test_that_files_are_saved_is_not_said_while_items_run_at_once() -> None:
    listed("s1", "s2")
    terminal = talk(model=scripted(s1=[door("d1"), "Done."], s2=[door("d2"), "Done."]))
    terminal.say("/todos execute-all --parallel=2")
    terminal.until(lambda seen: len(doing(seen)) == 2)
    at("d1", "d2")
    terminal.looks = []
    let("d1", "d2")
    terminal.idle("Executed 2/2 todos in ")
    assert terminal.looks and not [seen for seen in terminal.looks if "Saving the project's files" in seen]


def test_a_command_typed_meanwhile_leaves_the_mode_of_the_execution_as_it_is(repository: Path) -> None:
    listed("s1")
    terminal = asking(model=scripted(s1=[door("one"), turn("", bash("touch 1")), "Done."]))
    terminal.say("/todos execute-all --mode=yolo")
    at("one")
    terminal.say("/todos list")
    terminal.say("/mode")  # commands have their effect one after the other
    terminal.busy("📋 Todo List", "The mode is yolo.")
    let("one")
    seen = terminal.until(lambda seen: "no >" in seen or "Executed 1/1 todos in " in seen)
    assert "? Run: touch 1" not in seen


def test_a_mode_that_is_set_meanwhile_holds_at_once_and_afterwards(repository: Path) -> None:
    listed("s1", "s2")
    terminal = asking(model=scripted(s1=[talking()], s2=[turn("", bash("touch 1")), "Done."]))
    terminal.say("/todos execute-all")
    terminal.busy("So on")
    terminal.say("/mode yolo")
    terminal.until(lambda seen: " · yolo · " in bottom(seen))
    kept(repository).update("s1", status="completed")
    seen = terminal.until(lambda seen: "no >" in seen or "Executed 1/2 todos in " in seen)
    assert "? Run: touch 1" not in seen and (repository / "1").exists()
    terminal.say("/mode")
    terminal.idle("The mode is yolo.")


def test_questions_are_answered_with_yes_no_and_always_for_all_items(repository: Path) -> None:
    listed("s1", "s2")
    calls = [turn("", bash("touch 1")), turn("", bash("touch 2")), turn("", bash("touch 3")), "Done."]
    terminal = asking(model=scripted(s1=calls, s2=[turn("", bash("touch 4")), "Done."]))
    terminal.say("/todos execute-all")
    for number, answer in enumerate(("y", "n not 那个", "a"), 1):
        terminal.until_there(f"? Run: touch {number}", "no >")
        assert bottom(terminal.seen) == "a allows all bash calls in this run"
        terminal.say(answer)
    seen = terminal.idle("Executed 2/2 todos in ")
    assert sorted(path.name for path in repository.glob("[0-9]")) == ["1", "3", "4"]
    assert "⊘ no: not 那个" in seen


def test_at_once_it_says_which_item_asks(repository: Path) -> None:
    listed(item("s1", "First"), item("s2", "第二"))
    model = scripted(**{name: [turn("", bash(f"touch {name}")), "Done."] for name in ("s1", "s2")})
    terminal = asking(model=model)
    terminal.say("/todos execute-all --parallel=2")
    texts = {"s1": "First", "s2": "第二"}
    left = {*texts}
    while left:
        seen = terminal.until(lambda seen: "no >" in seen and any(f"? Run: touch {one}" in seen for one in left))
        (name,) = [one for one in left if f"? Run: touch {one}" in seen]
        terminal.until_there(f"? {name}: {texts[name]}", "no >")
        left.discard(name)
        terminal.say("y")
    terminal.idle("Executed 2/2 todos in ")
    assert len([*repository.glob("s[12]")]) == 2


def test_a_command_works_while_a_question_waits_and_ends_the_item_that_asks(repository: Path) -> None:
    listed("s1", "s2")
    terminal = asking(model=done("s2", s1=[turn("", bash("touch 1")), "Done."]))
    terminal.say("/todos execute-all")
    terminal.until_there("? Run: touch 1", "no >")
    terminal.say("/todos update s1 cancelled")
    terminal.idle("Executed 1/2 todos in ")
    assert states() == {"s1": "cancelled", "s2": "completed"} and not (repository / "1").exists()


# afterwards


def test_rollback_and_report_are_there_afterwards(repository: Path) -> None:
    listed(item("s1", "Write it"), "s2")
    terminal = talk(
        model=done("s2", s1=[turn("", write("a.txt")), turn("", bash("diff a.txt a.txt")), "Written."]), lines=80
    )
    terminal.say("/todos execute-all")
    terminal.idle("Executed 2/2 todos in ")
    terminal.say("/report")
    seen = terminal.idle("## Summary", "Execution 1: complete")
    assert "Done: 2 of 2 (0 verified, 1 command ok, 1 reported)" in seen and "a.txt" in seen
    terminal.say("/todos rollback s1")
    terminal.idle("✅ Rolled back s1 → pending\n   Removed 1 file: a.txt")
    assert not (repository / "a.txt").exists() and one_box(terminal.seen, "○ Write it", "✓ Do s2")
    terminal.say("/todos rollback s1")
    terminal.idle(" has nothing to roll back")
    done("s1")
    terminal.say("/todos execute s1")
    terminal.idle("✅ s1 completed (reported) in ")
    assert terminal.leave() == 0


def test_tab_completes_ids_and_modes() -> None:
    listed("build-the-parser", "test-it")
    terminal = talk(model=done("test-it"))
    terminal.send("/todos execute b")
    terminal.until_there("Do build-the-parser")
    terminal.send("\t")
    terminal.until(lambda seen: typed(seen) == "/todos execute build-the-parser")
    terminal.send(" --mode=y\t")
    terminal.until(lambda seen: typed(seen) == "/todos execute build-the-parser --mode=yolo")
    terminal.send(CTRL_C)
    assert terminal.leave() == 0


def test_the_whole_story_from_a_plan_to_an_export(repository: Path) -> None:
    steps = [
        {"id": "step-1", "description": "Write the parser", "estimated_time": "20min"},
        {"id": "step-2", "description": "Test it", "dependencies": ["step-1"], "estimated_time": "45min"},
    ]
    plan = call("create_plan", title="A parser", overview="It reads rows.", steps=steps)
    turns: dict[str, list[str | Form]] = {
        "said": [turn("", plan), "That is the plan."],
        "step_1": [turn("", write("parser.txt")), turn("", bash("cat parser.txt")), "Written."],
        "step_2": ["Tested."],
    }
    terminal = talk("--plan", model=scripted(**turns), lines=60)
    terminal.say("said: plan a parser")
    terminal.idle("That is the plan.")
    terminal.say("/plan off")
    terminal.until(lambda seen: prompt(seen) == ">")
    terminal.say("/plan to-todos")
    terminal.until(lambda seen: one_box(seen, "○ Write the parser", "○ Test it"))
    terminal.say("/todos list")
    terminal.idle("○ step-1: Write the parser", "depends on: step-1")
    terminal.say("/todos execute-all --parallel=2")
    seen = terminal.idle("Executed 2/2 todos in ")
    assert "▶ [1/2] Write the parser ⏱ 20min" in seen and "▶ [2/2] Test it ⏱ 45min" in seen
    terminal.say("/todos export todos.md")
    until(lambda: (repository / "todos.md").exists() and (repository / "todos.md").read_text().endswith("\n"))
    exported = (repository / "todos.md").read_text(encoding="utf-8")
    assert exported.count("[x]") == 2 and "Write the parser" in exported
    terminal.say("/report")
    terminal.idle("Execution 1: complete")
    assert terminal.leave() == 0 and terminal.given_back
    assert [todo.created_from for todo in kept(repository).todos] == ["plan", "plan"]
