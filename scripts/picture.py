"""Draws docs/demo.svg, the README's picture: a moment of the real `headway demo`, run in a pseudo-terminal."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pexpect
import pyte
from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
COLUMNS, LINES = 84, 60
RUNNING = ("● step-2", "● step-3", "● step-4")
FIRST = "3. They are executed"
COLOURS = {"brown": "yellow", "brightblack": "bright_black"}
FRAME = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: "Fira Code", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px; line-height: {line_height}px; }}
.{unique_id}-title {{ font-family: sans-serif; font-size: 18px; font-weight: bold; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def moment() -> pyte.Screen:
    """The terminal as a person sees it when three steps are being worked on."""
    screen = pyte.Screen(COLUMNS, LINES)
    stream = pyte.Stream(screen)
    program = str(Path(sys.executable).with_name("headway"))
    env = {**os.environ, "TERM": "xterm-256color", "TODO_LOG_LANG": "en", "COLORTERM": ""}
    env.pop("NO_COLOR", None)
    child: pexpect.spawn[str] = pexpect.spawn(
        program, ["demo"], dimensions=(LINES, COLUMNS), env=env, encoding="utf-8", timeout=30
    )
    while True:
        stream.feed(child.read_nonblocking(40, timeout=30))
        shown = "\n".join(screen.display)
        below = shown.rpartition(RUNNING[-1])[2]
        if all(line in shown for line in RUNNING) and "└" in below and "┘" in below:
            child.close(force=True)
            return screen


def drawn(screen: pyte.Screen) -> str:
    used = max(row for row, line in enumerate(screen.display) if line.strip()) + 1
    first = next(row for row, line in enumerate(screen.display) if FIRST in line)
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    for row in range(first, used):
        text = Text(no_wrap=True)
        for column in range(COLUMNS):
            cell = screen.buffer[row][column]
            styles = [COLOURS.get(cell.fg, cell.fg)] if cell.fg != "default" else []
            styles += ["strike dim"] if cell.strikethrough else []
            text.append(cell.data, " ".join(styles))
        text.rstrip()
        console.print(text)
    return console.export_svg(title="headway demo", code_format=FRAME, unique_id="headway")


def main() -> None:
    path = ROOT / "docs" / "demo.svg"
    path.write_text(drawn(moment()), encoding="utf-8")
    print(f"Drew {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
