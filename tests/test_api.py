"""The names that others rely on, and what importing them does: nothing."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from tests.support.tables import check_rows

import headway
from headway import Session, events
from headway.agent import run_loop
from headway.core import errors
from headway.execute import execute, execute_all


def test_what_is_exported_is_what_is_public() -> None:
    public = {
        name
        for name, value in vars(headway).items()
        if not name.startswith("_")
        and name not in ("annotations", "TYPE_CHECKING")
        and not isinstance(value, ModuleType)
    }
    later = {"Evidence", "EvidenceLevel", "Plan", "PlanStep", "Report", "SessionInfo", "TodoChanges", "TodoFields"}
    assert {getattr(headway, name).__name__ for name in later} == later
    public |= later
    assert sorted(headway.__all__) == sorted(public)
    assert headway.__all__ == sorted(headway.__all__)


def test_every_error_but_the_internal_ones_is_exported() -> None:
    raised = {
        name
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, errors.HeadwayError) and not name.startswith("_")
    }
    assert raised <= set(headway.__all__)


IMPORT = """
import json, os, sys
before = set(sys.modules)
import headway
loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
deep = sorted(name for name in sys.modules if name.startswith("headway."))
print(json.dumps({"foreign": sorted(loaded - sys.stdlib_module_names), "deep": deep, "files": os.listdir(".")}))
"""


SILENCE = """
import headway
session = headway.open(memory=True)
def fail(todos): raise ValueError("a listener failed")
session.on("todos:update", fail)
session.write([{"content": "A"}])
import logging
assert [type(handler).__name__ for handler in logging.getLogger("headway").handlers] == ["NullHandler"]
"""


def test_logging_prints_nothing_on_its_own(tmp_path: Path):
    assert run_in(tmp_path, SILENCE) == ""


def run_in(folder: Path, script: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_importing_loads_only_the_standard_library_and_makes_no_file(tmp_path: Path) -> None:
    found = json.loads(run_in(tmp_path, IMPORT))
    assert found["foreign"] == ["headway"]
    assert found["files"] == []
    layers = {name.split(".")[1] for name in found["deep"]}
    assert layers <= {"core", "project", "session", "store"}


def test_importing_prints_nothing_and_reads_no_setting(tmp_path: Path) -> None:
    script = "import os; seen = []; os.environ.__class__.__getitem__ = lambda s, k: seen.append(k); import headway"
    assert run_in(tmp_path, script + "; assert not [k for k in seen if 'HEADWAY' in k or 'TODO' in k], seen") == ""


def test_using_the_list_loads_only_the_standard_library(tmp_path: Path) -> None:
    script = IMPORT.replace(
        "import headway\n",
        "import headway\nsession = headway.open('.')\nsession.add('A')\nsession.close()\n",
    )
    assert json.loads(run_in(tmp_path, script))["foreign"] == ["headway"]


def test_an_error_is_caught_as_headways_and_as_the_standard_one() -> None:
    def check(error: type[Exception], parents: tuple[type[Exception], ...]) -> None:
        for parent in (headway.HeadwayError, *parents):
            assert issubclass(error, parent)
        assert not issubclass(error, KeyError)

    check_rows(
        [
            (headway.InvalidTodos, (ValueError,)),
            (headway.InvalidPlan, (ValueError,)),
            (headway.TodoNotFound, (LookupError,)),
            (headway.SessionNotFound, (LookupError,)),
            (headway.NoPlan, ()),
            (headway.NothingToUndo, ()),
            (headway.ClaimRefused, ()),
            (headway.StoreError, (OSError,)),
            (headway.StoreConflict, (headway.StoreError, OSError)),
            (headway.StoreBusy, (headway.StoreError, OSError)),
            (headway.StoreReadOnly, (headway.StoreError, OSError)),
            (headway.StoreFull, (headway.StoreError, OSError)),
            (headway.StoreTooNew, (headway.StoreError, OSError)),
            (headway.StoreCorrupt, (headway.StoreError, OSError)),
        ],
        check,
    )


def test_the_example_of_the_design_works(any_session: Session) -> None:
    heard: list[list[headway.Todo]] = []
    unsubscribe = any_session.on("todos:update", heard.append)
    any_session.write([{"content": "Fix the parser", "activeForm": "Fixing the parser", "status": "in_progress"}])
    any_session.write([{"id": "t1", "status": "completed"}])
    (todo,) = any_session.todos
    assert (todo.id, todo.content, todo.active_form, todo.status) == (
        "t1",
        "Fix the parser",
        "Fixing the parser",
        headway.Status.COMPLETED,
    )
    changed = any_session.update("t1", status="completed", notes="shown by the tests")
    assert changed.notes == "shown by the tests"
    with pytest.raises(headway.TodoNotFound):
        any_session.update("t9", status="completed")
    assert (any_session.version, len(heard)) == (3, 3)
    assert any_session.updated_at is not None
    assert any_session.recap() == "[1/1] In progress: None."
    unsubscribe()
    any_session.undo(1)
    assert any_session.todos[0].notes is None
    any_session.redo()
    assert any_session.todos[0].notes == "shown by the tests"
    assert [event.version for event in any_session.events(after=3)] == [4, 5]
    assert len(any_session.history()) == 5
    assert len(heard) == 3
    any_session.clear()
    assert any_session.todos == []


def test_claims_plans_and_sub_agents_of_the_design_work(any_session: Session) -> None:
    assert any_session.claim("worker-1", lease=300) is None
    assert any_session.plan is None
    step = {"id": "step-1", "description": "Fix the parser", "estimatedTime": "1h"}
    any_session.set_plan({"title": "Parser", "overview": "Make it work.", "steps": [step]})
    (made,) = any_session.plan_to_todos().todos
    assert (made.id, made.created_from, made.estimated_time) == ("step-1", "plan", "1h")
    claimed = any_session.claim("worker-1", lease=300)
    assert claimed is not None
    assert claimed.owner == "worker-1"
    assert any_session.renew("step-1", "worker-1").status is headway.Status.IN_PROGRESS
    assert any_session.release("step-1", "worker-1").owner is None
    any_session.agent("sub-1").write([{"content": "its own"}])
    assert len(any_session.todos) == len(any_session.agent("sub-1").todos) == 1


def test_a_rejected_write_names_every_violation(any_session: Session) -> None:
    with pytest.raises(headway.InvalidTodos) as caught:
        any_session.write([{"status": "done"}, {"content": ""}])
    assert len(caught.value.violations) == 3
    assert any_session.version == 0


def test_sessions_in_memory_share_nothing() -> None:
    first, second = headway.open(memory=True), headway.open(memory=True)
    first.write([{"content": "A"}])
    assert second.todos == []


def test_a_session_is_closed_at_the_end_of_its_block(tmp_path: Path) -> None:
    with headway.open(tmp_path) as session:
        session.agent("sub").write([{"content": "A"}])
        assert has_open(tmp_path)
    assert not has_open(tmp_path)


def has_open(folder: Path) -> bool:
    """Return whether this process has a file in the folder open."""
    return any(str(folder) in os.path.realpath(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd"))


def test_every_kind_of_event_is_exported_with_its_class() -> None:
    def list_kinds(base: type[events.EventData]) -> list[type[events.EventData]]:
        return [kind for sub in base.__subclasses__() for kind in (sub, *list_kinds(sub))]

    exported = {value for name in events.__all__ if isinstance(value := getattr(events, name), type)}
    kinds = [
        kind
        for kind in list_kinds(events.EventData)
        if kind.__module__.startswith("headway.") and "wire_name" in vars(kind)
    ]
    assert len(kinds) > 25 and set(kinds) <= exported
    session = headway.open(memory=True)
    session.write([{"content": "A"}])
    (event,) = session.events()
    assert isinstance(event.data, events.TodoListUpdated) and [todo.content for todo in event.data.added] == ["A"]
    assert event.to_dict() == events.to_event_dict(event, session.name)
    assert (event.to_dict()["type"], event.to_dict()["session_id"]) == ("TodoListUpdated", session.name)


def test_what_executes_names_its_parameters() -> None:
    def check(function: Callable[..., object]) -> None:
        parameters = inspect.signature(function).parameters.values()
        assert all(parameter.kind is not parameter.VAR_KEYWORD for parameter in parameters)
        assert {parameter.name for parameter in parameters} >= {"approvals", "base_url", "config", "limits", "project"}

    check_rows([run_loop, execute, execute_all], check)


def test_a_store_opens_its_sessions_by_name() -> None:
    session = headway.open(memory=True)
    session.store.session("other").write([{"content": "B"}])
    session.agent("sub").store.session().write([{"content": "A"}])
    assert [todo.content for todo in session.todos] == ["A"]
    assert {info.name for info in session.store.sessions()} == {"default", "other"}
    with pytest.raises(headway.HeadwayError, match="1 to 200 printable characters"):
        session.store.session("a\nb")


def test_a_session_is_found_again_by_project_and_name(tmp_path: Path) -> None:
    first = headway.open(tmp_path, "work")
    first.write([{"content": "A"}])
    first.close()
    again, other = headway.open(str(tmp_path), " work "), headway.open(tmp_path)
    assert ([todo.content for todo in again.todos], other.todos) == (["A"], [])
    again.close()
    other.close()
