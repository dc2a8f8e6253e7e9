"""What an undo did, in words: each step by its name, with what changed, in listings of at most five."""

from __future__ import annotations

from collections.abc import Callable

from tests.support.tables import check_rows

import headway
from headway import Session
from headway.views.undo_lines import file_lines, undone_lines

Do = Callable[[Session], object]


def undone(*does: Do, n: int = 1) -> list[str]:
    session = headway.open(memory=True)
    session.write([{"content": "A"}, {"content": "B"}])
    for do in does:
        do(session)
    return undone_lines(session.undo(n).steps)


def test_each_kind_of_change_is_named_with_what_is_different_now() -> None:
    def reads(do: Do, *lines: str) -> None:
        assert undone(do) == [*lines]

    two = ("edit of 2 todos by ada:", "  t1 completed → pending", "  t2 completed → pending")
    rewrite = ("rewrite by the model:", '  title "T" → "Agent Tasks"', '  restored t2 "B"')
    rows: list[tuple[Do, *tuple[str, ...]]] = [
        (lambda s: s.update("t2", content="C"), 'edit of t2: t2 "C" → "B"'),
        (lambda s: s.update("t2", actor="model", priority="low"), "edit of t2 by the model: t2 priority low → none"),
        (lambda s: s.advance(done=["t1", "t2"], actor="ada"), *two),
        (lambda s: s.add("C"), 'addition of t3: removed t3 "C"'),
        (lambda s: s.drop("t1"), 'removal of t1: restored t1 "A"'),
        (lambda s: s.move("t2", 1), "move of t2: moved t2 to position 2"),
        (lambda s: s.claim("ada"), "claim of t1 by ada: t1 in_progress → pending"),
        (lambda s: s.write([{"content": "A"}], title="T", replace=True, actor="model"), *rewrite),
        (lambda s: s.clear(), "removal of all todos:", '  restored t1 "A"', '  restored t2 "B"'),
    ]
    check_rows(rows, reads)


def test_listings_have_at_most_five_lines() -> None:
    many = [{"content": f"item {number}"} for number in range(8)]
    lines = undone(lambda s: s.write(many, replace=True))
    assert lines[0] == "rewrite:"
    assert (len(lines), lines[-1]) == (7, "  and 5 more")
    add: Do = lambda s: s.add("C")  # noqa: E731
    assert undone(*[add] * 7, n=7)[5:] == ["and 2 more changes"]
    files = [f"f{number}" for number in range(8)]
    assert file_lines(files, ["f0"]) == ["Restored 7 files: f1, f2, f3, f4, f5 and 2 more", "Removed 1 file: f0"]


def test_hostile_text_is_harmless() -> None:
    lines = undone(lambda s: s.update("t1", content="\x1b[2J\u202e\n" + "x" * 500))
    assert not {"\x1b", "\u202e", "\n"} & set("".join(lines))
    assert all(len(line) < 200 for line in lines)
