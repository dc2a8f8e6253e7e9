"""`Value`: the base of small records that are not worth a dataclass; and quick ways with those that are.

Defining a dataclass takes ten times as long as a plain class, and a command pays for it at every start. What people
hold in their hands (items, plans, events) is a dataclass all the same.
"""

from __future__ import annotations

from operator import attrgetter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    T = TypeVar("T")


class Value:
    """Equal if of one class with equal slots."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and all(getattr(self, n) == getattr(other, n) for n in self.__slots__)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self.__slots__)})"


def copied(record: T, **fields: object) -> T:
    """As `dataclasses.replace`, several times as fast: for frozen dataclasses without slots, which are made often."""
    copy = object.__new__(type(record))
    object.__setattr__(copy, "__dict__", record.__dict__ | fields)
    return copy


def fields_of(record: object) -> dict[str, object]:
    """The fields of a dataclass by name, with their values as they are."""
    names, read = _readers.get(type(record)) or _reader_of(record)
    return dict(zip(names, read(record), strict=False))


_readers: dict[type, tuple[list[str], Callable[[object], tuple[object, ...]]]] = {}


def _reader_of(record: Any) -> tuple[list[str], Callable[[object], tuple[object, ...]]]:
    names = list[str](record.__dataclass_fields__)
    # One more than the names, since it would read a single one as itself.
    reader = _readers[record.__class__] = (names, attrgetter(*names, "__class__"))
    return reader
