"""JSON from outside, read strictly: what is odd is refused or kept visible; nothing but `BadJson` is raised."""

from __future__ import annotations

import json
from functools import lru_cache

from headway.core.rules import DuplicateKeys
from headway.core.text import storable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


class BadJson(Exception):
    """The text is not JSON; the message says why, to go into a sentence."""


def read_json(text: str) -> object:
    """The value of a JSON text. NaN is refused; an object with a repeated key becomes `DuplicateKeys`."""
    try:
        return _decoded(text if text.isascii() else storable(text.removeprefix("\ufeff")))
    except json.JSONDecodeError as error:
        said = error.msg.removesuffix(" at")
        raise BadJson(f"{said[:1].lower()}{said[1:]} at line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise BadJson("it is nested too deeply") from None
    except ValueError:
        raise BadJson("it has a number with too many digits") from None


def look_at_json(text: str) -> object:
    """The same for those who only look at the value: the arguments of a call are looked at by several in turn."""
    return _looked_at(text) if len(text) < _SHORT else read_json(text)


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """The object; one in which a key came twice remembers it, so that the check can name it."""
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    odd = DuplicateKeys(found)
    seen: set[str] = set()
    odd.repeated = tuple(dict.fromkeys(key for key, _ in pairs if key in seen or seen.add(key)))
    return odd


def _refuse_constant(name: str) -> NoReturn:
    raise BadJson(f"{name} is not a JSON value")


_decoder = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_refuse_constant)


def _decoded(text: str) -> object:
    if text[:1] in _OPENING:  # as most are: nothing but the value itself
        value, end = _decoder.raw_decode(text)
        if end == len(text):
            return value
    return _decoder.decode(text)


_OPENING = ("{", "[")
_SHORT = 10_000
_looked_at = lru_cache(maxsize=8)(read_json)
