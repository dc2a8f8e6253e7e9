"""`Value`: the base of small records that are not worth a dataclass.

Defining a dataclass takes ten times as long as a plain class, and a command pays for it at every start. What people
hold in their hands (items, plans, events) is a dataclass all the same.
"""

from __future__ import annotations


class Value:
    """Equal if of one class with equal slots."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and all(getattr(self, n) == getattr(other, n) for n in self.__slots__)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self.__slots__)})"
