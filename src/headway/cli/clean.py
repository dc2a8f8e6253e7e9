"""`headway clean`: what `.headway` holds, with sizes, and freeing what is asked for."""

from __future__ import annotations

import os
import re
import stat
import sys
from contextlib import suppress
from secrets import token_hex
from typing import TYPE_CHECKING

import click

from headway.cli.options import CommandContext, print_json, with_project_flags
from headway.core.errors import HeadwayError
from headway.core.text import sanitize_for_display
from headway.project import FILE, headway_folder
from headway.views.listing import explain_half_changed, is_half_changed

if TYPE_CHECKING:
    from headway.execute.shadow_repository import ShadowRepository
    from headway.session import SessionStore

PARTS = {
    "checkpoints": "saved files that rollback and diff need",
    "worktrees": "files of unsuccessful attempts, including copies of ignored files",
    "outputs": "tool output that was too long for the model",
    "reports": "HTML reports",
}
"""Folders of `.headway` that can be emptied."""
_LOG = (FILE, f"{FILE}-wal", f"{FILE}-shm")
_REMOVED = "removed-"
_UNITS = {"d": 86_400, "h": 3_600, "w": 7 * 86_400}


class AgeType(click.ParamType[float]):
    """`30d`, `12h` or `2w`, in seconds."""

    name = "age"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found = re.fullmatch(r"(\d{1,6})([dhw])", str(value).strip().lower())
        if found is None:
            self.fail(f"'{sanitize_for_display(value)}' is not a valid age; write it as 30d, 12h or 2w.")
        return float(found[1]) * _UNITS[found[2]]


@click.command()
@click.argument("what", nargs=-1, type=click.Choice([*PARTS]))
@click.option("--all", "everything", is_flag=True, help="Free everything that can be freed.")
@click.option("--older-than", metavar="AGE", type=AgeType(), help="Free only what is older than this: 30d, 12h, 2w.")
@click.option("--dry-run", is_flag=True, help="Show what would be freed, but keep it.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@with_project_flags
def clean(
    chosen: CommandContext, what: tuple[str, ...], everything: bool, older_than: float | None, dry_run: bool, yes: bool
) -> None:
    """Show what .headway contains, or free checkpoints, worktrees, outputs or reports.

    Sessions and settings are never touched; to delete a session, use headway sessions delete.
    """
    folder = headway_folder(chosen.folder())
    parts = [part for part in PARTS if everything or part in what]
    sizes = measure_parts(folder)
    if not parts:
        _print_sizes(chosen, folder, sizes)
        return
    store = chosen.store()
    _refuse_while_in_use(chosen, store, parts)
    if dry_run:
        _print_freed(chosen, {part: sizes[part] for part in parts}, older_than, "Would free")
        return
    if not yes:
        _confirm(parts, older_than)
    for part in parts:
        try:
            free_part(part, folder, store, older_than)
        except OSError as error:
            raise HeadwayError(f"Not all of the {part} could be freed: {error}. Try again.") from None
    left = measure_parts(folder)
    _print_freed(chosen, {part: max(sizes[part] - left[part], 0) for part in parts}, None, "Freed")


def measure_parts(folder: str) -> dict[str, int]:
    """Return how many bytes each part takes on the disk."""
    sizes = {"log": 0, **dict.fromkeys(PARTS, 0), "other": 0}
    for name in _list_entries(folder):
        part = "log" if name in _LOG else name if name in PARTS else "other"
        sizes[part] += _disk_size(os.path.join(folder, name))
    return sizes


def _list_entries(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except FileNotFoundError:
        return []
    except NotADirectoryError:
        raise HeadwayError(f"'{sanitize_for_display(folder, 300)}' is not a folder; move it out of the way.") from None


def _disk_size(path: str) -> int:
    """Return the bytes of a file, or of all in a folder; a file with several names counts once."""
    seen: set[tuple[int, int]] = set()
    total = 0
    queue = [path]
    while queue:
        at = queue.pop()
        with suppress(OSError):
            status = os.lstat(at)
            if stat.S_ISDIR(status.st_mode):
                queue += [entry.path for entry in os.scandir(at)]
            elif (status.st_dev, status.st_ino) not in seen:
                seen.add((status.st_dev, status.st_ino))
                total += status.st_size
    return total


def free_part(part: str, folder: str, store: SessionStore, older_than: float | None) -> None:
    """Empty a part of `.headway`, or what is older in it."""
    from headway.execute import on_disk

    place = os.path.join(folder, part)
    if os.path.islink(place):
        raise HeadwayError(f"'{sanitize_for_display(place, 300)}' is a link, which is not followed; remove it.")
    if part in ("checkpoints", "worktrees"):
        _free_files(part, folder, store, older_than)
    else:
        on_disk.remove_within(place, lambda name: _is_older(os.path.join(place, name), older_than))


def _free_files(part: str, folder: str, store: SessionStore, older_than: float | None) -> None:
    from headway.execute.git import NoCheckpoints
    from headway.execute.shadow_repository import ShadowRepository
    from headway.execute.thinning import thin_out

    try:
        shadow = ShadowRepository(os.path.dirname(folder))
    except NoCheckpoints:  # no git: there is nothing to be thinned out, only to be removed
        shadow = None
    place = os.path.join(folder, "worktrees")
    if part == "checkpoints" and older_than is not None:
        if shadow is not None and os.path.isdir(shadow.repository.folder):
            thin_out(store, shadow, older_than=older_than, at_once=True)
        return
    _remove_worktrees(shadow, place, older_than)
    if part == "checkpoints":  # without them, git in a worktree and the next attempt in it have nothing to work with
        _remove_checkpoints(folder)


def _remove_checkpoints(folder: str) -> None:
    """Remove them under another name: the process of an execution that has just ended may still write into them."""
    from headway.execute import on_disk

    with suppress(FileNotFoundError):
        os.rename(os.path.join(folder, "checkpoints"), os.path.join(folder, f"{_REMOVED}{token_hex(4)}"))
    on_disk.remove_within(folder, lambda name: name.startswith(_REMOVED), in_use=True)


def _remove_worktrees(shadow: ShadowRepository | None, place: str, older_than: float | None) -> None:
    from headway.execute import on_disk

    if shadow is not None:
        shadow.remove_worktrees(lambda name: _is_older(os.path.join(place, name), older_than))
    elif not os.path.islink(place):
        on_disk.remove_within(place, lambda name: _is_older(os.path.join(place, name), older_than))


def _is_older(path: str, older_than: float | None) -> bool:
    import time

    if older_than is None:
        return True
    with suppress(OSError):
        return os.lstat(path).st_mtime < time.time() - older_than
    return True


def _refuse_while_in_use(chosen: CommandContext, store: SessionStore, parts: list[str]) -> None:
    for info in store.sessions():
        session = store.session(info.name)
        run = session.run
        if run is not None and run.is_active:
            raise HeadwayError(
                f"A run is in progress in '{sanitize_for_display(info.name)}'; stop "
                "it or wait until it ends, then try again."
            )
        if "checkpoints" in parts and is_half_changed(session.state, session.agent_id):
            raise HeadwayError(f"{explain_half_changed(chosen.program)} --session={sanitize_for_display(info.name)}")


def _confirm(parts: list[str], older_than: float | None) -> None:
    names = ", ".join(parts)
    if not sys.stdin.isatty():
        raise HeadwayError(f"Freeing {names} cannot be undone; confirm with --yes, or preview it with --dry-run.")
    lost = (
        " Past executions can then no longer be rolled back." if "checkpoints" in parts and older_than is None else ""
    )
    if not click.confirm(f"Free {names}?{lost}"):
        raise HeadwayError("Nothing was freed.")


def _print_sizes(chosen: CommandContext, folder: str, sizes: dict[str, int]) -> None:
    if chosen.json:
        print_json({"folder": folder, "bytes": sizes, "total": sum(sizes.values())})
        return
    lines = {
        "log": "all sessions; never freed by this command",
        **PARTS,
        "other": "settings, the page's address, drafts",
    }
    click.echo(f"{sanitize_for_display(folder, 300)} contains {format_size(sum(sizes.values()))}:\n")
    for part, line in lines.items():
        click.echo(f"  {part:12} {format_size(sizes[part]):>9}  {line}")
    clean_here = chosen.name_command("clean")
    click.echo(f"\nFree space with: {clean_here} checkpoints --older-than=7d, or: {clean_here} --all")


def _print_freed(chosen: CommandContext, freed: dict[str, int], older_than: float | None, verb: str) -> None:
    total = sum(freed.values())
    if chosen.json:
        print_json({"bytes": freed, "total": total, "freed": verb == "Freed"})
        return
    mark = "✅ " if verb == "Freed" else ""
    most = "at most " if older_than is not None else ""
    parts = ", ".join(f"{part} {format_size(size)}" for part, size in freed.items())
    click.echo(f"{mark}{verb} {most}{format_size(total)}: {parts}")


def format_size(size: int) -> str:
    """`1.2 GB`; as disks are sold, in thousands."""
    number = float(size)
    for unit in ("bytes", "kB", "MB"):
        if number < 999.5:
            return f"{number:.0f} {unit}" if unit == "bytes" or number >= 10 else f"{number:.1f} {unit}"
        number /= 1_000
    return f"{number:.1f} GB"
