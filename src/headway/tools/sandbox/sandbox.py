"""`open_sandbox` returns the sandbox there is; it says how commands start, and puts things right around each."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from glob import glob

from headway.core.errors import HeadwayError
from headway.core.text import sanitize_for_display
from headway.project import IN_SANDBOX
from headway.tools.effects import Mode
from headway.tools.sandbox.places import Places, find_places, is_inside, split_worktree
from headway.tools.sandbox.use import SandboxUse

# The command line of bubblewrap, from what a command may use. Pure.

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


# The profile of macOS's `sandbox-exec`, from what a command may use. Pure. The last rule that fits decides.

_DEVICES = ("/dev/null", "/dev/zero", "/dev/tty", "/dev/dtracehelper", "/dev/fd")


def seatbelt_profile(places: Places, *, temporary: str, network: bool) -> str:
    """Return the rules under which a command runs; `temporary` is its folder for temporary files."""
    lines = ["(version 1)", "(allow default)"]
    lines += [] if network else ["(deny network*)"]
    lines += ["(deny file-write*)", *_rules("deny file-read*", places.private)]
    lines += _rules("allow file-read-metadata", (places.home,))
    layers = [(path, "allow file-read*", "deny file-write*") for path in places.readable]
    layers += [(path, "allow file-read*", "allow file-write*") for path in (*places.writable, temporary)]
    layers += [(path, "deny file-read*", "deny file-write*") for path in (*places.hidden_folders, *places.hidden_files)]
    layers += [(path, "deny file-write*", "allow file-read*") for path in places.missing]
    for path, *rules in sorted(layers, key=lambda layer: layer[0].count("/")):
        for rule in rules:
            lines += _rules(rule, (path,))
    lines += _rules("allow file-write*", _DEVICES)
    # A folder that holds what is protected cannot be moved away.
    kept = (*places.hidden_folders, *places.writable)
    lines += [f"(deny file-write-unlink (literal {_quote(path)}))" for path in kept]
    lines += [f"(deny file-write* (literal {_quote(path)}))" for path in places.forbidden]
    return "\n".join([*lines, ""])


def _rules(rule: str, paths: Iterable[str]) -> list[str]:
    return [f"({rule} (subpath {_quote(path)}))" for path in paths]


def _quote(path: str) -> str:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


# Which sandbox this system offers: found out once, by running something in it.

BUBBLEWRAP = "bubblewrap"
SEATBELT = "sandbox-exec"
_FOLDERS = ("/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin")
"""Where the program is looked for: on the PATH, a project may have put something in front of it."""
_PATIENCE = 10.0


@dataclass(frozen=True, slots=True)
class Available:
    """What can be used, or why nothing can."""

    name: str = ""
    program: str = ""
    options: tuple[str, ...] = ()
    problem: str = ""
    """Why there is none, as the end of a sentence; nothing if there is one."""


@cache
def find_sandbox() -> Available:
    if os.geteuid() == 0:
        return Available(problem="root could leave it; use an ordinary account")
    if sys.platform == "darwin":
        return _find_seatbelt()
    program = _find_program("bwrap")
    if program is None:
        return Available(problem="bubblewrap is not installed (for example 'apt-get install bubblewrap')")
    said = ""
    for options in ((NO_NESTING,), ()):
        start = [program, *BASE, *options, "--unshare-net", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
        said = _try([*start, "--tmpfs", "/tmp", "--", "/bin/true"])
        if not said:
            return Available(BUBBLEWRAP, program, options)
    return Available(problem=f"bubblewrap does not work here ({said})")


def _find_seatbelt() -> Available:
    program = _find_program("sandbox-exec")
    if program is None:
        return Available(problem="sandbox-exec is not there")
    said = _try([program, "-p", "(version 1)(allow default)(deny network*)", "/usr/bin/true"])
    return Available(SEATBELT, program) if not said else Available(problem=f"sandbox-exec does not work here ({said})")


def _find_program(name: str) -> str | None:
    paths = (os.path.join(folder, name) for folder in _FOLDERS)
    return next((path for path in paths if os.access(path, os.X_OK)), None)


def _try(command: list[str]) -> str:
    """Run a command that does nothing; return what is wrong, or nothing."""
    try:
        done = subprocess.run(command, capture_output=True, timeout=_PATIENCE, check=False, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired) as error:
        return sanitize_for_display(str(error), 200)
    said = done.stderr.decode(errors="replace").strip() or f"exit code {done.returncode}"
    return "" if done.returncode == 0 else sanitize_for_display(said.splitlines()[-1], 200)


_PREFIX = "headway-sandbox-"
_YOUNG = 60.0
"""Seconds in which a new folder may not be locked yet."""
_TEMPORARY_VARIABLES = ("TMPDIR", "TMP", "TEMP")
_DENIALS = re.compile(
    r"read-only file system|permission denied|operation not permitted|could not resolve|network is unreachable"
    r"|name resolution|name or service not known|connection refused|couldn't connect|EROFS|EACCES|EAI_AGAIN|ENOTFOUND",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A sandbox that works here."""

    available: Available
    further: tuple[str, ...] = ()
    """Paths that commands can read besides."""
    own: tuple[str, ...] = ()
    """Folders of Headway's own, which they cannot."""

    @property
    def name(self) -> str:
        return self.available.name

    @contextmanager
    def around(self, folder: str, environ: dict[str, str], *, network: bool) -> Generator[Sequence[str]]:
        """Return the words before a command that runs in a folder, with what it needs as long as it runs.

        `environ` is what the command is given, and is made to fit.
        """
        with _hold_repository(folder) as is_last, self._around(folder, environ, is_last, network=network) as words:
            yield words

    @contextmanager
    def _around(
        self, folder: str, environ: dict[str, str], is_last: Callable[[], bool], *, network: bool
    ) -> Generator[Sequence[str]]:
        places = find_places(folder, environ, further=self.further, own=self.own)
        temporary = _temporary_folder()
        environ[IN_SANDBOX] = "1"
        for name in _TEMPORARY_VARIABLES:
            environ.pop(name, None)
        if self.name == SEATBELT:
            environ["TMPDIR"] = os.path.join(temporary.path, "tmp")
            profile = seatbelt_profile(places, temporary=temporary.path, network=network)
            words = [self.available.program, "-p", profile]
        else:
            stand_ins = temporary.stand_ins()
            _make_mount_points(places, stand_ins)
            words = bubblewrap_arguments(
                self.available.program, places, stand_ins, network=network, options=self.available.options
            )
        with _guarded(places, is_last):
            yield words

    def explain_failure(self, output: str, network: bool) -> str | None:
        """Return a line for the model about a command that failed, if the sandbox may be why."""
        if not _DENIALS.search(output):
            return None
        reach = "only the project and temporary files can be written, and the home folder is hidden"
        return f"[ran in a sandbox: {reach if network else f'there is no network, {reach}'}]"


def open_sandbox(use: SandboxUse | str, further: Iterable[str] = (), own: Iterable[str] = ()) -> Sandbox | None:
    """Return the sandbox for commands; None where there is none or it is off. Raises if it is on and there is none."""
    use = SandboxUse(use)
    if use is SandboxUse.OFF:
        return None
    found = find_sandbox()
    if not found.problem:
        return Sandbox(found, tuple(further), tuple(own))
    if use is SandboxUse.ON:
        raise HeadwayError(f"The setting 'sandbox' is on, but there is no sandbox: {found.problem}; or set it to auto.")
    return None


def describe_sandbox(use: SandboxUse | str, mode: str = "") -> str:
    """Say in what commands run, and what becomes of the mode `sandboxed` where there is no sandbox."""
    use, found = SandboxUse(use), find_sandbox()
    if use is not SandboxUse.OFF and not found.problem:
        return f"Commands run in a sandbox ({found.name})."
    why = "the setting 'sandbox' is off" if use is SandboxUse.OFF else found.problem
    asks = " The mode sandboxed therefore asks as default does." if mode == Mode.SANDBOXED else ""
    return f"Commands run without a sandbox: {why}.{asks}"


@contextmanager
def _hold_repository(folder: str) -> Generator[Callable[[], bool]]:
    """Hold the project's repository while a command runs there; what is yielded says whether no other command does.

    Not the project's folder, which is locked for a moment where a file in it is written.
    """
    git = os.path.join(split_worktree(os.path.realpath(folder))[0], ".git")
    try:
        held = os.open(git, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:  # there is none
        yield lambda: True
        return

    def is_last() -> bool:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(held, fcntl.LOCK_SH)
        yield is_last
    finally:
        os.close(held)


@contextmanager
def _guarded(places: Places, is_last: Callable[[], bool]) -> Generator[None]:
    """Have in place what a command must not make itself, and remove what nobody else would have made."""
    made: list[str] = []
    for path in places.missing:
        with suppress(OSError):
            os.mkdir(path, 0o700)
            made.append(path)
    try:
        yield
    finally:
        for path in made if made and is_last() else ():  # with the folder, what covers it in another sandbox would go
            with suppress(OSError):  # someone else is using it by now
                os.rmdir(path)
        for path in places.forbidden:
            with suppress(OSError):
                os.unlink(path)


class _Temporary:
    """A folder for the temporary files of commands, as long as this process lasts."""

    def __init__(self) -> None:
        _remove_left_behind()
        self.path = os.path.realpath(tempfile.mkdtemp(prefix=_PREFIX))
        for name in ("tmp", "cache"):
            os.mkdir(os.path.join(self.path, name), 0o700)
        with open(os.path.join(self.path, "empty"), "xb"):
            pass
        lock = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.process = os.getpid()
        weakref.finalize(self, _remove, self.path, lock, self.process)

    def stand_ins(self) -> StandIns:
        return StandIns(*(os.path.join(self.path, name) for name in ("tmp", "cache", "empty")))


@cache
def _folder_of_process(process: int) -> _Temporary:
    return _Temporary()


def _temporary_folder() -> _Temporary:
    return _folder_of_process(os.getpid())


def _remove(path: str, lock: int, process: int) -> None:
    if os.getpid() == process:  # and not a fork of it
        shutil.rmtree(path, ignore_errors=True)
        os.close(lock)


def _remove_left_behind() -> None:
    """Remove what processes left that were killed."""
    for path in glob(os.path.join(tempfile.gettempdir(), f"{_PREFIX}*")):
        with suppress(OSError):
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                about = os.fstat(lock)
                if about.st_uid == os.geteuid() and about.st_ctime < time.time() - _YOUNG:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(lock)


def _make_mount_points(places: Places, stand_ins: StandIns) -> None:
    """Make the folders on which others are mounted in what commands share; a command may have put links there."""
    bases = {path: stand_ins.temporary for path in TEMPORARY if path in places.private}
    if (cache := cache_folder(places)) is not None:
        bases = {cache: stand_ins.cache, **bases}
    paths = (*places.readable, *places.writable, *places.hidden_folders, *([cache] if cache is not None else ()))
    for path in paths:
        base = next((base for base in bases if is_inside(path, (base,)) and path != base), None)
        if base is None:
            continue
        parts = os.path.relpath(path, base).split("/")
        at = bases[base]
        for part in parts if os.path.isdir(path) else parts[:-1]:
            at = os.path.join(at, part)
            _make_real_folder(at)
        if not os.path.isdir(path) and os.path.islink(file := os.path.join(at, parts[-1])):
            os.unlink(file)


def _make_real_folder(path: str) -> None:
    with suppress(FileNotFoundError):
        if stat.S_ISDIR(os.lstat(path).st_mode):
            return
        os.unlink(path)
    os.mkdir(path, 0o700)
