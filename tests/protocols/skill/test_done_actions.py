"""An action that stands both in next_actions and in recently_done: it is found, and taken off only
if that is asked.
"""

from typing import Any

from checkpoint_git.core.clock import DAY
from checkpoint_git.core.finding import Finding
from checkpoint_git.protocols.skill.brief import life, since
from checkpoint_git.protocols.skill.brief.resume_plan import find_background
from checkpoint_git.protocols.skill.drift.fixes import FixFacts, fix_value
from checkpoint_git.protocols.skill.edit.actions import finish_action, mark_repeated
from checkpoint_git.protocols.skill.edit.apply import apply_edits
from checkpoint_git.protocols.skill.edit.parse import parse_edits
from checkpoint_git.protocols.skill.exchange import fields_of_skill
from checkpoint_git.protocols.skill.views import done_text, find_done_actions
from checkpoint_git.protocols.validate import check_document
from tests.support.samples import checkpoint_text
from tests.support.verbs import seconds

NOW = seconds("2026-03-02T00:00:00Z")
DONE = [{"text": "A", "at": "2026-03-02T00:00:00Z"}, {"text": "A", "at": "2026-03-01T00:00:00Z"}]


def test_a_done_action_is_found_unless_it_was_added_again_later() -> None:
    later, earlier = ({"text": "A", "added_at": f"2026-03-0{day}T00:00:00Z"} for day in (3, 1))
    actions: list[Any] = ["A", "B", later, earlier, {"text": "A"}, 7]
    assert find_done_actions({"next_actions": actions, "recently_done": DONE}) == [0, 3, 4]
    assert find_done_actions({"next_actions": ["A"], "recently_done": "A"}) == []


def test_what_the_original_recorded_is_read_by_every_view() -> None:
    entries = [
        {"at": "2026-03-02T00:00:00.000Z", "action": "A"},
        {"at": "x", "action": {"text": "B"}},
        {"action": 7},
    ]
    value: dict[str, Any] = {"next_actions": ["A", "B", "C"], "recently_done": entries}
    assert [done_text(entry) for entry in (*entries, "E", {"text": "F", "action": "G"})] == [
        "A",
        "B",
        "",
        "E",
        "F",
    ]
    assert find_done_actions(value) == [0, 1]
    assert fields_of_skill(value)["last_action"] == "A"
    before = {"next_actions": ["A", "B"], "recently_done": []}
    events = life.find_events(before, {"next_actions": ["B"], "recently_done": entries[:1]})
    assert [(event.kind, event.subject) for event in events] == [("done", "A")]

    text = checkpoint_text(recently_done=entries)
    document = check_document(".checkpoints/build.checkpoint.json", text.encode(), now=NOW)
    assert [finding.code for finding in document.findings if finding.level == "error"] == []
    assert [text for text, _ in find_background(document).recently_done] == ["A", "B"]
    found = since.find_events(None, document.value or {}, NOW - DAY)
    assert [event.text for event in found if event.kind == "done"] == ["A"]


def test_an_action_that_is_added_again_does_not_count_as_done() -> None:
    value: dict[str, Any] = {"status": "in_progress", "next_actions": ["B"], "recently_done": DONE}
    places = apply_edits(
        value, parse_edits(["--next_actions+=A", "--next_actions+=C"]), is_new=False
    )
    mark_repeated(value, places, NOW)
    again = {"text": "A", "added_at": "2026-03-02T00:00:00Z"}
    assert value["next_actions"] == ["B", again, "C"]
    assert find_done_actions(value) == []

    finish_action(value, NOW, "B", complete=False)
    assert value["next_actions"][0] == {"text": "B", "added_at": "2026-03-02T00:00:00Z"}
    assert find_done_actions(value) == []


def test_the_fix_takes_it_off_and_leaves_work_in_progress_an_action() -> None:
    found = [Finding("drift/action-done", "warning", "", where="/next_actions/0")]
    value: dict[str, Any] = {
        "status": "in_progress",
        "next_actions": ["A", "B"],
        "recently_done": DONE,
    }
    fixed = fix_value(value, found, FixFacts())
    assert (fixed.value["next_actions"], fixed.value["recently_done"]) == (["B"], DONE)
    assert [done.code for done in fixed.done] == ["drift/action-done"]

    alone: dict[str, Any] = {"status": "in_progress", "next_actions": ["A"], "recently_done": DONE}
    assert fix_value(alone, found, FixFacts()).done == []
    assert alone["next_actions"] == ["A"]
