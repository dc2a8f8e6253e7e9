"""`Session`: what people, programs and models do with a list. Each method sends one command; all state is in the log.

It puts together what is below it: the log and the commands of `core`. `headway.open` and `store.session` return one.
Methods raise `HeadwayError`s, whose texts are fit to be shown.
"""

from __future__ import annotations

from headway.core import commands
from headway.core.clock import now
from headway.core.errors import HeadwayError, ListChanged, TodoNotFound
from headway.core.events import ListDelta
from headway.core.graph import list_ready, list_waiting
from headway.core.log import LogReference
from headway.core.model import FINISHED, MAIN_AGENT, MODEL, PERSON, Todo, TodoList, is_person
from headway.core.recap import format_recap
from headway.core.replace import find_dropped, find_refused_statuses
from headway.core.rules import FULL
from headway.core.run_control import RunControl
from headway.core.stream import Stream
from headway.core.text import sanitize_for_display, trim_text
from headway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from typing import Any, Unpack

    from headway.core.events import Event
    from headway.core.evidence import Evidence
    from headway.core.graph import WaitingTodo
    from headway.core.log import Log
    from headway.core.model import CompletionLog, State, Status
    from headway.core.plans import Plan
    from headway.core.rules import Shape
    from headway.core.store import Store
    from headway.core.todo_fields import NewTodoFields, TodoChanges
    from headway.core.undo import Reverted, Step
    from headway.planner.config import PlannerConfig
    from headway.planner.planner import Planner
    from headway.views.report.model import Report
else:
    Store = object  # as a protocol it would load `typing`

DEFAULT_SESSION = "default"
_LONGEST_LEASE = 366 * 86_400


class Written(Value):
    """What a write did: the list as it now is, and whether it changed.

    `dropped` has the unfinished items that are no longer in it, `detached` an (item, dependency) pair for each
    dependency that was removed because its item was dropped; `refused_statuses` the statuses that were sent and not
    set, by the ids of the items: those kept a state that a person set, or one that the writer's contract cannot say.
    """

    __slots__ = ("changed", "detached", "dropped", "refused_statuses", "todos")

    def __init__(self, todos: list[Todo], changed: bool, dropped: list[Todo], detached: list[tuple[str, str]]) -> None:
        self.todos: list[Todo] = todos
        self.changed: bool = changed
        self.dropped: list[Todo] = dropped
        self.detached: list[tuple[str, str]] = detached
        self.refused_statuses: dict[str, Status] = {}


class Progress(Value):
    """How many todos of a list are completed, finished (completed or cancelled) and open, of `total`."""

    __slots__ = ("completed", "finished", "open", "total")

    def __init__(self, todos: Sequence[Todo]) -> None:
        self.total: int = len(todos)
        self.completed: int = sum(todo.status == "completed" for todo in todos)
        self.finished: int = sum(todo.status in FINISHED for todo in todos)
        self.open: int = self.total - self.finished

    @property
    def fraction(self) -> float:
        """From 0 to 1; an empty list is done."""
        return self.finished / self.total if self.total else 1.0


class Session(Stream, RunControl):
    """One agent's list in one session. `session.agent(name)` gives the list of a sub-agent of the same session.

    It is a context manager, which closes the session at its end.
    """

    def __init__(self, store: SessionStore, name: str = DEFAULT_SESSION, *, clock: Callable[[], str] = now) -> None:
        super().__init__(LogReference(store, check_session_name(name)), MAIN_AGENT)
        self._store, self._clock = store, clock

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<headway.Session {self.name!r} agent={self._agent!r}>"

    # reading

    @property
    def state(self) -> State:
        """The whole state, as the store has it now."""
        return self._log.state()

    @property
    def todo_list(self) -> TodoList:
        """The items by id, with title, summary and times."""
        return self.state.list_of(self._agent)

    @property
    def todos(self) -> list[Todo]:
        return [*self.todo_list.items.values()]

    def get(self, todo_id: str) -> Todo:
        """Return one todo. Raises `TodoNotFound`, which names those that there are."""
        items = self.todo_list.items
        if todo_id not in items:
            raise TodoNotFound(todo_id, items)
        return items[todo_id]

    @property
    def progress(self) -> Progress:
        """How far the list is."""
        return Progress(self.todos)

    @property
    def agents(self) -> list[str]:
        """The names of the agents that have a list in this session, the main agent first."""
        return sorted(self.state.lists, key=lambda name: name != MAIN_AGENT)

    @property
    def plan(self) -> Plan | None:
        return self.state.plan

    @property
    def plan_mode(self) -> bool:
        return self.state.plan_mode

    @property
    def is_planning(self) -> bool:
        """Whether this agent only plans now; plan mode pauses an execution instead."""
        return self.state.is_planning(self.agent_id)

    @property
    def version(self) -> int:
        return self.state.version

    @property
    def updated_at(self) -> str | None:
        return self.todo_list.updated_at

    def recap(self) -> str:
        """Return the list in one short line."""
        return format_recap(self.todos)

    def next_todos(self) -> tuple[list[Todo], list[WaitingTodo]]:
        """Return what can start now, and what cannot, with the reason."""
        items = self.todo_list.items
        now = self._clock()
        return list_ready(items, now), list_waiting(items, now)

    def agent(self, agent_id: str) -> Session:
        """Return the list of a sub-agent of this session."""
        other = Session.__new__(Session)
        Stream.__init__(other, self._opened, _check_name(agent_id, "agent"))
        other._store, other._clock = self._store, self._clock
        return other

    def at(self, version: int) -> Session:
        """Return the session as it was at a version. It can be read like any other, and not be changed."""
        from headway.past_store import PastStore

        if type(version) is not int or not 0 <= version <= self.version:
            raise HeadwayError(
                f"The version must be a whole number from 0 to {self.version}, not {sanitize_for_display(version)}."
            )
        past = Session(PastStore(self._store, self.name, version), self.name, clock=self._clock)
        return past if self._agent == MAIN_AGENT else past.agent(self._agent)

    def report(self, *, generated_at: str | None = None) -> Report:
        """Return the report of this list as data; its `markdown()` and `html()` are for people."""
        from headway.views.report.build import build_report

        state = self.state  # before the log is read: a run whose process is gone is ended by this
        todos = [*state.list_of(self._agent).items.values()]
        return build_report(
            self.events(),
            todos,
            session=self.name,
            agent=self._agent,
            generated_at=generated_at or self._clock(),
            plan=state.plan,
        )

    # changing the list

    def write(
        self,
        todos: object,
        *,
        replace: bool = False,
        title: str | None = None,
        summary: str | None = None,
        actor: str = PERSON,
        expected_version: int | None = None,
        shape: Shape = FULL,
        cause: str = "write",
    ) -> Written:
        """Replace the list; where every item passed has a known id, change only the fields that were passed.

        `replace=True` always replaces. Raises `InvalidTodos` with every violation, and then nothing has changed. With
        an `expected_version`, here and below, raises `ListChanged` if the list has changed since that version.
        """
        about = {name: text for name, text in (("title", title), ("summary", summary)) if text is not None}
        written = self._write(
            lambda state: commands.Write(
                self._agent, _check_name(actor, "actor"), self._clock(), todos, shape, replace, cause, about
            ),
            expected_version,
        )
        run = self.run if actor == MODEL else None
        if (run is not None and run.set_by_user) or any(todo.status not in shape.statuses for todo in written.todos):
            written.refused_statuses = find_refused_statuses(todos, written.todos, shape)
        return written

    def update(
        self,
        todo_id: str,
        *,
        actor: str | None = None,
        expected_version: int | None = None,
        **fields: Unpack[TodoChanges],
    ) -> Todo:
        """Change fields of one item. A worker's change (any actor but a person) of another's item is refused."""
        who = PERSON if actor is None else _check_name(actor, "actor")
        _, todos = self._change(
            lambda state: commands.Update(self._agent, who, self._clock(), todo_id, fields, not is_person(who)),
            expected_version,
        )
        return todos.items[todo_id]

    def advance(
        self,
        *,
        done: Sequence[str] = (),
        start: str | None = None,
        block: Mapping[str, str] | None = None,
        add: Sequence[str] = (),
        drop: Sequence[str] = (),
        actor: str = PERSON,
        expected_version: int | None = None,
    ) -> Written:
        """Finish, start, block (id → why), add and drop items as one change, all of it or nothing.

        Where finishing leaves no item in progress and none is started, the next runnable one is.
        """
        return self._write(
            lambda state: commands.Advance(
                self._agent, _check_name(actor, "actor"), self._clock(), done, start, block, add, drop
            ),
            expected_version,
        )

    def verify(self, todo_id: str) -> Todo:
        """Run the check of a todo in the project, and return the todo with what that shows as its evidence.

        The status stays as it is. Raises `HeadwayError` for a todo without a check.
        """
        # It runs a command, which is the business of the layers above; they are loaded only for this.
        from headway.agent.verify_todos import verify_todo

        return verify_todo(self, todo_id)

    def planner(self, config: PlannerConfig | None = None, *, worker: str | None = None, **options: Any) -> Planner:
        """Return what a loop of your own needs of this list; the options are the fields of `PlannerConfig`.

        With a `worker`'s name the list is shared: each todo is claimed by one of the workers.
        """
        from headway.planner.config import PlannerConfig, make_config
        from headway.planner.planner import Planner

        return Planner(self, make_config(PlannerConfig, config, options), worker)

    def record_check(self, todo_id: str, evidence: Evidence, *, actor: str = PERSON) -> Todo:
        """Keep what the check of a todo showed; undo leaves it alone."""
        _, todos = self._change(
            lambda state: commands.RecordCheck(
                self._agent, _check_name(actor, "actor"), self._clock(), todo_id, evidence
            )
        )
        return todos.items[todo_id]

    def add(
        self,
        content: str,
        *,
        after: str | None = None,
        actor: str = PERSON,
        expected_version: int | None = None,
        **fields: Unpack[NewTodoFields],
    ) -> Todo:
        """Add an item at the end, or after another one."""
        item = {**fields, "content": content}
        events, _ = self._change(
            lambda state: commands.Add(self._agent, _check_name(actor, "actor"), self._clock(), item, after),
            expected_version,
        )
        return _get_delta(events[0]).added[0]

    def move(self, todo_id: str, position: int, *, actor: str = PERSON, expected_version: int | None = None) -> Todo:
        """Move an item to a position, counted from 1."""
        _, todos = self._change(
            lambda state: commands.Move(self._agent, _check_name(actor, "actor"), self._clock(), todo_id, position),
            expected_version,
        )
        return todos.items[todo_id]

    def drop(self, todo_id: str, *, actor: str = PERSON, expected_version: int | None = None) -> Written:
        """Remove an item, and the dependencies on it."""
        return self._write(
            lambda state: commands.Drop(self._agent, _check_name(actor, "actor"), self._clock(), todo_id),
            expected_version,
        )

    def clear(self, *, actor: str = PERSON, expected_version: int | None = None) -> Written:
        """Remove all items, but not the plan. Undo restores them."""
        return self.write([], replace=True, actor=actor, expected_version=expected_version, cause="clear")

    def undo(self, n: int = 1, *, actor: str = PERSON) -> Reverted:
        """Undo the last n changes of the list, whoever made them; return the list as it then is.

        One execution, one rewrite or one edit is one change. Only the list changes: where files were changed too, as
        by an execution or a rollback, they stay as they are, and `keeps_files` of the result is true; todos whose work
        is not in the files stay pending. `headway.execute.undo` undoes both.
        """
        return self._revert("undo", n, actor)

    def redo(self, n: int = 1, *, actor: str = PERSON) -> Reverted:
        """Redo the last n changes that were undone, in the list alone; after a new change there is nothing to redo."""
        return self._revert("redo", n, actor)

    # claiming, for several workers on one list

    def claim(self, actor: str, lease: float = 300) -> Todo | None:
        """Claim the next item that can run for `lease` seconds, and return it; None if there is none."""
        who, seconds = _check_name(actor, "actor"), _check_lease(lease)
        events, todos = self._change(lambda state: commands.Claim(self._agent, who, self._clock(), seconds))
        return todos.items[next(iter(_get_delta(events[0]).changed))] if events else None

    def renew(self, todo_id: str, actor: str, lease: float = 300) -> Todo:
        """Keep a claim for `lease` seconds from now."""
        who, seconds = _check_name(actor, "actor"), _check_lease(lease)
        _, todos = self._change(lambda state: commands.Renew(self._agent, who, self._clock(), todo_id, seconds))
        return todos.items[todo_id]

    def release(self, todo_id: str, actor: str) -> Todo:
        """Give a claimed item back: it is pending again."""
        _, todos = self._change(
            lambda state: commands.Release(self._agent, _check_name(actor, "actor"), self._clock(), todo_id)
        )
        return todos.items[todo_id]

    def work(
        self, actor: str, *, lease: float = 60, wait: bool = False, interval: float = 0.2
    ) -> AbstractContextManager[Todo | None]:
        """Claim the next todo for a `with` block and keep the claim; then complete it, or release it after an error.

        The todo is None if none can run; with `wait`, only once none is open any more. What the block itself sets,
        such as `blocked`, stays.
        """
        from headway.claimed_work import work_on_next

        return work_on_next(self, actor, lease, wait=wait, interval=interval)

    # the plan

    def set_plan(self, plan: Mapping[str, object] | Plan, *, actor: str = PERSON) -> Plan:
        """Make this the session's plan. Raises `InvalidPlan` with every fault, and then nothing has changed."""
        _, state = self._log.execute(
            lambda state: commands.SetPlan(self._agent, _check_name(actor, "actor"), self._clock(), plan)
        )
        assert state.plan is not None
        return state.plan

    def clear_plan(self, *, actor: str = PERSON) -> None:
        """Remove the plan, not the todos."""
        self._change(lambda state: commands.ClearPlan(self._agent, _check_name(actor, "actor"), self._clock()))

    def plan_to_todos(self, *, actor: str = PERSON) -> Written:
        """Replace the list by the plan's steps."""
        return self._write(lambda state: commands.PlanToTodos(self._agent, _check_name(actor, "actor"), self._clock()))

    def set_plan_mode(self, on: bool, *, actor: str = PERSON) -> None:
        self._change(lambda state: commands.SetPlanMode(self._agent, _check_name(actor, "actor"), self._clock(), on))

    def log_completion(self, log: CompletionLog, *, actor: str = PERSON) -> None:
        """Record that a block was written to the completion log."""
        self._change(lambda state: commands.LogCompletion(self._agent, _check_name(actor, "actor"), self._clock(), log))

    # inside

    @property
    def store(self) -> SessionStore:
        """Where the session is kept, with the project's other sessions."""
        return self._store

    @property
    def log(self) -> Log:
        """For the parts of Headway that record runs; everyone else has the methods."""
        return self._log

    def close(self) -> None:
        """End what listens to and follows this session and its sub-agents; the last of a store closes its file.

        Use a `with` block where you can.
        """
        self._opened.close()

    def _change(
        self, make: Callable[[State], commands.Command], expected_version: int | None = None
    ) -> tuple[list[Event], TodoList]:
        def make_if_unchanged(state: State) -> commands.Command:
            changed_in = state.list_of(self._agent).changed_in
            if expected_version is not None and changed_in > expected_version:
                raise ListChanged(expected_version, changed_in)
            return make(state)

        events, state = self._log.execute(make_if_unchanged)
        if events and state.runs:
            from headway.core.run_events import EvidenceAsked

            if isinstance(asked := events[0].data, EvidenceAsked):
                from headway.core.errors import EvidenceMissing

                raise EvidenceMissing(asked.item_ids)
        return events, state.list_of(self._agent)

    def _write(self, make: Callable[[State], commands.Command], expected_version: int | None = None) -> Written:
        events, todo_list = self._change(make, expected_version)
        todos = [*todo_list.items.values()]
        if not events:
            return Written(todos, False, [], [])
        delta = _get_delta(events[0])
        if delta.cause == "update":
            return Written(todos, True, [], [])
        gone, detached = find_dropped(delta, todo_list.items)
        return Written(todos, True, [todo for todo in gone if todo.status not in FINISHED], detached)

    def _revert(self, cause: str, n: int, actor: str) -> Reverted:
        from headway.core.undo import Reverted, find_steps

        if type(n) is not int or n < 1:
            raise HeadwayError(f"The number of changes to {cause} must be 1 or more, not {sanitize_for_display(n)}.")
        who = _check_name(actor, "actor")
        steps: list[Step] = []

        def make(state: State) -> commands.Command:
            steps[:] = find_steps(self.store, self.name, state, self._agent, cause, n)
            return commands.RevertSteps(self._agent, who, self._clock(), cause, steps, [None] * n)

        _, todo_list = self._change(make)
        return Reverted(todo_list.items.values(), steps, keeps_files=any(step.files for step in steps))


class SessionStore(Store):
    """What keeps sessions; `store.session("name")` opens one. Each kind is a module of `headway.store`."""

    def session(self, name: str = DEFAULT_SESSION, *, clock: Callable[[], str] = now) -> Session:
        """Return a session of this store. Nothing is written before its first change."""
        return Session(self, name, clock=clock)


def _get_delta(event: Event) -> ListDelta:
    assert isinstance(event.data, ListDelta)
    return event.data


def check_session_name(name: str) -> str:
    """Return the name without blanks around it. Raise a sentence that says what is wrong with it."""
    cleaned = trim_text(name)
    if not cleaned or len(cleaned) > 200 or not cleaned.isprintable():
        raise HeadwayError("The name of a session must have 1 to 200 printable characters.")
    return cleaned


def _check_name(text: object, what: str) -> str:
    """Return a name from outside: one clean, non-blank line of at most 200 characters."""
    name = " ".join(trim_text(text).split()) if isinstance(text, str) else ""
    if not name or len(name) > 200:
        raise HeadwayError(f"The name of the {what} must have 1 to 200 characters.")
    return name


def _check_lease(seconds: object) -> float:
    if not isinstance(seconds, int | float) or not 0 < seconds <= _LONGEST_LEASE:
        raise HeadwayError(
            f"A lease must be more than 0 and at most {_LONGEST_LEASE} seconds, not {sanitize_for_display(seconds)}."
        )
    return float(seconds)
