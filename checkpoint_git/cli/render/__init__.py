"""Render outcomes: text for people, JSON for programs, annotations and SARIF for services."""

from collections.abc import Iterable
from importlib import import_module
from typing import cast

from checkpoint_git.cli.render.screen import Screen
from checkpoint_git.core.outcome import Outcome

# name of the format -> the module that renders it; only the one asked for is imported
FORMATS = {
    "text": "checkpoint_git.cli.render.text",
    "json": "checkpoint_git.cli.render.json",
    "md": "checkpoint_git.cli.render.markdown",
    "github": "checkpoint_git.cli.render.github",
    "sarif": "checkpoint_git.cli.render.sarif",
}


def render(command: str, outcome: Outcome, format_name: str, screen: Screen) -> str:
    """Return text that is empty or ends in a newline. format_name: a key of FORMATS."""
    return "".join(render_pieces(command, outcome, format_name, screen))


def render_pieces(
    command: str, outcome: Outcome, format_name: str, screen: Screen
) -> Iterable[str]:
    module = import_module(FORMATS[format_name])
    return cast(Iterable[str], module.render(command, outcome, screen))
