"""Which recent merges may have damaged a checkpoint, found with few git processes; it judges no document."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from checkpoint_git.git.merges.bases import read_bases_of_all
from checkpoint_git.git.merges.merges import Commit, read_commits, read_contents
from checkpoint_git.git.objects import diff_tree_pairs, find_missing, read_headers
from checkpoint_git.git.run import Env, run_git
from checkpoint_git.git.staged import pathspecs
from checkpoint_git.protocols.registry import protocol_of

MOST_MERGES = 20
DAYS = 30
_MOST_VERSIONS = 20  # of a file after a merge are looked at


def read_recent_merges(cwd: str, now: int, env: Env = None) -> list[str]:
    """Return the ids of HEAD's last merges, newest first: of 30 days before `now`, 20 at most."""
    since = max(now - DAYS * 86_400, 0)
    words = ["rev-list", "--merges", f"--max-count={MOST_MERGES}", f"--since=@{since} +0000"]
    return run_git([*words, "HEAD", "--"], cwd, env=env, check=False).out.decode().split()


class _Change(NamedTuple):
    path: str
    parents: tuple[str, ...]
    result: str


# Nearly every merge took each checkpoint as the only parent that changed it has it.
def read_suspects(cwd: str, ids: Sequence[str], env: Env = None) -> list[Commit]:
    """Return the merges that may have damaged a checkpoint, and those that lack a parent here."""
    commits = read_commits(cwd, ids, env)
    missing = find_missing(cwd, sorted({one for commit in commits for one in commit.parents}), env)
    merges = [commit for commit in commits if not missing & set(commit.parents)]
    suspects = {commit.id for commit in commits} - {merge.id for merge in merges}

    # what no parent has, and an octopus, calls for a look without a question to the merge base
    changes = _read_changes(cwd, merges, env)
    for merge in merges:
        if any(_is_telling(change) for change in changes[merge.id]):
            suspects.add(merge.id)

    asked = [merge for merge in merges if merge.id not in suspects and changes[merge.id]]
    suspects |= _compare_with_bases(cwd, asked, changes, env)
    return [commit for commit in commits if commit.id in suspects]


def _is_telling(change: _Change) -> bool:
    is_strange = len(change.parents) != 2 or change.result not in change.parents
    return is_strange or "\n" in change.path


def _compare_with_bases(cwd: str, merges: Sequence[Commit], changes: dict[str, list[_Change]], env: Env) -> set[str]:
    """Return the merges that took a parent's checkpoint which the other parent changed too."""
    suspects: set[str] = set()
    questions: dict[str, dict[str, str]] = {}  # merge -> BASE:PATH -> the blob that must be there
    found = read_bases_of_all(cwd, [merge.parents for merge in merges], env)
    for merge, bases in zip(merges, found, strict=True):
        if len(bases) != 1:
            suspects.add(merge.id)
            continue
        questions[merge.id] = {
            f"{bases[0]}:{change.path}": change.parents[int(change.result == change.parents[0])]
            for change in changes[merge.id]
        }

    names = sorted({name for blobs in questions.values() for name in blobs})
    headers = read_headers(cwd, names, env)
    known = {name: header.id for name, header in zip(names, headers, strict=True)}
    for merge_id, blobs in questions.items():
        if any(known[name] != blob for name, blob in blobs.items()):
            suspects.add(merge_id)
    return suspects


def _read_changes(cwd: str, merges: list[Commit], env: Env) -> dict[str, list[_Change]]:
    # by merge, its checkpoints that are not the same in the merge and all parents; two git processes for all
    parents = sorted({parent for merge in merges for parent in merge.parents})
    trees = {commit.id: commit.tree for commit in read_commits(cwd, parents, env)}
    pairs = {(trees[parent], merge.tree) for merge in merges for parent in merge.parents}
    differing = {
        pair: {
            change.path: (change.old.blob if change.old else "", change.after.blob if change.after else "")
            for change in changes
            if protocol_of(change.path)
        }
        for pair, changes in diff_tree_pairs(cwd, pairs, pathspecs(), env).items()
    }
    found: dict[str, list[_Change]] = {}
    for merge in merges:
        sides = [differing[trees[parent], merge.tree] for parent in merge.parents]
        results = {path: new for side in sides for path, (_, new) in side.items()}
        found[merge.id] = [
            _Change(path, tuple(side[path][0] if path in side else result for side in sides), result)
            for path, result in results.items()
        ]
    return found


def read_outside(cwd: str, ids: Iterable[str], env: Env = None) -> set[str]:
    """Those not in HEAD's history; all of them where one is not here at all."""
    asked = sorted(set(ids))
    if not asked:
        return set()
    stdin = "".join(f"{one}\n" for one in asked).encode()
    result = run_git(["rev-list", "--stdin", "--not", "HEAD"], cwd, stdin=stdin, env=env, check=False)
    return set(asked if result.code else result.out.decode().split()) & set(asked)


def read_later_versions(cwd: str, merge: str, path: str, env: Env = None, head: str = "HEAD") -> list[bytes]:
    """What a file was between a merge and HEAD, in the commits that come after the merge; newest first, 20 at most."""
    words = ["log", "-z", "--format=", "--raw", "-m", "--full-history", "--no-renames", "--full-index"]
    words += ["--no-ext-diff", "--no-relative", "--no-color", "--no-show-signature", "--ancestry-path"]
    out = run_git([*words, f"{merge}..{head}", "--", f":(top,literal){path}"], cwd, env=env).out
    records = [field.lstrip(b"\n") for field in out.split(b"\0")]
    blobs = dict.fromkeys(record.split()[3].decode() for record in records if record.startswith(b":"))
    present = [blob for blob in blobs if blob.strip("0")][:_MOST_VERSIONS]
    contents = read_contents(cwd, present, env)
    return [contents[blob] for blob in present]
