"""Fails when a Python example of the documents has a type error in strict mode."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOT_INSTALLED = "docs/embedding.md"
"""Its examples need a framework each."""


def write_examples(folder: Path) -> None:
    """Write each example to a file of its own, in which its lines have the numbers that they have in the page."""
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        if page == ROOT / NOT_INSTALLED:
            continue
        text = page.read_text(encoding="utf-8")
        for number, block in enumerate(re.finditer(r"```python\n(.*?)```", text, re.DOTALL), 1):
            before = "\n" * text.count("\n", 0, block.start(1))
            (folder / f"{page.stem}_{number}.py").write_text(before + block[1], encoding="utf-8")


def main() -> int:
    folder = ROOT / "build" / "examples"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write_examples(folder)
    pyright = Path(sys.executable).with_name("pyright")
    return subprocess.run([pyright, folder], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
