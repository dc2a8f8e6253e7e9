"""What checkpoints leave out although nothing in the project ignores it, and how long they are kept."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass, fields

from headway.tools.files.gitignore import IgnoreRules

CACHES = (
    *("__pycache__/", ".tox/", ".nox/", ".mypy_cache/", ".pytest_cache/", ".ruff_cache/", ".pytype/"),
    *(".ipynb_checkpoints/", ".DS_Store"),
)
"""Made again by whoever needs it: never linked into a worktree, and never worth a word."""
_REMADE = (
    *("*.pyc", "*.pyo", ".coverage", ".coverage.*", ".hypothesis/", "*.egg-info/", ".eslintcache", "*.tsbuildinfo"),
    *(".gradle/", ".parcel-cache/", ".turbo/", ".next/cache/", "Thumbs.db"),
)
"""Made by checks and builds besides; saved where nothing ignores it, and not worth a word where something does."""
_DEPENDENCIES = ("node_modules/", ".venv/", "venv/")
_SECRETS = (
    *(".env*", "!.env.example", "!.env.sample", "!.env.template", "!.env.dist"),
    *("*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx"),
    *("id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "!id_*.pub"),
    *(".netrc", "_netrc", ".pypirc", ".git-credentials", ".htpasswd"),
    *("credentials*.json", "service-account*.json", "service_account*.json"),
)
_MEGABYTE = 1_000_000


def is_cache(path: str) -> bool:
    *folders, name = path.split("/")
    return name in CACHES or any(f"{folder}/" in CACHES for folder in folders)


@dataclass(frozen=True, slots=True)
class CheckpointRules:
    """Files that the user's own git tracks are saved whatever their name, but not whatever their size."""

    exclude: tuple[str, ...] = ()
    """Patterns in the syntax of `.gitignore`, added to the default ones; one with `!` takes files in again."""
    max_file_mb: int = 20
    """Larger files are left out."""
    keep_executions: int = 20
    keep_days: int = 30
    """Checkpoints of executions that are neither among the last ones nor so young are thinned out."""

    @property
    def patterns(self) -> str:
        return "\n".join([*CACHES, *_DEPENDENCIES, *_SECRETS, *self.exclude, ""])

    def to_text(self) -> str:
        """Return them as they are noted in the repository of checkpoints; also what differs between versions."""
        return json.dumps({**asdict(self), "patterns": self.patterns})

    @classmethod
    def parse(cls, text: bytes | None) -> CheckpointRules:
        """Return the rules that were noted; the default ones where nothing usable was."""
        with suppress(ValueError, TypeError, KeyError):
            noted = json.loads(text or b"")
            names = (each.name for each in fields(cls) if each.name != "exclude")
            return cls(tuple(noted["exclude"]), *(int(noted[name]) for name in names))
        return cls()

    @property
    def max_bytes(self) -> int:
        return self.max_file_mb * _MEGABYTE

    @staticmethod
    def rules_for_remade() -> IgnoreRules:
        """Return the rules for ignored files that nobody misses when they are gone."""
        return IgnoreRules("\n".join([*CACHES, *_REMADE]))

    def rules_worth_naming(self) -> IgnoreRules:
        """Return the rules for what is left out though nothing in the project ignores it: all but caches."""
        return IgnoreRules("\n".join([*_DEPENDENCIES, *_SECRETS, *self.exclude, *(f"!{name}" for name in CACHES)]))
