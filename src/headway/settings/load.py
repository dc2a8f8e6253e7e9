"""The settings that hold for a project: flags, over the environment, over the project's file, over the user's own.

Each layer is checked by itself, so that an error names the place to correct. Nothing is written here.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from headway.core.errors import SettingsError
from headway.core.text import storable
from headway.settings.files import IN_PROJECT, place, project_file, read_file, read_toml, user_config_file
from headway.settings.keys import KEYS, check_all, nested, read_text
from headway.settings.model import HARMLESS, Settings
from headway.store.foreign_files import explain_foreign

DEFAULT = "default"
_Values = dict[str, object]
_Layer = dict[str, tuple[object, str]]
"""Dotted key → value, and where it comes from."""


@dataclass(frozen=True)
class Loaded:
    settings: Settings
    sources: Mapping[str, str]
    """Dotted key → where its value comes from."""
    notices: tuple[str, ...] = ()
    """Sentences for the person, about what was not taken."""


def load_settings(
    project: str | os.PathLike[str],
    flags: Mapping[str, object] | None = None,
    environ: Mapping[str, str] | None = None,
    user_file: str | os.PathLike[str] | None = None,
) -> Loaded:
    """The settings of the project. A flag that is None counts as not given. Raises `SettingsError` with every fault."""
    environ = os.environ if environ is None else environ
    own = user_config_file() if user_file is None else os.fspath(user_file)
    notices: list[str] = []
    layers = (
        partial(_of_user, own),
        partial(_of_project, project_file(project), notices),
        partial(_of_environment, environ),
        partial(_of_flags, flags or {}),
    )
    values: _Values = {}
    sources = dict.fromkeys(KEYS, DEFAULT)
    errors: list[SettingsError] = []
    for layer in layers:
        try:
            found = layer()
        except SettingsError as error:
            errors.append(error)
            continue
        values |= {name: value for name, (value, _) in found.items()}
        sources |= {name: source for name, (_, source) in found.items()}
    if errors:
        raise _joined(errors)
    return Loaded(Settings.model_validate(nested(values)), sources, tuple(notices))


def _joined(errors: list[SettingsError]) -> SettingsError:
    if len(errors) == 1:
        return errors[0]
    joined = SettingsError("\n".join(map(str, errors)))
    joined.violations = [line for error in errors for line in error.violations]
    return joined


def file_values(file: str | None) -> _Values:
    """What the file sets, by dotted key; nothing if it is not there."""
    text = None if file is None else read_file(file)
    return {} if file is None or text is None else checked_file(read_toml(text, file), file)


def checked_file(values: _Values, file: str) -> _Values:
    found, wrong = check_all(values)
    if wrong:
        raise SettingsError(f"{place(file)} has invalid settings; correct the file:", wrong)
    return found


def _of_user(file: str | None) -> _Layer:
    return {name: (value, file or "") for name, value in file_values(file).items()}


def _of_project(file: str, notices: list[str]) -> _Layer:
    """What the project's file sets; no rights, if the file may have come with the project."""
    values = file_values(file)
    rights = [name for name, value in values.items() if is_right(name, value)]
    if rights and (why := explain_foreign(file)):
        notices.append(
            f"Ignored in {IN_PROJECT}: {', '.join(rights)}, because {why} and a project must not grant itself "
            "rights; set them in your own config file with 'headway config set --user …'."
        )
        values = {name: value for name, value in values.items() if name not in rights}
    return {name: (value, IN_PROJECT) for name, value in values.items()}


def is_right(name: str, value: object) -> bool:
    """Whether a setting is only taken from the user; a script as a model would be the project's own words."""
    return name not in HARMLESS or str(value).startswith("scripted:")


def _of_environment(environ: Mapping[str, str]) -> _Layer:
    texts = {name: environ.get(key.variable, "").strip() for name, key in KEYS.items()}
    values = {name: read_text(KEYS[name], storable(text)) for name, text in texts.items() if text}
    found, wrong = check_all(values)
    if wrong:
        bad = ", ".join(KEYS[name].variable for name in values if name not in found)
        raise SettingsError(f"The environment has invalid settings; correct or unset {bad}:", wrong)
    return {name: (value, f"environment {KEYS[name].variable}") for name, value in found.items()}


def _of_flags(flags: Mapping[str, object]) -> _Layer:
    found, wrong = check_all({name: value for name, value in flags.items() if value is not None})
    if wrong:
        raise SettingsError("The command has invalid settings; correct its flags:", wrong)
    return {name: (value, f"flag {KEYS[name].flag}") for name, value in found.items()}
