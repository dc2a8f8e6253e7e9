"""`headway plan …`: what a person does with the plan, and plan mode. A plan comes from `create_plan`, or an editor."""

from __future__ import annotations

import errno
import os
import re
import signal
import stat
import sys
import tempfile
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress

import click

from headway.cli.options import CommandContext, HelpfulGroup, print_json, with_session_flags
from headway.cli.output import print_written
from headway.cli.transfer import read_import
from headway.core.errors import HeadwayError, InvalidPlan, NoPlan
from headway.core.model import Status
from headway.core.plans import Plan, to_plan_record
from headway.core.text import neutralize, neutralize_lines, sanitize_for_display
from headway.project import headway_folder, project_folder_of
from headway.session import Session
from headway.store.folder import make_private_folder

DRAFT = "plan-draft.md"
"""In `.headway`: a text that did not become the plan, so that it is not lost."""
MAX_DRAFT = 10_000_000
_NOTE = "<!-- headway: "
_NOTED = re.compile(rf"\A\ufeff?{_NOTE}.*?-->\s*", re.DOTALL)


@click.group(cls=HelpfulGroup)
def plan() -> None:
    """Show or edit the plan, turn it into todos, or switch plan mode on or off.

    \b
    headway plan edit        write one in your editor
    headway plan import plan.md
    headway plan show
    headway plan to-todos    turn its steps into todos
    """


@plan.command()
@with_session_flags
def show(chosen: CommandContext) -> None:
    """Show the plan: its steps, risks and critical path."""
    from headway.views.plan import find_critical_steps, plan_lines

    session = chosen.open()
    current = _require_plan(chosen, session)
    if chosen.json:
        path = [step.id for step in find_critical_steps(current.steps)]
        print_json({**_to_record(session), "critical_path": path})
        return
    click.echo("\n".join(plan_lines(current)))


@plan.command("to-todos")
@with_session_flags
def to_todos(chosen: CommandContext) -> None:
    """Turn the plan's steps into todos.

    They replace the list. The todos that this drops are named, and headway todos undo restores them.
    """
    session = chosen.open()
    current = _require_plan(chosen, session)
    from headway.views.plan import list_todos_of_plan

    begun = [todo for todo in list_todos_of_plan(current, session.todos) if todo.status is not Status.PENDING]
    written = session.plan_to_todos()
    total = len(written.todos)
    line = (
        f'✅ Created {total} {"todo" if total == 1 else "todos"} from plan "{sanitize_for_display(current.title, 200)}"'
    )
    print_written(chosen, session, written, line)
    if not chosen.json:
        if begun:
            what = "1 item that was started or finished is" if len(begun) == 1 else f"{len(begun)} items are"
            click.echo(f"Note: {what} pending again. Undo with: {chosen.name_command('todos undo')}")
        click.echo("Next steps:")
        steps = {"todos list": "list all of them", "todos next": "show what can start now"}
        if session.plan_mode:
            steps["plan off"] = "leave plan mode, which executes nothing"
        steps["todos execute-all"] = "have the agent work on them"
        for words, what in steps.items():
            click.echo(f"  {chosen.name_command(words):26}  {what}")


@plan.command()
@with_session_flags
def on(chosen: CommandContext) -> None:
    """Turn plan mode on, in which nothing is changed.

    The agent reads, searches and plans, but changes no files and runs no commands.
    """
    session = chosen.open(must_exist=False)
    changed = _switch_plan_mode(session, True)
    if chosen.json:
        print_json({**_to_record(session), "changed": changed})
        return
    click.echo(
        f"{'✅ Plan mode is on' if changed else 'Plan mode is already on'}: the agent reads, searches and plans, but "
        "changes no files and runs no commands."
    )
    if changed and session.state.is_executing(session.agent_id):
        click.echo("The execution in this session is paused until plan mode is off.")
    click.echo(f"Leave it with: {chosen.name_command('plan off')}")


@plan.command()
@with_session_flags
def off(chosen: CommandContext) -> None:
    """Leave plan mode.

    The agent may change files and run commands again, subject to your approval.
    """
    session = chosen.open()
    changed = _switch_plan_mode(session, False)
    current = session.plan
    if chosen.json:
        print_json({**_to_record(session), "changed": changed})
        return
    click.echo(
        "✅ Plan mode is off: the agent may change files and run commands, subject to your approval."
        if changed
        else "Plan mode is already off."
    )
    if changed and session.state.is_executing(session.agent_id):
        paused = session.state.is_paused(session.agent_id)
        click.echo(
            "The execution in this session stays paused." if paused else "The execution in this session continues."
        )
    from headway.views.plan import list_todos_of_plan

    if current is not None and not list_todos_of_plan(current, session.todos):
        click.echo(
            f'Turn the plan "{sanitize_for_display(current.title, 200)}" into todos '
            f"with: {chosen.name_command('plan to-todos')}"
        )


@plan.command()
@with_session_flags
def clear(chosen: CommandContext) -> None:
    """Remove the plan and keep the todos."""
    session = chosen.open()
    current = _require_plan(chosen, session)
    session.clear_plan()
    if chosen.json:
        print_json({**_to_record(session), "changed": True})
        return
    click.echo(f'✅ Removed the plan "{sanitize_for_display(current.title, 200)}"; the todos are unchanged')


@plan.command()
@with_session_flags
def edit(chosen: CommandContext) -> None:
    """Write or change the plan in your editor.

    It opens as Markdown in $VISUAL or $EDITOR, and becomes the plan when you save and close it. A text that is not a
    valid plan yet is saved, and opens again the next time with its errors.
    """
    from headway.core.plan_markdown import TEMPLATE, is_blank, plan_to_markdown

    session = chosen.open(must_exist=False)
    before = session.plan
    draft = _Draft(chosen, session)
    kept = draft.read()
    opened = plan_to_markdown(before) if before else TEMPLATE
    if kept is not None:
        opened = _add_faults(kept)
    text = _edit_text(chosen, opened)
    if text is None:
        _print_nothing_done(chosen, session, "The editor ended with an error, so nothing changed.")
    elif is_blank(text):
        draft.remove()
        thrown = ", and the draft was discarded" if kept is not None else ""
        _print_nothing_done(chosen, session, f"The text was empty, so nothing changed{thrown}.")
    elif kept is None and text.rstrip() == opened.rstrip():
        _print_nothing_done(chosen, session, "Nothing changed.")
    else:
        new = _set_plan(chosen, session, before, draft, text, opened)
        draft.remove()
        _print_set(chosen, session, new, before)


@plan.command("import")
@click.argument("path", type=click.Path(allow_dash=True))
@with_session_flags
def import_plan(chosen: CommandContext, path: str) -> None:
    """Make the Markdown in PATH the plan (`-`: standard input); it is written as in the editor."""
    new = Plan.from_markdown(read_import(path, "Markdown"))
    session = chosen.open(must_exist=False)
    before = session.plan
    _print_set(chosen, session, session.set_plan(new), before)


def _set_plan(
    chosen: CommandContext, session: Session, before: Plan | None, draft: _Draft, text: str, opened: str
) -> Plan:
    """Makes the text the plan; one that cannot be is kept, and the error says where."""
    from headway.core.plan_markdown import parse_edited_plan

    body = _NOTED.sub("", text)
    try:
        _refuse_other_encodings(body, opened)
        new = parse_edited_plan(body)
    except InvalidPlan as error:
        raise _FaultyDraft(error.violations, draft.save(body), chosen.name_command("plan edit")) from None
    try:
        if session.plan == before:
            return session.set_plan(new)
    except HeadwayError as error:
        raise HeadwayError(f"{error} Your text is saved in {draft.save(body)}.") from error
    raise HeadwayError(
        "Someone else changed the plan while you edited it, and their version stays; your text is saved in "
        f"{draft.save(body)}, and {chosen.name_command('plan edit')} opens it again."
    )


def _print_set(chosen: CommandContext, session: Session, new: Plan, before: Plan | None) -> None:
    if new == before:
        _print_nothing_done(chosen, session, "Nothing changed.")
    elif chosen.json:
        print_json({**_to_record(session), "changed": True})
    else:
        number = len(new.steps)
        click.echo(
            f'✅ The plan is now "{sanitize_for_display(new.title, 200)}" ({number} '
            f"{'step' if number == 1 else 'steps'})"
        )
        click.echo(f"Turn it into todos with: {chosen.name_command('plan to-todos')}")


class _FaultyDraft(InvalidPlan):
    """A text that is no plan, and where it is kept."""

    def __init__(self, faults: list[str], place: str, command: str) -> None:
        super().__init__(faults)
        lines = "\n".join(f"- {fault}" for fault in faults)
        self.args = (
            f"This is not a valid plan yet, so nothing changed:\n{lines}\nYour text is saved in {place}; {command} "
            "opens it again.",
        )


def _require_plan(chosen: CommandContext, session: Session) -> Plan:
    """The plan, or the end of the command."""
    current = session.plan
    if current is None:
        if chosen.json:
            raise NoPlan
        click.echo("❌ No active plan", err=True)
        click.echo(
            f"Write one with: {chosen.name_command('plan edit')}; or have the agent make one in plan mode: "
            f"{chosen.name_command('plan on')}",
            err=True,
        )
        sys.exit(1)
    return current


def _to_record(session: Session) -> dict[str, object]:
    state = session.state
    return {
        "session": session.name,
        "version": state.version,
        "plan_mode": state.plan_mode,
        "plan": to_plan_record(state.plan) if state.plan else None,
    }


def _switch_plan_mode(session: Session, wanted: bool) -> bool:
    before = session.plan_mode
    session.set_plan_mode(wanted)
    return before != wanted


def _print_nothing_done(chosen: CommandContext, session: Session, line: str) -> None:
    if chosen.json:
        print_json({**_to_record(session), "changed": False})
    else:
        click.echo(line)


# the editor


def _edit_text(chosen: CommandContext, text: str) -> str | None:
    """The text as it was left in the editor; None if that was given up."""
    if chosen.live is not None:
        return chosen.live.edit(text, ".md")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise HeadwayError(f"The editor needs a terminal; run {chosen.name_command('plan edit')} in one.")
    from headway.cli.editor import edit_text

    with _leave_interrupts_to_editor():
        try:
            return edit_text(text, ".md")
        except FileNotFoundError:  # removed instead of saved
            return None


@contextmanager
def _leave_interrupts_to_editor() -> Generator[None]:
    """Ctrl+C reaches both; in an editor it ends a command, not the editing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _refuse_other_encodings(text: str, opened: str) -> None:
    """A text that was saved in another encoding has marks where characters were."""
    if text.count("\ufffd") > opened.count("\ufffd"):
        lines = [number for number, line in enumerate(text.split("\n"), 1) if "\ufffd" in line]
        raise InvalidPlan([f"line {lines[0]}: Not UTF-8 text; save it as UTF-8"])


def _add_faults(draft: str) -> str:
    """The draft with what is wrong with it above, in a comment. Lines are counted as they are then."""
    noted = draft
    for _ in range(2):
        lines = [
            "This text is not the plan yet. Correct and save it, or empty the file to discard it.",
            *_list_faults(noted),
        ]
        noted = f"{_NOTE}{chr(10).join(lines).replace('-->', '-- >')}\n-->\n{draft}"
    return noted


def _list_faults(text: str) -> list[str]:
    from headway.core.plan_markdown import parse_edited_plan

    try:
        parse_edited_plan(text)
    except InvalidPlan as error:
        return error.violations
    return ["No errors were found: if you save this text, it becomes the plan."]


class _Draft:
    """The text that was left when it was no plan yet: private, in the project's folder."""

    def __init__(self, chosen: CommandContext, session: Session) -> None:
        self._path = os.path.join(headway_folder(project_folder_of(session) or chosen.folder()), DRAFT)

    @property
    def path(self) -> str:
        near = os.path.relpath(self._path)
        return neutralize(self._path if near.startswith("..") else near)

    def read(self) -> str | None:
        try:
            handle = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            why = "it is a link" if error.errno == errno.ELOOP else error.strerror
            raise HeadwayError(f"The draft {self.path} could not be read: {why}; move it out of the way.") from error
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise HeadwayError(f"The draft {self.path} is not a file; move it out of the way.")
        with os.fdopen(handle, "rb") as file:
            data = file.read(MAX_DRAFT + 1)
        if len(data) > MAX_DRAFT:
            raise HeadwayError(f"The draft {self.path} is larger than 10 MB; move it out of the way.")
        return data.decode("utf-8-sig", "replace") if data.strip() else None

    def save(self, text: str) -> str:
        """Writes the draft as a whole, somewhere else if it cannot be here. Returns where it is."""
        try:
            make_private_folder(os.path.dirname(self._path))
            os.replace(_write_private(text, os.path.dirname(self._path)), self._path)
            return self.path
        except OSError:
            try:
                return neutralize(_write_private(text, tempfile.gettempdir()))
            except OSError as error:
                raise HeadwayError(
                    f"Your text is not a valid plan yet, and could not be saved ({error.strerror}); copy it from "
                    f"here:\n\n{neutralize_lines(text)}"
                ) from error

    def remove(self) -> None:
        with suppress(OSError):
            os.unlink(self._path)


def _write_private(text: str, folder: str) -> str:
    """A new file of the text that only its owner can read."""
    handle, path = tempfile.mkstemp(dir=folder, prefix="headway-plan-draft-", suffix=".md")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace", newline="") as file:
            file.write(text)
    except OSError:
        os.unlink(path)
        raise
    return path
