"""A pipeline record compared with a repository: whether its commits and what it made are there."""

import os
from collections.abc import Collection, Iterator

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding, Level
from checkpoint_git.core.jsontext import join_pointer
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.disk.discover import find_repository
from checkpoint_git.protocols.pipeline.rules import COMMIT_FIELDS, quote
from checkpoint_git.protocols.pipeline.validate import Record


def compare_with_repository(record: Record, path: str) -> list[Finding]:
    """What is missing in the repository around a folder. The record must be valid.

    Of repo_commit_map the entries count that are named like the repository (its folder, the folder that it is a linked
    work tree of, what its remotes call it), or the only one there is.
    Raises CheckpointError where there is no repository.
    """
    repository = find_repository(path) if os.path.isdir(path) else None
    if repository is None:
        raise CheckpointError(f"--repo {escape_controls(path)} is not inside a git repository", "name a work tree")
    assert record.value is not None
    work_tree = repository[0]
    commits, unchecked = find_commits(record.value, read_names(*repository))
    found = []
    for name in unchecked:
        message = f"{quote(name)} is another repository: its commit was not looked for"
        found.append(Finding("pipeline/other-repository", "warning", message, where="/repo_commit_map"))
    found += _compare_commits(work_tree, commits)
    found += _compare_artifacts(work_tree, record.value["artifact_paths"])
    return [finding._replace(path=record.path) for finding in found]


def read_names(work_tree: str, git_dir: str) -> frozenset[str]:
    """What a repository may be called, in lower case."""
    from checkpoint_git.git.refs import read_own_names

    main, found, _ = git_dir.rpartition("/.git/worktrees/")
    folders = (work_tree, main) if found else (work_tree,)
    return read_own_names(work_tree).union(os.path.basename(folder).removesuffix(".git").lower() for folder in folders)


def find_commits(value: dict[str, object], names: Collection[str]) -> tuple[dict[str, str], list[str]]:
    """(JSON Pointer -> commit that the repository must have, names in repo_commit_map that are other repositories).

    names: of the repository, in lower case.
    """
    commit_map, payload = value["repo_commit_map"], value["phase_payload"]
    assert isinstance(commit_map, dict)
    assert isinstance(payload, dict)
    ours = [
        name
        for name in commit_map
        if len(commit_map) == 1 or name.removesuffix(".git").rpartition("/")[2].lower() in names
    ]
    commits = {join_pointer("/repo_commit_map", name): commit_map[name] for name in ours}
    commits.update({f"/phase_payload/{field}": payload[field] for field in COMMIT_FIELDS if field in payload})
    return commits, [name for name in commit_map if name not in ours]


def _compare_commits(work_tree: str, commits: dict[str, str]) -> list[Finding]:
    from checkpoint_git.git.history.history import is_shallow, read_strangers

    strangers = read_strangers(work_tree, sorted(set(commits.values())))
    cut_off = bool(strangers) and is_shallow(work_tree)
    found = []
    for where, commit in commits.items():
        if commit not in strangers:
            continue
        code, says, hint = _STRANGERS[strangers[commit]]
        level: Level = "warning" if cut_off else "error"
        hint = "the history of this clone is cut off: git fetch --unshallow" if cut_off else hint
        found.append(Finding(code, level, f"{where[1:]} is {commit}, {says}", where=where, hint=hint))
    return found


_STRANGERS = {
    "unknown": ("pipeline/commit-unknown", "which this repository does not have", "fetch it, or name the right --repo"),
    "elsewhere": (
        "pipeline/commit-elsewhere",
        "which is not an ancestor of HEAD",
        "check out the pipeline's branch, or see whether it was rebased",
    ),
}


def _compare_artifacts(work_tree: str, artifacts: list[str]) -> Iterator[Finding]:
    from checkpoint_git.git.paths import find_state

    for at, path in enumerate(artifacts):
        if find_state(path, work_tree, work_tree) != "there":
            message = f"artifact_paths/{at} is {quote(path)}, which is not in {work_tree}"
            hint = "restore it, or run the phase again"
            yield Finding("pipeline/artifact-missing", "error", message, where=f"/artifact_paths/{at}", hint=hint)
