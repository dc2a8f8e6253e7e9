"""Executing items: how long a plan takes beside what list scheduling could reach, and what an item costs by itself."""

from __future__ import annotations

import asyncio
import gc
import re
import time
from heapq import heappop, heappush
from pathlib import Path
from random import Random

from pydantic_ai.messages import ModelMessage

import headway
from headway.execute import execute_all
from headway.testing import Call, Request, ScriptedModel, Turn
from headway.testing.scripted import list_user_texts

from .measure import Measured, Row

PLANS = ((10, 1), (10, 2), (40, 3), (80, 4), (120, 8), (200, 8))
"""Items, and how many at once."""
OVERHEAD = 0.020
"""Seconds that an item may cost by itself."""
SLACK = 1.05
SHORTEST, LONGEST = 0.05, 0.6
FEW, MANY = 200, 2_000
_ITEM = re.compile(r"Execute todo: (\S+)")
_ORDER = {"high": 0, "medium": 1, "low": 2}


class Plan:
    """Items with random dependencies, priorities and times, all of which only wait."""

    def __init__(self, count: int, seed: int) -> None:
        random = Random(seed)
        self.ids = [f"i{number}" for number in range(count)]
        self.needs = {
            todo_id: random.sample(self.ids[max(place - 20, 0) : place], min(place, random.randint(0, 2)))
            for place, todo_id in enumerate(self.ids)
        }
        self.seconds = {todo_id: round(random.uniform(SHORTEST, LONGEST), 3) for todo_id in self.ids}
        self.priority = {todo_id: random.choice(list(_ORDER)) for todo_id in self.ids}

    def todos(self) -> list[dict[str, object]]:
        return [
            {
                "id": todo_id,
                "content": f"Wait for {self.seconds[todo_id]} s",
                "priority": self.priority[todo_id],
                "depends_on": self.needs[todo_id],
                "estimated_time": f"{self.seconds[todo_id]} s",
            }
            for todo_id in self.ids
        ]

    def listed(self, workers: int) -> float:
        """What list scheduling reaches with the same priorities."""
        ways = dict(self.seconds)
        for todo_id in reversed(self.ids):
            for node in self.needs[todo_id]:
                ways[node] = max(ways[node], self.seconds[node] + ways[todo_id])
        place = {todo_id: at for at, todo_id in enumerate(self.ids)}
        left = {todo_id: len(self.needs[todo_id]) for todo_id in self.ids}
        ready = [todo_id for todo_id in self.ids if not left[todo_id]]
        running: list[tuple[float, str]] = []
        now = 0.0
        while ready or running:
            ready.sort(key=lambda one: (_ORDER[self.priority[one]], -ways[one], place[one]))
            while ready and len(running) < workers:
                todo_id = ready.pop(0)
                heappush(running, (now + self.seconds[todo_id], todo_id))
            now, done = heappop(running)
            for todo_id in self.ids:
                if done in self.needs[todo_id]:
                    left[todo_id] -= 1
                    if not left[todo_id]:
                        ready.append(todo_id)
        return now

    def model(self) -> ScriptedModel:
        def waited(messages: list[ModelMessage], request: Request) -> Turn:
            found = _ITEM.search(next(iter(list_user_texts(messages))))
            assert found is not None
            if len(messages) > 1:
                return Turn(text="Done.")
            report = Call("report_item", {"status": "completed"})
            seconds = self.seconds[found[1]]
            return Turn(calls=[report], delay=seconds, usage={"input_tokens": 100, "output_tokens": 10})

        return ScriptedModel([waited] * (2 * len(self.ids)), keep_requests=1)


def _executed(project: Path, plan: Plan, workers: int) -> float:
    project.mkdir(parents=True)
    (project / "a.txt").write_text("one\n")
    session = headway.open(project)
    session.write(plan.todos(), replace=True)
    gc.collect()  # walking what was loaded before is not what an item costs either
    began = time.perf_counter()
    result = asyncio.run(execute_all(session, model=plan.model(), parallel=workers, mode="yolo"))
    took = time.perf_counter() - began
    assert len(result.completed) == len(plan.ids), result
    session.close()
    return took


def makespan(folder: Path) -> Measured:
    """The plan that comes off worst, beside what it may take: list scheduling, and so much for each item."""
    _executed(folder / "warm-up", Plan(2, 0), 2)  # what is loaded once is not what an item costs
    worst: Measured | None = None
    for number, (count, workers) in enumerate(PLANS):
        plan = Plan(count, number)
        allowed = plan.listed(workers) * SLACK + OVERHEAD * count
        measured = Measured(_executed(folder / f"makespan-{number}", plan, workers), allowed)
        if worst is None or measured.ours / allowed > worst.ours / (worst.base or 1):
            worst = measured
    assert worst is not None
    return worst


def by_item(folder: Path) -> Measured:
    """What an item costs that does nothing, in a long list and in a short one."""

    def each(count: int) -> float:
        plan = Plan(count, count)
        plan.seconds = dict.fromkeys(plan.ids, 0.0)
        return _executed(folder / f"items-{count}", plan, 4) / count

    few = each(FEW)
    return Measured(each(MANY), few)


ROWS = [
    Row("execute-all: makespan, worst of 5 plans", "list scheduling +5% and 20 ms per item", 1, makespan),
    Row("execute-all: an item of 2,000", "an item of 200", 1.5, by_item),
]
