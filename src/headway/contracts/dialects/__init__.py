"""Dialects: the same list under the name and schema of a todo tool that models were trained on. One small module each.

A dialect that cannot say something leaves it as it is. Packages add their own under the entry-point group
`headway.dialects`.
"""

from __future__ import annotations

from importlib import import_module

from headway.contracts.dialects.dialect import Dialect
from headway.core.errors import HeadwayError
from headway.core.text import sanitize_for_display

__all__ = ["GROUP", "Dialect", "find_dialect", "list_dialects"]

GROUP = "headway.dialects"
"""Entry points of this group name a `Dialect` each."""
_OWN = ("claude", "claude-tasks", "gemini", "codex", "opencode", "qwen", "langchain", "kimi")


def list_dialects() -> list[str]:
    """Return the names of all dialects there are."""
    from importlib.metadata import entry_points

    return [*_OWN, *sorted({entry.name for entry in entry_points(group=GROUP)} - {*_OWN})]


def find_dialect(name: str) -> Dialect:
    """Return the dialect of this name."""
    if name in _OWN:
        found: object = import_module(f"{__name__}.{name.replace('-', '_')}").DIALECT
    else:
        found = _load_entry_point(name)
    assert isinstance(found, Dialect)
    return found


def _load_entry_point(name: str) -> object:
    from importlib.metadata import entry_points

    for entry in entry_points(group=GROUP, name=name):
        try:
            found: object = entry.load()
        except Exception as error:
            raise HeadwayError(
                f"The dialect '{sanitize_for_display(name)}' could not be loaded from {entry.value}: {error}"
            ) from error
        if isinstance(found, Dialect):
            return found
        raise HeadwayError(f"'{entry.value}' is not a dialect; it must name a headway.contracts.dialects.Dialect.")
    raise HeadwayError(
        f"There is no dialect '{sanitize_for_display(name)}'; choose from: {', '.join(list_dialects())}."
    )
