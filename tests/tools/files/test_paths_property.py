"""Whatever path a model sends into whatever tree: no tool reads or writes outside the project or what is closed."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.projects import temporary_folder
from tests.tools.files.desk import Desk

from headway.tools.base import ToolFault

SECRET = "TOP-SECRET"
PRIVATE = "PRIVATE-LOG"
NAMES = ["a", "b", "in", "out", ".git", ".GIT", ".headway", ".Headway", "outputs", "表", "a.txt", "x\u202ey"]
STEPS = [*NAMES, "..", ".", "", "secret.txt", "config", "headway.db", "n" * 256, "a\0", "~", "\udcff", "*", "-rf", " "]
TARGETS = [
    "../outside",
    "../outside/secret.txt",
    "..",
    ".",
    "a",
    "b/in",
    "out",
    "nowhere/x",
    ".headway",
    ".git",
    "../..",
]
ABSOLUTE = [
    "{outside}",
    "{outside}/secret.txt",
    "{project}/a",
    "{project}/../outside",
    "/",
    "/dev/zero",
    "/proc/self/environ",
]
TOOLS: dict[str, list[dict[str, Any]]] = {
    "read_file": [{}, {"offset": 1, "limit": 1}],
    "write_file": [{"content": "written\n"}, {"content": ""}],
    "edit": [{"old_string": "text", "new_string": "edited", "replace_all": True}],
    "read_many_files": [{}],
}

ways = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map("/".join)
trees = st.lists(
    st.tuples(ways, st.sampled_from(["folder", "file"]) | st.sampled_from([*TARGETS, *ABSOLUTE])), max_size=8
)
paths = st.builds(
    "{}{}".format,
    st.sampled_from(["", "", "", "/", "./", "{project}/", "{outside}/", "//", "../project/", "../outside/"]),
    st.lists(st.sampled_from(STEPS), min_size=1, max_size=6).map("/".join),
) | st.text(min_size=1, max_size=30)


def build(base: Path, tree: list[tuple[str, str]]) -> Path:
    """A project with a random tree, beside a folder with a secret."""
    project = base / "project"
    for folder in ("outside", "project/.headway/outputs", "project/.git"):
        (base / folder).mkdir(parents=True)
    (base / "outside/secret.txt").write_text(f"text {SECRET}")
    (project / ".headway/headway.db").write_text(f"text {PRIVATE}")
    (project / ".headway/outputs/a.txt").write_text("text")
    (project / ".git/config").write_text("text")
    for way, kind in tree:
        path = project / way
        # Only inside: the tree itself must not be built through its links.
        if os.path.realpath(path.parent) != str(path.parent) or ".headway" in way:
            continue
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            if kind == "folder":
                path.mkdir()
            elif kind == "file":
                path.write_text("text")
            else:
                path.symlink_to(filled(kind, base))
    return project


def filled(text: str, base: Path) -> str:
    return text.replace("{project}", f"{base}/project").replace("{outside}", f"{base}/outside")


def closed(base: Path) -> dict[str, object]:
    """Everything that no file tool may change, as it is now."""
    found: dict[str, object] = {"beside": sorted(os.listdir(base))}
    for top, folders, files in os.walk(base):
        parts = [part.lower() for part in Path(top).relative_to(base).parts]
        if parts and (parts[0] == "outside" or ".git" in parts or parts[1:2] == [".headway"]):
            found[top] = sorted([*folders, *files])
            found |= {f"{top}/{name}": os.lstat(f"{top}/{name}").st_mtime_ns for name in files}
    return found


async def answers(desk: Desk, name: str, sent: list[str]) -> list[str]:
    """All that calls with these paths bring to light."""
    found: list[str] = []
    for path in sent:
        where: dict[str, Any] = {"paths": [path, "a", path]} if name == "read_many_files" else {"path": path}
        for arguments in TOOLS[name]:
            with suppress(ToolFault):
                await desk.read(path)
            for act in (desk.preview, desk.call):
                try:
                    found.append(str(await act(name, **where, **arguments)))
                except ToolFault as fault:
                    found.append(str(fault))
    return found


def check(name: str, tree: list[tuple[str, str]], sent: list[str]) -> None:
    with temporary_folder() as base:
        project = build(base, tree)
        before = closed(base)
        desk = Desk(project)
        for text in asyncio.run(answers(desk, name, [filled(path, base) for path in sent])):
            assert SECRET not in text
            assert PRIVATE not in text
            text.encode()
        assert closed(base) == before


@pytest.mark.parametrize("name", TOOLS)
@given(tree=trees, sent=st.lists(paths, min_size=1, max_size=4))
def test_no_path_reads_or_writes_outside(name: str, tree: list[tuple[str, str]], sent: list[str]) -> None:
    check(name, tree, sent)
