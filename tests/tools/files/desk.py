"""A project folder with the file tools on it, as a run would use them; for the tests of this folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from headway.tools.approvals import Approvals, Ask
from headway.tools.base import Context, Preview, Tool, ToolFault, ToolResult
from headway.tools.effects import Mode
from headway.tools.executor import Executor
from headway.tools.files.edit import Edit
from headway.tools.files.known_files import KnownFiles
from headway.tools.files.read_file import ReadFile
from headway.tools.files.read_many_files import ReadManyFiles
from headway.tools.files.workspace import Workspace
from headway.tools.files.write_file import WriteFile
from headway.tools.limits import Limits
from headway.tools.outputs import OutputFiles


def file_tools(project: Path) -> list[Tool[Any]]:
    workspace = Workspace(project)
    return [ReadFile(workspace), ReadManyFiles(workspace), WriteFile(workspace), Edit(workspace)]


def executor(project: Path, ask: Ask | None = None, limits: Limits | None = None) -> Executor:
    mode = Mode.YOLO if ask is None else Mode.DEFAULT
    return Executor(file_tools(project), project=project, approvals=Approvals(ask, mode=mode), limits=limits)


class Desk:
    """One run in one project."""

    def __init__(self, project: Path, **limits: Any) -> None:
        self.project = project
        self.tools = {tool.name: tool for tool in file_tools(project)}
        self.context = Context(
            project=str(project),
            session=None,
            limits=Limits(**limits),
            seen=KnownFiles(),
            outputs=OutputFiles(str(project), kept_bytes=1_000_000),
        )

    async def call(self, name: str, **arguments: Any) -> ToolResult:
        tool = self.tools[name]
        return await tool.run(tool.parse_input(arguments), self.context)

    async def preview(self, name: str, **arguments: Any) -> Preview:
        tool = self.tools[name]
        return await tool.preview(tool.parse_input(arguments), self.context)

    async def read(self, path: str, **arguments: Any) -> str:
        return (await self.call("read_file", path=path, **arguments)).text

    async def write(self, path: str, content: str) -> str:
        return (await self.call("write_file", path=path, content=content)).text

    async def edit(self, path: str, old: str, new: str, *, every: bool = False) -> str:
        return (await self.call("edit", path=path, old_string=old, new_string=new, replace_all=every)).text

    async def fault(self, name: str, **arguments: Any) -> str:
        """What a call that cannot be done answers."""
        try:
            result = await self.call(name, **arguments)
        except ToolFault as fault:
            return str(fault)
        raise AssertionError(result)

    async def edit_fault(self, path: str, old: str, new: str, *, every: bool = False) -> str:
        return await self.fault("edit", path=path, old_string=old, new_string=new, replace_all=every)
