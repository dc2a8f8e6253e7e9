"""The page's pictures: dependency graph and timeline of a session, as elements for JSON, with a sentence about them."""

from __future__ import annotations

from collections import OrderedDict
from datetime import datetime, tzinfo
from math import ceil, floor, log2
from threading import Lock
from time import time
from typing import TYPE_CHECKING, Any, NamedTuple
from zoneinfo import ZoneInfo

from headway.core.events import ListDelta
from headway.core.evidence import EvidenceLevel, evidence_level
from headway.core.graph import find_critical_path
from headway.core.model import EXECUTOR, FINISHED, MAIN_AGENT, PERSON, Status, is_person
from headway.views.evidence_words import evidence_mark, evidence_word
from headway.views.pictures.graph import Node, draw_graph
from headway.views.pictures.timeline import Axis, Bar, Lane, Moment, assign_lanes, describe_bars, draw_timeline
from headway.views.report.log_reader import AttemptLog, LogReader, Span, seconds_between
from headway.views.report.wording import (
    OUTCOME_MARKS,
    format_count,
    format_duration,
    format_id,
    format_text,
    status_kind,
    status_mark,
    status_text,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headway.core.events import Event
    from headway.core.model import Todo
    from headway.session import Session, SessionStore

MOST_NODES = 80
MOST_PERIODS = 150
"""Of work and of changes by the person: the last ones are drawn."""
_FOLLOWED = 16
"""Sessions whose logs are kept in mind."""
_NARROWEST, _WIDEST = 300, 20_000
_LEAST = 24.0
"""How wide a short work period is drawn."""
_EARLIER = "earlier"
_NAMES = {EXECUTOR: "Executor", PERSON: "You", _EARLIER: "Earlier"}


# the graph


def graph_record(session: Session, selected: str | None) -> dict[str, Any]:
    """Return the dependency graph; of a long list the part that matters now."""
    todos = session.state.list_of(MAIN_AGENT).items
    edges = {todo.id: [other for other in todo.depends_on if other in todos] for todo in todos.values()}
    unfinished = {todo.id for todo in todos.values() if todo.status not in FINISHED}
    path = find_critical_path(edges, {node: float(node in unfinished or not unfinished) for node in todos})
    critical = [node for node in path if node in unfinished or not unfinished]
    active = [todo.id for todo in todos.values() if todo.status is Status.IN_PROGRESS]
    graph = draw_graph(
        [_node(todo) for todo in todos.values()],
        name="graph",
        title="Dependencies",
        critical=critical,
        centre=[selected, *active] if selected in todos else active,
        most=MOST_NODES,
        selected=selected,
    )
    chain = f"The longest {'unfinished ' if unfinished else ''}chain has {format_count(len(critical), 'item')}"
    about = [f"{chain}, shown in bold." if len(critical) > 1 else f"{format_count(graph.drawn, 'item')}."]
    if graph.left_out:
        also = ", the selected one" if selected in todos else ""
        about.append(
            f"Showing {graph.drawn} of {graph.drawn + graph.left_out} linked items: those in progress{also} and the "
            "longest chain, with their neighbours."
        )
    if graph.edges_left_out:
        about.append(f"{format_count(graph.edges_left_out, 'dependency line')} not shown.")
    if graph.alone:
        verb = "is" if graph.alone == 1 else "are"
        about.append(f"{format_count(graph.alone, 'item')} without dependencies {verb} not shown.")
    return {"picture": graph.picture, "about": " ".join(about)}


def _node(todo: Todo) -> Node:
    level = evidence_level(todo)
    status = status_text(todo.status, level, is_interrupted=todo.interrupted)
    needs = ", ".join(format_id(other) for other in todo.depends_on)
    label = f"{format_id(todo.id)}: {format_text(todo.content, 160)}. {status[0].upper()}{status[1:]}"
    took = seconds_between(todo.started_at, todo.completed_at) if todo.started_at and todo.completed_at else None
    return Node(
        todo.id,
        status_mark(todo.status, level),
        status_kind(todo.status, level),
        todo.content,
        tuple(todo.depends_on),
        "" if took is None else format_duration(took),
        f"{label}, depends on {needs}" if needs else label,
    )


# the timeline


class TimelineView(NamedTuple):
    """What someone who looks at a timeline has for it."""

    width: float
    names: float
    """How much of the width the names take."""
    zone: str | None
    """The name of their time zone."""
    selected: str | None


class _WorkLog:
    """What was done in one session, as far as its log has been read."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.reader = LogReader(MAIN_AGENT)
        self.version = 0
        self.changes: list[tuple[str, int]] = []
        """When the person changed something, and the versions of these events."""

    def follow(self, session: Session) -> None:
        for event in session.events(self.version):
            self.reader.read(event)
            self.version = event.version
            if is_person(event.actor) and _is_change(event):
                self.changes.append((event.at, event.version))


def _is_change(event: Event) -> bool:
    """Return whether it is drawn as a change: not that work begins, which is drawn as a bar."""
    data = event.data
    if not isinstance(data, ListDelta):
        return True
    begins = [sides.get("status", ("", ""))[1] == Status.IN_PROGRESS for sides in data.changed.values()]
    return event.agent == MAIN_AGENT and bool(data.added or data.removed or data.order or not all(begins))


class Timelines:
    """Draws timelines; remembers what it has read of the logs, so that each event is read once."""

    def __init__(self, store: SessionStore) -> None:
        self._store = store
        self._logs: OrderedDict[tuple[str, object], _WorkLog] = OrderedDict()
        self._lock = Lock()

    def record(self, session: Session, view: TimelineView) -> dict[str, Any]:
        identity, _ = self._store.position(session.name)
        with self._lock:
            log = self._logs.setdefault((session.name, identity), _WorkLog())
            self._logs.move_to_end((session.name, identity))
            while len(self._logs) > _FOLLOWED:
                self._logs.popitem(last=False)
        todos = session.state.list_of(MAIN_AGENT).items
        with log.lock:
            log.follow(session)
            return _timeline_record(log, todos, view, time())


class _Work(NamedTuple):
    who: str
    bar: Bar


def _timeline_record(log: _WorkLog, todos: Mapping[str, Todo], view: TimelineView, now: float) -> dict[str, Any]:
    zone = _time_zone(view.zone)
    work = [*_untracked(todos, log.reader), *log.reader.work]
    completions = {period.item_id: period for period in work if period.outcome == Status.COMPLETED}
    drawn = [
        _work(period, todos.get(period.item_id), completions.get(period.item_id) is period, zone, now)
        for period in sorted(work, key=lambda period: period.started_at)[-MOST_PERIODS:]
    ]
    changes = [Moment(_seconds(at), str(version)) for at, version in log.changes[-MOST_PERIODS:]]
    if not drawn and not changes:
        return {"picture": None, "about": ""}
    width = min(max(view.width, _NARROWEST), _WIDEST)
    names = min(view.names, width / 2)
    end = _axis_end(min((each.bar.start for each in drawn), default=now), now)
    spans = [(each.bar.start, each.bar.end if each.bar.outcome else end) for each in drawn]
    axis = Axis([*spans, *((change.at, change.at) for change in changes)], _LEAST / (width - names))
    lanes = _lanes([*drawn], changes)
    seconds = max(end for _, end in spans) - min(start for start, _ in spans) if spans else 0.0
    picture = draw_timeline(
        lanes,
        axis,
        lambda moment: _clock(moment, zone),
        name="timeline",
        title="Who worked on what",
        description=describe_bars(lanes, seconds, len(work) - len(drawn)),
        width=width,
        left=names,
        selected=view.selected,
        is_usable=True,
    )
    about = [f"{format_count(len(drawn), 'work period')}, {format_count(len(changes), 'change')} by you."]
    if axis.idle:
        about.append("Idle periods are shortened.")
    if len(work) > len(drawn):
        about.append(f"Showing only the last {len(drawn)} of {len(work):,} work periods.")
    return {"picture": picture, "about": " ".join(about)}


def _untracked(todos: Mapping[str, Todo], reader: LogReader) -> list[Span]:
    """Return the work on todos that came into the list with their times, as from another list."""
    covered = {period.item_id for period in reader.work}
    return [
        Span(
            todo.id,
            todo.owner or _EARLIER,
            todo.started_at,
            None,
            todo.completed_at or todo.started_at,
            str(todo.status),
        )
        for todo in todos.values()
        if todo.started_at and todo.id not in covered
    ]


def _work(
    period: AttemptLog | Span, todo: Todo | None, is_last_completion: bool, zone: tzinfo | None, now: float
) -> _Work:
    start = _seconds(period.started_at)
    end = max(start, _seconds(period.ended_at) if period.ended_at else now)  # a clock may be set back
    took = format_duration(end - start)
    content = todo.content if todo else ""
    text = f"{format_id(period.item_id)}: {format_text(content, 120)} — {_clock(start, zone)}"
    text += f" to {_clock(end, zone)}, {took}" if period.outcome else f", since {took}"
    mark = OUTCOME_MARKS.get(period.outcome, "●")
    if period.outcome == Status.COMPLETED:  # the evidence of a todo belongs to its last completion
        level = (evidence_level(todo) if todo and is_last_completion else None) or EvidenceLevel.REPORTED
        mark = evidence_mark(level)
        text += f", {evidence_word(level)}"
    who = EXECUTOR if isinstance(period, AttemptLog) else period.agent
    return _Work(who, Bar(period.item_id, start, end, mark, period.outcome, text, period.place, content))


def _lanes(work: Sequence[_Work], changes: Sequence[Moment]) -> list[Lane]:
    lanes: list[Lane] = []
    people = {*(each.who for each in work), *([PERSON] if changes else [])}
    for who in sorted(people, key=lambda who: (who == PERSON, who)):
        name = _NAMES.get(who) or format_text(who)
        bars = [each.bar for each in work if each.who == who]
        numbers = assign_lanes([(bar.start, bar.end) for bar in bars])
        own = [
            Lane(
                "" if number else name,
                [bar for bar, lane in zip(bars, numbers, strict=True) if lane == number],
                (),
                f"{name} {number + 1}" if number else name,
            )
            for number in sorted(set(numbers))
        ]
        if who == PERSON and changes:
            own.append(Lane("" if own else name, (), changes, f"{name}: changes"))
        lanes += own
    return lanes


def _axis_end(start: float, now: float) -> float:
    """Return where an axis ends that goes on: it grows in steps, so that the picture stays the same in between."""
    step = 2.0 ** floor(log2(max(now - start, 1.0) / 16))
    return start + ceil(max(now - start, 0.0) / step) * step


def _seconds(at: str) -> float:
    return datetime.fromisoformat(at).timestamp()


def _clock(moment: float, zone: tzinfo | None) -> str:
    return datetime.fromtimestamp(moment, zone).strftime("%H:%M:%S")


def _time_zone(name: str | None) -> tzinfo | None:
    """Return the time zone of this name; None, the server's own, if it is not known here."""
    try:
        return ZoneInfo(name) if name else None
    except (KeyError, ValueError, OSError):
        return None
