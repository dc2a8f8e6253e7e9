"""Imports that are written as strings go downward too, which import-linter does not see."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LAYERS: list[str] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
    "contracts"
][0]["layers"]
HEIGHTS = {
    name.strip(" ()"): height for height, layer in enumerate(reversed(LAYERS)) for name in re.split(r"[:|]", layer)
}


def find_upward_strings(module: str, code: str) -> Iterator[tuple[str, str]]:
    """Names of modules above this one that are written as strings in its code."""
    own = HEIGHTS[".".join(module.split(".")[:2])]
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            layer = re.match(r"headway\.\w+(?=[\w.]*$)", node.value)
            if layer is not None and HEIGHTS.get(layer[0], -1) > own:
                yield module, node.value


def test_no_module_names_one_above_it_as_a_string() -> None:
    source = ROOT / "src"
    modules = {
        ".".join(file.relative_to(source).with_suffix("").parts): file.read_text(encoding="utf-8")
        for file in (source / "headway").rglob("*.py")
        if file.parent != source / "headway" or f"headway.{file.stem}" in HEIGHTS
    }
    assert len(modules) > 300
    assert [found for module, code in modules.items() for found in find_upward_strings(module, code)] == []
    upward = 'importlib.import_module("headway.repl.main")'
    assert [*find_upward_strings("headway.cli.app", upward)] == [("headway.cli.app", "headway.repl.main")]
