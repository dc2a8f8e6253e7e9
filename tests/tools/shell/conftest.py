from __future__ import annotations

from pathlib import Path

import pytest

from headway.tools.shell import process_keeper as keeper

GRACE = "GRACE = 2.0\n"


@pytest.fixture(scope="session")
def hasty_keeper(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program that watches over a command, with less patience for what does not end when it is asked to."""
    text = Path(keeper.__file__).read_text(encoding="utf-8")
    assert text.count(GRACE) == 1
    copy = tmp_path_factory.mktemp("keeper") / "keeper.py"
    copy.write_text(text.replace(GRACE, "GRACE = 0.5\n"), encoding="utf-8")
    return copy


@pytest.fixture
def short_grace(hasty_keeper: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not end by itself, and what a killed keeper leaves behind, is not waited for as long as usual."""
    monkeypatch.setattr(keeper, "__file__", str(hasty_keeper))
    monkeypatch.setattr("headway.tools.shell.processes._DRAIN", 0.3)
