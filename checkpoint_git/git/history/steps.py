"""Which commits changed some files, and what each was before and after, as blob ids: it reads no
content.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git.history.log import PLAIN_LOG, environment, has_commits, run
from checkpoint_git.git.objects import diff_trees, parse_change
from checkpoint_git.git.run import stream_git

_MOST_ORIGINS = 100  # names that one file is followed to
_MAX_SUBJECT = 500  # characters
_MAX_NAME = 200
_WHOLE_RECORD = 1 << 20  # bytes of one field that are kept
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


# One `git log` streams the steps. A merge is a step only where a file differs from all its parents;
# what a file has from one parent alone is followed there, as git simplifies a history. Renames lead
# on to a file's older name.
def read_steps(
    work_tree: str, specs: Sequence[str], since: int | None = None, most: int | None = None
) -> Iterator[HistoryStep]:
    """Newest first. since: seconds since 1970. most: steps."""
    words = [*PLAIN_LOG, "--raw", "--root", "--no-abbrev", "-c", "-M"]
    words += ["--no-ext-diff", "--no-textconv", "--no-relative"]
    words += [f"--since=@{max(since, 0)} +0000"] if since is not None else []
    words += [f"--max-count={most}"] if most is not None else []
    words += ["--format=%x01%H%x00%P%x00%ct%x00%at%x00%aN%x00%s", "HEAD", "--", *specs]
    try:
        yield from _parse(_split(stream_git(words, work_tree, env=environment())))
    except CheckpointError:
        if has_commits(work_tree):
            raise


def read_life_steps(
    work_tree: str,
    path: str,
    kin: str,
    more: Callable[[Sequence[str]], Sequence[str]],
    since: int | None = None,
) -> Iterator[HistoryStep]:
    """The steps of one file through its renames, newest first. kin: the pathspec of what it may
    have been called. more: the pathspecs of what belongs to the file under each of its names. A
    file that has had other names is read to its end before the first step under those.
    """
    paths, asked, yielded = [path], set[tuple[str, str]](), set[str]()
    while True:
        steps = read_steps(
            work_tree, [*(f":(top,literal){one}" for one in paths), *more(paths)], since
        )
        for step in steps if len(paths) == 1 else _keep_own(list(steps), paths):
            origin = (
                next(_read_origins(work_tree, step, paths, asked, kin), "")
                if len(asked) < _MOST_ORIGINS
                else ""
            )
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
    for touch in step.touches:
        if touch.path not in paths or touch.came_from or not touch.after:
            continue
        for parent, blob in zip(step.commit.parents, touch.before, strict=False):
            if blob or (parent, step.commit.id) in asked:
                continue
            asked.add((parent, step.commit.id))
            changes = diff_trees(
                work_tree, parent, step.commit.id, [kin], environment(), renames=True
            )
            origins = (one.came_from for one in changes if one.path == touch.path and one.came_from)
            yield from (origin for origin in origins if origin not in paths)


def _keep_own(steps: list[HistoryStep], paths: Sequence[str]) -> list[HistoryStep]:
    # Without what happened to an older name after another file had taken it
    for path in paths[1:]:
        left = next(
            (
                at
                for at, step in enumerate(steps)
                if any(one.came_from == path for one in step.touches)
            ),
            0,
        )
        new = [
            (at, one)
            for at, step in enumerate(steps[:left])
            for one in step.touches
            if one.path == path
        ]
        until = max((at + 1 for at, one in new if not any(one.before)), default=0)
        early = (
            HistoryStep(commit, [one for one in touches if one.path != path])
            for commit, touches in steps[:until]
        )
        steps = [*(step for step in early if step.touches), *steps[until:]]

    return steps


def _split(chunks: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        *fields, rest = (rest + chunk).split(b"\0")
        yield from fields
        rest = rest[:_WHOLE_RECORD]
    if rest:
        yield rest


def _parse(fields: Iterator[bytes]) -> Iterator[HistoryStep]:
    step: HistoryStep | None = None
    for field in fields:
        header = _HEADER.fullmatch(field)
        if header:
            if step and step.touches:
                yield step
            parents, at, authored, author, subject = (
                next(fields, b"").decode("utf-8", "replace") for _ in range(5)
            )
            whens = [int(text) if text.isdecimal() else 0 for text in (at, authored)]
            names = tuple(parents.split())
            commit = Commit(
                header[1].decode(),
                names,
                whens[0],
                whens[1],
                author[:_MAX_NAME],
                subject[:_MAX_SUBJECT],
            )
            step = HistoryStep(commit, [])
        elif step and (facts := field.removeprefix(b"\n")).startswith(b":"):
            change = parse_change(facts, fields)
            before = tuple(one.blob if one else "" for one in change.before)
            step.touches.append(
                Touch(
                    change.path, before, change.after.blob if change.after else "", change.came_from
                )
            )

    if step and step.touches:
        yield step


def read_blob_at_head(work_tree: str, path: str) -> str:
    result = run(["rev-parse", "--verify", "--quiet", f"HEAD:{path}"], work_tree, check=False)
    return result.out.decode().strip() if result.code == 0 else ""


def read_branch(work_tree: str) -> str:
    words = ["symbolic-ref", "--quiet", "--short", "HEAD"]
    return run(words, work_tree, check=False).out.decode("utf-8", "replace").strip()
