"""What a repository's history shows, one `git log` a question; messages are untrusted bytes of any
encoding.
"""

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from checkpoint_git.core.clock import write_instant
from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.git.history.log import (
    PLAIN_LOG,
    environment,
    has_commits,
    read_blocks,
    read_words,
    run,
)
from checkpoint_git.git.objects import parse_changes, read_headers

_MAX_SUBJECT = 1_000  # characters
_MAX_STEPS = 20_000  # of HEAD's own line, whose changes are looked at
_MAX_DEPTH = 20_000  # commits behind HEAD in which a path that is gone is looked for
# paths that git itself looks for; more of them it compares one by one with every name it meets
_FEW = 100


def is_shallow(work_tree: str) -> bool:
    answer = run(["rev-parse", "--is-shallow-repository"], work_tree, check=False)
    return answer.out.strip() == b"true"


def read_commit_at(work_tree: str, instant: int) -> str:
    """The newest of HEAD's own line at an instant (seconds since 1970); "" for none."""
    if not has_commits(work_tree):
        return ""
    words = ["rev-list", "-1", "--first-parent", f"--before=@{max(instant, 0)} +0000", "HEAD", "--"]
    return run(words, work_tree).out.decode().strip()


class CommitPaths(NamedTuple):
    id: str
    when: int  # seconds since 1970
    subject: str
    paths: frozenset[str]  # what it changed, with "/"


_STEP = rb"(?s)\n?\x01(?P<id>[0-9a-f]{40,64}) (?P<when>\d*) (?P<subject>.*)"


def read_changes(work_tree: str, since: int, paths: frozenset[str]) -> list[CommitPaths]:
    """HEAD's own line since an instant, newest first; a merge is one step with all it brought in.
    paths: relative to the work tree; only steps that touch one of them are kept, and of those only
    these paths.
    """
    if not has_commits(work_tree):
        return []
    words = [
        *PLAIN_LOG,
        f"--max-count={_MAX_STEPS}",
        "--first-parent",
        "-m",
        "--name-only",
        "--no-renames",
    ]
    words += [
        "--no-ext-diff",
        "--no-relative",
        f"--since=@{max(since, 0)} +0000",
        "--format=%x01%H %ct %s",
    ]
    changes: list[CommitPaths] = []
    head, touched = CommitPaths("", 0, "", frozenset()), set[str]()
    for block in read_blocks(work_tree, words):
        for record in block.split(b"\0"):
            step = re.fullmatch(_STEP, record)
            if step:
                changes += [head._replace(paths=frozenset(touched))] if touched else []
                subject = step["subject"].decode("utf-8", "replace")[:_MAX_SUBJECT]
                head, touched = (
                    CommitPaths(step["id"].decode(), int(step["when"] or 0), subject, frozenset()),
                    set(),
                )
            elif (name := os.fsdecode(record.removeprefix(b"\n"))) in paths:
                touched.add(name)

    return changes + ([head._replace(paths=frozenset(touched))] if touched else [])


def read_unchanged(work_tree: str, asked: Sequence[tuple[str, str]]) -> frozenset[tuple[str, str]]:
    """Of (commit, file) those that HEAD has with the content of that commit, under this name or
    another.
    """
    names = [
        name
        for commit, path in asked
        for name in (f"{commit}:{path}", f"HEAD:{path}")
        if "\n" not in path
    ]
    asked = [one for one in asked if "\n" not in one[1]]
    ids = [header.id for header in read_headers(work_tree, names, environment())]
    pairs = dict(zip(asked, zip(ids[::2], ids[1::2], strict=True), strict=True))
    found = {one for one, (old, new) in pairs.items() if old == new != ""}
    for commit in sorted({commit for (commit, _), (old, _) in pairs.items() if not old})[:_FEW]:
        words = [
            "diff-tree",
            "-r",
            "-z",
            "--raw",
            "--no-abbrev",
            "-M100%",
            "--diff-filter=R",
            commit,
            "HEAD",
        ]
        found |= {
            (commit, one.path) for one in parse_changes(run(words, work_tree, check=False).out)
        }

    return frozenset(found)


def read_strangers(work_tree: str, ids: Sequence[str]) -> dict[str, str]:
    """Which of the commit ids HEAD's history does not hold: id -> "unknown" to the repository, or
    "elsewhere" in it. ids: 7 hexadecimal digits or more. A tag counts as its commit; an id that
    several commits begin with is left out.
    """
    if not ids or not has_commits(work_tree):
        return dict.fromkeys(ids, "unknown")
    headers = dict(
        zip(
            ids,
            read_headers(work_tree, [f"{one}^{{commit}}" for one in ids], environment()),
            strict=True,
        )
    )
    commits = "".join(
        f"{commit}\n" for commit in sorted({header.id for header in headers.values() if header.id})
    )
    outside = set(
        run(["rev-list", "--stdin", "--not", "HEAD"], work_tree, stdin=commits.encode())
        .out.decode()
        .split()
    )
    unknown = {one: "unknown" for one, header in headers.items() if header.kind == "missing"}
    return {
        **unknown,
        **{one: "elsewhere" for one, header in headers.items() if header.id in outside},
    }


class Removal(NamedTuple):
    commit: str
    new_name: str = ""  # what the file is called since, "" if it was deleted
    told: str = ""  # such as: 1a2b3c4d5 "Remove the old API", 2026-03-11


_HEADER = rb"\n?\x01(?P<id>[0-9a-f]{40,64})"


def read_removals(work_tree: str, paths: Sequence[str], since: int = 0) -> dict[str, Removal]:
    """Return the newest commit, of the last 20,000, that removed each path, or the last file of a
    pattern.

    paths: relative to the work tree, any number. since: seconds since 1970; older commits are not
    read.
    """
    names = [name for path in paths if (name := path.rstrip("/"))]
    removed = _read_removed_in(work_tree, names, since) if names else {}
    renames, subjects = _read_renames(work_tree, set(removed.values()))
    unnamed = {(commit, path) for path, commit in removed.items() if (commit, path) not in renames}
    renames |= find_renamed_folders(renames, unnamed)
    return {
        path: Removal(one, renames.get((one, path), ""), subjects.get(one, one[:9]))
        for path, one in removed.items()
    }


def find_renamed_folders(
    renames: Mapping[tuple[str, str], str], asked: Collection[tuple[str, str]]
) -> dict[tuple[str, str], str]:
    """By commit and old name, of a folder or a pattern: where most of the files went that the
    commit renamed.
    """
    seen: dict[tuple[str, str], dict[str, int]] = {}
    patterns = {path for _, path in asked if fixed_part(path) != path}
    for (commit, old), new in renames.items() if asked else ():
        for path in (*folders_of(old), *(pattern for pattern in patterns if fits(old, pattern))):
            if (commit, path) in asked:
                folder = fixed_part(path)
                rest = old[len(folder) :]
                target = new.removesuffix(rest) + path[len(folder) :] if new.endswith(rest) else ""
                counts = seen.setdefault((commit, path), {})
                counts[target] = counts.get(target, 0) + 1

    best = {key: max(counts, key=lambda target: counts[target]) for key, counts in seen.items()}
    return {
        key: target
        for key, target in best.items()
        if target and 2 * seen[key][target] > sum(seen[key].values())
    }


def fits(path: str, pattern: str) -> bool:
    if "**" in pattern:
        return fnmatchcase(path, pattern) or fnmatchcase(path, pattern.replace("**/", ""))
    parts, patterns = path.split("/"), pattern.split("/")
    return len(parts) == len(patterns) and all(map(fnmatchcase, parts, patterns))


def fixed_part(path: str) -> str:
    """The folders of a pattern before its first sign, "" for none; any other path itself."""
    sign = re.search(r"[*?\[]", path)
    return path[: sign.start()].rpartition("/")[0] if sign else path


def _read_removed_in(work_tree: str, paths: Sequence[str], since: int) -> dict[str, str]:
    # A folder counts as removed where its last file went; reading ends once all is known
    age = f"--max-age={since}"
    words = [
        "--literal-pathspecs",
        *PLAIN_LOG,
        "--diff-filter=D",
        "--no-renames",
        "--name-only",
        "--no-ext-diff",
        age,
    ]
    too_deep = read_words(
        work_tree, ["rev-list", f"--skip={_MAX_DEPTH}", "--max-count=1", age, "HEAD", "--"]
    )
    words += [
        "--no-relative",
        "--format=%x01%H",
        "HEAD",
        *(f"^{commit}" for commit in too_deep),
        "--",
    ]
    wanted, specs = set(paths), [fixed_part(path) for path in paths]
    patterns = [path for path in paths if fixed_part(path) != path]
    removed: dict[str, str] = {}
    commit = ""
    for block in read_blocks(
        work_tree, [*words, *(specs if len(paths) <= _FEW and all(specs) else ())]
    ):
        for record in block.split(b"\0"):
            header = re.fullmatch(_HEADER, record)
            commit = header["id"].decode() if header else commit
            name = "" if header else os.fsdecode(record.removeprefix(b"\n"))
            for path in (
                name,
                *folders_of(name),
                *(each for each in patterns if name and fits(name, each)),
            ):
                if path in wanted:
                    removed.setdefault(path, commit)
        if len(removed) == len(wanted):
            break

    return removed


def folders_of(path: str) -> Iterator[str]:
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def _read_renames(
    work_tree: str, commits: Collection[str]
) -> tuple[dict[tuple[str, str], str], dict[str, str]]:
    """(the new names by commit and old name, the sentences about the commits)."""
    words = [
        "log",
        "-z",
        "--stdin",
        "--no-walk=unsorted",
        "--root",
        "-M",
        f"-l{_FEW * 10}",
        "--name-status",
    ]
    words += [
        "--diff-filter=RD",
        "--no-ext-diff",
        "--no-relative",
        "--no-show-signature",
        "--format=%x01%H %ct %s",
    ]
    words += ["--encoding=UTF-8", "--no-color"]
    stdin = "".join(f"{commit}\n" for commit in sorted(commits)).encode()
    fields = run(words, work_tree, stdin=stdin, check=False).out.split(b"\0") if commits else []
    renames: dict[tuple[str, str], str] = {}
    subjects: dict[str, str] = {}
    commit, at = "", 0
    while at < len(fields):
        header = re.fullmatch(_STEP, fields[at])
        if header:
            commit, subject = header["id"].decode(), header["subject"].decode("utf-8", "replace")
            subjects[commit] = (
                f'{commit[:9]} "{shorten(subject, 80)}", {write_instant(int(header["when"] or 0))[:10]}'
            )
        if re.fullmatch(rb"\n?R\d*", fields[at]) and at + 2 < len(fields):
            renames[commit, os.fsdecode(fields[at + 1])] = os.fsdecode(fields[at + 2])
            at += 2
        at += 2 if re.fullmatch(rb"\n?D", fields[at]) else 1

    return renames, subjects
