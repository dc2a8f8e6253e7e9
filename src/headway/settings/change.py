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
from headway.settings.load import HOW_TO_YOLO, NOT_YOURS, checked_file
from headway.settings.trust import is_trusted, rights_in, trust_texts
from headway.store.folder import PRIVATE, make_private_folder, one_writer
from headway.tools.effects import Mode


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
    key, value = _key_and_value(name, texts)
    if (key.name, value) == ("mode", Mode.YOLO):
        raise SettingsError(f"A project's settings cannot have yolo; {HOW_TO_YOLO}.")

    def is_ours(text: str) -> bool:
        """Return whether all else in the file is the user's word, or grants nothing; refuse to add to what is not."""
        others = {other: old for other, old in read_toml(text, file).items() if other != key.name}
        if not rights_in(others) or is_trusted(file, text):
            return True
        if texts and rights_in({key.name: value}):
            raise SettingsError(
                f"'{name}' cannot be set in {place(file)}, because the file {NOT_YOURS}: see what it would grant and "
                "trust it with 'headway config trust', or use --user."
            )
        return False

    def change(text: str) -> None:
        changed = _changed(text, file, key, value)
        grants = is_ours(text) and bool(rights_in(read_toml(changed, file)))
        if grants:  # whoever reads meanwhile finds either text trusted
            trust_texts(file, *([text] if is_trusted(file, text) else []), changed)
        make_private_folder(os.path.dirname(file))
        write_file(file, changed)
        if grants:
            trust_texts(file, changed)

    return _set(file, value, make_private_folder, change)


def set_for_user(name: str, texts: Sequence[str]) -> tuple[str, object]:
    """As `set_in_project`, in the user's own file."""
    file = own_file()
    key, value = _key_and_value(name, texts)

    def change(text: str) -> None:
        write_file(file, _changed(text, file, key, value))

    return _set(file, value, lambda folder: os.makedirs(folder, PRIVATE, exist_ok=True), change)


def _key_and_value(name: str, texts: Sequence[str]) -> tuple[Key, object]:
    """The setting and its new value; None if it is to be removed."""
    key = key_for(name, texts)
    removed = not texts and key.kind is not Kind.TEXTS
    return key, None if removed else check(name, read_texts(key, [storable(text) for text in texts]))


def _set(file: str, value: object, make: Callable[[str], None], change: Callable[[str], None]) -> tuple[str, object]:
    """Have the file changed by one process at a time; `change` is given its text."""
    folder = os.path.dirname(file)
    if value is None and not os.path.exists(file):
        return file, None
    try:
        if not os.path.isdir(folder):
            make(folder)
        with one_writer(folder):
            change(read_file(file) or "")
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
