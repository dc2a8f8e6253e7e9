"""Several processes on one session at once: nothing is lost, nothing is doubled, nobody starves."""

from __future__ import annotations

from pathlib import Path

import pytest

import headway

from .processes import assert_intact, noted, repeated, run_together

NAMES = [f"w{number}" for number in range(8)]


def change_together(project: Path, seconds: float) -> tuple[int, float]:
    """Changes made, and the longest time one of them took."""
    session = headway.open(project)
    session.write([{"id": name, "content": f"Item of {name}"} for name in NAMES])
    longest, acknowledged = 0.0, list[str]()
    for lines in run_together("change", project, NAMES, seconds).values():
        longest = max(longest, float(lines.pop().removeprefix("longest ")))
        acknowledged += lines
    kept = noted(session)
    assert repeated(kept) == []
    assert sorted(kept) == sorted(acknowledged)
    for name in NAMES:
        mine = [token for token in acknowledged if token.startswith(f"{name}-")]
        assert [token for token in kept if token.startswith(f"{name}-")] == mine
        assert len(mine) * len(NAMES) * 10 > len(acknowledged), f"{name} starved: {len(mine)} of {len(acknowledged)}"
        assert session.todo_list.items[name].notes == mine[-1]
    assert_intact(project, session)
    session.close()
    return len(acknowledged), longest


@pytest.mark.more
def test_every_change_of_eight_writers_is_in_the_log_once(tmp_path: Path) -> None:
    made, longest = change_together(tmp_path, 1.5)
    print(f"\n{made} changes in 1.5 s, longest wait {longest * 1000:.0f} ms")


@pytest.mark.slow
@pytest.mark.parametrize("run", range(20))
def test_every_change_of_eight_writers_is_in_the_log_once_and_nobody_starves(tmp_path: Path, run: int) -> None:
    made, longest = change_together(tmp_path, 5)
    print(f"\nrun {run}: {made} changes in 5 s, longest wait {longest * 1000:.0f} ms")


def add_together(project: Path, each: int) -> None:
    """The file does not exist yet, so creating it is part of the race."""
    printed = run_together("add", project, NAMES, each)
    acknowledged = dict(line.split(" ") for lines in printed.values() for line in lines)
    session = headway.open(project)
    assert {todo.id: todo.content for todo in session.todos} == acknowledged
    assert sorted(acknowledged.values()) == sorted(f"{name}-{count}" for name in NAMES for count in range(each))
    assert session.version == len(NAMES) * each
    assert_intact(project, session)
    session.close()


def test_every_item_that_eight_writers_add_is_kept(tmp_path: Path) -> None:
    add_together(tmp_path, 15)


@pytest.mark.slow
def test_every_item_that_eight_writers_add_is_kept_in_a_list_of_two_thousand(tmp_path: Path) -> None:
    add_together(tmp_path, 250)


@pytest.mark.slow
def test_eight_writers_can_begin_in_an_empty_folder_again_and_again(tmp_path: Path) -> None:
    for run in range(20):
        project = tmp_path / str(run)
        project.mkdir()
        add_together(project, 2)


def claim_together(project: Path, items: int) -> None:
    session = headway.open(project)
    session.write([{"id": f"i{number}", "content": f"Item {number}"} for number in range(items)])
    printed = run_together("claim", project, NAMES)
    claimed = {todo_id: name for name, lines in printed.items() for todo_id in lines}
    assert repeated([todo_id for lines in printed.values() for todo_id in lines]) == []
    assert {todo.id: todo.owner for todo in session.todos} == claimed
    assert {todo.status for todo in session.todos} == {headway.Status.COMPLETED}
    assert session.version == 1 + 2 * items
    assert_intact(project, session)
    session.close()


def test_each_item_is_claimed_by_one_of_eight_workers(tmp_path: Path) -> None:
    claim_together(tmp_path, 80)


@pytest.mark.slow
@pytest.mark.parametrize("run", range(10))
def test_each_item_is_claimed_by_one_of_eight_workers_every_time(tmp_path: Path, run: int) -> None:
    claim_together(tmp_path, 200)
