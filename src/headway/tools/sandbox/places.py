"""What a command in the sandbox can read and write: looked up on disk, decided here for every kind of sandbox."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from headway.project import FOLDER, home_folder

# What of a git repository a command can write: all but what makes git run something the next time a person uses it.

_LARGEST = 100_000


@dataclass(frozen=True, slots=True)
class GitPlaces:
    writable: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()
    """In what is writable, what is not."""
    missing: tuple[str, ...] = ()
    """Folders that would be run from if they were there."""
    forbidden: tuple[str, ...] = ()
    """Files that are not there, and from which git would take further settings."""


def find_git_places(git: str, *, owner: str | None = None) -> GitPlaces:
    """Return what is writable of the repository of a `.git`; of a worktree's folder that `owner` names.

    `.git` itself becomes a place of its own, so that nobody can move it away and make another one.
    """
    if _is_folder(git):
        protected = (git,) if owner is None else (git, owner)
        return _of_folder(git, protected) if _is_file(os.path.join(git, "config")) else GitPlaces(readable=protected)
    if not _is_file(git):
        return GitPlaces()
    linked = _linked_worktree(git)
    return GitPlaces(readable=(git,)) if linked is None else linked


def _of_folder(git: str, protected: tuple[str, ...]) -> GitPlaces:
    inside = [os.path.join(git, name) for name in ("config", "config.worktree", "modules", "worktrees")]
    hooks = os.path.join(git, "hooks")
    readable = [path for path in (*inside, hooks) if _is_folder(path) or _is_file(path)]
    return GitPlaces(
        (git,),
        (*protected[1:], *readable),
        () if os.path.lexists(hooks) else (hooks,),
        _not_there(git, "commondir", "config.worktree"),
    )


def _linked_worktree(git: str) -> GitPlaces | None:
    """A worktree of the user's own: its repository is elsewhere, and must say that this is one of its worktrees."""
    named = re.fullmatch(r"gitdir: ([^\n]+)\n?", _read(git))
    if named is None:
        return None
    folder = os.path.realpath(os.path.join(os.path.dirname(git), named[1]))
    common = os.path.realpath(os.path.join(folder, _read(os.path.join(folder, "commondir")).strip()))
    back = os.path.join(folder, _read(os.path.join(folder, "gitdir")).strip())
    if os.path.dirname(folder) != os.path.join(common, "worktrees") or os.path.realpath(back) != os.path.realpath(git):
        return None
    if not _is_file(os.path.join(common, "config")):
        return None
    shared = _of_folder(common, (common,))
    own = [path for name in ("commondir", "gitdir", "config.worktree") if _is_file(path := os.path.join(folder, name))]
    forbidden = (*shared.forbidden, *_not_there(folder, "config.worktree"))
    return GitPlaces((*shared.writable, folder), (git, *shared.readable, *own), shared.missing, forbidden)


def _not_there(folder: str, *names: str) -> tuple[str, ...]:
    return tuple(path for name in names if not os.path.lexists(path := os.path.join(folder, name)))


def _read(file: str) -> str:
    with suppress(OSError), open(file, encoding="utf-8", errors="surrogateescape") as opened:
        return opened.read(_LARGEST)
    return ""


def _is_file(path: str) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def _is_folder(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


WORKTREES = "worktrees"
CHECKPOINTS = "checkpoints"
_OUTPUTS = "outputs"
_PRIVATE = ("/home", "/root", "/run", "/tmp", "/var/tmp")
"""Folders with what belongs to people, and the sockets of services."""
_OF_HOME = (
    *(".gitconfig", ".config/git/config", ".config/git/ignore", ".config/git/attributes"),
    *(".local/bin", ".local/lib", ".local/share/uv", ".local/share/pipx", ".local/share/mise", ".local/share/pnpm"),
    *(".pyenv", ".asdf", ".rye", ".conda", "miniconda3", "anaconda3", "miniforge3", "mambaforge", ".config/pip"),
    *(".nvm", ".fnm", ".volta", ".bun", ".deno", ".local/share/fnm", ".cache/ms-playwright", ".cache/puppeteer"),
    *(".cargo", ".rustup", "go", ".rbenv", ".rvm", ".gem", ".sdkman", ".m2/repository", ".ghcup", ".opam", ".dotnet"),
    *(".nix-profile", ".cache/pypoetry/virtualenvs", ".local/share/virtualenvs"),
)
"""Of the home folder, what languages and their tools keep there. Everything else in it is hidden."""
_FOLDER_VARIABLES = (
    *("VIRTUAL_ENV", "PYENV_ROOT", "CONDA_PREFIX", "NVM_DIR", "VOLTA_HOME", "BUN_INSTALL", "PNPM_HOME", "JAVA_HOME"),
    *("GOPATH", "GOROOT", "CARGO_HOME", "RUSTUP_HOME", "GEM_HOME", "RBENV_ROOT", "ASDF_DIR", "ASDF_DATA_DIR"),
    *("SDKMAN_DIR", "DOTNET_ROOT", "UV_PYTHON_INSTALL_DIR", "PLAYWRIGHT_BROWSERS_PATH"),
)
_SECRETS = (
    *(".ssh", ".aws", ".azure", ".gnupg", ".kube", ".docker", ".password-store", ".local/share/keyrings"),
    *(".netrc", ".pgpass", ".my.cnf", ".git-credentials", ".pypirc", ".npmrc", ".yarnrc.yml", ".vault-token"),
    *(".bash_history", ".zsh_history", ".python_history", ".config/gcloud", ".config/gh", ".config/git/credentials"),
    *(".mozilla", ".thunderbird", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware"),
    *(".config/microsoft-edge", ".config/keepassxc", ".config/op", ".config/rclone", ".config/pip/pip.conf"),
    *(".config/hub", ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".claude", ".codex"),
    *("Library/Keychains", "Library/Application Support/Google", "Library/Application Support/Firefox", "Library/Mail"),
    *("Library/Safari", "Library/Cookies"),
)
"""In the home folder, hidden also where the folder around them can be read."""
_MOST_NEIGHBOURS = 1_000


@dataclass(frozen=True, slots=True)
class Places:
    """What a command can use. Paths are absolute and without links; what is deeper outranks what is around it."""

    folder: str
    """Where the command runs."""
    home: str
    private: tuple[str, ...]
    """Folders of which nothing is there, apart from what the others name."""
    readable: tuple[str, ...]
    writable: tuple[str, ...]
    hidden_folders: tuple[str, ...] = ()
    hidden_files: tuple[str, ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    """(target, link): links in a private folder that lead to what is readable."""
    missing: tuple[str, ...] = ()
    """Folders that must be there while the command runs, so that it cannot make them."""
    forbidden: tuple[str, ...] = ()
    """Files that must not be there afterwards."""


def find_places(
    folder: str,
    environ: Mapping[str, str],
    *,
    further: Iterable[str] = (),
    own: Iterable[str] = (),
    private: Sequence[str] = _PRIVATE,
) -> Places:
    """Return what a command may use that runs in a folder: a project, or the worktree of an attempt.

    `further` can be read as well, and `own` are Headway's own folders, which cannot.
    """
    folder = os.path.realpath(folder)
    home = home_folder(environ)
    project, name = split_worktree(folder)
    headway = os.path.join(project, FOLDER)
    finder = _Finder({os.path.realpath(path) for path in (*private, home) if path != "/" and os.path.isdir(path)})
    finder.writable.append(project if name is None else os.path.join(headway, WORKTREES, name))
    for path in (*_programs(environ), *_toolchains(environ), *(os.path.join(home, name) for name in _OF_HOME)):
        if os.path.realpath(path) != f"{home}/.local" and not is_inside(home, (os.path.realpath(path),)):
            finder.show(path)
    for path in further:
        finder.show(os.path.expanduser(path))
    if given := environ.get("HOME"):
        finder.link(os.path.abspath(given))
    if name is None:
        git = find_git_places(os.path.join(project, ".git"))
        finder.read(os.path.join(headway, _OUTPUTS))
    else:
        top, checkpoints = finder.writable[0], os.path.join(headway, CHECKPOINTS)
        git = find_git_places(os.path.join(checkpoints, WORKTREES, name), owner=os.path.join(top, ".git"))
        finder.read(project, f"{top}.modules", os.path.join(checkpoints, "objects"))
    finder.writable += git.writable
    finder.readable += git.readable
    finder.hide(os.path.join(home, secret) for secret in _SECRETS)
    finder.hide(own)
    finder.hide(_other_headways(project))
    hidden = tuple(dict.fromkeys(finder.hidden))
    return Places(
        folder,
        home,
        tuple(sorted(finder.private)),
        tuple(dict.fromkeys(finder.readable)),
        tuple(finder.writable),
        (headway, *(path for path in hidden if os.path.isdir(path))),
        tuple(path for path in hidden if not os.path.isdir(path)),
        tuple(dict.fromkeys(finder.links)),
        (*git.missing, *(() if os.path.lexists(headway) else (headway,))),
        git.forbidden,
    )


def split_worktree(folder: str) -> tuple[str, str | None]:
    """Return the project that a folder belongs to, and the name of the worktree that it is in, if it is in one."""
    project, mark, rest = folder.partition(f"/{FOLDER}/{WORKTREES}/")
    return (project, rest.split("/")[0]) if mark and rest else (folder, None)


def is_inside(path: str, folders: Iterable[str]) -> bool:
    """Return whether a path is one of the folders, or in one."""
    return any(path == folder or path.startswith(f"{folder.rstrip('/')}/") for folder in folders)


class _Finder:
    def __init__(self, private: set[str]) -> None:
        self.private = {path for path in private if not is_inside(path, private - {path})}
        self.readable: list[str] = []
        self.writable: list[str] = []
        self.hidden: list[str] = []
        self.links: list[tuple[str, str]] = []

    def show(self, path: str) -> None:
        """Make a path readable, by its own name too where links lead to it."""
        if os.path.exists(path):
            real = os.path.realpath(path)
            if is_inside(real, self.private) and real not in self.private and not is_inside(real, self.writable):
                self.readable.append(real)
            self.link(path)

    def link(self, path: str) -> None:
        """Keep the link that a path begins with, where it would be hidden."""
        at = "/"
        for part in path.split("/")[1:]:
            at = os.path.join(at, part)
            if os.path.islink(at):
                if is_inside(at, self.private) and not is_inside(at, (*self.readable, *self.writable)):
                    self.links.append((os.path.realpath(at), at))
                return

    def read(self, *paths: str) -> None:
        self.readable += [path for path in paths if os.path.isdir(path) and not os.path.islink(path)]

    def hide(self, paths: Iterable[str]) -> None:
        """Hide what is there and could be seen."""
        for path in paths:
            if os.path.exists(path) and self._is_visible(real := os.path.realpath(path)):
                self.hidden.append(real)

    def _is_visible(self, path: str) -> bool:
        return is_inside(path, (*self.readable, *self.writable)) or not is_inside(path, self.private)


def _programs(environ: Mapping[str, str]) -> Iterable[str]:
    """The folders in which programs are found, and what they need: the prefix that a `bin` is in."""
    yield from (sys.prefix, sys.base_prefix, os.path.dirname(os.path.dirname(os.path.realpath(sys.executable))))
    yield os.path.dirname(os.path.dirname(os.path.dirname(__file__)))  # Headway itself, which watches over commands
    for path in environ.get("PATH", "").split(os.pathsep):
        if not os.path.isabs(path):
            continue
        yield path
        if os.path.basename(path) == "bin":
            yield os.path.dirname(path)
    yield "/etc/resolv.conf"  # often a link to what a service keeps up to date


def _toolchains(environ: Mapping[str, str]) -> Iterable[str]:
    for name in _FOLDER_VARIABLES:
        for path in environ.get(name, "").split(os.pathsep):
            if os.path.isabs(path):
                yield path


def _other_headways(project: str) -> Iterable[str]:
    """The sessions of projects around this one and beside it; whatever is in the home folder is hidden anyway."""
    above = project
    while (parent := os.path.dirname(above)) != above:
        above = parent
        yield os.path.join(above, FOLDER)
    with suppress(OSError), os.scandir(os.path.dirname(project)) as entries:
        for _, entry in zip(range(_MOST_NEIGHBOURS), entries, strict=False):
            if entry.path != project:
                yield os.path.join(entry.path, FOLDER)
