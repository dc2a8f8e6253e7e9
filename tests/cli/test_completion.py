"""What the shell offers to complete a command line, as it asks for it: through the environment."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from tests.support.processes import NOTHING, Done, headway, headway_from_nothing, run, run_to_end
from tests.support.tables import check_rows
from tests.support.warm import Order

import headway as api
from headway.project import IN_MEMORY


def completed(line: str, *, order: Callable[..., Order] = headway, env: Mapping[str, str] = NOTHING) -> Done:
    """The answer to Tab at the end of the line."""
    number = len(line.split()) - (not line.endswith(" "))
    asked = {"_HEADWAY_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(number)}
    return run_to_end(order(env={**asked, **env}))


@pytest.fixture
def two_sessions(project: Path) -> None:
    session = api.open(project)
    session.write([{"content": "First"}, {"content": "Second"}])
    session.store.set_current("default")
    api.open(project, "s").add("A")


OFFERED: list[tuple[str, list[str]]] = [
    ("headway to", ["todos"]),
    ("headway mo", ["mode", "model"]),
    ("headway qu", []),
    ("headway nope t", []),
    ("headway mode y", ["yolo"]),
    ("headway --mode y", ["yolo"]),
    ("headway todos un", ["undo"]),
    ("headway todos nope u", []),
    ("headway todos update t", ["t1", "t2"]),
    ("headway todos update t1 c", ["completed", "cancelled"]),
    ("headway help todos und", ["undo"]),
    ("headway session n", ["new"]),
    ("headway sessions resume d", ["default"]),
    ("headway --session s todos drop ", ["t1"]),
    ("headway config set mo", ["model", "mode"]),
    ("headway config set limits.bash", ["limits.bash_seconds", "limits.bash_seconds_max"]),
    ("headway config set mode ", ["default", "auto_edit", "sandboxed", "yolo"]),
    ("headway config set todo_tools l", ["light"]),
    ("headway config set model ", []),
    ("headway config set nothing ", []),
]


@pytest.mark.usefixtures("two_sessions")
def test_commands_ids_statuses_sessions_and_settings_are_offered() -> None:
    def check(line: str, offered: list[str]) -> None:
        done = completed(line)
        assert (done.code, done.err) == (0, "")
        assert done.out.split() == [f"plain,{text}" for text in offered]

    check_rows(OFFERED, check)


@pytest.mark.usefixtures("two_sessions")
def test_the_program_itself_answers_the_shell() -> None:
    done = completed("headway todos update t", order=headway_from_nothing)
    assert (done.code, done.out.split(), done.err) == (0, ["plain,t1", "plain,t2"], "")


def test_of_a_list_in_memory_nothing_is_offered_and_nothing_said(project: Path) -> None:
    done = completed("headway todos update ", env={IN_MEMORY: "1"})
    assert (done.code, done.out.strip(), done.err) == (0, "", "")
    assert os.listdir(project) == [".git"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_printed(shell: str) -> None:
    done = run("completion", shell)
    assert done.code == 0 and "_HEADWAY_COMPLETE" in done.out
