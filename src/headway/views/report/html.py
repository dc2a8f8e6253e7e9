"""The report as one page that needs nothing else: no script, no server, no network. Pictures are in it as SVG.

`page.html` and `page.css` are its frame. Every text from outside goes through `escape_text`.
"""

from __future__ import annotations

from functools import partial
from importlib import resources
from string import Template
from typing import TYPE_CHECKING

from headway.views.pictures import drawing
from headway.views.pictures.drawing import escape_text, to_svg
from headway.views.pictures.graph import Node, draw_graph
from headway.views.pictures.timeline import (
    Axis,
    Bar,
    Lane,
    describe_bars,
    draw_timeline,
    format_offset,
    legend,
    select_longest,
)
from headway.views.report import wording
from headway.views.report.wording import (
    IN_PROGRESS,
    format_count,
    format_duration,
    format_id,
    format_reason,
    format_text,
    format_time,
    todo_kind,
    todo_mark,
)
from headway.views.run_summary import format_money

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from headway.views.report.model import Attempt, CriticalPath, Execution, ManualWork, Report, TodoReport, WorkPeriod
    from headway.views.report.wording import AgentRun, Fact, Note

MOST_ITEMS = 1_000
MOST_NOTES = 200
MOST_RUNS = 200
MOST_PICTURES = 20
MOST_ATTEMPTS = 20
"""Of one todo."""
_CONTENT = 600
_STRIP = (
    ("done", "✓", "verified"),
    ("reported", "✓?", "not verified"),
    ("running", "●", "in progress"),
    ("blocked", "✗", "blocked"),
    ("quiet", "○", "not done"),
)
_NUMBERS = ("Took", "Rounds", "Calls", "Tokens", "Cost")
_TAGS = {
    "failed": ("blocked", "Failed"),
    "interrupted": ("quiet", "Interrupted"),
    "conflict": ("conflict", "Conflict"),
    "retried": ("running", "Tried again"),
    "undone": ("quiet", "Rolled back"),
    "dropped": ("quiet", "Dropped"),
}


def report_html(report: Report) -> str:
    """Return the whole page."""
    frame = resources.files("headway.views.report")
    if report.items or report.runs or report.dropped:
        parts = (_attention(report), _timelines(report), _dependencies(report), _todos(report.items), _runs(report))
        sections = "".join(text for part in parts for text in part)
    else:
        sections = f'<section><p class="soft">{wording.EMPTY}</p></section>'
    return Template(frame.joinpath("page.html").read_text("utf-8")).substitute(
        title=escape_text(format_text(report.plan.title if report.plan else report.session)),
        style=drawing.STYLE + frame.joinpath("page.css").read_text("utf-8"),
        session=escape_text(format_id(report.session)),
        agent="" if report.agent == "main" else f" · agent {_bdi(format_id(report.agent))}",
        time=format_time(report.generated_at),
        figures="".join([*_figures(wording.summarize(report)), *_strip(report.items)]),
        sections=sections,
    )


def _bdi(text: str) -> str:
    """Return a text whose direction does not affect what is around it."""
    return f"<bdi>{escape_text(text)}</bdi>"


def _time(at: str) -> str:
    return f"<time>{format_time(at)}</time>"


def _section(name: str, heading: str, count: str, parts: Iterable[str]) -> Iterator[str]:
    yield f'<section aria-labelledby="{name}"><div class="head"><h2 id="{name}">{heading}</h2>'
    yield f'<span class="count">{count}</span></div>'
    yield from parts
    yield "</section>\n"


def _more(number: int, noun: str) -> Iterator[str]:
    if number > 0:
        yield f'<p class="left">… {number:,} {noun}</p>'


# the summary


def _figures(facts: Sequence[Fact]) -> Iterator[str]:
    if not facts:
        return
    yield '<dl class="figures">'
    for fact in facts:
        detail = f'<dd class="detail">{escape_text(fact.detail)}</dd>' if fact.detail else ""
        yield f'<div><dt>{fact.name}</dt><dd class="value">{escape_text(fact.value)}</dd>{detail}</div>'
    yield "</dl>"


def _strip(todos: Sequence[TodoReport]) -> Iterator[str]:
    """Draw the progress as a line in proportion."""
    if not todos:
        return
    kinds = [todo_kind(todo) for todo in todos]
    parts = [(kind, mark, word, kinds.count(kind)) for kind, mark, word in _STRIP if kind in kinds]
    yield '<div class="strip" aria-hidden="true">'
    yield from (f'<span class="k-{kind}" style="flex:{count}"></span>' for kind, _, _, count in parts)
    yield '</div><ul class="key">'
    yield from (f'<li class="k-{kind}"><b>{mark}</b> {count:,} {word}</li>' for kind, mark, word, count in parts)
    yield "</ul>"


def _attention(report: Report) -> Iterator[str]:
    notes = wording.attention_notes(report)
    if notes:
        rows = ['<ul class="notes">', *map(_note, notes[:MOST_NOTES]), "</ul>", *_more(len(notes) - MOST_NOTES, "more")]
        yield from _section("attention", "Needs attention", f"{len(notes):,}", rows)


def _note(note: Note) -> str:
    kind, word = _TAGS[note.kind]
    return (
        f'<li class="k-{kind}"><span class="tag">{note.mark} {word}</span><div>'
        f'<p class="what">{_bdi(note.subject)}</p><p class="why">{_bdi(note.text)}</p></div></li>'
    )


# pictures


def _timelines(report: Report) -> Iterator[str]:
    """Draw each execution, each run that worked on todos, and what was worked on otherwise; in order of time."""
    parts: list[tuple[str, Callable[[], Iterator[str]]]] = [
        (each.started_at, partial(_execution, number, each, report)) for number, each in enumerate(report.executions, 1)
    ]
    parts += [
        (each.run.started_at, partial(_run_timeline, each, report))
        for each in wording.agent_runs(report)
        if each.run.timeline and each.execution is None
    ]
    if report.by_hand:
        parts.append((report.by_hand.started_at, partial(_manual_work, report.by_hand, report)))
    if not parts:
        return
    drawn = sorted(parts, key=lambda part: part[0])[-MOST_PICTURES:]
    texts = [*_more(len(parts) - MOST_PICTURES, "earlier"), *(text for _, draw in drawn for text in draw())]
    count = format_count(len(report.executions), "execution") if report.executions else ""
    yield from _section("timeline", "Timeline", count, texts)


def _execution(number: int, execution: Execution, report: Report) -> Iterator[str]:
    yield f'<div class="part"><h3>Execution {number}: {escape_text(execution.outcome or IN_PROGRESS)}</h3>'
    facts = " · ".join([format_time(execution.started_at), *wording.execution_facts(execution)])
    yield f'<p class="facts">{escape_text(facts)}</p>'
    notes = [_path_caption(chain) for chain in [wording.format_path(execution.critical_path)] if chain]
    notes += map(escape_text, filter(None, (wording.execution_error(execution), format_reason(execution.note or ""))))
    for undone in execution.rolled_back[:20]:
        notes.append(f"↶ {escape_text(format_id(undone.item_id))} was rolled back at {_time(undone.at)}")
    title = f"Timeline of execution {number}"
    yield from _figure(f"e{number}", title, execution.timeline, report, _critical(execution.critical_path), notes)
    yield "</div>"


def _run_timeline(agent_run: AgentRun, report: Report) -> Iterator[str]:
    number, run, _ = agent_run
    yield f'<div class="part"><h3>Run {number}: {escape_text(format_text(run.task or "continued", 100))}</h3>'
    yield f'<p class="facts">{_time(run.started_at)} · {escape_text(run.reason or IN_PROGRESS)}</p>'
    yield from _figure(f"r{number}", f"Timeline of run {number}", run.timeline, report)
    yield "</div>"


def _manual_work(work: ManualWork, report: Report) -> Iterator[str]:
    yield f'<div class="part"><h3>Outside of runs</h3><p class="facts">{_time(work.started_at)}</p>'
    yield from _figure("h", "Timeline outside of runs", work.timeline, report)
    yield "</div>"


def _critical(path: CriticalPath | None) -> tuple[str, ...]:
    """Return the ids of a path of more than one todo."""
    return path.item_ids if path and len(path.item_ids) > 1 else ()


def _path_caption(path: str) -> str:
    return f'<span class="path">Critical path</span> {escape_text(path)}'


def _figure(
    name: str,
    title: str,
    periods: Sequence[WorkPeriod],
    report: Report,
    critical: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> Iterator[str]:
    if not periods:
        yield from (f'<p class="left">{note}</p>' for note in notes)
        return
    todos = {todo.id: todo for todo in report.items}
    dropped = {todo.id: todo.content for todo in report.dropped}
    lanes: dict[int, list[Bar]] = {}
    for period in sorted(periods, key=lambda period: period.lane):
        bar = _bar(period, todos.get(period.item_id), dropped.get(period.item_id, ""))
        lanes.setdefault(period.lane, []).append(bar)
    drawn = select_longest([Lane(str(number), bars) for number, bars in lanes.items()])
    left_out = len(periods) - sum(len(lane.bars) for lane in drawn)
    seconds = max(period.end for period in periods)
    picture = draw_timeline(
        drawn,
        Axis([(0.0, seconds)]),
        format_offset,
        name=name,
        title=title,
        description=describe_bars(drawn, seconds, left_out),
        critical=critical,
    )
    yield f'<figure class="chart"><div class="wide" tabindex="0" role="region" aria-label="{title}">'
    yield f'{to_svg(picture)}</div><figcaption><ul class="key">'
    for kind, mark, word in legend(drawn):
        yield f'<li class="k-{kind}"><b>{mark}</b> {escape_text(word)}</li>'
    if critical:
        yield '<li><b class="path">▁</b> critical path</li>'
    yield "</ul>"
    yield from (f"<p>{note}</p>" for note in notes)
    if left_out:
        yield f"<p>{left_out:,} shorter work periods are not shown.</p>"
    yield "</figcaption></figure>"


def _bar(period: WorkPeriod, todo: TodoReport | None, content: str) -> Bar:
    mark = wording.outcome_mark(period)
    if todo is not None:
        content = todo.content
        if period.outcome == todo.status == "completed":
            mark = todo_mark(todo)
    text = f"{mark} {format_id(period.item_id)}{f': {format_text(content)}' if content else ''} — "
    text += f"attempt {period.place}{', alone' if period.alone else ''}, {wording.outcome_text(period)}, "
    text += f"from {format_duration(period.start)} to {format_duration(period.end)}"
    return Bar(period.item_id, period.start, period.end, mark, period.outcome, text, period.place, content)


def _dependencies(report: Report) -> Iterator[str]:
    nodes = [
        Node(
            todo.id,
            todo_mark(todo),
            todo_kind(todo),
            todo.content,
            todo.depends_on,
            format_duration(todo.worked_seconds) if todo.worked_seconds is not None else "",
        )
        for todo in report.items
    ]
    critical = _critical(report.critical_path)
    graph = draw_graph(nodes, name="g", title="Dependency graph", critical=critical)
    if graph.picture is None:
        return
    size = f"width:{graph.width}px;min-width:{round(graph.width * 0.8)}px;max-width:100%;height:auto"
    graph.picture.attributes["style"] = size
    captions = {
        _path_caption(wording.format_path(report.critical_path)): critical,
        f"Not shown: {format_count(graph.left_out, 'more item')} with dependencies.": graph.left_out,
        f"Not shown: {format_count(graph.edges_left_out, 'more arrow')}.": graph.edges_left_out,
        f"Without dependencies: {format_count(graph.alone, 'item')}.": graph.alone,
    }
    parts = [
        '<div class="part"><figure><div class="wide" tabindex="0" role="region" aria-label="Dependency graph">',
        f"{to_svg(graph.picture)}</div><figcaption>",
        *(f"<p>{caption}</p>" for caption, is_needed in captions.items() if is_needed),
        "</figcaption></figure></div>",
    ]
    yield from _section("graph", "Dependencies", format_count(graph.drawn, "item"), parts)


# tables


def _table(heading: str, rows: Iterable[str]) -> Iterator[str]:
    yield f'<table class="stack"><thead><tr>{heading}'
    yield from (f'<th scope="col" class="n">{name}</th>' for name in _NUMBERS)
    yield "</tr></thead><tbody>"
    yield from rows
    yield "</tbody></table>"


def _number_cells(*cells: str) -> str:
    named = zip(_NUMBERS, cells, strict=True)
    return "".join(f'<td class="n" data-name="{name.lower()}">{cell}</td>' for name, cell in named)


def _todos(todos: Sequence[TodoReport]) -> Iterator[str]:
    if todos:
        heading = '<th scope="col"><span class="unseen">State</span></th><th scope="col">Item</th>'
        rows = [*_table(heading, map(_todo, todos[:MOST_ITEMS]))]
        rows += _more(len(todos) - MOST_ITEMS, "more items; headway report --format json has them all")
        yield from _section("items", "Items", f"{len(todos):,}", rows)


def _todo(todo: TodoReport) -> str:
    calls = f"{todo.tool_calls:,}" if todo.tool_calls else ""
    if todo.failed_calls:
        calls += f'<span class="bad">{todo.failed_calls:,} failed</span>'
    numbers = _number_cells(
        wording.todo_duration(todo),
        f"{todo.rounds:,}" if todo.rounds else "",
        calls,
        f"{todo.usage.tokens:,}" if todo.usage.tokens else "",
        format_money(todo.usage.cost) if todo.usage.tokens else "",
    )
    name = f'<span class="id">{_bdi(format_id(todo.id))}</span>{_bdi(format_text(todo.content, _CONTENT))}'
    return (
        f'<tr class="k-{todo_kind(todo)}"><td class="mark"><span aria-hidden="true">{todo_mark(todo)}</span></td>'
        f'<td class="whole">{name}{"".join(_todo_details(todo))}</td>{numbers}</tr>\n'
    )


def _todo_details(todo: TodoReport) -> Iterator[str]:
    by = f" · set by {_bdi(format_id(todo.set_by))}" if todo.set_by else ""
    needs = f" · needs {_bdi(wording.format_files(todo.depends_on))}" if todo.depends_on else ""
    yield f'<p class="more">{wording.todo_state(todo)}{by}{needs}</p>'
    yield _detail("Files", wording.format_files(todo.files))
    yield _detail("Not merged", wording.unmerged_files(todo), " (ignored, copied or linked)")
    yield _detail("Its last attempt’s folder", wording.last_worktree(todo))
    yield _detail("Evidence", wording.evidence_text(todo))
    if output := wording.check_output(todo):
        yield f'<pre class="more">{"<br>".join(map(escape_text, output))}</pre>'
    yield _detail("Check", wording.check_text(todo))
    yield _detail("Error", format_reason(todo.error or ""), kind="more wrong")
    yield _detail("Notes", wording.todo_notes(todo))
    if len(todo.attempts) > 1:
        yield '<ol class="tries">'
        yield from (f"<li>{_attempt(attempt)}</li>" for attempt in todo.attempts[-MOST_ATTEMPTS:])
        yield "</ol>"


def _detail(name: str, text: str, remark: str = "", kind: str = "more") -> str:
    return f'<p class="{kind}"><b>{name}</b>{remark} {_bdi(text)}</p>' if text else ""


def _attempt(attempt: Attempt) -> str:
    took = f" after {format_duration(attempt.seconds)}" if attempt.seconds is not None else ""
    alone, again = ", alone" if attempt.alone else "", ", tried again" if attempt.again else ""
    why = f": {_bdi(format_reason(attempt.reason))}" if attempt.reason else ""
    outcome = f"{wording.outcome_mark(attempt)} {escape_text(attempt.outcome or IN_PROGRESS)}"
    return f"Attempt {attempt.place}{alone} {outcome}{took}{again}{why}"


def _runs(report: Report) -> Iterator[str]:
    runs = wording.agent_runs(report)
    if runs:
        rows = [*_table('<th scope="col">Run</th>', map(_run, runs[-MOST_RUNS:]))]
        rows += _more(len(runs) - MOST_RUNS, "earlier runs")
        if rest := wording.format_unattributed(report.unattributed):
            rows.append(f'<p class="left">Of what all runs took, {rest}</p>')
        others = len(report.runs) - len(runs)
        count = f"{len(runs):,}{f' and {others:,} by sub-agents' if others else ''}"
        yield from _section("runs", "Runs", count, rows)


def _run(agent_run: AgentRun) -> str:
    number, run, execution = agent_run
    numbers = _number_cells(
        format_duration(run.seconds) if run.seconds is not None else IN_PROGRESS,
        f"{run.rounds:,}",
        f"{run.tool_calls:,}",
        wording.format_tokens(run.usage),
        format_money(run.usage.cost),
    )
    which = f" · execution {execution}" if execution else ""
    about = f"{_time(run.started_at)} · {_bdi(format_id(run.model))} · {escape_text(run.reason or IN_PROGRESS)}{which}"
    error = f'<p class="more wrong">{_bdi(format_reason(run.error))}</p>' if run.error else ""
    return (
        f'<tr><td class="whole"><span class="id">{number}</span>{_bdi(format_text(run.task or "continued"))}'
        f'<p class="more">{about}</p>{error}</td>{numbers}</tr>\n'
    )
