"""What the documents say is true: their Python runs, their console sessions answer as shown, every command is there."""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
import pytest
from tests.support.processes import run_python
from tests.support.tables import check_rows

import headway as api
from headway.cli.app import COMMANDS, app
from headway.cli.help import list_entries
from headway.cli.options import CommandContext, HelpfulGroup
from headway.execute.options import ExecutionOptions
from headway.web.server import ServerPlace

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("README.md", *sorted(f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")))


def test_every_test_that_the_page_on_security_names_is_there() -> None:
    text = (ROOT / "docs/security.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text)
    assert len(named) > 30

    def is_there(file: str, name: str) -> None:
        assert re.search(rf"^(async )?def {name}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)

    check_rows(named, is_there)
    defended = text.partition("## What is defended")[2].partition("\n## ")[0]
    rows = [line for line in defended.splitlines() if line.startswith("| ")][1:]
    assert [line for line in rows if "::test_" not in line] == []


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)


IN_ENVIRONMENTS = "docs/embedding.md"
"""Its examples need a framework each: `tests/adapters` runs them."""
EXAMPLES = [
    pytest.param(code, id=f"{page}-{n}")
    for page in PAGES
    if page != IN_ENVIRONMENTS
    for n, code in enumerate(blocks(page, "python"), 1)
]


NOTHING_IMPORTED = """
import sys
for name in [name for name in sys.modules if name.partition(".")[0] == "headway"]:
    del sys.modules[name]
del name, sys
"""
"""Of Headway, an example has only what it imports itself."""


@pytest.mark.parametrize("code", EXAMPLES)
def test_an_example_runs_and_prints_what_its_comments_say(code: str, tmp_path: Path) -> None:
    (tmp_path / "path/to/project").mkdir(parents=True)
    done = run_python(f"{NOTHING_IMPORTED}{code}", folder=tmp_path)
    assert done.err == ""
    printed = [line.rsplit("# ", 1)[1] for line in code.splitlines() if re.search(r"(print\(|undo\(\)).*# ", line)]
    if "print(" in code:
        assert done.out.splitlines() == (printed or shown_after(code))


def test_an_example_that_forgets_an_import_fails(tmp_path: Path) -> None:
    done = run_python(f"{NOTHING_IMPORTED}import headway\nheadway.testing.ScriptedModel", folder=tmp_path)
    assert done.code == 1 and "has no attribute 'testing'" in done.err


def shown_after(code: str) -> list[str]:
    """The lines of the block that follows an example and shows what it prints."""
    for page in PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        if found := re.search(re.escape(f"```python\n{code}```") + r"\n\n```text\n(.*?)```", text, re.DOTALL):
            return found[1].splitlines()
    return []


def test_the_console_session_of_the_readme_answers_as_shown(tmp_path: Path) -> None:
    session = next(block for block in blocks("README.md", "console") if "headway todos add" in block)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    env = {**os.environ, "PATH": path, "HEADWAY_PROJECT": str(tmp_path), "PYTHONIOENCODING": "utf-8"}
    shown = ""
    for line in session.splitlines():
        if line.startswith("$ "):
            done = subprocess.run(
                line[2:], shell=True, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=False
            )
            shown += f"{line}\n{done.stdout}{done.stderr}"
    assert shown == session


class InMemory:
    """A terminal session that nobody sits at."""

    session = api.open(memory=True)
    model: str | None = None
    mode = "default"
    is_in_memory = True

    def use_session(self, name: str) -> None:
        raise AssertionError

    def edit(self, text: str, suffix: str) -> str | None:
        raise AssertionError

    def execute(self, options: ExecutionOptions) -> None:
        raise AssertionError

    def serve(self, port: int | None) -> ServerPlace:
        raise AssertionError

    def leave(self) -> None:
        raise AssertionError


class Typed(NamedTuple):
    """A command as it is typed: in a shell, or with a slash in the terminal session."""

    text: str
    line: str
    """What its help says in one line."""


def typed(chosen: CommandContext, before: str) -> list[Typed]:
    """All commands that there are where they are typed, those of groups included."""
    context = click.Context(app, info_name="headway", obj=chosen)
    assert isinstance(app, HelpfulGroup)
    return [Typed(f"{before}{entry.path}", entry.line) for entry in list_entries(app, context)]


IN_SHELL = typed(CommandContext(), "headway ")
WITH_SLASH = typed(CommandContext(live=InMemory(), program="/"), "/")
COMMANDS_PAGE = (ROOT / "docs/commands.md").read_text(encoding="utf-8")


def test_every_command_can_be_loaded() -> None:
    def check(name: str) -> None:
        module, attribute, *_ = COMMANDS[name]
        assert isinstance(getattr(importlib.import_module(module), attribute), click.Command)

    check_rows(COMMANDS, check)


def is_named(text: str) -> bool:
    """Whether the page has it in code, alone or with arguments."""
    return re.search(rf"`{re.escape(text)}[ `]", COMMANDS_PAGE) is not None


def test_every_command_is_documented() -> None:
    def check(command: str) -> None:
        of_it = (other.text for other in IN_SHELL if other.text.startswith(f"{command} "))
        assert is_named(command) or any(map(is_named, of_it))

    check_rows([command.text for command in IN_SHELL], check)


def test_every_slash_command_is_documented_as_itself_or_as_its_twin() -> None:
    twins = {other.text for other in IN_SHELL}

    def check(command: str) -> None:
        if f"headway {command[1:]}" in twins:
            assert "every command above works" in COMMANDS_PAGE
        else:
            assert is_named(command)

    check_rows([command.text for command in WITH_SLASH], check)


def test_what_works_only_in_a_shell_is_said_to() -> None:
    slashes = {command.text for command in WITH_SLASH}
    only = {command.text for command in IN_SHELL if f"/{command.text.removeprefix('headway ')}" not in slashes}
    row = next(line for line in COMMANDS_PAGE.splitlines() if line.endswith("| only in a shell |"))
    assert set(re.findall(r"`([^`]+)`", row)) == only


def test_every_command_says_what_it_does_in_one_line() -> None:
    def check(text: str, line: str) -> None:
        assert line.endswith(".") and not line.endswith("..."), text

    check_rows([*IN_SHELL, *WITH_SLASH], check)


def test_every_documented_command_exists() -> None:
    known = {command.text for command in (*IN_SHELL, *WITH_SLASH)}
    named = re.findall(r"`((?:headway |/)[a-z]+(?: [a-z][a-z-]*)*)", COMMANDS_PAGE)
    takes_words = ("headway completion ", "headway session ", "/mode ", "/session ")
    assert {name for name in named if name not in known and not name.startswith(takes_words)} == set()


def exists(name: str) -> bool:
    """Return whether a dotted name is that of a module, or of something in one."""
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True


def test_every_name_of_the_package_that_a_page_has_in_code_exists() -> None:
    pages = [ROOT / "README.md", ROOT / "AGENTS.md", *(ROOT / "docs").glob("*.md")]
    named = {name for page in pages for name in re.findall(r"`(headway(?:\.\w+)+)", page.read_text(encoding="utf-8"))}
    assert len(named) > 10
    assert {name for name in named if not exists(name)} == set()
    assert not exists("headway.core.gone") and not exists("headway.core.log.gone")


def list_missing_paths(text: str) -> Iterator[str]:
    """The paths that a page names in code and that are not there. Beside another path, its folder may be left out."""
    for part in re.split(r"\n(?=[-|#]|\n)", text):
        folders = [ROOT, ROOT / "src/headway"]
        for name in re.findall(r"`([\w./-]+(?:/|\.(?:py|js|css|md|toml)))`", part):
            found = next((folder / name for folder in folders if (folder / name).exists()), None)
            if found is None:
                yield name
            else:
                folders.append(found if found.is_dir() else found.parent)


@pytest.mark.parametrize("page", ["AGENTS.md", "docs/architecture.md"])
def test_a_page_about_the_source_names_only_paths_that_exist(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert list(list_missing_paths(text)) == []
    assert list(list_missing_paths(f"- `src/headway/core/`: `gone.py`\n{text}")) == ["gone.py"]


def test_agents_md_stays_short() -> None:
    assert len((ROOT / "AGENTS.md").read_text(encoding="utf-8").splitlines()) <= 100


def test_the_readme_links_only_to_files_that_exist() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [path for path in re.findall(r"\]\(([^)]+)\)", text) if not (ROOT / path).exists()] == []
