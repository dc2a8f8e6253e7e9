"""Watches a project from its own process: prints how long ago each change was begun, until its notes are `end`."""

from __future__ import annotations

import sys
import time

import headway


def main() -> None:
    session = headway.open(sys.argv[1])
    print("ready", flush=True)
    for _ in session.watch(timeout=20):
        seen = time.monotonic()
        notes = session.todos[0].notes or ""
        if notes == "end":
            return
        print(seen - float(notes), flush=True)


if __name__ == "__main__":
    main()
