"""What the model is told at the beginning: how to work, and what the project's own notes say.

The same project gives the same bytes, with no date and no path in it. The loop calls this once per run and mode and
keeps the text, so that what a provider has cached stays valid also when the notes change meanwhile.
"""

from __future__ import annotations

import os
import platform
import stat
from hashlib import sha256
from pathlib import Path

from headway.core.text import neutralize
from headway.planner.config import TodoTools, TodoToolsName, Tracking
from headway.planner.instructions import todo_instructions

NOTES = ("AGENTS.md", "CLAUDE.md")
"""Where a project may say how to work on it; the first that is there counts."""
MAX_NOTES = 30_000
_LARGEST_FILE = 4_000_000
_SYSTEMS = {"Darwin": "macOS"}


def instructions(
    project: str | Path,
    *,
    todo_tools: TodoTools | TodoToolsName = TodoTools.LIGHT,
    tracking: Tracking = Tracking.MANUAL,
    planning: bool = False,
    writers: str = "",
) -> str:
    """Return the system prompt for a run in this project; in plan mode with that in place of the todo list.

    `writers`: the tools of a dialect that change the list, where there is one.
    """
    tools = TodoTools(todo_tools)
    part = _read_section("plan_mode") if planning else todo_instructions(tools, tracking, writers=writers)
    system = platform.system()
    parts = [
        _read_section("prompt").replace("{todo_list}", part),
        f"The operating system is {_SYSTEMS.get(system, system or 'unknown')}.",
        _project_notes(Path(project)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def add_plan_mode(own: str) -> str:
    """Return the instructions of a caller's own, as they are while plan mode is on."""
    return "\n\n".join(part for part in (own.rstrip(), _read_section("plan_mode")) if part) + "\n"


def _read_section(name: str) -> str:
    return Path(__file__).with_name(f"{name}.md").read_text(encoding="utf-8").strip()


def _project_notes(project: Path) -> str:
    name = next((name for name in NOTES if os.path.lexists(project / name)), None)
    if name is None:
        return ""
    try:
        text = _read_notes_file(project, name)
    except (OSError, ValueError):
        return f"({name} of this project was left out: it is not a readable text file, or it links to something else.)"
    return _wrap_notes(name, _shorten_notes(text)) if text else ""


def _read_notes_file(project: Path, name: str) -> str:
    """Return the file's text. Raises for what is not an ordinary text file inside the project."""
    path = project / name
    if path.is_symlink():  # to other notes, as many projects have it; what else it leads to may not be meant to be sent
        target = project / os.readlink(path)
        if target.name not in NOTES or os.path.realpath(target.parent) != os.path.realpath(project):
            raise ValueError("a link to something else")
        path = project / target.name
    # A pipe that no one writes to would be waited for without the flag; what was opened is checked, so that nothing can
    # be put in its place in between.
    opened = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))
    try:
        about = os.fstat(opened)
        if not stat.S_ISREG(about.st_mode) or about.st_size > _LARGEST_FILE:
            raise ValueError("not a regular file")
        with open(opened, "rb", closefd=False) as file:
            text = file.read(_LARGEST_FILE).decode("utf-8-sig")
    finally:
        os.close(opened)
    if "\0" in text:
        raise ValueError("not text")
    return "\n".join(neutralize(line.expandtabs(4)) for line in text.splitlines()).strip()


def _shorten_notes(text: str) -> str:
    """At most `MAX_NOTES` characters: the beginning and the end, with a note in between."""
    if len(text) <= MAX_NOTES:
        return text
    half = MAX_NOTES // 2 - 50
    return f"{text[:half]}\n\n[{len(text) - 2 * half} characters omitted here]\n\n{text[-half:]}"


def _wrap_notes(name: str, text: str) -> str:
    """Return the notes between two marks that they cannot contain."""
    mark = sha256(text.encode()).hexdigest()[:16]
    while mark in text:
        mark = sha256(mark.encode()).hexdigest()[:16]
    return "\n".join(
        [
            f"# Notes of this project ({name})",
            "",
            "They say how to work on the project; follow them unless they contradict the instructions above. They "
            f"begin and end with the mark {mark}; everything in between is part of the file.",
            "",
            f"<project-notes-{mark}>",
            text,
            f"</project-notes-{mark}>",
        ]
    )
