"""The `shell` contract: `TodoWrite '{"todos":[…]}'`, answered with text and an exit code.

The same function serves the agent's own `bash` (through `router`) and the console script on the PATH.
"""

from __future__ import annotations

import os

from headway.contracts.limits import max_chars, max_items
from headway.contracts.shared_rules import NAME, apply_call, explain_plan_mode, format_counts, list_notes, shell_shape
from headway.contracts.shell_words import IN_QUOTES, find_quote_fault, is_unquoted_json, split_words
from headway.core.errors import HeadwayError, InvalidTodos
from headway.core.json_text import BadJson, line_and_column, parse_json
from headway.core.text import sanitize_for_display
from headway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headway.session import Session

MISSING = f"Error: Missing JSON parameter\nUsage: {NAME} '{{\"todos\":[...]}}'"
INVALID = (
    "Error: Invalid JSON format\n"
    f'Usage: {NAME} \'{{"todos":[{{"content":"...","activeForm":"...","status":"pending"}}]}}\''
)


class ShellResult(Value):
    """What the command answers; can be unpacked."""

    __slots__ = ("exit_code", "stderr", "stdout")

    def __init__(self, stdout: str, stderr: str, exit_code: int) -> None:
        self.stdout: str = stdout
        self.stderr: str = stderr
        self.exit_code: int = exit_code

    def __iter__(self) -> Iterator[str | int]:
        return iter((self.stdout, self.stderr, self.exit_code))


def help_text() -> str:
    """The command's help, which is also what a model is told about it, with the limits that now apply."""
    with open(os.path.join(os.path.dirname(__file__), "shell.md"), encoding="utf-8") as file:
        text = file.read().strip()
    return text.replace("{max_items}", str(max_items())).replace("{max_chars}", str(max_chars()))


def wants_help(words: Sequence[str]) -> bool:
    return any(word in ("-h", "--help") for word in words[:1])


def run_todo_write(session: Session, args: str, stdin: str | None = None) -> ShellResult:
    """Runs the command on the text that follows its name. JSON that was not quoted at all is taken as it stands."""
    if fault := find_quote_fault(args.strip()):
        at, reason = fault
        return _invalid_json_result(BadJson(reason, *line_and_column(args.strip(), at)))
    if is_unquoted_json(args):
        return run_words(session, [args.strip()], stdin)
    return run_words(session, split_words(args).words, stdin)


def run_words(session: Session, words: Sequence[str], stdin: str | None = None) -> ShellResult:
    """Runs the command on words whose quotes a shell has removed; `-` takes the JSON from `stdin`."""
    if wants_help(words):
        return ShellResult(help_text(), "", 0)
    text = (stdin or "") if list(words) == ["-"] else " ".join(words)
    if not text.strip():
        return ShellResult("", MISSING, 1)
    if len(words) > 1:
        return ShellResult(
            "",
            f"{INVALID}\nAt argument 2 ({sanitize_for_display(words[1])}): the JSON must be one word; {IN_QUOTES}",
            1,
        )
    try:
        if refusal := explain_plan_mode(session):
            return ShellResult("", f"Error: {refusal}", 1)
        written = apply_call(session, parse_json(text), shell_shape())
    except BadJson as error:
        return _invalid_json_result(error)
    except InvalidTodos as error:
        return ShellResult("", "\n".join(["Error: Validation failed", *(f"- {line}" for line in error.violations)]), 1)
    except HeadwayError as error:
        return ShellResult("", f"Error: {error}", 1)
    return ShellResult("\n".join([format_counts(written), *list_notes(written)]), "", 0)


def _invalid_json_result(error: BadJson) -> ShellResult:
    return ShellResult("", f"{INVALID}\nAt line {error.line}, column {error.column}: {error.reason}", 1)
