"""What HEAD's history merged: the few commits that could tell, found by look-up, go through the rules of evidence."""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TypeVar

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.references import unqualify
from checkpoint_git.git.history import evidence
from checkpoint_git.git.history.claims import Commit
from checkpoint_git.git.history.evidence import Evidence, Pair, Pairs, Told
from checkpoint_git.git.history.index import SMALLEST, History, Place, read_history
from checkpoint_git.git.history.log import PLAIN_LOG, environment, read_blocks
from checkpoint_git.git.history.reference_scan import MAX_MESSAGE, find_revert_key
from checkpoint_git.git.refs import read_own_names
from checkpoint_git.git.run import GitMissingError, stream_git

_Answer = TypeVar("_Answer")
_Decide = Callable[[Sequence[Told], frozenset[str], Pairs], dict[str, _Answer]]

_MAX_SUBJECT = 1_000  # characters
# Commits that are read for all references together: each costs as much as git takes to list forty subjects.
_MOST_READ = 2_400
_FEWEST = 12  # for one reference, however many are asked for

_SINGLE = 16  # questions about ancestry that are asked one by one, whatever the history's length
_WORTH = 5_000  # commits that git walks through in the time in which it starts


def read_merged(work_tree: str, references: set[str], smallest: int = SMALLEST) -> dict[str, Evidence]:
    """Reference -> evidence, for those that HEAD's history merged and did not revert; partial in a shallow clone.
    references: as core.references spells them. smallest: commits from which on an index is kept.
    """
    found = _answer(work_tree, references, evidence.decide_merged, smallest)
    named = {reference for reference in found if "/" in reference}
    if named and not read_own_names(work_tree):
        found |= {reference: found[reference]._replace(sure=False) for reference in named}
    return found


def read_taken_back(work_tree: str, references: set[str], smallest: int = SMALLEST) -> dict[str, str]:
    return _answer(work_tree, references, evidence.decide_taken_back, smallest)


def _answer(work_tree: str, references: set[str], decide: _Decide[_Answer], smallest: int) -> dict[str, _Answer]:
    if not references:
        return {}
    own = read_own_names(work_tree) if any("/" in reference for reference in references) else frozenset[str]()
    asked = {reference: unqualify(reference, own) for reference in references}
    wanted = frozenset(asked.values())
    try:
        answers = _weigh(work_tree, read_history(work_tree, smallest), wanted, decide)
    except CheckpointError:  # as after `git gc`, which removes commits that an index still has aside
        answers = _weigh(work_tree, read_history(work_tree, anew=True), wanted, decide)
    return {reference: answers[plain] for reference, plain in asked.items() if plain in answers}


def _weigh(
    work_tree: str, history: History | None, wanted: frozenset[str], decide: _Decide[_Answer]
) -> dict[str, _Answer]:
    named = _find_candidates(work_tree, history, wanted) if history else {}
    if not history or not named:
        return {}
    told = evidence.find_told(_read_commits(work_tree, sorted(named)), named)
    if evidence.names_repositories(told):
        told = evidence.unqualify_all(told, read_own_names(work_tree))
    return decide(told, wanted, read_pairs(work_tree, history, evidence.find_questions(told, wanted)))


def _find_candidates(work_tree: str, history: History, wanted: Collection[str]) -> dict[str, set[str]]:
    """The ids of commits that name a reference, of those that revert one of these, and so on; and what each names."""
    most = max(_MOST_READ // len(wanted), _FEWEST)
    naming, reverting = history.find(wanted)
    fresh: set[Place] = set()
    for named in naming.values():
        fresh.update(named if len(named) <= most else (*named[: most - most // 3], *named[-(most // 3) :]))
    ids: dict[Place, str] = {}
    found: dict[str, set[str]] = {}
    while fresh := fresh - ids.keys():
        read = history.read_ids(fresh)
        doubtful = [(one, history.tip) for one in sorted({*read.values()}) if bytes.fromhex(one) in history.excluded]
        strangers = {*doubtful} - read_pairs(work_tree, history, doubtful)
        commits = {*read.values()} - found.keys() - {commit for commit, _ in strangers}
        ids |= read
        found |= {commit: set() for commit in commits}
        fresh = {place for commit in commits for place in reverting.get(find_revert_key(commit), ())}
    for reference, places in naming.items():
        for commit in [ids[place] for place in places if place in ids]:
            found.get(commit, set()).add(reference)
    return found


def _read_commits(work_tree: str, ids: list[str]) -> list[Commit]:
    found: list[Commit] = []
    # As arguments they would take git twice as long
    words = [*PLAIN_LOG, "--stdin", "--no-walk=unsorted", "--format=%H,%ct,%P%n%s%n%b"]
    for block in read_blocks(work_tree, words, "".join(f"{commit}\n" for commit in ids).encode()):
        for record in block.split(b"\0")[:-1]:
            header, subject, body, *_ = [*record[:MAX_MESSAGE].decode("utf-8", "replace").split("\n", 2), "", ""]
            commit, when, parents = header.split(",")
            date = int(when or 0)  # a damaged commit has none
            found.append(Commit(commit, len(parents.split()), subject[:_MAX_SUBJECT], body, date))
    return sorted(found, key=lambda commit: (-commit.when, -commit.parents, commit.id))


def read_pairs(work_tree: str, history: History, pairs: Collection[Pair]) -> Pairs:
    if len(pairs) <= _SINGLE + history.size // _WORTH:
        return frozenset(pair for pair in pairs if _is_ancestor(work_tree, pair))
    return _walk(work_tree, history.tip, pairs)


def _is_ancestor(work_tree: str, pair: Pair) -> bool:
    try:
        for _ in stream_git(["merge-base", "--is-ancestor", *pair], work_tree, env=environment()):
            continue
    except GitMissingError:
        raise
    except CheckpointError:  # it says no
        return False
    return True


def _walk(work_tree: str, tip: str, pairs: Iterable[Pair]) -> Pairs:
    # All answers from one walk from the tip: every commit hands on to its parents whose history they are in
    askers: dict[str, list[str]] = {}
    for older, newer in pairs:
        askers.setdefault(older, []).append(newer)
    bits = {newer: 1 << at for at, newer in enumerate(sorted({newer for _, newer in pairs}))}
    marks: dict[str, int] = {}
    found: set[Pair] = set()
    for block in read_blocks(work_tree, ["log", "-z", "--topo-order", "--format=%H %P", tip, "--"]):
        for line in block.decode().split("\0"):
            commit, _, parents = line.partition(" ")
            mark = marks.pop(commit, 0)
            found.update((commit, newer) for newer in askers.get(commit, ()) if mark & bits[newer])
            mark |= bits.get(commit, 0)
            if mark:
                for parent in parents.split():
                    marks[parent] = marks.get(parent, 0) | mark
    return frozenset(found)
