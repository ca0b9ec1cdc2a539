"""Draws docs/picture.svg: what a merge and a status print on a terminal, from a real run in a
scratch repository.

`python -m docs.make_picture [FILE]`. The same run gives the same bytes.
"""

import os
import pty
import re
import subprocess
import sys
import termios
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple
from xml.sax.saxutils import escape

from demo.__main__ import merge_two_sessions, set_up, write_checkpoints
from demo.stage import Stage

TARGET = os.path.join(os.path.dirname(os.path.abspath(__file__)), "picture.svg")
COLUMNS = 80
CELL, LINE, MARGIN, TOP = 8.4, 20, 20, 52  # pixels
INK, PAPER, RIM = "#d7dce2", "#16191d", "#3a4048"
COLOURS = {
    "30": "#6b7480",
    "31": "#ff7b72",
    "32": "#7ee787",
    "33": "#e3b341",
    "34": "#79c0ff",
    "35": "#d2a8ff",
    "36": "#76e3ea",
    "37": "#d7dce2",
    "90": "#8b949e",
}
FRAME = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">
<title>A merge, a status and the next action on a terminal</title>
<rect x="0.5" y="0.5" width="{right}" height="{bottom}" rx="9" fill="{paper}" stroke="{rim}"/>
{dots}
<g font-family="ui-monospace, SFMono-Regular, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" fill="{ink}">
{text}
</g>
</svg>
"""
# signs are drawn, because not every machine has a font for them; around the middle of two cells
SIGNS = {
    "⛔": '<circle r="7" fill="#f85149"/><path d="M-4 0H4" stroke="#fff" stroke-width="3"/>',
    "🔄": '<rect x="-7" y="-7" width="14" height="14" rx="3" fill="#388bfd"/>'
    '<path d="M-4-1A4 4 0 0 1 3-2.6M4 1A4 4 0 0 1-3 2.6M4-5V-1.6H.8M-4 5V1.6H-.8" stroke="#fff" stroke-width="1.4" '
    'fill="none"/>',
}
_SEQUENCE = re.compile(r"\x1b\[([0-9;]*)([A-Za-z])")


class Style(NamedTuple):
    """How characters look."""

    colour: str = INK
    bold: bool = False
    dim: bool = False


class Run(NamedTuple):
    """Characters of one look that stand together; column counts cells from 0."""

    column: int
    text: str
    style: Style


def main(target: str) -> None:
    """Run the scene and write the picture."""
    lines = record_scene()
    with open(target, "w", encoding="utf-8", newline="\n") as stream:
        stream.write(draw(lines))
    print(f"wrote {os.path.relpath(target)}")


def record_scene() -> list[str]:
    """Return the lines of the picture: the demo's merge, then a status and the next action."""
    with Stage(quiet=True) as stage:
        set_up(stage)
        write_checkpoints(stage)
        merge_two_sessions(stage)
        stage.do("git reset -q --hard HEAD~1")
        lines = [
            *record(stage, "git merge --no-edit session-a"),
            "",
            *record(stage, "checkpoint status"),
        ]
        return [*lines, "", *record(stage, "checkpoint next")]


def read_words(picture: str) -> list[str]:
    """Return the words of a picture in order, without their looks and places."""
    return [
        word for text in re.findall(r"<text [^>]*>([^<]*)</text>", picture) for word in text.split()
    ]


def record(stage: Stage, command: str) -> list[str]:
    """The lines that a command shows on a terminal, the prompt first."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (50, COLUMNS))
    env = {**stage.env, "TERM": "xterm-256color", "COLUMNS": str(COLUMNS)}
    env.pop("NO_COLOR", None)
    words = ["/bin/sh", "-c", command]
    with subprocess.Popen(
        words, cwd=stage.repository, env=env, stdin=theirs, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        said = read_terminal(ours)
    stage.expect(process.returncode == 0, f"`{command}` failed:\n{said}")
    return [
        f"\x1b[32m$\x1b[0m \x1b[1m{command}\x1b[0m",
        *said.replace("\r\n", "\n").rstrip("\n").split("\n"),
    ]


def read_terminal(descriptor: int) -> str:
    """Everything written to the other end of a terminal until that is closed."""
    chunks = []
    try:
        while chunk := os.read(descriptor, 65536):
            chunks.append(chunk)
    except OSError:  # Linux says so when the last writer is gone
        pass
    finally:
        os.close(descriptor)
    return b"".join(chunks).decode()


def split_runs(line: str) -> Iterator[Run]:
    """A line of terminal output as runs of one look."""
    style, column, at = Style(), 0, 0
    for match in [*_SEQUENCE.finditer(line), None]:
        text = line[at : match.start() if match else len(line)]
        for piece in split_pieces(text):
            yield Run(column, piece, style)
            column += sum(width_of(character) for character in piece)
        if match:
            at = match.end()
            style = apply_codes(style, match.group(1)) if match.group(2) == "m" else style


def split_pieces(text: str) -> list[str]:
    """The text cut so that gaps, and characters two cells wide or of another font, stand alone."""
    return [piece for piece in re.split(r"([^\x20-\x7e]\ufe0f?| {2,})", text) if piece]


def width_of(character: str) -> int:
    """How many cells of a terminal a character takes."""
    if character == "\ufe0f" or unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def apply_codes(style: Style, codes: str) -> Style:
    """The look after a terminal's sequence such as "1;31"."""
    for code in codes.split(";"):
        if code in ("", "0"):
            style = Style()
        elif code == "1":
            style = style._replace(bold=True)
        elif code == "2":
            style = style._replace(dim=True)
        elif code in COLOURS:
            style = style._replace(colour=COLOURS[code])
    return style


def draw(lines: list[str]) -> str:
    """The picture of a terminal with these lines: a panel of its own colour, legible on light and
    dark pages.
    """
    width, height = round(COLUMNS * CELL + 2 * MARGIN), TOP + len(lines) * LINE + MARGIN
    dots = "".join(
        f'<circle cx="{MARGIN + 18 * number}" cy="20" r="5.5" fill="{RIM}"/>' for number in range(3)
    )
    runs = (
        draw_run(run, TOP + number * LINE)
        for number, line in enumerate(lines)
        for run in split_runs(line)
    )
    return FRAME.format(
        width=width,
        height=height,
        right=width - 1,
        bottom=height - 1,
        paper=PAPER,
        rim=RIM,
        ink=INK,
        dots=dots,
        text="\n".join(run for run in runs if run),
    )


def draw_run(run: Run, y: int) -> str:
    """One run as a text element, stretched to exactly its cells, so that columns stay columns in
    any font.
    """
    if not run.text.strip():
        return ""
    left = len(run.text) - len(run.text.lstrip())
    text = run.text.strip()
    x = MARGIN + (run.column + left) * CELL
    if text in SIGNS:
        return f'<g transform="translate({x + CELL:.1f} {y - 5})">{SIGNS[text]}</g>'
    looks = f' fill="{run.style.colour}"' if run.style.colour != INK else ""
    looks += ' font-weight="bold"' if run.style.bold else ""
    looks += ' opacity="0.65"' if run.style.dim else ""
    cells = sum(width_of(character) for character in text)
    return f'<text x="{x:.1f}" y="{y}" textLength="{cells * CELL:.1f}"{looks}>{escape(text)}</text>'


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else TARGET)
