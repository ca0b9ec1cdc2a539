"""Read the commits of HEAD and the default branch since an instant, children before parents."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from checkpoint_git.git.history.log import PLAIN_LOG, has_commits, read_fields, read_words

MAX_MESSAGE = 1 << 17  # bytes of one commit that are looked at

# A record is a line of id, date and parents, then the subject and the body.
_FORMAT = "--format=%H %ct %P%n%s%n%b"
_MOST_OF_LINE = 200  # commits of a branch's own line that are read whatever their dates are
_ORIGIN_HEAD = "refs/remotes/origin/HEAD"
_USUAL_BRANCHES = ("main", "master")


class Tips(NamedTuple):
    """The ids of commits. default: of the default branch as it is here and as last fetched, () if
    it is unknown.
    """

    head: str
    default: tuple[str, ...] = ()


class Record(NamedTuple):
    """One commit.

    when: seconds since 1970. message: subject and body, as bytes of any encoding.
    """

    id: str
    when: int
    parents: tuple[str, ...]
    message: bytes


def read_tips(work_tree: str) -> Tips | None:
    """Return the commits of HEAD and of the default branch, None without commits. No remote is
    asked.
    """
    head = "".join(read_words(work_tree, ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]))
    if not head:
        has_commits(work_tree)  # raises if git cannot answer
        return None

    known = _read_refs(
        work_tree, [_ORIGIN_HEAD, *(f"refs/heads/{name}" for name in _USUAL_BRANCHES)]
    )
    if _ORIGIN_HEAD in known:
        target, fetched = known[_ORIGIN_HEAD]
        local = f"refs/heads/{target.removeprefix('refs/remotes/origin/')}"
        if local not in known:
            known.update(_read_refs(work_tree, [local]))
        if local not in known:
            return Tips(head, (fetched,))
        return Tips(head, (fetched, known[local][1]))

    wished = read_words(work_tree, ["config", "--get", "init.defaultBranch"])
    if wished and wished[0] not in _USUAL_BRANCHES:
        known = {**_read_refs(work_tree, [f"refs/heads/{wished[0]}"]), **known}
    return Tips(head, tuple(commit for _, commit in [*known.values()][:1]))


def _read_refs(work_tree: str, names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return what each ref points to: (the ref that a symbolic one names, the commit)."""
    # no name of a ref has a colon
    words = ["for-each-ref", "--format=%(refname):%(symref):%(objectname)", *names]
    rows = [line.split(":") for line in read_words(work_tree, words)]
    # for main, git lists main/search too
    return {name: (target, commit) for name, target, commit in rows if name in names}


# `git log --since` stops at the first commit that is older, so a commit whose clock was wrong
# hides what is behind it. Such a one is mostly a merge on the branch's own line, which is therefore
# read too. There a commit cannot be older than one behind it.
def read_records(work_tree: str, tips: Tips, since: int, now: int) -> Iterator[Record]:
    """Yield the commits since an instant, and the last ones of each branch's own line."""
    starts = list(dict.fromkeys([tips.head, *tips.default]))
    line = dict[str, Record]()
    for start in starts:
        newest_first = list(
            _read_log(work_tree, ["--first-parent", f"--max-count={_MOST_OF_LINE}", start])
        )
        reached = 0
        for record in reversed(newest_first):
            if record.when <= now:
                reached = max(reached, record.when)
            line.setdefault(record.id, record._replace(when=max(reached, record.when)))

    for record in _read_log(
        work_tree, ["--topo-order", f"--since=@{max(since, 0)} +0000", *starts]
    ):
        yield line.pop(record.id, record)

    yield from reversed(line.values())


def _read_log(work_tree: str, words: Sequence[str]) -> Iterator[Record]:
    for text in read_fields(work_tree, [*PLAIN_LOG, _FORMAT, *words, "--"]):
        header, _, message = text.partition(b"\n")
        commit, when, parents = header.decode().split(" ", 2)
        date = int(when or 0)  # a damaged commit has none
        yield Record(commit, date, tuple(parents.split()), message[:MAX_MESSAGE])
