"""Run one command line with the limits of `bash`: its environment, its time, its output as plain text."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from contextlib import nullcontext
from signal import Signals
from typing import TYPE_CHECKING

from headway.core.text import sanitize_for_display
from headway.tools.base import ToolFault
from headway.tools.shell.environment import build_environment
from headway.tools.shell.plain_output import PlainText
from headway.tools.shell.processes import CommandEnding, run_command

if TYPE_CHECKING:
    from headway.tools.base import Context
    from headway.tools.outputs import OutputSpool
    from headway.tools.sandbox.sandbox import Sandbox

TIMED_OUT = 124
"""The exit code of a command that took too long, as `timeout` has it."""


async def run_in_shell(
    command: str,
    folder: str,
    seconds: float,
    context: Context,
    env: Sequence[str],
    spool: OutputSpool,
    sandbox: Sandbox | None = None,
) -> CommandEnding:
    """Run a command line in a folder; its output goes to the spool. Raises `ToolFault` if it cannot be started.

    In a sandbox it has the network only if a person approved the call.
    """
    environ = build_environment(context, env, secrets.token_hex(16))
    output = PlainText(spool.add, context.report)
    try:
        with nullcontext(()) if sandbox is None else sandbox.around(folder, environ, network=context.network) as within:
            ending = await run_command(command, folder, environ, seconds, output.add_bytes, within=within)
    except OSError as error:
        raise ToolFault(_explain(folder, error)) from None
    output.close()
    return ending


def to_exit_code(ending: CommandEnding) -> int:
    if ending.timed_out:
        return TIMED_OUT
    if ending.code is None:
        return 128 + Signals.SIGKILL
    return ending.code if ending.code >= 0 else 128 - ending.code


def _explain(folder: str, error: OSError) -> str:
    if not os.path.isdir(folder):
        return (
            f"The command was not run: the project's folder '{sanitize_for_display(folder, 300)}' "
            "no longer exists; ask the "
            "user about it."
        )
    reason = sanitize_for_display(error.strerror or str(error), 200)
    return f"The command was not run: a process could not be started ({reason}); try again, or ask the user."
