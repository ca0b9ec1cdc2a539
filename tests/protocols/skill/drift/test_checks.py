"""What is wrong with skill checkpoints, as values: documents and facts in, findings out."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoint_git.core.clock import DAY, read_instant
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.references import find_references
from checkpoint_git.disk.discover import find_place
from checkpoint_git.git.history.history import CommitPaths
from checkpoint_git.git.history.reference_facts import State
from checkpoint_git.protocols.check import Context, run_checks
from checkpoint_git.protocols.skill.drift import checks
from checkpoint_git.protocols.skill.drift.document_summary import (
    DocumentSummary,
    find_recorded_commits,
    summarize_document,
)
from checkpoint_git.protocols.skill.drift.facts import NamedFile, SkillFacts
from checkpoint_git.protocols.validate import check_document
from checkpoint_git.tools.doctor.catalog import choose_checks
from tests.support.contexts import found, give, make_context
from tests.support.documents import facts_of
from tests.support.growth import assert_linear
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint, checkpoint_text

WRITTEN = read_instant("2026-03-02T09:30:00Z")
assert WRITTEN is not None
THEN = WRITTEN[0]
PATH = ".checkpoints/build.checkpoint.json"


def document(**changes: Any) -> DocumentSummary:
    return summarize_document(check_document(PATH, checkpoint_text(**changes).encode(), now=THEN))


def world(
    now: int = THEN,
    documents: list[DocumentSummary] | None = None,
    codes: tuple[str, ...] = (),
    **facts: Any,
) -> Context:
    summaries = [document()] if documents is None else documents
    nothing: dict[str, Any] = {"absent_dirs": frozenset(), "files": {}, "steps": (), "work": {}}
    nothing |= {
        "foreign_commits": {},
        "is_shallow": False,
        "unmerged": (),
        "operation": "",
        "untracked": {},
    }
    nothing["not_in_git"] = ()
    return give(
        make_context(now, codes=codes), SkillFacts, summaries=summaries, **{**nothing, **facts}
    )


def places(findings: list[Finding]) -> list[tuple[str, str]]:
    return [(finding.level, finding.where) for finding in findings]


# time


@pytest.mark.parametrize(
    ("find", "status", "days"),
    [(checks.find_stale_work, "in_progress", 7), (checks.find_stale_blocks, "blocked", 3)],
)
def test_work_is_stale_only_after_its_days(find: Any, status: str, days: int) -> None:
    documents = [document(status=status)]
    assert found(find, world(THEN + days * DAY, documents)) == []
    assert places(found(find, world(THEN + days * DAY + 1, documents))) == [
        ("warning", "/updated_at")
    ]
    assert found(find, world(THEN + 99 * DAY, [document(status="complete")])) == []


def test_a_document_without_value_or_with_a_wrong_one_says_nothing() -> None:
    broken = [
        summarize_document(check_document(PATH, data, now=THEN))
        for data in (
            b"null",
            b"[1]",
            b"{",
            b'{"updated_at": 3, "status": []}',
            b'{"next_actions": 1, "blockers": [3]}',
        )
    ]
    for find in (
        checks.find_lost_projects,
        checks.find_stale_work,
        checks.find_stale_blocks,
        checks.find_moving_completions,
        checks.find_missing_files,
        checks.find_changed_documents,
        checks.find_shipped_actions,
        checks.find_shipped_resolutions,
        checks.find_unknown_commits,
        checks.find_partial_history,
    ):
        assert found(find, world(THEN + 99 * DAY, broken, is_shallow=True)) == []


# project_dir


def test_a_project_folder_that_is_absent_is_told_with_a_command_that_mends_it() -> None:
    (finding,) = found(checks.find_lost_projects, world(absent_dirs=frozenset({"/srv/tidepool"})))
    assert (finding.level, finding.where) == ("warning", "/project_dir")
    assert str(finding.hint).endswith(": checkpoint doctor build --fix=drift/project-dir")
    assert found(checks.find_lost_projects, world()) == []


# files


def listed(**changes: Any) -> Context:
    file = NamedFile(0, "docs/plan.md", "missing", ("docs/plan.md",))._replace(**changes)
    return world(files={PATH: [file]})


@pytest.mark.parametrize(
    ("fate", "detail", "level", "says"),
    [
        ("renamed", "docs/road.md", "warning", "now called docs/road.md"),
        ("deleted", "1a2b3c4d5", "warning", 'deleted in 1a2b "Tidy"'),
        ("uncommitted", "", "warning", "in HEAD"),
        ("ignored", "", "note", "ignores"),
        ("unknown", "", "warning", "no commit since"),
        ("", "", "warning", "does not exist"),
    ],
)
def test_a_missing_file_is_told_with_its_fate(
    fate: str, detail: str, level: str, says: str
) -> None:
    (finding,) = found(
        checks.find_missing_files, listed(fate=fate, detail=detail, commit='1a2b "Tidy"')
    )
    assert (finding.level, finding.where) == (level, "/context_primer/generated_files/0")
    assert says in finding.message


def test_a_file_outside_is_a_note_and_one_that_is_there_nothing() -> None:
    assert places(found(checks.find_missing_files, listed(state="outside"))) == [
        ("note", "/context_primer/generated_files/0")
    ]
    assert found(checks.find_missing_files, listed(state="there")) == []


def test_the_missing_paths_of_one_entry_are_told_together() -> None:
    files = [NamedFile(3, f"packs/{name}.yml", "missing", fate="unknown") for name in "abcdefg"]
    (finding,) = found(checks.find_missing_files, world(files={PATH: files}))
    assert "packs/a.yml" in finding.message
    assert "and 2 more" in finding.message


def test_the_files_of_one_entry_that_moved_together_are_one_finding() -> None:
    files = [
        NamedFile(0, f"lib/{one}.py", "missing", (), "renamed", f"src/{one}.py", "1a2b")
        for one in "ab"
    ]
    documents = [document(context_primer={"generated_files": ["lib/{a,b}.py"]})]
    (finding,) = found(checks.find_missing_files, world(documents=documents, files={PATH: files}))
    assert finding.message == "each of lib/a.py, lib/b.py moved since 1a2b: lib/ -> src/"
    assert str(finding.hint).endswith(": checkpoint doctor build --fix=drift/file-missing")


@pytest.mark.parametrize(
    ("fate", "hint"),
    [
        ("cut", "git fetch --unshallow"),
        ("uncommitted", ": git restore --staged --worktree -- docs/plan.md"),
    ],
)
def test_the_hint_of_a_missing_file_ends_with_what_brings_it_back(fate: str, hint: str) -> None:
    (finding,) = found(checks.find_missing_files, listed(fate=fate))
    assert str(finding.hint).endswith(hint)
    assert str(finding.hint).count(": ") == hint.count(": ")


def step(when: int, *paths: str, subject: str = "change") -> CommitPaths:
    return CommitPaths("1a2b3c4d5e", when, subject, frozenset(paths))


def changed(*steps: CommitPaths, **changes: Any) -> list[tuple[str, str]]:
    files = {PATH: [NamedFile(0, "docs/plan.md", "there", ("docs/plan.md",))]}
    documents = [document(**changes)]
    return places(
        found(
            checks.find_changed_documents,
            world(THEN + 5 * DAY, documents, files=files, steps=steps),
        )
    )


def test_a_file_that_changed_after_the_checkpoint_was_committed_is_told() -> None:
    told = [("note", "/context_primer/generated_files/0")]
    assert changed(step(THEN + 900, "docs/plan.md"), step(THEN + 600, PATH)) == told
    assert (
        changed(step(THEN + 900, "docs/plan.md", "x"), step(THEN + 600, PATH, "docs/plan.md"))
        == told
    )


def test_a_file_committed_with_or_around_its_checkpoint_is_not() -> None:
    assert changed(step(THEN + 600, PATH, "docs/plan.md")) == []
    assert changed(step(THEN + 600, PATH), step(THEN + 300, "docs/plan.md")) == []
    assert changed(step(THEN + 600, "docs/plan.md")) == []
    assert changed(step(THEN - 600, "docs/plan.md"), step(THEN - 900, PATH)) == []
    assert changed(step(THEN + 600, "other.md")) == []


def test_a_file_that_changed_days_before_an_unrenewed_checkpoint_was_touched_is_told() -> None:
    assert changed(step(THEN + 4 * DAY, PATH), step(THEN + 3 * DAY, "docs/plan.md"))


def test_complete_work_whose_files_move_on_is_told_after_two_weeks_and_only_once() -> None:
    files = {PATH: [NamedFile(0, "docs/plan.md", "there", ("docs/plan.md",))]}
    facts: dict[str, Any] = {"files": files, "steps": [step(THEN + 5 * DAY, "docs/plan.md")]}
    complete = [document(status="complete")]
    assert found(checks.find_moving_completions, world(THEN + 14 * DAY, complete, **facts)) == []
    assert places(
        found(checks.find_moving_completions, world(THEN + 15 * DAY, complete, **facts))
    ) == [("note", "/status")]
    assert found(checks.find_moving_completions, world(THEN + 15 * DAY, complete)) == []
    assert found(checks.find_changed_documents, world(THEN + 15 * DAY, complete, **facts)) == []


# merged work


def merged(**changes: Any) -> Context:
    """A checkpoint in a history that merged #12 and #13, closed ABC-7, reverted #14, lost #15 and
    names ABC-8.
    """
    states: dict[State, list[str]] = {
        "merged": ["#12", "#13"],
        "closed": ["ABC-7"],
        "reverted": ["#14"],
    }
    states |= {"lost": ["#15"], "named": ["ABC-8"]}
    facts = {
        one: fact
        for state, names in states.items()
        for one, fact in facts_of(*names, state=state).items()
    }
    text = checkpoint_text(**changes)
    documents = [summarize_document(check_document(PATH, text.encode(), now=THEN))]
    return world(documents=documents, work={PATH: facts}, read_text={PATH: text}.get)


def test_actions_that_name_merged_work_are_one_note_with_their_commands() -> None:
    actions = [
        "Write",
        "After #12: deploy",
        "Finish ABC-8",
        "Check #13, #15",
        "Finish ABC-7",
        "Redo #14",
        "Review #99",
    ]
    (finding,) = found(checks.find_shipped_actions, merged(next_actions=actions))
    assert (finding.level, finding.where) == ("note", "/next_actions")
    said = "3 next actions name merged or closed work: 2 (#12), 4 (#13, #15 merged, but not in HEAD), 5 (ABC-7 closed)"
    assert finding.message == said
    commands = "checkpoint done build 5; checkpoint done build 4; checkpoint done build 2"
    assert str(finding.hint) == f"if nothing is left to do: {commands}"


def test_one_action_that_names_merged_work_has_its_place_and_the_last_one_needs_another() -> None:
    (finding,) = found(
        checks.find_shipped_actions, merged(next_actions=["Write", "After #12: deploy"])
    )
    assert (finding.where, finding.message) == (
        "/next_actions/1",
        "1 next action names merged work: 2 (#12)",
    )
    (finding,) = found(checks.find_shipped_actions, merged(next_actions=["After #12: deploy"]))
    assert str(finding.hint) == 'if nothing is left to do: checkpoint done build 1 --next "..."'


def test_an_action_that_merges_finished_is_a_warning_of_its_own() -> None:
    stated = {"text": "Both", "done_when_merged": ["#12", "#13"]}
    half = {"text": "Half", "done_when_merged": ["#12", "#15"]}
    first, second, note = found(
        checks.find_shipped_actions, merged(next_actions=["Merge #12", stated, half, "Write"])
    )
    assert [(one.level, one.where) for one in (first, second, note)] == [
        ("warning", "/next_actions/0"),
        ("warning", "/next_actions/1"),
        ("note", "/next_actions/2"),
    ]
    assert first.message.startswith("next action 1 is finished: #12 was merged ")
    assert str(first.hint) == "mark it done: checkpoint doctor build --fix=drift/action-shipped"
    (only,) = found(checks.find_shipped_actions, merged(next_actions=["Merge #12"]))
    assert str(only.hint) == 'mark it done; record what is next: checkpoint done build --next "..."'


def test_of_many_checkpoints_the_notes_are_one_line() -> None:
    skills = [f"s{number}" for number in range(9)]
    summaries, work = [], {}
    for skill in skills:
        path, text = (
            f".checkpoints/{skill}.checkpoint.json",
            checkpoint_text(skill=skill, next_actions=["x #12", "#13"]),
        )
        summaries.append(summarize_document(check_document(path, text.encode(), now=THEN)))
        work[path] = facts_of("#12", "#13")
    (finding,) = found(checks.find_shipped_actions, world(documents=summaries, work=work))
    assert finding.message == "18 next actions in 9 checkpoints name merged work"
    assert (finding.level, str(finding.hint)) == ("note", "checkpoint status --merged")
    assert len(found(checks.find_shipped_actions, world(documents=summaries[:5], work=work))) == 5


def test_open_blockers_and_dependencies_that_name_finished_work_are_notes() -> None:
    blocker = {
        "id": "b",
        "description": "x",
        "needs": "code_fix",
        "proposed_resolution": "Fixed by #12",
    }
    blockers = [
        blocker,
        {**blocker, "id": "c", "resolved": True},
        {**blocker, "id": "d", "resolved_at": "2026-03-02"},
    ]
    blockers.append({**blocker, "id": "e", "proposed_resolution": "As in #14 or ABC-8"})
    told = found(
        checks.find_shipped_resolutions, merged(blockers=blockers, depends_on=["#13", "#99"])
    )
    assert places(told) == [("note", "/blockers/0/proposed_resolution"), ("note", "/depends_on/0")]
    assert told[0].message.startswith(
        "the blocker's proposed resolution names finished work: #12 was merged "
    )
    assert (
        str(told[1].hint)
        == "if the work can continue, remove this entry: checkpoint update build --depends_on.0-="
    )


@pytest.mark.parametrize(
    ("blockers", "command"),
    [
        ([{"id": "b"}], "checkpoint unblock build b"),
        ([{"id": "b", "needs": "user_decision"}], 'checkpoint decide build b "..."'),
        (
            [{"id": "b"}, {"id": "b", "proposed_resolution": "Ask Bo"}],
            "checkpoint unblock build blockers.0",
        ),
        ([{"id": "a", "resolved": True}, {"id": "b"}], "checkpoint unblock build b"),
    ],
)
def test_the_hint_of_a_proposal_is_the_command_that_next_and_resume_name(
    blockers: list[dict[str, Any]], command: str
) -> None:
    plain = {"description": "x", "needs": "external_dep", "proposed_resolution": "PR #12"}
    context = merged(status="blocked", blockers=[{**plain, **each} for each in blockers])
    (finding,) = found(checks.find_shipped_resolutions, context)
    assert str(finding.hint) == f"if that settles it: {command}"


def test_one_unfinished_conflict_is_one_finding() -> None:
    text = "<<<<<<< ours\n{}\n=======\n{}\n>>>>>>> theirs\n"
    marked = [summarize_document(check_document(PATH, text.encode(), now=THEN))]
    both = world(documents=marked, codes=("schema", "merge/unresolved"))
    assert [one.code for one in found(checks.find_invalid, both)] == ["json/conflict-markers"]
    assert found(checks.find_unresolved, both) == []
    alone = world(documents=marked, codes=("merge/unresolved",))
    assert [one.code for one in found(checks.find_unresolved, alone)] == ["merge/unresolved"]


def test_what_is_asked_of_history_is_what_actions_and_open_blockers_name() -> None:
    blocker = {"id": "b", "description": "#1", "proposed_resolution": "Merge #3"}
    documents = [
        document(next_actions=["Merge #2"], blockers=[blocker, {**blocker, "resolved": True}])
    ]
    assert documents[0].references == {"#2", "#3"}
    assert world(documents=documents).facts(SkillFacts).has_references


def test_a_shallow_clone_is_mentioned_only_when_history_was_asked() -> None:
    assert found(checks.find_partial_history, world(is_shallow=True)) == []
    documents = [document(next_actions=["Merge #2"])]
    assert places(
        found(checks.find_partial_history, world(documents=documents, is_shallow=True))
    ) == [("note", "")]
    assert found(checks.find_partial_history, world(documents=documents)) == []


# recorded commits


def test_recorded_commits_are_found_by_the_name_of_their_field() -> None:
    value = {
        "verified_for_sha": "abcdef1",
        "skill_state": {
            "merged_prs": [{"merge_sha": "1234567"}],
            "commit": "a" * 40,
            "shas": ["1234567"],
        },
        "commits": {"sha": ["89abcde", "89abcdf"]},
        "merged_prs+": {"merge_sha": "7654321"},
        "head_sha": "1111111",
        "config_sha": "1111111",
        "note": "1111111",
        "release_sha": "v1.2.3",
        "image_sha": "1111111",
        "mergeCommit": "2222222",
        "mergeSHA": "ABCDEF2",
        "commitId": "3333333",
        "headSha": "1111111",
        "Shape": "1111111",
    }
    assert [(one.where, one.id) for one in find_recorded_commits(value)] == [
        ("/verified_for_sha", "abcdef1"),
        ("/skill_state/merged_prs/0/merge_sha", "1234567"),
        ("/skill_state/commit", "a" * 40),
        ("/commits/sha/0", "89abcde"),
        ("/commits/sha/1", "89abcdf"),
        ("/merged_prs+/merge_sha", "7654321"),
        ("/mergeCommit", "2222222"),
        ("/mergeSHA", "ABCDEF2"),
        ("/commitId", "3333333"),
    ]


@pytest.mark.parametrize(
    "key", ["sha", "merge_sha", "mergeSha", "mergeSHA", "mergeCommit", "commitHash", "SHA"]
)
def test_a_document_is_walked_for_every_style_of_key(key: str) -> None:
    assert [one.id for one in document(skill_state={key: "ABCDEF1"}).recorded] == ["ABCDEF1"]


def test_a_commit_that_history_does_not_hold_is_told_and_in_a_shallow_clone_as_a_note() -> None:
    documents = [document(verified_for_sha="abcdef1", release_sha="1234567")]
    strangers = {"abcdef1": "unknown", "1234567": "elsewhere"}
    told = found(checks.find_unknown_commits, world(documents=documents, foreign_commits=strangers))
    assert places(told) == [("warning", "/verified_for_sha"), ("warning", "/release_sha")]
    told = found(
        checks.find_unknown_commits,
        world(documents=documents, foreign_commits=strangers, is_shallow=True),
    )
    assert places(told) == [("note", "/verified_for_sha"), ("warning", "/release_sha")]


def test_many_commits_of_one_field_have_one_cause() -> None:
    rows = [{"merge_sha": f"abcde{number:02}"} for number in range(30)]
    documents = [document(skill_state={"merged_prs": rows})]
    strangers = {str(row["merge_sha"]): "unknown" for row in rows}
    told = found(checks.find_unknown_commits, world(documents=documents, foreign_commits=strangers))
    assert [one.where for one in told] == [
        f"/skill_state/merged_prs/{at}/merge_sha" for at in range(30)
    ]
    assert {one.cause for one in told} == {"recorded commits are not in this repository"}


def test_deeply_nested_state_is_searched_without_harm() -> None:
    value: Any = "abcdef1"
    for _ in range(90):
        value = {"sha": value}
    assert find_recorded_commits(json.loads(json.dumps(value))) == []


@given(st.text(alphabet="#!/-. PRprMRGHgh:equstABC12,()", max_size=40))
def test_a_text_is_kept_with_its_references_whatever_their_spelling(text: str) -> None:
    kept = document(next_actions=[f"x {text}"]).actions
    assert [list(passage.references) for passage in kept] == (
        [named] if (named := find_references(f"x {text}")) else []
    )


# the files themselves

CHECKS = choose_checks(["schema", "json", "drift", "content", "merge/unresolved"])
CODES = tuple(check.code for check in CHECKS)


def read(text: str, codes: tuple[str, ...] = CODES, **facts: Any) -> Context:
    summary = summarize_document(check_document(PATH, text.encode(), now=THEN))
    return world(documents=[summary], codes=codes, **facts)


def test_what_validate_says_is_not_said_twice() -> None:
    text = checkpoint_text(
        progress_summary="x", skill_state={"big": "x" * 40_000}, project_dir="here"
    )
    gone = frozenset({"here"})
    codes = [finding.code for finding in run_checks(CHECKS, read(text, absent_dirs=gone))]
    assert sorted(codes) == ["skill/file-too-big", "skill/relative-project-dir"]
    some = choose_checks(["content/rotation-due", "drift/project-dir"])
    codes = [
        finding.code
        for finding in run_checks(some, read(text, ("content/rotation-due",), absent_dirs=gone))
    ]
    assert sorted(codes) == ["content/rotation-due", "drift/project-dir"]


def test_a_reviewed_narrative_is_no_finding() -> None:
    entries = [
        {"step": "x", "reviewed": True},
        {"step": "y", "reviewed_at": "2026-03-02T09:30:00Z"},
    ]
    assert found(checks.find_unreviewed, read(checkpoint_text(superseded=entries))) == []


@pytest.mark.parametrize(
    "value", [checkpoint(superseded=3), checkpoint(skill_state=[1]), checkpoint(blockers={"a": 1})]
)
def test_values_that_break_the_schema_do_no_harm(value: dict[str, Any]) -> None:
    some = [check for check in CHECKS if check.code != "content/not-read"]
    assert all(
        finding.code.startswith("skill/") for finding in run_checks(some, read(json.dumps(value)))
    )


# unfinished merges


def test_unmerged_files_and_markers_are_errors_and_an_operation_a_note() -> None:
    def told(context: Context) -> list[tuple[str, str]]:
        return [(finding.level, finding.code) for finding in found(checks.find_unresolved, context)]

    error, note = ("error", "merge/unresolved"), ("note", "merge/unresolved")
    assert told(read(checkpoint_text(), unmerged=[PATH], operation="merge")) == [error, note]
    marked = "<<<<<<< ours\n{}\n=======\n{}\n>>>>>>> theirs\n"
    assert told(read(marked)) == []  # the check of the schema reports it
    assert told(read(marked, unmerged=[PATH])) == []
    assert told(read(marked, ("merge/unresolved",), unmerged=[PATH])) == [error]
    assert told(read(checkpoint_text())) == []


def test_a_checkpoint_that_only_this_clone_has_is_told(repo: GitRepo) -> None:
    repo.commit("Start")
    repo.write(PATH, checkpoint_text())
    context = Context(find_place(str(repo.path)), THEN, {})
    assert str(found(checks.find_untracked, context)[0].hint) == f"git add {PATH}"
    repo.write(".gitignore", "*.json\n")
    context = Context(find_place(str(repo.path)), THEN, {})
    assert [each.code for each in found(checks.find_ignored, context)] == ["git/ignored"]
    assert found(checks.find_untracked, context) == []
    repo.git("add", "-f", PATH)
    context = Context(find_place(str(repo.path)), THEN, {})
    assert found(checks.find_ignored, context) == found(checks.find_untracked, context) == []


def test_many_checkpoints_take_no_more_than_linear_time() -> None:
    one = document(next_actions=["Merge #7"])

    def check_all(count: int) -> None:
        documents = [
            one._replace(path=f".checkpoints/s{at}.checkpoint.json", skill=f"s{at}")
            for at in range(count)
        ]
        listed = (NamedFile(0, "docs/plan.md", "there", ("docs/plan.md",)),)
        files = {each.path: listed for each in documents}
        steps = tuple(step(THEN + at, each.path) for at, each in enumerate(documents))
        run_checks(CHECKS, world(THEN + 5 * DAY, documents, files=files, steps=steps))

    assert_linear(check_all, 250)
