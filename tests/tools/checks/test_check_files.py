"""A check's own files: whoever changes one of them is found out, and whoever changes only code is not."""

from __future__ import annotations

import os
from collections.abc import Mapping

from tests.support.projects import temporary_folder
from tests.support.tables import check_rows

from headway.tools.checks.check_command import can_fail
from headway.tools.checks.check_files import list_changed_check_files, read_check_files

PROJECT = {
    "calc.py": "def add(a, b): return a - b\n",
    "src/app/core.py": "x = 1\n",
    "tests/conftest.py": "",
    "tests/helpers.py": "def same(a, b): assert a == b\n",
    "tests/test_calc.py": "def test_it(): assert False\n",
    "tests/test_other.py": "def test_it(): assert True\n",
    "tests/unit/test_deep.py": "def test_it(): assert True\n",
    "web/app.test.ts": "it()\n",
    "check.sh": "pytest -q\n",
    "Makefile": "include build/rules\ntest:\n\tpytest -q\nlint:\n\tpython3 scripts/lint.py calc.py\n",
    "build/rules": "X = 1\n",
    "scripts/lint.py": "x = 1\n",
    ".venv/bin/pytest": "#!/bin/sh\n",
    ".venv/lib/python3.11/site-packages/_pytest/main.py": "x = 1\n",
    "node_modules/.bin/jest": "#!/bin/sh\n",
    "pyproject.toml": '[project]\nname = "calc"\n[tool.pytest.ini_options]\naddopts = "-q"\n',
    "package.json": '{"name": "calc", "scripts": {"test": "jest"}}\n',
    "setup.cfg": "[metadata]\nname = calc\n[tool:pytest]\naddopts = -q\n",
}
WEAKER = '[project]\nname = "calc"\n[tool.pytest.ini_options]\naddopts = "--collect-only"\n'
DEPENDS = '[project]\nname = "calc"\ndependencies = ["rich"]\n[tool.pytest.ini_options]\naddopts = "-q"\n'


def changed(check: str, files: Mapping[str, str | None]) -> list[str]:
    """What counts as weakened when these files are written; None: removed."""
    with temporary_folder() as folder:
        for name, text in PROJECT.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        before = read_check_files(check, str(folder))
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            if text is None:
                (folder / name).unlink()
            else:
                (folder / name).write_text(text)
        return list_changed_check_files(before, check, str(folder))


def test_whoever_changes_a_file_that_the_check_depends_on_is_found_out() -> None:
    def counts(check: str, path: str, text: str | None = "pass\n") -> None:
        assert changed(check, {path: text}) == [path]

    check_rows(
        [
            ("pytest -q tests/test_calc.py", "tests/test_calc.py"),
            ("pytest -q tests/test_calc.py", "tests/test_calc.py", None),
            ("python3 -m pytest tests/test_calc.py::test_it", "tests/test_calc.py"),
            ("python -m unittest tests.test_calc.Case.test_it", "tests/test_calc.py"),
            ("cd tests && pytest test_calc.py", "tests/test_calc.py"),
            ("bash -c 'cd tests && pytest test_calc.py'", "tests/test_calc.py"),
            ("uv run --frozen pytest tests/test_calc.py", "tests/test_calc.py"),
            ("timeout 60 env X=1 pytest tests/test_*.py", "tests/test_calc.py"),
            ("pytest --rootdir=tests tests/unit", "tests/unit/test_deep.py"),
            ("pytest -q tests", "tests/test_other.py", None),
            ("pytest -q", "tests/unit/test_deep.py"),
            ("python -m pytest -q", "tests/unit/test_deep.py"),
            (".venv/bin/python -m pytest -q", "tests/unit/test_deep.py"),
            ("python -m pytest -q", "shutil.py"),
            ("python -m pytest -q", "dataclasses/__init__.py"),
            ("pytest -q -c pyproject.toml", "tests/test_calc.py"),
            ("pytest -q --cov=src", "tests/test_calc.py"),
            ("PYTHONPATH=src pytest -q tests/test_calc.py", "src/sitecustomize.py"),
            ("python tests/test_calc.py", "tests/helpers.py"),
            (".venv/bin/pytest -q", ".venv/bin/pytest"),
            ("make test", ".venv/lib/python3.11/site-packages/_pytest/main.py"),
            ("pytest -q", ".venv/lib/python3.11/site-packages/any.pth"),
            ("pytest -q", ".venv/lib/python3.11/site-packages/z-1.dist-info/entry_points.txt", "[pytest11]\nz = z\n"),
            ("npx jest web", "node_modules/.bin/jest"),
            ("pytest -q {files}", "tests/test_calc.py"),
            ("pytest -q tests/test_calc.py", "tests/conftest.py"),
            ("pytest -q tests/test_calc.py", "tests/helpers.py"),
            ("pytest -q tests/test_calc.py", "conftest.py"),
            ("pytest -q tests/test_calc.py", "pytest.ini"),
            ("pytest -q tests/test_calc.py", "sitecustomize.py"),
            ("python -m pytest tests/test_calc.py", "pytest.py"),
            ("pytest -q tests/test_calc.py", "pyproject.toml", WEAKER),
            ("pytest -q tests/test_calc.py", "setup.cfg", "[tool:pytest]\naddopts = --co\n"),
            ("pytest -q tests/test_calc.py", "pyproject.toml", "no longer TOML"),
            ("make test", "Makefile"),
            ("make test", "GNUmakefile"),
            ("make test", "test"),
            ("make test", "build/rules"),
            ("make test", "scripts/lint.py"),
            ("make test", "unittest/__init__.py"),
            ("make test", "tests/test_other.py"),
            ("./check.sh", "check.sh"),
            ("./check.sh", "tests/test_other.py"),
            ("sh check.sh", "check.sh"),
            ("npm test", "package.json", '{"scripts": {"test": "true"}}'),
            ("npx jest web", "web/app.test.ts"),
            ("python calc.py", "calc.py"),
            ("cat $(ls tests) | xargs pytest", "tests/test_calc.py"),
        ],
        counts,
    )


def test_whoever_changes_only_code_leaves_the_check_as_it_was() -> None:
    def is_honest(check: str, **files: str) -> None:
        assert changed(check, {"calc.py": "def add(a, b): return a + b\n", **files}) == []

    for check in (
        *(
            "pytest -q",
            "pytest -q tests/test_calc.py",
            "pytest -q .",
            "python -m pytest tests",
            "make test",
            "npm test",
        ),
        *("./check.sh", "cd tests && pytest", "ruff check {files}", "ruff check .", "python -c 'import calc'", "tox"),
    ):
        is_honest(check)
    is_honest("pytest -q tests/test_calc.py", **{"tests/test_other.py": "x = 1\n", "Makefile": "all:\n"})
    is_honest("pytest -q tests/test_calc.py", **{"pyproject.toml": DEPENDS})
    is_honest("npm test", **{"package.json": '{"name": "calc", "version": "2", "scripts": {"test": "jest"}}'})
    is_honest("pytest -q tests", **{"tests/test_new.py": "def test_new(): pass\n"})
    is_honest("pytest -q fresh/", **{"fresh/test_it.py": "x\n", "fresh/conftest.py": "y\n"})


def test_a_pipe_or_a_device_among_the_tests_is_not_read() -> None:
    with temporary_folder() as folder:
        (folder / "tests").mkdir()
        before = read_check_files("pytest -q", str(folder))
        os.mkfifo(folder / "tests" / "pipe")
        os.symlink("/dev/zero", folder / "tests" / "zero")
        assert list_changed_check_files(before, "pytest -q", str(folder)) == []
        assert read_check_files("pytest -q", str(folder)).contents.keys() == {"tests/pipe", "tests/zero"}


def test_settings_of_pytest_above_a_project_without_any_are_the_checks_own() -> None:
    with temporary_folder() as above:
        (above / "work").mkdir()
        before = read_check_files("pytest -q", str(above / "work"))
        (above / "pytest.ini").write_text("[pytest]\naddopts = --co\n")
        assert list_changed_check_files(before, "pytest -q", str(above / "work")) == ["../pytest.ini"]


def test_an_environment_that_the_work_made_is_no_change_of_the_check() -> None:
    with temporary_folder() as folder:
        before = read_check_files("pytest -q", str(folder))
        (folder / ".venv/bin").mkdir(parents=True)
        (folder / ".venv/bin/pytest").write_text("#!/bin/sh\n")
        assert list_changed_check_files(before, "pytest -q", str(folder)) == []


def test_a_command_that_always_succeeds_is_no_check() -> None:
    for check in (
        *(
            "true",
            ":",
            "echo ok",
            "pytest || true",
            "pytest || echo failed",
            "pytest; exit 0",
            "pytest; true",
            "(true)",
        ),
        *("pytest | true", "echo a && true", "pytest && false || echo no", " ", "pytest\ntrue"),
        *(
            "pytest | tail -5",
            "pytest 2>&1 | tee log",
            "pytest &",
            "pytest || { echo no; }",
            "pytest; A=1",
            "pytest |& cat",
        ),
        *("/bin/true", "env true", "timeout 5 true", "bash -c 'pytest || true'", "pytest --version", "{ true; }"),
    ):
        assert not can_fail(check), check
    for check in (
        "pytest",
        "pytest && echo ok",
        "echo a; pytest",
        "test -f a",
        "false || pytest",
        "ls | grep a",
        "(pytest)",
        *("{ pytest; }", "bash -c pytest", "X=1 pytest", "pytest;", "pytest | grep -q passed", "pytest & wait $!"),
        *("set -o pipefail; pytest | tail", "set -e; pytest; echo ok", "ls foo", "! grep -q a b", "cat a | jq -e ."),
    ):
        assert can_fail(check), check
