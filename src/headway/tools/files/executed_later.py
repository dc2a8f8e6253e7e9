"""Files that run something later, outside the agent: a change of one is a command that nobody approved."""

from __future__ import annotations

from collections.abc import Sequence

from headway.tools.files.ignored import Ignored

EXECUTED_LATER = (
    # shells, and folders that are entered
    *(".envrc", ".bashrc", ".bash_profile", ".profile", ".zshrc", ".zshenv", ".zprofile"),
    # editors, hooks and continuous integration
    *(".vscode/", ".idea/", ".devcontainer/", ".husky/", ".pre-commit-config.yaml", "lefthook.yml"),
    *(".github/workflows/", ".github/actions/", ".gitlab-ci.yml", ".circleci/"),
    # tests and builds
    *("conftest.py", "sitecustomize.py", "usercustomize.py", "*.pth", "pyproject.toml", "setup.py", "setup.cfg"),
    *("tox.ini", "noxfile.py", "Makefile", "GNUmakefile", "*.mk", "justfile", "package.json", ".npmrc", ".yarnrc*"),
    *("build.rs", "build.gradle*"),
    # other agents
    *(".claude/", ".cursor/", ".codex/", ".gemini/", ".opencode/", ".mcp.json", "AGENTS.md", "CLAUDE.md", "GEMINI.md"),
)
"""In the syntax of `.gitignore`. Case is ignored, as some file systems do."""


class ExecutedLater:
    """The default patterns with further ones; `!pattern` takes files out, and the last pattern that fits decides."""

    def __init__(self, further: Sequence[str] = ()) -> None:
        self._rules = Ignored("\n".join(pattern.casefold() for pattern in (*EXECUTED_LATER, *further)))

    def includes(self, path: str) -> bool:
        """Return whether a file, by its path in the project, is among them, or is in a folder that is."""
        parts = path.casefold().split("/")
        verdicts = [self._rules.verdict("/".join(parts[:depth]) + "/") for depth in range(1, len(parts))]
        verdicts.append(self._rules.verdict("/".join(parts)))
        return next((verdict for verdict in reversed(verdicts) if verdict is not None), False)
