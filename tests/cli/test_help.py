from __future__ import annotations

import subprocess
import sys

import pytest

from headway.cli.app import COMMANDS

from .commands import Headway


def test_help_lists_every_command_with_its_own(headway: Headway) -> None:
    rows = dict(row.split("  ", 1) for row in headway("help").stdout.split("\n\n")[0].splitlines())
    lines = {name.strip(): line.strip() for name, line in rows.items()}
    assert lines["headway todos add"] == "Add an item."
    assert lines["headway run"] == COMMANDS["run"].line
    assert "headway quit" not in lines
    assert headway("help").stdout.endswith(
        "Details of a command: headway help COMMAND\nIn the terminal session, each starts with a slash; only "
        "there: /exit, /quit.\n"
    )


def test_help_of_one_command_is_what_its_help_flag_shows(headway: Headway) -> None:
    assert headway("help", "todos", "add").stdout == headway("todos", "add", "--help").stdout
    assert headway("help", "todos").stdout == headway("todos", "--help").stdout


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["help", "todo"], "No command 'todo'; did you mean 'todos'?"),
        (["help", "todos", "ad"], "No command 'ad'; did you mean 'add'?"),
        (["help", "run", "x"], "'run' has no subcommands; omit 'x'."),
        (["quit"], "'/quit' works only in the terminal session, which 'headway' alone starts."),
        (["exit"], "'/exit' works only in the terminal session, which 'headway' alone starts."),
        (["undo"], "No command 'undo'; did you mean 'headway todos undo'?"),
        (["\x1b[2J"], "No command '\u241b[2J'."),
    ],
)
def test_a_command_that_there_is_not_names_the_nearest(headway: Headway, words: list[str], sentence: str) -> None:
    assert f"Error: {sentence}" in headway(*words, code=2).stderr


LOADED = """
import sys
from click.testing import CliRunner
from headway.cli.app import app
result = CliRunner().invoke(app, sys.argv[1:])
assert result.exit_code == 0, result.output
heavy = {"pydantic", "tomlkit", "rich", "sqlite3", "prompt_toolkit", "asyncio", "headway.repl", "headway.settings"}
print(sorted((heavy | {"headway.cli.plan", "headway.cli.run", "headway.cli.help"}) & set(sys.modules)))
"""


def test_the_help_loads_none_of_the_commands() -> None:
    command = [sys.executable, "-c", LOADED, "--help"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=60, check=True)
    assert done.stdout == "[]\n"
