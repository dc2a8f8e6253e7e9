"""A question of a run in a terminal: its text, and what the line typed after it means."""

from __future__ import annotations

from dataclasses import replace

from headway.core.exact_text import exact_in_ascii
from headway.core.text import neutralize_lines
from headway.tools.approvals import Answer, Reply
from headway.tools.base import Preview
from headway.views.terminal import to_visible


def to_printable(preview: Preview, *, ascii: bool) -> Preview:
    """Return the question in characters that the terminal has, none of which stands for another one."""
    if not ascii:
        return preview
    line, command, diff = (text and exact_in_ascii(text) for text in (preview.line, preview.command, preview.diff))
    return replace(preview, line=line or "", command=command, diff=diff)


def question_text(preview: Preview) -> str:
    """Return all that a person approves, as it is printed."""
    details = (line for text in preview.details for line in neutralize_lines(text).split("\n"))
    return "\n".join([f"? {to_visible(preview.line)}", *(f"    {line}" for line in details)])


def parse_reply(line: str, *, in_sandbox: bool = False) -> Answer | None:
    """The answer that a line means; None if it means none. To a command in the sandbox there is one more."""
    word, _, rest = line.strip().partition(" ")
    match word.lower().rstrip(",:"), bool(rest.strip()):
        case ("y" | "yes" | "是", False):
            return Answer(Reply.ONCE)
        case ("a" | "always" | "总是", False):
            return Answer(Reply.ALWAYS)
        case ("o" | "offline", False) if in_sandbox:
            return Answer(Reply.OFFLINE)
        case ("n" | "no" | "否" | "不", _):
            return Answer(Reply.NO, rest.strip())
        case _:
            return None
