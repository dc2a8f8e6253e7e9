from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.projects import temporary_folder

from headway.core.errors import HeadwayError
from headway.settings import Settings, TodoTools, load_settings
from headway.settings.keys import KEYS, get_value
from headway.settings.trust import trust_texts
from headway.tools.effects import Mode
from headway.tools.limits import Limits

from .conftest import Write
from .samples import texts, values, written

NONE: dict[str, str] = {}


def test_without_any_file_every_value_is_the_default(folder: Path) -> None:
    loaded = load_settings(folder, environ=NONE)
    assert loaded.settings == Settings()
    assert set(loaded.sources.values()) == {"default"}
    assert list(loaded.sources) == list(KEYS)
    assert loaded.notices == ()


def test_every_field_has_a_key() -> None:
    fields = [name for name in Settings.model_fields if name != "limits"]
    assert list(KEYS) == [*fields, *(f"limits.{name}" for name in Limits.model_fields)]


def test_the_defaults_are_the_documented_ones() -> None:
    settings = Settings()
    assert (settings.mode, settings.tracking, settings.todo_tools) == (Mode.DEFAULT, None, TodoTools.LIGHT)
    assert (settings.parallel, settings.max_rounds, settings.max_cost, settings.max_tokens) == (1, 50, None, None)
    assert (settings.model, settings.base_url, settings.web_search, settings.allow) == (None, None, None, ())


def test_a_flag_wins_over_the_environment_and_that_over_the_files(
    folder: Path, in_project: Write, for_user: Write
) -> None:
    own = for_user('model = "a:user"\nparallel = 2\nmax_rounds = 2\nmax_tokens = 2\n')
    in_project('model = "a:project"\nparallel = 3\nmax_rounds = 3\n')
    environ = {"HEADWAY_MODEL": "a:environment", "HEADWAY_PARALLEL": "4"}
    loaded = load_settings(folder, {"model": "a:flag", "mode": None}, environ)
    settings, sources = loaded.settings, loaded.sources
    assert (settings.model, sources["model"]) == ("a:flag", "flag --model")
    assert (settings.parallel, sources["parallel"]) == (4, "environment HEADWAY_PARALLEL")
    assert (settings.max_rounds, sources["max_rounds"]) == (3, ".headway/config.toml")
    assert (settings.max_tokens, sources["max_tokens"]) == (2, str(own))
    assert (settings.mode, sources["mode"]) == (Mode.DEFAULT, "default")


def test_limits_are_merged_one_by_one(folder: Path, in_project: Write, for_user: Write) -> None:
    own = for_user("[limits]\nresults = 1\nread_lines = 11\nfetch_seconds = 2\n")
    in_project("limits.results = 2\nlimits.read_lines = 12\n")
    loaded = load_settings(folder, {"limits.results": 4}, {"HEADWAY_LIMITS_READ_LINES": "13"})
    limits = loaded.settings.limits
    assert (limits.results, limits.read_lines, limits.fetch_seconds, limits.bash_seconds) == (4, 13, 2, 120)
    assert loaded.sources["limits.results"] == "flag --limits-results"
    assert loaded.sources["limits.read_lines"] == "environment HEADWAY_LIMITS_READ_LINES"
    assert loaded.sources["limits.fetch_seconds"] == str(own)


def test_a_list_replaces_the_one_below_it(folder: Path, in_project: Write, for_user: Write) -> None:
    for_user('allow = ["bash", "write_file: docs/*"]\nhosts = ["a.org"]\n')
    in_project('allow = ["bash: make *"]\nhosts = []\n')
    settings = load_settings(folder, environ=NONE).settings
    assert (settings.allow, settings.hosts) == (("bash: make *",), ())


@pytest.mark.parametrize("text", ["a.org;*.b.org", "a.org\n*.b.org", " a.org ;; *.b.org ;"])
def test_a_list_in_the_environment_is_separated_by_semicolons_or_lines(folder: Path, text: str) -> None:
    assert load_settings(folder, environ={"HEADWAY_HOSTS": text}).settings.hosts == ("a.org", "*.b.org")


def test_a_lone_semicolon_is_the_empty_list(folder: Path, in_project: Write) -> None:
    in_project('allow = ["bash"]\n')
    assert load_settings(folder, environ={"HEADWAY_ALLOW": ";"}).settings.allow == ()


@pytest.mark.parametrize("text", ["", "  ", "\n"])
def test_an_empty_variable_counts_as_not_set(folder: Path, in_project: Write, text: str) -> None:
    in_project("parallel = 3\n")
    assert load_settings(folder, environ={"HEADWAY_PARALLEL": text}).settings.parallel == 3


def test_variables_that_are_no_settings_are_ignored(folder: Path) -> None:
    others = ("PROJECT", "SESSION", "AGENT", "CALL", "X", "LIMITS", "LIMITS_X")
    assert load_settings(folder, environ={f"HEADWAY_{name}": "?" for name in others}).settings == Settings()


def test_another_file_can_be_named_as_the_users(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("parallel = 7\n", encoding="utf-8")
    loaded = load_settings(folder, environ=NONE, user_file=file)
    assert (loaded.settings.parallel, loaded.sources["parallel"]) == (7, str(file))


def test_a_byte_order_mark_and_windows_line_ends_are_fine(folder: Path) -> None:
    file = folder / ".headway/config.toml"
    file.write_bytes(b"\xef\xbb\xbfparallel = 2\r\nmax_rounds = 3\r\n")
    trust_texts(str(file), "parallel = 2\r\nmax_rounds = 3\r\n")
    settings = load_settings(folder, environ=NONE).settings
    assert (settings.parallel, settings.max_rounds) == (2, 3)


@pytest.mark.usefixtures("homeless")
def test_without_a_home_there_is_no_users_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    Path("~/.config/headway").mkdir(parents=True)
    Path("~/.config/headway/config.toml").write_text("parallel = 9\n", encoding="utf-8")
    assert load_settings(folder, environ=NONE).settings.parallel == 1


def test_the_settings_cannot_be_changed(folder: Path) -> None:
    with pytest.raises(ValueError, match="frozen"):
        load_settings(folder, environ=NONE).settings.parallel = 5


def test_a_link_that_leads_out_of_the_project_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.toml").write_text("parallel = 9\n", encoding="utf-8")
    (folder / ".headway/config.toml").symlink_to(tmp_path / "outside.toml")
    with pytest.raises(HeadwayError, match="leads out of the project; replace it with a file"):
        load_settings(folder, environ=NONE)
    (folder / ".headway/config.toml").unlink()
    (folder / ".headway").rmdir()
    (folder / ".headway").symlink_to(tmp_path / "home")
    with pytest.raises(HeadwayError, match="replace it with a folder"):
        load_settings(folder, environ=NONE)


LAYER = st.dictionaries(st.sampled_from(sorted(KEYS)), st.none()).flatmap(
    lambda chosen: st.fixed_dictionaries({name: values(name) for name in chosen})
)


IN_PROJECT = LAYER.map(lambda layer: {name: value for name, value in layer.items() if value != "yolo"})


@given(layers=st.tuples(LAYER, IN_PROJECT, LAYER, LAYER))
def test_of_any_layers_the_highest_that_has_a_key_wins(layers: tuple[dict[str, object], ...]) -> None:
    user, shared, environment, flags = layers
    with temporary_folder() as folder:
        (folder / ".headway").mkdir()
        (folder / ".headway/config.toml").write_text(written(shared), encoding="utf-8")
        trust_texts(str(folder / ".headway/config.toml"), written(shared))
        own = folder / "own.toml"
        own.write_text(written(user), encoding="utf-8")
        environ = {
            KEYS[name].variable: words if isinstance(words := texts(value), str) else ";".join(words) or ";"
            for name, value in environment.items()
        }
        loaded = load_settings(folder, flags, environ, own)
    for name in KEYS:
        if name in flags:
            expected = (flags[name], f"flag {KEYS[name].flag}")
        elif name in environment:
            expected = (environment[name], f"environment {KEYS[name].variable}")
        elif name in shared:
            expected = (shared[name], ".headway/config.toml")
        elif name in user:
            expected = (user[name], str(own))
        else:
            expected = (get_value(Settings(), name), "default")
        assert (get_value(loaded.settings, name), loaded.sources[name]) == expected
