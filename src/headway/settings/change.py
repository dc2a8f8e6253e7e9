"""Setting one value in a file: everything is checked first, and comments and order stay as they are."""

from __future__ import annotations

import os
from collections.abc import Callable, MutableMapping, Sequence
from enum import Enum
from typing import cast

from headway.core.errors import HeadwayError, SettingsError
from headway.core.text import sanitize_for_display, to_storable
from headway.settings.files import describe_place, parse_toml, project_file, read_file, require_user_file, write_file
from headway.settings.keys import KEYS, LOOKS_SECRET, Key, Kind, check_value, is_likely_secret, parse_texts, suggest_key
from headway.settings.load import check_file_values, explain_distrust, explain_how_to_yolo
from headway.settings.trust import is_trusted, rights_in, trust_texts
from headway.store.folder import PRIVATE, lock_folder, make_private_folder
from headway.tools.effects import Mode


def find_settable_key(name: str, texts: Sequence[str], program: str = "headway ") -> Key:
    """The setting of that name, if there is one and no secret is to be kept in it."""
    if any(is_likely_secret(text) for text in texts):
        raise SettingsError(f"{LOOKS_SECRET}.")
    if name not in KEYS:
        raise SettingsError(
            f"There is no setting '{sanitize_for_display(name)}'{suggest_key(name) or f'; see: {program}config show'}"
        )
    return KEYS[name]


def set_in_project(project: str, name: str, texts: Sequence[str], *, program: str = "headway ") -> tuple[str, object]:
    """Sets a value in the project's file, or removes it; returns the file and the value as it is kept."""
    file = project_file(project)
    key, value = _key_and_value(name, texts)
    if (key.name, value) == ("mode", Mode.YOLO):
        raise SettingsError(f"A project's settings cannot have yolo; {explain_how_to_yolo(program)}.")

    def is_ours(text: str) -> bool:
        """Return whether all else in the file is the user's word, or grants nothing; refuse to add to what is not."""
        others = {other: old for other, old in parse_toml(text, file).items() if other != key.name}
        if not rights_in(others) or is_trusted(file, text):
            return True
        if texts and rights_in({key.name: value}):
            raise SettingsError(
                f"'{name}' cannot be set in {describe_place(file)}, because the file "
                f"{explain_distrust(program)}: see what it would grant and "
                f"trust it with '{program}config trust', or use --user."
            )
        return False

    def change(text: str) -> None:
        changed = _change_text(text, file, key, value)
        grants = is_ours(text) and bool(rights_in(parse_toml(changed, file)))
        if grants:  # whoever reads meanwhile finds either text trusted
            trust_texts(file, *([text] if is_trusted(file, text) else []), changed)
        make_private_folder(os.path.dirname(file))
        write_file(file, changed)
        if grants:
            trust_texts(file, changed)

    return _set(file, value, make_private_folder, change)


def set_for_user(name: str, texts: Sequence[str]) -> tuple[str, object]:
    """As `set_in_project`, in the user's own file."""
    file = require_user_file()
    key, value = _key_and_value(name, texts)

    def change(text: str) -> None:
        write_file(file, _change_text(text, file, key, value))

    return _set(file, value, lambda folder: os.makedirs(folder, PRIVATE, exist_ok=True), change)


def _key_and_value(name: str, texts: Sequence[str]) -> tuple[Key, object]:
    """The setting and its new value; None if it is to be removed."""
    key = find_settable_key(name, texts)
    removed = not texts and key.kind is not Kind.TEXTS
    return key, None if removed else check_value(name, parse_texts(key, [to_storable(text) for text in texts]))


def _set(file: str, value: object, make: Callable[[str], None], change: Callable[[str], None]) -> tuple[str, object]:
    """Have the file changed by one process at a time; `change` is given its text."""
    folder = os.path.dirname(file)
    if value is None and not os.path.exists(file):
        return file, None
    try:
        if not os.path.isdir(folder):
            make(folder)
        with lock_folder(folder):
            change(read_file(file) or "")
    except HeadwayError:
        raise
    except BlockingIOError:
        raise SettingsError(f"Another process has locked {describe_place(folder)}; try again.") from None
    except OSError as error:
        raise SettingsError(
            f"{describe_place(file)} could not be written: {error.strerror}; make it writable."
        ) from error
    return file, value


def _change_text(text: str, file: str, key: Key, value: object) -> str:
    """The file's text with the new value, if all of it can be used then."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    there = parse_toml(text, file)
    values = {name: old for name, old in there.items() if name != key.name}
    expected = check_file_values(values if value is None else {**values, key.name: value}, file)
    if value is None and key.name not in there:
        return text
    outer, _, inner = key.name.partition(".")
    try:
        document = cast(MutableMapping[str, object], tomlkit.parse(text))
        if inner and outer not in document:
            document[outer] = tomlkit.table()
        table = cast(MutableMapping[str, object], document[outer]) if inner else document
        if value is None:
            table.pop(inner or outer, None)
        else:
            table[inner or outer] = _to_toml(value)
        changed = tomlkit.dumps(document)
        kept = check_file_values(parse_toml(changed, file), file) == expected
    except (TOMLKitError, SettingsError):
        kept = False
        changed = ""
    if not kept:
        raise SettingsError(
            f"{describe_place(file)} cannot be changed without damaging the rest of the file; edit it by hand."
        )
    return changed


def _to_toml(value: object) -> object:
    import tomlkit

    if isinstance(value, tuple):
        entries = tomlkit.array()
        cast(list[object], entries).extend(cast(tuple[object, ...], value))
        return entries.multiline(len(entries) > 1)
    return str(value) if isinstance(value, Enum) else value
