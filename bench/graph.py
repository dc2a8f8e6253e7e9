"""What finding the next items costs in a large list with many dependencies."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TypedDict

import headway

from .measure import Measured, Row, side_by_side

ITEMS = 10_000
DEPENDENCIES = 15_000


class Item(TypedDict):
    id: str
    content: str
    status: str
    depends_on: list[str]


def _items() -> list[Item]:
    """A third is completed; each item depends on earlier ones."""
    pick = random.Random(1)
    items: list[Item] = [
        {
            "id": f"i{n}",
            "content": f"Item {n}",
            "status": "completed" if n < ITEMS // 3 else "pending",
            "depends_on": [],
        }
        for n in range(ITEMS)
    ]
    made = 0
    while made < DEPENDENCIES:
        item = pick.randrange(1, ITEMS)
        needed = items[pick.randrange(item)]["id"]
        if needed not in items[item]["depends_on"]:
            items[item]["depends_on"].append(needed)
            made += 1
    return items


def next_todos(folder: Path) -> Measured:
    items = _items()
    session = headway.open(memory=True)
    session.write(items)
    plain = {item["id"]: item for item in items}

    def scan(number: int) -> list[Item]:
        return [
            item
            for item in plain.values()
            if item["status"] == "pending"
            and all(plain[needed]["status"] == "completed" for needed in item["depends_on"])
        ]

    assert [todo.id for todo in session.next_todos()[0]] == [item["id"] for item in scan(0)]
    return side_by_side(lambda number: session.next_todos(), scan, 60)


ROWS = [Row("next_todos, 10,000 items, 15,000 edges", "a plain scan over dicts", 5, next_todos)]
