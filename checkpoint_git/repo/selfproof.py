"""The proof that the configured merge driver works: git itself merges two small checkpoints in a temporary repository.

The surroundings are those of a program started from a desktop: a bare PATH, no virtual environment, nobody's settings.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from typing import Any, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.repo.git import GitResult, start_git

_PLAIN_PATH = "/usr/bin:/bin"
_SECONDS = 60  # for one merge of one small file
_NO_END = "the driver did not end in time"
_FILE = ".checkpoints/proof.checkpoint.json"
_KEYS = ("merge.checkpoint.driver", "merge.checkpoint.recursive", "merge.checkpoint-base.driver")

_BASE: dict[str, Any] = {
    "protocol_version": "1.0",
    "skill": "proof",
    "project": "proof",
    "project_dir": "/proof",
    "created_at": "2026-01-01T08:00:00Z",
    "updated_at": "2026-01-01T08:00:00Z",
    "phase": "prove",
    "step": "one",
    "status": "in_progress",
    "progress_summary": "Two branches go their ways.",
    "progress_table": [
        {"id": "a", "label": "First", "status": "in_progress"},
        {"id": "b", "label": "Second", "status": "not_started"},
    ],
    "context_primer": {"key_decisions": ["one"]},
    "next_actions": ["do the first", "do the second"],
}
_OURS = {
    **_BASE,
    "updated_at": "2026-01-01T10:00:00Z",
    "progress_table": [{**_BASE["progress_table"][0], "status": "complete"}, _BASE["progress_table"][1]],
    "next_actions": ["do the second"],
}
_THEIRS = {
    **_BASE,
    "updated_at": "2026-01-01T09:00:00Z",
    "progress_table": [_BASE["progress_table"][0], {**_BASE["progress_table"][1], "status": "in_progress"}],
    "next_actions": ["do the first", "do the second", "do the third"],
}
# As text this is a conflict in every hunk: only a driver that understands the fields gets here.
_MERGED = {
    **_BASE,
    "updated_at": _OURS["updated_at"],
    "progress_table": [_OURS["progress_table"][0], _THEIRS["progress_table"][1]],
    "next_actions": ["do the second", "do the third"],
}
_VERSIONS = {
    "base": _BASE,
    "ours": _OURS,
    "theirs": _THEIRS,
    "left": {**_BASE, "project": "proof-left"},
    "right": {**_BASE, "project": "proof-right"},
}


class Proof(NamedTuple):
    """What the driver got wrong, "" where it did right: in a merge that must be clean, and in one that must conflict.

    said: the first line that git or the driver wrote to stderr.
    """

    clean: str
    conflict: str
    said: str = ""

    @property
    def holds(self) -> bool:
        """Whether the driver may be trusted."""
        return not self.clean and not self.conflict


def prove_driver(settings: Mapping[str, str]) -> Proof:
    """Has git merge with this repository's driver. settings: git configuration; only the driver's keys are used.

    Raises CheckpointError when no temporary repository could be made: then nothing is known about the driver.
    """
    with tempfile.TemporaryDirectory(prefix="checkpoint-proof-", ignore_cleanup_errors=True) as folder:
        env = _plain_environment(folder)
        work_tree = os.path.join(folder, "repository")
        _make_repository(work_tree, env, settings)
        clean, said = _prove_clean(work_tree, env)
        if clean == _NO_END:
            return Proof(clean, clean)
        conflict, said_too = _prove_conflict(work_tree, env)
        return Proof(clean, conflict, said or said_too)


def _prove_clean(work_tree: str, env: Mapping[str, str]) -> tuple[str, str]:
    result = _merge("ours", "theirs", work_tree, env)
    if result is None:
        return _NO_END, ""
    data = _read(work_tree)
    if result.code != 0:
        return "a merge that it can do ended as a conflict: the driver did not run, and git merged the text", _said(
            result
        )
    try:
        right = json.loads(data) == _MERGED
    except ValueError:
        return "a clean merge wrote a file that is not JSON", _said(result)
    return "" if right else "a clean merge lost or invented something", _said(result)


def _prove_conflict(work_tree: str, env: Mapping[str, str]) -> tuple[str, str]:
    result = _merge("left", "right", work_tree, env)
    if result is None:
        return _NO_END, ""
    data = _read(work_tree)
    if result.code == 0:
        return "two sides that contradict each other were merged as if they did not", _said(result)
    if not all(part in data for part in (b"<<<<<<<", b">>>>>>>", b"proof-left", b"proof-right")):
        return "a conflict left no markers with both sides in the file, so one side would be lost", _said(result)
    unmerged = _git(["ls-files", "-u"], work_tree, env)
    return "" if unmerged and unmerged.out else "a conflict was not left unmerged in the index", _said(result)


def _merge(ours: str, theirs: str, work_tree: str, env: Mapping[str, str]) -> GitResult | None:
    _must(_git(["checkout", "-q", "--force", ours], work_tree, env), "checkout")
    return _git(["merge", "-q", "--no-edit", theirs], work_tree, env)


def _make_repository(work_tree: str, env: Mapping[str, str], settings: Mapping[str, str]) -> None:
    os.mkdir(work_tree)
    _must(_git(["init", "-q"], work_tree, env), "init")
    for key in _KEYS:
        if settings.get(key):
            _must(_git(["config", key, settings[key]], work_tree, env), "config")
    os.makedirs(os.path.join(work_tree, ".git", "info"), exist_ok=True)
    with open(os.path.join(work_tree, ".git", "info", "attributes"), "w", encoding="ascii") as stream:
        stream.write("**/.checkpoints/*.checkpoint.json merge=checkpoint\n")
    _must(_git(["fast-import", "--quiet"], work_tree, env, _history()), "fast-import")


def _history() -> bytes:
    """A stream for git fast-import: one commit, and four branches of one commit each from it."""
    stream = b""
    for mark, (branch, value) in enumerate(_VERSIONS.items(), 1):
        data = (json.dumps(value, indent=2) + "\n").encode()
        start = b"" if mark == 1 else b"from :1\n"
        head = (
            f"commit refs/heads/{branch}\nmark :{mark}\ncommitter proof <proof@localhost> {mark} +0000\ndata 5\nproof\n"
        )
        stream += head.encode() + start + f"M 100644 inline {_FILE}\ndata {len(data)}\n".encode() + data
    return stream


def _plain_environment(home: str) -> dict[str, str]:
    git = shutil.which("git")
    if git is None:
        raise CheckpointError("git was not found", "install git, or put it on PATH")
    folder = os.path.dirname(git)
    path = _PLAIN_PATH if folder in _PLAIN_PATH.split(":") else f"{_PLAIN_PATH}:{folder}"
    names = {f"GIT_{role}_{what}": "proof" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    return {"PATH": path, "HOME": home, "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", **names}


def _git(words: list[str], work_tree: str, env: Mapping[str, str], stdin: bytes = b"") -> GitResult | None:
    """What git answered, None when it did not end in time (it is ended then)."""
    import subprocess

    with start_git(words, work_tree, env=env) as process:
        try:
            out, err = process.communicate(stdin, timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            return None
    return GitResult(process.returncode, out, err)


def _must(result: GitResult | None, what: str) -> None:
    if result is None or result.code != 0:
        why = _said(result) if result else "no answer"
        raise CheckpointError(
            f"the driver could not be tried: git {what} failed: {why}", "is the temporary folder full?"
        )


def _said(result: GitResult) -> str:
    return result.err.decode("utf-8", "replace").strip().partition("\n")[0]


def _read(work_tree: str) -> bytes:
    try:
        with open(os.path.join(work_tree, _FILE), "rb") as stream:
            return stream.read()
    except OSError:
        return b""
