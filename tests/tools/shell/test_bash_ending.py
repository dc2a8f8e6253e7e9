"""Commands that do not end by themselves, or leave something behind: a result in bounded time, nothing left running."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests.support.counts import some
from tests.support.processes import python as python_process
from tests.support.processes import start

from headway.tools.files.workspace import Workspace
from headway.tools.shell.bash import Bash, BashInput
from headway.tools.shell.environment import MARK
from headway.tools.shell.processes import kill_marked, list_marked

from .calls import bash, context, python, running, until

DAEMON = """
import os, sys, time
if os.fork():
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
null = os.open(os.devnull, os.O_RDWR)
for descriptor in range(3):
    os.dup2(null, descriptor)
os.execve("/bin/sh", ["sh", "-c", "trap '' TERM; while :; do sleep 1; done", sys.argv[1]], {})
"""
FORKING = """
import os
print("started", flush=True)
while True:
    if os.fork():
        os._exit(0)
"""


async def test_a_command_that_takes_too_long_is_ended_and_its_output_kept(tmp_path: Path):
    result = await bash(tmp_path, "echo begun; sleep 1000", timeout=0.5)
    assert result.exit_code == 124
    assert not result.ok
    assert result.text.startswith("begun\n[timed out after 0.5 s and was stopped, exit code 124;")
    assert running(tmp_path) == []


async def test_a_command_may_tidy_up_when_it_is_ended(tmp_path: Path):
    result = await bash(tmp_path, "trap 'echo tidied; exit' TERM; while :; do sleep 0.1; done", timeout=0.5)
    assert "tidied\n[timed out" in result.text


@pytest.mark.usefixtures("short_grace")
async def test_a_command_that_ignores_being_asked_is_forced(tmp_path: Path):
    result = await bash(tmp_path, "trap '' TERM INT HUP; while :; do sleep 1; done", timeout=0.5)
    assert result.exit_code == 124
    assert running(tmp_path) == []


@pytest.mark.usefixtures("short_grace")
@pytest.mark.parametrize(
    "command",
    [
        "sleep 1000 & echo started",
        "setsid sleep 1000 & echo started",
        "nohup sleep 1000 & echo started",
        "(sleep 1000 >/dev/null 2>&1 &) ; echo started",
        "set -m; sleep 1000 & disown; echo started",
        "(trap '' TERM; exec sleep 1000) & echo started",
    ],
)
async def test_what_is_left_in_the_background_ends_with_the_call(tmp_path: Path, command: str):
    result = await bash(tmp_path, command)
    assert (result.exit_code, result.ok) == (0, True)
    assert "started" in result.text
    assert result.text.endswith("[1 process was still running and was stopped]")
    assert running(tmp_path) == []


async def test_how_many_were_left_is_said(tmp_path: Path):
    result = await bash(tmp_path, "sleep 1000 & setsid sleep 1000 & exit 4")
    assert result.text == "(no output)\n[exit code 4]\n[2 processes were still running and were stopped]"


@pytest.mark.usefixtures("short_grace")
async def test_a_daemon_that_gave_up_its_environment_and_output_is_found_too(tmp_path: Path):
    result = await bash(tmp_path, f"{python(DAEMON)} {tmp_path}; echo started")
    assert result.text.startswith("started\n")
    assert "still running" in result.text
    assert running(tmp_path) == []


@pytest.mark.usefixtures("short_grace")
@pytest.mark.full
async def test_a_daemon_that_is_just_about_to_leave_is_not_missed(tmp_path: Path):
    await asyncio.gather(*(bash(tmp_path, f"{python(DAEMON)} {tmp_path}") for _ in range(some(24, 3))))
    assert running(tmp_path) == []


@pytest.mark.usefixtures("short_grace")
async def test_a_daemon_ends_with_a_command_that_timed_out(tmp_path: Path):
    result = await bash(tmp_path, f"{python(DAEMON)} {tmp_path}; sleep 1000", timeout=1)
    assert result.exit_code == 124
    assert running(tmp_path) == []


@pytest.mark.usefixtures("short_grace")
async def test_a_process_that_never_stops_forking_is_ended(tmp_path: Path):
    result = await bash(tmp_path, f"trap '' TERM; {python(FORKING)} & sleep 1000", timeout=1)
    assert result.text.startswith("started\n[timed out")
    assert running(tmp_path) == []


async def test_what_ends_by_itself_right_after_the_command_is_let_finish(tmp_path: Path):
    assert (await bash(tmp_path, "echo late > >(cat)")).text == "late"


@pytest.mark.parametrize("command", ["cat", "read -r line", python("input()"), "read -r line </dev/tty"])
async def test_what_waits_for_input_gets_none_and_ends(tmp_path: Path, command: str):
    result = await bash(tmp_path, f"{command}; echo over")
    assert result.text.endswith("over")
    assert result.exit_code == 0


async def test_there_is_no_terminal_to_ask_at(tmp_path: Path):
    result = await bash(tmp_path, "read -r line </dev/tty")
    assert result.exit_code == 1
    assert "/dev/tty" in result.text


async def test_being_cancelled_goes_through_and_leaves_nothing(tmp_path: Path):
    said: list[str] = []
    command = f"trap '' TERM; setsid sleep 1000 & {python(DAEMON)} {tmp_path}; echo started; sleep 1000"
    given = context(tmp_path, report=said.append)
    call = asyncio.create_task(Bash(Workspace(tmp_path)).run(BashInput(command=command), given))
    await until(lambda: "started" in "".join(said))
    assert running(tmp_path)
    for _ in range(3):
        call.cancel()
        await asyncio.sleep(0.01)
    await until(call.done)
    assert call.cancelled()
    assert running(tmp_path) == []


@pytest.mark.parametrize("turns", range(6))
@pytest.mark.parametrize("busy", [0, 0.3])
async def test_being_cancelled_while_it_starts_leaves_nothing(tmp_path: Path, turns: int, busy: float):
    call = asyncio.create_task(bash(tmp_path, "sleep 1000"))
    for _ in range(turns):
        await asyncio.sleep(0)
    time.sleep(busy)  # the command may have started meanwhile, and the loop does not know it yet
    call.cancel()
    await until(call.done)
    assert call.cancelled()
    assert running(tmp_path) == []


@pytest.mark.usefixtures("short_grace")
async def test_one_call_does_not_end_what_another_has_started(tmp_path: Path):
    said: list[str] = []
    waiting = "sleep 1000 & echo started; while [ ! -e go ]; do sleep 0.05; done; kill -0 $! && echo alive"
    other = asyncio.create_task(bash(tmp_path, waiting, report=said.append))
    await until(lambda: "started" in "".join(said))
    await bash(tmp_path, "setsid sleep 1000 & sleep 1000 & true")
    await bash(tmp_path, "sleep 1000", timeout=0.2)
    await bash(tmp_path, "kill -9 $PPID; sleep 1000")
    (tmp_path / "go").touch()
    assert (await other).text == "started\nalive\n[1 process was still running and was stopped]"
    assert running(tmp_path) == []


@pytest.mark.usefixtures("short_grace")
async def test_a_command_that_kills_what_watches_over_it_is_ended_as_well(tmp_path: Path):
    result = await bash(tmp_path, "setsid sleep 1000 & echo started; kill -9 $PPID; sleep 1000")
    assert result.text == "started\n[stopped early: the process that supervises the command was killed]"
    assert (result.ok, result.exit_code) == (False, 137)
    assert running(tmp_path) == []


async def test_a_command_cannot_end_what_watches_over_it_by_mistake(tmp_path: Path):
    result = await bash(tmp_path, "kill $PPID; kill -INT $PPID; kill -HUP $PPID; kill 0; sleep 1000")
    assert result.text == "(no output)\n[killed by signal 15]"


async def test_nothing_outlives_an_agent_that_is_killed(tmp_path: Path):
    agent = f"""
import asyncio
from pathlib import Path
from tests.tools.shell.calls import bash
asyncio.run(bash(Path({str(tmp_path)!r}), "trap '' TERM; setsid sleep 1000 & touch started; sleep 1000"))
"""
    started = tmp_path / "started"
    process = start(python_process(agent))
    await until(lambda: started.exists() or process.has_ended)
    process.signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert started.exists()
    await until(lambda: running(tmp_path) == [])


def test_only_what_has_the_very_mark_is_ended():
    one, other = (
        subprocess.Popen(["sleep", "1000"], env={**os.environ, MARK: mark}, start_new_session=True)
        for mark in ("abc", "abcd")
    )
    try:
        kill_marked("abc")
        assert one.wait(60) == -signal.SIGKILL
        assert other.poll() is None
        assert list_marked("abcd") == [other.pid]
    finally:
        other.kill()
        other.wait(60)


@pytest.mark.usefixtures("short_grace")
@pytest.mark.parametrize("report", ["0 0 0", "0 0 0\\n", "0", "0 0 0\\n0 0 0\\n"])
async def test_a_report_that_a_command_forged_is_not_believed(tmp_path: Path, report: str):
    forged = f"printf '{report}' > /proc/$PPID/fd/2; kill -9 $PPID"
    result = await bash(tmp_path, f"{forged}; sleep 1000")
    assert (result.ok, result.exit_code) == (False, 137)
    assert "[stopped early: the process that supervises the command was killed]" in result.text
    await until(lambda: running(tmp_path) == [])


async def test_a_forged_report_beside_the_keepers_own_makes_no_failure_a_success(tmp_path: Path):
    result = await bash(tmp_path, "echo '0 0 0' > /proc/$PPID/fd/2; exit 3")
    assert not result.ok and result.exit_code != 0
