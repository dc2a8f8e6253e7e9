"""A process that finishes a list in a session when told to: `finisher.py PROJECT SESSION CONTENT…`."""

from __future__ import annotations

import sys

import headway
from headway.tools.todo_write import TodoWriteTool


def main(project: str, session: str, contents: list[str]) -> None:
    tool = TodoWriteTool(project, headway.open(project, session))
    print("ready", flush=True)
    sys.stdin.readline()
    for content in contents:
        print(tool.run({"summary": f"All of {content}", "todos": [{"content": content, "status": "completed"}]}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
