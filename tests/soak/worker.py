"""One process among several on the same session.

Prints `ready`, waits for a line on stdin, then does its work and prints one line for each change, after the call that
made it has returned. What it prints last, `longest SECONDS`, is the longest time that one call took.
"""

from __future__ import annotations

import sys
import time

import headway
from headway.core.events import ListDelta

LIST_SIZE = 20


def say(*words: object) -> None:
    print(*words, flush=True)


def change(session: headway.Session, name: str, seconds: float) -> None:
    """Changes its own item as fast as it can."""
    longest, count, end = 0.0, 0, time.monotonic() + seconds
    while (start := time.monotonic()) < end:
        count += 1
        token = f"{name}-{count}"
        session.update(name, notes=token)
        longest = max(longest, time.monotonic() - start)
        say(token)
    say("longest", longest)


def change_all(session: headway.Session, name: str, number: float) -> None:
    """Changes every item in each step, until it is killed."""
    count = 0
    while True:
        count += 1
        token = f"{name}-{count}"
        session.write([{"id": f"i{item}", "content": f"Item {item}", "notes": token} for item in range(LIST_SIZE)])
        say(token)


def add(session: headway.Session, name: str, number: float) -> None:
    for count in range(int(number)):
        content = f"{name}-{count}"
        say(session.add(content, actor=name).id, content)


def claim(session: headway.Session, name: str, number: float) -> None:
    while todo := session.claim(name):
        say(todo.id)
        session.update(todo.id, status="completed", actor=name)


def watch(session: headway.Session, name: str, number: float) -> None:
    """Prints version, notes and delay of each change; ends with the change whose notes are `end`."""
    for events in session.watch(timeout=60):
        seen = time.monotonic()
        for event in events:
            assert isinstance(event.data, ListDelta)
            notes = str(event.data.changed["i0"]["notes"][1])
            if notes == "end":
                return
            say(event.version, notes, seen - float(notes.partition("@")[2]))


ROLES = {"change": change, "change_all": change_all, "add": add, "claim": claim, "watch": watch}


def work(role: str, project: str, name: str, number: str) -> None:
    session = headway.open(project)
    say("ready")
    if sys.stdin.readline():
        ROLES[role](session, name, float(number))
    session.close()
