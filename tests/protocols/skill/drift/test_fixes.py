"""Mends, as values: what is mended, what is left to a person, and that a second time changes
nothing.
"""

from copy import deepcopy
from typing import Any

import pytest

from checkpoint_git.core.finding import Finding
from checkpoint_git.protocols.skill.drift.fixes import FIXES, Fixed, FixFacts, fix_value
from checkpoint_git.protocols.skill.drift.generated_files import follow_moves
from checkpoint_git.protocols.skill.views import listed_path
from checkpoint_git.tools.doctor.catalog import list_checks
from tests.support.documents import facts_of
from tests.support.samples import checkpoint
from tests.support.verbs import seconds

SEARCH = facts_of("#12", at=seconds("2026-03-01T10:00:00Z"))
SORTING = facts_of("#13", at=seconds("2026-03-02T10:00:00Z"))
CLOSED = facts_of("ABC-7", state="closed")
LOST = facts_of("#14", state="lost")
FACTS = FixFacts(known={**SEARCH, **SORTING, **CLOSED, **LOST})
INSTALLED = {"install/missing", "driver/inert", "driver/broken", "hooks/unreachable"}


def mend(value: dict[str, Any], *findings: tuple[str, str], facts: FixFacts = FACTS) -> Fixed:
    found = [Finding(code, "warning", "x", "p", where) for code, where in findings]
    return fix_value(deepcopy(value), found, facts)


def shipped(*indexes: int) -> list[tuple[str, str]]:
    return [("drift/action-shipped", f"/next_actions/{at}") for at in indexes]


def test_what_the_table_says_can_be_mended_is_what_has_a_mend() -> None:
    promised = {check.code for check in list_checks() if check.fix != "no"}
    assert promised == FIXES.keys() | INSTALLED | {"json/byte-order-mark"}


# actions

EVIDENCE = "#12 was merged on 2026-03-01 (abc1234)"


def test_a_merged_action_moves_with_its_evidence_and_the_time_of_its_commit() -> None:
    value = checkpoint(
        next_actions=["Write", "Merge #12"],
        recently_done=[{"text": "old", "at": "2026-02-01T00:00:00Z"}],
    )
    mended = mend(value, *shipped(1))
    assert mended.value["next_actions"] == ["Write"]
    assert mended.value["recently_done"] == [
        {"text": "Merge #12", "at": "2026-03-01T10:00:00Z", "evidence": EVIDENCE},
        {"text": "old", "at": "2026-02-01T00:00:00Z"},
    ]
    assert [one.where for one in mended.done] == ["/next_actions/1"]
    assert mended.value["updated_at"] == value["updated_at"]


def test_what_is_done_keeps_its_order_by_time_and_no_new_entry_is_dropped() -> None:
    old = [{"text": f"old {day}", "at": f"2026-03-{day:02}T00:00:00Z"} for day in range(20, 10, -1)]
    mended = mend(
        checkpoint(next_actions=["Write", "Merge #12", "Merge #13"], recently_done=old),
        *shipped(1, 2),
    )
    texts = [entry["text"] for entry in mended.value["recently_done"]]
    assert texts == [*(f"old {day}" for day in range(20, 12, -1)), "Merge #13", "Merge #12"]


@pytest.mark.parametrize(
    "action",
    [
        "Merge #12, then deploy",
        "After #12 lands, deploy",
        "Review #12 and merge",
        "Finish PR #12",
        "Finish ABC-7",
        "Merge #14",
        {"text": "Merge #12"},
        {"text": "Merge #12", "done_when": "make check"},
        {"text": "x", "done_when_merged": ["#12", "#99"]},
        {"text": "x", "done_when_merged": ["#12", "#14"]},
        {"text": "x", "done_when_merged": ["ABC-7"]},
        {"text": "x", "done_when_merged": []},
        "Merge #99",
        3,
        None,
    ],
)
def test_an_action_that_no_merge_finished_stays(action: Any) -> None:
    mended = mend(checkpoint(next_actions=["Write", action]), *shipped(1))
    assert mended.done == []
    assert mended.value["next_actions"] == ["Write", action]


def test_what_is_stated_moves_whole_with_the_time_of_the_last_merge() -> None:
    action = {"text": "Both", "done_when_merged": ["PR 12", "#13"], "owner": "ada"}
    mended = mend(checkpoint(next_actions=["Write", action]), *shipped(1))
    evidence = f"{EVIDENCE}; #13 was merged on 2026-03-02 (abc1234)"
    assert mended.value["recently_done"] == [
        {**action, "at": "2026-03-02T10:00:00Z", "evidence": evidence}
    ]


def test_the_last_action_of_work_in_progress_stays_for_somebody_to_say_what_is_next() -> None:
    mended = mend(checkpoint(next_actions=["Merge #12", "Merge #13"]), *shipped(0, 1))
    assert mended.value["next_actions"] == ["Merge #13"]
    mended = mend(checkpoint(next_actions=["Merge #12"], status="complete"), *shipped(0))
    assert mended.value["next_actions"] == []


def test_a_record_that_is_no_list_is_left_alone() -> None:
    assert (
        mend(
            checkpoint(next_actions=["Write", "Merge #12"], recently_done="much"), *shipped(1)
        ).done
        == []
    )


# files


def renamed(entry: Any, old: str = "a/old.ts", new: str = "a/new.ts", *others: Any) -> Any:
    value = checkpoint(context_primer={"generated_files": [entry, *others]})
    listed = listed_path(entry)
    facts = FixFacts(
        renames={
            0: (listed, follow_moves(listed, [(old, new)], [one.split(" ")[0] for one in others]))
        }
    )
    mended = mend(value, ("drift/file-missing", "/context_primer/generated_files/0"), facts=facts)
    return mended.value["context_primer"]["generated_files"][0]


@pytest.mark.parametrize(
    ("entry", "after"),
    [
        ("a/old.ts", "a/new.ts"),
        ("a/old.ts (the parser)", "a/new.ts (the parser)"),
        ("/home/ada/app/a/old.ts", "/home/ada/app/a/new.ts"),
        ({"path": "a/old.ts", "note": 1}, {"path": "a/new.ts", "note": 1}),
    ],
)
def test_a_renamed_file_gets_its_new_name_and_keeps_its_notes(entry: Any, after: Any) -> None:
    assert renamed(entry) == after


@pytest.mark.parametrize(
    ("entry", "moves", "after"),
    [
        ("a/{x,y}.ts (all)", [("a/x.ts", "b/x.ts"), ("a/y.ts", "b/y.ts")], "b/{x,y}.ts (all)"),
        ("a/*.ts", [("a/*.ts", "b/*.ts")], "b/*.ts"),
        ("a/{x,y}.ts", [("a/x.ts", "b/x.ts"), ("a/y.ts", "c/y.ts")], None),
        ("a/{x,y}.ts", [("a/x.ts", "b/x.ts"), ("a/y.ts", "b/z.ts")], None),
        ("a/{x,y,z}.ts", [("a/x.ts", "b/x.ts"), ("a/y.ts", "b/y.ts")], None),
    ],
)
def test_braces_and_patterns_follow_a_move_of_all_their_files(
    entry: str, moves: list[tuple[str, str]], after: str | None
) -> None:
    assert follow_moves(entry, moves, ()) == (after or "")


@pytest.mark.parametrize("entry", ["a/{old,older}.ts", "a/old.ts and a/old.ts", 3, {"path": 3}])
def test_an_entry_that_cannot_be_rewritten_for_certain_stays(entry: Any) -> None:
    assert renamed(entry) == entry


@pytest.mark.parametrize("new", ["a file.ts", "a/{x}.ts", "b/*.ts", "x; rm -rf"])
def test_a_new_name_that_would_be_read_as_something_else_is_not_written(new: str) -> None:
    assert renamed("a/old.ts", "a/old.ts", new) == "a/old.ts"


def test_a_new_name_that_is_listed_already_is_not_listed_twice() -> None:
    assert renamed("a/old.ts", "a/old.ts", "a/new.ts", "a/new.ts (x)") == "a/old.ts"


# housekeeping


def test_rotation_leaves_narratives_that_nobody_has_reviewed() -> None:
    value = checkpoint(
        superseded=[{"step": "x"}], skill_state={"merged_prs": [{"number": at} for at in range(60)]}
    )
    mended = mend(value, ("content/rotation-due", "/skill_state/merged_prs"))
    assert mended.value["superseded"] == [{"step": "x"}]
    assert [part.where for part in mended.moved] == ["/skill_state/merged_prs"]
    assert list(mended.value) == list(value)


def test_narratives_move_to_history_by_name() -> None:
    mended = mend(checkpoint(superseded=[{"step": "x"}]), ("content/unreviewed", "/superseded"))
    assert mended.value["superseded"] == []
    assert mended.moved[0].items == [{"step": "x"}]


def test_nothing_to_rotate_is_nothing_done() -> None:
    assert mend(checkpoint(), ("content/rotation-due", "")).done == []


# by name


def test_the_project_folder_becomes_this_checkout() -> None:
    listed = [
        "/there/src/a.py",
        {"path": "/there/b.md"},
        "c.md",
        "/there",
        "/there/",
        "/thereafter/d",
        3,
    ]
    value = checkpoint(project_dir="/there/", context_primer={"generated_files": listed})
    mended = mend(value, ("drift/project-dir", "/project_dir"))
    assert mended.value["project_dir"] == "."
    files = mended.value["context_primer"]["generated_files"]
    assert files == ["src/a.py", {"path": "b.md"}, "c.md", "/there", "/there/", "/thereafter/d", 3]
    assert mend(mended.value, ("drift/project-dir", "/project_dir")).done == []
    assert (
        mend(checkpoint(project_dir="/"), ("drift/project-dir", "/project_dir")).value[
            "project_dir"
        ]
        == "."
    )


# all of it


@pytest.mark.parametrize(
    "value",
    [
        {},
        {
            "next_actions": 3,
            "recently_done": [3],
            "blockers": [1, {}],
            "context_primer": {"generated_files": {}},
        },
        {"context_primer": [], "superseded": {}, "skill_state": [], "next_actions": [[]]},
    ],
)
def test_values_that_break_the_schema_do_no_harm(value: dict[str, Any]) -> None:
    places = [
        "",
        "/next_actions/0",
        "/blockers/0/x",
        "/blockers/1",
        "/context_primer/generated_files/0",
        "/next_actions/x",
    ]
    found = [(code, where) for code in FIXES for where in places]
    mended = mend(value, *found, facts=FACTS._replace(renames={0: ("a", "b")}))
    assert {one.code for one in mended.done} <= {"drift/project-dir"}


def test_mending_twice_changes_nothing_more() -> None:
    value = checkpoint(
        next_actions=["Write", "Merge #12"],
        project_dir="/there",
        superseded=[{"step": "x"}],
        context_primer={
            "generated_files": ["a/old.ts"],
            "key_decisions": [f"{at}" for at in range(30)],
        },
    )
    found = [
        *shipped(1),
        ("drift/file-missing", "/context_primer/generated_files/0"),
        ("content/unreviewed", "/superseded"),
        ("content/rotation-due", ""),
        ("drift/project-dir", "/project_dir"),
    ]
    facts = FACTS._replace(renames={0: ("a/old.ts", "a/new.ts")})
    once = mend(value, *found, facts=facts)
    assert {one.code for one in once.done} == {code for code, _ in found}
    twice = mend(once.value, *found, facts=facts)
    assert (twice.value, twice.done, twice.moved) == (once.value, [], [])
