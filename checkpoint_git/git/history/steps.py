"""Which commits changed some files, and what each was before and after, as blob ids: it reads no content.

One `git log` streams the steps. A merge is a step only where a file differs from all its parents; what a file has
from one parent alone is followed there, as git simplifies a history. Renames lead on to a file's older name.
"""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git.history.log import PLAIN_LOG, environment, has_commits, run
from checkpoint_git.git.run import stream_git

_MOST_ORIGINS = 100  # names that one file is followed to
_MAX_SUBJECT = 500  # characters
_MAX_NAME = 200
_WHOLE_RECORD = 1 << 20  # bytes of one field that are kept
_HEADER = re.compile(rb"\n?\x01([0-9a-f]{40,64})")
_CHANGES = re.compile(rb"\n?(:+)([^:].*)", re.DOTALL)


class Commit(NamedTuple):
    """parents: full ids. at, authored_at: seconds since 1970. author: as .mailmap has it. Texts are a stranger's."""

    id: str
    parents: tuple[str, ...]
    at: int
    authored_at: int
    author: str
    subject: str


class Touch(NamedTuple):
    """One file in a commit. before: its blob in each parent; after: its blob now; "" where there is none.

    came_from: the path before, where the commit renamed it.
    """

    path: str
    before: tuple[str, ...]
    after: str
    came_from: str = ""


class Step(NamedTuple):
    """A commit and what it did to the files that were asked about."""

    commit: Commit
    touches: list[Touch]


def read_steps(
    work_tree: str, specs: Sequence[str], since: int | None = None, most: int | None = None
) -> Iterator[Step]:
    """HEAD's steps that touch what some pathspecs name, newest first, as git writes them; none without commits.

    since: only commits from that instant on (seconds since 1970). most: steps. Raises CheckpointError where git fails.
    """
    words = [
        *PLAIN_LOG,
        "--raw",
        "--root",
        "--no-abbrev",
        "-c",
        "-M",
        "--no-ext-diff",
        "--no-textconv",
        "--no-relative",
    ]
    words += [f"--since=@{max(since, 0)} +0000"] if since is not None else []
    words += [f"--max-count={most}"] if most is not None else []
    words += ["--format=%x01%H%x00%P%x00%ct%x00%at%x00%aN%x00%s", "HEAD", "--", *specs]
    try:
        yield from _parse(_split(stream_git(words, work_tree, env=environment())))
    except CheckpointError:
        if has_commits(work_tree):
            raise


def read_life_steps(
    work_tree: str, path: str, kin: str, more: Callable[[Sequence[str]], Sequence[str]], since: int | None = None
) -> Iterator[Step]:
    """The steps of one file through its renames, newest first.

    kin: the pathspec of what it may have been called. more: the pathspecs of what belongs to the file under each of its
    names. A file that has had other names is read to its end before the first step under those is told.
    """
    paths, asked, told = [path], set[tuple[str, str]](), set[str]()
    while True:
        steps = read_steps(work_tree, [*map(_literal, paths), *more(paths)], since)
        for step in steps if len(paths) == 1 else _keep_own(list(steps), paths):
            origin = next(_read_origins(work_tree, step, paths, asked, kin), "") if len(asked) < _MOST_ORIGINS else ""
            if origin:
                paths.append(origin)  # and once more from the top: other branches may have changed it under that name
                break
            if step.commit.id not in told:
                told.add(step.commit.id)
                yield step
        else:
            return


def _literal(path: str) -> str:
    return f":(top,literal){path}"


def _read_origins(
    work_tree: str, step: Step, paths: Sequence[str], asked: set[tuple[str, str]], kin: str
) -> Iterator[str]:
    """The names that a step's file had before, where it stands new beside a parent and git finds it renamed."""
    for touch in step.touches:
        if touch.path not in paths or touch.came_from or not touch.after:
            continue
        for parent, blob in zip(step.commit.parents, touch.before, strict=False):
            if blob or (parent, step.commit.id) in asked:
                continue
            asked.add((parent, step.commit.id))
            origin = _read_origin(work_tree, parent, step.commit.id, touch.path, kin)
            if origin and origin not in paths:
                yield origin


def _read_origin(work_tree: str, parent: str, commit: str, path: str, kin: str) -> str:
    """What a file was called in a parent, "" where it was not there."""
    words = ["diff-tree", "-r", "-z", "-M", "-l1000", "--diff-filter=R", "--name-status", "--no-relative"]
    fields = run([*words, parent, commit, "--", kin], work_tree, check=False).out.split(b"\0")
    for at in range(0, len(fields) - 2, 3):
        if os.fsdecode(fields[at + 2]) == path:
            return os.fsdecode(fields[at + 1])
    return ""


def _keep_own(steps: list[Step], paths: Sequence[str]) -> list[Step]:
    """Without what happened to an older name after another file had taken it."""
    for path in paths[1:]:
        left = next((at for at, step in enumerate(steps) if any(one.came_from == path for one in step.touches)), 0)
        taken = [at for at, step in enumerate(steps[:left]) if any(_is_new(one, path) for one in step.touches)]
        until = taken[-1] + 1 if taken else 0
        early = (_without(step, path) for step in steps[:until])
        steps = [*(step for step in early if step.touches), *steps[until:]]
    return steps


def _is_new(touch: Touch, path: str) -> bool:
    return touch.path == path and not any(touch.before)


def _without(step: Step, path: str) -> Step:
    return step._replace(touches=[touch for touch in step.touches if touch.path != path])


# what git prints


def _split(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The NUL-ended fields of a stream; one that is too long is cut."""
    rest = b""
    for chunk in chunks:
        *fields, rest = (rest + chunk).split(b"\0")
        yield from fields
        rest = rest[:_WHOLE_RECORD]
    if rest:
        yield rest


def _parse(fields: Iterator[bytes]) -> Iterator[Step]:
    step: Step | None = None
    for field in fields:
        header = _HEADER.fullmatch(field)
        if header:
            if step and step.touches:
                yield step
            step = Step(_read_commit(header[1], fields), [])
        elif step and (changes := _CHANGES.fullmatch(field)):
            step.touches.append(_read_touch(changes, fields))
    if step and step.touches:
        yield step


def _read_commit(name: bytes, fields: Iterator[bytes]) -> Commit:
    parents, at, authored, author, subject = (next(fields, b"") for _ in range(5))
    names = parents.decode("ascii", "replace").split()
    said = (author.decode("utf-8", "replace")[:_MAX_NAME], subject.decode("utf-8", "replace")[:_MAX_SUBJECT])
    return Commit(name.decode(), tuple(names), _read_number(at), _read_number(authored), *said)


def _read_number(text: bytes) -> int:
    return int(text) if text.isdigit() else 0


def _read_touch(changes: re.Match[bytes], fields: Iterator[bytes]) -> Touch:
    """`:mode mode blob blob letter`, with a colon, a mode and a blob for each parent; one or two names follow."""
    count = len(changes[1])
    words = changes[2].decode("ascii", "replace").split()
    blobs = ["" if set(blob) == {"0"} else blob for blob in words[count + 1 : 2 * count + 2]]
    renamed = count == 1 and words[-1][:1] in ("R", "C")
    old = os.fsdecode(next(fields, b"")) if renamed else ""
    return Touch(os.fsdecode(next(fields, b"")), tuple(blobs[:-1]), blobs[-1] if blobs else "", old)


# where the history ends


def read_boundary(work_tree: str) -> frozenset[str]:
    """The commits at which a shallow clone was cut off; none in a whole one."""
    if run(["rev-parse", "--is-shallow-repository"], work_tree, check=False).out.strip() != b"true":
        return frozenset()
    words = ["rev-parse", "--path-format=absolute", "--git-path", "shallow"]
    path = os.fsdecode(run(words, work_tree).out.rstrip(b"\n"))
    try:
        with open(path, encoding="ascii", errors="replace") as stream:
            return frozenset(stream.read(1 << 24).split())
    except OSError:
        return frozenset()


def read_blob_at_head(work_tree: str, path: str) -> str:
    """The blob that HEAD has at a path, "" where there is none."""
    result = run(["rev-parse", "--verify", "--quiet", f"HEAD:{path}"], work_tree, check=False)
    return result.out.decode().strip() if result.code == 0 else ""


def read_branch(work_tree: str) -> str:
    """The branch that is checked out, by its short name; "" where none is."""
    words = ["symbolic-ref", "--quiet", "--short", "HEAD"]
    return run(words, work_tree, check=False).out.decode("utf-8", "replace").strip()
