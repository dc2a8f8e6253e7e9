"""Calling `ls`, `glob` and `grep` as a run would, and trees of files to call them on; for the tests of this folder."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headway.tools.base import Context, Tool, ToolFault
from headway.tools.files.known_files import KnownFiles
from headway.tools.limits import Limits
from headway.tools.outputs import OutputFiles


def context(project: Path, **limits: Any) -> Context:
    outputs = OutputFiles(str(project), kept_bytes=10_000)
    return Context(project=str(project), session=None, limits=Limits(**limits), seen=KnownFiles(), outputs=outputs)


def answer(tool: Tool[Any], project: Path, arguments: dict[str, Any] | None = None, **limits: Any) -> str:
    """The tool's answer, also if it is that the call cannot be done."""
    try:
        return asyncio.run(tool.run(tool.parse_input(arguments or {}), context(project, **limits))).text
    except ToolFault as fault:
        return str(fault)


def write(project: Path, files: Mapping[str, str | bytes]) -> None:
    for name, content in files.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
