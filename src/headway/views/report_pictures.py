"""The pictures of a report's page: who worked on what when, what depends on what, and what they do not show."""

from __future__ import annotations

from functools import partial

from headway.views.pictures.drawing import safe
from headway.views.pictures.graph import Graph, Node, dependency_graph
from headway.views.pictures.timeline import Bar, left_out, legend, timeline
from headway.views.report_words import (
    GOES_ON,
    MAX_REASON,
    OUTCOME_MARKS,
    execution_line,
    kind_of_item,
    lasted,
    mark_of,
    moment,
    name_of,
    number_of,
    outcome_of,
    path_of,
    text_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

MOST_PICTURES = 20


def timeline_section(record: Mapping[str, Any]) -> Iterator[str]:
    """A part for each execution, each run that worked on items, and what was worked on otherwise; in order of time."""
    parts: list[tuple[str, Callable[[], Iterator[str]]]] = []
    for number, execution in enumerate(record["executions"], 1):
        parts.append((execution["started_at"], partial(_execution, number, execution, record)))
    executed = {execution["run_id"] for execution in record["executions"]}
    own = [run for run in record["runs"] if run["agent"] == record["agent"]]
    for number, run in enumerate(own, 1):
        if run["timeline"] and run["id"] not in executed:
            parts.append((run["started_at"], partial(_run, number, run, record)))
    if record["by_hand"]:
        parts.append((record["by_hand"]["started_at"], partial(_by_hand, record)))
    if not parts:
        return
    yield '<section aria-labelledby="timeline"><div class="head"><h2 id="timeline">Timeline</h2>'
    count = number_of(len(record["executions"]), "execution") if record["executions"] else ""
    yield f'<span class="count">{count}</span></div>'
    if len(parts) > MOST_PICTURES:
        yield f'<p class="left">… {len(parts) - MOST_PICTURES:,} earlier</p>'
    for _, draw in sorted(parts, key=lambda part: part[0])[-MOST_PICTURES:]:
        yield from draw()
    yield "</section>\n"


def _when(at: str) -> str:
    return f"<time>{safe(moment(at))}</time>"


def _critical(path: Mapping[str, Any] | None) -> list[str]:
    """The ids of a path that is one: of more than an item."""
    ids: list[str] = path["item_ids"] if path else []
    return ids if len(ids) > 1 else []


def _execution(number: int, execution: Mapping[str, Any], record: Mapping[str, Any]) -> Iterator[str]:
    yield f'<div class="part"><h3>Execution {number}: {safe(execution["outcome"] or GOES_ON)}</h3>'
    facts = " · ".join([moment(execution["started_at"]), *execution_line(execution)])
    yield f'<p class="facts">{safe(facts)}</p>'
    path = execution["critical_path"]
    notes = [f'<span class="path">Critical path</span> {safe(chain)}' for chain in [path_of(path)] if chain]
    for text in (execution["error"] if execution["outcome"] != "failed" else "", execution["note"]):
        if text:
            notes.append(safe(text_of(text, MAX_REASON)))
    for undone in execution["rolled_back"][:20]:
        notes.append(f"↶ {safe(name_of(undone['item_id']))} was rolled back at {_when(undone['at'])}")
    title = f"Timeline of execution {number}"
    yield from _figure(f"e{number}", title, execution["timeline"], record, _critical(path), notes)
    yield "</div>"


def _run(number: int, run: Mapping[str, Any], record: Mapping[str, Any]) -> Iterator[str]:
    yield f'<div class="part"><h3>Run {number}: {safe(text_of(run["task"] or "continued", 100))}</h3>'
    yield f'<p class="facts">{_when(run["started_at"])} · {safe(run["reason"] or GOES_ON)}</p>'
    yield from _figure(f"r{number}", f"Timeline of run {number}", run["timeline"], record, [], [])
    yield "</div>"


def _by_hand(record: Mapping[str, Any]) -> Iterator[str]:
    yield '<div class="part"><h3>Outside of runs</h3>'
    yield f'<p class="facts">{_when(record["by_hand"]["started_at"])}</p>'
    yield from _figure("h", "Timeline outside of runs", record["by_hand"]["timeline"], record, [], [])
    yield "</div>"


def _figure(
    name: str,
    title: str,
    timeline_bars: Sequence[Mapping[str, Any]],
    record: Mapping[str, Any],
    critical: Sequence[str],
    notes: list[str],
) -> Iterator[str]:
    if not timeline_bars:
        yield from (f'<p class="left">{note}</p>' for note in notes)
        return
    bars = _bars(timeline_bars, record)
    if more := left_out(bars):
        notes = [*notes, f"{more:,} shorter work periods are not shown."]
    yield f'<figure class="chart"><div class="wide" tabindex="0" role="region" aria-label="{safe(title)}">'
    yield timeline(bars, name=name, title=title, critical=frozenset(critical))
    yield '</div><figcaption><ul class="key">'
    for kind, mark, word in legend(bars):
        yield f'<li class="k-{kind}"><b>{safe(mark)}</b> {safe(word)}</li>'
    if critical:
        yield '<li><b class="path">▁</b> critical path</li>'
    yield "</ul>"
    yield from (f"<p>{note}</p>" for note in notes)
    yield "</figcaption></figure>"


def _bars(bars: Sequence[Mapping[str, Any]], record: Mapping[str, Any]) -> list[Bar]:
    items = {item["id"]: item for item in [*record["dropped"], *record["items"]]}
    found: list[Bar] = []
    for bar in bars:
        item = items.get(bar["item_id"])
        mark = OUTCOME_MARKS.get(bar["outcome"], "●")
        if bar["outcome"] == "completed" and item is not None and item["status"] == "completed":
            mark = mark_of(item)
        content = f": {text_of(item['content'])}" if item else ""
        times = f"from {lasted(bar['start'])} to {lasted(bar['end'])}"
        alone = ", alone" if bar["alone"] else ""
        text = f"{mark} {name_of(bar['item_id'])}{content} — attempt {bar['place']}{alone}, {outcome_of(bar)}, {times}"
        found.append(
            Bar(bar["item_id"], bar["lane"], bar["start"], bar["end"], mark, bar["outcome"], text, bar["place"])
        )
    return found


def graph_section(record: Mapping[str, Any]) -> Iterator[str]:
    """Dependency graph; nothing where no item depends on another."""
    path = record["critical_path"]
    nodes = [
        Node(
            item["id"],
            mark_of(item),
            kind_of_item(item),
            item["content"],
            tuple(item["depends_on"]),
            lasted(item["worked_seconds"]) if item["worked_seconds"] is not None else "",
        )
        for item in record["items"]
    ]
    graph = dependency_graph(nodes, name="g", title="Dependency graph", critical=_critical(path))
    if not graph.svg:
        return
    yield '<section aria-labelledby="graph"><div class="head"><h2 id="graph">Dependencies</h2>'
    yield f'<span class="count">{number_of(graph.drawn, "item")}</span></div>'
    yield ('<div class="part"><figure><div class="wide" tabindex="0" role="region" aria-label="Dependency graph">')
    size = f"width:{graph.width}px;min-width:{round(graph.width * 0.8)}px;max-width:100%;height:auto"
    yield graph.svg.replace("<svg ", f'<svg style="{size}" ', 1)
    yield "</div><figcaption>"
    yield from (f"<p>{line}</p>" for line in _captions(graph, path_of(path)))
    yield "</figcaption></figure></div></section>\n"


def _captions(graph: Graph, path: str) -> Iterator[str]:
    if path:
        yield f'<span class="path">Critical path</span> {safe(path)}'
    if graph.left_out:
        yield f"Not shown: {number_of(graph.left_out, 'more item')} with dependencies."
    if graph.edges_left_out:
        yield f"Not shown: {number_of(graph.edges_left_out, 'more arrow')}."
    if graph.alone:
        yield f"Without dependencies: {number_of(graph.alone, 'item')}."
