"""Render outcomes as text for people.

All text is untrusted: nothing reaches the terminal unescaped.
"""

from collections.abc import Iterator
from itertools import islice

from checkpoint_git.cli.render.blocks import render_block, render_finding
from checkpoint_git.cli.render.screen import Screen
from checkpoint_git.core.outcome import Outcome

_PIECE = 2_000  # lines


def render(command: str, outcome: Outcome, screen: Screen) -> Iterator[str]:
    lines = _render_lines(outcome, screen)
    while piece := list(islice(lines, _PIECE)):
        yield "\n".join(piece) + "\n"


def _render_lines(outcome: Outcome, screen: Screen) -> Iterator[str]:
    ends = list[str]()
    if not screen.quiet:
        for block in outcome.blocks:
            yield from render_block(block, screen)
        ends = [line for block in outcome.summary for line in render_block(block, screen)]

    if outcome.digest:
        from checkpoint_git.cli.render.causes import render_digest

        yield from render_digest(outcome.digest, len(outcome.findings), ends, screen)
        return

    for finding in outcome.findings:
        yield from render_finding(finding, screen)
    yield from ends
