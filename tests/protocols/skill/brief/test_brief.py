"""Every view is drawn from the brief: none decides again how old, stale, blocked or far along a
checkpoint is.
"""

import re
from pathlib import Path
from typing import Any

import checkpoint_git.protocols.skill as room
from checkpoint_git.protocols.skill.brief.brief import NO_STATUS, make_brief
from checkpoint_git.protocols.skill.views import UNREADABLE
from tests.support.documents import LIMITS, NOW, broken, decision, document, facts_of

FOLDER = Path(str(room.__file__)).parent
VIEWS = (
    "brief/next_action",
    "brief/overview",
    "brief/page",
    "brief/resume_plan",
    "brief/session_brief",
    "brief/status",
    "verbs/next",
    "verbs/resume",
)
DECIDED = re.compile(
    r"\b(is_stale|is_unstarted|find_age|describe_budget|find_gate|find_answers|waits_on_user|count_rows"
    r"|describe_superseded|find_done_actions|is_finished)\("
)


def test_no_view_decides_what_the_brief_has() -> None:
    texts = {view: (FOLDER / f"{view}.py").read_text("utf-8") for view in VIEWS}
    assert DECIDED.search((FOLDER / "brief/brief.py").read_text("utf-8"))
    assert {view: found[0] for view, text in texts.items() if (found := DECIDED.search(text))} == {}


def test_a_brief_knows_what_is_open_what_is_finished_and_who_is_asked() -> None:
    changes: dict[str, Any] = {
        "next_actions": ["Merge #1", "Announce it"],
        "recently_done": [{"text": "Announce it", "at": "2026-03-01T09:00:00Z"}],
        "blockers": [decision(proposed_resolution="Merge #1"), decision(id="b2", needs="code_fix")],
    }
    brief = make_brief(document(**changes), NOW, LIMITS, facts_of("#1"))
    assert [(action.position, action.text, action.is_repeated) for action in brief.actions] == [
        (1, "Announce it", True)
    ]
    assert [action.text for action in brief.shipped] == ["Merge #1"]
    assert [blocker.value["id"] for blocker in brief.blockers] == ["b1", "b2"]
    assert [str(blocker.answer) for blocker in brief.decisions] == [
        'checkpoint decide build b1 "..."'
    ]
    assert brief.decisions[0].data["references"][0]["reference"] == "#1"


def test_a_brief_of_what_cannot_be_read_says_so() -> None:
    assert make_brief(broken(), NOW, LIMITS).status == UNREADABLE
    assert make_brief(document(status=7), NOW, LIMITS).status == NO_STATUS
