"""The agent's package starts light, and the library behind it does not speak up."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import headway.agent

HEAVY = {"pydantic_ai", "openai", "anthropic", "httpx2", "genai_prices"}


def run(code: str, folder: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if name not in ("CI", "PYTEST_VERSION")} | environ
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=True, timeout=120)


@pytest.mark.parametrize(
    "code",
    [
        "import headway.agent",
        "from headway.agent import readiness; readiness('google:m', None, {'GOOGLE_API_KEY': 'k'})",
        "from headway.agent import readiness; readiness('openai:m', None, {'OPENAI_API_KEY': 'k'})",
        "from headway.agent import PROVIDERS, explain, resolve_model, context_window, price",
        "from headway.agent import instructions; instructions('.')",
    ],
)
def test_asking_what_is_ready_loads_no_providers_library(code: str, tmp_path: Path) -> None:
    done = run(f"import sys\n{code}\nprint(*sys.modules)", tmp_path)
    loaded = set(done.stdout.split())
    assert "headway.agent" in loaded
    assert not loaded & {*HEAVY, "google.genai"}


def test_every_exported_name_is_there() -> None:
    assert len(headway.agent.__all__) == len(set(headway.agent.__all__))
    for _ in range(2):  # also after the modules behind them are loaded
        for name in headway.agent.__all__:
            value = getattr(headway.agent, name)
            assert getattr(value, "__name__", name) == name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = headway.agent.nothing


def test_making_and_asking_a_model_prints_nothing(tmp_path: Path) -> None:
    (tmp_path / "script.json").write_text('["Hello"]', encoding="utf-8")
    code = """
import asyncio
from headway.agent import resolve_model
from pydantic_ai import Agent
resolve_model("ollama:m", environ={})
print(asyncio.run(Agent(resolve_model("scripted:script.json")).run("Hi")).output)
"""
    done = run(code, tmp_path, CLAUDECODE="1")  # the library greets those who seem to be at work
    assert (done.stdout, done.stderr) == ("Hello\n", "")
