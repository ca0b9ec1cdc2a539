"""What a checkpoint must mean beyond its shape, rule by rule; tests/examples has whole files."""

from typing import Any

from checkpoint_git.core.clock import DAY
from checkpoint_git.protocols.skill import rules
from tests.support.growth import assert_linear
from tests.support.rows import rows
from tests.support.samples import checkpoint
from tests.support.verbs import NOON, seconds

NOW = seconds(NOON)


def find(size: int = 2_000, skill: str = "build", **changes: Any) -> list[tuple[str, str]]:
    """(code, where) of all findings of the sample with changed fields."""
    found = rules.check(checkpoint(**changes), skill=skill, size=size, now=NOW)
    assert all(each.message.isprintable() and str(each.hint).isprintable() for each in found)
    return [(each.code, each.where) for each in found]


def test_the_sample_breaks_no_rule() -> None:
    assert find() == []


@rows("field", ["project", "project_dir", "phase", "step", "progress_summary"])
def test_a_required_text_of_spaces_is_empty(field: str) -> None:
    changes: dict[str, Any] = {field: "  "}
    assert ("skill/empty-field", f"/{field}") in find(**changes)


@rows("value", [None, 7, True, [], {}, "", "x"])
@rows("field", sorted(checkpoint()))
def test_a_rule_leaves_a_wrong_type_to_the_schema(field: str, value: Any) -> None:
    assert all(code.startswith("skill/") for code, _ in find(**{field: value}))


# names of the file and of fields


def test_the_file_is_named_after_its_skill() -> None:
    assert find(skill="other") == [("skill/file-name", "/skill")]
    assert find(skill="") == [("skill/file-name", "")]
    assert find(skill="other", skill_state={}) == [("skill/file-name", "/skill")]


@rows(
    ("changes", "where"),
    [
        ({"merged_prs+": []}, "/merged_prs+"),
        ({"field": "x"}, "/field"),
        ({"skill_state": {"a:json": 1}}, "/skill_state/a:json"),
        ({"skill_state": {"--a": 1}}, "/skill_state/--a"),
        ({"a=b": 1}, "/a=b"),
    ],
)
def test_an_operator_as_a_field_is_a_mistyped_update(changes: dict[str, Any], where: str) -> None:
    assert find(**changes) == [("skill/misplaced-operator", where)]


def test_a_field_of_ones_own_is_fine_and_a_misspelt_one_is_not() -> None:
    assert find(my_notes=1, skill_state={"progres_table": 1, "field": 2}) == []
    # the known one is there too
    assert find(nextActions=[]) == [("skill/unknown-field", "/nextActions")]
    # it belongs below context_primer
    assert find(decisions=["x"]) == [("skill/unknown-field", "/decisions")]
    assert find(handofs=[]) == [("skill/unknown-field", "/handofs")]


def test_fields_inside_lists_are_spelled_too() -> None:
    row = {"id": "a", "label": "A", "status": "complete", "descripton": "x"}
    for blocker in (
        {"id": "b", "description": "x", "descripton": "y"},
        {"id": "b", "descripton": "y"},
    ):
        assert find(blockers=[blocker]) == [("skill/unknown-field", "/blockers/0/descripton")]
    assert find(progress_table=[row]) == []
    assert find(progress_table=[{"id": "a", "lable": "A", "status": "complete"}]) == [
        ("skill/unknown-field", "/progress_table/0/lable")
    ]


# instants


@rows(
    ("text", "message", "guess"),
    [
        ("2026-13-45T00:00:00Z", "it is not on the calendar", ""),
        ("2026-02-29T00:00:00Z", "it is not on the calendar", ""),
        ("2026-03-01", "it has no time of day", "2026-03-01T00:00:00Z"),
        ("2026-03-01T08:00:00", "it has no time zone", "2026-03-01T08:00:00Z"),
        ("yesterday", "it is not an RFC 3339 timestamp", ""),
    ],
)
def test_an_invalid_header_instant_says_what_is_wrong_and_what_may_be_meant(
    text: str, message: str, guess: str
) -> None:
    (found,) = rules.check(checkpoint(updated_at=text), skill="build", size=1, now=NOW)
    assert (found.code, found.level, found.where) == ("skill/timestamp", "error", "/updated_at")
    assert found.message.endswith(message)
    assert str(found.hint).startswith("if it is in UTC" if guess else "write a timestamp like")
    assert guess in str(found.hint)


def test_an_instant_beside_the_header_is_a_warning() -> None:
    (found,) = rules.check(checkpoint(verified_at="soon"), skill="build", size=1, now=NOW)
    assert (found.code, found.level) == ("skill/unclear-timestamp", "warning")
    assert find(recently_done=[{"text": "x", "at": "soon"}]) == [
        ("skill/unclear-timestamp", "/recently_done/0/at")
    ]


def test_an_offset_is_a_warning_and_compared_as_the_instant_that_it_is() -> None:
    assert find(updated_at="2026-03-02T09:30:00+02:00") == [
        ("skill/offset-timestamp", "/updated_at")
    ]
    created, updated = "2026-03-01T08:00:00+00:00", "2026-03-01T09:59:59+02:00"
    assert ("skill/updated-before-created", "/updated_at") in find(
        created_at=created, updated_at=updated
    )


def test_a_day_ahead_is_allowed_and_a_second_more_is_not() -> None:
    value = checkpoint(updated_at="2026-03-03T12:00:00Z")
    assert rules.check(value, skill="build", size=1, now=NOW) == []
    (found,) = rules.check(
        value, skill="build", size=1, now=seconds("2026-03-03T12:00:00Z") - DAY - 1
    )
    assert found.code == "skill/updated-in-future"


# limits


@rows(
    ("changes", "code"),
    [
        ({"progress_summary": "x" * rules.MAX_SUMMARY}, None),
        ({"progress_summary": "x" * (rules.MAX_SUMMARY + 1)}, "skill/summary-too-long"),
        ({"size": rules.MAX_SIZE}, None),
        ({"size": rules.MAX_SIZE + 1}, "skill/file-too-big"),
        ({"context_primer": {"key_decisions": ["x"] * rules.MAX_DECISIONS}}, None),
        (
            {"context_primer": {"key_decisions": ["x"] * (rules.MAX_DECISIONS + 1)}},
            "skill/too-many-decisions",
        ),
        ({"cost": {"total_usd": 2, "budget_usd": 2}}, None),
        ({"cost": {"total_usd": 2.01, "budget_usd": 2}}, "skill/over-budget"),
        ({"cost": {"total_usd": True, "budget_usd": 0}}, None),
        ({"eval_scores": [{"rubric": "a", "score": 5, "max": 5}]}, None),
        ({"eval_scores": [{"rubric": "a", "score": 6, "max": 5}]}, "skill/score-above-max"),
        ({"pm_refs": [{"provider": "jira", "id": "A-1", "title": "x" * rules.MAX_PM_TEXT}]}, None),
        ({"pm_refs": [{"provider": "jira", "id": "A-1", "title": "x" * 501}]}, "skill/pm-ref-body"),
        ({"pm_refs": [{"provider": "jira", "id": "A-1", "body": "x"}]}, "skill/pm-ref-body"),
        ({"pm_refs": [{"provider": "jira", "id": "A-1", "body": ""}]}, None),
    ],
)
def test_a_limit_is_still_fine(changes: dict[str, Any], code: str | None) -> None:
    assert [found for found, _ in find(**changes)] == ([code] if code else [])


# progress, actions, blockers


def test_two_rows_of_one_id_are_found_and_the_first_is_named() -> None:
    rows = [{"id": name, "label": name, "status": "complete"} for name in ("a", "b", "a", "a")]
    found = rules.check(checkpoint(progress_table=rows), skill="build", size=1, now=NOW)
    assert [each.where for each in found] == ["/progress_table/2/id", "/progress_table/3/id"]
    assert all("/progress_table/0" in each.message for each in found)


def test_ids_of_two_types_are_two_ids() -> None:
    rows = [{"id": name, "label": "x", "status": "complete"} for name in ("1", 1, 1.0, True)]
    assert find(progress_table=rows) == []


@rows("status", ["in_progress", "blocked", "complete", "failed"])
def test_only_running_work_needs_a_plan(status: str) -> None:
    done = [{"text": "plan", "at": NOON}]
    found = find(
        status=status, next_actions=[], progress_table=[], context_primer={}, recently_done=done
    )
    codes = {code for code, _ in found}
    missing = {"skill/next-actions-empty", "skill/no-progress-table", "skill/no-context-primer"}
    assert codes & missing == (missing if status == "in_progress" else set())


def test_an_action_needs_words() -> None:
    assert find(next_actions=["go", " ", {"text": "\t"}]) == [
        ("skill/action-shape", "/next_actions/1"),
        ("skill/action-shape", "/next_actions/2/text"),
    ]


@rows(
    ("stated", "found"),
    [
        (["#12", "PR 13"], []),
        ([], [""]),
        (["#12", "abc1234", "soon", 7], ["/1", "/2"]),
        ("#12", []),
    ],
)
def test_what_finishes_an_action_is_merged_pull_requests(stated: Any, found: list[str]) -> None:
    actions = [{"text": "Merge it", "done_when_merged": stated}]
    code, place = "skill/action-never-done", "/next_actions/0/done_when_merged"
    assert find(next_actions=actions) == [(code, f"{place}{where}") for where in found]


def test_a_row_of_spaces_is_incomplete() -> None:
    row = {"id": " ", "label": "\n", "status": "complete"}
    found = [
        finding for finding in find(progress_table=[row]) if finding[1].endswith(("id", "label"))
    ]
    assert found == [
        ("skill/row-incomplete", "/progress_table/0/id"),
        ("skill/row-incomplete", "/progress_table/0/label"),
    ]


def test_a_blocker_names_a_row_while_it_is_open() -> None:
    blocker = {"id": "b", "description": "x", "blocking": "nothing"}
    assert find(blockers=[blocker]) == [("skill/blocks-unknown-row", "/blockers/0/blocking")]
    assert find(blockers=[{**blocker, "resolved": True}]) == []
    assert find(blockers=[{**blocker, "blocking": "plan"}]) == []
    assert find(blockers=[blocker], status="failed", progress_table=[]) == []


def test_status_and_blockers_fit_together() -> None:
    decision = {"id": "b", "description": "x", "needs": "user_decision"}
    assert find(status="blocked") == [("skill/blocked-by-nothing", "/status")]
    assert find(status="blocked", blockers=[decision]) == []
    assert find(status="complete", blockers=[decision]) == [
        ("skill/complete-but-undecided", "/status")
    ]
    assert find(status="complete", blockers=[{**decision, "resolved_at": NOON}]) == []


def test_thousands_of_rows_and_fields_are_read_in_linear_time() -> None:
    def check(size: int) -> None:
        rows = [
            {"id": f"r{at % 50}", "label": " ", "status": "odd", f"k{at}": 1} for at in range(size)
        ]
        rules.check(checkpoint(progress_table=rows, blockers=rows), skill="build", size=1, now=NOW)

    assert_linear(check, 800)


def test_rows_are_asked_for_once_something_is_done() -> None:
    codes = [
        find(progress_table=[], recently_done=done) for done in ([], [{"text": "plan", "at": NOON}])
    ]
    assert codes == [[], [("skill/no-progress-table", "/progress_table")]]
