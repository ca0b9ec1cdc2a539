import json
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from checkpoint_git.core.clock import DAY
from checkpoint_git.core.page import PageParts
from checkpoint_git.git.history.steps import Commit
from checkpoint_git.protocols.skill.brief.history import LifeEntry
from checkpoint_git.protocols.skill.brief.life import LifeEvent
from checkpoint_git.protocols.skill.brief.next_action import plan_queue
from checkpoint_git.protocols.skill.brief.overview import list_briefs
from checkpoint_git.protocols.skill.brief.page import PageFacts, make_parts, sort_states
from checkpoint_git.protocols.skill.brief.page_lives import Lives
from checkpoint_git.protocols.skill.store import check_files
from checkpoint_git.tools.report.page import render
from tests.support.documents import LIMITS
from tests.support.html import main_part, read
from tests.support.samples import checkpoint
from tests.support.verbs import NOON, seconds

NOW = seconds(NOON)


def make_facts(*values: dict[str, Any], lives: Lives | None = None) -> PageFacts:
    """PageFacts as they would be read."""
    files = [
        (f".checkpoints/{value.get('skill')}.checkpoint.json", json.dumps(value).encode())
        for value in values
    ]
    documents = check_files(files, NOW)
    briefs = list_briefs(documents, NOW, LIMITS)
    return PageFacts(documents, briefs, plan_queue(briefs), lives or Lives({}))


def draw(parts: PageParts, anchor: str = "") -> str:
    """The sections, or what is in one of them, as markup."""
    sections = [*parts.sections, *parts.details]
    found = main_part(
        render(
            parts._replace(
                sections=[one for one in sections if anchor in ("", one.anchor)], details=[]
            )
        )
    )
    return found if not anchor else found.partition("</h2>")[2]


def columns(facts: PageFacts) -> list[tuple[str, list[str]]]:
    """The board's columns with the titles of their cards."""
    found: list[tuple[str, list[str]]] = []
    for level, text in re.findall(
        r"<h([34])>(?:<a [^>]*>)?([^<]*)", draw(make_parts(facts), "board")
    ):
        if level == "3":
            found.append((text, []))
        else:
            found[-1][1].append(text)
    return found


def test_a_skill_stands_in_the_column_of_what_matters_most_about_it() -> None:
    question = {"id": "b", "description": "Which?", "needs": "user_decision"}
    rows = [{"id": "a", "label": "A", "status": "not_started"}]
    facts = make_facts(
        checkpoint(skill="a", blockers=[question]),
        checkpoint(skill="b", status="failed"),
        checkpoint(skill="c", progress_table=rows),
        checkpoint(skill="d"),
        checkpoint(skill="e", status="complete", next_actions=[]),
    )
    assert columns(facts) == [
        ("Waiting on you", ["a"]),
        ("Failed", ["b"]),
        ("In progress", ["d"]),
        ("Not started", ["c"]),
        ("Complete", ["e"]),
    ]


def test_what_a_blocker_blocks_is_told_by_the_rows_name() -> None:
    question = {
        "id": "b",
        "description": "Which?",
        "needs": "user_decision",
        "blocking": "sprint-2",
    }
    assert "Blocks: Sprint 2: notes" in draw(
        make_parts(make_facts(checkpoint(blockers=[question]))), "decisions"
    )


def test_a_short_history_makes_a_lane_for_each_skill_that_has_one() -> None:
    commit = Commit("a" * 40, (), NOW, NOW, "Ada", "Start")
    lives = Lives(
        {"build": [LifeEntry("p", commit, [LifeEvent("started", "", "tidepool")])], "deploy": []}
    )
    assert "started: tidepool" in draw(
        make_parts(make_facts(checkpoint(), checkpoint(skill="deploy"), lives=lives))
    )
    assert "timeline" not in [
        section.anchor for section in make_parts(make_facts(checkpoint())).sections
    ]


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(("<b>", "complete")),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(("id", "label", "status", "text", "description", "url", "needs")), inner
        )
    ),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from(sorted(checkpoint())), JSON, max_size=6))
def test_whatever_a_checkpoint_holds_there_is_a_page_without_its_markup(
    changes: dict[str, Any],
) -> None:
    markup = draw(make_parts(make_facts({**checkpoint(), **changes, "skill": "build"})))
    assert "b" not in {name for name, _ in read(markup).elements}


def test_a_card_of_what_cannot_be_read_says_why() -> None:
    documents = check_files([(".checkpoints/build.checkpoint.json", b'{"skill": ')], NOW)
    facts = make_facts()._replace(documents=documents, states=list_briefs(documents, NOW, LIMITS))
    said = read(draw(make_parts(facts), "board")).texts
    assert documents[0].findings[0].message in said


def test_a_card_of_what_is_not_started_does_not_say_that_it_is_in_progress() -> None:
    rows = [{"id": "a", "label": "A", "status": "not_started"}]
    facts = make_facts(checkpoint(status="in_progress", progress_table=rows, blockers=[]))
    assert columns(facts) == [("Not started", ["build"])]
    assert "badge" not in draw(make_parts(facts), "board")


def test_few_columns_and_tall_ones_are_laid_in_rows() -> None:
    three = [
        checkpoint(skill="a"),
        checkpoint(skill="b", status="failed"),
        checkpoint(skill="c", status="blocked"),
    ]
    tall = [*three, *(checkpoint(skill=f"d{at}") for at in range(5))]
    shapes = [draw(make_parts(make_facts(*values)), "board") for values in (three, tall, three[:2])]
    assert [re.findall('class="(board[^"]*)"', shape)[0] for shape in shapes] == [
        "board",
        "board rows",
        "board rows",
    ]


def test_where_nothing_is_the_page_says_how_to_begin() -> None:
    text = draw(make_parts(make_facts()))
    assert "No checkpoints yet" in text
    assert "checkpoint update build" in text


def test_a_row_without_a_name_has_a_header_that_can_be_read_aloud() -> None:
    markup = draw(make_parts(make_facts(checkpoint(progress_table=[{"status": "complete"}]))))
    assert '<th class="short" scope="row">(no name)</th>' in markup


def test_a_decision_shows_each_option_with_the_command_that_chooses_it_and_nothing_odd_among_them() -> (
    None
):
    options = ["eu", "<b>us</b>", "-x", "l" * 81, "a\u202eb", 3, {}, " "]
    question = {"id": "b", "description": "Where?", "needs": "user_decision", "options": options}
    markup = draw(make_parts(make_facts(checkpoint(blockers=[question]))), "decisions")
    found = re.findall(r"<li><span>([^<]*)</span>(?:<p[^>]*><code[^>]*>([^<]*))?", markup)
    assert found == [
        ("eu", "checkpoint decide build b eu"),
        ("&lt;b&gt;us&lt;/b&gt;", "checkpoint decide build b &#39;&lt;b&gt;us&lt;/b&gt;&#39;"),
        ("-x", "checkpoint decide build -- b -x"),
        ("l" * 81, ""),
        ("a\\u202eb", ""),
    ]
    assert "Another answer: " in markup
    odd = draw(
        make_parts(make_facts(checkpoint(blockers=[{**question, "options": "none"}]))), "decisions"
    )
    assert "<li><span>" not in odd
    assert "checkpoint decide build b" in odd


def test_a_decision_is_on_the_page_once_and_says_who_asked_when() -> None:
    question = {
        "id": "b",
        "description": "Which host?",
        "needs": "user_decision",
        "options": ["eu"],
    }
    commit = Commit("a" * 40, (), NOW - 9 * DAY, NOW, "Ada", "Ask")
    lives = Lives({"build": [LifeEntry("p", commit, [LifeEvent("opened", "b", "x")])]})
    facts = make_facts(checkpoint(blockers=[question]), lives=lives)
    parts = make_parts(facts)
    assert draw(parts).count("Which host?") == 1
    assert re.search(
        r"Asked <time datetime=.2026-02-21[^>]*>[^<]*</time> by Ada", draw(parts, "decisions")
    )
    assert "Everything waits on the decisions above." in draw(parts, "next")


def test_what_waits_longest_comes_first() -> None:
    def question(name: str) -> dict[str, Any]:
        return {"id": name, "description": name, "needs": "user_decision"}

    def asked(name: str, days_ago: int) -> LifeEntry:
        commit = Commit(name, (), NOW - days_ago * DAY, NOW, "Ada", "Ask")
        return LifeEntry("p", commit, [LifeEvent("opened", name, name)])

    lives = Lives({"a": [asked("q1", 2)], "b": [asked("q2", 5)]})
    facts = make_facts(
        checkpoint(skill="a", blockers=[question("q1")]),
        checkpoint(skill="b", blockers=[question("q2")]),
    )
    markup = draw(make_parts(facts._replace(lives=lives)), "decisions")
    assert re.findall("<span>(q.)</span>", markup) == ["q2", "q1"]


def test_the_page_is_in_the_order_of_what_is_to_do_and_open_work_by_age() -> None:
    question = {"id": "b", "description": "Which?", "needs": "user_decision"}
    values = [
        checkpoint(skill="done", status="complete", next_actions=[]),
        checkpoint(skill="new", updated_at="2026-03-02T09:00:00Z"),
        checkpoint(skill="old", updated_at="2026-02-27T09:00:00Z"),
        checkpoint(
            skill="held",
            status="blocked",
            blockers=[{"id": "x", "description": "x", "needs": "code_fix"}],
        ),
        checkpoint(skill="asks", blockers=[question]),
    ]
    states = sort_states(make_facts(*values).states)
    assert [state.skill for state in states] == ["asks", "held", "old", "new", "done"]


def test_complete_work_is_folded_on_the_board_and_below() -> None:
    facts = make_facts(checkpoint(), checkpoint(skill="api", status="complete", next_actions=[]))
    board = draw(make_parts(facts), "board")
    folded = board.partition('<details id="complete"><summary>')[2]
    assert "api" in folded
    assert "api" not in board.removesuffix(folded)
    skills = draw(make_parts(facts._replace(states=sort_states(facts.states))), "skills")
    assert '<details id="skills-complete"><summary>' in skills
    assert (
        skills.index('id="skill-1"')
        < skills.index('id="skills-complete"')
        < skills.index('id="skill-2"')
    )
