"""The modules of the core build on each other: also what is imported late leads down, and never back."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import headway.core

FOLDER = Path(headway.core.__path__[0])
NAMES = {path.stem for path in FOLDER.glob("*.py")}


def imported(node: ast.AST) -> Iterator[str]:
    """The modules of the core that are imported in a piece of code, but for type checkers only."""
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return
    if isinstance(node, ast.ImportFrom) and node.module == "headway.core":
        yield from (name.name for name in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("headway.core."):
        yield node.module.removeprefix("headway.core.")
    for child in ast.iter_child_nodes(node):
        yield from imported(child)


def test_no_cycle_of_imports_hides_behind_late_ones() -> None:
    code = {name: (FOLDER / f"{name}.py").read_text(encoding="utf-8") for name in NAMES}
    graph = {name: {*imported(ast.parse(text))} & NAMES for name, text in code.items()}
    assert {"evolve", "delta"} <= graph["decide"]
    graph["plans"].discard("plan_markdown")  # a plan has methods that write and read it as text,
    graph["events"].discard("codec")  # and an event one that writes it as JSON
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError(f"These import each other: {' → '.join(error.args[1])}") from None
