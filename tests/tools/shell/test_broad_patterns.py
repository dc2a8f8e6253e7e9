"""Allow patterns that allow more than they seem to are accepted with a word."""

from __future__ import annotations

from tests.support.tables import check_rows

from headway.tools.shell.broad_patterns import explain_broad

BROAD = [
    ("bash", "allows every command."),
    ("bash: *", "allows every command."),
    ("bash: git *", "git -c alias.x='!COMMAND' x"),
    ("bash: /usr/bin/git *", "git -c"),
    ("bash: find *", "-exec"),
    ("bash: pytest *", "pytest -p MODULE"),
    ("bash: python *", "python -c CODE"),
    ("bash: python3.11 *", "python -c CODE"),
    ("bash: npm *", "npm exec"),
    ("bash: make *", "make --eval"),
    ("bash: env *", "since env can run any."),
    ("bash: bash *", "since bash can run any."),
    ("bash:  sudo   *", "since sudo can run any."),
    ("bash: find . *", "-exec"),
    ("bash: pytest tests *", "pytest -p MODULE"),
    ("bash: pytest -*", "pytest -p MODULE"),
    ("bash: python -m *", "python -c CODE"),
    ("bash: python -m pytest *", "pytest -p MODULE"),
    ("bash: git -c *", "git -c"),
    ("bash: git * *", "git -c"),
    ("bash: make test *", "make --eval"),
    ("bash: sh -c *", "since sh can run any."),
    ("bash: docker run *", "since docker can run any."),
    ("bash: npm exec *", "npm exec"),
    ("bash: pip install *", "pip install"),
    ("bash: g* *", "allows every command."),
]
NARROW = [
    *("bash: git status", "bash: git log *", "bash: pytest", "bash: pytest tests/*", "bash: ls *", "bash: make test"),
    *("bash: python -m json.tool *", "write_file: *", "edit", "read_file: git *", "bash: npm test", "bash: npm run *"),
    *(
        "bash: python scripts/build.py *",
        "bash: docker ps *",
        "bash: pytest -q tests/test_a.py",
        "bash: find . -name x",
    ),
]


def test_broad_patterns_are_told_from_narrow_ones() -> None:
    def is_explained(entry: str, words: str | None) -> None:
        found = explain_broad(entry)
        assert found is None if words is None else found is not None and words in found and "\n" not in found

    check_rows([*BROAD, *((entry, None) for entry in NARROW)], is_explained)
