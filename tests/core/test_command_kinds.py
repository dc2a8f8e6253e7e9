"""Which commands say that the work is sound by succeeding: in doubt none, and never one whose failure is hidden."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from shlex import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.counts import some
from tests.support.growth import bounded
from tests.support.tables import check_rows

from headway.core.command_kinds import CommandKind, classify_command

CHECKS = [
    "pytest -q",
    "pytest 'tests/a b.py' -k \"x and not y\"",
    "python parse.py",
    "python3.11 -m pytest tests",
    ".venv/bin/python -W error -m unittest -q test_dates.Iso",
    "./run_tests.sh --all",
    "bash run.sh",
    "make",
    "make test VERBOSE=1",
    "npm test",
    "npm run build",
    "npx tsc --noEmit",
    "uv run pytest -q",
    "poetry run python -m mypy src",
    "cargo test",
    "go vet ./...",
    "ruff check .",
    "black --check src",
    "node --test",
    "tests/smoke",
    "diff expected.txt actual.txt",
    # a shell around it
    "cd src && pytest",
    "(cd src && pytest)",
    "cd src; pytest",
    "set -euo pipefail\npytest",
    "source .venv/bin/activate && pytest",
    "export DEBUG=1 && pytest",
    "PYTHONPATH=src pytest",
    "env DEBUG=1 timeout 60 nice -n 5 pytest",
    "time pytest",
    "bash -c 'pytest -q'",
    'sh -ec "cd src && pytest"',
    "pytest && echo ok",
    "pytest && mypy src",
    "echo testing; pytest",
    "echo '{}' | python parse.py",
    "python parse.py < input.txt",
    "pytest >/dev/null 2>&1",
    "pytest # || true",
    "# the tests\npytest",
    "pytest \\\n  -q",
    "pytest tests/*.py",
    "pytest $TESTS",
    '"pytest" -q',
]
READS = [
    "",
    "  \n",
    "# pytest",
    "true",
    "TRUE",
    "/bin/true",
    "'true'",
    't"ru"e',
    "tr\\\nue",
    ":",
    "false",
    "echo ok",
    "echo 'pytest passed'",
    "printf 'exit code 0'",
    "ls -la; pwd",
    "cat calc.py | grep add",
    "head -n 20 a.txt",
    "grep -rn TODO src && wc -l src/a.py",
    "sed -n 1,20p calc.py",
    "sed 's/write/read/' calc.py",
    "find . -name '*.py'",
    "git status && git diff",
    "test 1",
    "[ -f calc.py ]",
    "sleep 1",
    "date",
    "true # pytest",
    # an exit code that hides what failed
    "pytest || true",
    "pytest || echo failed",
    "pytest; true",
    "pytest; echo $?",
    "pytest\necho done",
    "pytest | cat",
    "pytest | tail -5",
    "pytest |& tail",
    "pytest; mypy src",
    "pytest &",
    "pytest & wait",
    "(pytest; true)",
    "(pytest || true) && echo ok",
    "bash -c 'pytest; true'",
    'bash -c "true"',
    "sh -c 'pytest || :'",
    "sh -n script.sh",
    "bash /dev/null",
    "python /dev/null",
    # nobody knows what ran
    "exit 0",
    "exit 0; pytest",
    "exit && pytest",
    "trap 'exit 0' EXIT; pytest",
    "alias pytest=true; pytest",
    "set -n; pytest",
    "set +o errexit -n\npytest",
    "hash -p /bin/true pytest; pytest",
    "PATH=/elsewhere pytest",
    "export PATH=/elsewhere; pytest",
    "PYTEST_ADDOPTS=--collect-only pytest",
    "BASH_ENV=x bash run.sh",
    # nothing is tried
    "pytest --version",
    "pytest --collect-only",
    "make -n test",
    "make help",
    "flake8 --exit-zero",
    "npm run lint --if-present",
    "jest --passWithNoTests",
    "npm run",
    "pip list",
    "env",
    "env DEBUG=1 true",
    "timeout 5 echo ok",
    "command -v pytest",
    "command true",
    "uv run true",
    "poetry run -- echo ok",
    "npx",
    "nohup sleep 1",
    "python --version",
    "python -m this",
    'python -c "print(1)"',
    'python -c "assert True"',
    "node -e '1'",
]
EDITS = [
    "sed -i s/a/b/ calc.py",
    "sed -i.bak s/a/b/ calc.py && pytest",
    "cat > calc.py <<'END'\ndef add(): ...\nEND",
    "cat <<END > calc.py\nx\nEND\npytest",
    "echo x > calc.py",
    "echo x >> calc.py && pytest",
    "pytest > calc.py",
    "pytest &> out.txt",
    "pytest 2>errors.txt",
    "tee calc.py < other.py",
    "cp a.py b.py",
    "mv a.py b.py && pytest",
    "git checkout -- tests",
    "git commit -am done",
    "git apply fix.patch",
    "patch -p1 < fix.patch",
    "ruff check --fix .",
    "ruff format .",
    "black .",
    "npm install",
    "pip install -e .",
    "cargo fmt",
    "npm run format",
    "jest -u",
    "pytest --snapshot-update",
    "find . -name '*.pyc' -delete",
    "find . -exec sed -i s/a/b/ {} +",
    "python -c \"open('calc.py', 'w').write('x')\"",
    "python - <<END\nprint(1)\nEND",
    "echo 'open(1)' | python",
    "ls | xargs rm",
    "eval pytest",
    "exec pytest",
    "source ./settings.sh",
    # only a shell can tell
    "! pytest",
    "if pytest; then echo ok; fi",
    "for f in *.py; do python $f; done",
    "while pytest; do break; done",
    "{ pytest; }",
    "pytest() { true; }; pytest",
    "$RUN",
    "pytest $(cat options)",
    'pytest "$(cat options)"',
    "pytest `cat options`",
    "diff <(cat a) <(cat b)",
    "$'true'",
    "pyt{est,}",
    "pytest '",
    'pytest "',
    "pytest \\",
    "pytest )",
    "( pytest",
    "pytest && && ls",
    "docker run image true",
    "ssh host pytest",
    "busybox true",
]


def test_each_command_is_what_a_careful_reader_would_call_it() -> None:
    def check(kind: CommandKind, command: str) -> None:
        assert classify_command(command) is kind

    tables = {CommandKind.CHECK: CHECKS, CommandKind.READS: READS, CommandKind.EDITS: EDITS}
    check_rows([(kind, command) for kind, commands in tables.items() for command in commands], check)


def test_nothing_that_is_put_around_a_harmless_command_makes_a_check_of_it() -> None:
    around = [
        "{}", "({})", "({}) && {}", "{}; {}", "{} && {}", "{} || {}", "{} | {}", "{} &", "! {}", "env X=1 {}", "X=1 {}",
        "time {}", "nice {}", "timeout 9 {}", "command {}", "nohup {}", "uv run {}", "npx {}", "  {}  # pytest",
        "# pytest\n{}", "{} >/dev/null", "{} < pytest", "cd pytest && {}", "set -e; {}",
    ]  # fmt: skip
    harmless = ["true", "echo pytest", "ls", "cat pytest", "pwd", "test 1", "exit 0", "git log", "sleep 0", "false"]

    def check(outer: str, inner: str, command: str) -> None:
        line = inner.replace("{}", command)
        for wrapped in (line, outer.replace("{}", line), f"bash -c {quote(line)}", f"sh -ec {quote(line)}"):
            assert classify_command(wrapped) is not CommandKind.CHECK, wrapped

    check_rows([(outer, inner, command) for outer in around for inner in around for command in harmless], check)


# against a real shell: `pytest` fails there, and whatever hides that is no check


@pytest.fixture(scope="module")
def stubs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which `pytest` is a command that fails, and changes nothing."""
    folder = tmp_path_factory.mktemp("stubs")
    (folder / "pytest").write_text("#!/bin/sh\nexit 1\n")
    (folder / "pytest").chmod(0o755)
    return folder


_ATOMS = st.sampled_from([
    "pytest", "pytest -q", "'pytest'", "py''test", "\\pytest", "pytest \\\n -q", "pytest # x", "# pytest",
    "pytest 2>&1", "pytest >/dev/null", "pytest </dev/null", "pytest <<< x", "pytest > made", "pytest 2>made",
    "X=1 pytest", "command pytest", "env X=1 pytest", "time pytest", "timeout 5 pytest", "nice pytest",
    "nohup pytest", "exec pytest", "eval pytest", "! pytest", "$X pytest", "${X} pytest", "[ -n pytest ]", "exit",
    "exit 0", "return 0", "true", "false", ":", "echo a", "echo 'a; pytest'", "cat made", "ls", "cd .", "cd /nowhere",
    "X=1", "Y=$(pytest)", "wait", "touch made", "echo a > made", "echo a >> made", "cp /bin/sh made", "set -e",
    "set -eu", "set -o pipefail", "set -n", "set +e", "trap true EXIT", "trap 'exit 0' EXIT ERR", "alias pytest=true",
    "shopt -s expand_aliases", "unset X", "pytest() { true; }", "export PATH=/nowhere:$PATH", "export X=1",
    "hash -p /bin/true pytest", "enable -n test", "PATH=/bin pytest", "kill $$", "test 1", "read x", "let x=1",
    "\"pytest\" ''", "", "break", "coproc pytest",
])  # fmt: skip


def _more(lines: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    joints = ["; ", " && ", " || ", " | ", "\n", " & ", " |& ", " ;\n", " && \n", ";;", "&&&"]
    around = [
        "({})", "( {} )", "{{ {}; }}", "{{ {}\n}}", "! {}", "if {}; then :; fi", "if true; then {}; fi", "{} &",
        "while {}; do break; done", "for x in 1; do {}; done", "case x in x) {};; esac", 'echo "$({})"', "echo `{}`",
        "{} >/dev/null 2>&1", "{} > made", "({}) > made", "({}) | cat", "f() {{ {}; }}; f", "true | {}", "{} #",
        "X=1 {}", "cat <<END\n{}\nEND", "time {}", "command {}", "coproc {}", "until {}; do break; done", "{}  ",
    ]  # fmt: skip
    shells = st.sampled_from(["bash -c", "sh -ec", "eval"])
    return st.one_of(
        st.tuples(lines, st.sampled_from(joints), lines).map("".join),
        st.tuples(lines, st.sampled_from(around)).map(lambda pair: pair[1].format(pair[0])),
        st.tuples(lines, shells).map(lambda pair: f"{pair[1]} {quote(pair[0])}"),
    )


@given(line=st.recursive(_ATOMS, _more, max_leaves=6))
@settings(max_examples=some(2_000, 8), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_line_that_counts_as_a_check_fails_when_its_check_fails_and_one_that_reads_changes_nothing(
    stubs: Path, tmp_path: Path, line: str
) -> None:
    kind = classify_command(line)
    if kind is CommandKind.EDITS:
        return
    made = tmp_path / "made"
    made.write_text("as it was")
    ended = subprocess.run(
        ["bash", "-c", line],
        cwd=tmp_path,
        env={"PATH": f"{stubs}:{os.environ['PATH']}", "HOME": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=30,
        check=False,
    )
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "nohup.out") == ["made"]
    assert made.read_text() == "as it was"
    if kind is CommandKind.CHECK:
        assert ended.returncode != 0


@given(st.text(max_size=60) | st.text("();&|<>'\"\\ \n$`{}#!~*pytest", max_size=40))
@settings(max_examples=some(2_000, 8))
def test_any_text_is_of_some_kind(text: str) -> None:
    assert classify_command(text) in CommandKind


def test_a_command_of_any_size_and_depth_is_read_in_time() -> None:
    with bounded():
        for text in ("(" * 20_000, "a;" * 10_000, "'" * 19_999, "\\" * 20_000, "a && " * 3_999 + "b", "env " * 5_000):
            classify_command(text)
    assert classify_command("pytest " + "a" * 10_000) is CommandKind.CHECK
    assert classify_command("pytest " + "a" * 20_000) is CommandKind.EDITS
