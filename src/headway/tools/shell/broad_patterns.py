"""Allow patterns for `bash` that allow more than they seem to."""

from __future__ import annotations

from headway.contracts.shell_words import split_words
from headway.core.text import sanitize_for_display
from headway.tools.approvals import parse_pattern

_EXAMPLES = {
    "python": "python -c CODE",
    "git": "git -c alias.x='!COMMAND' x",
    "find": "find . -exec COMMAND ;",
    "pytest": "pytest -p MODULE",
    "make": "make --eval=COMMAND",
    "npm": "npm exec PACKAGE",
    "tar": "tar --to-command=COMMAND",
    "rsync": "rsync -e COMMAND",
    "awk": "awk 'BEGIN {system(\"COMMAND\")}'",
    "sed": "sed 'e COMMAND'",
    "pip": "pip install PACKAGE",
}
_WHATEVER_FOLLOWS = frozenset(
    {
        *("find", "pytest", "make", "tar", "rsync", "awk", "sed", "env", "xargs", "sudo", "doas", "su", "nohup"),
        *("timeout", "nice", "time", "watch", "ssh", "vim", "vi", "emacs", "eval", "exec", "command", "parallel"),
        *(
            "screen",
            "tmux",
            "gdb",
            "man",
            "less",
            "more",
            "ninja",
            "bazel",
            "tox",
            "nox",
            "just",
            "rake",
            "gradle",
            "mvn",
        ),
        *("npx", "uvx", "pipx"),
    }
)
"""Programs that run any command by an option or argument, whatever words stand before it."""
_UNLESS_TOLD_WHAT = frozenset(
    {
        *(
            "git",
            "npm",
            "pip",
            "python",
            "bash",
            "sh",
            "zsh",
            "dash",
            "fish",
            "docker",
            "podman",
            "perl",
            "ruby",
            "php",
        ),
        *("lua", "node", "deno", "bun", "pnpm", "yarn", "uv", "poetry", "hatch", "go", "cargo", "java", "cmake"),
    }
)
"""Programs that do so unless a word before says what they do, such as `git log` or `python script.py`."""
_RUNS = frozenset({"run", "exec", "x", "dlx", "install", "eval", "shell"})
"""What they may be told that lets them run any program. (The scripts of `npm run` are the project's own.)"""


def explain_broad(entry: str) -> str | None:
    """Say what an entry of `allow` lets run besides what it seems to; None if it says what it allows."""
    tool, pattern = parse_pattern(entry)
    if tool != "bash":
        return None
    words = split_words(pattern or "*").words or ["*"]
    program = words[0].rpartition("/")[2]
    is_open = words[-1] in _OPEN
    if is_open and any(char in program for char in "*?["):
        return f"'{sanitize_for_display(entry, 100)}' allows every command."
    if not is_open or not _runs_anything(words):
        return None
    if words[1:2] == ["-m"] and len(words) > 3:  # python -m pytest
        program = words[2]
    if example := _EXAMPLES.get(_base_name(program)):
        return f"'{sanitize_for_display(entry, 100)}' allows every command, as in: {example}"
    return f"'{sanitize_for_display(entry, 100)}' allows every command, since {program} can run any."


_OPEN = ("*", "-*", "--*")


def _runs_anything(words: list[str]) -> bool:
    """Return whether a command that goes on after these words, the last of which is open, can be any."""
    name, fixed = _base_name(words[0].rpartition("/")[2]), words[1:-1]
    if name == "python" and fixed[:1] == ["-m"]:
        return len(fixed) == 1 or _runs_anything(words[2:])
    if name in _WHATEVER_FOLLOWS:
        return True
    told = next((word for word in fixed if not word.startswith("-") and word != "*"), None)
    return name in _UNLESS_TOLD_WHAT and (told is None or (told in _RUNS and (name, told) != ("npm", "run")))


def _base_name(program: str) -> str:
    """Return a program's name without its version."""
    return program.rstrip("0123456789.") or program
