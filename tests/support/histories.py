"""Histories of a repository made from a seed: sessions on several checkpoints, renames, removals,
criss-crosses.
"""

import json
import random
from collections.abc import Mapping

from tests.merge.list_operations import LIST_KINDS
from tests.merge.operations import KINDS, Operation, apply_operations, start, text_of
from tests.support.command import run_here
from tests.support.repos import GitRepo
from tests.support.streams import Stream

CHECKPOINTS = (
    ".checkpoints/build.checkpoint.json",
    "sub/.checkpoints/audit.checkpoint.json",
    ".checkpoints/ship.checkpoint.json",
    "memory/state/phase.json",
)
NOTES = "notes.txt"
_LINES = "".join(f"{number}\n" for number in range(1, 9))
_NAMES = sorted(KINDS.keys() - LIST_KINDS)  # whatever the laws do besides, a seed keeps its history
_LAYOUTS = (2, 2, 2, 2, 4, 1, "\t", None)

Files = dict[str, str]


def write_history(stream: Stream, name: str, seed: int) -> bool:
    """The branches NAME/ours and NAME/theirs; whether they have more than one merge base."""
    chance = random.Random(seed)  # noqa: S311  # the same history for the same seed is the point
    base = _go_on(chance, {}, "o")
    stream.commit(f"{name}/base", [], base)
    first, second = _go_on(chance, base, "a"), _go_on(chance, base, "b")
    stream.commit(f"{name}/a", [f"{name}/base"], _changes(base, first))
    stream.commit(f"{name}/b", [f"{name}/base"], _changes(base, second))
    crossed = chance.random() < 0.4
    if crossed:  # each side merges the other in its own way
        ours, theirs = (
            _go_on(chance, {**first, **second}, "m"),
            _go_on(chance, {**second, **first}, "w"),
        )
    else:
        ours, theirs = _go_on(chance, first, "c"), _go_on(chance, second, "d")
    stream.commit(
        f"{name}/ours",
        [f"{name}/{one}" for one in ("ab" if crossed else "a")],
        _changes(first, ours),
    )
    stream.commit(
        f"{name}/theirs",
        [f"{name}/{one}" for one in ("ba" if crossed else "b")],
        _changes(second, theirs),
    )
    return crossed


def _go_on(chance: random.Random, files: Mapping[str, str], side: str) -> Files:
    """The files after a session; side: what its texts begin with."""
    out = dict(files)
    for path in CHECKPOINTS:
        if chance.random() < 0.7:
            _change(chance, out, path, side)
    if chance.random() < 0.7:
        lines = out.get(NOTES, _LINES)
        out[NOTES] = (
            lines.replace(f"{chance.randrange(1, 9)}\n", f"{side}\n", 1)
            if chance.random() < 0.3
            else lines
        )
    return out


def _change(chance: random.Random, out: Files, path: str, side: str) -> None:
    """A checkpoint removed, renamed, broken, or worked on."""
    text, fate = out.get(path, ""), chance.random()
    if text and fate < 0.04:
        del out[path]
    elif text and fate < 0.08:
        out[path.replace("build", "moved").replace("audit", "moved-too")] = out.pop(path)
    elif text and fate < 0.12:
        out[path] = text[:-3] + chance.choice(["x", "", "}\n", "\0"])
    elif (value := _read(text)) is not None:
        layout = chance.choice(_LAYOUTS) if chance.random() < 0.1 else 2
        out[path] = text_of(apply_operations(value, _session(chance, side)), layout)


def _read(text: str) -> "dict[str, object] | None":
    try:
        found: dict[str, object] = json.loads(text) if text else start()
    except ValueError:
        return None
    return found


def _session(chance: random.Random, side: str) -> list[Operation]:
    count = chance.randrange(7)
    names = [chance.choice(_NAMES) for _ in range(count)]
    return [
        Operation(name, chance.randrange(9), f"{side}{chance.randrange(100):02}{n}")
        for n, name in enumerate(names)
    ]


def _changes(old: Files, new: Files) -> dict[str, str | None]:
    return {
        **dict.fromkeys(old.keys() - new.keys()),
        **{path: text for path, text in new.items() if old.get(path) != text},
    }


def merge_notes(repo: GitRepo, name: str) -> None:
    """A merge of two branches, main and topic, each of which noted a decision in a checkpoint."""
    for options, branch, decision in (
        (["-c"], "topic", "SQLite for storage"),
        ([], "main", "Passkeys only"),
    ):
        repo.git("switch", "-q", *options, branch)
        run_here("note", name, decision, cwd=repo.path)
        repo.commit(branch)
    repo.git("merge", "-q", "-m", "both", "topic")
