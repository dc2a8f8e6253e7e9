"""A command that prints a gigabyte: the agent's memory stays as it was, and the answer has its beginning and end."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from headway.tools.base import Context
from headway.tools.files.known_files import KnownFiles
from headway.tools.files.workspace import Workspace
from headway.tools.limits import Limits
from headway.tools.outputs import OutputFiles
from headway.tools.shell.bash import Bash, BashInput

SIZE = 1_000_000_000
MOST_GROWTH = 50_000
"""In KiB, as the system counts."""


@pytest.mark.slow
async def test_a_gigabyte_of_output_is_taken_in_little_memory(tmp_path: Path):
    limits = Limits()
    outputs = OutputFiles(str(tmp_path), kept_bytes=limits.kept_bytes)
    context = Context(project=str(tmp_path), session=None, limits=limits, seen=KnownFiles(), outputs=outputs)
    command = f"echo begin; yes a line of text | head -c {SIZE}; echo; echo end"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = await Bash(Workspace(tmp_path)).run(BashInput(command=command, timeout=600), context)
    assert result.exit_code == 0
    assert result.text.startswith("begin\n")
    assert result.text.endswith("\nend")
    assert len(result.text) <= limits.output_chars
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MOST_GROWTH
    assert result.kept is not None
    assert (tmp_path / result.kept).stat().st_size < limits.kept_bytes + 1_000
