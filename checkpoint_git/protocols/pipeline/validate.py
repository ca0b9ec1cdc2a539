"""Whether a file is a valid pipeline record: YAML, shape and meaning in turn, then against a
repository.
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
    """One record and everything that is wrong with it. name: what its place says. value: the
    decoded mapping, None if there is none; it may break the schema where findings say so. findings:
    with path, and line and column where they are known.
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
        """Its path, with the line of its first error where that is known."""
        line = next((finding.line for finding in self.findings if finding.level == "error"), 0)
        return f"{self.path}:{line}" if line else self.path

    def messages(self, level: str) -> list[str]:
        return [finding.message for finding in self.findings if finding.level == level]


def check_file(path: str, data: bytes, *, now: int) -> Document:
    """A record as a document; a file that is only named like one, and is no run's, has nothing to
    be found in it.
    """
    owner = layout.find_skill(path)
    if not owner:
        message = "its name is not TICKET/RUN/phase_<ordinal>_<phase>_a<attempt>.yaml of a known phase, the run a UUID"
        odd = (
            [Finding(rules.MISPLACED, "error", message, path, hint="give it its name")]
            if _is_odd(path)
            else []
        )
        return Document(path, "", None, None, len(data), odd)

    record = check_record(path, data, now=now)
    return Document(
        path, owner, record.value, data.decode("utf-8", "replace"), len(data), record.findings
    )


def find_files(folder: str) -> list[str]:
    """The records in a folder: a project's, or those of a base, a ticket or a run. Absolute paths,
    sorted.
    """
    inner, seen, found = os.path.join(folder, layout.BASE), 0, list[str]()
    start = inner if os.path.isdir(inner) else folder
    for parent, folders, files in os.walk(start):
        seen += len(folders) + len(files)
        is_end = parent.count(os.sep) - start.count(os.sep) + 1 >= _DEEPEST or seen > _MOST_ENTRIES
        paths = [
            os.path.join(parent, name)
            for name in sorted([*files, *filter(layout.parse_path, folders)])
        ]
        folders[:] = [] if is_end else sorted(name for name in folders if name != ".git")
        found += [
            one
            for one in paths
            if layout.find_skill(one) or (protocol_of(one) == "pipeline" and _is_odd(one))
        ]

    return found


def _is_odd(path: str) -> bool:
    folder, _, name = path.rpartition("/")
    return layout.parse_path(name) is not None or layout.is_run_folder(folder.rpartition("/")[2])


def check_record(
    path: str, data: "bytes | OSError", *, now: int, brief: bool = False
) -> CheckedRecord:
    """path: its last three parts say whose record it must be. brief: a broken shape is not
    explained.
    """
    name = layout.parse_path(path)
    assert name is not None, path
    if isinstance(data, OSError):
        message = f"the file cannot be read: {data.strerror or data}"
        return CheckedRecord(path, name, None, [Finding("file/unreadable", "error", message, path)])

    try:
        text = yamltext.decode(data)
        value = yamltext.load(text)
    except yamltext.YamlTextError as error:
        message = escape_controls(error.message)
        return CheckedRecord(
            path,
            name,
            None,
            [Finding(error.code, "error", message, path, "", error.line, error.column)],
        )

    if not isinstance(value, dict):
        message = "the file is not a mapping, as a record is"
        return CheckedRecord(
            path, name, None, [Finding("yaml/not-a-mapping", "error", message, path, "", 1, 1)]
        )

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
    return [_cut(item) for item in value[:_MOST_ITEMS]] if isinstance(value, list) else value


def _without_echoes(findings: list[Finding]) -> list[Finding]:
    # A value that is wrong in itself is in the wrong place too: once is enough
    wrong = {finding.where for finding in findings if finding.code != rules.MISPLACED}
    return [
        finding
        for finding in findings
        if finding.code != rules.MISPLACED or finding.where not in wrong
    ]


def _locate_all(findings: list[Finding], path: str, text: str, *, brief: bool) -> list[Finding]:
    if not findings or brief:
        return [finding._replace(path=path) for finding in findings]
    if len(findings) > _MOST_FINDINGS:
        more = f"{len(findings) - _MOST_FINDINGS} more things are wrong with it"
        findings = [*findings[:_MOST_FINDINGS], Finding("pipeline/shape", "error", more)]
    return place_findings(
        findings, path, yamltext.locate_all(text, [finding.where for finding in findings])
    )


def compare_with_repository(record: CheckedRecord, path: str) -> list[Finding]:
    """What is missing in the repository around a folder. record: a valid one. Raises
    CheckpointError.
    """
    from checkpoint_git.git.paths import find_state

    repository = find_repository(path) if os.path.isdir(path) else None
    if repository is None:
        raise CheckpointError(
            f"--repo {escape_controls(path)} is not in a git work tree", "name a folder of one"
        )

    assert record.value is not None
    commit_map, payload = record.value["repo_commit_map"], record.value["phase_payload"]
    work_tree, names = repository[0], _read_names(*repository)
    commits: dict[str, str] = {}
    found = []
    for name, commit in commit_map.items():
        if len(commit_map) == 1 or name.removesuffix(".git").rpartition("/")[2].lower() in names:
            commits[join_pointer("/repo_commit_map", name)] = commit
        else:
            message = f"{quote(name)} is another repository: its commit was not looked for"
            found.append(
                Finding("pipeline/other-repository", "warning", message, where="/repo_commit_map")
            )

    commits |= {
        f"/phase_payload/{field}": payload[field]
        for field in rules.COMMIT_FIELDS
        if field in payload
    }
    found += _compare_commits(work_tree, commits)
    for at, artifact in enumerate(record.value["artifact_paths"]):
        if find_state(artifact, work_tree, work_tree) != "there":
            where, hint = f"/artifact_paths/{at}", "restore it, or run the phase again"
            message = f"{where[1:]} is {quote(artifact)}, which is not in {work_tree}"
            found.append(
                Finding("pipeline/artifact-missing", "error", message, where=where, hint=hint)
            )

    return [finding._replace(path=record.path) for finding in found]


def _read_names(work_tree: str, git_dir: str) -> frozenset[str]:
    from checkpoint_git.git.refs import read_own_names

    main, found, _ = git_dir.rpartition("/.git/worktrees/")
    folders = [*((work_tree, main) if found else (work_tree,)), *read_own_names(work_tree)]
    return frozenset(os.path.basename(folder).removesuffix(".git").lower() for folder in folders)


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
    cut_off = bool(strangers) and is_shallow(work_tree)
    level: Level = "warning" if cut_off else "error"
    for where, commit in commits.items():
        if commit in strangers:
            code, says, way = _STRANGERS[strangers[commit]]
            hint: AnyHint = way
            if cut_off:
                hint = advise("the history of this clone is cut off", "git", "fetch", "--unshallow")
            yield Finding(code, level, f"{where[1:]} is {commit}, {says}", where=where, hint=hint)
