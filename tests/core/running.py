"""A run that a test takes step by step, as the agent's loop would: rounds, calls, facts, an end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from itertools import count

from headway import Event, Session, Status, Todo
from headway.core import execution_events as batch
from headway.core import run_events as facts
from headway.core.events import ListDelta, RunData
from headway.core.log import run_lease_key
from headway.core.model import LOOP, MODEL, TRACKER
from headway.core.run_commands import EndRun, FinishTool, RecordEvents, StartRun
from headway.core.run_events import RoundStarted, RunStarted, TodoListItemProgress, ToolFinished
from headway.core.runs import Run
from headway.core.tracking import TODO_EFFECT, Policy

from .samples import Ticking

SAMPLES: tuple[RunData, ...] = (
    facts.RunStarted(run_id="r1", task="Do it", model="scripted", max_rounds=50, holder="someone"),
    facts.RoundStarted(run_id="r1", round=1, max_rounds=50),
    facts.TextDelta(text="Hel", kind="reasoning", call_id="call-1"),
    facts.ToolStarted(round=1, call_id="call-1", tool="bash", summary="bash make test"),
    facts.ToolFinished(
        round=1,
        call_id="call-1",
        tool="bash",
        ok=True,
        text="ok",
        effect="execute",
        exit_code=0,
        files=("a.py", "b.py"),
        seconds=1.5,
    ),
    facts.TodoListItemProgress(
        item_id="t1", status=Status.IN_PROGRESS, tool_calls_count=2, round=1, tool="bash", ok=True
    ),
    facts.TodoListCompleted(completed_at="2025-01-02T03:04:05.000Z", total_rounds=3, total_tool_calls=12),
    facts.TodoListContextInjected(total_items=5, active_item="t1", round=1),
    facts.TodoEvaluationStarted(item_id="t1", round=2),
    facts.TodoEvaluationCompleted(item_id="t1", round=2, status="completed", reason="It is."),
    facts.ApprovalAsked(
        question_id="q1", tool="bash", effect="execute", line="make test", call_id="call-1", command="make test"
    ),
    facts.ApprovalAnswered(question_id="q1", reply="once", reason="go on"),
    facts.Usage(
        round=1,
        input_tokens=100,
        output_tokens=20,
        cache_read_tokens=80,
        cache_write_tokens=0,
        total_tokens=120,
        total_cost=0.25,
    ),
    facts.RunError(message="It failed.", retry_in=2.5),
    facts.RunControlRequested(request="pause"),
    facts.RunPaused(round=3),
    facts.MessageAdded(message={"kind": "request", "parts": [{"content": "修复"}]}),
    facts.ConversationCompacted(message={"kind": "request"}, kept_from=7),
    facts.RunFinished(run_id="r1", reason="finished", rounds=3, tool_calls=12, error=None),
    batch.ExecutionStarted(
        mode="auto_edit",
        parallel=4,
        total=5,
        retries=2,
        keep_going=True,
        require_evidence=True,
        only="t1",
        checkpoints=True,
        worktrees=True,
        note="no git",
    ),
    batch.AttemptStarted(
        item_id="t1",
        content="Do it",
        agent="t1 #1",
        attempt=2,
        index=1,
        total=5,
        checkpoint="c0ffee",
        in_place=False,
        alone=True,
        estimated_time="45min",
        restored=("a.py",),
        worktree=".headway/worktrees/1",
    ),
    batch.MergeStarted(item_id="t1", before="c0ffee", after="c0ffed"),
    batch.AttemptFinished(
        item_id="t1",
        agent="t1 #1",
        attempt=2,
        outcome="blocked",
        reason="It failed.",
        again=True,
        text="I could not.",
        rounds=3,
        tool_calls=4,
        failed_calls=1,
        input_tokens=100,
        output_tokens=50,
        cached_tokens=20,
        cost=0.5,
        seconds=1.5,
        before="c0ffee",
        after="c0ffed",
        files=("a.py", "文件.txt"),
    ),
    batch.ExecutionFinished(outcome="failed", completed=1, failed=1, total=5, seconds=2.5, failed_items=("t1",)),
    batch.TodosRolledBack(item_id="t1", files=("a.py",), forced=True, saved="c0ffed"),
    batch.FilesReverted(
        cause="undo",
        files=("a.py",),
        saved="c0ffed",
        after="c0ffee",
        removed=(),
        gone=(7,),
        back=(9,),
        executed={"t1": [[7, False, 0, 0, "r1"], [0, False, 0, 0, ""]]},
        step=3,
        previous=2,
        other=1,
        of=6,
    ),
    batch.ModeChanged(mode="default"),
    facts.EvidenceAsked(item_ids=("t1", "t2")),
)
"""One of each kind."""
EFFECTS = {"bash": "execute", "read_file": "read", "write_file": "write", "web_search": "network", "ls": "read"}
AUTO = Policy()
SECONDS = 20.0
"""How long a test waits at most for what takes a moment."""
_numbers = count(1)


class Running:
    """One run of the session's agent. It holds its lease under a name that tells of no process."""

    def __init__(self, session: Session, policy: Policy = AUTO, *, clock: Callable[[], str] | None = None) -> None:
        self.session = session
        self.policy = policy
        self.id = f"run-{next(_numbers)}"
        self.clock = clock or Ticking()

    @property
    def agent(self) -> str:
        return self.session.agent_id

    @property
    def run(self) -> Run:
        run = self.session.run
        assert run is not None
        return run

    # steps

    def begin(self, *, rounds: int = 1, lease: float = 600) -> Running:
        """Begun, with this many rounds begun too."""
        assert self.hold(lease) is None
        start = RunStarted(run_id=self.id, task="Do it", model="scripted", max_rounds=50, holder=self.id)
        self.session.log.execute(lambda state: StartRun(self.agent, LOOP, self.clock(), start))
        for _ in range(rounds):
            self.next_round()
        return self

    def hold(self, seconds: float) -> str | None:
        return self.session.store.hold_lease(self.session.name, run_lease_key(self.agent), self.id, seconds)

    def let_go(self) -> None:
        self.session.store.release_lease(self.session.name, run_lease_key(self.agent), self.id)

    def next_round(self) -> None:
        self.record(RoundStarted(run_id=self.id, round=self.run.round + 1, max_rounds=50))

    def record(self, *what: RunData) -> list[Event]:
        return self.session.log.execute(lambda state: RecordEvents(self.agent, LOOP, self.clock(), self.id, what))[0]

    def call(
        self,
        tool: str = "bash",
        ok: bool = True,
        *,
        denied: bool = False,
        exit_code: int | None = None,
        policy: Policy | None = None,
    ) -> list[Event]:
        """A call that is over, and the events that it brought."""
        call = finished(self.run.round, tool, ok, denied=denied, exit_code=exit_code)
        return self.finish(call, policy)

    def calls(self, *oks: bool) -> None:
        for ok in oks:
            self.call(ok=ok)

    def todo_call(self, *, ok: bool = True, policy: Policy | None = None) -> list[Event]:
        """What the loop records after a todo tool changed the list."""
        call = ToolFinished(
            round=self.run.round,
            call_id=f"call-{next(_numbers)}",
            tool="update_todo_item",
            ok=ok,
            text="",
            effect=TODO_EFFECT,
        )
        return self.finish(call, policy)

    def sets(self, todo_id: str, status: str) -> list[Event]:
        """The model sets a state with its tool."""
        self.session.update(todo_id, actor=MODEL, status=status)
        return self.todo_call()

    def finish(self, call: ToolFinished, policy: Policy | None = None) -> list[Event]:
        return self.session.log.execute(
            lambda state: FinishTool(self.agent, LOOP, self.clock(), self.id, call, policy or self.policy)
        )[0]

    def end(self, reason: str = "finished", error: str | None = None) -> list[Event]:
        made, _ = self.session.log.execute(lambda state: EndRun(self.agent, LOOP, self.clock(), self.id, reason, error))
        self.let_go()
        return made


def finished(round: int, tool: str, ok: bool, *, denied: bool = False, exit_code: int | None = None) -> ToolFinished:
    return ToolFinished(
        round=round,
        call_id=f"call-{next(_numbers)}",
        tool=tool,
        ok=ok,
        text="said",
        denied=denied,
        effect=EFFECTS.get(tool),
        exit_code=exit_code,
        seconds=0.5,
    )


def create(session: Session, *contents: str | dict[str, object]) -> list[Todo]:
    """The list as `create_todo_list` writes it: the loop's to keep."""
    fresh: dict[str, object] = {"status": "pending", "depends_on": (), "notes": None, "interrupted": False}
    todos = [fresh | ({"content": todo} if isinstance(todo, str) else todo) for todo in contents]
    return session.write(todos, replace=True, title="", summary="", actor=MODEL, cause="create").todos


def status(session: Session, todo_id: str = "t1") -> Status:
    return session.todo_list.items[todo_id].status


def statuses(session: Session) -> list[str]:
    return [str(todo.status) for todo in session.todos]


def recorded_on(events: list[Event]) -> str | None:
    """The item that a call was recorded on."""
    return next(event.data.item_id for event in events if isinstance(event.data, ToolFinished))


_KIND_OF_VERB = {
    **dict.fromkeys(("run", "运行测试"), "bash"),
    **dict.fromkeys(("read", "list", "look"), "read_file"),
    **dict.fromkeys(("fix", "delete", "write", "update"), "write_file"),
    "search": "web_search",
}
"""The first word of a todo in these tests → the tool of the kind that it asks for."""


def check_completions(events: Iterable[Event]) -> None:
    """The tracker completes a todo only after a successful call of a matching kind on it, and only as inferred.

    What else completes one is the word of somebody. `events` are those of a whole log.
    """
    texts: dict[tuple[str, str], str] = {}
    successes: dict[tuple[str, str], bool] = {}
    """Agent and todo → whether the last call of a matching kind on it succeeded."""
    for event in events:
        data = event.data
        if isinstance(data, ToolFinished) and data.item_id is not None:
            key = (event.agent, data.item_id)
            wanted = _KIND_OF_VERB.get(texts[key].split()[0].lower())
            reads = data.tool == "ls" or data.command_kind == "reads"
            if wanted == ("read_file" if reads else data.tool):
                successes[key] = data.succeeded and not data.denied
        if not isinstance(data, ListDelta):
            continue
        texts |= {(event.agent, todo.id): todo.content for todo in data.added}
        for todo_id, fields in data.changed.items():
            key = (event.agent, todo_id)
            if "content" in fields:
                texts[key] = str(fields["content"][1])
            if "status" in fields and fields["status"][1] is Status.COMPLETED and event.actor == TRACKER:
                assert successes.get(key), f"{todo_id} was completed without a successful call of a matching kind"
                level = getattr(fields.get("evidence", (None, None))[1], "level", "verified")
                assert level in ("inferred", "verified")
            assert event.actor != LOOP or fields.get("status", (None, None))[1] is not Status.COMPLETED
            if "status" in fields and event.actor not in (TRACKER, LOOP):
                successes.pop(key, None)


def progress(events: list[Event]) -> list[TodoListItemProgress]:
    return [event.data for event in events if isinstance(event.data, TodoListItemProgress)]


def list_changes(events: list[Event]) -> list[Event]:
    return [event for event in events if isinstance(event.data, ListDelta)]


def until(holds: Callable[[], bool], what: str = "what was expected") -> None:
    deadline = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < deadline, f"waited too long for {what}"
        time.sleep(0.005)
