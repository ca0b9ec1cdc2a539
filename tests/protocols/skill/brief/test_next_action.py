from typing import Any

import pytest

from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.skill.brief.brief import make_briefs
from checkpoint_git.protocols.skill.brief.next_action import RANKS, Queue, SkippedAction, plan_queue
from checkpoint_git.protocols.skill.drift.merged_work import NOTHING, Work
from checkpoint_git.protocols.skill.views import describe_blocker
from tests.support.documents import LIMITS, NOW, broken, decision, document, facts_of, work_of

UNSTARTED = [{"id": "a", "label": "A", "status": "not_started"}]

# one skill of every rank, named after it
OF_EVERY_RANK: dict[str, dict[str, Any]] = {
    "idle": {"next_actions": []},
    "not_started": {"progress_table": UNSTARTED},
    "complete": {"status": "complete"},
    "blocked": {"status": "blocked", "blockers": [decision(needs="external_dep")]},
    "in_progress": {},
    "gate": {"step": "awaiting-approval"},
    "failed": {"status": "failed"},
    "decision": {"status": "blocked", "blockers": [decision()]},
}


def queue_of(documents: list[Document], work: Work = NOTHING, now: int = NOW) -> Queue:
    return plan_queue(make_briefs(documents, now, LIMITS, work))


def test_the_queue_goes_by_rank() -> None:
    queue = queue_of([document(skill, **changes) for skill, changes in OF_EVERY_RANK.items()])
    assert [action.skill for action in queue.actions] == list(RANKS)
    assert [action.rank for action in queue.actions] == list(RANKS)


def test_rank_counts_more_than_age_and_budget() -> None:
    newest = document(
        "new", updated_at="2026-03-02T11:00:00Z", cost={"total_usd": 9, "budget_usd": 1}
    )
    queue = queue_of([newest, document("old", status="failed")])
    assert [action.skill for action in queue.actions] == ["old", "new"]


def test_among_equals_who_is_over_budget_goes_first_then_the_newest_then_the_name() -> None:
    over = {"cost": {"total_usd": 9, "budget_usd": 1}}
    queue = queue_of(
        [
            document("b"),
            document("a"),
            document("newer", updated_at="2026-03-02T10:00:00Z"),
            document("newest", updated_at="2026-03-02T11:30:00+01:00"),
            document("costly", updated_at="2026-03-01T09:00:00Z", **over),
        ]
    )
    assert [action.skill for action in queue.actions] == ["costly", "newest", "newer", "a", "b"]
    assert queue.actions[0].reason == "in progress; over budget (9 of 1 USD)"


def test_work_that_is_complete_with_nothing_queued_is_not_in_the_queue() -> None:
    assert queue_of([document(status="complete", next_actions=[])]).actions == []


@pytest.mark.parametrize(
    "changes",
    [{"next_actions": [], "status": status} for status in ("failed", "in_progress")],
    ids=["mend", "plan"],
)
def test_a_strangers_name_is_one_word_of_the_command_that_is_told(changes: dict[str, Any]) -> None:
    (action,) = queue_of([document("$(reboot)", **changes)]).actions
    assert " '$(reboot)'" in str(action.answer_with)


def test_a_file_that_cannot_be_read_has_no_action() -> None:
    assert queue_of([broken()]).actions == []


def test_an_action_brings_its_own_proof() -> None:
    (action,) = queue_of(
        [document(next_actions=[{"text": "Run the evaluator", "done_when": "make eval"}])]
    ).actions
    assert (action.action, action.done_when, action.then) == ("Run the evaluator", "make eval", "")


def test_a_decision_comes_before_the_skills_own_action_at_any_status() -> None:
    for status in ("in_progress", "blocked", "complete", "failed"):
        (action,) = queue_of(
            [document(status=status, blockers=[decision(blocking="sprint-2")])]
        ).actions
        assert action.action == "Decide: Which region? (blocks sprint-2)"
        assert action.then == "Write the notes API"
        assert action.done_when is None


def test_a_resolved_decision_waits_on_nobody() -> None:
    (action,) = queue_of([document(blockers=[decision(resolved=True)])]).actions
    assert action.rank == "in_progress"


def test_failed_work_names_the_rows_that_failed() -> None:
    rows = [
        {"id": "a", "label": "Parse", "status": "failed"},
        {"id": "b", "label": "Print", "status": "not_started"},
    ]
    (action,) = queue_of([document(status="failed", progress_table=rows)]).actions
    assert action.reason == "it failed: Parse"


def test_several_decisions_are_counted() -> None:
    (action,) = queue_of([document(blockers=[decision(), decision(id="b2")])]).actions
    assert action.reason == "2 decisions wait on you"


@pytest.mark.parametrize("skill", ["decision", "blocked"])
def test_a_blocker_whose_proposal_names_merged_work_says_so_and_keeps_its_rank(skill: str) -> None:
    needs = "user_decision" if skill == "decision" else "external_dep"
    changes = {
        "status": "blocked",
        "blockers": [decision(proposed_resolution="Merge #1", needs=needs)],
    }
    (action,) = queue_of([document(skill, **changes)], work_of(skill, "#1")).actions
    assert (action.rank, action.proposal) == (skill, (*facts_of("#1").values(),))
    assert [one["reference"] for one in action.data["blocker_references"]] == ["#1"]


def test_what_a_blocker_proposes_matters_only_where_the_blocker_does() -> None:
    blocker = decision(proposed_resolution="Merge #1", needs="code_fix")
    (action,) = queue_of([document(blockers=[blocker])], work_of("build", "#1")).actions
    assert (action.rank, action.proposal) == ("in_progress", ())


def test_stale_work_in_progress_says_so_and_other_work_is_never_stale() -> None:
    now = 1_772_443_800 + 8 * 86_400  # eight days after the sample was written
    queue = queue_of([document("a"), document("b", status="failed")], now=now)
    assert [(action.skill, action.stale) for action in queue.actions] == [("b", False), ("a", True)]
    assert queue.actions[1].reason == "in progress; stale: not updated for 8 days"
    assert not queue_of([document("a")]).actions[0].stale


def test_failed_work_without_an_action_is_to_be_looked_into() -> None:
    (action,) = queue_of([document(status="failed", next_actions=[])]).actions
    assert (action.action, str(action.answer_with)) == (
        "Find out why it failed, then fix it or start again",
        "checkpoint resume build",
    )


def test_blocked_work_without_an_action_is_to_be_unblocked() -> None:
    (action,) = queue_of(
        [document(status="blocked", next_actions=[], blockers=[decision(needs="code_fix")])]
    ).actions
    assert action.action == "Unblock: Which region?"


@pytest.mark.parametrize("state", ["merged", "reverted", "lost", "closed", "named"])
def test_only_a_merge_that_stands_passes_an_action_over_and_every_fact_is_beside_it(
    state: Any,
) -> None:
    actions = ["Merge #1", "Merge #1, then deploy"]
    (action,) = queue_of(
        [document(next_actions=actions)], work_of("build", "#1", state=state)
    ).actions
    assert action.action == actions[state == "merged"]
    assert action.facts == (*facts_of("#1", state=state).values(),)
    assert [one["state"] for one in action.data["references"]] == [state]


def test_a_ticket_passes_nothing_over() -> None:
    for state in ("named", "closed"):
        queue = queue_of(
            [document(next_actions=["Finish ABC-12"])], work_of("build", "ABC-12", state=state)
        )
        assert (queue.actions[0].action, queue.skipped) == ("Finish ABC-12", [])


@pytest.mark.parametrize("skill", [skill for skill in OF_EVERY_RANK if skill != "idle"])
def test_finished_actions_are_passed_over_at_every_rank(skill: str) -> None:
    stated = {"text": "Wait for both", "done_when_merged": ["#1", "PR 2"]}
    changes = {**OF_EVERY_RANK[skill], "next_actions": ["Merge #1", stated, "Go on"]}
    queue = queue_of([document(skill, **changes)], work_of(skill, "#1", "#2"))
    (action,) = queue.actions
    assert action.rank == skill
    assert "Go on" in (action.action, action.then)
    one, both = (tuple(facts_of(*names).values()) for names in (["#1"], ["#1", "#2"]))
    assert queue.skipped == [
        SkippedAction(skill, "Merge #1", one),
        SkippedAction(skill, "Wait for both", both),
    ]
    assert queue.skipped[0].data["evidence"] == "#1 was merged on 2026-03-02 (abc1234)"


def test_an_action_waits_until_all_that_it_names_is_merged() -> None:
    stated = {"text": "Wait for both", "done_when_merged": ["#1", "#2"]}
    (action,) = queue_of([document(next_actions=[stated])], work_of("build", "#1")).actions
    assert (action.action, [fact.reference for fact in action.facts]) == ("Wait for both", ["#1"])


def test_a_skill_whose_actions_are_all_finished_lets_the_others_go_first() -> None:
    done = document("done", next_actions=["Merge #1"], updated_at="2026-03-02T11:00:00Z")
    queue = queue_of([done, document("other", progress_table=UNSTARTED)], work_of("done", "#1"))
    assert [(action.skill, action.rank) for action in queue.actions] == [
        ("other", "not_started"),
        ("done", "idle"),
    ]
    assert len(queue.skipped) == 1


def test_complete_work_whose_queue_is_all_finished_is_done() -> None:
    queue = queue_of(
        [document(status="complete", next_actions=["Merge #1"])], work_of("build", "#1")
    )
    assert queue.actions == []
    assert len(queue.skipped) == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"next_actions": "Write"},
        {"next_actions": [None, 7, {"text": 1}, ["x"], " "]},
        {"blockers": {"id": "b"}},
        {"blockers": ["x", {"needs": "user_decision"}]},
        {"status": 7},
        {"updated_at": None, "phase": [], "step": {}},
        {"progress_table": "done"},
    ],
)
def test_values_of_the_wrong_type_do_no_harm(changes: dict[str, Any]) -> None:
    assert len(queue_of([document(**changes)]).actions) == 1


def test_a_blocker_is_one_line() -> None:
    said = describe_blocker(decision(blocking="s2", proposed_resolution="eu-west"))
    assert said == "Which region? (blocks s2; proposed: eu-west)"
    assert describe_blocker({"id": "b9"}) == "b9"
    assert describe_blocker({}) == "(no description)"
