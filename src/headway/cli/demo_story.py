"""The story of `headway demo`: a small project whose test fails, and what the scripted model does about it.

Only the model's words and calls stand here. What they come to (files, test runs, a failure that is tried again)
happens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headway.testing.script import Turn

TASK = "The tests for English and Chinese dates fail. Plan how to make them pass."
WORKERS = 3
FILES = {
    ".gitignore": "__pycache__/\n",
    "README.md": "# dates\n\nReads dates as people write them: `2026-11-15`.\n",
    "dates.py": '''"""Dates as people write them."""

import re
from datetime import date


def parse(text: str) -> date:
    """The date that a text means."""
    found = re.fullmatch(r"(\\d{4})-(\\d\\d)-(\\d\\d)", text.strip())
    if found is None:
        raise ValueError(f"no date: {text}")
    return date(*map(int, found.groups()))
''',
    "test_dates.py": """from datetime import date
from unittest import TestCase

from dates import parse

DAY = date(2026, 11, 15)


class Iso(TestCase):
    def test_iso(self):
        self.assertEqual(parse("2026-11-15"), DAY)


class English(TestCase):
    def test_day_first(self):
        self.assertEqual(parse("15 Nov 2026"), DAY)

    def test_month_first(self):
        self.assertEqual(parse("November 15, 2026"), DAY)


class Chinese(TestCase):
    def test_digits(self):
        self.assertEqual(parse("2026年11月15日"), DAY)

    def test_spaces(self):
        self.assertEqual(parse("2026 年 11 月 15 日"), DAY)
""",
}
TEST = "python3 -m unittest -q"
PLAN = {
    "title": "Read dates in English and Chinese",
    "overview": "Give each language a reader of its own, so that they can be written side by side, then test it all.",
    "steps": [
        {
            "id": "step-1",
            "description": "Give each language a reader of its own",
            "module": "readers",
            "estimatedTime": "10min",
            "verify": f"python3 -c 'import readers' && {TEST} test_dates.Iso",
        },
        {
            "id": "step-2",
            "description": "Read English dates: 15 Nov 2026",
            "module": "english",
            "dependencies": ["step-1"],
            "estimatedTime": "15min",
            "verify": f"{TEST} test_dates.English",
        },
        {
            "id": "step-3",
            "description": "Read Chinese dates: 2026年11月15日",
            "module": "chinese",
            "dependencies": ["step-1"],
            "risks": ["People write spaces between the parts."],
            "estimatedTime": "20min",
            "verify": f"{TEST} test_dates.Chinese",
        },
        {
            "id": "step-4",
            "description": "Say in the README what can be read",
            "module": "docs",
            "dependencies": ["step-1"],
            "estimatedTime": "5min",
            "verify": "grep -rq '15 Nov 2026' --include='*.md' .",
        },
        {
            "id": "step-5",
            "description": "Run the whole suite",
            "dependencies": ["step-2", "step-3", "step-4"],
            "estimatedTime": "5min",
            "verify": TEST,
        },
    ],
    "testingStrategy": f"Each language by its own tests, then all of them with {TEST}.",
}
_PARSE = '''"""Dates as people write them."""

from datetime import date

from readers import READERS


def parse(text: str) -> date:
    """The date that a text means."""
    for read in READERS:
        if (found := read(text.strip())) is not None:
            return found
    raise ValueError(f"no date: {text}")
'''
_READERS = '''"""A module for each way of writing dates; its function `read` gives the date, or None."""

from importlib import import_module
from pkgutil import iter_modules

READERS = [import_module(f"readers.{found.name}").read for found in iter_modules(__path__)]
'''
_ISO = """import re
from datetime import date


def read(text):
    found = re.fullmatch(r"(\\d{4})-(\\d\\d)-(\\d\\d)", text)
    return date(*map(int, found.groups())) if found else None
"""
_ENGLISH = """from datetime import date, datetime

FORMS = ("%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y")


def read(text):
    for form in FORMS:
        try:
            return datetime.strptime(text, form).date()
        except ValueError:
            continue
    return None
"""
_CHINESE = """import re
from datetime import date


def read(text):
    found = re.fullmatch(r"(\\d{4})年(\\d{1,2})月(\\d{1,2})日", text)
    return date(*map(int, found.groups())) if found else None
"""
_SPACED = _CHINESE.replace("(\\d{4})年", "(\\d{4})\\s*年\\s*").replace("月", "\\s*月\\s*").replace("日", "\\s*日")


def build_conversations(pace: float) -> dict[str, list[Turn]]:
    """What the model says and calls, by what it is told. `pace`: seconds that it takes for an answer."""
    from headway.testing import Call, Turn

    def turn(text: str, *calls: tuple[str, dict[str, Any]], slow: float = 1.0) -> Turn:
        return Turn(text=text, calls=[Call(name, args) for name, args in calls], delay=pace * slow)

    def write(path: str, content: str) -> tuple[str, dict[str, Any]]:
        return "write_file", {"path": path, "content": content}

    def run(command: str) -> tuple[str, dict[str, Any]]:
        return "bash", {"command": command}

    done = "report_item", {"status": "completed"}
    return {
        TASK: [
            turn("", ("read_many_files", {"paths": ["dates.py", "test_dates.py"]})),
            turn("Two languages are missing, and each can be added by itself.", ("create_plan", PLAN)),
            turn("The plan is ready."),
        ],
        "Execute todo: step-1": [
            turn("", ("read_file", {"path": "dates.py"})),
            turn("", write("readers/__init__.py", _READERS), write("readers/iso.py", _ISO)),
            turn("", write("dates.py", _PARSE)),
            turn("", run(f"{TEST} test_dates.Iso"), done),
            turn("Each way of writing dates is now a module in readers/."),
        ],
        "Execute todo: step-2": [
            turn("", write("readers/english.py", _ENGLISH), slow=2),
            turn("", run(f"{TEST} test_dates.English"), done),
            turn("readers/english.py reads both orders."),
        ],
        "Execute todo: step-3": [
            turn("", write("readers/chinese.py", _CHINESE), slow=1.5),
            turn("", run(f"{TEST} test_dates.Chinese")),
            turn("One of the two tests still fails: the one with spaces."),
            turn("The test with spaces still fails."),
            turn("", write("readers/chinese.py", _SPACED), slow=1.5),
            turn("", run(f"{TEST} test_dates.Chinese"), done),
            turn("readers/chinese.py allows spaces between the parts."),
        ],
        "Execute todo: step-4": [
            turn("", ("read_file", {"path": "README.md"})),
            turn(
                "",
                (
                    "edit",
                    {
                        "path": "README.md",
                        "old_string": "`2026-11-15`.",
                        "new_string": "`2026-11-15`, `15 Nov 2026`, `2026年11月15日`.",
                    },
                ),
                done,
            ),
            turn("The README names all three."),
        ],
        "Execute todo: step-5": [
            turn("", run(TEST), done),
            turn("All five tests pass."),
        ],
    }
