"""`Value`: the base of small records that are not worth a dataclass.

Defining a dataclass takes ten times as long as a plain class, and a command pays for it at every start. What people
hold in their hands (items, plans, events) is a dataclass all the same.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar


class Value:
    """Equal if of one class with equal slots."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and all(getattr(self, n) == getattr(other, n) for n in self.__slots__)

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self.__slots__)})"


def to_fields(record: Any) -> dict[str, object]:
    """Return the fields of a dataclass by name, with their values as they are."""
    return {name: getattr(record, name) for name in record.__dataclass_fields__}
