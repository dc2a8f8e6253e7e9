"""What is wrong with a setting is said once, with the place, the key and what to do."""

from __future__ import annotations

import os
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.tables import check_rows

from headway.core.errors import HeadwayError, SettingsError
from headway.core.text import neutralize
from headway.settings import load_settings
from headway.settings.files import MAX_BYTES
from headway.settings.keys import KEYS, check_value, parse_text

from .conftest import Write


def fault(name: str, value: object) -> str | None:
    """What is wrong with a value, or None if it can be used."""
    try:
        check_value(name, value)
    except SettingsError as error:
        return "\n".join(error.violations)
    return None


BOUNDS = [
    ("parallel", 1, 64),
    ("max_rounds", 1, None),
    ("max_tokens", 1, None),
    ("context_window", 1_000, None),
    ("reply_tokens", 16, None),
    ("remind_after", 1, None),
    ("max_nudges", 0, None),
    ("retries", 0, None),
    ("limits.output_chars", 1_000, 1_000_000),
    ("limits.kept_bytes", 0, 10_000_000_000),
    ("limits.outputs_bytes", 0, 1_000_000_000_000),
    ("limits.file_bytes", 1_000, 1_000_000_000),
    ("limits.read_lines", 10, 100_000),
    ("limits.results", 1, 100_000),
    ("limits.fetch_bytes", 1_000, 100_000_000),
]


def test_a_whole_number_may_be_as_small_and_as_large_as_its_bounds() -> None:
    def holds(name: str, least: int, most: int | None) -> None:
        assert fault(name, least) is None
        word = "more than 0" if name == "max_tokens" else f"at least {least}"
        assert fault(name, least - 1) == f"{name}: Must be {word}, received {least - 1}"
        if most is not None:
            assert fault(name, most) is None
            assert fault(name, most + 1) == f"{name}: Must be at most {most}, received {most + 1}"

    check_rows(BOUNDS, holds)


SECONDS = {"search_seconds": 600, "bash_seconds": 86_400, "bash_seconds_max": 86_400, "fetch_seconds": 600}


@pytest.mark.parametrize(
    ("name", "most"),
    [("max_cost", None), *((f"limits.{name}", most) for name, most in SECONDS.items())],
)
def test_a_number_is_more_than_nothing_and_finite(name: str, most: int | None) -> None:
    assert fault(name, 0.001) is None
    assert fault(name, 0) == f"{name}: Must be more than 0, received 0.0"
    assert fault(name, -1) == f"{name}: Must be more than 0, received -1.0"
    for value in (float("nan"), float("inf"), 10**400):
        assert (fault(name, value) or "").startswith(f"{name}: Expected a finite number, received ")
    if most is not None:
        assert fault(name, most) is None
        assert fault(name, most + 1) == f"{name}: Must be at most {most}, received {float(most + 1)}"


USABLE = {
    "model": [
        "openai:gpt-5",
        "ollama:qwen2.5:7b",
        "a:通义千问",
        "openrouter:x/y",
        " a:b ",
        "scripted:my file.json",
        "scripted:a/b  c.json",
    ],
    "base_url": ["http://localhost:11434/v1", "https://例子.中国/v1", "http://[::1]:80"],
    "mode": ["default", "auto_edit", "sandboxed", "yolo", " yolo "],
    "tracking": ["manual", "auto", "judge"],
    "todo_tools": ["full", "light", "plan", "off"],
    "web_search": ["brave", "tavily", "searxng:http://localhost:8888"],
    "allow": [
        ["bash"],
        ["bash: pytest *"],
        ["bash:make"],
        ["t" * 64],
        ["web_fetch: docs.python.org"],
        ["a: 测试 *"],
        [],
    ],
    "hosts": [["docs.python.org"], ["*.python.org"], ["127.0.0.1"], ["::1"], ["例子.中国"], ["a_b"], ["a" * 63]],
    "private_hosts": [["localhost"], ["127.0.0.1"], ["10.0.0.5"], ["[::1]"], ["db"]],
    "env": [["PATH"], ["_x1"]],
}


def test_a_usable_value_is_taken() -> None:
    def holds(name: str, value: object) -> None:
        assert fault(name, value) is None

    check_rows([(name, value) for name in USABLE for value in USABLE[name]], holds)


MODEL = "Expected 'provider:name', such as 'openai:NAME' or 'ollama:NAME', received"
MODES = "Expected 'default' | 'auto_edit' | 'sandboxed' | 'yolo', received"
UNUSABLE: list[tuple[str, object, str]] = [
    ("mode", "yes", f"{MODES} 'yes'"),
    ("mode", 5, f"{MODES} number"),
    ("mode", "", f"{MODES} ''"),
    ("tracking", "x", "Expected 'manual' | 'auto' | 'judge', received 'x'"),
    ("todo_tools", True, "Expected 'full' | 'light' | 'plan' | 'off', received boolean"),
    ("model", "gpt-5", f"{MODEL} 'gpt-5'"),
    ("model", "a: b", f"{MODEL} 'a: b'"),
    ("model", "a b:c", f"{MODEL} 'a b:c'"),
    ("model", "a:b\nc", f"{MODEL} 'a:b c'"),
    ("model", "a:\x1b[2J", f"{MODEL} 'a:␛[2J'"),
    ("model", " ", "Must not be blank"),
    ("model", 5, "Expected string, received number"),
    ("model", {"a": {}}, "Expected string, received object"),
    ("base_url", "ftp://x", "Expected an http or https URL, received 'ftp://x'"),
    ("base_url", "http://", "Expected an http or https URL, received 'http://'"),
    ("base_url", "http://[", "Expected an http or https URL, received 'http://['"),
    ("base_url", "http://a:99999", "Expected an http or https URL, received 'http://a:99999'"),
    ("base_url", "http://a b", "Expected an http or https URL, received 'http://a b'"),
    ("base_url", "http://me:secret@a", "Must not contain a user name or password; those belong in the environment"),
    ("web_search", "google", "Expected 'brave' | 'tavily' | 'searxng:URL', received 'google'"),
    ("web_search", "searxng:", "Expected 'brave' | 'tavily' | 'searxng:URL', received 'searxng:'"),
    ("web_search", "searxng:x", "Expected an http or https URL, received 'x'"),
    ("parallel", "2", "Expected whole number, received '2'"),
    ("parallel", 2.5, "Expected whole number, received 2.5"),
    ("parallel", True, "Expected whole number, received boolean"),
    ("max_cost", "a", "Expected number, received 'a'"),
    ("max_cost", [1], "Expected number, received array"),
    ("allow", "bash", "Expected array, received string"),
    ("allow", [5], "Expected strings, received number"),
    ("allow", ["bash", " "], "Must not have blank entries"),
]


def test_an_unusable_value_is_named() -> None:
    def holds(name: str, value: object, what: str) -> None:
        assert fault(name, value) == f"{name}: {what}"

    check_rows(UNUSABLE, holds)


HOST = "Expected a host or an IP address without a port, received"
ENTRIES = [
    ("allow", ["bash:", "a b", "t" * 65, "工具", "bash: a\nb"], "Expected 'tool' or 'tool: pattern', received"),
    ("hosts", ["*", "a.*", "a..b", "-a", "a" * 64, "http://a", "a:80"], HOST),
    ("private_hosts", ["*.a", "10.0.0.0/8", "localhost:8000"], HOST),
    ("env", ["A B", "1A", "A=B", "变量"], "Expected the name of an environment variable, received"),
]


@pytest.mark.parametrize(("name", "entries", "what"), ENTRIES)
def test_every_unusable_entry_of_a_list_is_named(name: str, entries: list[str], what: str) -> None:
    lines = (fault(name, entries) or "").splitlines()
    assert len(lines) == len(entries)
    assert all(line.startswith(f"{name}[{index}]: {what}") for index, line in enumerate(lines))


def test_a_secret_is_refused_without_being_repeated() -> None:
    def holds(secret: str, name: str) -> None:
        said = fault(name, secret) or ""
        assert "keys belong in the environment" in said
        assert secret.strip() not in said
        assert "keys belong" in (fault("env", [secret]) or "")

    check_rows(
        product(
            ["sk-abc123", "AIzaSyA123", "ghp_abcdef", "openai:sk-abc123", " sk-proj-1234 "],
            ["model", "base_url", "web_search", "mode", "parallel"],
        ),
        holds,
    )


def test_a_key_under_a_name_that_is_no_setting_is_told_where_keys_belong(
    folder: Path, in_project: Write, for_user: Write
) -> None:
    def holds(name: str, secret: str, write: Write) -> None:
        file = write(f'{name} = "{secret}"\n')
        with pytest.raises(SettingsError) as caught:
            load_settings(folder, environ={})
        file.unlink()
        assert str(caught.value) == (
            f"'{file}' has invalid settings; correct the file:\n- {name}: Looks like a secret key; "
            "keys belong in the environment, where the provider's library reads them"
        )

    names = ["OPENAI_API_KEY", "openai_key", "limits.token", "modle"]
    secrets = ["sk-abc123def", "AIzaSyA123", "tvly-abc123", "xai-abc123def456ghi789jk", "npm_abc123def456ghi789jk"]
    check_rows(product(names, secrets, [in_project, for_user]), holds)


@pytest.mark.parametrize("line", ["KEY = ['sk-abc123def']", "[openai]\nkey = 'sk-abc123def'", "KEY = sk-abc123def"])
def test_a_key_in_whatever_form_is_never_repeated(folder: Path, in_project: Write, line: str) -> None:
    in_project(line)
    with pytest.raises(SettingsError) as caught:
        load_settings(folder, environ={})
    assert "abc123def" not in str(caught.value)


def test_a_number_under_a_name_that_is_no_setting_is_no_key() -> None:
    assert fault("OPENAI_API_KEY", 5) == "OPENAI_API_KEY: Unknown setting"
    assert fault("modell", "openai:gpt-5") == "modell: Unknown setting; did you mean 'model'?"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("env", ["npm_config_registry"]),
        ("hosts", ["pypi-mirror.example.org"]),
        ("private_hosts", ["xai-proxy.local"]),
        ("model", "ollama:xoxo-7b"),
    ],
)
def test_a_name_that_only_begins_like_a_key_is_taken(name: str, value: object) -> None:
    assert fault(name, value) is None


def test_a_host_is_kept_in_one_way_of_writing_it() -> None:
    assert check_value("hosts", ["Docs.Python.ORG", "[::1]", "0:0::1", "*.A.org"]) == (
        "docs.python.org",
        "::1",
        "::1",
        "*.a.org",
    )


def test_every_fault_of_a_file_is_listed_with_the_file_and_the_nearest_key(folder: Path, in_project: Write) -> None:
    file = in_project('mode = "yes"\nmodell = "a:b"\nzzz = 1\nparallel = 0\n[limits]\nresult = 1\nresults = 0\n')
    with pytest.raises(SettingsError) as caught:
        load_settings(folder, environ={})
    assert str(caught.value) == (
        f"'{file}' has invalid settings; correct the file:\n"
        f"- mode: {MODES} 'yes'\n"
        "- modell: Unknown setting; did you mean 'model'?\n"
        "- zzz: Unknown setting\n"
        "- parallel: Must be at least 1, received 0\n"
        "- limits.result: Unknown setting; did you mean 'limits.results'?\n"
        "- limits.results: Must be at least 1, received 0"
    )
    assert len(caught.value.violations) == 6
    assert isinstance(caught.value, HeadwayError)
    assert isinstance(caught.value, ValueError)


def test_faults_of_all_places_are_told_at_once(folder: Path, in_project: Write, for_user: Write) -> None:
    for_user("parallel = 0\n")
    in_project("max_rounds = 0\n")
    with pytest.raises(SettingsError) as caught:
        load_settings(folder, {"max_tokens": 0}, {"HEADWAY_MODE": "no", "HEADWAY_MAX_COST": "much"})
    lines = str(caught.value).splitlines()
    assert lines[4:] == [
        "The environment has invalid settings; correct or unset HEADWAY_MODE, HEADWAY_MAX_COST:",
        f"- mode: {MODES} 'no'",
        "- max_cost: Expected number, received 'much'",
        "The command has invalid settings; correct its flags:",
        "- max_tokens: Must be more than 0, received 0",
    ]
    assert len(caught.value.violations) == 5


UNUSABLE_FILES = [
    (b"mode = ", "is not valid TOML: "),
    (b"a = 1\na = 2\n", "is not valid TOML: "),
    (b"parallel = " + b"9" * 5000, "is not valid TOML: "),
    (b"model = '\xff'", "is not UTF-8 text; save it as UTF-8"),
    (b"a = " + b"[" * 20_000, "is nested too deeply"),
    (b"limits = 5\n", "limits: Expected a table [limits]"),
    (b"#" * (MAX_BYTES + 1), "is larger than 1 MB"),
    (b"model" + b".a" * 90 + b" = 1", "model: Expected string, received object"),
    (b"model" + b".a" * 400_000 + b" = 1", "is nested too deeply"),
    (b"limits = {" + b"'a' . " * 100_000 + b"a = 1}", "is nested too deeply"),
    (b"[" + b'"\\"b".' * 100_000 + b"a]", "is nested too deeply"),
    (b"model = 2024-01-01", "model: Expected string, received date"),
    (b"'\\u001b[2J\\u202e' = 1", "Unknown setting"),
]


def test_a_file_that_cannot_be_used_is_named(folder: Path) -> None:
    file = folder / ".headway/config.toml"

    def holds(content: bytes, what: str) -> None:
        file.write_bytes(content)
        with pytest.raises(SettingsError) as caught:
            load_settings(folder, environ={})
        assert str(file) in str(caught.value)
        assert what in str(caught.value)
        assert all(line == neutralize(line) for line in str(caught.value).splitlines())

    check_rows(UNUSABLE_FILES, holds)


def test_a_file_of_the_greatest_size_is_read(folder: Path) -> None:
    (folder / ".headway/config.toml").write_bytes(b"#" * MAX_BYTES)
    assert load_settings(folder, environ={}).settings.parallel == 1


def test_what_is_no_file_is_refused_without_waiting(folder: Path) -> None:
    file = folder / ".headway/config.toml"
    os.mkfifo(file)
    with pytest.raises(SettingsError, match="is not a file; move it out of the way"):
        load_settings(folder, environ={})
    file.unlink()
    file.mkdir()
    with pytest.raises(SettingsError, match="is not a file; move it out of the way"):
        load_settings(folder, environ={})


def test_a_link_to_itself_is_named(folder: Path) -> None:
    file = folder / ".headway/config.toml"
    file.symlink_to("config.toml")
    with pytest.raises(HeadwayError, match=r"config\.toml' is a link; replace it with a file"):
        load_settings(folder, environ={})


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_named(folder: Path, in_project: Write) -> None:
    in_project("parallel = 2\n").chmod(0)
    with pytest.raises(SettingsError, match="could not be read: Permission denied"):
        load_settings(folder, environ={})


def test_a_missing_project_is_named(tmp_path: Path) -> None:
    with pytest.raises(HeadwayError, match="There is no folder"):
        load_settings(tmp_path / "nowhere", environ={})


@given(name=st.sampled_from(sorted(KEYS)), text=st.text() | st.from_regex(r"[-+0-9_.e]+"))
def test_no_text_of_the_environment_raises_anything_else(name: str, text: str) -> None:
    said = fault(name, parse_text(KEYS[name], text)) or ""
    assert all(line == neutralize(line) for line in said.split("\n"))
