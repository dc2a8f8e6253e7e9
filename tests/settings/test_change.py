"""Setting a value: checked first, written whole, and nothing else in the file is touched."""

from __future__ import annotations

import fcntl
import os
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.processes import Done, python, start
from tests.support.projects import temporary_folder
from tests.support.tables import check_rows

from headway.core.errors import HeadwayError, SettingsError
from headway.settings import Settings, load_settings
from headway.settings.change import set_for_user, set_in_project
from headway.settings.keys import KEYS, get_value

from .conftest import Write
from .samples import texts, values

COMMENTED = """\
# mine
mode = "default"  # for now

allow = ["bash"]
# how much
[limits]  # of tools
results = 5  # few
"""


def test_comments_and_order_are_kept(folder: Path, in_project: Write) -> None:
    file = in_project(COMMENTED)
    set_in_project(str(folder), "mode", ["auto_edit"])
    set_in_project(str(folder), "limits.results", ["7"])
    set_in_project(str(folder), "allow", ["bash: pytest *", "bash: 测试"])
    set_in_project(str(folder), "limits.read_lines", ["20"])
    assert file.read_text(encoding="utf-8") == (
        COMMENTED.replace('"default"', '"auto_edit"')
        .replace("results = 5  # few\n", "results = 7  # few\nread_lines = 20\n")
        .replace('["bash"]', '[\n    "bash: pytest *",\n    "bash: 测试",\n]')
    )


@pytest.mark.parametrize(
    "before",
    [
        "",
        "# only a comment",
        "[limits]\nresults = 5",
        "limits.results = 5\n",
        "limits = {results = 5}\r\n",
        "limits = {}\n",
    ],
)
def test_a_key_is_added_to_any_form_of_file(folder: Path, in_project: Write, before: str) -> None:
    file = in_project(before)
    set_in_project(str(folder), "parallel", ["3"])
    set_in_project(str(folder), "limits.read_lines", ["20"])
    set_in_project(str(folder), "hosts", [])
    old = tomllib.loads(before)
    assert tomllib.loads(file.read_text(encoding="utf-8")) == {
        "parallel": 3,
        "hosts": [],
        "limits": {**old.get("limits", {}), "read_lines": 20},
    }


def test_the_folder_is_private_and_ignored_and_the_file_is_for_its_owner(tmp_path: Path) -> None:
    file, value = set_in_project(str(tmp_path), "parallel", ["3"])
    assert (file, value) == (str(tmp_path / ".headway/config.toml"), 3)
    assert (tmp_path / ".headway").stat().st_mode & 0o777 == 0o700
    assert Path(file).stat().st_mode & 0o777 == 0o600
    assert (tmp_path / ".headway/.gitignore").read_text(encoding="utf-8") == "*\n"
    Path(file).chmod(0o644)
    set_in_project(str(tmp_path), "parallel", ["4"])
    assert Path(file).stat().st_mode & 0o777 == 0o600
    assert sorted(os.listdir(tmp_path / ".headway")) == [".gitignore", "config.toml"]


def test_the_users_folder_is_made(folder: Path, home: Path) -> None:
    file, _ = set_for_user("model", ["a:通义"])
    assert file == str(home / "config/headway/config.toml")
    assert Path(file).stat().st_mode & 0o777 == 0o600
    assert load_settings(folder, environ={}).settings.model == "a:通义"


def test_without_a_value_a_key_is_removed_and_all_else_stays(folder: Path, in_project: Write) -> None:
    file = in_project(COMMENTED + "read_lines = 20\n")
    assert set_in_project(str(folder), "mode", []) == (str(file), None)
    assert set_in_project(str(folder), "limits.results", []) == (str(file), None)
    assert file.read_text(encoding="utf-8") == (
        (COMMENTED + "read_lines = 20\n")
        .replace('mode = "default"  # for now\n', "")
        .replace("results = 5  # few\n", "")
    )
    assert load_settings(folder, environ={}).settings.limits.results == Settings().limits.results


def test_a_key_is_removed_from_the_users_file_too(folder: Path, for_user: Write) -> None:
    file = for_user('# mine\nmodel = "a:b"\nmax_cost = 2.5\n')
    assert set_for_user("max_cost", []) == (str(file), None)
    assert file.read_text(encoding="utf-8") == '# mine\nmodel = "a:b"\n'
    assert load_settings(folder, environ={}).sources["max_cost"] == "default"


@pytest.mark.parametrize("name", ["allow", "hosts", "private_hosts", "env"])
def test_a_list_without_a_value_becomes_empty_and_hides_the_one_below(
    folder: Path, in_project: Write, for_user: Write, name: str
) -> None:
    for_user(f'{name} = ["a"]\n')
    file = in_project(f'{name} = ["b"]  # mine\n')
    assert set_in_project(str(folder), name, []) == (str(file), ())
    assert file.read_text(encoding="utf-8") == f"{name} = []  # mine\n"
    assert get_value(load_settings(folder, environ={}).settings, name) == ()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("# kept\n", "# kept\n"),
        ("limits.results = 5\nlimits.read_lines = 20\n", "limits.read_lines = 20\n"),
        ('"limits"."results" = 5\r\nparallel = 2\r\n', "parallel = 2\r\n"),
        pytest.param(
            "parallel = 2\n",
            "parallel = 2\n",
        ),
    ],
)
def test_a_key_is_removed_from_any_form_of_file(folder: Path, before: str, after: str) -> None:
    file = folder / ".headway/config.toml"
    file.write_bytes(before.encode())
    name = "mode" if before == "# kept\n" else "limits.results"
    set_in_project(str(folder), name, [])
    assert file.read_bytes().decode() == after


def test_a_key_is_removed_from_a_table_on_one_line(folder: Path, in_project: Write) -> None:
    file = in_project("limits = {results = 5, read_lines = 20}  # few\n")
    set_in_project(str(folder), "limits.results", [])
    text = file.read_text(encoding="utf-8")
    assert tomllib.loads(text) == {"limits": {"read_lines": 20}}
    assert text.endswith("}  # few\n")


def test_a_bad_value_can_be_removed(folder: Path, in_project: Write) -> None:
    file = in_project("parallel = 0\nmax_rounds = 3\n")
    set_in_project(str(folder), "parallel", [])
    assert file.read_text(encoding="utf-8") == "max_rounds = 3\n"


def test_a_folder_that_another_process_keeps_locked_is_named_and_nothing_is_written(
    folder: Path, in_project: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headway.store.folder.PATIENCE", 0.1)
    file = in_project("# kept\n")
    handle = os.open(folder / ".headway", os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        with pytest.raises(SettingsError, match=r"Another process has locked '.*\.headway'; try again\."):
            set_in_project(str(folder), "parallel", ["3"])
    finally:
        os.close(handle)
    assert file.read_text(encoding="utf-8") == "# kept\n"


UNUSABLE = [
    ("mode", ["yes"], "mode: Expected 'default' | 'auto_edit' | 'sandboxed' | 'yolo', received 'yes'"),
    ("parallel", ["65"], "parallel: Must be at most 64, received 65"),
    ("parallel", ["many"], "parallel: Expected whole number, received 'many'"),
    ("parallel", ["9" * 5000], "parallel: Expected whole number, received"),
    ("max_cost", ["-1"], "max_cost: Must be more than 0, received -1"),
    ("max_cost", ["nan"], "max_cost: Expected a finite number, received nan"),
    ("hosts", ["a b", "c"], "hosts[0]: Expected a host"),
    ("model", ["sk-abc123"], "keys belong in the environment"),
    ("api_key", ["sk-abc123"], "keys belong in the environment"),
    ("mod", ["yolo"], "There is no setting 'mod'; did you mean 'mode'?"),
    ("\x1b[2J", ["x"], "There is no setting '␛[2J'; see: headway config show"),
    ("limits", ["x"], "There is no setting 'limits'"),
]


def test_a_value_that_cannot_be_used_changes_nothing(tmp_path: Path) -> None:
    before = sorted(os.listdir(tmp_path))

    def check(name: str, texts: list[str], what: str) -> None:
        with pytest.raises(SettingsError) as caught:
            set_in_project(str(tmp_path), name, texts)
        assert what in str(caught.value)
        assert sorted(os.listdir(tmp_path)) == before

    check_rows(UNUSABLE, check)


@pytest.mark.parametrize("before", ["mode = ", "zzz = 1\n", "max_rounds = 0\n", "limits = 5\n"])
def test_a_file_that_is_bad_elsewhere_is_left_alone(folder: Path, in_project: Write, before: str) -> None:
    file = in_project(before)
    with pytest.raises(SettingsError, match=r"config\.toml"):
        set_in_project(str(folder), "parallel", ["3"])
    assert file.read_text(encoding="utf-8") == before
    assert os.listdir(folder / ".headway") == ["config.toml"] or ".gitignore" in os.listdir(folder / ".headway")


def test_a_bad_value_can_be_replaced_by_a_good_one(folder: Path, in_project: Write) -> None:
    in_project("parallel = 0\n")
    set_in_project(str(folder), "parallel", ["2"])
    assert load_settings(folder, environ={}).settings.parallel == 2


def in_the_way_of_the_folder(folder: Path) -> None:
    (folder / ".headway").rmdir()
    (folder / ".headway").touch()


def in_the_way_of_the_file(folder: Path) -> None:
    (folder / ".headway/config.toml").mkdir()


def leading_out(folder: Path) -> None:
    (folder / ".headway/config.toml").symlink_to(folder.parent / "other.toml")


@pytest.mark.parametrize(
    ("obstacle", "what"),
    [
        (in_the_way_of_the_folder, "is not a folder; move it out of the way"),
        (in_the_way_of_the_file, "is not a file; move it out of the way"),
        (leading_out, "leads out of the project"),
    ],
)
def test_what_is_in_the_way_is_named(folder: Path, obstacle: Callable[[Path], None], what: str) -> None:
    obstacle(folder)
    with pytest.raises(HeadwayError, match=what):
        set_in_project(str(folder), "parallel", ["3"])
    assert not (folder.parent / "other.toml").exists()


def test_a_folder_that_cannot_be_made_is_named(home: Path) -> None:
    (home / "config").touch()
    with pytest.raises(SettingsError, match=r"could not be written: .*; make it writable"):
        set_for_user("parallel", ["3"])


@pytest.mark.usefixtures("homeless")
def test_without_a_home_the_user_is_told() -> None:
    with pytest.raises(SettingsError, match="set HOME or XDG_CONFIG_HOME"):
        set_for_user("parallel", ["3"])


WRITER = """
import sys
from headway.settings.change import set_in_project
for count in range(1, 41):
    set_in_project(sys.argv[1], sys.argv[2], [str(count)])
"""


def test_writers_at_once_lose_nothing_and_never_leave_a_broken_file(folder: Path, in_project: Write) -> None:
    file = in_project("# kept\n")
    names = ["parallel", "max_rounds", "max_tokens", "max_cost"]
    writers = [start(python(WRITER, folder, name)) for name in names]
    while not all(writer.has_ended for writer in writers):
        assert file.read_text(encoding="utf-8").startswith("# kept\n")
        load_settings(folder, environ={})
    assert [writer.end() for writer in writers] == [Done(0, "", "")] * 4
    settings = load_settings(folder, environ={}).settings
    assert [get_value(settings, name) for name in names] == [40, 40, 40, 40.0]
    assert sorted(os.listdir(file.parent)) == [".gitignore", "config.toml"]


@given(
    settings=st.lists(
        st.sampled_from(sorted(KEYS)).flatmap(
            lambda name: st.tuples(st.just(name), values(name).filter(lambda value: value != "yolo"))
        ),
        max_size=8,
    )
)
def test_what_was_set_is_what_is_loaded(settings: list[tuple[str, object]]) -> None:
    with temporary_folder() as folder:
        for name, value in settings:
            words = texts(value)
            set_in_project(str(folder), name, [words] if isinstance(words, str) else words)
        loaded = load_settings(folder, environ={}, user_file=folder / "none.toml")
    for name, value in dict(settings).items():
        assert get_value(loaded.settings, name) == value
        assert loaded.sources[name] == ".headway/config.toml"
