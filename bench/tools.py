"""What going through the executor, the safe paths and the search costs, beside the same done plainly."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from headway.tools import Approvals, Executor, builtin_tools
from headway.tools.sandbox.sandbox import BUBBLEWRAP, Available, Sandbox

from .measure import Measured, NotAvailable, Row, side_by_side

_FILES = 100
_SEARCHED = 3_000


def _executor(folder: Path) -> Executor:
    return Executor(builtin_tools(folder), project=folder, approvals=Approvals(mode="yolo"))


def _tree(folder: Path, count: int) -> Path:
    root = folder / f"tree-{count}"
    if not root.exists():
        for number in range(count):
            file = root / f"part-{number % 50}" / f"file-{number}.py"
            file.parent.mkdir(parents=True, exist_ok=True)
            lines = [f"def function_{number}_{line}(value):  # 第{line}行" for line in range(60)]
            file.write_text("\n".join(lines))
    return root


def start(folder: Path) -> Measured:
    def run(code: str) -> None:
        subprocess.run([sys.executable, "-c", code], check=True, cwd=folder)

    return side_by_side(
        lambda number: run("from headway.tools import builtin_tools; builtin_tools('.')"),
        lambda number: run("import asyncio, pydantic; pydantic.create_model('A', a=(int, 1))"),
        15,
    )


def read_files(folder: Path) -> Measured:
    root = _tree(folder, _FILES)
    executor = _executor(root)
    paths = [str(path.relative_to(root)) for path in sorted(root.rglob("*.py"))]

    async def ours() -> None:
        for path in paths:
            result = await executor.call("read_file", {"path": path})
            assert result.ok

    def plain(number: int) -> None:
        async def read() -> None:
            for path in paths:
                text = await asyncio.to_thread((root / path).read_text)
                "\n".join(f"{at:>6}\t{line}" for at, line in enumerate(text.split("\n"), 1))

        asyncio.run(read())

    return side_by_side(lambda number: asyncio.run(ours()), plain, 15)


def search(folder: Path) -> Measured:
    root = _tree(folder, _SEARCHED)
    executor = _executor(root)
    pattern = re.compile(r"function_2999_5\d")

    async def ours() -> None:
        result = await executor.call("grep", {"pattern": pattern.pattern})
        assert result.text.count("\n") >= 9

    def plain(number: int) -> None:
        found = 0
        for parent, folders, files in os.walk(root):
            folders.sort()
            for name in sorted(files):
                text = Path(parent, name).read_text()
                found += sum(pattern.search(line) is not None for line in text.splitlines())
        assert found == 10

    return side_by_side(lambda number: asyncio.run(ours()), plain, 7)


def command(folder: Path) -> Measured:
    executor = _executor(folder)

    async def ours() -> None:
        assert (await executor.call("bash", {"command": "true"})).ok

    def plain(number: int) -> None:
        async def run() -> None:
            process = await asyncio.create_subprocess_exec(sys.executable, "-I", "-S", "-c", "import subprocess")
            await process.wait()

        asyncio.run(run())

    return side_by_side(lambda number: asyncio.run(ours()), plain, 15)


def sandboxed_command(folder: Path) -> Measured:
    program = shutil.which("bwrap")
    if program is None:
        raise NotAvailable("bubblewrap is not installed")
    # Without asking whether there is a sandbox, which root does not get: what it costs is the same.
    inside = builtin_tools(folder, sandbox=Sandbox(Available(BUBBLEWRAP, program)))
    sandboxed = Executor(inside, project=folder, approvals=Approvals(mode="yolo"))
    plain = _executor(folder)

    async def run(executor: Executor) -> None:
        result = await executor.call("bash", {"command": "true"})
        assert result.ok, result.text

    return side_by_side(lambda number: asyncio.run(run(sandboxed)), lambda number: asyncio.run(run(plain)), 15)


ROWS = [
    Row("import the built-in tools", "python -c 'import asyncio, pydantic' and one model", 2, start),
    Row("read 100 files through the executor", "read and number them in threads", 4, read_files),
    Row("grep 3,000 files", "os.walk and re, line by line", 1.5, search),
    Row("bash: true", "python -I -S -c 'import subprocess'", 3, command),
    Row("bash: true in the sandbox", "bash: true", 2.5, sandboxed_command),
]
