"""The page in a real browser: how soon it shows what another process did, how smooth it stays, what many pages cost.

`python -m bench.watching` prints every kind of update in every view.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import cache, partial
from itertools import count
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, NamedTuple

from playwright.sync_api import Browser, Page, sync_playwright
from tests.soak.test_watching import A_SECOND, PAGES, Watched, watch
from tests.web.serving import Server, environment

import headway
from headway.core import commands
from headway.core import run_commands as of_run
from headway.core.clock import add_seconds, now
from headway.core.codec import write_state
from headway.core.decide import decide
from headway.core.events import Event
from headway.core.evolve import fold
from headway.core.log import Log
from headway.core.model import MAIN_AGENT
from headway.core.run_events import RunStarted, ToolFinished, ToolStarted
from headway.project import DEFAULT_SESSION, open_store

from .measure import Measured, NotAvailable, Row

VIEWS = ("list", "log", "graph", "timeline")
KINDS = ("status", "text", "order", "new", "twenty")
ITEMS, EVENTS = 1_000, 20_000
FEW = 20
CALLS = 20
"""Calls of a tool for each item that was worked on."""
CHANGES = 30
EACH = 7
"""Updates of each kind in each view; the first warms up."""
SETTLED = {"timeline": 0.65}
"""Seconds after which nothing of an update is left to be drawn; the timeline is drawn at most twice a second."""
SECONDS = 12
_CHROMIUM = Path(__file__).resolve().parent.parent / "scripts" / "chromium"
_WRITER = """
import random, sys, time, headway
session, chance = headway.open(sys.argv[1]), random.Random(1)
ids = [todo.id for todo in session.todos]
def some(number):
    return chance.choice(ids[:8] if number % 2 else ids)  # what is seen, and anything
def status(number):
    todo = session.todo_list.items[some(number)]
    session.update(todo.id, status="completed" if todo.status == "in_progress" else "in_progress", actor="worker")
def text(number):
    session.update(some(number), content=f"Another text, the {number}th")
def order(number):
    session.move(some(number), chance.randint(1, 8) if number % 4 < 2 else chance.randint(1, len(ids)))
def new(number):
    session.add(f"Another item, the {number}th", after=some(number), depends_on=[some(number + 1)])
def twenty(number):
    for one in range(20): (status, text)[one % 2](number * 20 + one)
def first(number):
    session.update(ids[0], content=f"Change {number}")
print("ready", flush=True)
for number, line in enumerate(sys.stdin):
    began = time.time()
    globals()[line.strip()](number)
    print(session.version, began, flush=True)
"""
_LISTENING = """
const heard = [];
let wanted = null;
function look() {
  if (!wanted || !heard.some((version) => version >= wanted.version)) return;
  wanted.found(heard.splice(0).length);
  wanted = null;
}
window.painted = (version) => new Promise((found, failed) => {
  wanted = { version, found };
  setTimeout(() => failed(new Error("the page hears nothing")), 30_000);
  look();
});
window.note = (version) => requestAnimationFrame(() => requestAnimationFrame(() => (heard.push(version), look())));
"""
_HEAR = """async () => {
  const { store } = await import("/static/store.js");
  const hear = store.hear.bind(store);
  store.hear = (change) => (hear(change), note(change.version));
}"""
_LIVE = """() => new Promise((found) => {
  const look = () => {
    const isLive = document.querySelector("#connection").textContent === "Live";
    if (isLive && document.querySelector("#view-list li")) requestAnimationFrame(() => requestAnimationFrame(found));
    else setTimeout(look, 10);
  };
  look();
})"""
_ROW = """(id) => {
  const row = document.querySelector(`#view-list [data-id="${id}"]`);
  const times = new Map();
  let wanted = null;
  const look = () => times.has(wanted?.text) && wanted.found(times.get(wanted.text));
  const note = (text) => {
    if (!times.has(text)) times.set(text, (performance.timeOrigin + performance.now()) / 1000);
    look();
  };
  new MutationObserver(() => {
    const text = row.querySelector(".content").textContent;
    requestAnimationFrame(() => requestAnimationFrame(() => note(text)));
  }).observe(row, { subtree: true, childList: true, characterData: true });
  window.shown = (text) => new Promise((found, failed) => {
    wanted = { text, found };
    setTimeout(() => failed(new Error("the page shows nothing")), 30_000);
    look();
  });
}"""


# a session to look at


def _todos(items: int) -> list[dict[str, object]]:
    random = Random(items)
    words = ("read", "write", "test", "the", "parser", "of", "every", "module", "again")
    return [
        {
            "id": f"i{number}",
            "content": f"Item {number}: {' '.join(random.choices(words, k=random.randint(4, 18)))}",
            "priority": random.choice(("high", "medium", "low")),
            "depends_on": [f"i{one}" for one in random.sample(range(max(number - 20, 0), number), min(number, 2))],
        }
        for number in range(items)
    ]


def _run() -> Iterator[commands.Command]:
    """A run that works on one item after the other, a change a second."""
    begin = add_seconds(now(), -1.5 * EVENTS)
    moments = (add_seconds(begin, second) for second in count())
    yield of_run.StartRun(
        MAIN_AGENT,
        "agent",
        next(moments),
        RunStarted(run_id="r", task="Do it all", model="scripted", max_rounds=50, holder=""),
    )
    for number in range(ITEMS):
        todo_id = f"i{number}"
        yield commands.Update(MAIN_AGENT, "agent", next(moments), todo_id, {"status": "in_progress"}, False)
        for call in range(CALLS):
            call_id, command = f"{number}-{call}", f"pytest tests/test_{call}.py"
            begun = ToolStarted(round=1, call_id=call_id, tool="bash", summary=f"bash: {command}", effect="execute")
            ended = ToolFinished(
                round=1,
                call_id=call_id,
                tool="bash",
                ok=True,
                text="12 passed\n" * 9,
                exit_code=0,
                item_id=todo_id,
                command=command,
            )
            yield of_run.RecordEvents(MAIN_AGENT, "agent", next(moments), "r", [begun])
            yield of_run.RecordEvents(MAIN_AGENT, "agent", next(moments), "r", [ended])
        yield commands.Update(MAIN_AGENT, "agent", next(moments), todo_id, {"status": "completed"}, False)


def _session(project: Path, items: int, events: int = 0) -> Path:
    """A project whose session has that many items, and a log as a run leaves it."""
    project.mkdir()
    headway.open(project).write(_todos(items), replace=True)
    store = open_store(project)
    state = Log(store, DEFAULT_SESSION).state()
    start, made, run = state.version, list[Event](), _run()
    while state.version < events:
        is_last = state.version >= events - 1
        change = of_run.EndRun(MAIN_AGENT, "agent", now(), "r", "finished") if is_last else next(run)
        new = decide(state, change)
        state = fold(state, new)
        made += new
    if made:
        store.append(DEFAULT_SESSION, start, made, write_state(state))
    store.close()
    return project


# a browser that looks at it, and a process that changes it


class Busy(NamedTuple):
    """Seconds in which the page could do nothing else, and how many of them it was at work."""

    wall: float
    worked: float

    def since(self, before: Busy, updates: int = 1) -> Busy:
        return Busy((self.wall - before.wall) / updates, (self.worked - before.worked) / updates)


class Tab:
    def __init__(self, page: Page, writer: subprocess.Popen[str]) -> None:
        self.page = page
        self._writer = writer
        self._clocks = [self._clock("timeTicks"), self._clock("threadTicks")]

    def _clock(self, domain: str) -> Any:
        session: Any = self.page.context.new_cdp_session(self.page)
        session.send("Performance.enable", {"timeDomain": domain})
        return session

    def busy(self) -> Busy:
        """Up to now."""
        answers = [clock.send("Performance.getMetrics")["metrics"] for clock in self._clocks]
        return Busy(*(next(one["value"] for one in found if one["name"] == "TaskDuration") for found in answers))

    def change(self, kind: str) -> tuple[int, float]:
        """Has the other process make a change: the version after it, and when it was begun."""
        assert self._writer.stdin is not None and self._writer.stdout is not None
        self._writer.stdin.write(f"{kind}\n")
        self._writer.stdin.flush()
        version, began = self._writer.stdout.readline().split()
        return int(version), float(began)

    def updated(self, kind: str, settled: float) -> Busy:
        """What an update costs the page."""
        before = self.busy()
        version, _ = self.change(kind)
        updates = self.page.evaluate("(version) => painted(version)", version)
        time.sleep(settled)
        return self.busy().since(before, updates)


class Watching:
    """A session that is served and changed."""

    def __init__(self, browser: Browser, server: Server, writer: subprocess.Popen[str]) -> None:
        self._browser = browser
        self._server = server
        self._writer = writer

    @contextmanager
    def tab(self, view: str) -> Generator[Tab]:
        with self._browser.new_context(viewport={"width": 1280, "height": 800}) as context:
            address = f"http://{self._server.host}"
            context.add_init_script(self._server.tab_script())
            context.add_init_script(_LISTENING)
            tab = Tab(context.new_page(), self._writer)
            tab.page.goto(f"{address}/#session={DEFAULT_SESSION}&view={view}")
            tab.page.evaluate(_LIVE)
            tab.page.evaluate(_HEAR)
            yield tab


@contextmanager
def _watching(project: Path) -> Generator[Watching]:
    found = subprocess.run([_CHROMIUM], capture_output=True, text=True, check=False)
    if found.returncode:
        raise NotAvailable("there is no Chromium")
    server = Server(project)
    words = [sys.executable, "-c", _WRITER, str(project)]
    try:
        with (
            subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(project), text=True
            ) as writer,
            sync_playwright() as playwright,
            playwright.chromium.launch(executable_path=found.stdout.strip(), args=["--no-sandbox"]) as browser,
        ):
            assert writer.stdout is not None
            writer.stdout.readline()
            yield Watching(browser, server, writer)
    finally:
        server.stop()


# what is measured


def painted(project: Path) -> Measured:
    """From before a change is made in another process to after the frame that shows it; beside it the longest."""
    pauses = Random(1)
    with _watching(project) as watching, watching.tab("list") as tab:
        tab.page.evaluate(_ROW, "i0")
        delays: list[float] = []
        for number in range(CHANGES):
            time.sleep(pauses.uniform(0.15, 0.3))
            _, began = tab.change("first")
            delays.append(tab.page.evaluate("(text) => shown(text)", f"Change {number}") - began)
    return Measured(median(delays), max(delays))


class Updates(NamedTuple):
    loaded: float
    """Seconds until the page shows the session."""
    load: Busy
    kinds: dict[str, list[Busy]]


@cache
def updates(folder: Path) -> dict[str, Updates]:
    """By view."""
    found: dict[str, Updates] = {}
    with _watching(_large(folder)) as watching:
        for view in VIEWS:
            began = time.perf_counter()
            with watching.tab(view) as tab:
                loaded = time.perf_counter() - began
                time.sleep(1.5)
                load, settled = tab.busy(), SETTLED.get(view, 0.15)
                kinds = {kind: [tab.updated(kind, settled) for _ in range(EACH)][1:] for kind in KINDS}
            found[view] = Updates(loaded, load, kinds)
    return found


@cache
def _large(folder: Path) -> Path:
    return _session(folder / "large", ITEMS, EVENTS)


def _typical(view: str, folder: Path) -> Measured:
    """The median of the kind of update that takes most."""
    sides = [zip(*kind, strict=True) for kind in updates(folder)[view].kinds.values()]
    return Measured(*max(tuple(median(side) for side in kind) for kind in sides))


def _most(view: str, folder: Path) -> Measured:
    """The update that is most work; how long it took depends on what else the machine does."""
    worked, wall = max((one.worked, one.wall) for kind in updates(folder)[view].kinds.values() for one in kind)
    return Measured(worked, wall)


@cache
def _watched(folder: Path) -> Watched:
    if not Path("/proc/self/status").exists():
        raise NotAvailable("the system does not tell how much memory a process takes")
    return watch(folder / "many", PAGES, A_SECOND * SECONDS)


def heard(folder: Path) -> Measured:
    delays = _watched(folder).delays
    return Measured(median(delays), delays[-1])


def memory(folder: Path) -> Measured:
    sizes = _watched(folder).sizes
    return Measured(sizes[-1], sizes[len(sizes) // 3])


def _small(folder: Path) -> Path:
    return _session(folder / "small", FEW)


NAMES = {"list": "list of 1,000", "log": "log of 20,000", "graph": "graph of 1,000", "timeline": "timeline of 1,000"}
ROWS = [
    Row("page: another's change is painted", "the longest", 300, lambda folder: painted(_small(folder)), in_unit=True),
    Row("page: … among 1,000 items", "the longest", 300, lambda folder: painted(_large(folder)), in_unit=True),
    Row("page: 50 hear 50 changes a second", "the longest", 300, heard, in_unit=True),
    Row("page: … what the server then takes", "after a third of the time", 1.05, memory, unit="KiB"),
    *(Row(f"page: {NAMES[view]}, an update", "its work", 100, partial(_typical, view), in_unit=True) for view in VIEWS),
    *(Row(f"page: {NAMES[view]}, most work", "with waits", 100, partial(_most, view), in_unit=True) for view in VIEWS),
]


def main() -> None:
    line = "{:<9} {:<8} {:>8} {:>8} {:>8} {:>8}"
    print(line.format("ms", "", "median", "work", "longest", "work"))
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as folder:
        for view, (loaded, load, kinds) in updates(Path(folder)).items():
            print(line.format(view, "load", *(f"{1000 * one:.0f}" for one in (loaded, load.worked)), "", ""))
            for kind, each in kinds.items():
                wall, worked = zip(*each, strict=True)
                values = (median(wall), median(worked), max(wall), max(worked))
                print(line.format(view, kind, *(f"{1000 * one:.0f}" for one in values)))


if __name__ == "__main__":
    main()
