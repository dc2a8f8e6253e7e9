"""How a call ended, in a line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.run_events import RunError, ToolFinished
from headway.views.call_lines import format_call_outcome, format_retry

from .samples import hostile_text


def finished(text: str = "", *, ok: bool = True, **more: object) -> ToolFinished:
    record: dict[str, object] = {"round": 1, "call_id": "c1", "tool": "bash", "ok": ok, "text": text, **more}
    return ToolFinished(**record)  # pyright: ignore[reportArgumentType]


def test_a_call_that_worked_needs_no_reason():
    assert format_call_outcome(finished("a\nb", exit_code=0), "bash ls") == ("✓", "bash ls", "")


@pytest.mark.parametrize(("seconds", "line"), [(0.0, "ls"), (0.99, "ls"), (1.0, "ls (1.0 s)"), (75.26, "ls (75.3 s)")])
def test_a_call_that_took_long_says_how_long(seconds: float, line: str):
    assert format_call_outcome(finished(seconds=seconds), "ls")[1] == line


def test_a_call_that_was_not_allowed_is_told_from_one_that_failed():
    refused = finished("The user declined bash.", ok=False, denied=True)
    assert format_call_outcome(refused, "bash rm x") == ("⊘", "bash rm x", "denied")


@pytest.mark.parametrize("ok", [True, False])
def test_a_command_that_failed_tells_its_exit_code(ok: bool):
    assert format_call_outcome(finished("lots of output", ok=ok, exit_code=3), "bash make") == (
        "✗",
        "bash make",
        "exit code 3",
    )


def test_a_tool_that_failed_tells_the_first_line_of_what_it_said():
    assert format_call_outcome(finished("\n  No such file: a.py\nLook with ls.", ok=False), "read_file a.py") == (
        "✗",
        "read_file a.py",
        "No such file: a.py",
    )


def test_a_line_that_only_announces_what_is_wrong_is_passed_over():
    text = "The call was not understood:\n- path: is missing\n- old: is no argument"
    assert format_call_outcome(finished(text, ok=False), "edit")[2] == "path: is missing"
    assert format_call_outcome(finished("Something is wrong:", ok=False), "edit")[2] == "Something is wrong:"


def test_a_line_before_an_excerpt_of_a_file_is_the_reason():
    why = "old_string was not found in 'a.py'; nothing was changed. The closest text is:"
    assert format_call_outcome(finished(f"{why}\n1\tx = 2", ok=False), "edit a.py")[2] == why


@pytest.mark.parametrize("text", ["", "\n \n"])
def test_a_tool_that_failed_without_a_word_has_no_reason(text: str):
    assert format_call_outcome(finished(text, ok=False), "x") == ("✗", "x", "")


@given(hostile_text, st.sampled_from(["", "x" * 10_000, "\n" * 50, "中" * 10_000]))
def test_the_reason_is_one_short_harmless_line(text: str, more: str):
    _, _, why = format_call_outcome(finished(text + more, ok=False), "x")
    assert len(why) <= 120
    assert not any(ord(char) < 32 or 127 <= ord(char) < 160 or char in "\u202e\u2028" for char in why)


def test_a_request_that_is_sent_again_is_told_without_advice():
    error = RunError(
        message="OpenAI reported a server error (500: a; b); try again later, or choose another model.", retry_in=1.0
    )
    assert format_retry(error) == "OpenAI reported a server error (500: a; b). Retrying in 1 s."
    assert format_retry(RunError(message="It is busy.", retry_in=0.0)) == "It is busy."
