"""JSON from outside, read strictly: what is odd is refused or kept visible; nothing but `BadJson` is raised."""

from __future__ import annotations

import json

from headway.core.rules import DuplicateKeys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


class BadJson(ValueError):
    """The text is not JSON."""


def read_json(text: str) -> object:
    """The value of a JSON text. NaN is refused; an object with a repeated key becomes `DuplicateKeys`."""
    try:
        return json.loads(text.removeprefix("\ufeff"), object_pairs_hook=_object, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise BadJson(str(error)) from None


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    odd = DuplicateKeys(found)
    seen: set[str] = set()
    odd.repeated = tuple(dict.fromkeys(key for key, _ in pairs if key in seen or seen.add(key)))
    return odd


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
