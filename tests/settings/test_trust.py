"""A project's settings file grants rights only as the user wrote or trusted it, however it got there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.tables import check_rows

from headway.core.errors import HeadwayError, SettingsError
from headway.settings import Settings, load_settings
from headway.settings.change import set_for_user, set_in_project
from headway.settings.keys import KEYS, get_value
from headway.settings.model import HARMLESS

from .conftest import Write, git
from .samples import texts, written

SOMEONE = 65534
VALUES: dict[str, object] = {
    "model": "a:b",
    "base_url": "http://evil.org",
    "mode": "auto_edit",
    "allow": ["bash"],
    "hosts": ["evil.org"],
    "private_hosts": ["localhost"],
    "env": ["TOKEN"],
    "sandbox": "off",
    "sandbox_read": ["/srv"],
    "web_search": "searxng:http://evil.org",
    "tracking": "manual",
    "todo_tools": "plan",
    "dialect": "gemini",
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


WHY = "the file is not as 'headway config set' wrote it here"


def config(folder: Path) -> Path:
    return folder / ".headway/config.toml"


def words_for(name: str) -> list[str]:
    return [found] if isinstance(found := texts(VALUES[name]), str) else list(found)


# how a file that grants everything may get into a project; in the folder where it was written it is trusted


def by_archive(folder: Path, target: Path) -> None:
    shutil.make_archive(str(target.parent / "project"), "tar", folder)
    shutil.unpack_archive(str(target.parent / "project.tar"), target)


def by_clone(folder: Path, target: Path) -> None:
    git(folder, "init")
    git(folder, "add", "-f", ".headway")
    git(folder, "commit", "-m", "A")
    git(target.parent, "clone", str(folder), str(target))


def by_clone_and_out_of_the_index(folder: Path, target: Path) -> None:
    by_clone(folder, target)
    git(target, "rm", "--cached", "-r", ".headway")


def by_bare_repository(folder: Path, target: Path) -> None:
    by_clone(folder, target)
    shutil.rmtree(target / ".git")
    git(target.parent, "clone", "--bare", str(folder), "bare")
    git(target.parent / "bare", "config", "core.bare", "false")
    git(target.parent / "bare", "config", "core.worktree", str(target))


def by_hand_edit(folder: Path, target: Path) -> None:
    set_in_project(str(target), "parallel", ["2"])
    config(target).write_bytes(config(folder).read_bytes())


def by_another_user(folder: Path, target: Path) -> None:
    by_archive(folder, target)
    os.chown(config(target), SOMEONE, SOMEONE)


WAYS = [
    by_archive,
    by_clone,
    by_clone_and_out_of_the_index,
    by_bare_repository,
    by_hand_edit,
    pytest.param(by_another_user, marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a file away")),
]
Way = Callable[[Path, Path], None]


@pytest.fixture
def foreign(folder: Path, in_project: Write) -> Path:
    """A project with a file that nobody has trusted there."""
    text = written(VALUES)
    target = folder.parent / "foreign"
    (target / ".headway").mkdir(parents=True)
    config(target).write_text(text, encoding="utf-8")
    return target


def test_the_harmless_settings_are_these_three() -> None:
    assert sorted(HARMLESS) == ["model", "todo_tools", "tracking"]
    assert set(VALUES) == set(KEYS), "every setting is tried below"


@pytest.mark.parametrize("way", WAYS)
def test_only_what_is_harmless_is_taken_and_the_rest_is_named(folder: Path, in_project: Write, way: Way) -> None:
    in_project(written(VALUES))
    loaded = load_settings(folder, environ={})
    assert not [name for name in KEYS if get_value(loaded.settings, name) == get_value(Settings(), name)]
    assert loaded.notices == ()
    target = folder.parent / "target"
    target.mkdir()
    way(folder, target)
    loaded = load_settings(target, environ={})
    assert loaded.settings == Settings.model_validate({name: VALUES[name] for name in HARMLESS})
    assert {name for name, source in loaded.sources.items() if source != "default"} == HARMLESS
    ignored = ", ".join(name for name in VALUES if name not in HARMLESS)
    assert loaded.notices == (
        f"Ignored in .headway/config.toml: {ignored}, because {WHY} and a project must not grant itself rights;"
        " see what it would grant and trust it with 'headway config trust'.",
    )
    assert not load_settings(folder, environ={}).notices, "the user's own stays trusted, tracked or not"


def test_what_was_set_is_trusted_in_a_tracked_file_too_until_it_is_pulled_anew(folder: Path) -> None:
    git(folder, "init")
    set_in_project(str(folder), "parallel", ["2"])
    git(folder, "add", "-f", ".headway/config.toml")
    set_in_project(str(folder), "allow", ["bash: make test"])
    assert load_settings(folder, environ={}).settings.allow == ("bash: make test",)
    with config(folder).open("a", encoding="utf-8") as file:
        file.write('hosts = ["evil.org"]\n')
    assert load_settings(folder, environ={}).settings.allow == ()


def test_the_text_of_another_project_is_not_trusted_here(folder: Path, in_project: Write, foreign: Path) -> None:
    in_project(written(VALUES))
    assert config(foreign).read_bytes() == config(folder).read_bytes()
    assert load_settings(foreign, environ={}).settings.allow == ()


def test_what_was_trusted_once_and_changed_since_is_not_trusted(folder: Path) -> None:
    set_in_project(str(folder), "allow", ["bash"])
    before = config(folder).read_bytes()
    set_in_project(str(folder), "allow", [])
    config(folder).write_bytes(before)
    assert load_settings(folder, environ={}).settings.allow == ()


@pytest.mark.parametrize("script", ["scripted:script.json", "  scripted:my script.json"])
def test_a_script_is_not_taken_as_the_model(folder: Path, in_project: Write, for_user: Write, script: str) -> None:
    file = in_project(f'model = "{script}"\ntracking = "manual"\n')
    assert load_settings(folder, environ={}).settings.model == script.strip()
    file.write_text(f'model = "{script}"\ntracking = "manual"\n# edited\n', encoding="utf-8")
    loaded = load_settings(folder, environ={})
    assert (loaded.settings.model, loaded.settings.tracking) == (None, "manual")
    assert loaded.notices[0].startswith(f"Ignored in .headway/config.toml: model, because {WHY} and ")
    for_user('model = "scripted:mine.json"\n')
    assert load_settings(folder, environ={}).settings.model == "scripted:mine.json"


def test_a_file_with_nothing_but_harmless_settings_gives_no_notice(folder: Path) -> None:
    config(folder).write_text(written({name: VALUES[name] for name in sorted(HARMLESS)}), encoding="utf-8")
    assert load_settings(folder, environ={}).notices == ()


def test_what_is_ignored_is_still_taken_from_the_users_own_places(foreign: Path, for_user: Write) -> None:
    for_user('mode = "default"\n')
    settings = load_settings(foreign, {"parallel": 3}, {"HEADWAY_ALLOW": "bash: make *"}).settings
    assert (settings.mode, settings.allow, settings.parallel) == ("default", ("bash: make *",), 3)


def test_setting_what_would_trust_the_rest_is_refused_and_changes_nothing(foreign: Path) -> None:
    before = config(foreign).read_bytes()
    there = {path: path.lstat().st_mtime_ns for path in foreign.rglob("*")}

    def is_refused(name: str) -> None:
        with pytest.raises(SettingsError) as caught:
            set_in_project(str(foreign), name, words_for(name))
        assert str(caught.value) == (
            f"'{name}' cannot be set in '{config(foreign)}', because {WHY}: see what it would grant and trust it with"
            " 'headway config trust', or use --user."
        )
        assert config(foreign).read_bytes() == before
        assert {path: path.lstat().st_mtime_ns for path in foreign.rglob("*")} == there
        of_user, _ = set_for_user(name, words_for(name))
        assert load_settings(foreign, environ={}).sources[name] != "default"
        Path(of_user).unlink()

    check_rows([name for name in KEYS if name not in HARMLESS], is_refused)
    with pytest.raises(SettingsError, match="'model' cannot be set in"):
        set_in_project(str(foreign), "model", ["scripted:script.json"])


@pytest.mark.parametrize("name", sorted(HARMLESS))
def test_what_is_harmless_can_be_set_there_and_trusts_nothing(foreign: Path, name: str) -> None:
    config(foreign).write_text("# theirs\nparallel = 9\n", encoding="utf-8")
    set_in_project(str(foreign), name, [str(VALUES[name])])
    assert config(foreign).read_text(encoding="utf-8") == f'# theirs\nparallel = 9\n{name} = "{VALUES[name]}"\n'
    loaded = load_settings(foreign, environ={})
    assert (get_value(loaded.settings, name), loaded.settings.parallel) == (VALUES[name], 1)


def test_removing_a_value_trusts_nothing_that_is_left(foreign: Path) -> None:
    config(foreign).write_text('# theirs\nallow = ["bash"]\nhosts = ["evil.org"]\n', encoding="utf-8")
    set_in_project(str(foreign), "parallel", [])
    set_in_project(str(foreign), "hosts", [])
    loaded = load_settings(foreign, environ={})
    assert (loaded.settings.allow, len(loaded.notices)) == ((), 1)


@pytest.mark.parametrize("before", ["", "# theirs\n", 'model = "a:b"\n', "parallel = 9\n"])
def test_a_right_is_set_where_nothing_else_would_be_trusted_with_it(foreign: Path, before: str) -> None:
    config(foreign).write_text(before, encoding="utf-8")
    set_in_project(str(foreign), "parallel", ["2"])
    loaded = load_settings(foreign, environ={})
    assert (loaded.settings.parallel, loaded.notices) == (2, ())


def test_yolo_is_neither_taken_from_a_project_nor_set_in_it(folder: Path, in_project: Write) -> None:
    file = in_project('mode = "yolo"\nparallel = 2\n')
    loaded = load_settings(folder, environ={})
    assert (loaded.settings.mode, loaded.settings.parallel) == ("default", 2)
    assert loaded.notices == (
        "Ignored in .headway/config.toml: mode, because a project's settings cannot have yolo; use it for one run with "
        "'--mode yolo', or keep it for all projects with 'headway mode yolo --user'.",
    )
    with pytest.raises(SettingsError, match="A project's settings cannot have yolo"):
        set_in_project(str(folder), "mode", ["yolo"])
    assert file.read_text(encoding="utf-8") == 'mode = "yolo"\nparallel = 2\n'


def test_a_kept_yolo_is_named_and_one_for_a_single_run_is_not(folder: Path, for_user: Write) -> None:
    file = for_user('mode = "yolo"\n')
    assert load_settings(folder, environ={}).notices == (
        f"The mode is yolo, so nothing is asked: it is set by {file}; 'headway mode default --user' ends that.",
    )
    by_variable = load_settings(folder, environ={"HEADWAY_MODE": "yolo"}).notices
    assert by_variable == ("The mode is yolo, so nothing is asked: it is set by environment HEADWAY_MODE.",)
    for mode in ("yolo", "default"):
        assert load_settings(folder, {"mode": mode}, environ={}).notices == ()


@pytest.mark.parametrize("linked", [".headway", ".headway/config.toml"])
def test_a_link_is_neither_read_nor_written_through(folder: Path, linked: str) -> None:
    config(folder).write_text("# theirs\n", encoding="utf-8")
    (folder / linked).rename(folder / "stuff")
    (folder / linked).symlink_to(os.path.relpath(folder / "stuff", (folder / linked).parent))
    for act in (lambda: load_settings(folder, environ={}), lambda: set_in_project(str(folder), "model", ["a:b"])):
        with pytest.raises(HeadwayError, match=r"is a link; replace it with a (file|folder)\."):
            act()
    assert config(folder).read_text(encoding="utf-8") == "# theirs\n"


def test_the_users_own_file_may_be_tracked_and_linked(folder: Path, home: Path, for_user: Write) -> None:
    file = for_user('mode = "auto_edit"\n')
    file.rename(home / "dotfiles.toml")
    file.symlink_to(home / "dotfiles.toml")
    git(home, "init")
    git(home, "add", ".")
    loaded = load_settings(folder, environ={})
    assert (loaded.settings.mode, loaded.notices) == ("auto_edit", ())


def test_the_record_is_for_its_owner_and_a_damaged_one_grants_nothing(folder: Path, home: Path) -> None:
    set_in_project(str(folder), "parallel", ["2"])
    (record,) = (home / "config/headway/trusted").iterdir()
    assert (record.stat().st_mode & 0o777, record.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    for damage in (b"", b"[]", b"\xff", b'{"digests": 5}', b'{"digests": [null, 3]}', b"[" * 100_000):
        record.write_bytes(damage)
        assert load_settings(folder, environ={}).settings.parallel == 1
    set_in_project(str(folder), "parallel", ["3"])
    assert load_settings(folder, environ={}).settings.parallel == 3


@pytest.mark.usefixtures("homeless")
def test_without_a_home_a_right_is_not_set_and_the_sentence_says_why(folder: Path) -> None:
    with pytest.raises(SettingsError, match="could not be remembered: you have no home folder"):
        set_in_project(str(folder), "parallel", ["2"])
    assert not config(folder).exists()
    set_in_project(str(folder), "model", ["a:b"])
    assert load_settings(folder, environ={}).settings.model == "a:b"
