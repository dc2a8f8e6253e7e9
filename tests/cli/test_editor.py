"""A text goes to the editor that a person has set, and comes back."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from headway.cli.editor import edit_text, find_editor_command
from headway.core.errors import HeadwayError


@pytest.fixture(autouse=True)
def scratch(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where what is edited stands meanwhile; nobody has set an editor."""
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    folder = project / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def program(path: Path, body: str) -> Path:
    """An editor that does this; the file is its last argument."""
    path.write_text(f"#!/bin/sh\nfor file; do :; done\n{body}\n", encoding="utf-8")
    path.chmod(0o700)
    return path


@pytest.fixture
def editor(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Adds a line, and notes what it was called with."""
    path = program(project / "editor", 'printf "%s\\n" "$@" > called; cat "$file" > before; echo more >> "$file"')
    monkeypatch.setenv("EDITOR", str(path))
    return path


def test_what_the_editor_leaves_is_the_text(editor: Path, scratch: Path) -> None:
    assert edit_text("Fix 解析器\n", ".md") == "Fix 解析器\nmore\n"
    assert Path("before").read_text(encoding="utf-8") == "Fix 解析器\n"
    assert Path("called").read_text().endswith(".md\n")
    assert [*scratch.iterdir()] == []


def test_only_its_owner_can_read_the_text_meanwhile(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITOR", str(program(project / "editor", 'stat -c %a "$file" > mode')))
    assert edit_text("secret", ".md") == "secret"
    assert Path("mode").read_text() == "600\n"


def test_an_editor_may_have_arguments_and_spaces_in_its_name(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = program(project / "my editor", 'printf "%s\\n" "$@" > called')
    monkeypatch.setenv("EDITOR", f"'{path}' --wait -n 'two words'")
    assert edit_text("x", ".md") == "x"
    assert Path("called").read_text().split("\n")[:3] == ["--wait", "-n", "two words"]


def test_the_visual_editor_comes_first(editor: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", str(program(project / "visual", 'echo visual >> "$file"')))
    assert edit_text("x\n", ".md") == "x\nvisual\n"
    assert not Path("called").exists()


def test_a_visual_editor_that_is_set_to_nothing_is_none(editor: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "")
    assert edit_text("x\n", ".md") == "x\nmore\n"


def test_an_editor_that_fails_gives_the_text_up(project: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITOR", str(program(project / "editor", 'echo changed > "$file"; exit 1')))
    assert edit_text("x", ".md") is None
    assert [*scratch.iterdir()] == []


def test_an_editor_that_is_killed_gives_the_text_up(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITOR", str(program(project / "editor", "kill -9 $$")))
    assert edit_text("x", ".md") is None


@pytest.mark.parametrize("words", ["no-such-editor --wait", "/", "./not-executable"])
def test_an_editor_that_cannot_be_started_is_named_in_one_sentence(
    scratch: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    Path("not-executable").touch(0o600)
    monkeypatch.setenv("EDITOR", words)
    with pytest.raises(HeadwayError, match="could not be started") as error:
        edit_text("x", ".md")
    assert words.split()[0] in str(error.value)
    assert "set EDITOR" in str(error.value) and "\n" not in str(error.value)
    assert [*scratch.iterdir()] == []


def test_a_quote_that_is_not_closed_is_named_in_one_sentence(scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITOR", "'never closed")
    with pytest.raises(HeadwayError, match="EDITOR is not valid") as error:
        edit_text("x", ".md")
    assert "\n" not in str(error.value)
    assert [*scratch.iterdir()] == []


def test_an_editor_that_deletes_the_file_gives_the_text_up(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITOR", str(program(project / "editor", 'rm "$file"')))
    assert edit_text("x", ".md") is None


def test_an_editor_that_writes_a_new_file_in_its_place_is_understood(
    project: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITOR", str(program(project / "editor", 'echo new > "$file.1"; mv "$file.1" "$file"')))
    assert edit_text("x", ".md") == "new\n"
    assert [*scratch.iterdir()] == []


def test_what_is_no_text_comes_back_with_replacements(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITOR", str(program(project / "editor", "printf 'a\\377b' > \"$file\"")))
    assert edit_text("x", ".md") == "a\ufffdb"


@pytest.mark.parametrize("text", ["one line", "\x1b[31m 中文 \u202e\n\n", "x" * 100_000 + "\n", ""])
def test_any_text_can_be_edited(editor: Path, text: str) -> None:
    assert edit_text(text, ".md") == f"{text}more\n"


def test_without_an_editor_set_one_that_is_installed_is_taken(
    project: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = tmp_path_factory.mktemp("bin")
    program(project / "vi", "")
    monkeypatch.setenv("PATH", f".:{tools}")
    with pytest.raises(HeadwayError, match="No editor is installed; install one, or set EDITOR"):
        find_editor_command()
    for name in ("nano", "vi"):
        installed = program(tools / name, "")
        assert find_editor_command() == [str(installed)]
