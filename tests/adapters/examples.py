"""The examples of docs/embedding.md, each run as it stands."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.adapters.obligations import Turn, create
from tests.adapters.provider_server import Body, Provider, serve_provider

PAGE = Path(__file__).parents[2] / "docs" / "embedding.md"


def find_example(heading: str) -> str:
    section = PAGE.read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    found = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    assert found is not None
    return found[1]


def make_script() -> list[Turn]:
    return [
        create("Mend the parser", "Run the tests"),
        Turn(calls=[("todo", {"done": ["t1"]})]),
        Turn(calls=[("todo", {"done": ["t2"]})]),
        Turn("The parser is mended."),
    ]


def check_example(heading: str, folder: Path, *, rename: Callable[[str], str] = lambda name: name) -> None:
    """Run an example in a folder, against a scripted provider, and compare what it prints with what it says."""
    code = find_example(heading)

    def is_agent(body: Body) -> bool:
        return any("todo" in str(tool.get("name")) for tool in body.get("tools") or ())

    with serve_provider(Provider(make_script(), is_agent, rename)) as provider:
        env = {
            **os.environ,
            "ANTHROPIC_API_KEY": "no-key",
            "ANTHROPIC_BASE_URL": provider.url,
            "CLAUDE_CONFIG_DIR": str(folder / "config"),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "OPENAI_API_KEY": "no-key",
            "OPENAI_BASE_URL": f"{provider.url}/v1",
            "OPENAI_AGENTS_DISABLE_TRACING": "1",
        }
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False)
    shown = [line.rsplit("# ", 1)[1] for line in code.splitlines() if "print(" in line]
    assert done.stdout.splitlines() == shown, done.stderr
