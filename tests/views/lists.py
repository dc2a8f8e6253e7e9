"""Whole lists that are exported and read again, and what of them is kept."""

from __future__ import annotations

from hypothesis import strategies as st

import headway
from headway.core.model import Origin, Priority, Status, Todo
from headway.core.text import is_blank, trim_text

from .samples import STATUSES, hostile_text, todo

KEPT = [
    "id",
    "content",
    "active_form",
    "status",
    "priority",
    "module",
    "depends_on",
    "risks",
    "estimated_time",
    "verify",
    "notes",
    "created_from",
    "created_at",
    "completed_at",
]
TIME = "2025-01-02T17:42:33.123Z"


def kept(items: list[Todo]) -> list[list[object]]:
    """What an export has of them."""
    return [[getattr(item, name) for name in KEPT] for item in items]


def written(items: list[dict[str, object]]) -> list[Todo]:
    """The list that they make."""
    return headway.open(memory=True).write(items, replace=True).todos


def full_item() -> Todo:
    """An item with everything."""
    return todo(
        2,
        "Fix the parser",
        Status.COMPLETED,
        active_form="Fixing the parser",
        priority=Priority.HIGH,
        module="core",
        depends_on=("t1",),
        risks=("slow", "breaks, maybe"),
        estimated_time="45min",
        verify="make test",
        notes="first\nsecond",
        created_from=Origin.PLAN,
        created_at=TIME,
        completed_at=TIME,
    )


_text = hostile_text.map(trim_text).filter(lambda text: not is_blank(text))
_maybe = st.none() | _text
_times = st.none() | st.just(TIME)


@st.composite
def lists(draw: st.DrawFn) -> list[Todo]:
    """Any list that can be."""
    ids = draw(st.lists(_text | st.sampled_from(["t1", "t2", "step-3"]), min_size=1, max_size=4, unique=True))
    return [
        Todo(
            todo_id,
            draw(_text),
            draw(_maybe),
            draw(st.sampled_from(STATUSES)),
            draw(st.none() | st.sampled_from(list(Priority))),
            draw(_maybe),
            tuple(draw(st.lists(st.sampled_from(ids[:place]), unique=True))) if place else (),
            tuple(draw(st.lists(_text, max_size=3))),
            draw(_maybe),
            draw(_maybe),
            created_from=draw(st.none() | st.sampled_from(list(Origin))),
            created_at=TIME,
            completed_at=draw(_times),
            verify=draw(_maybe),
        )
        for place, todo_id in enumerate(ids)
    ]
