"""What a model sent as a call's arguments: an object or its JSON, as values that can be checked and stored."""

from __future__ import annotations

from typing import Any, cast

from headway.core.json_text import BadJson, look_at_json
from headway.core.rules import DuplicateKeys
from headway.core.text import storable
from headway.tools.violations import path_text

TOO_DEEP = "it is nested too deeply"


def read_arguments(arguments: object) -> tuple[object, list[str]]:
    """The arguments, and a fault for each key that came twice. Raises `BadJson`, whose text goes into a sentence."""
    if isinstance(arguments, str):
        arguments = look_at_json(arguments) if arguments.strip() else {}
    faults: list[str] = []
    try:
        return _cleaned({} if arguments is None else arguments, (), faults), faults
    except RecursionError:
        raise BadJson(TOO_DEEP) from None


def _cleaned(value: object, path: tuple[int | str, ...], faults: list[str]) -> object:
    """The value with lone surrogates replaced, which can be neither stored nor sent on."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list):
        return [_cleaned(part, (*path, at), faults) for at, part in enumerate(cast("list[object]", value))]
    if not isinstance(value, dict):
        return value
    if isinstance(value, DuplicateKeys):
        faults += [f"{path_text((*path, key))}: Duplicate field" for key in value.repeated]
    entries = cast("dict[Any, object]", value)
    return {_cleaned(key, path, faults): _cleaned(part, (*path, key), faults) for key, part in entries.items()}
