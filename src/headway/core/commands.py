"""Commands: what someone asks of a session. Values only; `decide` turns a command into events, or refuses it.

Every command says for which agent's list it is, who asks, and when. Plain classes: they live for one call, and are
defined at every start of a command.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headway.core.evidence import Evidence
    from headway.core.execution_events import FilesReverted
    from headway.core.model import CompletionLog
    from headway.core.rules import Shape
    from headway.core.undo import Step


class Command:
    """What someone asks of a session."""

    def __init__(self, agent: str, actor: str, at: str) -> None:
        self.agent = agent
        self.actor = actor
        self.at = at


class RunCommand(Command):
    """A command about a run; each kind is in `run_commands`, and is loaded only where there are runs."""


class Write(Command):
    """Items as they came; a replacement, or an update of some fields where every id is known and `replace` is off.

    `about` has a new title or summary of the list; what it does not name stays.
    """

    def __init__(
        self,
        agent: str,
        actor: str,
        at: str,
        items: object,
        shape: Shape,
        replace: bool,
        cause: str,
        about: Mapping[str, str | None],
    ) -> None:
        super().__init__(agent, actor, at)
        self.items = items
        self.shape = shape
        self.replace = replace
        self.cause = cause
        self.about = about


class Update(Command):
    """Fields of one item. `as_worker`: the actor speaks as a worker, and the item must not belong to another one."""

    def __init__(
        self, agent: str, actor: str, at: str, todo_id: str, fields: Mapping[str, object], as_worker: bool
    ) -> None:
        super().__init__(agent, actor, at)
        self.todo_id = todo_id
        self.fields = fields
        self.as_worker = as_worker


class Add(Command):
    def __init__(self, agent: str, actor: str, at: str, fields: Mapping[str, object], after: str | None) -> None:
        super().__init__(agent, actor, at)
        self.fields = fields
        self.after = after


class Move(Command):
    """To a position counted from 1."""

    def __init__(self, agent: str, actor: str, at: str, todo_id: str, position: int) -> None:
        super().__init__(agent, actor, at)
        self.todo_id = todo_id
        self.position = position


class RecordCheck(Command):
    """What a todo's check showed when someone had it run."""

    def __init__(self, agent: str, actor: str, at: str, todo_id: str, evidence: Evidence) -> None:
        super().__init__(agent, actor, at)
        self.todo_id = todo_id
        self.evidence = evidence


class Advance(Command):
    """Several steps through the list, together or not at all, as they came. `block` has id → why."""

    def __init__(
        self,
        agent: str,
        actor: str,
        at: str,
        done: object,
        start: object,
        block: object,
        add: object,
        drop: object,
    ) -> None:
        super().__init__(agent, actor, at)
        self.done = done
        self.start = start
        self.block = block
        self.add = add
        self.drop = drop


class TodoCommand(Command):
    """A change that needs nothing but the item it is about."""

    def __init__(self, agent: str, actor: str, at: str, todo_id: str) -> None:
        super().__init__(agent, actor, at)
        self.todo_id = todo_id


class Drop(TodoCommand):
    pass


class Release(TodoCommand):
    pass


class Claim(Command):
    def __init__(self, agent: str, actor: str, at: str, lease: float) -> None:
        super().__init__(agent, actor, at)
        self.lease = lease


class Renew(Command):
    def __init__(self, agent: str, actor: str, at: str, todo_id: str, lease: float) -> None:
        super().__init__(agent, actor, at)
        self.todo_id = todo_id
        self.lease = lease


class RevertSteps(Command):
    """Undo or redo these steps, newest first; `files`: for each of them what became of the project's files."""

    def __init__(
        self,
        agent: str,
        actor: str,
        at: str,
        cause: str,
        steps: Sequence[Step],
        files: Sequence[FilesReverted | None],
    ) -> None:
        super().__init__(agent, actor, at)
        self.cause = cause
        self.steps = steps
        self.files = files


class SetPlan(Command):
    """The plan as it came."""

    def __init__(self, agent: str, actor: str, at: str, plan: object) -> None:
        super().__init__(agent, actor, at)
        self.plan = plan


class ClearPlan(Command):
    pass


class PlanToTodos(Command):
    pass


class SetPlanMode(Command):
    def __init__(self, agent: str, actor: str, at: str, on: bool) -> None:
        super().__init__(agent, actor, at)
        self.on = on


class LogCompletion(Command):
    """A block was written to the completion log."""

    def __init__(self, agent: str, actor: str, at: str, log: CompletionLog) -> None:
        super().__init__(agent, actor, at)
        self.log = log
