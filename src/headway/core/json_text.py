"""JSON from outside, read strictly: what is odd is refused or kept visible; nothing but `BadJson` is raised."""

from __future__ import annotations

import json

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
        return _decode(storable(text.removeprefix("\ufeff")))
    except json.JSONDecodeError as error:
        said = error.msg.removesuffix(" at")
        raise BadJson(f"{said[:1].lower()}{said[1:]} at line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise BadJson("it is nested too deeply") from None
    except ValueError:
        raise BadJson("it has a number with too many digits") from None


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
    raise BadJson(f"{name} is no JSON value")


_decode = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_refuse_constant).decode
