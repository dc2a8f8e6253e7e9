"""Declared checks in executions: what verifies an item, what fails it, which checks run at all."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import headway
from headway.core.evidence import Evidence
from headway.core.execution_events import ExecutionStarted
from headway.settings.approved_checks import approve_checks, read_approved_checks
from headway.testing import Turn
from headway.tools import Answer, Approvals, Question

from .executing import (
    bash,
    commit_files,
    facts,
    go,
    model,
    one,
    opened,
    outcomes,
    prompts,
    report,
    silent,
    texts,
    todo,
    write,
)

GOOD, BAD = "def add(a, b): return a + b\n", "def add(a, b): return a - b\n"
TEST = "from calc import add\nassert add(1, 2) == 3, 'wrong sum'\n"
FILES = {"calc.py": BAD, "tests/check_calc.py": TEST, "README.md": "read me\n"}
PASSES = f"PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=. {sys.executable} tests/check_calc.py"
CANNOT = silent("I cannot do this, sorry.")
SAID = "Not reported as completed; the model's last words: “I cannot do this, sorry.”"
pytestmark = pytest.mark.usefixtures("project")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return commit_files(tmp_path / "work", FILES)


def puts(path: str, text: str) -> Turn:
    return bash(f"cat > {path} <<'END'\n{text.rstrip()}\nEND")


def checked(folder: Path, check: str = PASSES) -> headway.Session:
    """A list of one item with a check that fails until calc.py adds."""
    approve_checks(folder, [check])
    return opened(folder, [{"id": "a", "content": "Mend it", "verify": check}])


def shown(session: headway.Session) -> tuple[str, str | None]:
    """What became of the item: its level of evidence, or its status; and the note, or the reason."""
    item = todo(session, "a")
    if item.status != "completed":
        return str(item.status), item.notes
    assert isinstance(item.evidence, Evidence)
    return str(item.evidence.level), item.evidence.note


async def test_an_item_whose_check_passes_after_its_edit_is_verified(folder: Path) -> None:
    session = checked(folder)
    result = await go(session, model(a=[puts("calc.py", GOOD), "Done."]))
    assert (result.outcome, shown(session)) == ("complete", ("verified", None))
    evidence = todo(session, "a").evidence
    assert evidence is not None and evidence.command == PASSES and evidence.exit_code == 0
    assert evidence.files == ("calc.py",) and evidence.seconds
    assert texts(folder) == {**FILES, "calc.py": GOOD}, "a check leaves nothing behind"


async def test_an_item_whose_check_passes_is_completed_though_nothing_was_reported(folder: Path) -> None:
    session = checked(folder)
    await go(session, model(a=[puts("calc.py", GOOD), bash("false"), silent("Mended.")]))
    assert shown(session) == ("verified", None), "it outweighs a command that failed"


async def test_a_failed_check_sends_its_output_to_the_model_which_may_repair_it(folder: Path) -> None:
    session = checked(folder)
    asked = model(a=[puts("calc.py", "def add(a, b): return 4\n"), "Done.", puts("calc.py", GOOD), silent("Now.")])
    await go(session, asked, retries=0)
    assert shown(session) == ("verified", None)
    sent = str(asked.requests[3].messages[-1])
    assert "The check failed (exit code 1)" in sent and "AssertionError: wrong sum" in sent


async def test_a_check_that_fails_too_often_blocks_the_item_with_its_last_lines(folder: Path) -> None:
    session = checked(folder)
    asked = model(a=["Done.", "Done.", "Done."])
    result = await go(session, asked, retries=0, verify_tries=2)
    status, why = shown(session)
    assert (result.outcome, status) == ("failed", "blocked")
    assert why is not None and "AssertionError: wrong sum" in why
    assert len(asked.requests) == 6


async def test_a_model_that_refuses_politely_is_asked_once_and_the_item_is_blocked(folder: Path) -> None:
    session = opened(folder, ["a"])
    asked = model(a=[CANNOT, CANNOT])
    result = await go(session, asked, retries=0)
    assert (result.outcome, shown(session)) == ("failed", ("blocked", SAID))
    assert "Call report_item now" in str(asked.requests[1].messages[-1])


async def test_what_the_model_reported_as_blocked_is_not_tried_again(folder: Path) -> None:
    session = opened(folder, ["a"])
    await go(session, model(a=[report("blocked", "no key"), silent("Stopped.")]), retries=1)
    assert outcomes(session) == [("a", "blocked")]
    assert shown(session) == ("blocked", "no key")


async def test_what_the_model_reported_as_blocked_outlasts_an_error_after_it(folder: Path) -> None:
    session = opened(folder, ["a"])
    await go(session, model(a=[report("blocked", "no key")]), retries=1)  # the script ends here
    assert outcomes(session) == [("a", "blocked")]
    assert shown(session) == ("blocked", "no key")


async def test_a_model_that_forgot_to_report_can_do_so_when_it_is_asked(folder: Path) -> None:
    session = opened(folder, ["a"])
    await go(session, model(a=[puts("calc.py", GOOD), silent("Mended."), "Done."]))
    assert shown(session) == ("reported", None)


@pytest.mark.parametrize(
    "turns",
    [
        [puts("tests/check_calc.py", "")],
        [bash("rm tests/check_calc.py; echo > tests/check_calc.py")],
        [puts("calc.py", GOOD), puts("tests/check_calc.py", f"{TEST}# weaker")],
    ],
)
async def test_whoever_changes_the_files_of_a_check_is_not_verified(folder: Path, turns: list[Turn]) -> None:
    session = checked(folder)
    await go(session, model(a=[*turns, "Done."]), retries=0)
    assert shown(session) == ("command_ok", "check changed: tests/check_calc.py")


async def test_a_check_that_passed_before_verifies_nothing_unless_something_was_changed(folder: Path) -> None:
    session = checked(folder, "test -f README.md")
    await go(session, model(a=["Done."]))
    assert shown(session) == ("command_ok", "no file was changed, and the check is not known to have failed before")


async def test_a_check_for_a_new_file_is_passed_by_making_it(folder: Path) -> None:
    session = checked(folder, "test -f new.txt")
    await go(session, model(a=[puts("new.txt", "x"), "Done."]))
    assert shown(session) == ("verified", None)


async def test_a_check_that_failed_before_verifies_work_that_changed_no_file(folder: Path) -> None:
    built = folder.parent / "built"
    session = checked(folder, f"test -f {built}")
    await go(session, model(a=[bash(f"touch {built}"), "Done."]), in_place=True)
    assert shown(session) == ("verified", None)


@pytest.mark.parametrize(
    ("do", "names"),
    [
        (
            f"echo impl.py >> .git/info/exclude; mkdir -p node_modules; echo '{GOOD.strip()}' > node_modules/impl.py;"
            "printf 'import sys; sys.path.append(\"node_modules\")\\nfrom impl import add\\n' > calc.py",
            "node_modules/",
        ),
        (f"echo impl.py >> .gitignore; echo '{GOOD.strip()}' > impl.py", "impl.py"),
        (f"mkdir impl; git init -q impl; echo '{GOOD.strip()}' > impl/__init__.py", "impl/"),
        (f"echo '{GOOD.strip()}' > ../impl.py; ln -s ../impl.py impl.py", "impl.py"),
    ],
)
async def test_what_passes_only_with_files_that_do_not_come_into_the_project_is_not_verified(
    folder: Path, do: str, names: str
) -> None:
    (folder / "calc.py").write_text("from impl import add\n")
    session = checked(folder)
    await go(session, model(a=[bash(f"{do}; echo more >> README.md"), "Done."]))
    note = f"the check fails in the project, where this is missing or different: {names}"
    assert shown(session) == ("command_ok", note)


async def test_ignored_files_beside_the_work_do_not_keep_it_from_being_verified(folder: Path) -> None:
    (folder / ".gitignore").write_text("built\n")
    session = checked(folder)
    await go(session, model(a=[bash("touch built"), puts("calc.py", GOOD), "Done."]))
    assert shown(session) == ("verified", None)


async def test_a_command_that_cannot_fail_is_no_check(folder: Path) -> None:
    session = checked(folder, "test -f nothing || true")
    await go(session, model(a=[puts("calc.py", GOOD), "Done."]))
    assert shown(session) == ("reported", "the check cannot fail")


# the project's check


async def test_the_projects_check_verifies_items_without_one_of_their_own(folder: Path) -> None:
    session = opened(folder, ["a"])
    await go(session, model(a=[puts("calc.py", GOOD), "Done."]), verify=PASSES)
    assert shown(session) == ("verified", None)


async def test_the_projects_check_fails_no_item_if_it_failed_before_all_of_them(folder: Path) -> None:
    session = opened(folder, ["a"])
    await go(session, model(a=[puts("README.md", "x"), "Done."]), verify=PASSES)
    assert shown(session) == ("reported", "the project's check fails, as it did before the execution")


async def test_the_projects_check_fails_an_item_that_broke_it(folder: Path) -> None:
    (folder / "calc.py").write_text(GOOD)
    session = opened(folder, ["a"])
    await go(session, model(a=[puts("calc.py", BAD), "Done."]), verify=PASSES, verify_tries=0, retries=0)
    status, why = shown(session)
    assert status == "blocked" and "wrong sum" in str(why)


async def test_a_check_is_given_the_files_that_the_item_changed(folder: Path) -> None:
    session = checked(folder, "printf '%s\\n' {files}; false")
    turns = [puts('"it\'s.txt"', "x"), puts("./-n", "x"), puts("calc.py", GOOD), "Done."]
    await go(session, model(a=turns), verify_tries=0, retries=0)
    status, why = shown(session)
    assert status == "blocked" and str(why).endswith("\n./-n\ncalc.py\nit's.txt")


# which checks run


async def test_a_check_that_nobody_approved_is_not_run_and_that_is_said(folder: Path) -> None:
    session = opened(folder, [{"id": "a", "content": "Mend it", "verify": "touch ran"}])
    await go(session, model(a=[write("new.txt", "x"), "Done."]), mode=None, approvals=Approvals(mode="auto_edit"))
    assert shown(session) == ("reported", "check not run: there was nobody to approve it")
    assert facts(session, ExecutionStarted)[0].note == "1 check is not run: there was nobody to approve it."
    assert not (folder / "ran").exists()


async def test_all_checks_are_asked_about_in_one_question_and_remembered(folder: Path) -> None:
    asked: list[Question] = []

    async def ask(question: Question) -> Answer:
        asked.append(question)
        return Answer("once")

    items: list[dict[str, object]] = [{"id": name, "content": "Mend it", "verify": f"test -f {name}"} for name in "ab"]
    session = opened(folder, items)
    answers = model(a=[write("a", "x"), "Done."], b=[write("b", "x"), "Done."])
    await go(session, answers, mode=None, approvals=Approvals(ask, mode="auto_edit"))
    (question,) = asked
    assert (question.tool, question.preview.command) == ("check", "test -f a\ntest -f b")
    assert "now and whenever they are declared in this project" in question.preview.line
    assert question.allowed_by_always == "these and all other checks in this run"
    assert shown(session) == ("verified", None)
    assert read_approved_checks(folder) == {"test -f a", "test -f b"}
    assert read_approved_checks(folder.parent) == frozenset()


async def test_a_declined_check_is_not_run(folder: Path) -> None:
    async def ask(question: Question) -> Answer:
        return Answer("no", "not now")

    session = opened(folder, [{"id": "a", "content": "Mend it", "verify": "touch ran"}])
    await go(session, model(a=[write("new.txt", "x"), "Done."]), mode=None, approvals=Approvals(ask, mode="auto_edit"))
    assert shown(session) == ("reported", "check not run: declined (not now)")


# what is required


async def test_a_completion_below_what_is_required_is_refused_once(folder: Path) -> None:
    session = checked(folder, "test -f README.md")
    asked = model(a=["Done.", silent("It is done.")])
    await go(session, asked, require_evidence="verified")
    assert shown(session)[0] == "command_ok"
    assert "it does not verify the item" in str(asked.requests[2].messages[-1])


async def test_the_prompt_says_which_check_decides(folder: Path) -> None:
    session = checked(folder)
    asked = model(a=[puts("calc.py", GOOD), "Done."])
    await one(session, "a", asked)
    assert f"Check: {PASSES}" in prompts(asked, "a")[0]


# environments that point back into the project


def environment(folder: Path, style: str) -> str:
    """A project with an editable install of a src-layout package in its `.venv`; the command that checks it."""
    commit_files(folder, {"src/calc/__init__.py": GOOD, "check.py": TEST, ".gitignore": ".venv\n__pycache__\n"})
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / ".venv"], check=True)
    site = next((folder / ".venv/lib").glob("python*/site-packages"))
    if style == "path":
        (site / "__editable__.calc-0.1.pth").write_text(f"{folder}/src\n")
    elif style == "finder":
        (site / "__editable___calc_0_1_finder.py").write_text(FINDER.format(path=f"{folder}/src/calc"))
        (site / "__editable__.calc-0.1.pth").write_text(
            "import __editable___calc_0_1_finder; __editable___calc_0_1_finder.install()\n"
        )
    else:
        (site / "calc_loader.pth").write_text(f"import sys; sys.path.insert(0, '{folder}/src')\n")
    return "PYTHONDONTWRITEBYTECODE=1 .venv/bin/python check.py"


FINDER = """
import sys
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import spec_from_file_location
MAPPING = {{'calc': '{path}'}}
class Finder:
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name in MAPPING:
            return spec_from_file_location(name, MAPPING[name] + '/__init__.py')
def install():
    sys.meta_path.append(Finder)
"""


@pytest.mark.parametrize("style", ["path", "finder", "code"])
async def test_broken_code_is_never_verified_by_way_of_an_editable_install(tmp_path: Path, style: str) -> None:
    folder = tmp_path / "work"
    check = environment(folder, style)
    approve_checks(folder, [check])
    session = opened(folder, [{"id": "a", "content": "Mend it", "verify": check}])
    broken = [puts("src/calc/__init__.py", BAD), "Done."]
    await go(session, model(a=broken), retries=0, verify_tries=0)
    status, why = shown(session)
    assert status == "blocked" and "wrong sum" in str(why)
    assert (folder / "src/calc/__init__.py").read_text() == GOOD, "the merge was reversed, if there was one"
    mended = [puts("src/calc/__init__.py", f"{GOOD}# mended"), bash(check), "Done."]
    await go(session, model(a=mended))
    assert shown(session) == ("verified", None)


@pytest.mark.parametrize("path", ["bin/python", "lib/python9.9/site-packages/any.pth"])
async def test_whoever_changes_the_environment_of_a_check_is_not_verified(tmp_path: Path, path: str) -> None:
    folder = tmp_path / "work"
    check = environment(folder, "path")
    (folder / ".venv/lib/python9.9/site-packages").mkdir(parents=True, exist_ok=True)
    approve_checks(folder, [check])
    session = opened(folder, [{"id": "a", "content": "Mend it", "verify": check}])
    await go(
        session,
        model(
            a=[
                bash(f"rm -f .venv/{path}; printf '#!/bin/sh\\n' > .venv/{path}; chmod +x .venv/{path}; echo >> x"),
                "Done.",
            ]
        ),
    )
    assert shown(session) == ("command_ok", f"check changed: .venv/{path}")


@pytest.mark.parametrize("check", ["cd {folder} && PYTHONPATH=src {python} check.py", "PYTHONPATH=.venv {check}"])
async def test_a_check_that_looks_at_the_project_itself_is_run_there(tmp_path: Path, check: str) -> None:
    folder = tmp_path / "work"
    check = check.format(folder=folder, python=sys.executable, check=environment(folder, "path"))
    approve_checks(folder, [check])
    session = opened(folder, [{"id": "a", "content": "Mend it", "verify": check}])
    await go(session, model(a=[puts("src/calc/__init__.py", BAD), "Done."]), retries=0, verify_tries=0)
    assert shown(session)[0] == "blocked"
    assert (folder / "src/calc/__init__.py").read_text() == GOOD
    assert outcomes(session) == [("a", "blocked")]


async def test_in_the_projects_own_files_a_check_verifies_as_well(folder: Path) -> None:
    session = checked(folder)
    await go(session, model(a=[bash(f"printf '{GOOD.strip()}\\n' > calc.py"), "Done."]), in_place=True)
    assert shown(session) == ("verified", None)
    os.stat(folder / "calc.py")


async def test_reporting_blocked_is_never_overruled_by_a_check(folder: Path) -> None:
    session = checked(folder)
    await go(session, model(a=[puts("calc.py", GOOD), report("blocked", "no key"), silent("Stopped.")]), retries=0)
    assert shown(session) == ("blocked", "no key")
