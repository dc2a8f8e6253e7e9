"""What a model's name needs, found out without loading any provider's library."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.tables import check_rows

from headway.agent import PROVIDERS, readiness, resolve_model
from headway.agent.providers import parse_model_name
from headway.core.text import neutralize
from headway.settings import load_settings

NONE: Mapping[str, str] = {}
COMPATIBLE = "compatible:NAME needs the address of the server; set base_url."


@pytest.mark.parametrize(
    ("model", "environ"),
    [
        ("openai:gpt-5", {"OPENAI_API_KEY": "k"}),
        ("anthropic:claude-sonnet-4-5", {"ANTHROPIC_API_KEY": "k"}),
        ("google:gemini-2.5-pro", {"GOOGLE_API_KEY": "k"}),
        ("google:gemini-2.5-pro", {"GEMINI_API_KEY": "k"}),
        ("ollama:qwen3", NONE),
        ("vllm:qwen3", NONE),
        ("llamacpp:qwen3", NONE),
    ],
)
def test_a_model_that_could_be_used_is_ready(model: str, environ: Mapping[str, str]) -> None:
    assert readiness(model, None, environ) is None


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        ("openai:m", "No API key for OpenAI; set OPENAI_API_KEY, or choose another model."),
        ("anthropic:m", "No API key for Anthropic; set ANTHROPIC_API_KEY, or choose another model."),
        (
            "google:m",
            ("No API key for Google; set GOOGLE_API_KEY or GEMINI_API_KEY, or choose another model."),
        ),
        ("compatible:m", COMPATIBLE),
        ("scripted:" + "x" * 300, f"There is no script '{'x' * 199}…'; name a JSON file as scripted:FILE.json."),
        ("scripted:no-such.json", "There is no script 'no-such.json'; name a JSON file as scripted:FILE.json."),
        ("openai:", "The model 'openai:' has no name; write it after the colon, as in openai:NAME."),
    ],
)
def test_what_is_missing_is_said_in_one_sentence(model: str, sentence: str) -> None:
    assert readiness(model, None, NONE) == sentence


def test_a_key_of_blanks_is_no_key() -> None:
    assert readiness("openai:m", None, {"OPENAI_API_KEY": "  "}) is not None


def test_compatible_is_ready_with_an_address_alone() -> None:
    assert readiness("compatible:m", "https://models.example/v1", NONE) is None


def test_a_name_without_a_provider_says_what_form_is_wanted() -> None:
    sentence = readiness("gpt-5", None, NONE)
    assert sentence is not None
    assert "write provider:name, for example openai:gpt-5" in sentence
    assert all(name in sentence for name in PROVIDERS)


WITHOUT_A_COLON = [
    ("claude-3", "anthropic:claude-3"),
    ("Claude-3", "anthropic:Claude-3"),
    ("gemini-2.5-pro", "google:gemini-2.5-pro"),
    ("gpt-4o", "openai:gpt-4o"),
    ("openai/gpt-4o", "openai:gpt-4o"),
    ("ollama/library/qwen3", "ollama:library/qwen3"),
    ("meta/llama-9", "openai:meta/llama-9"),
    ("qwen3", "openai:qwen3"),
    ("openai", "openai:NAME"),
    (" ollama ", "ollama:NAME"),
    ("", "openai:NAME"),
    ("openai/", "openai:NAME"),
]


def test_a_name_without_a_colon_is_answered_with_how_it_is_written() -> None:
    def check(written: str, example: str) -> None:
        sentence = readiness(written, None, NONE) or ""
        assert f"write provider:name, for example {example}; the providers are " in sentence

    check_rows(WITHOUT_A_COLON, check)


NEAR_NAMES = [
    ("opnai", "openai"),
    ("OpenAI", "openai"),
    ("gpt", "openai"),
    ("antropic", "anthropic"),
    ("claude", "anthropic"),
    ("Claude", "anthropic"),
    ("gemini", "google"),
    ("llama.cpp", "llamacpp"),
    ("llama-cpp", "llamacpp"),
    ("compatable", "compatible"),
]


def test_an_unknown_provider_is_answered_with_the_nearest_and_the_list() -> None:
    def check(written: str, meant: str) -> None:
        sentence = readiness(f"{written}:m", None, NONE)
        assert sentence is not None
        assert f"There is no provider named '{written}'; did you mean '{meant}'?" in sentence
        assert ", ".join(PROVIDERS) in sentence

    check_rows(NEAR_NAMES, check)


@pytest.mark.parametrize(
    "written",
    [
        "xyz",
        "bedrock",
        "mistral",
        "",
        pytest.param("nope"),
    ],
)
def test_what_is_near_to_no_provider_is_answered_with_the_list_alone(written: str) -> None:
    sentence = f"There is no provider named '{written}'; the providers are {', '.join(PROVIDERS)}."
    assert readiness(f"{written}:x", None, NONE) == sentence


@pytest.mark.parametrize("written", ["gateway/openai", "openai-chat", "bedrock", "test", "xyz", ""])
def test_providers_of_the_library_that_are_not_in_the_table_are_not_known(written: str) -> None:
    assert "There is no provider named" in (readiness(f"{written}:m", None, NONE) or "")


@pytest.mark.parametrize(
    ("provider", "module", "package", "extra"),
    [
        ("openai", "openai", "openai", "openai"),
        ("ollama", "openai", "openai", "openai"),
        ("anthropic", "anthropic", "anthropic", "anthropic"),
        ("google", "google.genai", "google-genai", "google"),
    ],
)
def test_a_missing_package_is_named_with_what_to_run(
    monkeypatch: pytest.MonkeyPatch, provider: str, module: str, package: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)  # as if it were not installed
    sentence = readiness(f"{provider}:m", None, NONE)
    assert sentence == f"The package '{package}' is not installed; run pip install 'headway[{extra}]'."


def test_a_package_whose_parent_is_missing_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "google.genai", raising=False)
    monkeypatch.setitem(sys.modules, "google", None)
    assert "'google-genai' is not installed" in (readiness("google:m", None, NONE) or "")


NO_ADDRESSES = [
    "localhost:8000/v1",
    "ftp://host/v1",
    "http://",
    "http:///v1",
    "//host/v1",
    "http://[::1/v1",
    "http://h:99999/v1",
    "http://a b/v1",
    "file:///etc/passwd",
    "http://h\x1b[31m/v1",
]


def test_an_address_is_http_or_https_with_a_host() -> None:
    def check(address: str) -> None:
        by_setting = readiness("vllm:m", address, NONE) or ""
        by_variable = readiness("vllm:m", None, {"VLLM_BASE_URL": address}) or ""
        assert by_setting.startswith("base_url is '")
        assert by_variable.startswith("VLLM_BASE_URL is '")
        assert "which is not a valid address; write it as http://HOST:PORT/v1" in by_setting
        assert "\x1b" not in by_setting

    check_rows(NO_ADDRESSES, check)


@pytest.mark.parametrize("address", ["http://localhost:8000", "https://h.example/api/v1/", "http://[::1]:8000/v1"])
def test_an_address_of_a_usual_form_is_taken(address: str) -> None:
    assert readiness("vllm:m", address, NONE) is None


@pytest.mark.parametrize(
    ("provider", "variable"), [("anthropic", "ANTHROPIC_BASE_URL"), ("google", "GOOGLE_GEMINI_BASE_URL")]
)
def test_the_setting_base_url_is_refused_where_it_would_have_no_effect(provider: str, variable: str) -> None:
    sentence = readiness(f"{provider}:m", "http://localhost:1/v1", {"ANTHROPIC_API_KEY": "k", "GOOGLE_API_KEY": "k"})
    assert sentence is not None
    assert f"remove it, or set {variable} instead." in sentence


def test_a_script_needs_no_address_and_no_key(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text("[]", encoding="utf-8")
    assert readiness(f"scripted:{script}", "http://localhost:1/v1", NONE) is None


@given(st.text(max_size=40), st.none() | st.text(max_size=40))
def test_any_text_is_answered_with_one_line_or_nothing(model: str, base_url: str | None) -> None:
    sentence = readiness(model, base_url, NONE)
    assert sentence is None or (sentence == neutralize(sentence) and sentence.endswith("."))


@given(st.sampled_from(list(PROVIDERS)), st.text(max_size=40), st.text(max_size=40))
def test_any_name_and_address_are_answered_with_one_line_or_nothing(provider: str, name: str, address: str) -> None:
    sentence = readiness(f"{provider}:{name}", f"http://{address}", NONE)
    assert sentence is None or (sentence == neutralize(sentence) and sentence.endswith("."))


def test_what_a_name_stands_for_is_shown_without_its_key() -> None:
    choice = parse_model_name("openai:m", None, {"OPENAI_API_KEY": "hunter2"})
    assert choice.key == "hunter2"
    assert "hunter2" not in f"{choice!r} {choice}"
    assert "name='m'" in repr(choice)


def test_the_environment_is_read_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert readiness("openai:m") is not None
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert readiness("openai:m") is None
    assert readiness("openai:m", None, NONE) is not None, "an empty environment is one too"


PUBLIC = (
    "headway.agent.resolve_model",
    "headway.agent.readiness",
    "headway.agent.providers.parse_model_name",
    "headway.agent.instructions",
    "headway.settings.load_settings",
    "headway.settings.Settings",
    "headway.tools.builtin_tools",
    "headway.open",
)
HELP = """
import os, pydoc, sys
for name in sys.argv[1:]:
    text = pydoc.render_doc(name, renderer=pydoc.plaintext)
    assert name.rpartition(".")[2] in text or name == "headway.open", text
    print(text)
"""


def test_help_shows_nothing_of_the_environment(tmp_path: Path) -> None:
    marks = {"OPENAI_API_KEY": "mark-of-a-key", "ANYTHING": "mark-of-anything", "HEADWAY_MODEL": "mark:of-a-model"}
    command = [sys.executable, "-c", HELP, *PUBLIC]
    environ = {**os.environ, **marks, "PYTHONUTF8": "1"}
    done = subprocess.run(
        command, env=environ, cwd=tmp_path, capture_output=True, text=True, encoding="utf-8", check=True, timeout=120
    )
    assert "resolve_model(" in done.stdout and "load_settings(" in done.stdout
    assert not [mark for mark in marks.values() if mark in done.stdout]
    assert "environ(" not in done.stdout


@pytest.mark.parametrize(
    "public", [resolve_model, readiness, parse_model_name, load_settings], ids=lambda public: public.__name__
)
def test_no_signature_holds_the_environment(public: Callable[..., object]) -> None:
    defaults = {name: one.default for name, one in inspect.signature(public).parameters.items()}
    assert defaults["environ"] is None
    assert not any(isinstance(default, Mapping) for default in defaults.values())


def test_every_provider_of_the_table_says_how_it_is_installed_and_found() -> None:
    for name, row in PROVIDERS.items():
        assert row.name == name
        assert (row.package is None) == (row.extra is None) == (name == "scripted")
        assert row.needs_key <= bool(row.keys)
        assert bool(row.url) == bool(row.url_variable)
