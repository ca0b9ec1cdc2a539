"""What HEAD's history merged: the few commits that could tell, found by look-up, go through the rules of evidence."""

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Literal

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.references import unqualify
from checkpoint_git.git.history.cached_log import SMALLEST, Covered, find_all, find_doubtful, read_covered, read_whole
from checkpoint_git.git.history.index import DamagedIndexError
from checkpoint_git.git.history.log import PLAIN_LOG, read_blocks
from checkpoint_git.git.history.reference_scan import MAX_MESSAGE, find_keys, find_revert_key
from checkpoint_git.git.refs import read_own_names

if TYPE_CHECKING:
    from checkpoint_git.git.history.claims import Commit

Rule = Literal["decide_merged", "decide_taken_back"]

_MAX_SUBJECT = 1_000  # characters
_AT_ONCE = 1_000  # commits that are asked for on one command line


def read_merged(work_tree: str, references: set[str], smallest: int = SMALLEST) -> dict[str, str]:
    """See history.read_merged. smallest: the length of a history, in commits, from which on an index is kept."""
    return _read(work_tree, references, "decide_merged", smallest)


def read_taken_back(work_tree: str, references: set[str], smallest: int = SMALLEST) -> dict[str, str]:
    """See history.read_taken_back."""
    return _read(work_tree, references, "decide_taken_back", smallest)


def _read(work_tree: str, references: set[str], rule: Rule, smallest: int) -> dict[str, str]:
    if not references:
        return {}
    own = read_own_names(work_tree) if any("/" in reference for reference in references) else frozenset[str]()
    asked = {reference: unqualify(reference, own) for reference in references}
    answers = _answer(work_tree, frozenset(asked.values()), rule, smallest)
    return {reference: answers[plain] for reference, plain in asked.items() if plain in answers}


def _answer(work_tree: str, wanted: frozenset[str], rule: Rule, smallest: int) -> dict[str, str]:
    covered = read_covered(work_tree, smallest)
    try:
        return _weigh(work_tree, covered, wanted, rule) if covered else {}
    except (DamagedIndexError, CheckpointError):  # an id out of a damaged index is one that git does not know
        covered = read_whole(work_tree)
        return _weigh(work_tree, covered, wanted, rule) if covered else {}


def _weigh(work_tree: str, covered: Covered, wanted: frozenset[str], rule: Rule) -> dict[str, str]:
    ids = _find_candidates(work_tree, covered, wanted)
    if not ids:  # as a rule; the rules of evidence are then not even loaded
        return {}
    from checkpoint_git.git.history import evidence

    told = [evidence.tell(commit) for commit in _read_commits(work_tree, sorted(ids))]
    if evidence.names_repositories(told):
        told = evidence.unqualify_all(told, read_own_names(work_tree))
    questions = evidence.find_questions(told, wanted)
    return {"decide_merged": evidence.decide_merged, "decide_taken_back": evidence.decide_taken_back}[rule](
        told, wanted, _read_pairs(work_tree, covered, questions)
    )


def _read_pairs(work_tree: str, covered: Covered, questions: Collection[tuple[str, str]]) -> frozenset[tuple[str, str]]:
    if not questions:
        return frozenset()
    from checkpoint_git.git.history.ancestry import read_pairs

    return read_pairs(work_tree, covered.tip, questions, covered.size)


def _find_candidates(work_tree: str, covered: Covered, wanted: Iterable[str]) -> set[str]:
    """The ids of all commits that could say something about the references: those that name one, those that revert
    one of these, those that revert a revert, and so on.
    """
    found: set[str] = set()
    fresh = find_all(covered, {key for reference in wanted for key in find_keys(reference)})
    while fresh := _without_strangers(work_tree, covered, fresh - found):
        found |= fresh
        fresh = find_all(covered, {find_revert_key(commit) for commit in fresh})
    return found


def _without_strangers(work_tree: str, covered: Covered, commits: set[str]) -> set[str]:
    """Without those that are not part of the history.

    What git says of two sides at once is wrong where many clocks in a row were; one by one it is right.
    """
    doubtful = find_doubtful(covered, commits)
    pairs = _read_pairs(work_tree, covered, [(commit, covered.tip) for commit in doubtful])
    return commits.difference(doubtful).union(commit for commit, _ in pairs)


def _read_commits(work_tree: str, ids: list[str]) -> "list[Commit]":
    """Some commits, the newest by their clocks first, of those of one second merge commits first."""
    found: list[tuple[int, Commit]] = []
    for at in range(0, len(ids), _AT_ONCE):
        words = [*PLAIN_LOG, "--no-walk=unsorted", "--format=%H %ct %P%n%s%n%b", *ids[at : at + _AT_ONCE], "--"]
        for block in read_blocks(work_tree, words):
            found += [_parse_commit(record[:MAX_MESSAGE]) for record in block.split(b"\0")[:-1]]
    found.sort(key=lambda dated: (-dated[0], -dated[1].parents, dated[1].id))
    return [commit for _, commit in found]


def _parse_commit(record: bytes) -> "tuple[int, Commit]":
    from checkpoint_git.git.history.claims import Commit

    header, _, message = record.decode("utf-8", "replace").partition("\n")
    subject, _, body = message.partition("\n")
    commit, when, *parents = header.split()
    return int(when), Commit(commit, len(parents), subject[:_MAX_SUBJECT], body)
