"""Which merges of a range harmed checkpoints so that it still shows: merge commits, and squashes that are known."""

from collections.abc import Sequence
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.git.merges.merges import UNSHALLOW, Commit, read_commits, read_cut_ends
from checkpoint_git.git.merges.squashes import read_reverts, read_squashes
from checkpoint_git.git.merges.suspects import read_outside, read_suspects
from checkpoint_git.git.merges.trees import Plain
from checkpoint_git.git.objects import Env, find_missing, read_commit
from checkpoint_git.git.run import run_git
from checkpoint_git.tools.merges.findings import Served
from checkpoint_git.tools.merges.judged import Schemas
from checkpoint_git.tools.merges.line_merge import find_event, keep_lasting, serve_all


class Asked(NamedTuple):
    """What is to be looked at. revisions: as rev-list takes them, no option among them. head: a full id, with which
    what the merges did is compared. ahead: the range is no part of HEAD's history. squash: one commit, its sides its
    parents.
    """

    revisions: str
    head: str
    ahead: bool = False
    squash: Commit | None = None
    names: tuple[str, str] = ("", "")


class Look(NamedTuple):
    """merges, squashes: how many there are in the range. served: those with something to tell, newest first.

    reverted: how many that did harm a later commit took back as a whole. end: a commit before which a shallow clone
    knows nothing of the range, "" for none.
    """

    merges: int
    squashes: int
    served: list[Served]
    reverted: int = 0
    end: str = ""


def read_asked(cwd: str, env: dict[str, str], revisions: str) -> Asked:
    """A range of history. Raises CheckpointError where git knows none."""
    trouble = CheckpointError(
        f"git knows no range {escape_controls(shorten(revisions, 80))!r}", "give one such as main~20..main, or a branch"
    )
    run_git(["rev-parse", "--git-dir"], cwd, env=env)
    if revisions.startswith("-") or not revisions:
        raise trouble
    result = run_git(["rev-parse", "--revs-only", revisions], cwd, env=env, check=False)
    tips = [line for line in result.out.decode().split() if not line.startswith("^")]
    if result.code != 0 or not tips:
        raise trouble
    tips = [read_commit(cwd, tip, env) for tip in tips]
    head = (
        run_git(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], cwd, env=env, check=False).out.decode().strip()
    )
    ahead = not head or bool(read_outside(cwd, tips, env))
    return Asked(revisions, tips[0] if ahead else head, ahead)


def read_squash(cwd: str, env: dict[str, str], rev: str, base: str | None, head: str) -> Asked:
    """One commit that holds the work of a branch and does not name it. base: None for its first parent."""
    (commit,) = read_commits(cwd, [read_commit(cwd, rev, env)], env)
    if base is None and not commit.parents:
        raise CheckpointError(f"{escape_controls(rev)} has no parent", "name what it was built upon: --base REF")
    first = commit.parents[0] if base is None else read_commit(cwd, base, env)
    sides = (first, read_commit(cwd, head, env))
    asked = read_asked(cwd, env, commit.id)
    return asked._replace(squash=commit._replace(parents=sides), names=(base or first[:8], head))


def look(plain: Plain, asked: Asked, schemas: Schemas) -> Look:
    """What the merges did and still shows."""
    cwd, env = plain.cwd, plain.env
    if asked.squash is not None:
        names = dict(zip(asked.squash.parents, asked.names, strict=True))
        events = [(asked.squash, find_event(asked.squash, True, names))]
        ends, merges, squashes = list[Commit](), 0, 1
    else:
        ids = _read_ids(cwd, asked.revisions, env)
        suspects = _find_suspects(plain, ids)
        apart = read_squashes(cwd, [asked.revisions], asked.head, env)
        events = [(commit, find_event(commit)) for commit in suspects]
        events += [(commit, find_event(commit, True)) for commit in apart]
        ends, merges, squashes = read_cut_ends(cwd, asked.revisions), len(ids), len(apart)
    found = serve_all(plain, events, schemas)
    telling = [one for one in found if one.hits or one.reason or one.crowded]
    lasting = [keep_lasting(plain, one, asked.head) for one in telling]
    reverts = read_reverts(cwd, [one.event.commit for one in lasting if one.hits], asked.head, env)
    kept = [one for one in lasting if (one.hits or one.reason or one.crowded) and one.event.commit not in reverts]
    reason = f"this clone was cut off there; {UNSHALLOW}"
    cut = [commit for commit in ends if len(commit.parents) > 1]
    kept += [Served(find_event(commit), commit, [], reason=reason) for commit in cut]
    end = next((commit.id for commit in ends if len(commit.parents) == 1), "")
    return Look(merges + len(cut), squashes, kept, len(reverts), end)


def _read_ids(cwd: str, revisions: str, env: Env) -> list[str]:
    words = ["rev-list", "--merges", "--end-of-options", revisions, "--"]
    return run_git(words, cwd, env=env).out.decode().split()


def _find_suspects(plain: Plain, ids: Sequence[str]) -> list[Commit]:
    """The merges that call for a look; all of them where a parent of one is not in this clone."""
    commits = read_commits(plain.cwd, ids, plain.env)
    missing = find_missing(plain.cwd, sorted({parent for commit in commits for parent in commit.parents}), plain.env)
    if not missing:
        return read_suspects(plain.cwd, ids, plain.env)
    whole = [commit.id for commit in commits if not missing & set(commit.parents)]
    known = {commit.id for commit in read_suspects(plain.cwd, whole, plain.env)}
    return [commit for commit in commits if commit.id in known or commit.id not in whole]
