"""Fails when a function, class or module of `src` has a name that says neither what it does nor what it is."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_FUNCTIONS = """
allowed altered answered apart asked begun blocked bound broken brought built called changed checked chosen
claimed closed cut_off done dropped drawn ended entered expected fed filled finished followed found freed
gathered given gone handed heard held joined kept known laid learned left linked listed loaded made marked meant
meanwhile merged met moved named near needed noted numbered offered opened ordered owed own owned paid passed
picked placed plain printed put_in put_together read_out recorded refused related removed renamed resolved
rewritten said saved seen sent set_off settled shortened shown signed soon sorted spent spoken started stopped
taken told together touched tried turned typed undone used wanted watched weighed worded worked written
"""
FUNCTIONS = frozenset(_FUNCTIONS.split())
"""Participles and fragments of sentences. A verb says what a function does, a noun what it returns."""
_CLASSES = """
Ask Asker Asking Attention Calls Frame Given Heard How Kept Made Means Need Needs Paper Pen Place Said Seen
Shown Stuff Taken Thing Told Wanted Way What Where
"""
CLASSES = frozenset(_CLASSES.split())
_MODULES = """
apart asked calls closed common courier given heard helpers kept made manager misc near own plain said seen
shown soon taken told undisturbed util utils wanted
"""
MODULES = frozenset(_MODULES.split())
"""Modules are to say what is in them to someone who has never seen them."""


def list_bad_names(code: str, path: str) -> Iterator[str]:
    """Return a sentence for each banned name in a file."""
    stem = Path(path).stem
    if stem in MODULES:
        yield f"{path}: a module must not be called {stem!r}; name it after what is in it"
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            banned, advice = FUNCTIONS, "name what it does (a verb), or what it returns (a noun)"
        elif isinstance(node, ast.ClassDef):
            banned, advice = CLASSES, "name what it is"
        else:
            continue
        if node.name.strip("_") in banned:
            yield f"{path}:{node.lineno}: {node.name!r} is a banned name; {advice}"


def main() -> int:
    root = Path(__file__).resolve().parent.parent
    bad = [
        line
        for path in sorted((root / "src").rglob("*.py"))
        for line in list_bad_names(path.read_text(encoding="utf-8"), path.relative_to(root).as_posix())
    ]
    print("\n".join(bad) or "Names say what they are.")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
