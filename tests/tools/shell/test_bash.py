"""What a call of `bash` answers, and what it refuses."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from headway.tools.base import ToolFault
from headway.tools.files.workspace import Workspace
from headway.tools.limits import Limits
from headway.tools.shell.bash import Bash, BashInput

from .calls import bash, context


async def test_output_and_errors_come_in_the_order_in_which_they_were_printed(tmp_path: Path):
    result = await bash(tmp_path, "echo one; echo two >&2; echo three")
    assert (result.text, result.ok, result.exit_code) == ("one\ntwo\nthree", True, 0)


async def test_a_silent_command_says_so(tmp_path: Path):
    assert (await bash(tmp_path, "true")).text == "(no output)"


async def test_a_failure_has_its_exit_code(tmp_path: Path):
    result = await bash(tmp_path, "echo no; exit 3")
    assert (result.text, result.ok, result.exit_code) == ("no\n[exit code 3]", False, 3)


async def test_an_unknown_command_fails_as_in_a_shell(tmp_path: Path):
    result = await bash(tmp_path, "no-such-command-here")
    assert result.exit_code == 127
    assert "not found" in result.text


async def test_a_signal_is_named(tmp_path: Path):
    result = await bash(tmp_path, "kill -9 $$")
    assert (result.text, result.ok, result.exit_code) == ("(no output)\n[killed by signal 9]", False, 137)


async def test_a_broken_pipe_ends_a_command_as_in_a_terminal(tmp_path: Path):
    assert (await bash(tmp_path, "set -o pipefail; yes | head -n 1")).exit_code == 141


async def test_every_call_starts_in_the_projects_folder_and_knows_nothing_of_the_one_before(tmp_path: Path):
    (tmp_path / "inner").mkdir()
    await bash(tmp_path, "cd inner; export LEFT=over; touch made")
    result = await bash(tmp_path, 'pwd; echo "[$LEFT]"; ls inner')
    assert result.text == f"{tmp_path.resolve()}\n[]\nmade"


async def test_several_lines_and_quotes_reach_the_shell_as_they_are(tmp_path: Path):
    result = await bash(tmp_path, "cat <<'EOF'\n$HOME \"`x`\" 'y'\nEOF\necho \"你好 $((1 + 1))\"")
    assert result.text == "$HOME \"`x`\" 'y'\n你好 2"


async def test_bash_is_what_runs_it(tmp_path: Path):
    assert (await bash(tmp_path, "a=(x y); [[ ${a[1]} == y ]] && echo yes")).text == "yes"


async def test_without_bash_the_plain_shell_runs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def none(name: str, path: str) -> None: ...

    monkeypatch.setattr("shutil.which", none)
    assert (await bash(tmp_path, "echo $0")).text == "/bin/sh"


async def test_a_folder_that_is_gone_is_a_clear_fault(tmp_path: Path):
    folder = tmp_path / "gone"
    with pytest.raises(ToolFault, match=r"folder '.*gone' no longer exists"):
        await bash(folder, "true")


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ({}, "command: Required"),
        ({"command": " \n"}, "command: Must not be blank"),
        ({"command": "a\0b"}, "command: Must not contain a NUL character"),
        ({"command": "x" * 100_001}, "command: Must have at most 100000 characters, received 100001"),
        ({"command": "你" * 50_000}, "command: Must have at most 131071 bytes, received 150000; write it to a file"),
        ({"command": "ls", "timeout": 0}, "timeout: Must be more than 0"),
        ({"command": "ls", "timeout": "soon"}, "timeout: Expected number, received 'soon'"),
        ({"command": "ls", "cwd": "/"}, "cwd: Unknown field"),
    ],
)
def test_a_call_that_makes_no_sense_is_refused_with_a_reason(tmp_path: Path, arguments: object, fault: str):
    with pytest.raises(ToolFault) as refused:
        Bash(Workspace(tmp_path)).parse_input(arguments)
    assert fault in str(refused.value)


@pytest.mark.parametrize("command", [f": {'x' * 99_989}; echo ok", f": {'你' * 43_000}; echo ok"])
async def test_the_longest_commands_run(tmp_path: Path, command: str):
    assert (await bash(tmp_path, command)).text == "ok"


async def test_more_time_than_allowed_is_refused_before_anything_runs(tmp_path: Path):
    tool, limits = Bash(Workspace(tmp_path)), Limits(bash_seconds_max=60)
    call = BashInput(command="touch ran", timeout=61)
    for attempt in (tool.run, tool.preview):
        with pytest.raises(ToolFault, match="at most 60 seconds, received 61"):
            await attempt(call, context(tmp_path, limits=limits))
    assert list(tmp_path.iterdir()) == []


async def test_the_preview_shows_the_first_line_and_has_the_whole_command(tmp_path: Path):
    command = "\n  rm -rf build \x1b[2K\nmake"
    preview = await Bash(Workspace(tmp_path)).preview(BashInput(command=command), context(tmp_path))
    assert preview.line.startswith("Run: rm -rf build ")
    assert preview.line.endswith(" …")
    assert preview.line.isprintable()
    assert preview.command == "\n  rm -rf build ␛[2K\nmake"


async def test_the_description_and_schema_tell_a_model_what_there_is():
    tool = Bash(Workspace("."))
    assert "project's folder" in tool.description
    assert set(tool.parameters()["properties"]) == {"command", "timeout"}
    assert tool.parameters()["required"] == ["command"]


async def test_many_calls_at_once_do_not_mix(tmp_path: Path):
    results = await asyncio.gather(*(bash(tmp_path, f"echo {n}; exit {n}") for n in range(8)))
    assert [(result.exit_code, result.text.splitlines()[0]) for result in results] == [(n, str(n)) for n in range(8)]


async def test_the_preview_of_a_command_is_safe_to_print_and_keeps_lines_and_tabs(tmp_path: Path):
    command = "make\t-j\n\x1b]0;x\x07echo \u202edone\x9b2J\r\n"
    preview = await Bash(Workspace(tmp_path)).preview(BashInput(command=command), context(tmp_path))
    assert preview.command == "make\t-j\n␛]0;x␇echo ⟨U+202E⟩done⟨U+009B⟩2J␍\n"


def test_without_todo_write_the_description_does_not_speak_of_it(tmp_path: Path):
    full, less = (Bash(Workspace(tmp_path), todo_write=told).description for told in (True, False))
    assert full.startswith(f"{less}\n- `TodoWrite")
    assert "TodoWrite" not in less
