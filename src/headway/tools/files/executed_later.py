"""Files that run something later, outside the agent: a change of one is a command that nobody approved."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress

from headway.tools.files.gitignore import IgnoreRules
from headway.tools.files.protected_folders import plain_name

EXECUTED_LATER = (
    # shells, and folders that are entered
    *(".envrc", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".kshrc"),
    *(".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".config/fish/"),
    # editors, hooks and continuous integration
    *(".vscode/", ".idea/", ".devcontainer/", ".husky/", ".githooks/", ".pre-commit-config.yaml", "lefthook.yml"),
    *(".github/workflows/", ".github/actions/", ".gitlab-ci.yml", ".circleci/"),
    # tests and builds
    *("conftest.py", "sitecustomize.py", "usercustomize.py", "*.pth", "pyproject.toml", "setup.py", "setup.cfg"),
    *("tox.ini", "noxfile.py", "Makefile", "GNUmakefile", "*.mk", "justfile", "package.json", ".npmrc", ".yarnrc*"),
    *("build.rs", "build.gradle*"),
    # other agents
    *(".claude/", ".cursor/", ".codex/", ".gemini/", ".opencode/", ".mcp.json", "AGENTS.md", "CLAUDE.md", "GEMINI.md"),
)
"""In the syntax of `.gitignore`. Case and invisible characters are ignored, as some file systems do."""
_WITH_LINKS = ("", ".github")
"""Folders, relative to the project, in which links of such names are looked for."""


class ExecutedLater:
    """The default patterns with further ones; `!pattern` takes files out, and the last pattern that fits decides."""

    def __init__(self, further: Sequence[str] = ()) -> None:
        self._rules = IgnoreRules("\n".join(pattern.casefold() for pattern in (*EXECUTED_LATER, *further)))

    def includes(self, path: str) -> bool:
        """Return whether a file, by its path in the project, is among them, or is in a folder that is."""
        parts = plain_name(path).split("/")
        verdicts = [self._rules.is_ignored("/".join(parts[:depth]) + "/") for depth in range(1, len(parts))]
        verdicts.append(self._rules.is_ignored("/".join(parts)))
        return next((verdict for verdict in reversed(verdicts) if verdict is not None), False)

    def has_link_to(self, root: str, path: str) -> bool:
        """Return whether a link of the project that has such a name leads to the file, or to a folder around it."""
        file = os.path.realpath(os.path.join(root, path))
        for folder in _WITH_LINKS:
            with suppress(OSError), os.scandir(os.path.join(root, folder)) as entries:
                for entry in entries:
                    name = f"{folder}/{entry.name}".lstrip("/")
                    if entry.is_symlink() and (self.includes(name) or self.includes(f"{name}/x")):
                        leads_to = os.path.realpath(entry.path)
                        if file == leads_to or file.startswith(f"{leads_to}{os.sep}"):
                            return True
        return False
