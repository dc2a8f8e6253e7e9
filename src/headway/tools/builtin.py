"""`builtin_tools(".")`: the tools that come with Headway, for one folder, always in the same order."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headway.core.errors import HeadwayError
from headway.core.text import sanitize_for_display
from headway.planner.config import TodoTools, TodoToolsName
from headway.tools.base import Tool

if TYPE_CHECKING:
    from headway.tools.sandbox.sandbox import Sandbox


def builtin_tools(
    project: str | os.PathLike[str] = ".",
    *,
    todo_tools: TodoTools | TodoToolsName = TodoTools.LIGHT,
    env: Sequence[str] = (),
    private_hosts: Sequence[str] = (),
    web_search: str | None = None,
    ask_before_editing: Sequence[str] = (),
    sandbox: Sandbox | None = None,
    environ: Mapping[str, str] | None = None,
) -> list[Tool[Any]]:
    """File tools, `bash`, web tools, `create_plan` and todo tools that work in this folder and nowhere else.

    `env` names further variables that commands get, `private_hosts` what may be fetched although it is private,
    `web_search` a search provider ("brave", "tavily", "searxng:URL"); without one there is no such tool.
    `ask_before_editing` adds patterns of files that `auto_edit` asks about, since something runs them later.
    `sandbox` is what commands run in, as `open_sandbox` returns it.
    """
    if os.name != "posix":
        raise HeadwayError("The built-in tools need Linux or macOS; on Windows, run Headway inside WSL.")
    if not os.path.isdir(project):
        raise HeadwayError(
            f"There is no folder '{sanitize_for_display(os.fspath(project), 300)}'; create it, or name another one."
        )
    from headway.tools.approvals import check_texts
    from headway.tools.files.edit import Edit
    from headway.tools.files.glob import Glob
    from headway.tools.files.grep import Grep
    from headway.tools.files.ls import Ls
    from headway.tools.files.read_file import ReadFile
    from headway.tools.files.read_many_files import ReadManyFiles
    from headway.tools.files.workspace import Workspace
    from headway.tools.files.write_file import WriteFile
    from headway.tools.plan import CreatePlan
    from headway.tools.shell.bash import Bash
    from headway.tools.todos import make_todo_tools as todos
    from headway.tools.web.web_fetch import WebFetch

    workspace = Workspace(project, ask_before_editing=check_texts(ask_before_editing, "ask_before_editing"))
    tools: list[Tool[Any]] = [
        ReadFile(workspace),
        ReadManyFiles(workspace),
        Ls(workspace),
        Glob(workspace),
        Grep(workspace),
        WriteFile(workspace),
        Edit(workspace),
        Bash(workspace, check_texts(env, "env"), todo_write=todo_tools == TodoTools.FULL, sandbox=sandbox),
        WebFetch(check_texts(private_hosts, "private_hosts")),
    ]
    if web_search is not None:
        from headway.tools.web.web_search import WebSearch, find_search_provider

        tools.append(WebSearch(find_search_provider(web_search, os.environ if environ is None else environ)))
    return [*tools, CreatePlan(), *todos(todo_tools)]
