"""The report as one page that needs nothing else: no script, no server, no network. Pictures are in it as SVG.

Every text from outside goes through `safe`.
"""

from __future__ import annotations

from headway.core.model import FINISHED
from headway.views.pictures.drawing import safe
from headway.views.report_markdown import NOTHING
from headway.views.report_pictures import graph_section, timeline_section
from headway.views.report_style import STYLE
from headway.views.report_words import (
    GOES_ON,
    MAX_REASON,
    OUTCOME_MARKS,
    Note,
    attention,
    check_of,
    evidence_of,
    files_of,
    has_tokens,
    lasted,
    mark_of,
    moment,
    name_of,
    not_merged_of,
    output_of,
    own_runs,
    state_of,
    summary,
    text_of,
    tokens_of,
    worktree_of,
)
from headway.views.report_words import kind_of_item as kind_of
from headway.views.run_summary import money

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

MOST_ITEMS = 1_000
MOST_NOTES = 200
MOST_RUNS = 200
MOST_ATTEMPTS = 20
"""Of one item."""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_CONTENT = 600
_FOOTER = (
    "✓ verified: its declared check passed · ✓? command ok: a command that could have failed succeeded after the "
    "last edit; reported: the agent or a person said so; inferred: based on the agent's calls. Times are UTC."
)
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


def report_html(record: Mapping[str, Any]) -> str:
    """The whole page."""
    plan = record["plan"]
    title = text_of(plan["title"] if plan else record["session"])
    anything = record["items"] or record["runs"] or record["dropped"]
    body = [*_header(record, title), "<main>"]
    if anything:
        body += [
            *_attention(attention(record)),
            *timeline_section(record),
            *graph_section(record),
            *_items(record["items"]),
            *_runs(record),
        ]
    else:
        body.append(f'<section><p class="soft">{NOTHING}</p></section>')
    body += ["</main>", f"<footer><p>{_FOOTER}</p></footer>"]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f"<title>{safe(title)} · Headway report</title>\n<style>\n{STYLE}</style>\n</head>\n"
        f'<body>\n<div class="page">\n{"".join(body)}\n</div>\n</body>\n</html>\n'
    )


def _bdi(text: str) -> str:
    """A text whose direction does not spill over."""
    return f"<bdi>{safe(text)}</bdi>"


def _when(at: str) -> str:
    return f"<time>{safe(moment(at))}</time>"


def _header(record: Mapping[str, Any], title: str) -> Iterator[str]:
    agent = "" if record["agent"] == "main" else f" · agent {_bdi(name_of(record['agent']))}"
    yield f'<header><p class="eyebrow">Headway report</p><h1>{_bdi(title)}</h1>'
    yield f'<p class="meta">Session {_bdi(name_of(record["session"]))}{agent} · {_when(record["generated_at"])}</p>'
    facts = summary(record)
    if facts:
        yield '<dl class="figures">'
        for fact in facts:
            detail = f'<dd class="detail">{safe(fact.detail)}</dd>' if fact.detail else ""
            yield f'<div><dt>{safe(fact.name)}</dt><dd class="value">{safe(fact.value)}</dd>{detail}</div>'
        yield "</dl>"
    yield from _strip(record["items"])
    yield "</header>\n"


def _strip(items: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """How far it is, as one line in proportion."""
    if not items:
        return
    kinds = [kind_of(item) for item in items]
    parts = [(kind, mark, word, kinds.count(kind)) for kind, mark, word in _STRIP if kind in kinds]
    yield '<div class="strip" aria-hidden="true">'
    yield from (f'<span class="k-{kind}" style="flex:{count}"></span>' for kind, _, _, count in parts)
    yield '</div><ul class="key">'
    yield from (f'<li class="k-{kind}"><b>{mark}</b> {count:,} {word}</li>' for kind, mark, word, count in parts)
    yield "</ul>"


def _section(name: str, heading: str, count: str, parts: Sequence[str]) -> Iterator[str]:
    yield f'<section aria-labelledby="{name}"><div class="head"><h2 id="{name}">{heading}</h2>'
    yield f'<span class="count">{count}</span></div>'
    yield from parts
    yield "</section>\n"


def _attention(notes: Sequence[Note]) -> Iterator[str]:
    if not notes:
        return
    rows: list[str] = ['<ul class="notes">']
    for note in notes[:MOST_NOTES]:
        kind, word = _TAGS[note.kind]
        rows.append(
            f'<li class="k-{kind}"><span class="tag">{safe(note.mark)} {word}</span><div>'
            f'<p class="what">{_bdi(note.subject)}</p><p class="why">{_bdi(note.text)}</p></div></li>'
        )
    rows += ["</ul>", *_left(len(notes) - MOST_NOTES, "more")]
    yield from _section("attention", "Needs attention", f"{len(notes):,}", rows)


def _left(number: int, what: str) -> list[str]:
    return [f'<p class="left">… {number:,} {what}</p>'] if number > 0 else []


def _items(items: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not items:
        return
    rows = [
        '<table class="stack"><thead><tr><th scope="col"><span class="unseen">State</span></th>',
        '<th scope="col">Item</th>',
        *(f'<th scope="col" class="n">{name}</th>' for name in _NUMBERS),
        "</tr></thead><tbody>",
        *(_item(item) for item in items[:MOST_ITEMS]),
        "</tbody></table>",
        *_left(len(items) - MOST_ITEMS, "more items; headway report --format json has them all"),
    ]
    yield from _section("items", "Items", f"{len(items):,}", rows)


def _item(item: Mapping[str, Any]) -> str:
    took = ""
    if item["worked_seconds"] is not None and (item["attempts"] or item["status"] in FINISHED):
        took = lasted(item["worked_seconds"])
    calls = f"{item['tool_calls']:,}" if item["tool_calls"] else ""
    if item["failed_calls"]:
        calls += f'<span class="bad">{item["failed_calls"]:,} failed</span>'
    tokens = f"{item['input_tokens'] + item['output_tokens']:,}" if has_tokens(item) else ""
    cells = (
        took,
        f"{item['rounds']:,}" if item["rounds"] else "",
        calls,
        tokens,
        money(item["cost"]) if tokens else "",
    )
    numbers = "".join(
        f'<td class="n" data-name="{name.lower()}">{cell}</td>' for name, cell in zip(_NUMBERS, cells, strict=True)
    )
    what = f'<span class="id">{_bdi(name_of(item["id"]))}</span>{_bdi(text_of(item["content"], _CONTENT))}'
    return (
        f'<tr class="k-{kind_of(item)}"><td class="mark"><span aria-hidden="true">{safe(mark_of(item))}</span></td>'
        f'<td class="whole">{what}{"".join(_more(item))}</td>{numbers}</tr>\n'
    )


def _more(item: Mapping[str, Any]) -> Iterator[str]:
    by = f" · set by {_bdi(name_of(item['set_by']))}" if item["set_by"] else ""
    needs = f" · needs {_bdi(files_of(item['depends_on']))}" if item["depends_on"] else ""
    yield f'<p class="more">{state_of(item)}{by}{needs}</p>'
    if item["files"]:
        yield f'<p class="more"><b>Files</b> {_bdi(files_of(item["files"]))}</p>'
    if files := not_merged_of(item):
        yield f'<p class="more"><b>Not merged</b> (ignored, copied or linked) {_bdi(files)}</p>'
    if worktree := worktree_of(item):
        yield f'<p class="more"><b>Its last attempt’s folder</b> {_bdi(worktree)}</p>'
    if evidence := evidence_of(item):
        yield f'<p class="more"><b>Evidence</b> {_bdi(evidence)}</p>'
    if output := output_of(item):
        yield f'<pre class="more">{"<br>".join(map(safe, output))}</pre>'
    if check := check_of(item):
        yield f'<p class="more"><b>Check</b> {_bdi(check)}</p>'
    if item["error"]:
        yield f'<p class="more wrong"><b>Error</b> {_bdi(text_of(item["error"], MAX_REASON))}</p>'
    if item["notes"] and item["notes"] != item["error"]:
        yield f'<p class="more"><b>Notes</b> {_bdi(text_of(item["notes"], MAX_REASON))}</p>'
    attempts = item["attempts"]
    if len(attempts) < 2:
        return
    yield '<ol class="tries">'
    for attempt in attempts[-MOST_ATTEMPTS:]:
        yield f"<li>{_attempt(attempt)}</li>"
    yield "</ol>"


def _attempt(attempt: Mapping[str, Any]) -> str:
    took = f" after {lasted(attempt['seconds'])}" if attempt["seconds"] is not None else ""
    alone = ", alone" if attempt["alone"] else ""
    again = ", tried again" if attempt["again"] else ""
    why = f": {_bdi(text_of(attempt['reason'], MAX_REASON))}" if attempt["reason"] else ""
    mark = OUTCOME_MARKS.get(attempt["outcome"], "●")
    return f"Attempt {attempt['place']}{alone} {mark} {safe(attempt['outcome'] or GOES_ON)}{took}{again}{why}"


def _runs(record: Mapping[str, Any]) -> Iterator[str]:
    runs = own_runs(record)
    if not runs:
        return
    rows = [
        '<table class="stack"><thead><tr><th scope="col">Run</th>',
        *(f'<th scope="col" class="n">{name}</th>' for name in _NUMBERS),
        "</tr></thead><tbody>",
    ]
    for number, run in [*enumerate(runs, 1)][-MOST_RUNS:]:
        rows.append(_run(number, run))
    rows += ["</tbody></table>", *_left(len(runs) - MOST_RUNS, "earlier runs")]
    helped = len(record["runs"]) - len(runs)
    count = f"{len(runs):,}{f' and {helped:,} by sub-agents' if helped else ''}"
    yield from _section("runs", "Runs", count, rows)


def _run(number: int, run: Mapping[str, Any]) -> str:
    took = lasted(run["seconds"]) if run["seconds"] is not None else GOES_ON
    cells = (took, f"{run['rounds']:,}", f"{run['tool_calls']:,}", tokens_of(run), money(run["cost"]))
    which = f" · execution {run['execution']}" if run["execution"] else ""
    error = f'<p class="more wrong">{_bdi(text_of(run["error"], MAX_REASON))}</p>' if run["error"] else ""
    about = f"{_when(run['started_at'])} · {_bdi(name_of(run['model']))} · {safe(run['reason'] or GOES_ON)}{which}"
    return (
        f'<tr><td class="whole"><span class="id">{number}</span>{_bdi(text_of(run["task"] or "continued"))}'
        f'<p class="more">{about}</p>{error}</td>'
        + "".join(f'<td class="n" data-name="{n.lower()}">{safe(c)}</td>' for n, c in zip(_NUMBERS, cells, strict=True))
        + "</tr>\n"
    )
