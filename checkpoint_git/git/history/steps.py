"""Read which commits changed some files, and what each file was before and after, as blob ids.

One `git log` streams the steps. A merge is a step only if a file differs from all its parents;
what a file has from one parent alone is followed there, as git simplifies a history.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from checkpoint_git.git.history.log import PLAIN_LOG, environment, read_fields, run
from checkpoint_git.git.objects import TreeEntry, diff_trees, parse_change

_MOST_ORIGINS = 100  # names that one file is followed to
_MAX_SUBJECT = 500  # characters
_MAX_NAME = 200
_HEADER = re.compile(rb"\n?\x01([0-9a-f]{40,64})")


class Commit(NamedTuple):
    id: str
    parents: tuple[str, ...]  # full ids
    at: int  # seconds since 1970
    authored_at: int
    author: str  # as .mailmap has it
    subject: str


class Touch(NamedTuple):
    path: str
    before: tuple[str, ...]  # its blob in each parent, "" for none
    after: str  # its blob now
    came_from: str = ""  # the path before a rename


class HistoryStep(NamedTuple):
    commit: Commit
    touches: list[Touch]


def read_steps(
    work_tree: str, specs: Sequence[str], since: int | None = None, most: int | None = None
) -> Iterator[HistoryStep]:
    """Yield the steps, newest first. since: seconds since 1970. most: steps."""
    words = [*PLAIN_LOG, "--raw", "--root", "--no-abbrev", "-c", "-M", "--no-relative"]
    if since is not None:
        words.append(f"--since=@{max(since, 0)} +0000")
    if most is not None:
        words.append(f"--max-count={most}")
    words += ["--format=%x01%H%x00%P%x00%ct%x00%at%x00%aN%x00%s", "HEAD", "--", *specs]
    yield from _parse(read_fields(work_tree, words))


def read_life_steps(
    work_tree: str,
    path: str,
    kin: str,
    list_related: Callable[[Sequence[str]], Sequence[str]],
    since: int | None = None,
) -> Iterator[HistoryStep]:
    """Yield the steps of one file through its renames, newest first.

    kin: the pathspec of what it may have been called. list_related: returns the pathspecs of what
    belongs to the file under each of its names. A file that has had other names is read to its end
    before the first step under those.
    """
    paths = [path]
    asked = set[tuple[str, str]]()
    yielded = set[str]()
    while True:
        specs = [f":(top,literal){name}" for name in paths]
        steps: Iterable[HistoryStep] = read_steps(work_tree, [*specs, *list_related(paths)], since)
        if len(paths) > 1:
            steps = _without_namesakes(list(steps), paths)
        for step in steps:
            origin = ""
            if len(asked) < _MOST_ORIGINS:
                origin = next(_read_origins(work_tree, step, paths, asked, kin), "")
            if origin:
                # and once more from the top: other branches may have changed it under that name
                paths.append(origin)
                break
            if step.commit.id not in yielded:
                yielded.add(step.commit.id)
                yield step
        else:
            return


def _read_origins(
    work_tree: str, step: HistoryStep, paths: Sequence[str], asked: set[tuple[str, str]], kin: str
) -> Iterator[str]:
    """Yield the names that a file had before a step, unless they are known."""
    for touch in step.touches:
        if touch.path not in paths:
            continue
        for parent, blob in zip(step.commit.parents, touch.before, strict=False):
            if blob or (parent, step.commit.id) in asked:
                continue
            asked.add((parent, step.commit.id))
            changes = diff_trees(
                work_tree, parent, step.commit.id, [kin], environment(), renames=True
            )
            for change in changes:
                origin = change.came_from
                if change.path == touch.path and origin and origin not in paths:
                    yield origin


def _without_namesakes(steps: list[HistoryStep], paths: Sequence[str]) -> list[HistoryStep]:
    """Return the steps without those of other files that took one of the older names later.

    steps: newest first. paths: the names of the file, the newest first.
    """
    for path in paths[1:]:
        end = _count_steps_of_namesake(steps, path)
        kept = []
        for commit, touches in steps[:end]:
            others = [touch for touch in touches if touch.path != path]
            if others:
                kept.append(HistoryStep(commit, others))
        steps = [*kept, *steps[end:]]

    return steps


def _count_steps_of_namesake(steps: Sequence[HistoryStep], path: str) -> int:
    """Return how many of the newest steps may be of another file that took an older name.

    They are those since the name was given up, down to the oldest in which a file appeared there.
    """
    count = 0
    for number, step in enumerate(steps, 1):
        if any(touch.came_from == path for touch in step.touches):
            return count  # our file gave the name up
        if any(touch.path == path and not any(touch.before) for touch in step.touches):
            count = number
    return 0


def _parse(fields: Iterator[bytes]) -> Iterator[HistoryStep]:
    step: HistoryStep | None = None
    for field in fields:
        header = _HEADER.fullmatch(field)
        if header:
            if step and step.touches:
                yield step
            step = HistoryStep(_parse_commit(header[1].decode(), fields), [])
        elif step and (facts := field.removeprefix(b"\n")).startswith(b":"):
            change = parse_change(facts, fields)
            before = tuple([_blob_of(entry) for entry in change.before])
            after = _blob_of(change.after)
            step.touches.append(Touch(change.path, before, after, change.came_from))

    if step and step.touches:
        yield step


def _parse_commit(commit: str, fields: Iterator[bytes]) -> Commit:
    """Return a commit of the log. fields: those behind its id are taken."""
    parents, committed, authored, author, subject = [
        next(fields, b"").decode("utf-8", "replace") for _ in range(5)
    ]
    return Commit(
        id=commit,
        parents=tuple(parents.split()),
        at=_read_seconds(committed),
        authored_at=_read_seconds(authored),
        author=author[:_MAX_NAME],
        subject=subject[:_MAX_SUBJECT],
    )


def _read_seconds(text: str) -> int:
    return int(text) if text.isdecimal() else 0


def _blob_of(entry: TreeEntry | None) -> str:
    return entry.blob if entry else ""


def read_blob_at_head(work_tree: str, path: str) -> str:
    """Return the id of the blob that HEAD has at a path, "" for none."""
    result = run(["rev-parse", "--verify", "--quiet", f"HEAD:{path}"], work_tree, check=False)
    if result.code != 0:
        return ""
    return result.out.decode().strip()


def read_branch(work_tree: str) -> str:
    words = ["symbolic-ref", "--quiet", "--short", "HEAD"]
    return run(words, work_tree, check=False).out.strip().decode("utf-8", "replace")
