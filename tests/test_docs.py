"""What the documents say is true: their Python runs, their console sessions answer as shown, every command is there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from headway.cli.app import app

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("README.md", *(f"docs/{name}.md" for name in ("python", "contracts", "commands", "tools", "models", "loop")))


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)


EXAMPLES = [pytest.param(code, id=f"{page}-{n}") for page in PAGES for n, code in enumerate(blocks(page, "python"), 1)]


@pytest.mark.parametrize("code", EXAMPLES)
def test_an_example_runs_and_prints_what_its_comments_say(code: str, tmp_path: Path) -> None:
    (tmp_path / "path/to/project").mkdir(parents=True)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr == ""
    printed = [line.rsplit("# ", 1)[1] for line in code.splitlines() if re.search(r"(print\(|undo\(\)).*# ", line)]
    if "print(" in code:
        assert done.stdout.splitlines() == (printed or shown_after(code))


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


def commands(group: click.Group, prefix: str) -> list[str]:
    context = click.Context(group)
    found: list[str] = []
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            found += commands(command, f"{prefix} {name}")
        else:
            found.append(f"{prefix} {name}")
    return found


@pytest.mark.parametrize("command", commands(app, "headway"))
def test_every_command_is_documented(command: str) -> None:
    assert f"`{command}" in (ROOT / "docs/commands.md").read_text(encoding="utf-8")


def test_every_documented_command_exists() -> None:
    documented = set(re.findall(r"`(headway(?: [a-z]+)+)", (ROOT / "docs/commands.md").read_text(encoding="utf-8")))
    known = set(commands(app, "headway")) | {"headway sessions"}
    assert {name for name in documented if name not in known and not name.startswith("headway completion")} == set()


def test_agents_md_names_only_paths_that_exist() -> None:
    text = (ROOT / "AGENTS.md").read_text(encoding="utf-8")
    paths = set(re.findall(r"`((?:src|tests|bench|scripts|docs)/[\w./-]*)`", text))
    assert paths
    assert [path for path in paths if not (ROOT / path).exists()] == []
    assert len(text.splitlines()) <= 100


def test_the_readme_links_only_to_files_that_exist() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [path for path in re.findall(r"\]\(([^)]+)\)", text) if not (ROOT / path).exists()] == []
