"""Check whether a file is a valid pipeline record: YAML, shape and meaning, in this order.

A valid record can also be compared with a repository.
"""

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

from checkpoint_git.core import yamltext
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding, Level, has_errors
from checkpoint_git.core.hint import AnyHint, advise
from checkpoint_git.core.jsontext import join_pointer
from checkpoint_git.core.schema import explain, is_surely_valid
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.disk.discover import find_repository
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.mismatch import quote
from checkpoint_git.protocols.pipeline import layout, rules
from checkpoint_git.protocols.pipeline.layout import RecordName
from checkpoint_git.protocols.registry import protocol_of
from checkpoint_git.protocols.validate import place_findings

_DEEPEST = 3  # folders: tickets, their runs, and what is in a run
_MOST_ENTRIES = 100_000  # that are looked at for records


class CheckedRecord(NamedTuple):
    """One record and everything that is wrong with it.

    name: what its place says. value: the decoded mapping, None if there is none; it may break the
    schema where findings say so. findings: with path, and line and column if they are known.
    """

    path: str
    name: RecordName
    value: dict[str, Any] | None
    findings: list[Finding]

    @property
    def is_valid(self) -> bool:
        return not has_errors(self.findings)

    @property
    def place(self) -> str:
        """Return its path, with the line of its first error if that is known."""
        line = next((finding.line for finding in self.findings if finding.level == "error"), 0)
        return f"{self.path}:{line}" if line else self.path

    def messages(self, level: str) -> list[str]:
        return [finding.message for finding in self.findings if finding.level == level]


def check_file(path: str, data: bytes, *, now: int) -> Document:
    """Return a record as a document.

    A file that is only named like a record, and is not in a run's folder, is not read.
    """
    owner = layout.find_skill(path)
    if owner:
        record = check_record(path, data, now=now)
        text = data.decode("utf-8", "replace")
        return Document(path, owner, record.value, text, len(data), record.findings)

    findings = []
    if _is_misplaced(path):
        form = "TICKET/RUN/phase_<ordinal>_<phase>_a<attempt>.yaml"
        message = f"its name is not {form} of a known phase, the run a UUID"
        hint = "give it its name"
        findings.append(Finding(rules.MISPLACED, "error", message, path, hint=hint))
    return Document(path, "", None, None, len(data), findings)


def find_files(folder: str) -> list[str]:
    """Return the records in a folder, also misplaced ones: absolute paths, sorted.

    folder: a project's, or a base, or the one of a ticket or a run.
    """
    start = os.path.join(folder, layout.BASE)
    if not os.path.isdir(start):
        start = folder

    seen = 0
    found = []
    for parent, folders, files in os.walk(start):
        seen += len(folders) + len(files)
        # a folder with a record's name is found, too
        named = [name for name in folders if layout.parse_path(name)]
        for name in sorted([*files, *named]):
            path = os.path.join(parent, name)
            is_record = bool(layout.find_skill(path))
            if is_record or (protocol_of(path) == "pipeline" and _is_misplaced(path)):
                found.append(path)

        depth = parent.count(os.sep) - start.count(os.sep) + 1
        if depth >= _DEEPEST or seen > _MOST_ENTRIES:
            folders.clear()
        else:
            folders[:] = sorted(name for name in folders if name != ".git")

    return found


def _is_misplaced(path: str) -> bool:
    """Return whether a path that is not a record's has the name or the folder of one."""
    folder, _, name = path.rpartition("/")
    return layout.parse_path(name) is not None or layout.is_run_folder(folder.rpartition("/")[2])


def check_record(
    path: str, data: "bytes | OSError", *, now: int, brief: bool = False
) -> CheckedRecord:
    """Return a record and everything that is wrong with it.

    path: its last three parts say whose record it must be. brief: a broken shape is not explained.
    """
    name = layout.parse_path(path)
    assert name is not None, path
    if isinstance(data, OSError):
        message = f"the file cannot be read: {data.strerror or data}"
        unreadable = Finding("file/unreadable", "error", message, path)
        return CheckedRecord(path, name, None, [unreadable])

    try:
        text = yamltext.decode(data)
        value = yamltext.load(text)
    except yamltext.YamlTextError as error:
        message = escape_controls(error.message)
        broken = Finding(error.code, "error", message, path, line=error.line, column=error.column)
        return CheckedRecord(path, name, None, [broken])

    if not isinstance(value, dict):
        message = "the file is not a mapping, as a record is"
        shapeless = Finding("yaml/not-a-mapping", "error", message, path, line=1, column=1)
        return CheckedRecord(path, name, None, [shapeless])

    findings = check_value(value, path, len(data), now, brief=brief)
    return CheckedRecord(path, name, value, _locate_all(findings, path, text, brief=brief))


def check_value(
    value: dict[str, Any], path: str, size: int, now: int, *, brief: bool = False
) -> list[Finding]:
    schema = rules.schema_for(rules.find_payload_phase(value))
    findings = rules.check(value, skill=path, size=size, now=now)
    if is_surely_valid(schema, value):
        return _without_echoes(findings)
    if brief:  # jsonschema is not loaded then
        return [*findings, _SHAPELESS]
    first: dict[str, Finding] = {}
    # a value of the wrong type also breaks other rules: once is enough
    for mismatch in explain(schema, _cut(value)):
        first.setdefault(mismatch.where, rules.describe(mismatch))
    return _without_echoes([*(first.values() or [_SHAPELESS]), *findings])


_SHAPELESS = Finding(
    "pipeline/shape", "error", "its fields are not those of a record; `validate` names them"
)
_MOST_ITEMS = 500  # of a list or a mapping that are explained one by one
_MOST_FINDINGS = 100


def _cut(value: Any) -> Any:
    # Only the first items of what is too long to be explained whole
    if isinstance(value, dict):
        return {key: _cut(value[key]) for key in list(value)[:_MOST_ITEMS]}
    if isinstance(value, list):
        return [_cut(item) for item in value[:_MOST_ITEMS]]
    return value


def _without_echoes(findings: list[Finding]) -> list[Finding]:
    # A value that is wrong in itself is in the wrong place too: once is enough
    wrong = {finding.where for finding in findings if finding.code != rules.MISPLACED}
    kept = []
    for finding in findings:
        if finding.code != rules.MISPLACED or finding.where not in wrong:
            kept.append(finding)
    return kept


def _locate_all(findings: list[Finding], path: str, text: str, *, brief: bool) -> list[Finding]:
    if not findings or brief:
        return [finding._replace(path=path) for finding in findings]

    if len(findings) > _MOST_FINDINGS:
        message = f"{len(findings) - _MOST_FINDINGS} more things are wrong with it"
        findings = [*findings[:_MOST_FINDINGS], Finding("pipeline/shape", "error", message)]
    places = yamltext.locate_all(text, [finding.where for finding in findings])
    return place_findings(findings, path, places)


def compare_with_repository(record: CheckedRecord, path: str) -> list[Finding]:
    """Return what is missing in the repository around a folder. Raises CheckpointError.

    record: a valid one.
    """
    repository = find_repository(path) if os.path.isdir(path) else None
    if repository is None:
        message = f"--repo {escape_controls(path)} is not in a git work tree"
        raise CheckpointError(message, "name a folder of one")

    assert record.value is not None
    work_tree, git_dir = repository
    repository_names = _read_names(work_tree, git_dir)
    commit_map = record.value["repo_commit_map"]
    commits: dict[str, str] = {}
    found = []
    for name, commit in commit_map.items():
        base_name = name.removesuffix(".git").rpartition("/")[2].lower()
        if len(commit_map) == 1 or base_name in repository_names:
            commits[join_pointer("/repo_commit_map", name)] = commit
        else:
            message = f"{quote(name)} is another repository: its commit was not looked for"
            where = "/repo_commit_map"
            found.append(Finding("pipeline/other-repository", "warning", message, where=where))

    payload = record.value["phase_payload"]
    for field in rules.COMMIT_FIELDS:
        if field in payload:
            commits[f"/phase_payload/{field}"] = payload[field]

    found += _compare_commits(work_tree, commits)
    found += _compare_artifacts(work_tree, record.value["artifact_paths"])
    return [finding._replace(path=record.path) for finding in found]


def _read_names(work_tree: str, git_dir: str) -> frozenset[str]:
    """Return the names of a repository, in lower case: of its folders and its remotes."""
    from checkpoint_git.git.refs import read_own_names

    folders = [work_tree, *read_own_names(work_tree)]
    main_folder, is_linked, _ = git_dir.rpartition("/.git/worktrees/")
    if is_linked:
        folders.append(main_folder)
    return frozenset(os.path.basename(folder).removesuffix(".git").lower() for folder in folders)


def _compare_artifacts(work_tree: str, paths: list[str]) -> Iterator[Finding]:
    from checkpoint_git.git.paths import find_state

    for index, path in enumerate(paths):
        if find_state(path, work_tree, work_tree) != "there":
            where = f"/artifact_paths/{index}"
            message = f"{where[1:]} is {quote(path)}, which is not in {work_tree}"
            hint = "restore it, or run the phase again"
            yield Finding("pipeline/artifact-missing", "error", message, where=where, hint=hint)


# what is wrong with a commit -> finding code, message, hint
_STRANGERS = {
    "unknown": (
        "pipeline/commit-unknown",
        "which this repository does not have",
        "fetch it, or name the right --repo",
    ),
    "elsewhere": (
        "pipeline/commit-elsewhere",
        "which is not an ancestor of HEAD",
        "check out its branch; was it rebased?",
    ),
}


def _compare_commits(work_tree: str, commits: dict[str, str]) -> Iterator[Finding]:
    from checkpoint_git.git.history.history import is_shallow, read_strangers

    strangers = read_strangers(work_tree, sorted(set(commits.values())))
    is_cut_off = bool(strangers) and is_shallow(work_tree)
    level: Level = "warning" if is_cut_off else "error"
    for where, commit in commits.items():
        if commit not in strangers:
            continue
        code, fault, advice = _STRANGERS[strangers[commit]]
        hint: AnyHint = advice
        if is_cut_off:
            hint = advise("the history of this clone is cut off", "git", "fetch", "--unshallow")
        yield Finding(code, level, f"{where[1:]} is {commit}, {fault}", where=where, hint=hint)
