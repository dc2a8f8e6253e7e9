"""Declared checks in an ordinary run: Headway runs them before its model may complete a todo."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import headway
from headway.agent import LoopConfig, RunResult, run_loop
from headway.core.evidence import Evidence
from headway.planner.config import TodoToolsName
from headway.settings.approved_checks import approve_checks
from headway.testing import Call, ScriptedModel, Turn
from headway.tools import Answer, Approvals, Question, builtin_tools

GOOD, BAD = "def add(a, b): return a + b\n", "def add(a, b): return a - b\n"
TEST = "from calc import add\nassert add(1, 2) == 3, 'wrong sum'\n"
CHECK = f"PYTHONPATH=. {sys.executable} tests/check_calc.py"


@pytest.fixture
def folder(project: Path) -> Path:
    (project / "tests").mkdir()
    (project / "calc.py").write_text(BAD)
    (project / "tests/check_calc.py").write_text(TEST)
    approve_checks(project, [CHECK])
    return project


def bash(command: str) -> Turn:
    return Turn(calls=[Call("bash", {"command": command})])


def puts(path: str, text: str) -> Turn:
    return bash(f"cat > {path} <<'END'\n{text.rstrip()}\nEND")


def sets(status: str, todo_id: str = "a") -> Turn:
    return Turn(calls=[Call("update_todo_item", {"item_id": todo_id, "status": status})])


def checked(folder: Path, check: str = CHECK) -> headway.Session:
    session = headway.open(folder)
    session.write([{"id": "a", "content": "Mend it", "verify": check}], replace=True)
    return session


async def work(
    session: headway.Session, *turns: Turn | str, todo_tools: TodoToolsName = "full", **how: object
) -> tuple[RunResult, ScriptedModel]:
    model = ScriptedModel([*turns, "Done.", "Done.", "Done."])
    given: dict[str, object] = {"approvals": Approvals(mode="yolo"), "tools": builtin_tools("."), **how}
    config = LoopConfig(instructions="Work.", max_nudges=0, todo_tools=todo_tools)
    return await run_loop(session, "Go", model=model, config=config, **given), model  # type: ignore[arg-type]


def shown(session: headway.Session) -> tuple[str, str | None]:
    item = session.todo_list.items["a"]
    if item.status != "completed":
        return str(item.status), None
    assert isinstance(item.evidence, Evidence)
    return str(item.evidence.level), item.evidence.note


async def test_a_todo_whose_check_passes_is_verified(folder: Path) -> None:
    session = checked(folder)
    await work(session, sets("in_progress"), puts("calc.py", GOOD), sets("completed"))
    assert shown(session) == ("verified", None)
    evidence = session.todo_list.items["a"].evidence
    assert evidence is not None and (evidence.command, evidence.files) == (CHECK, ("calc.py",))


async def test_a_todo_that_was_never_in_progress_is_verified_as_well(folder: Path) -> None:
    session = checked(folder)
    await work(session, puts("calc.py", GOOD), sets("completed"))
    assert shown(session) == ("verified", None)


async def test_a_failed_check_is_the_calls_answer_and_the_todo_stays_in_progress(folder: Path) -> None:
    session = checked(folder)
    seen: list[tuple[str, str | None]] = []
    session.subscribe(lambda event: seen.append(shown(session)))
    _, model = await work(
        session, sets("in_progress"), sets("completed"), puts("calc.py", GOOD), sets("completed"), "Done."
    )
    assert shown(session) == ("verified", None)
    answer = str(model.requests[2].messages[-1])
    assert "a is not completed. The check failed (exit code 1)" in answer and "wrong sum" in answer


async def test_a_check_that_fails_too_often_leaves_the_todo_only_reported(folder: Path) -> None:
    session = checked(folder)
    await work(session, sets("in_progress"), *[sets("completed")] * 3)
    assert shown(session) == ("reported", "the check failed")


@pytest.mark.parametrize(
    "turns",
    [
        [puts("tests/check_calc.py", "")],
        [puts("calc.py", "x"), puts("tests/check_calc.py", "")],
        [bash("rm tests/check_calc.py"), puts("tests/check_calc.py", "")],
    ],
)
async def test_whoever_changes_the_files_of_a_check_is_not_verified(folder: Path, turns: list[Turn]) -> None:
    session = checked(folder)
    await work(session, sets("in_progress"), *turns, sets("completed"))
    assert shown(session) == ("command_ok", "check changed: tests/check_calc.py")


@pytest.mark.parametrize(
    "first",
    [[puts("tests/check_calc.py", "")], [sets("in_progress"), puts("tests/check_calc.py", ""), sets("pending")]],
)
async def test_what_was_changed_before_work_on_a_todo_began_counts_as_well(folder: Path, first: list[Turn]) -> None:
    session = checked(folder)
    await work(session, *first, sets("in_progress"), puts("other.py", "x"), sets("completed"))
    assert shown(session) == ("command_ok", "check changed: tests/check_calc.py")


async def test_tests_that_another_todo_was_about_may_have_been_changed(folder: Path) -> None:
    session = checked(folder)
    session.add("Write the test", id="b")
    tests = [sets("in_progress", "b"), puts("tests/check_calc.py", f"{TEST}# more"), sets("completed", "b")]
    await work(session, *tests, sets("in_progress"), puts("calc.py", GOOD), sets("completed"))
    assert shown(session) == ("verified", None)


async def test_a_test_that_restores_itself_verifies_nothing(folder: Path) -> None:
    session = checked(folder)
    (folder.parent / "before").write_text(TEST)
    weaker = f"open(__file__, 'w').write(open('{folder.parent / 'before'}').read())"
    await work(
        session, sets("in_progress"), puts("tests/check_calc.py", weaker), puts("new.py", "x"), sets("completed")
    )
    assert shown(session) == ("pending", None), "it ran once more, and failed"


async def test_code_that_breaks_itself_when_it_is_checked_is_checked_again(folder: Path) -> None:
    session = checked(folder)
    code = f"{GOOD}open(__file__, 'w').write({BAD!r})"
    await work(session, sets("in_progress"), puts("calc.py", code), *[sets("completed")] * 3)
    assert shown(session) == ("reported", "the check failed")


async def test_a_check_that_passes_without_any_work_verifies_nothing(folder: Path) -> None:
    (folder / "calc.py").write_text(GOOD)
    session = checked(folder)
    await work(session, sets("in_progress"), bash("true"), sets("completed"))
    assert shown(session) == ("command_ok", "no file was changed, and the check is not known to have failed before")


async def test_a_check_that_the_model_wrote_itself_does_not_verify_what_it_does(folder: Path) -> None:
    session = checked(folder)
    weaker: dict[str, object] = {"id": "a", "description": "Mend it", "verify": "test -f calc.py", "status": "pending"}
    turns = [
        Turn(calls=[Call("write_todos", {"todos": [{**weaker, "status": status}]})])
        for status in ("pending", "completed")
    ]
    await work(session, turns[0], puts("calc.py", "x"), turns[1], todo_tools="plan")
    assert shown(session) == ("command_ok", "the model wrote the check in the same run, and nobody has approved it")


async def test_a_check_that_nobody_approved_is_asked_about_when_it_is_needed(folder: Path) -> None:
    asked: list[str | None] = []

    async def ask(question: Question) -> Answer:
        asked.append(question.preview.command)
        return Answer("no", "not here")

    session = checked(folder, "touch ran")
    approvals = Approvals(ask, mode="auto_edit")
    await work(session, sets("in_progress"), sets("completed"), approvals=approvals)
    assert (asked, shown(session)) == (["touch ran"], ("reported", "check not run: declined (not here)"))
    assert not (folder / "ran").exists()


async def test_nothing_runs_by_itself_for_people_and_planners(folder: Path) -> None:
    session = checked(folder, "touch ran")
    approve_checks(folder, ["touch ran"])
    session.update("a", status="completed")
    session.update("a", status="pending", actor="model")
    session.update("a", status="completed", actor="model")
    assert not (folder / "ran").exists()
