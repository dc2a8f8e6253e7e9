"""Allow patterns for `bash` that allow more than they seem to."""

from __future__ import annotations

from headway.contracts.quoting import split_words
from headway.core.text import shown
from headway.tools.approvals import read_pattern

_EXAMPLES = {
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
_RUN_ANYTHING = frozenset(
    {
        *("bash", "sh", "zsh", "dash", "fish", "env", "xargs", "sudo", "doas", "su"),
        *("nohup", "timeout", "nice", "time", "watch", "ssh", "docker", "podman", "perl", "ruby"),
        *("php", "lua", "node", "deno", "bun", "npx", "pnpm", "yarn", "uv", "uvx"),
        *("pipx", "poetry", "hatch", "tox", "nox", "just", "rake", "gradle", "mvn", "go"),
        *("cargo", "java", "vim", "vi", "emacs", "eval", "exec", "command", "parallel", "screen"),
        *("tmux", "gdb", "man", "less", "more", "cmake", "ninja", "bazel"),
    }
)


def explain_broad(entry: str) -> str | None:
    """Say what an entry of `allow` lets run besides what it seems to; None if it says what it allows."""
    tool, pattern = read_pattern(entry)
    if tool != "bash":
        return None
    words = split_words(pattern or "*").words
    if words in ([], ["*"]):
        return f"'{shown(entry, 100)}' allows every command."
    program = words[0].rpartition("/")[2]
    if len(words) < 2 or words[1] != "*":
        return None
    name = program.rstrip("0123456789.") or program
    if name == "python":
        return _warning(entry, "python -c CODE")
    if name in _EXAMPLES:
        return _warning(entry, _EXAMPLES[name])
    return (
        f"'{shown(entry, 100)}' allows every command, since {program} can run any." if name in _RUN_ANYTHING else None
    )


def _warning(entry: str, example: str) -> str:
    return f"'{shown(entry, 100)}' allows every command, as in: {example}"
