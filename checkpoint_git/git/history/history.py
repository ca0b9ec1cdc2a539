"""Answer questions about a repository's history, each with one `git log`.

Messages are untrusted bytes of any encoding.
"""

import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from checkpoint_git.core.clock import write_instant
from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.git.history.log import (
    PLAIN_LOG,
    environment,
    has_commits,
    read_fields,
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
    """Return the newest commit of HEAD's first-parent line at an instant, "" for none.

    instant: seconds since 1970.
    """
    if not has_commits(work_tree):
        return ""
    words = ["rev-list", "-1", "--first-parent", f"--before=@{max(instant, 0)} +0000"]
    return run([*words, "HEAD", "--"], work_tree).out.decode().strip()


class CommitPaths(NamedTuple):
    id: str
    when: int  # seconds since 1970
    subject: str
    paths: frozenset[str]  # what it changed, with "/"


class _NamedPath(NamedTuple):
    """One path of a `git log --name-status`."""

    header: bytes  # of its commit: id, seconds since 1970 and subject
    path: str
    new_path: str  # where a rename went, else ""


_WITH_NAMES = ("--name-status", "--format=%H %ct %s", "--no-ext-diff", "--no-relative")


# A status is before every path, so that no name of a file can pass for a commit.
def _parse_names(fields: Iterator[bytes]) -> Iterator[_NamedPath]:
    """Yield the paths that `git log` prints with _WITH_NAMES."""
    header = b""
    for field in fields:
        text = field.removeprefix(b"\n")
        if not re.fullmatch(rb"[A-Z]\d*", text):
            header = text
            continue

        path = os.fsdecode(next(fields, b""))
        new_path = ""
        if text.startswith(b"R"):
            new_path = os.fsdecode(next(fields, b""))
        yield _NamedPath(header, path, new_path)


def _parse_header(header: bytes, paths: Collection[str]) -> CommitPaths:
    commit, when, subject = header.decode("utf-8", "replace").split(" ", 2)
    seconds = int(when or 0)  # a damaged commit has no date
    return CommitPaths(commit, seconds, subject[:_MAX_SUBJECT], frozenset(paths))


def read_changes(work_tree: str, since: int, paths: frozenset[str]) -> list[CommitPaths]:
    """Return the commits of HEAD's first-parent line since an instant, newest first.

    A merge is one step, with all that it brought in. paths: relative to the work tree; only
    commits that touch one of them are returned, each with those of the paths that it touched.
    """
    words = [*PLAIN_LOG, *_WITH_NAMES, f"--max-count={_MAX_STEPS}", "--first-parent", "-m"]
    words += ["--no-renames", f"--since=@{max(since, 0)} +0000"]
    touched: dict[bytes, set[str]] = {}
    for name in _parse_names(read_fields(work_tree, words)):
        if name.path in paths:
            touched.setdefault(name.header, set()).add(name.path)

    return [_parse_header(header, found) for header, found in touched.items()]


def read_unchanged(work_tree: str, asked: Sequence[tuple[str, str]]) -> frozenset[tuple[str, str]]:
    """Return which (commit, file) HEAD has with the content of that commit, under any name."""
    asked = [(commit, path) for commit, path in asked if "\n" not in path]
    old_names = [f"{commit}:{path}" for commit, path in asked]
    new_names = [f"HEAD:{path}" for _, path in asked]
    headers = read_headers(work_tree, [*old_names, *new_names], environment())
    old_ids = [header.id for header in headers[: len(asked)]]
    new_ids = [header.id for header in headers[len(asked) :]]

    found = set[tuple[str, str]]()
    lacking = set[str]()  # commits without the file, which may have it under another name
    for pair, old, new in zip(asked, old_ids, new_ids, strict=True):
        if not old:
            lacking.add(pair[0])
        elif old == new:
            found.add(pair)

    for commit in sorted(lacking)[:_FEW]:
        words = ["diff-tree", "-r", "-z", "--raw", "--no-abbrev", "-M100%", "--diff-filter=R"]
        out = run([*words, commit, "HEAD"], work_tree, check=False).out
        found.update((commit, change.path) for change in parse_changes(out))

    return frozenset(found)


def read_strangers(work_tree: str, ids: Sequence[str]) -> dict[str, str]:
    """Return the commit ids that are not in HEAD's history, and where they are.

    "unknown": the repository does not have it; "elsewhere": it does. ids: 7 hexadecimal digits or
    more. A tag counts as its commit; an id that several commits begin with is left out.
    """
    if not ids or not has_commits(work_tree):
        return dict.fromkeys(ids, "unknown")
    names = [f"{commit}^{{commit}}" for commit in ids]
    headers = dict(zip(ids, read_headers(work_tree, names, environment()), strict=True))
    commits = sorted({header.id for header in headers.values() if header.id})
    stdin = "".join(f"{commit}\n" for commit in commits).encode()
    listed = run(["rev-list", "--stdin", "--not", "HEAD"], work_tree, stdin=stdin)
    outside = set(listed.out.decode().split())

    strangers = {}
    for commit, header in headers.items():
        if header.kind == "missing":
            strangers[commit] = "unknown"
    for commit, header in headers.items():
        if header.id in outside:
            strangers[commit] = "elsewhere"
    return strangers


class Removal(NamedTuple):
    commit: str
    new_name: str = ""  # what the file is called since, "" if it was deleted
    citation: str = ""  # such as: 1a2b3c4d5 "Remove the old API", 2026-03-11


def read_removals(work_tree: str, paths: Sequence[str], since: int) -> dict[str, Removal]:
    """Return the newest commit, of the last 20,000, that removed each path, or the last file of a
    pattern.

    paths: relative to the work tree, any number. since: seconds since 1970; older commits are not
    read.
    """
    names = [name for path in paths if (name := path.rstrip("/"))]
    if not names:
        return {}
    removed = _read_removed_in(work_tree, names, since)
    renames, subjects = _read_renames(work_tree, set(removed.values()))
    unnamed = {(commit, path) for path, commit in removed.items() if (commit, path) not in renames}
    renames |= find_renamed_folders(renames, unnamed)
    removals = {}
    for path, commit in removed.items():
        citation = subjects.get(commit, commit[:9])
        removals[path] = Removal(commit, renames.get((commit, path), ""), citation)
    return removals


def find_renamed_folders(
    renames: Mapping[tuple[str, str], str], asked: Collection[tuple[str, str]]
) -> dict[tuple[str, str], str]:
    """Return where most of the files of a folder or a pattern went that a commit renamed.

    renames: by commit and old name. asked: the commit, and the folder or pattern.
    """
    if not asked:
        return {}
    targets: dict[tuple[str, str], list[str]] = {}
    patterns = {path for _, path in asked if fixed_part(path) != path}
    for (commit, old), new in renames.items():
        fitting = [pattern for pattern in patterns if fits(old, pattern)]
        for path in (*folders_of(old), *fitting):
            if (commit, path) not in asked:
                continue
            folder = fixed_part(path)
            rest = old[len(folder) :]
            target = ""
            if new.endswith(rest):
                target = new.removesuffix(rest) + path[len(folder) :]
            targets.setdefault((commit, path), []).append(target)

    found = {}
    for key, went in targets.items():
        (target, count), *_ = Counter(went).most_common()
        if target and 2 * count > len(went):
            found[key] = target
    return found


def fits(path: str, pattern: str) -> bool:
    """Return whether a pattern names a path.

    `*`, `?` and `[...]` stand for what is in one part, and the part `**` for any folders or none.
    """
    parts = path.split("/")
    reached = {0}  # after how many parts of the path the pattern may be where it is
    for wanted in pattern.split("/"):
        if not reached:
            return False
        if wanted == "**":
            reached = {*range(min(reached), len(parts)), len(parts)}
        else:
            fitting = {
                end for end in reached if end < len(parts) and fnmatchcase(parts[end], wanted)
            }
            reached = {end + 1 for end in fitting}
    return len(parts) in reached


def fixed_part(path: str) -> str:
    """Return the folders of a pattern before its first sign, "" for none; other paths whole."""
    sign = re.search(r"[*?\[]", path)
    if not sign:
        return path
    return path[: sign.start()].rpartition("/")[0]


def _read_removed_in(work_tree: str, paths: Sequence[str], since: int) -> dict[str, str]:
    """Return the commit that removed each path. A folder was removed with its last file.

    Reading ends once all is known.
    """
    age = f"--max-age={since}"
    too_deep = read_words(
        work_tree, ["rev-list", f"--skip={_MAX_DEPTH}", "--max-count=1", age, "HEAD", "--"]
    )
    words = ["--literal-pathspecs", *PLAIN_LOG, *_WITH_NAMES, "--diff-filter=D", "--no-renames"]
    words += [age, "HEAD", *(f"^{commit}" for commit in too_deep), "--"]
    specs = [fixed_part(path) for path in paths]
    if len(paths) <= _FEW and all(specs):
        words += specs

    wanted = set(paths)
    patterns = [path for path in paths if fixed_part(path) != path]
    removed: dict[str, str] = {}
    for name in _parse_names(read_fields(work_tree, words)):
        fitting = [pattern for pattern in patterns if fits(name.path, pattern)]
        for path in (name.path, *folders_of(name.path), *fitting):
            if path in wanted:
                removed.setdefault(path, _parse_header(name.header, ()).id)
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
    """Return the new names by commit and old name, and a text about each commit."""
    if not commits:
        return {}, {}
    words = [
        *PLAIN_LOG,
        *_WITH_NAMES,
        "--stdin",
        "--no-walk=unsorted",
        "--root",
        "-M",
        f"-l{_FEW * 10}",
        "--diff-filter=RD",
    ]
    stdin = "".join(f"{commit}\n" for commit in sorted(commits)).encode()
    # a partial clone may lack what tells a rename
    out = run(words, work_tree, stdin=stdin, check=False).out
    renames: dict[tuple[str, str], str] = {}
    headers = set[bytes]()
    for name in _parse_names(iter(out.split(b"\0"))):
        headers.add(name.header)
        if name.new_path:
            renames[_parse_header(name.header, ()).id, name.path] = name.new_path

    subjects: dict[str, str] = {}
    for header in headers:
        commit = _parse_header(header, ())
        day = write_instant(commit.when)[:10]
        subjects[commit.id] = f'{commit.id[:9]} "{shorten(commit.subject, 80)}", {day}'

    return renames, subjects
