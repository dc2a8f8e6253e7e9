"""Where a project is, which of its sessions is meant, and how the parts are put together into a session."""

from __future__ import annotations

import os

from headway.core.errors import HeadwayError
from headway.core.log import open_logs
from headway.core.text import sanitize_for_display
from headway.session import DEFAULT_SESSION
from headway.session import check_session_name as check_session_name
from headway.store.folder import FOLDER as FOLDER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from headway.core.store import SessionInfo, Store
    from headway.session import Session, SessionStore

FILE = "headway.db"
IN_MEMORY = "HEADWAY_IN_MEMORY"
"""Set for the commands of an agent whose session no other process can see."""
IN_SANDBOX = "HEADWAY_IN_SANDBOX"
"""Set for commands in the sandbox, which the project's `.headway` is hidden from."""


def open_session(
    project: str | os.PathLike[str] = ".", session: str = DEFAULT_SESSION, *, memory: bool = False
) -> Session:
    """A session of the project in this folder. Nothing is written before the first change, with `memory` never."""
    return open_store(project, memory=memory).session(session)


def list_sessions(project: str | os.PathLike[str] = ".") -> list[SessionInfo]:
    """Return the sessions of the project in this folder, the most recently changed first."""
    store = open_store(project)
    try:
        return store.sessions()
    finally:
        store.close()


def open_store(project: str | os.PathLike[str] = ".", *, memory: bool = False) -> SessionStore:
    if memory:
        from headway.store.memory import MemoryStore

        return MemoryStore()
    from headway.adoption import is_adopted
    from headway.store.opening import refuse_unusual
    from headway.store.sqlite import SqliteStore

    file = os.path.join(headway_folder(project), FILE)
    refuse_unusual(file)
    return open_logs.share_store(file, lambda: SqliteStore(file, is_adopted=is_adopted))


def headway_folder(project: str | os.PathLike[str]) -> str:
    """The folder `.headway` of the project, whether or not it is there; never a link."""
    root = _absolute(project)
    if not os.path.isdir(root):
        raise HeadwayError(
            f"There is no folder '{sanitize_for_display(root, 300)}'; create it or name another project."
        )
    folder = os.path.join(root, FOLDER)
    refuse_link(root, folder, "folder")
    return folder


def refuse_link(root: str, path: str, kind: str) -> None:
    """Refuse a link among Headway's own files: also within the project, it may lead to the user's repository."""
    if os.path.islink(path):
        real = os.path.realpath(root)
        out = "" if os.path.commonpath([real, os.path.realpath(path)]) == real else " that leads out of the project"
        raise HeadwayError(f"'{sanitize_for_display(path, 300)}' is a link{out}; replace it with a {kind}.")


def _absolute(path: str | os.PathLike[str]) -> str:
    try:
        return os.path.abspath(os.fspath(path))
    except FileNotFoundError:
        raise HeadwayError("The current folder no longer exists; change to one that does.") from None


def project_folder_of(session: Session) -> str | None:
    """The folder of a session's project; None for a session that is kept in memory."""
    path: str | None = getattr(session.store, "path", None)
    return None if path is None else os.path.dirname(os.path.dirname(path))


def find_project(environ: Mapping[str, str], start: str = ".") -> str:
    """HEADWAY_PROJECT, else the nearest folder upward with `.headway` or `.git`, else the folder itself.

    The search ends at the home folder and at folders of other users: what is there is not for every project below.
    """
    if named := environ.get("HEADWAY_PROJECT"):
        return _absolute(named)
    here = folder = _absolute(start)
    home = home_folder(environ)
    while not any(os.path.lexists(os.path.join(folder, marker)) for marker in (FOLDER, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder or os.path.realpath(parent) == home or not _is_in_users_folders(parent):
            return here
        folder = parent
    return folder


def home_folder(environ: Mapping[str, str]) -> str:
    """Return the user's home folder, without links: HOME, else the one of their account."""
    if os.path.isabs(named := environ.get("HOME", "")):
        return os.path.realpath(named)
    try:
        from pwd import getpwuid

        return os.path.realpath(getpwuid(os.geteuid()).pw_dir)
    except (ImportError, KeyError):  # Windows; an account without an entry, as in some containers
        return os.path.realpath(os.path.expanduser("~"))


def _is_in_users_folders(folder: str) -> bool:
    try:
        return not hasattr(os, "geteuid") or os.stat(folder).st_uid == os.geteuid()
    except OSError:
        return False


def find_project_of_list(environ: Mapping[str, str]) -> str:
    """As `find_project`, for a command on the list. Raises where an agent keeps that out of reach."""
    if environ.get(IN_SANDBOX):
        raise HeadwayError(
            "A command in the sandbox cannot reach the list; call TodoWrite on a line of its own, not as part of "
            "another command."
        )
    if environ.get(IN_MEMORY):
        raise HeadwayError(
            "The agent keeps this list in memory; call TodoWrite on a line of its own, not as part of another command."
        )
    return find_project(environ)


def choose_session_name(store: Store, environ: Mapping[str, str], named: str | None = None) -> str:
    """The session named, else HEADWAY_SESSION, else the project's current one, else `default`."""
    if named is not None:
        return named
    return environ.get("HEADWAY_SESSION") or store.current() or DEFAULT_SESSION
