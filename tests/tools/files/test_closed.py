"""Headway's own folder and git's stay closed: at any depth, through links, by where those lead, by looks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headway.tools import Approvals, Executor, ToolResult, builtin_tools

from .finding import write

CLOSED = "is off limits to file tools, because Headway or git keeps records there; use another path."
GIT = {"HEAD": "ref: refs/heads/main", "objects/x": "", "refs/x": "", "config": "[core]"}


async def call(project: Path, name: str, **arguments: Any) -> ToolResult:
    return await Executor(builtin_tools(project), approvals=Approvals(mode="yolo")).call(name, arguments)


async def refused(project: Path, name: str, **arguments: Any) -> None:
    result = await call(project, name, **arguments)
    assert (result.ok, result.text) == (False, f"'{arguments['path']}' {CLOSED}")


async def never_written(project: Path, path: str) -> None:
    before = files(project)
    await refused(project, "write_file", path=path, content="x")
    await refused(project, "edit", path=path, old_string="x", new_string="y")
    assert files(project) == before


def files(project: Path) -> dict[str, str]:
    return {str(path): path.read_text() for path in project.rglob("*") if path.is_file()}


@pytest.mark.parametrize("folder", ["", "src/", "a/b/"])
async def test_headways_folder_is_closed_at_any_depth(tmp_path: Path, folder: str):
    write(tmp_path, {f"{folder}.headway/config.toml": "needle"})
    await refused(tmp_path, "read_file", path=f"{folder}.headway/config.toml")
    await refused(tmp_path, "ls", path=f"{folder}.headway")
    await never_written(tmp_path, f"{folder}.headway/config.toml")
    await never_written(tmp_path, f"{folder}.headway/new/hooks.toml")
    assert "needle" not in (await call(tmp_path, "grep", pattern="need.e")).text.replace("need.e", "")


@pytest.mark.parametrize("path", [".headway/config.toml", "hw/config.toml", "also/config.toml", "hw/../hw/config.toml"])
async def test_headways_folder_is_closed_as_a_link_and_by_what_the_link_leads_to(tmp_path: Path, path: str):
    write(tmp_path, {"hw/config.toml": "needle"})
    (tmp_path / ".headway").symlink_to("hw")
    (tmp_path / "also").symlink_to(".headway")
    await refused(tmp_path, "read_file", path=path)
    await never_written(tmp_path, path)
    await refused(tmp_path, "write_file", path="hw/new/x.toml", content="x")
    assert "needle" not in (await call(tmp_path, "grep", pattern="need.e")).text
    assert not (tmp_path / "hw/new").exists()


@pytest.mark.parametrize(("name", "arguments"), [("ls", {"path": "hw"}), ("glob", {"pattern": "**/*"})])
async def test_names_in_the_folder_that_headways_link_leads_to_are_not_listed(
    tmp_path: Path, name: str, arguments: dict[str, str]
):
    write(tmp_path, {"hw/config.toml": "needle"})
    (tmp_path / ".headway").symlink_to("hw")
    assert "config.toml" not in (await call(tmp_path, name, **arguments)).text


@pytest.mark.parametrize("folder", ["", "src/", "a/b/"])
async def test_gits_folder_is_closed_for_writing_at_any_depth(tmp_path: Path, folder: str):
    write(tmp_path, {f"{folder}.git/config": "[core]"})
    await never_written(tmp_path, f"{folder}.git/config")
    await never_written(tmp_path, f"{folder}.git/hooks/pre-commit")
    await never_written(tmp_path, f"{folder}.GIT/config")
    assert (await call(tmp_path, "read_file", path=f"{folder}.git/config")).ok


@pytest.mark.parametrize("path", [".git/config", "real/config", "also/config", "real/hooks/post-checkout"])
async def test_gits_folder_is_closed_for_writing_as_a_link_and_by_what_the_link_leads_to(tmp_path: Path, path: str):
    write(tmp_path, {"real/config": "[core]"})
    (tmp_path / ".git").symlink_to("real")
    (tmp_path / "also").symlink_to(".git")
    await never_written(tmp_path, path)
    assert (await call(tmp_path, "read_file", path="real/config")).ok


@pytest.mark.parametrize("path", ["mirror.git/config", "mirror.git/hooks/post-update", "mirror.git/refs/heads/main"])
async def test_a_folder_that_git_takes_for_its_own_is_closed_for_writing_whatever_its_name(tmp_path: Path, path: str):
    write(tmp_path, {f"mirror.git/{name}": text for name, text in GIT.items()})
    await never_written(tmp_path, path)
    assert (await call(tmp_path, "read_file", path="mirror.git/config")).ok


@pytest.mark.parametrize("missing", ["HEAD", "objects", "refs"])
async def test_a_folder_cannot_be_made_gits_own_by_the_last_file_that_it_lacks(tmp_path: Path, missing: str):
    write(tmp_path, {f"repo/{name}": text for name, text in GIT.items() if not name.startswith(missing)})
    path = "repo/HEAD" if missing == "HEAD" else f"repo/{missing}/x"
    await refused(tmp_path, "write_file", path=path, content="x")
    assert not (tmp_path / "repo" / missing).exists()
    assert (await call(tmp_path, "write_file", path="repo/readme", content="x")).ok


async def test_folders_that_only_resemble_gits_are_open(tmp_path: Path):
    write(tmp_path, {"http/HEAD": "", "http/objects/x": "", "docs/.gitignore": ""})
    for path in ("http/body", "objects/a.py", "refs/b.py", "HEAD.txt", ".github/ci.yml"):
        assert (await call(tmp_path, "write_file", path=path, content="x")).ok


async def test_kept_answers_are_listed_searched_and_read_but_never_written(tmp_path: Path):
    write(tmp_path, {".headway/outputs/1-bash.txt": "one\nneedle\n", ".headway/headway.db": "needle"})
    assert (await call(tmp_path, "ls", path=".headway/outputs")).text == "1-bash.txt (11 bytes)"
    found = await call(tmp_path, "grep", pattern="needle", path=".headway/outputs")
    assert found.text == ".headway/outputs/1-bash.txt:2: needle"
    assert (await call(tmp_path, "grep", pattern="needle", path=found.text.split(":")[0])).text == found.text
    assert "needle" in (await call(tmp_path, "read_file", path=".headway/outputs/1-bash.txt")).text
    for path in (".headway/outputs/1-bash.txt", ".headway/outputs/new.txt", ".headway/outputs"):
        await refused(tmp_path, "write_file", path=path, content="x")
    await refused(tmp_path, "read_file", path=".headway/outputs/../headway.db")
    await refused(tmp_path, "ls", path=".headway")


async def test_folders_that_are_only_called_like_gits_are_open(tmp_path: Path):
    write(tmp_path, {"HEAD/a": "", "objects/b": "", "refs/c": ""})
    assert (await call(tmp_path, "write_file", path="src/new.py", content="x")).ok
    assert (await call(tmp_path, "write_file", path="HEAD/new", content="x")).ok
