"""Commands that only run tests: whether their output shows that one of them passed."""

from __future__ import annotations

import pytest

from headway.tools.checks.run_check import list_shell_scripts, shows_no_passed_test


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("pytest -q", ""),
        ("python3 -m pytest -q tests", "s                              [100%]\n1 skipped in 0.01s"),
        (".venv/bin/pytest tests", "collecting ..."),
        ("python -m unittest -q", ""),
        ("python -m unittest -q", "Ran 2 tests in 0.000s\n\nOK (skipped=2)"),
        ("python -m unittest -q", "Ran 0 tests in 0.000s\n\nOK"),
        ("make test PYTHON='/usr/bin/python3'", "/usr/bin/python3 -m unittest -q tests.test_calc\n"),
        ("make check", "echo start\nstart\npytest -q\nno tests ran in 0.01s\n"),
    ],
)
def test_no_test_passed(command: str, output: str) -> None:
    assert shows_no_passed_test(command, output)


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("pytest -q", ".                              [100%]\n1 passed in 0.01s"),
        ("pytest -qq", "..s.                              [100%]"),
        ("pytest -q", "1 skipped, 12 passed in 0.01s"),
        ("pytest -q", "x\n1 xfailed in 0.01s"),
        ("pytest --collect-only -q", "tests/test_a.py::test_it"),
        ("pytest -q > log", ""),
        ("pytest -q | grep -q passed", ""),
        ("make test", ""),
        ("make test", "cc -o a a.c\n./a\n"),
        ("make test", "pytest -q\n.    [100%]\n1 passed in 0.01s"),
        ("make test", "python -m unittest -q\nRan 2 tests in 0.000s\n\nOK"),
        ("pytest -q && ruff check .", ""),
        ("python check.py", ""),
        ("python -m unittest -q", "Ran 2 tests in 0.000s\n\nOK (skipped=1)"),
    ],
)
def test_a_test_passed_or_nobody_can_tell(command: str, output: str) -> None:
    assert not shows_no_passed_test(command, output)


@pytest.mark.parametrize("command", ["sh check.sh", "bash -e ./check.sh", "./check.sh", "cd tools && sh check.sh"])
def test_what_holds_for_a_command_of_a_script_holds_for_it(command: str) -> None:
    scripts = ["#!/bin/sh\nset -e\nPYTHONPATH=. python3 -m unittest -q tests.test_calc\n"]
    script = f"{'tools/' if 'cd' in command else ''}{command.split()[-1]}"
    assert list(list_shell_scripts(command))[-1] == script
    assert shows_no_passed_test(command, "", scripts)
    assert not shows_no_passed_test(command, "Ran 2 tests in 0.000s\n\nOK", scripts)
    assert not shows_no_passed_test(command, "", ["cc -o a a.c\n./a\n"])
    assert not shows_no_passed_test(command, "", ["pytest -q > log\n"])
