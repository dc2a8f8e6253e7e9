"""The command line of bubblewrap, from what a command may use. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headway.tools.sandbox.places import Places, is_inside

NAMESPACES = ("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
BASE = ("--die-with-parent", *NAMESPACES, "--cap-drop", "ALL")
NO_NESTING = "--disable-userns"
"""Not every version has it."""
TEMPORARY = ("/tmp", "/var/tmp")


@dataclass(frozen=True, slots=True)
class StandIns:
    """What takes the place of what is hidden."""

    temporary: str
    """A folder, for `/tmp`."""
    cache: str
    """A folder, for `~/.cache`."""
    empty: str
    """A file without content."""


def bubblewrap_arguments(
    program: str, places: Places, stand_ins: StandIns, *, network: bool, options: Sequence[str] = ()
) -> list[str]:
    """Return the words before the command's own."""
    mounts: list[tuple[str, tuple[str, ...]]] = [
        ("/dev", ("--dev",)),
        ("/proc", ("--proc",)),
        *((path, ("--tmpfs",)) for path in places.private),
        *((path, ("--bind", stand_ins.temporary)) for path in TEMPORARY if path in places.private),
        *((path, ("--ro-bind", path)) for path in places.readable),
        *((path, ("--bind", path)) for path in places.writable),
        *((path, ("--tmpfs",)) for path in places.hidden_folders),
        *((path, ("--ro-bind", stand_ins.empty)) for path in places.hidden_files),
        *((path, ("--ro-bind", path)) for path in places.missing if path not in places.hidden_folders),
        *((link, ("--symlink", target)) for target, link in places.links),
    ]
    if (cache := cache_folder(places)) is not None:
        mounts.append((cache, ("--bind", stand_ins.cache)))
    words = [program, *BASE, *options, *(() if network else ("--unshare-net",)), "--ro-bind", "/", "/"]
    # What is around comes first, since a later mount covers an earlier one.
    for path, option in sorted(mounts, key=lambda mount: mount[0].rstrip("/").count("/")):
        words += [*option, path]
    for path in places.hidden_folders:
        words += ["--remount-ro", path]
    return [*words, "--chdir", places.folder, "--"]


def cache_folder(places: Places) -> str | None:
    """Return where the caches of programs are, if they would be in a folder of which nothing is there."""
    is_hidden = is_inside(places.home, places.private) and not is_inside(places.home, places.writable)
    return f"{places.home}/.cache" if is_hidden else None
