"""Setting one value in a file: everything is checked first, and comments and order stay as they are."""

from __future__ import annotations

import os
from collections.abc import Callable, MutableMapping, Sequence
from enum import Enum
from typing import cast

from headway.core.errors import HeadwayError, SettingsError
from headway.core.text import shown, storable
from headway.settings.files import own_file, place, project_file, read_file, read_toml, write_file
from headway.settings.keys import KEYS, LOOKS_SECRET, Key, Kind, check, looks_secret, nearest, read_texts
from headway.settings.load import checked_file, is_right
from headway.store.folder import PRIVATE, make_private_folder, one_writer
from headway.store.foreign_files import OTHER_OWNER, explain_foreign


def key_for(name: str, texts: Sequence[str]) -> Key:
    """The setting of that name, if there is one and no secret is to be kept in it."""
    if any(looks_secret(text) for text in texts):
        raise SettingsError(f"{LOOKS_SECRET}.")
    if name not in KEYS:
        raise SettingsError(f"There is no setting '{shown(name)}'{nearest(name) or '; see: headway config show'}")
    return KEYS[name]


def set_in_project(project: str, name: str, texts: Sequence[str]) -> tuple[str, object]:
    """Sets a value in the project's file, or removes it; returns the file and the value as it is kept."""
    file = project_file(project)
    key, why = key_for(name, texts), explain_foreign(file)
    if why and texts and is_right(key.name, texts[0].strip()):
        raise SettingsError(f"'{name}' cannot be set in {place(file)}, because {why}; set it with --user instead.")
    others = {other: value for other, value in read_toml(read_file(file) or "", file).items() if other != key.name}
    if why == OTHER_OWNER and any(is_right(other, value) for other, value in others.items()):
        raise SettingsError(f"{place(file)} belongs to another user, whose settings would become yours; use --user.")
    return _set(file, name, texts, make_private_folder)


def set_for_user(name: str, texts: Sequence[str]) -> tuple[str, object]:
    """As `set_in_project`, in the user's own file."""
    return _set(own_file(), name, texts, lambda folder: os.makedirs(folder, PRIVATE, exist_ok=True))


def _set(file: str, name: str, texts: Sequence[str], make: Callable[[str], None]) -> tuple[str, object]:
    key = key_for(name, texts)
    removed = not texts and key.kind is not Kind.TEXTS
    value = None if removed else check(name, read_texts(key, [storable(text) for text in texts]))
    folder = os.path.dirname(file)
    if removed and not os.path.exists(file):
        return file, None
    try:
        make(folder)
        with one_writer(folder):
            write_file(file, _changed(read_file(file) or "", file, key, value))
    except HeadwayError:
        raise
    except BlockingIOError:
        raise SettingsError(f"Another process has locked {place(folder)}; try again.") from None
    except OSError as error:
        raise SettingsError(f"{place(file)} could not be written: {error.strerror}; make it writable.") from error
    return file, value


def _changed(text: str, file: str, key: Key, value: object) -> str:
    """The file's text with the new value, if all of it can be used then."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    there = read_toml(text, file)
    values = {name: old for name, old in there.items() if name != key.name}
    expected = checked_file(values if value is None else {**values, key.name: value}, file)
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
            table[inner or outer] = _written(value)
        changed = tomlkit.dumps(document)
        kept = checked_file(read_toml(changed, file), file) == expected
    except (TOMLKitError, SettingsError):
        kept = False
        changed = ""
    if not kept:
        raise SettingsError(f"{place(file)} cannot be changed without damaging the rest of the file; edit it by hand.")
    return changed


def _written(value: object) -> object:
    import tomlkit

    if isinstance(value, tuple):
        entries = tomlkit.array()
        cast(list[object], entries).extend(cast(tuple[object, ...], value))
        return entries.multiline(len(entries) > 1)
    return str(value) if isinstance(value, Enum) else value
