"""Every error is in the tree, in the docs, and has a code of its own."""

from __future__ import annotations

import ast
from pathlib import Path

import headway
from headway.core import errors

ROOT = Path(errors.__file__).parents[1]
DOCS = ROOT.parents[1] / "docs" / "python.md"


def _find_errors() -> dict[str, ast.ClassDef]:
    """Return every class of the source that is a `HeadwayError`, by name."""
    classes = [
        node
        for path in sorted(ROOT.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ClassDef)
    ]
    found: dict[str, ast.ClassDef] = {}
    while more := [
        node
        for node in classes
        if node.name not in found
        and any(ast.unparse(base).split(".")[-1] in {"HeadwayError", *found} for base in node.bases)
    ]:
        found |= {node.name: node for node in more}
    return {name: node for name, node in found.items() if not name.startswith("_")}


def _find_code(node: ast.ClassDef) -> str:
    (code,) = [
        ast.literal_eval(part.value)
        for part in node.body
        if isinstance(part, ast.Assign) and ast.unparse(part.targets[0]) == "code"
    ]
    return code


def test_every_error_is_in_the_tree_and_in_the_docs_with_its_code() -> None:
    tree, docs = str(errors.__doc__), DOCS.read_text("utf-8")
    found = _find_errors()
    assert len(found) > 30
    assert [name for name in found if f"── {name} " not in tree] == []
    assert [name for name, node in found.items() if f"| `{name}` | `{_find_code(node)}` |" not in docs] == []
    assert len({_find_code(node) for node in found.values()}) == len(found)


def test_every_error_of_the_core_is_exported_at_the_root() -> None:
    own = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.HeadwayError)]
    names = [kind.__name__ for kind in own if not kind.__name__.startswith("_")]
    assert [name for name in names if getattr(headway, name, None) is None] == []
