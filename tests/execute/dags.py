"""Lists of items that depend on each other and append lines to files, and what the files come to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hypothesis import strategies as st

import headway
from headway import Session

FILES = ("one.txt", "two.txt")
FAILS_ONCE = "(fails once)"


@dataclass(frozen=True)
class Dag:
    """Items in the order of the list: what each depends on, and to which files it appends a line of its own."""

    needs: tuple[tuple[int, ...], ...]
    writes: tuple[tuple[str, ...], ...]
    fails_once: frozenset[int] = frozenset()
    """Items whose first attempt does everything and then reports that it failed."""

    def open(self, folder: Path) -> Session:
        session = headway.open(folder)
        session.write(
            [
                {"id": f"i{at}", "content": self._content(at), "depends_on": [f"i{node}" for node in needed]}
                for at, needed in enumerate(self.needs)
            ],
            replace=True,
        )
        return session

    def _content(self, at: int) -> str:
        return " ".join([*self.steps(at), *([FAILS_ONCE] if at in self.fails_once else [])])

    def steps(self, at: int) -> list[str]:
        return [f"{file}=i{at}.{number}" for number, file in enumerate(self.writes[at])]

    def in_order(self) -> dict[str, str]:
        """The files after the items have run one after the other, as they stand in the list."""
        files: dict[str, str] = {}
        done: list[int] = []
        while len(done) < len(self.needs):
            at = next(at for at, needs in enumerate(self.needs) if at not in done and {*needs} <= {*done})
            for step in self.steps(at):
                file, _, line = step.partition("=")
                files[file] = files.get(file, "") + f"{line}\n"
            done.append(at)
        return files


@st.composite
def dags(draw: st.DrawFn, most: int = 4) -> Dag:
    size = draw(st.integers(2, most))
    needs = [tuple(sorted(draw(st.sets(st.sampled_from(range(at)), max_size=2)))) if at else () for at in range(size)]
    writes = [tuple(draw(st.lists(st.sampled_from(FILES), min_size=1, max_size=3))) for _ in range(size)]
    return Dag(tuple(needs), tuple(writes))


def lines_of(files: dict[str, str]) -> dict[str, list[str]]:
    """The lines of each file, whatever their order."""
    return {file: sorted(text.splitlines()) for file, text in files.items()}
