"""Whatever the tree, the links in it and the call: no answer of `ls`, `glob` or `grep` has anything from outside."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.counts import some
from tests.support.projects import temporary_folder
from tests.tools.files.finding import answer, write

from headway.tools.base import Tool
from headway.tools.files.glob import Glob
from headway.tools.files.grep import Grep
from headway.tools.files.ls import Ls
from headway.tools.files.workspace import Workspace

SECRET_NAME, SECRET_TEXT = "codebook", "swordfish"
STEPS = ["a", "b", "link", "loop", "..", ".", "", "outside", "project", SECRET_NAME, "*", "**", ".gitignore", "~"]
TARGETS = [
    *("..", "../..", ".", "a", "link", "missing", "/", "{top}", "../outside", "{top}/outside", "a/../../outside"),
    *(f"{way}/outside/{SECRET_NAME}" for way in ("..", "../..", "{top}")),
    "{top}/project/a",
]

paths = st.lists(st.sampled_from(STEPS), max_size=5).map("/".join)
asked = (
    paths | paths.map("{{top}}/{}".format) | st.sampled_from(["/", "/etc", "//", "{top}/outside", "{top}/project/a"])
)
links = st.dictionaries(
    st.lists(st.sampled_from(STEPS[:4]), min_size=1, max_size=3).map("/".join), st.sampled_from(TARGETS)
)


def tools(project: Path) -> list[Tool[Any]]:
    workspace = Workspace(project)
    return [Ls(workspace), Glob(workspace), Grep(workspace)]


def call_of(tool: Tool[Any], path: str, pattern: str) -> dict[str, Any]:
    if tool.name == "ls":
        return {"path": path}
    if tool.name == "glob":
        return {"path": path, "pattern": pattern or "**"}
    return {"path": path, "pattern": "sword|.", "glob": pattern or None}


def laid_out(top: Path, links: dict[str, str]) -> Path:
    project = top / "project"
    write(top, {f"outside/{SECRET_NAME}": SECRET_TEXT, f"outside/a/{SECRET_NAME}": SECRET_TEXT})
    write(project, {"a/file": "open text", "b/c/file": "open text", "file": "open text"})
    for name, target in links.items():
        path = project / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.parent.resolve().is_relative_to(project.resolve()):
                path.symlink_to(target.replace("{top}", str(top)))
        except (OSError, RuntimeError):  # something else is there, or on the way
            continue
    return project


@settings(max_examples=some(150))
@given(links, asked, paths)
def test_no_call_reads_outside(links: dict[str, str], path: str, pattern: str):
    with temporary_folder() as top:
        project = laid_out(top, links)
        path = path.replace("{top}", str(top))
        for tool in tools(project):
            text = answer(tool, project, call_of(tool, path, pattern))
            for given_text in (path, pattern):  # an answer may repeat what was asked
                text = text.replace(given_text, "") if SECRET_NAME in given_text else text
            assert SECRET_TEXT not in text
            assert SECRET_NAME not in text


@pytest.mark.full
@pytest.mark.parametrize("swapped", ["folder", "file"])
def test_what_is_swapped_for_a_link_meanwhile_never_leads_out(tmp_path: Path, swapped: str):
    project = laid_out(tmp_path, {})
    write(project, {f"{swapped}/a/x": "open text"} if swapped == "folder" else {"inner/file": "open text"})
    victim = project / "folder" if swapped == "folder" else project / "inner" / "file"
    trap = project / "trap"
    trap.symlink_to(tmp_path / "outside" if swapped == "folder" else tmp_path / "outside" / SECRET_NAME)
    done = threading.Event()

    def swap() -> None:
        aside = project / "aside"
        while not done.is_set():
            os.rename(victim, aside)
            os.rename(trap, victim)
            os.rename(victim, trap)
            os.rename(aside, victim)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        answers = [
            answer(tool, project, call_of(tool, path, ""))
            for _ in range(some(40))
            for tool in tools(project)
            for path in (".", str(victim.relative_to(project)))
        ]
    finally:
        done.set()
        thread.join()
    assert any("open text" in text for text in answers)
    assert not any(SECRET_NAME in text or SECRET_TEXT in text for text in answers)
