"""What a sync comes to: every file decided, and the commits that carry it, as values."""

import json
from collections.abc import Mapping
from typing import Any

from checkpoint_git.git.objects import TreeEntry, blob_id
from checkpoint_git.tools.sync.commits import Draft
from checkpoint_git.tools.sync.decide import MergeOptions
from checkpoint_git.tools.sync.files import WorkFiles
from checkpoint_git.tools.sync.plan import (
    Ground,
    Shape,
    SyncPlan,
    Trees,
    decide_all,
    find_clean,
    find_ours,
    list_blobs,
    plan_commits,
)
from checkpoint_git.tools.sync.state import SENT, WAITING
from tests.support.documents import NOW
from tests.support.rows import rows
from tests.support.samples import checkpoint

LIKE = "0" * 40
PATH = ".checkpoints/build.checkpoint.json"
OTHER = ".checkpoints/ship.checkpoint.json"
PAST = ".checkpoints/history/build.2026.json"


def text_of(skill: str = "build", **changes: Any) -> bytes:
    return json.dumps(checkpoint(skill=skill, **changes), indent=2).encode()


ONE, TWO, THREE = (text_of(step=step) for step in ("one", "two", "three"))
LATER = text_of(step="two", progress_summary="Later.", updated_at="2026-03-02T10:00:00Z")


def entry(data: bytes) -> TreeEntry:
    return TreeEntry("100644", blob_id(data, LIKE))


def entries(files: Mapping[str, bytes]) -> dict[str, TreeEntry]:
    return {path: entry(data) for path, data in files.items()}


def trees(
    base: Mapping[str, bytes] | None = None,
    theirs: Mapping[str, bytes] | None = None,
    head: Mapping[str, bytes] | None = None,
) -> Trees:
    return Trees(entries(base or {}), entries(theirs or {}), entries(head or {}), LIKE)


def work(
    files: Mapping[str, bytes], refused: set[str] | None = None, sparse: set[str] | None = None
) -> WorkFiles:
    return WorkFiles(dict(files), [], refused or set(), sparse or set())


BLOBS = {blob_id(data, LIKE): data for data in (ONE, TWO, THREE, LATER)}


def decide(
    held: WorkFiles, given: Trees, only: str = "", ours: Mapping[str, Any] | None = None
) -> SyncPlan:
    sides = find_ours(held, given, {}) if ours is None else ours
    return decide_all(held, given, sides, BLOBS.get, MergeOptions("auto", "", "", NOW), only)


def test_a_side_is_named_as_git_names_it() -> None:
    given = trees()
    assert given.find_id(ONE) == blob_id(ONE, LIKE)
    assert given.find_id(entry(ONE)) == blob_id(ONE, LIKE)
    assert given.find_id(None) == ""


@rows(
    ("held", "base", "head", "clean"),
    [
        (TWO, ONE, TWO, True),  # as HEAD has it, and not as the branch had it
        (TWO, ONE, ONE, False),
        (ONE, ONE, ONE, False),
        (TWO, None, TWO, True),
        (TWO, ONE, None, False),
    ],
)
def test_clean_is_what_head_holds_and_the_branch_did_not(
    held: bytes, base: bytes | None, head: bytes | None, clean: bool
) -> None:
    given = trees({PATH: base} if base else {}, {}, {PATH: head} if head else {})
    assert find_clean(work({PATH: held}), given) == ({PATH: blob_id(held, LIKE)} if clean else {})


def test_a_file_in_the_work_tree_speaks_for_itself_unless_git_put_it_back() -> None:
    given = trees({PATH: ONE})
    assert find_ours(work({PATH: TWO}), given, {}) == {PATH: TWO}
    assert find_ours(work({PATH: TWO}), given, {}, [PATH]) == {PATH: entry(ONE)}
    assert find_ours(work({PATH: TWO}), trees(), {}, [PATH]) == {PATH: None}


def test_a_missing_file_was_removed_only_where_head_has_it_or_it_was_archived() -> None:
    base = {PATH: ONE, OTHER: ONE}
    assert find_ours(work({}), trees(base), {}) == {PATH: entry(ONE), OTHER: entry(ONE)}
    assert find_ours(work({}), trees(base, head={PATH: ONE}), {}) == {PATH: None, OTHER: entry(ONE)}
    assert find_ours(work({PAST: ONE}), trees(base), {}) == {
        PAST: ONE,
        PATH: None,
        OTHER: entry(ONE),
    }
    known = trees({**base, PAST: ONE})  # a history that the branch has proves nothing
    assert find_ours(work({PAST: ONE}), known, {})[PATH] == entry(ONE)
    elsewhere = work({f"app/{PAST}": ONE})
    assert find_ours(elsewhere, trees(base), {})[PATH] == entry(ONE)


def test_what_was_refused_or_not_checked_out_is_not_removed() -> None:
    given = trees({PATH: ONE}, head={PATH: ONE})
    assert find_ours(work({}, refused={PATH}), given, {}) == {}
    assert find_ours(work({}, sparse={PATH}), given, {}) == {}


@rows(
    ("held", "ours"),
    [(ONE, TWO), (THREE, THREE)],  # back at base's version; written since
)
def test_what_waits_counts_where_the_work_tree_is_back_at_bases_version(
    held: bytes, ours: bytes
) -> None:
    given = trees({PATH: ONE}, head={PATH: ONE})
    assert find_ours(work({PATH: held}), given, {PATH: TWO}) == {PATH: ours}


def test_what_waits_counts_where_the_file_is_not_there_at_all() -> None:
    assert find_ours(work({}), trees(), {PATH: TWO}) == {PATH: TWO}
    assert find_ours(work({}), trees({PATH: ONE}), {PATH: TWO}) == {PATH: TWO}
    assert find_ours(work({}, refused={PATH}), trees(), {PATH: TWO}) == {}
    # removed since
    assert find_ours(work({}), trees({PATH: ONE}, head={PATH: ONE}), {PATH: TWO}) == {PATH: None}


@rows(
    ("base", "ours", "theirs", "needed"),
    [
        (ONE, ONE, ONE, []),
        (ONE, TWO, TWO, []),
        (ONE, ONE, TWO, [TWO]),
        (ONE, TWO, ONE, [ONE]),
        (ONE, TWO, THREE, [ONE, THREE]),
        (None, TWO, THREE, [THREE]),
        (ONE, None, TWO, [TWO]),
        (ONE, None, ONE, []),
        (ONE, TWO, None, [ONE]),
        (ONE, None, None, []),
    ],
)
def test_only_the_contents_that_a_decision_reads_are_asked_for(
    base: bytes | None, ours: bytes | None, theirs: bytes | None, needed: list[bytes]
) -> None:
    given = trees({PATH: base} if base else {}, {PATH: theirs} if theirs else {})
    assert list_blobs(given, {PATH: ours}) == {blob_id(data, LIKE) for data in needed}


def test_a_side_without_a_word_of_its_own_takes_the_branchs_content() -> None:
    assert list_blobs(trees({PATH: ONE}, {PATH: ONE}), {PATH: entry(ONE)}) == {blob_id(ONE, LIKE)}


@rows(
    ("base", "ours", "theirs", "way", "decided"),
    [
        (ONE, ONE, ONE, None, None),
        (ONE, TWO, TWO, None, None),
        (ONE, TWO, ONE, "sent", TWO),
        (ONE, ONE, TWO, "brought", TWO),
        (None, TWO, None, "sent", TWO),
        (None, None, TWO, "brought", TWO),
        (ONE, None, ONE, "sent", None),
        (ONE, ONE, None, "brought", None),
        (ONE, None, None, None, None),
    ],
)
def test_one_sides_change_goes_to_the_other(
    base: bytes | None,
    ours: bytes | None,
    theirs: bytes | None,
    way: str | None,
    decided: bytes | None,
) -> None:
    given = trees(
        {PATH: base} if base else {},
        {PATH: theirs} if theirs else {},
        {PATH: base} if base and not ours else {},
    )
    plan = decide(work({PATH: ours} if ours else {}), given)
    assert plan.ways == ({PATH: way} if way else {})
    assert plan.decided == ({PATH: decided} if way else {})
    assert plan.ours == ({PATH: ours} if way else {})
    assert plan.open == set()


def test_two_changes_are_merged_or_left_open() -> None:
    merged = decide(
        work({PATH: LATER}), trees({PATH: ONE}, {PATH: text_of(step="one", phase="other")})
    )
    assert merged.open == {PATH}  # its content is not known: nothing is decided
    merged = decide(work({PATH: TWO}), trees({PATH: ONE}, {PATH: THREE}))
    assert merged.open == {PATH}
    assert merged.decided == {}
    assert merged.ours == {PATH: TWO}
    assert merged.findings


def test_a_merge_that_differs_from_both_sides_is_neither_sent_nor_brought() -> None:
    ours, theirs = text_of(project="a", step="one"), text_of(project_dir="/b", step="one")
    BLOBS[blob_id(theirs, LIKE)] = theirs
    plan = decide(work({PATH: ours}), trees({PATH: ONE}, {PATH: theirs}))
    assert plan.ways == {PATH: "merged"}
    assert plan.list_paths("merged") == [PATH]
    assert plan.list_paths("sent") == []
    value = json.loads(plan.decided[PATH] or b"")
    assert (value["project"], value["project_dir"]) == ("a", "/b")


def test_one_skill_alone_leaves_the_others_open_where_they_differ() -> None:
    given = trees({OTHER: ONE, PATH: ONE}, {OTHER: TWO, PATH: TWO})
    plan = decide(work({OTHER: ONE, PATH: ONE}), given, only="build")
    assert plan.ways == {PATH: "brought"}
    assert plan.open == {OTHER}
    same = trees({OTHER: ONE, PATH: ONE}, {OTHER: ONE, PATH: TWO})
    assert decide(work({PATH: ONE}), same, only="build").open == set()


def test_what_is_refused_or_not_checked_out_stays_as_it_is() -> None:
    given = trees({PATH: ONE}, {PATH: TWO})
    refused = decide(work({}, refused={PATH}), given)
    assert (refused.ways, refused.open) == ({}, {PATH})
    sparse = decide(work({}, sparse={PATH}), given)
    assert (sparse.ways, sparse.open) == ({}, set())
    assert decide(work({}, refused={PATH}), trees({PATH: ONE}, {PATH: ONE})).open == set()


def shape(
    plan: SyncPlan,
    given: Trees,
    ground: Ground | None = None,
    common: Mapping[str, bytes] | None = None,
    *,
    tip: str = "tip",
    older: tuple[str, ...] = (),
    queued: Any = (),
    sent: bool = True,
) -> Shape:
    return plan_commits(
        plan, given, entries(common or {}), ground, tip, older, list(queued), sent=sent
    )


SENDS = SyncPlan({PATH: TWO}, {PATH: "sent"}, {PATH: TWO}, set(), [])
BRINGS = SyncPlan({PATH: TWO}, {PATH: "brought"}, {PATH: ONE}, set(), [])
CHANGED = trees({PATH: ONE}, {PATH: ONE}, {PATH: ONE})
BROUGHT = trees({PATH: ONE}, {PATH: TWO}, {PATH: ONE})


def test_nothing_to_send_makes_no_commit() -> None:
    assert shape(SyncPlan({}, {}, {}, set(), []), CHANGED) == Shape([], -1, -1)
    assert shape(BRINGS, BROUGHT) == Shape([], -1, -1)


def test_what_is_sent_is_a_commit_on_the_tip_and_a_record_of_it() -> None:
    found = shape(SENDS, CHANGED, older=("older",), queued=[("q", TWO)])
    commit = Draft(("tip",), [(PATH, TWO)], "Sync checkpoints: build")
    record = Draft((0, "older"), [(PATH, TWO), ("q", TWO)], "\n".join([SENT, "", PATH, "q"]))
    assert found == Shape([commit, record], 0, -1)


def test_the_first_commit_of_a_branch_has_no_parent() -> None:
    assert shape(SENDS, trees(), tip="").drafts[0].parents == ()


def test_a_record_says_whether_a_push_began_and_what_stays_open() -> None:
    plan = SENDS._replace(open={OTHER})
    record = shape(plan, trees({OTHER: ONE}), sent=False).drafts[-1]
    assert record.message.startswith(f"{WAITING}\n")
    assert (OTHER, entry(ONE)) in record.changes


@rows(
    ("ground", "send", "local", "parents"),
    [
        # HEAD is behind the tip, and only checkpoints differ: it moves along
        (Ground("head", "tip", "head", False), 0, 0, [("tip",)]),
        # there is no commit yet
        (Ground("", "tip", "", False), 0, 0, [("tip",)]),
        # HEAD is at the tip
        (Ground("tip", "tip", "tip", False), 0, 0, [("tip",)]),
        # HEAD has commits that the tip lacks: the common commit, and a merge into HEAD
        (Ground("head", "tip", "tip", False), 0, 1, [("tip",), ("head", 0)]),
        # both have: one commit on their base, and a merge into each
        (Ground("head", "tip", "base", False), 1, 2, [("base",), ("tip", 0), ("head", 0)]),
        # HEAD is behind, and other files differ too: it gets the checkpoints alone
        (Ground("head", "tip", "head", True), 1, 0, [("head",), ("tip", 0)]),
    ],
)
def test_the_checked_out_branch_moves_along_where_it_can(
    ground: Ground, send: int, local: int, parents: list[tuple[Any, ...]]
) -> None:
    found = shape(SENDS, CHANGED, ground, {PATH: ONE})
    assert (found.send, found.local) == (send, local)
    assert [draft.parents for draft in found.drafts[:-1]] == parents
    assert found.drafts[-1].parents == (send,)  # the record
    assert all(draft.changes == [(PATH, TWO)] for draft in found.drafts[:-1])


def test_a_branch_that_has_the_tip_is_left_alone_where_nothing_is_sent() -> None:
    ahead = trees({PATH: ONE}, {PATH: ONE}, {PATH: THREE})
    plan = SyncPlan({PATH: ONE}, {PATH: "brought"}, {PATH: THREE}, set(), [])
    assert shape(plan, ahead, Ground("head", "tip", "tip", False), {PATH: ONE}) == Shape([], -1, -1)


def test_a_branch_that_has_parted_from_the_tip_gets_what_was_brought_in_a_merge() -> None:
    found = shape(BRINGS, BROUGHT, Ground("head", "tip", "base", False), {PATH: ONE})
    assert [draft.parents for draft in found.drafts[:-1]] == [("base",), ("tip", 0), ("head", 0)]
    assert [draft.changes for draft in found.drafts[:-1]] == [[(PATH, TWO)], [], [(PATH, TWO)]]
    assert (found.send, found.local) == (1, 2)


def test_a_commit_names_what_it_sends_and_not_what_it_brings() -> None:
    plan = SyncPlan(
        {PATH: TWO, OTHER: TWO},
        {PATH: "sent", OTHER: "brought"},
        {PATH: TWO, OTHER: ONE},
        set(),
        [],
    )
    assert shape(plan, CHANGED).drafts[0].message == "Sync checkpoints: build"
    nothing = plan._replace(ways={PATH: "brought", OTHER: "brought"})
    assert shape(nothing, CHANGED).drafts[0].message == "Sync checkpoints"
