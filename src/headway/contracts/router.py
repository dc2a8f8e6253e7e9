"""Decides whether a command line given to an agent's `bash` tool is an agent command or one for a real shell.

An agent command is one simple command whose first word is `TodoWrite`: it needs no approval, is not tracked as work and
starts no process. So is one with broken quotes, which is answered with how to write it. Everything else goes to the
shell, where the installed script of the same name answers.
"""

from __future__ import annotations

import re

from headway.contracts.shared_rules import NAME
from headway.contracts.shell_words import find_quote_fault, is_unquoted_json, split_words

_TRAILER = re.compile(r"(?<!\\)(?:[ \t]+2>&1(?:[ \t]*;)?|[ \t]*;)$")
"""What models write behind a command, and what changes nothing: both streams are in the answer anyway."""


def find_agent_command(line: str) -> str | None:
    """The text after `TodoWrite` if the line is an agent command, else None."""
    if NAME not in line:
        return None
    line = _TRAILER.sub("", line.rstrip(" \t\n"))
    parsed = split_words(line)
    if not parsed.words or parsed.words[0] != NAME:
        return None
    args = line[parsed.first_end :].strip()
    for_shell = parsed.needs_shell or (parsed.patterns and not is_unquoted_json(args))
    # What no shell could read is answered here: there it would only ask for approval in order to fail.
    return None if for_shell and find_quote_fault(args) is None else args
