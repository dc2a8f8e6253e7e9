from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import headway
from headway import Session
from headway.tools.base import Context, Tool, ToolResult
from headway.tools.files.known_files import KnownFiles
from headway.tools.limits import Limits
from headway.tools.outputs import OutputFiles

Call = Callable[..., Awaitable[ToolResult]]


in_memory_and_on_disk = pytest.mark.parametrize("session", ["memory", "disk"], indirect=True)
"""For a test that is run with both kinds of session."""


@pytest.fixture
def session(request: pytest.FixtureRequest, tmp_path: Path, session: Session) -> Session:
    """The one in memory, unless the test is `in_memory_and_on_disk`."""
    if getattr(request, "param", "memory") == "memory":
        return session
    opened = headway.open(tmp_path)
    request.addfinalizer(opened.close)
    return opened


@pytest.fixture
def context(tmp_path: Path, session: Session) -> Context:
    return context_of(tmp_path, session)


def context_of(tmp_path: Path, session: Session | None) -> Context:
    return Context(
        project=str(tmp_path),
        session=session,
        limits=Limits(),
        seen=KnownFiles(),
        outputs=OutputFiles(str(tmp_path), kept_bytes=10_000),
    )


@pytest.fixture
def call(context: Context) -> Call:
    """Calls a tool as an executor does: reads the arguments, then runs it."""

    async def called(tool: Tool[Any], /, **arguments: object) -> ToolResult:
        return await tool.run(tool.parse_input(arguments), context)

    return called
