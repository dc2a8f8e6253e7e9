"""Every setting by its dotted key: the kind of value it takes, its name in the environment, the check of a value."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum, StrEnum, auto
from typing import get_args, get_origin

from pydantic import ValidationError

from headway.core.errors import SettingsError
from headway.core.rules import Fault, check_choice, check_text, check_texts, is_array
from headway.core.secret_marks import KEY_BEGINNINGS
from headway.core.secrets import redact
from headway.core.text import json_type_name, sanitize_for_display, trim_text
from headway.settings.model import Settings
from headway.tools.limits import Limits
from headway.tools.violations import list_violations

GROUP = "limits"
_SEPARATOR = re.compile(r"[;\n]")
_SECRET = re.compile(rf"(?:[\w-]+:)?(?:{'|'.join(map(re.escape, KEY_BEGINNINGS))})\S{{3}}")
LOOKS_SECRET = "Looks like a secret key; keys belong in the environment, where the provider's library reads them"


_UNUSABLE = "The setting is not valid; correct this:"


class Kind(Enum):
    TEXT = auto()
    CHOICE = auto()
    TEXTS = auto()
    WHOLE = auto()
    NUMBER = auto()


@dataclass(frozen=True)
class Key:
    name: str
    kind: Kind
    choices: tuple[str, ...] = ()
    """The closed set of values, where there is one."""

    @property
    def variable(self) -> str:
        return f"HEADWAY_{self.name.upper().replace('.', '_')}"

    @property
    def flag(self) -> str:
        return f"--{self.name.replace('.', '-').replace('_', '-')}"


def _make_key(name: str, annotation: object) -> Key:
    types = (annotation, *get_args(annotation))
    if get_origin(annotation) is tuple:
        return Key(name, Kind.TEXTS)
    if int in types or float in types:
        return Key(name, Kind.WHOLE if int in types else Kind.NUMBER)
    for kind in types:
        if isinstance(kind, type) and issubclass(kind, StrEnum):
            return Key(name, Kind.CHOICE, tuple(kind))
    return Key(name, Kind.TEXT)


KEYS: dict[str, Key] = {
    name: _make_key(name, field.annotation)
    for name, field in (
        *((name, field) for name, field in Settings.model_fields.items() if name != GROUP),
        *((f"{GROUP}.{name}", field) for name, field in Limits.model_fields.items()),
    )
}


def suggest_key(name: str) -> str:
    """`; did you mean 'x'?` if a setting is near, else nothing."""
    found = get_close_matches(name, KEYS, n=1, cutoff=0.6)
    return f"; did you mean '{found[0]}'?" if found else ""


def is_likely_secret(text: str) -> bool:
    # Addresses, paths and patterns may look like anything; logins in addresses are looked for where those are checked.
    plain = not any(char in text for char in "@/ ")
    return _SECRET.match(text.strip()) is not None or (plain and redact(text, {}) != text)


def to_nested(values: Mapping[str, object]) -> dict[str, object]:
    """Values by dotted key as the model takes them."""
    group = {name.partition(".")[2]: value for name, value in values.items() if "." in name}
    return {**{name: value for name, value in values.items() if "." not in name}, **({GROUP: group} if group else {})}


def get_value(settings: Settings, name: str) -> object:
    outer, _, inner = name.partition(".")
    return getattr(getattr(settings, outer), inner) if inner else getattr(settings, outer)


def parse_text(key: Key, text: str) -> object:
    """The value that a text stands for, as in a variable; what is no number stays text, for the check to name."""
    if key.kind is Kind.TEXTS:
        return [part for part in _SEPARATOR.split(text) if part.strip()]
    if key.kind in (Kind.WHOLE, Kind.NUMBER) and text.isascii():
        for number in (int, float):
            try:
                return number(text)
            except ValueError:  # also for more digits than Python reads
                continue
    return text


def check_value(name: str, value: object) -> object:
    """The value as the settings hold it. Raises `SettingsError` with all that is wrong with it."""
    key = KEYS.get(name)
    if key is None:
        secret = isinstance(value, str) and is_likely_secret(value)
        raise SettingsError(
            _UNUSABLE,
            [f"{sanitize_for_display(name)}: {LOOKS_SECRET if secret else f'Unknown setting{suggest_key(name)}'}"],
        )
    try:
        typed = _check_type(key, value)
        return get_value(Settings.model_validate(to_nested({name: typed})), name)
    except Fault as fault:
        raise SettingsError(_UNUSABLE, [f"{name}: {fault}"]) from None
    except ValidationError as error:
        raise SettingsError(_UNUSABLE, list_violations(error)) from None


def check_values(values: Mapping[str, object]) -> tuple[dict[str, object], list[str]]:
    """The values as the settings hold them, and everything that is wrong with the others, in the order given."""
    found: dict[str, object] = {}
    wrong: list[str] = []
    for name, value in values.items():
        try:
            found[name] = check_value(name, value)
        except SettingsError as error:
            wrong += error.violations
    return found, wrong


def _check_type(key: Key, value: object) -> object:
    """The value, if it is of the kind that the key takes; bounds and shapes are the model's matter."""
    if any(isinstance(text, str) and is_likely_secret(text) for text in (value if is_array(value) else [value])):
        raise Fault(LOOKS_SECRET)
    match key.kind:
        case Kind.CHOICE:
            return check_choice(value, {choice: choice for choice in key.choices}, key.choices)
        case Kind.TEXTS:
            return _check_texts(value)
        case Kind.WHOLE:
            return _check_whole(value)
        case Kind.NUMBER:
            return _check_number(value)
        case Kind.TEXT:
            text = check_text(value)
            if text is None:
                raise Fault("Must not be blank")
            return text


def _check_texts(value: object) -> tuple[str, ...]:
    if is_array(value) and any(isinstance(entry, str) and not trim_text(entry) for entry in value):
        raise Fault("Must not have blank entries")
    return check_texts(value)


def _check_whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise Fault(f"Expected whole number, received {_format_received(value)}")
    return value


def _check_number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Fault(f"Expected number, received {_format_received(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise Fault(f"Expected a finite number, received {sanitize_for_display(number)}")
    return number


def _format_received(value: object) -> str:
    if isinstance(value, str):
        return f"'{sanitize_for_display(value)}'"
    return sanitize_for_display(value) if isinstance(value, float) else json_type_name(value)


def parse_texts(key: Key, texts: Sequence[str]) -> object:
    """The value that the words of a command stand for: of a list each is an entry, else there is just one."""
    return list(texts) if key.kind is Kind.TEXTS else parse_text(key, texts[0])
