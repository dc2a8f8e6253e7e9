"""The settings that hold for a project: flags, over the environment, over the project's file, over the user's own.

Each layer is checked by itself, so that an error names the place to correct. Nothing is written here.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from headway.core.errors import SettingsError
from headway.core.text import sanitize_for_display, to_storable
from headway.settings.files import IN_PROJECT, describe_place, parse_toml, project_file, read_file, user_config_file
from headway.settings.keys import KEYS, check_values, parse_text, to_nested
from headway.settings.model import Settings
from headway.settings.trust import read_with_trust, rights_in
from headway.tools.effects import Mode

DEFAULT = "default"
_Values = dict[str, object]
_Layer = dict[str, tuple[object, str]]
"""Dotted key → value, and where it comes from."""


@dataclass(frozen=True)
class LoadedSettings:
    settings: Settings
    sources: Mapping[str, str]
    """Dotted key → where its value comes from."""
    notices: tuple[str, ...] = ()
    """Sentences for the person: what was not taken, and whether nothing is asked."""


def load_settings(
    project: str | os.PathLike[str],
    flags: Mapping[str, object] | None = None,
    environ: Mapping[str, str] | None = None,
    user_file: str | os.PathLike[str] | None = None,
    program: str = "headway ",
) -> LoadedSettings:
    """Return the settings of the project. Raises `SettingsError` with every fault.

    A flag that is None counts as not given. The notices name commands as they are typed: after
    `headway ` in a shell, after `/` in the terminal session.
    """
    environ = os.environ if environ is None else environ
    own = user_config_file() if user_file is None else os.fspath(user_file)
    notices: list[str] = []
    layers = (
        partial(_load_user_layer, own),
        partial(_load_project_layer, project_file(project), notices, program),
        partial(_load_environment_layer, environ),
        partial(_load_flags_layer, flags or {}),
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
        raise _join_errors(errors)
    settings = Settings.model_validate(to_nested(values))
    if kept := explain_kept_yolo(settings, sources, program):
        notices.append(kept)
    return LoadedSettings(settings, sources, tuple(notices))


def explain_how_to_yolo(program: str) -> str:
    once = "for one run with '--mode yolo'" if program == "headway " else f"until you leave with '{program}mode yolo'"
    return f"use it {once}, or keep it for all projects with '{program}mode yolo --user'"


def explain_distrust(program: str) -> str:
    return f"is not as '{program}config set' wrote it here"


def explain_kept_yolo(settings: Settings, sources: Mapping[str, str], program: str = "headway ") -> str | None:
    """Say that nothing is asked, where that was not chosen for this one run."""
    source = sources["mode"]
    if settings.mode != Mode.YOLO or source == _flag_source("mode"):
        return None
    how = "" if source.startswith("environment ") else f"; '{program}mode default --user' ends that"
    return f"The mode is yolo, so nothing is asked: it is set by {sanitize_for_display(source, 300)}{how}."


def _flag_source(name: str) -> str:
    return f"flag {KEYS[name].flag}"


def _join_errors(errors: list[SettingsError]) -> SettingsError:
    if len(errors) == 1:
        return errors[0]
    joined = SettingsError("\n".join(map(str, errors)))
    joined.violations = [line for error in errors for line in error.violations]
    return joined


def _file_values(file: str | None) -> _Values:
    """What the file sets, by dotted key; nothing if it is not there."""
    text = None if file is None else read_file(file)
    return {} if file is None or text is None else text_values(text, file)


def text_values(text: str, file: str) -> _Values:
    """What the text of a file sets, by dotted key."""
    return check_file_values(parse_toml(text, file), file)


def check_file_values(values: _Values, file: str) -> _Values:
    found, wrong = check_values(values)
    if wrong:
        raise SettingsError(f"{describe_place(file)} has invalid settings; correct the file:", wrong)
    return found


def _load_user_layer(file: str | None) -> _Layer:
    return {name: (value, file or "") for name, value in _file_values(file).items()}


def _load_project_layer(file: str, notices: list[str], program: str) -> _Layer:
    """What the project's file sets; no rights, unless this very text is the user's word."""
    text, is_ours = read_with_trust(file)
    values = text_values(text, file)
    if values.get("mode") == Mode.YOLO:
        del values["mode"]
        how = explain_how_to_yolo(program)
        notices.append(f"Ignored in {IN_PROJECT}: mode, because a project's settings cannot have yolo; {how}.")
    rights = rights_in(values)
    if rights and not is_ours:
        notices.append(
            f"Ignored in {IN_PROJECT}: {', '.join(rights)}, because the file {explain_distrust(program)} and a project "
            f"must not grant itself rights; see what it would grant and trust it with '{program}config trust'."
        )
        values = {name: value for name, value in values.items() if name not in rights}
    return {name: (value, IN_PROJECT) for name, value in values.items()}


def _load_environment_layer(environ: Mapping[str, str]) -> _Layer:
    texts = {name: environ.get(key.variable, "").strip() for name, key in KEYS.items()}
    values = {name: parse_text(KEYS[name], to_storable(text)) for name, text in texts.items() if text}
    found, wrong = check_values(values)
    if wrong:
        bad = ", ".join(KEYS[name].variable for name in values if name not in found)
        raise SettingsError(f"The environment has invalid settings; correct or unset {bad}:", wrong)
    return {name: (value, f"environment {KEYS[name].variable}") for name, value in found.items()}


def _load_flags_layer(flags: Mapping[str, object]) -> _Layer:
    found, wrong = check_values({name: value for name, value in flags.items() if value is not None})
    if wrong:
        raise SettingsError("The command has invalid settings; correct its flags:", wrong)
    return {name: (value, _flag_source(name)) for name, value in found.items()}
