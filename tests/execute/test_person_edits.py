"""A person edits the project's files at any moment of an execution: every byte that they wrote is there at the end."""

from __future__ import annotations

import asyncio
import os
import random
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.support.counts import some
from tests.support.projects import temporary_folder

import headway
from headway.core.errors import NotRunnable
from headway.execute import roll_back

from .dags import FILES, Dag, dags
from .executing import sound
from .playing import kill, play

LINES = "".join(f"line {number}\n" for number in range(1, 10))
FEW = settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)


@dataclass
class Person:
    """Edits files as people and editors do, and knows what they wrote."""

    folder: Path
    chance: random.Random
    wrote: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """File → the lines that must be in it."""
    count: int = 0

    def edit(self) -> None:
        self.count += 1
        mine = f"a person's line {self.count}"
        file = self.chance.choice([*FILES, "readme.txt", f"notes {self.count}.txt"])
        path = self.folder / file
        if path.exists() and self.chance.random() < 0.2:
            path.unlink()
            self.wrote[file] = []
            return
        lines = path.read_text().splitlines() if path.exists() else []
        at = self.chance.randint(0, len(lines))
        kept = at < len(lines) and lines[at] not in self.wrote.get(file, []) and self.chance.random() < 0.5
        lines[at : at + kept] = [mine]
        self._save(path, "".join(f"{line}\n" for line in lines))
        self.wrote.setdefault(file, []).append(mine)

    def _save(self, path: Path, text: str) -> None:
        """Some editors write into the file, others put another one in its place."""
        if self.chance.random() < 0.5:
            path.write_text(text)
        else:
            beside = path.with_name(f".{path.name}.swp")
            beside.write_text(text)
            os.replace(beside, path)

    def assert_nothing_is_lost(self) -> None:
        for file, lines in self.wrote.items():
            there = (self.folder / file).read_text().splitlines() if (self.folder / file).exists() else []
            assert not set(lines) - set(there), f"{file} lost {sorted(set(lines) - set(there))}: {there}"


def begin(folder: Path, dag: Dag, seed: int) -> tuple[headway.Session, Person]:
    for file in (*FILES, "readme.txt"):
        (folder / file).write_text(LINES)
    return dag.open(folder), Person(folder, random.Random(seed))


def roll_back_some(session: headway.Session, person: Person) -> None:
    for todo in person.chance.sample(session.todos, len(session.todos)):
        with suppress(NotRunnable):
            roll_back(session, todo.id, with_later=person.chance.random() < 0.5)
        person.assert_nothing_is_lost()
        person.edit()


@st.composite
def failing_dags(draw: st.DrawFn) -> Dag:
    dag = draw(dags())
    return Dag(dag.needs, dag.writes, draw(st.frozensets(st.integers(0, len(dag.needs) - 1), max_size=2)))


@settings(FEW, max_examples=some(400, 40))
@given(
    failing_dags(),
    st.sets(st.integers(1, 80), max_size=12),
    st.lists(st.integers(1, 60), max_size=2),
    st.sampled_from([1, 3]),
    st.integers(),
)
def test_edits_at_any_event_survive_retries_interruptions_and_rollbacks(
    dag: Dag, moments: set[int], cuts: list[int], parallel: int, seed: int
) -> None:
    async def scenario(session: headway.Session, person: Person) -> None:
        for cut in [*cuts, None]:
            await _play(session, parallel, cut, lambda heard: person.edit() if heard in moments else None)
            person.assert_nothing_is_lost()
        roll_back_some(session, person)
        await play(session, parallel=parallel)
        person.assert_nothing_is_lost()
        sound(session)

    with temporary_folder() as folder:
        asyncio.run(scenario(*begin(folder, dag, seed)))


@settings(FEW, max_examples=some(100, 20))
@given(failing_dags(), st.sampled_from([1, 3]), st.integers())
def test_edits_at_any_time_at_all_survive(dag: Dag, parallel: int, seed: int) -> None:
    with temporary_folder() as folder:
        session, person = begin(folder, dag, seed)
        over = threading.Event()

        def edit_now_and_then() -> None:
            while not over.wait(person.chance.random() * 0.03):
                person.edit()

        thread = threading.Thread(target=edit_now_and_then)
        thread.start()
        try:
            asyncio.run(play(session, parallel=parallel, keep_going=True))
            for todo in session.todos:
                with suppress(NotRunnable):
                    roll_back(session, todo.id)
        finally:
            over.set()
            thread.join()
        person.assert_nothing_is_lost()
        sound(session)


@settings(FEW, max_examples=some(50, 16), phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(failing_dags(), st.lists(st.integers(1, 60), min_size=1, max_size=2), st.sampled_from([1, 3]), st.integers())
def test_edits_around_kills_survive(dag: Dag, cuts: list[int], parallel: int, seed: int) -> None:
    with temporary_folder() as folder:
        session, person = begin(folder, dag, seed)
        for cut in cuts:
            place = person.chance.choice([f"#{cut}", "applied", "wrote"])
            edits = threading.Timer(person.chance.random() * 0.3, person.edit)
            edits.start()
            kill(folder, place, parallel=parallel)
            edits.join()
            person.edit()
        asyncio.run(play(session, parallel=parallel))
        person.assert_nothing_is_lost()
        roll_back_some(session, person)
        person.assert_nothing_is_lost()


async def _play(session: headway.Session, parallel: int, cut: int | None, meanwhile: Callable[[int], object]) -> None:
    """Execute what is to be executed, cut off after so many events."""
    loop, heard = asyncio.get_running_loop(), 0

    def listen(event: headway.Event) -> None:
        nonlocal heard
        heard += 1
        meanwhile(heard)
        if heard == cut:
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(task.cancel)

    task = asyncio.create_task(play(session, parallel=parallel, on_event=listen, keep_going=True))
    with suppress(asyncio.CancelledError):
        await task
