from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import pytest
from tests.support import executions, projects
from tests.support.processes import Form

import headway

from .running import Door, Scripted
from .serving import Server, item

SCRIPT = "script.json"
Begun = Callable[..., headway.Session]


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for all tests that need nothing of their own; each has sessions of its own in it."""
    folder = tmp_path_factory.mktemp("served") / "project"
    made = Server(projects.repository(folder), HEADWAY_MODEL=f"scripted:{SCRIPT}")
    yield made
    written = made.stop()
    assert "Traceback" not in written, written


_number = count(1)


@pytest.fixture
def name() -> str:
    """A session that nobody else has."""
    return f"mine {next(_number)} é"


@pytest.fixture
def begun(server: Server, name: str) -> Begun:
    """Begins the session from outside of the server, with items."""

    def begin(*items: str | Form) -> headway.Session:
        session = headway.open(server.folder, name)
        session.write([item(one) if isinstance(one, str) else one for one in items])
        return session

    return begin


@pytest.fixture
def in_threads() -> Callable[..., None]:
    """Does all of it at once; raises the first error."""

    def run(*works: Callable[[], object]) -> None:
        with ThreadPoolExecutor(len(works)) as pool:
            for done in [pool.submit(work) for work in works]:
                done.result()

    return run


@pytest.fixture
def scripted(server: Server) -> Scripted:
    """A model that says these turns for each item; `said`: to a message with that word."""

    def write(**turns: list[str | Form]) -> str:
        executions.scripted(str(server.folder / SCRIPT), **turns)
        return f"scripted:{SCRIPT}"

    return write


@pytest.fixture
def door(tmp_path: Path) -> Door:
    return Door(tmp_path)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Those that share a server run in one worker; of those in the browser, their own folder says so."""
    here = Path(__file__).parent
    for test in items:
        if test.path.parent == here and "server" in getattr(test, "fixturenames", ()):
            test.add_marker(pytest.mark.xdist_group("web"))
