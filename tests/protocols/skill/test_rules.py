"""What a checkpoint must mean beyond its shape, rule by rule; tests/examples has whole files."""

from typing import Any

from checkpoint_git.core.clock import DAY
from checkpoint_git.core.finding import Finding
from checkpoint_git.protocols.skill import rules
from tests.support.growth import assert_linear
from tests.support.rows import rows
from tests.support.samples import checkpoint
from tests.support.verbs import NOON, seconds

NOW = seconds(NOON)


def check(size: int = 2_000, skill: str = "build", **changes: Any) -> list[Finding]:
    """All findings of the sample with changed fields."""
    found = rules.check(checkpoint(**changes), skill=skill, size=size, now=NOW)
    assert all(each.message.isprintable() and str(each.hint).isprintable() for each in found)
    return found


def find(size: int = 2_000, skill: str = "build", **changes: Any) -> list[tuple[str, str]]:
    """(code, where) of all findings of the sample with changed fields."""
    return [(each.code, each.where) for each in check(size, skill, **changes)]


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


ROW = {"id": "plan", "label": "Plan", "status": "complete"}
BLOCKER = {"id": "b", "description": "x"}


@rows(
    ("changes", "level", "message", "hint"),
    [
        (
            {"skill": "other"},
            "error",
            'skill is "build", but the file is named "other"',
            (
                "one skill, one file: rename the file, or correct the field: "
                "checkpoint update NAME --skill=NAME"
            ),
        ),
        (
            {"step": " "},
            "error",
            "step is empty",
            'fill it in: checkpoint update NAME --step="..."',
        ),
        (
            {"updated_at": "2026-02-28T09:30:00Z"},
            "error",
            'updated_at ("2026-02-28T09:30:00Z") is before created_at ("2026-03-01T08:00:00Z")',
            "correct created_at if that is wrong; to update updated_at: checkpoint update NAME",
        ),
        (
            {"updated_at": "2026-03-02T09:30:00.25+02:00"},
            "warning",
            'updated_at is "2026-03-02T09:30:00.25+02:00": in local time',
            (
                "write it in UTC, ending in Z: "
                "checkpoint update NAME --updated_at=2026-03-02T07:30:00.25Z"
            ),
        ),
        (
            {"project_dir": "src"},
            "warning",
            'project_dir is "src", which is neither "." nor an absolute path',
            "if it is this checkout: checkpoint update NAME --project_dir=.",
        ),
        (
            {"size": 1000 * 1024},
            "warning",
            "the file has 1000.0 KB, more than 32 KB, and every resume reads all of it",
            "shorten it, or move details into files (it has no closed entries to rotate)",
        ),
        (
            {"size": 1000 * 1024, "superseded": ["x"]},
            "warning",
            "the file has 1000.0 KB, more than 32 KB, and every resume reads all of it",
            "move closed entries to history: checkpoint rotate NAME",
        ),
        (
            {"progress_summary": "x" * 1201},
            "warning",
            "progress_summary has 1201 characters, more than 1200",
            (
                "keep a few sentences, and put detail into progress_table: "
                'checkpoint update NAME --progress_summary="..."'
            ),
        ),
        (
            {"context_primer": {"key_decisions": ["x"] * 21}},
            "warning",
            "there are 21 key decisions, more than 20: every session reads them",
            "summarise the older ones, or move them to history: checkpoint rotate NAME",
        ),
        (
            {"cost": {"total_usd": 2.5, "budget_usd": 2}},
            "warning",
            "the cost of 2.5 USD is over the budget of 2",
            'stop and ask; if more is granted: checkpoint update NAME --cost.budget_usd="..."',
        ),
        (
            {"telemetry_handle": " "},
            "error",
            "telemetry_handle is empty",
            "name it, or leave it out: checkpoint update NAME --telemetry_handle-=",
        ),
        (
            {"progress_table": [ROW, ROW]},
            "error",
            'two rows have the id "plan"; the first is /progress_table/0',
            (
                "make them one row, or give this one another id: "
                'checkpoint update NAME --progress_table.1.id="..."'
            ),
        ),
        (
            {"next_actions": []},
            "error",
            "status is in_progress, but next_actions is empty",
            (
                "if all is done, set --status=complete; else name the next action: "
                'checkpoint update NAME --next_actions+="..."'
            ),
        ),
        (
            {"progress_table": [], "recently_done": ["plan"]},
            "warning",
            "status is in_progress, but progress_table is missing",
            (
                "list the phases or steps, since progress is counted from them: "
                "checkpoint update NAME --progress_table+:json="
                """'{"id": "...", "label": "...", "status": "in_progress"}'"""
            ),
        ),
        (
            {"context_primer": {}},
            "warning",
            "status is in_progress, but context_primer is missing",
            (
                "record the key decisions, since a new session starts from them: "
                'checkpoint note NAME "..."'
            ),
        ),
        (
            {"next_actions": ["go", " "]},
            "error",
            "the action is empty",
            'write what to do: checkpoint update NAME --next_actions.1="..."',
        ),
        (
            {"next_actions": ["stay", "go"], "recently_done": [{"text": "go", "at": NOON}]},
            "warning",
            "next action 2 is in recently_done too",
            (
                "reword it if it is to be done again; if it is done, take it off: "
                "checkpoint drop NAME 2 --why 'It is done'"
            ),
        ),
        (
            {"next_actions": [{"text": "Merge it", "done_when_merged": []}]},
            "warning",
            "done_when_merged is empty, so nothing finishes it",
            (
                "name the pull requests, or leave it out: "
                "checkpoint update NAME --next_actions.0.done_when_merged-="
            ),
        ),
        (
            {"next_actions": [{"text": "Merge it", "done_when_merged": ["#12", "soon"]}]},
            "warning",
            'done_when_merged names "soon", which is not a pull request: only those are merged',
            (
                "name a pull request, such as #12: "
                'checkpoint update NAME --next_actions.0.done_when_merged.1="..."'
            ),
        ),
        (
            {"status": "blocked"},
            "warning",
            "status is blocked, but no blocker is open",
            'set another status, or add a blocker: checkpoint block NAME "..."',
        ),
        (
            {"status": "complete", "blockers": [{**BLOCKER, "needs": "user_decision"}]},
            "warning",
            "status is complete, but a decision waits on the user",
            (
                "resolve the blocker, or set --status=blocked: "
                "checkpoint update NAME --status=blocked"
            ),
        ),
        (
            {"blockers": [BLOCKER, BLOCKER]},
            "warning",
            'two blockers have the id "b"; the first is /blockers/0',
            (
                "make them one blocker, or give this one another id: "
                'checkpoint update NAME --blockers.1.id="..."'
            ),
        ),
        (
            {"blockers": [{**BLOCKER, "blocking": "nothing"}]},
            "warning",
            'the blocker blocks "nothing", but progress_table has no row with that id',
            "use a row's id, or remove the field: checkpoint update NAME --blockers.0.blocking-=",
        ),
        (
            {"pm_refs": [{"provider": "jira", "id": "A-1", "a/b": "x" * 501}]},
            "warning",
            'the ticket has its text in "a/b": store only ids and URLs',
            (
                "remove it, since tickets may contain private data: "
                "checkpoint update NAME --pm_refs.0.a/b-="
            ),
        ),
        (
            {"pm_refs": [{"provider": "jira", "id": "x" * 501}]},
            "warning",
            'the ticket has its text in "id": store only ids and URLs',
            (
                "shorten it, since tickets may contain private data: "
                'checkpoint update NAME --pm_refs.0.id="..."'
            ),
        ),
        (
            {"eval_scores": [{"rubric": "a", "score": 6, "max": 5}]},
            "error",
            "the score 6 is above its max 5",
            'correct the score, or its max: checkpoint update NAME --eval_scores.0.score="..."',
        ),
        (
            {"next:json": ["go"]},
            "warning",
            'the field "next:json" looks like part of an update command that was typed wrong',
            (
                "did you mean next_actions? To move it there: "
                "checkpoint update NAME --next_actions+=go --next:json-="
            ),
        ),
        (
            {"mine+": "x"},
            "warning",
            'the field "mine+" looks like part of an update command that was typed wrong',
            (
                "did you mean skill_state.mine? To move it there: "
                "checkpoint update NAME --skill_state.mine=x --mine+-="
            ),
        ),
        (
            {"skill_state": {"next+": "x"}},
            "warning",
            'the field "next+" looks like part of an update command that was typed wrong',
            (
                "did you mean next? To move it there: "
                "checkpoint update NAME --skill_state.next=x '--skill_state[next+]-='"
            ),
        ),
        (
            {"nextActions": []},
            "warning",
            'unknown field "nextActions"',
            (
                "did you mean next_actions? It adds nothing; to remove it: "
                "checkpoint update NAME --nextActions-="
            ),
        ),
        (
            {"cost": {"total": 1}},
            "warning",
            'unknown field "total" in cost',
            (
                "did you mean total_usd? To move it there: "
                "checkpoint update NAME --cost.total_usd:json=1 --cost.total-="
            ),
        ),
        (
            {"blockers": [BLOCKER, {"id": "c", "text": "y"}]},
            "warning",
            'unknown field "text" in blockers.1',
            (
                "did you mean description? To move it there: "
                "checkpoint update NAME --blockers.1.description=y --blockers.1.text-="
            ),
        ),
    ],
)
def test_a_finding_names_the_place_and_its_value_and_the_command_that_mends_it(
    changes: dict[str, Any], level: str, message: str, hint: str
) -> None:
    (found,) = check(**changes)
    assert (found.level, found.message) == (level, message)
    assert str(found.hint) == hint


# names of the file and of fields


def test_the_file_is_named_after_its_skill() -> None:
    assert find(skill="other") == [("skill/file-name", "/skill")]
    assert find(skill="") == [("skill/file-name", "")]
    assert find(skill="other", skill_state={}) == [("skill/file-name", "/skill")]
    (found,) = check(skill="")
    assert found.message == "the file's name is not <skill>.checkpoint.json"
    assert (found.level, found.hint) == ("error", "rename the file after its skill")


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


def test_fields_inside_objects_are_spelled_too() -> None:
    assert find(context_primer={"key_decisons": []}) == [
        ("skill/unknown-field", "/context_primer/key_decisons")
    ]
    assert find(context_primer={"key_decisions": [], "mine": 1}, cost={"mine": 2}) == []


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


@rows(
    ("text", "in_utc"),
    [
        ("2026-03-02t09:30:00z", ""),
        ("2026-03-02T09:30:00.5Z", ""),
        ("2026-03-02T09:30:00-02:00", "2026-03-02T11:30:00Z"),
        ("2026-03-02T09:30:00.250+00:00", "2026-03-02T09:30:00.25Z"),
    ],
)
def test_only_a_time_with_another_offset_is_rewritten(text: str, in_utc: str) -> None:
    hints = [str(found.hint) for found in check(updated_at=text)]
    hint = f"write it in UTC, ending in Z: checkpoint update NAME --updated_at={in_utc}"
    assert hints == ([hint] if in_utc else [])


def test_a_checkpoint_is_updated_when_it_is_made_or_later() -> None:
    assert find(created_at=NOON, updated_at=NOON) == []
    assert find(created_at="2026-03-02T12:00:00.1Z", updated_at=NOON) == [
        ("skill/updated-before-created", "/updated_at")
    ]
    assert find(created_at="soon", updated_at=NOON) == [("skill/timestamp", "/created_at")]
    assert find(created_at=NOON, updated_at="soon") == [("skill/timestamp", "/updated_at")]


@rows(
    ("created", "edits"),
    [
        (NOON, ""),
        (..., ""),
        ("soon", ""),
        ("2026-03-02T12:00:01Z", f" --created_at={NOON}"),
    ],
)
def test_a_clock_that_was_wrong_is_corrected_where_it_was(created: Any, edits: str) -> None:
    (found,) = [
        finding
        for finding in check(created_at=created, updated_at="2026-03-04T12:00:00Z")
        if finding.code == "skill/updated-in-future"
    ]
    assert (found.level, found.where) == ("warning", "/updated_at")
    assert found.message == (
        f'updated_at is "2026-03-04T12:00:00Z", and now is {NOON}: it is in the future'
    )
    assert str(found.hint) == (
        f"if a clock was wrong, set it: checkpoint update NAME --updated_at={NOON}{edits}"
    )


def test_a_day_ahead_is_allowed_and_a_second_more_is_not() -> None:
    value = checkpoint(updated_at="2026-03-03T12:00:00Z")
    assert rules.check(value, skill="build", size=1, now=NOW) == []
    (found,) = rules.check(
        value, skill="build", size=1, now=seconds("2026-03-03T12:00:00Z") - DAY - 1
    )
    assert found.code == "skill/updated-in-future"


# folders


@rows(
    ("path", "is_plain"),
    [
        (".", True),
        ("/srv/app", True),
        ("C:\\app", True),
        ("c:/app", True),
        ("\\\\host\\app", True),
        ("", True),  # the schema's business
        ("src/app", False),
        ("./app", False),
        ("C:app", False),
        ("1:/app", False),
        ("ab:/app", False),
        ("\\app", False),
    ],
)
def test_the_folder_of_a_project_is_this_one_or_absolute(path: str, is_plain: bool) -> None:
    found = find(project_dir=path)
    assert found == ([] if is_plain else [("skill/relative-project-dir", "/project_dir")])


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


def test_a_member_of_another_type_that_the_schema_allows_is_a_warning() -> None:
    blocker = {**BLOCKER, "resolved": "yes", "options": {"a": "b"}}
    found = check(blockers=[blocker], superseded=[{"reviewed": 1}, {"reviewed": None}, "x"])
    assert [(each.code, each.level, each.where) for each in found] == [
        ("skill/wrong-type", "warning", "/blockers/0/resolved"),
        ("skill/wrong-type", "warning", "/blockers/0/options"),
        ("skill/wrong-type", "warning", "/superseded/0/reviewed"),
    ]
    assert found[0].message == 'blockers.0.resolved must be true or false, and is "yes"'
    assert found[1].message == "blockers.0.options must be a list, and is an object"
    good = {**BLOCKER, "resolved": False, "options": []}
    assert find(blockers=[good], superseded=[{"reviewed": True}]) == []


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


def test_a_blocker_or_a_ticket_of_spaces_is_incomplete() -> None:
    assert find(blockers=[{"id": " ", "description": "\n"}]) == [
        ("skill/blocker-incomplete", "/blockers/0/id"),
        ("skill/blocker-incomplete", "/blockers/0/description"),
    ]
    assert find(pm_refs=[{"provider": " ", "id": "\t"}]) == [
        ("skill/pm-ref-incomplete", "/pm_refs/0/provider"),
        ("skill/pm-ref-incomplete", "/pm_refs/0/id"),
    ]


def test_two_blockers_of_one_id_are_found() -> None:
    assert find(blockers=[BLOCKER, {**BLOCKER, "id": "c"}, BLOCKER]) == [
        ("skill/blocker-id-twice", "/blockers/2/id")
    ]


def test_a_blocker_names_a_row_while_it_is_open() -> None:
    blocker = {**BLOCKER, "blocking": "nothing"}
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
