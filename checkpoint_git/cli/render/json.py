"""Render outcomes as one JSON document for programs.

It is ASCII only, so that every stream and terminal takes it.
"""

import json
import math
from collections.abc import Iterator
from itertools import islice
from typing import Any

from checkpoint_git.cli.render.screen import Screen
from checkpoint_git.core.hint import AnyHint, describe_hint, encode_hint
from checkpoint_git.core.outcome import Outcome

SCHEMA_VERSION = 1


def render(command: str, outcome: Outcome, screen: Screen) -> list[str]:
    document = make_document(command, outcome)
    for finding in document["findings"]:
        finding |= describe_hint(finding["hint"])
    return _write_pieces(document)


def make_document(command: str, outcome: Outcome) -> dict[str, Any]:
    findings = [finding._asdict() for finding in outcome.findings]
    for finding in findings:
        if not finding["cause"]:
            del finding["cause"]
    return {
        "schema_version": SCHEMA_VERSION,
        "command": command,
        **outcome.data,
        "findings": findings,
    }


def make_error(command: str, message: str, hint: AnyHint, **members: Any) -> dict[str, Any]:
    """Return the document for an error. members: those that it has besides."""
    error = {"message": message, **describe_hint(hint), **members}
    return {"schema_version": SCHEMA_VERSION, "command": command, "error": error}


def write(document: dict[str, Any]) -> str:
    return "".join(_write_pieces(document))


def _write_pieces(document: dict[str, Any]) -> list[str]:
    # All are made before the first is shown: what comes late may be impossible to write
    try:
        return [*_join_pieces(document), "\n"]
    except ValueError:  # a number like 1e999, which JSON can spell and a float cannot hold
        return [*_join_pieces(_without_infinities(document)), "\n"]


_ENCODER = json.JSONEncoder(indent=2, allow_nan=False, default=encode_hint)
_PIECE = 10_000  # pieces of the encoder, a few letters each, that make one of ours


def _join_pieces(document: Any) -> Iterator[str]:
    small = _ENCODER.iterencode(document)
    while piece := "".join(islice(small, _PIECE)):
        yield piece


def _without_infinities(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_infinities(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_without_infinities(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
