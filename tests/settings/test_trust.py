"""A project's file that may be someone else's word sets nothing but what can do no harm; real links, owners and git."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from tests.support.tables import check_rows

from headway.core.errors import SettingsError
from headway.settings import Settings, load_settings
from headway.settings.change import set_for_user, set_in_project
from headway.settings.keys import KEYS, value_of
from headway.settings.model import HARMLESS

from .conftest import Write, git
from .samples import texts, written

SOMEONE = 65534
VALUES: dict[str, object] = {
    "model": "a:b",
    "base_url": "http://evil.org",
    "mode": "yolo",
    "allow": ["bash"],
    "hosts": ["evil.org"],
    "private_hosts": ["localhost"],
    "env": ["TOKEN"],
    "sandbox": "off",
    "sandbox_read": ["/srv"],
    "web_search": "searxng:http://evil.org",
    "tracking": "manual",
    "todo_tools": "plan",
    "parallel": 2,
    "linked": ["build"],
    "checkpoint_exclude": ["*.sqlite"],
    "ask_before_editing": ["*.sql"],
    "checkpoint_max_file_mb": 5,
    "keep_executions": 3,
    "keep_days": 3,
    "verify": "make test",
    "verify_tries": 1,
    "max_rounds": 3,
    "max_cost": 5,
    "max_tokens": 6,
    "context_window": 5_000,
    "reply_tokens": 500,
    "temperature": 0.5,
    "thinking": "low",
    "inject": "tool",
    "remind_after": 3,
    "max_nudges": 1,
    "retries": 1,
    "limits.output_chars": 2_000,
    "limits.kept_bytes": 0,
    "limits.outputs_bytes": 0,
    "limits.file_bytes": 2_000,
    "limits.read_lines": 20,
    "limits.results": 5,
    "limits.search_seconds": 1,
    "limits.bash_seconds": 1,
    "limits.bash_seconds_max": 2,
    "limits.fetch_bytes": 2_000,
    "limits.fetch_seconds": 1,
}
"""Of every setting a value that is not its default."""


def tracked(folder: Path) -> None:
    git(folder, "init")
    git(folder, "add", "-f", ".headway/config.toml")


def linked_file(folder: Path) -> None:
    (folder / ".headway/config.toml").rename(folder / "shared.toml")
    (folder / ".headway/config.toml").symlink_to("../shared.toml")


def linked_file_beside_it(folder: Path) -> None:
    (folder / ".headway/config.toml").rename(folder / ".headway/other.toml")
    (folder / ".headway/config.toml").symlink_to("other.toml")


def linked_folder(folder: Path) -> None:
    (folder / ".headway").rename(folder / "stuff")
    (folder / ".headway").symlink_to("stuff")


def owned_file(folder: Path) -> None:
    os.chown(folder / ".headway/config.toml", SOMEONE, SOMEONE)


def owned_folder(folder: Path) -> None:
    os.chown(folder / ".headway", SOMEONE, SOMEONE)


Suspicion = Callable[[Path], None]
only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a file away")
LINK, OWNER, GIT = "the file is reached through a link", "another user owns the file", "git tracks the file"
SUSPICIOUS = [
    pytest.param(tracked, GIT, id="tracked"),
    pytest.param(linked_file, LINK, id="linked file"),
    pytest.param(linked_file_beside_it, LINK, id="linked file beside it"),
    pytest.param(linked_folder, LINK, id="linked folder"),
    pytest.param(owned_file, OWNER, marks=only_root, id="another's file"),
    pytest.param(owned_folder, OWNER, marks=only_root, id="another's folder"),
]
suspicious = pytest.mark.parametrize(("suspect", "why"), SUSPICIOUS)


def test_the_harmless_settings_are_these_three() -> None:
    assert sorted(HARMLESS) == ["model", "todo_tools", "tracking"]
    assert set(VALUES) == set(KEYS), "every setting is tried below"


@suspicious
def test_only_what_is_harmless_is_taken_and_the_rest_is_named(
    folder: Path, in_project: Write, suspect: Suspicion, why: str
) -> None:
    in_project(written(VALUES))
    loaded = load_settings(folder, environ={})
    assert not [name for name in KEYS if value_of(loaded.settings, name) == value_of(Settings(), name)]
    suspect(folder)
    loaded = load_settings(folder, environ={})
    assert loaded.settings == Settings.model_validate({name: VALUES[name] for name in HARMLESS})
    assert {name for name, source in loaded.sources.items() if source != "default"} == HARMLESS
    ignored = ", ".join(name for name in VALUES if name not in HARMLESS)
    assert loaded.notices == (
        f"Ignored in .headway/config.toml: {ignored}, because {why} and a project must not grant itself rights;"
        " set them in your own config file with 'headway config set --user …'.",
    )


@suspicious
@pytest.mark.parametrize("script", ["scripted:script.json", "  scripted:my script.json"])
def test_a_script_is_not_taken_as_the_model(
    folder: Path, in_project: Write, for_user: Write, suspect: Suspicion, why: str, script: str
) -> None:
    in_project(f'model = "{script}"\ntracking = "manual"\n')
    assert load_settings(folder, environ={}).settings.model == script.strip()
    suspect(folder)
    loaded = load_settings(folder, environ={})
    assert (loaded.settings.model, loaded.settings.tracking) == (None, "manual")
    assert loaded.notices[0].startswith(f"Ignored in .headway/config.toml: model, because {why} and ")
    for_user('model = "scripted:mine.json"\n')
    assert load_settings(folder, environ={}).settings.model == "scripted:mine.json"


@suspicious
def test_a_file_with_nothing_but_harmless_settings_gives_no_notice(
    folder: Path, in_project: Write, suspect: Suspicion, why: str
) -> None:
    in_project(written({name: VALUES[name] for name in sorted(HARMLESS)}))
    suspect(folder)
    assert load_settings(folder, environ={}).notices == (), why


@suspicious
def test_what_is_ignored_is_still_taken_from_the_users_own_places(
    folder: Path, in_project: Write, for_user: Write, suspect: Suspicion, why: str
) -> None:
    in_project('mode = "yolo"\nallow = ["bash"]\nparallel = 9\n')
    for_user('mode = "auto_edit"\n')
    suspect(folder)
    settings = load_settings(folder, {"parallel": 3}, {"HEADWAY_ALLOW": "bash: make *"}).settings
    assert (settings.mode, settings.allow, settings.parallel) == ("auto_edit", ("bash: make *",), 3), why


@suspicious
def test_the_users_own_file_may_be_tracked_and_linked(
    folder: Path, home: Path, in_project: Write, for_user: Write, suspect: Suspicion, why: str
) -> None:
    in_project("")
    suspect(folder)
    file = for_user('mode = "yolo"\n')
    file.rename(home / "dotfiles.toml")
    file.symlink_to(home / "dotfiles.toml")
    git(home, "init")
    git(home, "add", ".")
    loaded = load_settings(folder, environ={})
    assert (loaded.settings.mode, loaded.notices) == ("yolo", ()), why


@suspicious
def test_setting_what_would_be_ignored_is_refused_and_changes_nothing(
    folder: Path, in_project: Write, suspect: Suspicion, why: str
) -> None:
    before = in_project("# theirs\n").read_bytes()
    suspect(folder)
    file = folder / ".headway/config.toml"
    there = {path: path.lstat().st_mtime_ns for path in folder.rglob("*")}

    def is_refused(name: str) -> None:
        words = [found] if isinstance(found := texts(VALUES[name]), str) else found
        with pytest.raises(SettingsError) as caught:
            set_in_project(str(folder), name, words)
        assert str(caught.value) == f"'{name}' cannot be set in '{file}', because {why}; set it with --user instead."
        assert file.read_bytes() == before
        assert {path: path.lstat().st_mtime_ns for path in folder.rglob("*")} == there
        of_user, _ = set_for_user(name, words)
        assert load_settings(folder, environ={}).sources[name] != "default"
        Path(of_user).unlink()

    check_rows([name for name in KEYS if name not in HARMLESS], is_refused)


@suspicious
def test_a_script_as_the_model_is_refused_as_well(
    folder: Path, in_project: Write, suspect: Suspicion, why: str
) -> None:
    in_project("# theirs\n")
    suspect(folder)
    with pytest.raises(SettingsError, match=f"'model' cannot be set in .*, because {why}; set it with --user instead"):
        set_in_project(str(folder), "model", ["scripted:script.json"])
    assert (folder / ".headway/config.toml").read_text(encoding="utf-8") == "# theirs\n"


@suspicious
@pytest.mark.parametrize("name", sorted(HARMLESS))
def test_what_is_harmless_can_be_set_there(
    folder: Path, in_project: Write, suspect: Suspicion, why: str, name: str
) -> None:
    in_project("# theirs\n")
    suspect(folder)
    set_in_project(str(folder), name, [str(VALUES[name])])
    text = f'# theirs\n{name} = "{VALUES[name]}"\n'
    assert (folder / ".headway/config.toml").read_text(encoding="utf-8") == text, why
    loaded = load_settings(folder, environ={})
    assert (value_of(loaded.settings, name), loaded.sources[name]) == (VALUES[name], ".headway/config.toml")


@suspicious
def test_what_is_ignored_can_be_removed_there(folder: Path, in_project: Write, suspect: Suspicion, why: str) -> None:
    in_project('# theirs\nmode = "yolo"\n')
    suspect(folder)
    set_in_project(str(folder), "mode", [])
    assert (folder / ".headway/config.toml").read_text(encoding="utf-8") == "# theirs\n", why
    assert load_settings(folder, environ={}).notices == ()


@pytest.mark.parametrize(
    "suspect",
    [
        tracked,
        linked_file,
        linked_folder,
        pytest.param(
            owned_file,
            marks=only_root,
        ),
        pytest.param(owned_folder, marks=only_root),
    ],
)
@pytest.mark.parametrize(("name", "words"), [("tracking", ["manual"]), ("model", [])])
def test_writing_the_file_anew_gives_no_rights_to_what_was_ignored_in_it(
    folder: Path, in_project: Write, suspect: Suspicion, name: str, words: list[str]
) -> None:
    in_project('model = "a:b"\nmode = "yolo"\n')
    suspect(folder)
    with suppress(SettingsError):
        set_in_project(str(folder), name, words)
    assert load_settings(folder, environ={}).settings.mode == "default"


def gone_but_tracked(folder: Path) -> None:
    tracked(folder)
    (folder / ".headway/config.toml").unlink()


def linked_folder_without_a_file(folder: Path) -> None:
    (folder / ".headway/config.toml").unlink()
    linked_folder(folder)


def linked_file_to_nothing(folder: Path) -> None:
    linked_file(folder)
    (folder / "shared.toml").unlink()


@pytest.mark.parametrize("suspect", [gone_but_tracked, linked_folder_without_a_file, linked_file_to_nothing])
def test_a_file_that_would_be_ignored_once_it_is_there_is_not_begun(
    folder: Path, in_project: Write, suspect: Suspicion
) -> None:
    in_project("")
    suspect(folder)
    with pytest.raises(SettingsError, match="set it with --user instead"):
        set_in_project(str(folder), "mode", ["yolo"])
