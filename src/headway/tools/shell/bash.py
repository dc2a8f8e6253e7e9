"""`bash`: runs a command line in the project's folder, or answers it itself where it is the agent's own `TodoWrite`.

`run_in_shell` runs it. Whether it may run at all is
the executor's business.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from pydantic import Field, field_validator

from headway.contracts.router import find_agent_command
from headway.contracts.shell import run_todo_write
from headway.contracts.shell_words import split_words
from headway.core.exact_text import exact_line, exact_lines
from headway.core.text import sanitize_for_display
from headway.tools.base import Context, Preview, Tool, ToolFault, ToolInput, ToolResult, read_description
from headway.tools.effects import Effect
from headway.tools.files.workspace import Workspace
from headway.tools.shell.run_in_shell import TIMED_OUT, run_in_shell, to_exit_code

if TYPE_CHECKING:
    from headway.tools.sandbox.sandbox import Sandbox
    from headway.tools.shell.processes import CommandEnding

_LONGEST = 100_000
_MOST_BYTES = 131_071
"""Linux takes no longer argument."""
_NOTES = 600
"""Characters of an answer that are left for what is said about the output."""
_EXPANDED = frozenset("*?[{")


class BashInput(ToolInput):
    command: str = Field(max_length=_LONGEST)
    timeout: float | None = Field(default=None, gt=0)

    @field_validator("command")
    @classmethod
    def _runnable(cls, command: str) -> str:
        if not command.strip():
            raise ValueError("Must not be blank")
        if "\0" in command:
            raise ValueError("Must not contain a NUL character")
        if (size := len(command.encode())) > _MOST_BYTES:
            raise ValueError(f"Must have at most {_MOST_BYTES} bytes, received {size}; write it to a file and run that")
        return command


_OTHER_TODO_TOOLS = (
    "TodoWrite is not available in this run and nothing was changed; use the todo tools that you have, if any, and "
    "continue without it."
)


class Bash(Tool[BashInput]):
    name = "bash"
    description = read_description(__file__)
    input = BashInput
    effect = Effect.EXECUTE

    def __init__(
        self,
        workspace: Workspace,
        env: Sequence[str] = (),
        *,
        todo_write: bool = True,
        sandbox: Sandbox | None = None,
    ) -> None:
        self._todo_write = todo_write
        if not todo_write:
            self.description = type(self).description.rpartition("\n")[0]
        self._workspace = workspace
        self.env: tuple[str, ...] = tuple(env)
        self.sandbox = sandbox
        self.folder = workspace.root

    def offering_todo_write(self, offered: bool) -> Bash:
        """The same for a model that is told of TodoWrite, or not."""
        return Bash(self._workspace, self.env, todo_write=offered, sandbox=self.sandbox)

    def effect_of(self, call: BashInput) -> Effect:
        return self.effect if find_agent_command(call.command) is None else Effect.TODO

    async def run(self, call: BashInput, context: Context) -> ToolResult:
        args = find_agent_command(call.command)
        if args is not None:
            return await _run_todo_write(args, context) if self._todo_write else ToolResult(_OTHER_TODO_TOOLS, ok=False)
        seconds = _find_timeout(call, context)
        limit = context.limits.output_chars - _NOTES
        with context.outputs.make_spool(self.name, limit) as spool:
            ending = await run_in_shell(
                call.command, self._workspace.root, seconds, context, self.env, spool, self.sandbox
            )
        code, output = to_exit_code(ending), spool.text()
        lines = [output.rstrip("\n") or "(no output)", *_list_notes(ending, seconds)]
        if code and self.sandbox is not None and (why := self.sandbox.explain_failure(output, context.network)):
            lines.append(why)
        return ToolResult("\n".join(lines), ok=code == 0, exit_code=code, kept=spool.kept)

    async def preview(self, call: BashInput, context: Context) -> Preview:
        _find_timeout(call, context)
        first, *more = call.command.strip().split("\n")
        return Preview(
            f"Run: {sanitize_for_display(exact_line(first), 200)}{' …' if more else ''}",
            command=exact_lines(call.command),
        )

    def runs_in_sandbox(self, call: BashInput) -> bool:
        return self.sandbox is not None

    def subject(self, call: BashInput) -> str:
        return call.command

    def matches(self, pattern: str, call: BashInput) -> bool:
        return covers_command(pattern, call.command)


def covers_command(pattern: str, command: str) -> bool:
    """Return whether an allow pattern covers a command.

    Word by word; a `*` at the end stands for any further words. What only a shell can read is never covered.
    """
    # Only what the shell takes for blanks: other spaces are part of a word.
    pattern, command = pattern.strip(" \t\n"), command.strip(" \t\n")
    if pattern in ("*", command):
        return True
    wanted, given = split_words(pattern), split_words(command)
    if wanted.needs_shell or given.needs_shell or not wanted.words:
        return False
    open_ended = wanted.words[-1] == "*"
    fixed = wanted.words[:-1] if open_ended else wanted.words
    words = given.words[: len(fixed)]
    if len(words) < len(fixed) or (not open_ended and len(given.words) > len(fixed)):
        return False
    if given.patterns and not _EXPANDED.isdisjoint("".join(words)):
        return False  # the shell would put other words in their place
    return all(fnmatchcase(word, want) for word, want in zip(words, fixed, strict=True))


async def _run_todo_write(args: str, context: Context) -> ToolResult:
    if context.session is None:
        raise ToolFault("TodoWrite was not run: this run has no todo list; continue without one.")
    result = await asyncio.to_thread(run_todo_write, context.session, args)
    return ToolResult(
        "\n".join(text for text in (result.stdout, result.stderr) if text),
        ok=result.exit_code == 0,
        exit_code=result.exit_code,
    )


def _find_timeout(call: BashInput, context: Context) -> float:
    limits = context.limits
    if call.timeout is None:
        return limits.bash_seconds
    if call.timeout > limits.bash_seconds_max:
        raise ToolFault(
            f"bash was not run: timeout must be at most {limits.bash_seconds_max:g} seconds, received {call.timeout:g};"
            " use less, or split the work into several commands."
        )
    return call.timeout


def _list_notes(ending: CommandEnding, seconds: float) -> list[str]:
    """What the output does not say, a line each."""
    notes: list[str] = []
    if ending.timed_out:
        notes.append(
            f"[timed out after {seconds:g} s and was stopped, exit code {TIMED_OUT}; set a longer timeout, or run "
            "less at a time]"
        )
    elif ending.code is None:
        notes.append("[stopped early: the process that supervises the command was killed]")
    elif ending.code < 0:
        notes.append(f"[killed by signal {-ending.code}]")
    elif ending.code:
        notes.append(f"[exit code {ending.code}]")
    if ending.ended and not ending.timed_out:
        notes.append(
            f"[{_count_processes(ending.ended)} still running and {'was' if ending.ended == 1 else 'were'} stopped]"
        )
    if ending.left:
        notes.append(f"[{_count_processes(ending.left)} still running and could not be stopped]")
    return notes


def _count_processes(number: int) -> str:
    return "1 process was" if number == 1 else f"{number} processes were"
