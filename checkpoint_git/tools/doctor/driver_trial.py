"""The proof that the configured merge driver works: git itself merges small checkpoints in a
temporary repository.
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
# Two lines that merged each other, and then each took back what the other had brought. What they
# come from is a merge itself, made by the driver for bases: with only one side of it as the base,
# something taken back would come again.
_CROSSED_OURS = {**_MERGED, "skill_state": {"left": 2, "right": 1}}
_CROSSED_THEIRS = {**_MERGED, "skill_state": {"left": 1, "right": 2}}
_CROSSED = {**_MERGED, "skill_state": {"left": 1, "right": 1}}
# branch -> what it holds, and the branches it comes from
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
    """What the driver got wrong, "" if it did right: in a merge that must be clean, and in one that
    must conflict. said: the first line that git or the driver wrote to stderr. crossed: what a
    merge got wrong whose common past is a merge itself, tried only where that is configured and the
    rest holds.
    """

    clean: str
    conflict: str
    said: str = ""
    crossed: str = ""

    @property
    def holds(self) -> bool:
        return not self.clean and not self.conflict and not self.crossed


def prove_driver(
    settings: Mapping[str, str], env: Mapping[str, str] | None = None, seconds: float = SECONDS
) -> Proof:
    """Has git merge with this repository's driver. settings: git configuration; only the driver's
    keys are used. env: the caller's environment, this process's own by default. seconds: how long
    one merge may take. Raises CheckpointError when no trial repository could be made: then nothing
    is known about the driver.
    """
    wanted = {key: settings[key] for key in _KEYS if settings.get(key)}
    with open_trial(os.environ if env is None else env, wanted, seconds) as trial:
        folder = os.path.join(trial.work_tree, ".git", "info")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "attributes"), "wb") as stream:
            stream.write(attribute_body())
        texts = {
            branch: json.dumps(value, indent=2) + "\n" for branch, (value, _) in _BRANCHES.items()
        }
        import_history(
            trial,
            {branch: ({FILE: texts[branch]}, above) for branch, (_, above) in _BRANCHES.items()},
        )
        proof = _prove(trial, wanted)
        if not proof.holds:
            check_room(trial)
        return proof


def _prove(trial: Trial, wanted: Mapping[str, str]) -> Proof:
    clean, said = _prove_clean(trial, "ours", "theirs", _MERGED)
    if clean == _NO_END:
        return Proof(clean, clean, said)
    conflict, said_too = _prove_conflict(trial)
    proof = Proof(clean, conflict, said or said_too)
    if proof.holds and configured.RECURSIVE in wanted and configured.BASE_DRIVER in wanted:
        crossed, said = _prove_clean(trial, "crossed-ours", "crossed-theirs", _CROSSED)
        proof = proof._replace(crossed=crossed, said=said if crossed else proof.said)
    return proof


def _prove_clean(trial: Trial, ours: str, theirs: str, right: object) -> tuple[str, str]:
    result = _merge(trial, ours, theirs)
    said = result.said
    if result.hung:
        return _NO_END, said
    if result.code != 0:
        return (
            "a clean merge ended in a conflict: the driver did not run, and git merged the text",
            said,
        )

    try:
        is_right = json.loads(_read(trial)) == right
    except ValueError:
        return "a clean merge wrote a file that is not JSON", said

    return "" if is_right else "a clean merge lost or invented something", said


def _prove_conflict(trial: Trial) -> tuple[str, str]:
    result = _merge(trial, "left", "right")
    data, said = _read(trial), result.said
    if result.hung:
        return _NO_END, said
    if result.code == 0:
        return "a contradiction was merged without a conflict", said
    if not all(part in data for part in (b"<<<<<<<", b">>>>>>>", b"proof-left", b"proof-right")):
        return "a conflict left no markers with both sides, so one side would be lost", said
    unmerged = try_git(trial, ["ls-files", "-u"])
    return "" if unmerged.out else "a conflict was not left unmerged in the index", said


def _merge(trial: Trial, ours: str, theirs: str) -> Tried:
    must(trial, ["checkout", "-q", "--force", ours])
    return try_git(trial, ["merge", "-q", "--no-edit", theirs])


def _read(trial: Trial) -> bytes:
    return read_if_there(os.path.join(trial.work_tree, FILE)) or b""
