"""Which session a command works in: the current one, one that is named, or a new one; and where else todos are open."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

from headway.core.errors import HeadwayError
from headway.core.model import FINISHED
from headway.core.text import sanitize_for_display
from headway.project import check_session_name, choose_session_name

if TYPE_CHECKING:
    from headway.session import SessionStore

_MOST_NAMED = 5


def choose_session(store: SessionStore, named: str | None, *, go_on: bool) -> str:
    """Return the name of the session to work in: the one that was named, else the current one."""
    name = check_session_name(choose_session_name(store, os.environ, named))
    if go_on and not store.version(name):
        raise HeadwayError(f"The session '{sanitize_for_display(name)}' has no conversation to continue.").with_advice(
            "start_conversation"
        )
    return name


def check_unused_name(store: SessionStore, name: str | None, program: str = "headway ") -> str:
    """Return the name, if no session has it yet; without one, a name by the time."""
    if name is None:
        from secrets import token_hex

        from headway.core.clock import format_local_stamp, now

        return f"session-{format_local_stamp(now())}-{token_hex(2)}"
    if store.version(name := check_session_name(name)):
        raise HeadwayError(
            f"A session named '{sanitize_for_display(name)}' already exists; "
            f"switch to it with: {_switch_command(name, program)}"
        )
    return name


def explain_left_behind(store: SessionStore, name: str, program: str = "headway ") -> str | None:
    """Say which todos are open in a session that another one is begun instead of; None if there are none."""
    number = _count_open(store, name)
    if not number:
        return None
    return (
        f"{_count_with_verb(number)} still open in the session '{sanitize_for_display(name)}'; "
        f"switch back with: {_switch_command(name, program)}"
    )


def explain_open_elsewhere(store: SessionStore, name: str, program: str = "headway ") -> str | None:
    """Say in which other sessions than this one todos are open; None if there are none."""
    numbers = {info.name: _count_open(store, info.name) for info in store.sessions() if info.name != name}
    found = [(other, number) for other, number in numbers.items() if number]
    if not found:
        return None
    if len(found) == 1:
        ((other, number),) = found
        return (
            f"{_count_with_verb(number)} open in the session '{sanitize_for_display(other)}'; "
            f"switch to it with: {_switch_command(other, program)}"
        )
    names = ", ".join(f"'{sanitize_for_display(other)}' ({number})" for other, number in found[:_MOST_NAMED])
    more = f" and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
    return f"Other sessions have open todos: {names}{more}; switch to one with: {program}session NAME"


def _count_with_verb(number: int) -> str:
    return "1 todo is" if number == 1 else f"{number:,} todos are"


def _switch_command(name: str, program: str) -> str:
    return f"{program}session {shlex.quote(sanitize_for_display(name))}"


def _count_open(store: SessionStore, name: str) -> int:
    try:
        return sum(todo.status not in FINISHED for todo in store.session(name).todos)
    except HeadwayError:  # one that cannot be read hides no other
        return 0
