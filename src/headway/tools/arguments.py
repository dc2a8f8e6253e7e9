"""What a model sent as a call's arguments: an object or its JSON, as values that can be checked and stored."""

from __future__ import annotations

from typing import Any, cast

from headway.core.json_text import BadJson, parse_json_cached
from headway.core.rules import DuplicateKeys
from headway.core.text import to_storable
from headway.tools.violations import format_path

TOO_DEEP = "it is nested too deeply"


def parse_arguments(arguments: object) -> tuple[object, list[str]]:
    """The arguments, and a fault for each key that came twice. Raises `BadJson`, whose text goes into a sentence."""
    if isinstance(arguments, str):
        arguments = parse_json_cached(arguments) if arguments.strip() else {}
    faults: list[str] = []
    try:
        return _clean({} if arguments is None else arguments, (), faults), faults
    except RecursionError:
        raise BadJson(TOO_DEEP) from None


def _clean(value: object, path: tuple[int | str, ...], faults: list[str]) -> object:
    """The value with lone surrogates replaced, which can be neither stored nor sent on."""
    if isinstance(value, str):
        return to_storable(value)
    if isinstance(value, list):
        return [_clean(part, (*path, at), faults) for at, part in enumerate(cast("list[object]", value))]
    if not isinstance(value, dict):
        return value
    if isinstance(value, DuplicateKeys):
        faults += [f"{format_path((*path, key))}: Duplicate field" for key in value.repeated]
    entries = cast("dict[Any, object]", value)
    return {_clean(key, path, faults): _clean(part, (*path, key), faults) for key, part in entries.items()}
