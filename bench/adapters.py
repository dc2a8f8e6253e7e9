"""What the list costs in agents of other frameworks, beside the todo list that those come with.

They run in the environments of `make test-adapters`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from .environments import ROOT, answer_of, python_of
from .measure import Measured, NotAvailable, Row

FRAMEWORKS = {"langchain": "LangChain", "pydantic_ai": "pydantic-ai"}


def _find_python(framework: str) -> Path:
    python = ROOT / ".venv-adapters" / framework / "bin" / "python"
    if not python.exists():
        raise NotAvailable(f"its environment is missing: make test-adapters ONLY={framework}")
    return python


def _count_tokens(framework: str, kind: str, folder: Path) -> int:
    """Arguments and results of the calls that make a list and go through it, and what stands behind the requests."""
    texts = answer_of(_find_python(framework), "adapted_agent", framework, "list", kind, _make_folder(folder))
    return answer_of(python_of("tokens"), "count_tokens", given=texts)


def _count(framework: str, own: bool, folder: Path) -> Measured:
    ours = _count_tokens(framework, "headway", folder)
    return Measured(ours, _count_tokens(framework, "own", folder) if own else None)


def _measure_added_time(framework: str, folder: Path) -> Measured:
    """Seconds that a round around the thousandth takes longer with Headway, on disk, than without any list."""
    late = [
        answer_of(_find_python(framework), "adapted_agent", framework, "loop", kind, _make_folder(folder))["late"]
        for kind in ("headway", "none")
    ]
    return Measured(late[0] - late[1])


def _make_folder(folder: Path) -> Path:
    made = folder / f"adapted-{len(list(folder.iterdir()))}"
    made.mkdir()
    return made


def _row(measure: Callable[[Path], Measured], framework: str, what: str, against: str, goal: float, unit: str) -> Row:
    return Row(f"{what} {FRAMEWORKS.get(framework, framework)}", against, goal, measure, unit)


ROWS = [
    *(
        _row(partial(_count, name, True), name, "tokens, 20 items, in", "its own todo list", 0.25, "tokens")
        for name in FRAMEWORKS
    ),
    _row(partial(_count, "openai_agents", False), "OpenAI's SDK", "tokens, 20 items, in", "", 3500, "tokens"),
    *(_row(partial(_measure_added_time, name), name, "added to round 1,000 of", "", 1, "") for name in FRAMEWORKS),
]
