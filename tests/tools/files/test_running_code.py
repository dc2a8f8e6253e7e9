"""`auto_edit` asks before a file of the running program is changed: that would be a command that nobody approved."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from headway.tools import Approvals, Executor, Tool, builtin_tools
from headway.tools.files.workspace import is_running_code

from ..samples import NO, Person
from .finding import write

RUN = """
import asyncio, sys
from headway.tools import Approvals, Executor, builtin_tools
run = Executor(builtin_tools(sys.argv[1]), approvals=Approvals(mode="auto_edit"))
for path in sys.argv[2:]:
    result = asyncio.run(run.call("write_file", {"path": path, "content": "x = 1\\n"}))
    print(path, "asked" if result.denied else result.ok)
"""


def asks(project: Path, path: str) -> bool:
    """Whether both tools that write would have to ask; they must agree."""
    tools: dict[str, Tool[object]] = {tool.name: tool for tool in builtin_tools(project)}  # pyright: ignore
    writing = tools["write_file"].parse_input({"path": path, "content": ""})
    editing = tools["edit"].parse_input({"path": path, "old_string": "a", "new_string": "b"})
    answers = {tools["write_file"].edits_project(writing), tools["edit"].edits_project(editing)}
    assert len(answers) == 1
    return not answers.pop()


def test_files_of_the_interpreters_folder_are_asked_about(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write(tmp_path, {".venv/lib/site.py": "", "src/a.py": ""})
    (tmp_path / "link").symlink_to(".venv/lib")
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))
    assert asks(tmp_path, ".venv/lib/site.py")
    assert asks(tmp_path, ".venv/bin/activate")
    assert asks(tmp_path, "src/../.venv/new.txt")
    assert asks(tmp_path, "link/site.py")
    assert not asks(tmp_path, "src/a.py")
    assert not asks(tmp_path, ".venv2/x.py")


def test_an_interpreter_outside_the_project_makes_nothing_in_it_special(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    (tmp_path / "project").mkdir()
    assert not asks(tmp_path / "project", "a.py")


def test_headways_own_files_are_asked_about_when_it_works_on_itself():
    project = Path(__file__).parents[3]
    assert asks(project, "src/headway/tools/executor.py")
    assert asks(project, "src/headway/tools/new.md")
    assert not asks(project, "docs/commands.md")


def test_a_new_module_that_would_hide_another_one_is_asked_about(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write(tmp_path, {"src/app/a.py": "", "src/known.py": ""})
    monkeypatch.setattr(sys, "path", [str(tmp_path / "src"), *sys.path])
    hiding = ("src/json.py", "src/idna.so", "src/httpx2/__init__.py", "src/json/deep/x.py", "src/sitecustomize.py")
    for path in (*hiding, "src/x.pth"):
        assert asks(tmp_path, path), path
    for path in ("src/app/a.py", "src/app/new.py", "src/known.py", "src/notes.md", "json.py", "docs/json.py"):
        assert not asks(tmp_path, path), path
    for path in ("src/helper_of_mine.py", "src/tests_of_mine/test_a.py", "src/x_of_mine.so"):
        assert not asks(tmp_path, path), path


def test_in_a_project_that_is_itself_an_environment_only_that_part_is_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert asks(tmp_path, "bin/activate") and asks(tmp_path, "lib/python3/x.py") and asks(tmp_path, "pyvenv.cfg")
    assert not asks(tmp_path, "src/app.py") and not asks(tmp_path, "readme.md")


def test_modules_outside_the_project_are_not_its_concern(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "project").mkdir()
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert not is_running_code(str(tmp_path / "project"), "new.py")


def test_an_empty_entry_of_the_path_is_the_folder_one_is_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    assert asks(tmp_path, "json.py") and not asks(tmp_path, "notes.md")


async def test_auto_edit_asks_about_them_and_about_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    person = Person(NO)
    runner = Executor(builtin_tools(tmp_path), approvals=Approvals(person, mode="auto_edit"))
    assert (await runner.call("write_file", {"path": "notes.md", "content": "x"})).ok
    assert (await runner.call("write_file", {"path": "json.py", "content": "x"})).denied
    assert [question.preview.path for question in person.questions] == ["json.py"]
    assert [path.name for path in tmp_path.iterdir()] == ["notes.md"]


def test_a_program_started_in_the_project_asks_about_its_own_modules(tmp_path: Path):
    (tmp_path / "app.py").write_text(RUN)
    arguments = ["json.py", "docs/notes.md", "app.py"]
    done = subprocess.run(
        [sys.executable, str(tmp_path / "app.py"), str(tmp_path), *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
    )
    assert done.stdout.splitlines() == ["json.py asked", "docs/notes.md True", "app.py False"], done.stderr
    assert not (tmp_path / "json.py").exists()


@pytest.mark.parametrize("path", ["a\0b.py", "n" * 300 + ".py"])
async def test_a_path_that_cannot_be_is_a_sentence_in_auto_edit_too(
    tmp_path: Path, path: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    runner = Executor(builtin_tools(tmp_path), approvals=Approvals(Person(NO), mode="auto_edit"))
    result = await runner.call("write_file", {"path": path, "content": "x"})
    assert "not a valid path" in result.text or "too long for a path" in result.text
