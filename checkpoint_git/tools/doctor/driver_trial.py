"""Prove that the configured merge driver works: git itself merges small checkpoints in a temporary
repository.
"""

import json
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from checkpoint_git.disk.read import read_if_there
from checkpoint_git.git import driver_settings as configured
from checkpoint_git.git.attributes import attribute_body
from checkpoint_git.tools.doctor.trial_repository import (
    FILE,
    SAMPLE,
    SECONDS,
    Trial,
    Tried,
    check_room,
    import_history,
    must,
    open_trial,
    try_git,
)

_NO_END = "the driver did not end in time"
_KEYS = (configured.DRIVER, configured.RECURSIVE, configured.BASE_DRIVER)

_OURS = {
    **SAMPLE,
    "updated_at": "2026-01-01T10:00:00Z",
    "progress_table": [
        {**SAMPLE["progress_table"][0], "status": "complete"},
        SAMPLE["progress_table"][1],
    ],
    "next_actions": ["do the second"],
    "skill_state": {"left": 2, "right": 1},
}
_THEIRS = {
    **SAMPLE,
    "updated_at": "2026-01-01T09:00:00Z",
    "progress_table": [
        SAMPLE["progress_table"][0],
        {**SAMPLE["progress_table"][1], "status": "in_progress"},
    ],
    "next_actions": ["do the first", "do the second", "do the third"],
    "skill_state": {"left": 1, "right": 2},
}
# As text this is a conflict in every hunk: only a driver that understands the fields gets here.
_MERGED = {
    **SAMPLE,
    "updated_at": _OURS["updated_at"],
    "progress_table": [_OURS["progress_table"][0], _THEIRS["progress_table"][1]],
    "next_actions": ["do the second", "do the third"],
    "skill_state": {"left": 2, "right": 2},
}
# Two branches that merged each other, and then each undid what the other had brought. Their merge
# base is a merge itself, made by the driver for bases: with only one side of it as the base,
# something that was undone would come back.
_CROSSED_OURS = {**_MERGED, "skill_state": {"left": 2, "right": 1}}
_CROSSED_THEIRS = {**_MERGED, "skill_state": {"left": 1, "right": 2}}
_CROSSED = {**_MERGED, "skill_state": {"left": 1, "right": 1}}
# branch -> its checkpoint, and the branches it comes from
_BRANCHES: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "base": (SAMPLE, ()),
    "ours": (_OURS, ("base",)),
    "theirs": (_THEIRS, ("base",)),
    "left": ({**SAMPLE, "project": "proof-left"}, ("base",)),
    "right": ({**SAMPLE, "project": "proof-right"}, ("base",)),
    "crossed-ours": (_CROSSED_OURS, ("ours", "theirs")),
    "crossed-theirs": (_CROSSED_THEIRS, ("theirs", "ours")),
}


class Proof(NamedTuple):
    """What the driver got wrong, "" if it was right.

    clean: in a merge that must be clean. conflict: in one that must conflict. crossed: in one
    whose merge base is a merge itself, tried only if that is configured and the others were right.
    printed: the first line that git or the driver wrote to stderr.
    """

    clean: str
    conflict: str
    printed: str = ""
    crossed: str = ""

    @property
    def holds(self) -> bool:
        return not self.clean and not self.conflict and not self.crossed


def prove_driver(
    settings: Mapping[str, str], env: Mapping[str, str] | None = None, seconds: float = SECONDS
) -> Proof:
    """Have git merge with this repository's driver, and return what went wrong.

    settings: git configuration; only the driver's keys are used. env: default: this process's.
    seconds: how long one merge may take.
    Raises CheckpointError if no trial repository can be made: nothing is known about the driver
    then.
    """
    wanted = {key: settings[key] for key in _KEYS if settings.get(key)}
    if env is None:
        env = os.environ
    branches: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {}
    for branch, (value, parents) in _BRANCHES.items():
        branches[branch] = ({FILE: json.dumps(value, indent=2) + "\n"}, parents)

    with open_trial(env, wanted, seconds) as trial:
        folder = os.path.join(trial.work_tree, ".git", "info")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "attributes"), "wb") as stream:
            stream.write(attribute_body())
        import_history(trial, branches)
        proof = _prove(trial, wanted)
        if not proof.holds:
            check_room(trial)
        return proof


def _prove(trial: Trial, wanted: Mapping[str, str]) -> Proof:
    clean, printed = _prove_clean(trial, "ours", "theirs", _MERGED)
    if clean == _NO_END:
        return Proof(clean, clean, printed)

    conflict, printed_in_conflict = _prove_conflict(trial)
    proof = Proof(clean, conflict, printed or printed_in_conflict)
    if proof.holds and configured.RECURSIVE in wanted and configured.BASE_DRIVER in wanted:
        crossed, printed = _prove_clean(trial, "crossed-ours", "crossed-theirs", _CROSSED)
        if crossed:
            proof = proof._replace(crossed=crossed, printed=printed)
    return proof


def _prove_clean(trial: Trial, ours: str, theirs: str, right: object) -> tuple[str, str]:
    """Return what was wrong with a merge that must be clean, or "", and what was printed."""
    result = _merge(trial, ours, theirs)
    if result.hung:
        return _NO_END, result.printed
    if result.code != 0:
        did = "the driver did not run, and git merged the text"
        return f"a clean merge ended in a conflict: {did}", result.printed

    try:
        merged = json.loads(_read(trial))
    except ValueError:
        return "a clean merge wrote a file that is not JSON", result.printed
    if merged != right:
        return "a clean merge lost or invented something", result.printed
    return "", result.printed


def _prove_conflict(trial: Trial) -> tuple[str, str]:
    """Return what was wrong with a merge that must conflict, or "", and what was printed."""
    result = _merge(trial, "left", "right")
    if result.hung:
        return _NO_END, result.printed
    if result.code == 0:
        return "a contradiction was merged without a conflict", result.printed

    data = _read(trial)
    if not all(part in data for part in (b"<<<<<<<", b">>>>>>>", b"proof-left", b"proof-right")):
        lost = "a conflict left no markers with both sides, so one side would be lost"
        return lost, result.printed
    unmerged = try_git(trial, ["ls-files", "-u"])
    if not unmerged.out:
        return "a conflict was not left unmerged in the index", result.printed
    return "", result.printed


def _merge(trial: Trial, ours: str, theirs: str) -> Tried:
    must(trial, ["checkout", "-q", "--force", ours])
    return try_git(trial, ["merge", "-q", "--no-edit", theirs])


def _read(trial: Trial) -> bytes:
    return read_if_there(os.path.join(trial.work_tree, FILE)) or b""
