"""`headway session`, and what may stand before a command."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import headway as api

from .commands import Headway, data


def test_session_is_sessions_in_one_word(headway: Headway) -> None:
    assert headway("session").stdout == headway("sessions").stdout
    headway("todos", "add", "A")
    headway("todos", "add", "B", "--session", "其他")
    assert headway("session").stdout == headway("sessions").stdout
    assert data(headway("session", "--json")) == data(headway("sessions", "--json"))
    assert headway("session", "其他").stdout == "✅ The current session is now 其他\n"
    assert data(headway("todos", "list", "--json"))["session"] == "其他"
    assert data(headway("session", "default", "--json")) == {"current": "default"}


def test_session_new_begins_one_that_commands_use(headway: Headway) -> None:
    said = headway("session", "new").stdout
    found = re.fullmatch(r"✅ The current session is now (session-\S+); the first change creates it\n", said)
    assert found
    assert data(headway("todos", "list", "--json"))["session"] == found[1]
    assert data(headway("session", "new", "mine", "--json")) == {"current": "mine"}
    headway("todos", "add", "A")
    assert headway("session", "new", "mine", code=1).stderr == (
        "Error: A session named 'mine' already exists; switch to it with: headway session mine\n"
    )


def test_a_session_that_is_not_there_is_not_gone_to(headway: Headway) -> None:
    headway("todos", "add", "A")
    assert "the sessions are: default." in headway("session", "nope", code=1).stderr
    assert "quote a" in headway("session", "my", "own", code=2).stderr
    assert "1 to 200 printable" in headway("session", "new", "\x1b[2J", code=1).stderr


def test_flags_before_the_command_hold_for_it_and_those_after_it_win(headway: Headway, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    headway("--session", "s", "todos", "add", "A")
    headway("--project", "other", "--session", "s", "todos", "add", "B", "--session", "t")
    assert [todo.content for todo in api.open(tmp_path, "s").todos] == ["A"]
    assert [todo.content for todo in api.open(tmp_path / "other", "t").todos] == ["B"]
    assert data(headway("--model", "ollama:m", "model", "--json"))["model"] == "ollama:m"
    assert "Error: There is no session 'no'" in headway("--session", "no", "todos", "list", code=1).stderr


@pytest.mark.parametrize("flag", [["--continue"], ["--new"], ["--plan"], ["--mode", "yolo"], ["--memory"]])
def test_a_flag_of_the_terminal_session_is_refused_before_a_command(headway: Headway, flag: list[str]) -> None:
    said = headway(*flag, "todos", "add", "A", code=2).stderr
    assert f"Error: {flag[0]} has no effect before a command; omit it," in said
    assert data(headway("todos", "list", "--json"))["todos"] == []


def test_headway_alone_starts_the_terminal_session_with_its_flags(
    headway: Headway, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[tuple[object, dict[str, object]]] = []

    def start(chosen: object, **flags: object) -> int:
        started.append((chosen, flags))
        return 3

    monkeypatch.setattr("headway.repl.main.start", start)
    headway(code=3)
    words = ["--continue", "--session", "s", "--plan", "--mode", "yolo", "--model", "a:b", "--project", ".", "--debug"]
    headway(*words, code=3)
    (_, alone), (chosen, flags) = started
    assert alone == {"go_on": False, "new": None, "plan": False, "mode": None, "memory": False}
    assert flags == {"go_on": True, "new": None, "plan": True, "mode": "yolo", "memory": False}
    given = {name: getattr(chosen, name) for name in ("session", "model", "project", "debug", "live")}
    assert given == {"session": "s", "model": "a:b", "project": ".", "debug": True, "live": None}


def test_what_keeps_it_from_starting_is_one_sentence(headway: Headway, monkeypatch: pytest.MonkeyPatch) -> None:
    def start(*_: object, **__: object) -> int:
        raise api.HeadwayError("It cannot start; do this.")

    monkeypatch.setattr("headway.repl.main.start", start)
    assert headway(code=1).stderr == "Error: It cannot start; do this.\n"
    assert "omit one of the two" in headway("--memory", "--continue", code=2).stderr
    assert "'yoloo' is not a valid mode; did you mean 'yolo'?" in headway("--mode", "yoloo", code=2).stderr
