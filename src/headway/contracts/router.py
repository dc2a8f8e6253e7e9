"""Decides whether a command line given to an agent's `bash` tool is an agent command or one for a real shell.

An agent command is one simple command whose first word is `TodoWrite`: it needs no approval, is not tracked as work and
starts no process. Everything else goes to the shell, where the installed script of the same name answers.
"""

from __future__ import annotations

from headway.contracts.calls import NAME
from headway.contracts.quoting import is_bare_json, split_words


def agent_command(line: str) -> str | None:
    """The text after `TodoWrite` if the line is an agent command, else None."""
    if NAME not in line:
        return None
    parsed = split_words(line)
    if not parsed.words or parsed.words[0] != NAME or parsed.needs_shell:
        return None
    args = line[parsed.first_end :].strip()
    return None if parsed.patterns and not is_bare_json(args) else args
