"""`auto_edit` asks before a file is written that something runs later."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.tables import check_rows

from headway.core.errors import HeadwayError
from headway.tools import Approvals, Executor, builtin_tools
from headway.tools.files.workspace import ExecutedLater

from ..samples import NO, Person

ASKED = [
    *(".envrc", ".bashrc", "home/.zshrc", ".vscode/tasks.json", "sub/.vscode/settings.json", ".husky/pre-commit"),
    *(".github/workflows/ci.yml", ".gitlab-ci.yml", ".circleci/config.yml", "conftest.py", "tests/unit/conftest.py"),
    *("Makefile", "makefile", "sub/Makefile", "rules.mk", "package.json", "web/package.json", "pyproject.toml"),
    *("src/x.pth", "sitecustomize.py", ".claude/settings.json", ".mcp.json", "AGENTS.md", "agents.MD", "tox.ini"),
    *(".devcontainer/devcontainer.json", "build.gradle.kts", ".idea/runConfigurations/a.xml"),
    *(
        ".VSCode/tasks.json",
        "CONFTEST.PY",
        ".GitHub/Workflows/ci.yml",
        ".en\u200cvrc",
        ".bash_profile",
        ".zlogin",
        ".config/fish/config.fish",
    ),
]
NOT_ASKED = [
    *("src/main.py", "README.md", "docs/Makefile.md", "conftest.py.txt", "github/workflows/ci.yml", "vscode/a"),
    *("tests/test_a.py", "package-lock.json", "requirements.txt", "notes/envrc", "日本.py"),
]


def test_files_that_run_later_are_told_from_others() -> None:
    files = ExecutedLater()

    def is_asked(path: str, expected: bool) -> None:
        assert files.includes(path) is expected

    check_rows([*((path, True) for path in ASKED), *((path, False) for path in NOT_ASKED)], is_asked)


def test_patterns_are_added_and_taken_out() -> None:
    files = ExecutedLater(["deploy/", "!pyproject.toml", "!web/package.json"])
    assert files.includes("deploy/run.txt") and files.includes("package.json")
    assert not files.includes("pyproject.toml") and not files.includes("web/package.json")
    assert not any(map(ExecutedLater(["!*", "!*/"]).includes, ASKED))


@pytest.mark.parametrize("name", ["write_file", "edit"])
async def test_a_person_is_asked_in_auto_edit_and_a_no_leaves_the_file(tmp_path: Path, name: str) -> None:
    (tmp_path / "Makefile").write_text("all:\n")
    (tmp_path / "plain.txt").symlink_to("Makefile")
    arguments = {"write_file": {"content": "x"}, "edit": {"old_string": "all", "new_string": "x"}}[name]
    person = Person(NO)
    run = Executor(builtin_tools(tmp_path), approvals=Approvals(person, mode="auto_edit"))
    assert (await run.call("read_file", {"path": "Makefile"})).ok
    for path in ("Makefile", "plain.txt", "./Makefile"):
        assert (await run.call(name, {"path": path, **arguments})).denied
    assert len(person.questions) == 3
    assert (tmp_path / "Makefile").read_text() == "all:\n"


LINKS = [
    ("Makefile", "notes.txt", "Makefile"),
    ("Makefile", "notes.txt", "notes.txt"),
    ("makefile", "build/rules.txt", "build/rules.txt"),
    ("sub/conftest.py", "../notes.txt", "sub/conftest.py"),
    (".vscode", "editor", "editor/tasks.json"),
    (".github/workflows", "../ci", "ci/build.yml"),
    ("x.pth", "notes.txt", "notes.txt"),
]


@pytest.mark.parametrize(("link", "target", "written"), LINKS)
async def test_a_file_to_which_such_a_name_leads_is_asked_about(
    tmp_path: Path, link: str, target: str, written: str
) -> None:
    (tmp_path / link).parent.mkdir(exist_ok=True)
    (tmp_path / link).symlink_to(target)
    for name in ("build", "editor", "ci"):
        (tmp_path / name).mkdir(exist_ok=True)
    person = Person(NO)
    run = Executor(builtin_tools(tmp_path), approvals=Approvals(person, mode="auto_edit"))
    assert (await run.call("write_file", {"path": written, "content": "x"})).denied
    assert len(person.questions) == 1
    assert (await run.call("write_file", {"path": "other.txt", "content": "x"})).ok


async def test_what_is_taken_out_of_the_list_is_written_unasked(tmp_path: Path) -> None:
    tools = builtin_tools(tmp_path, ask_before_editing=["!Makefile", "*.sql"])
    run = Executor(tools, approvals=Approvals(mode="auto_edit"))
    assert (await run.call("write_file", {"path": "Makefile", "content": "x"})).ok
    assert (await run.call("write_file", {"path": "a.sql", "content": "x"})).denied
    with pytest.raises(HeadwayError, match="ask_before_editing"):
        builtin_tools(tmp_path, ask_before_editing="*.sql")
