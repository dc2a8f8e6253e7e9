"""Importing the tools pulls in no provider, web or MCP library, and what is exported is there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import headway.tools

HEAVY = {
    *("pydantic_ai", "openai", "anthropic", "google", "httpx2", "httpx", "starlette", "uvicorn", "mcp", "fastmcp"),
    *("requests", "aiohttp", "click", "rich"),
}
TOUCH_ALL = """
for name in headway.tools.__all__:
    getattr(headway.tools, name)
headway.tools.builtin_tools(sys.argv[1])
print(*sys.modules)
"""


def printed(code: str, *arguments: str) -> list[str]:
    """What an interpreter prints that has loaded nothing yet."""
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def loaded(code: str, *arguments: str) -> set[str]:
    return {name.partition(".")[0] for name in printed(code, *arguments)}


def test_neither_a_module_but_those_of_the_web_nor_an_exported_name_or_tool_loads_a_heavy_library(tmp_path: Path):
    folder = Path(headway.tools.__file__).parent
    modules = sorted(
        ".".join(("headway", "tools", *path.relative_to(folder).with_suffix("").parts))
        for path in folder.rglob("*.py")
        if "web" not in path.relative_to(folder).parts and path.stem not in ("__init__", "__main__")
    )
    assert "headway.tools.executor" in modules
    found = loaded(f"import sys, headway.tools, {', '.join(modules)}\n{TOUCH_ALL}", str(tmp_path))
    assert "pydantic" in found
    assert not found & HEAVY


def test_the_light_parts_load_no_pydantic():
    found = loaded("import sys, headway, headway.tools, headway.tools.todo_write; print(*sys.modules)")
    assert "headway" in found and "pydantic" not in found


def test_what_is_exported_is_in_order_and_there():
    names = headway.tools.__all__
    assert names == sorted(names)
    found = {name: getattr(headway.tools, name).__name__ for name in names if name != "Ask"}
    assert found == {name: name for name in names if name != "Ask"}
    assert {"Ask", "Denied", "Preview", "ToolLimits"} <= {*names}
    assert dir(headway.tools) == names
    assert not hasattr(headway.tools, "nothing")


LOADED_FIRST = """
import sys
for first in ("headway.tools.base", "headway.tools.executor", "headway.tools"):
    for name in [name for name in sys.modules if name.partition(".")[0] == "headway"]:
        del sys.modules[name]
    __import__(first)
    from headway.tools import tool
    print(tool.__name__)
"""


def test_the_decorator_is_not_hidden_by_the_module_of_its_name_whatever_is_loaded_first():
    assert printed(LOADED_FIRST) == ["tool", "tool", "tool"]


def test_the_type_of_an_asking_function_is_exported():
    async def ask(question: headway.tools.Question) -> headway.tools.Answer:
        return headway.tools.Answer("no")

    asking: headway.tools.Ask = ask
    assert headway.tools.Approvals(asking).mode is headway.tools.Mode.DEFAULT
    assert issubclass(headway.tools.Denied, headway.tools.ToolFault)
