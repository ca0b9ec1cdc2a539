import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from checkpoint_git.core.finding import Finding
from checkpoint_git.disk.discover import Place
from checkpoint_git.git.history.steps import Commit
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.skill.history import Entry
from checkpoint_git.protocols.skill.life import Event
from checkpoint_git.protocols.skill.next_action import plan_queue
from checkpoint_git.protocols.skill.read import check_files
from checkpoint_git.protocols.skill.state import find_decisions, find_states
from checkpoint_git.protocols.skill.verbs.refs import find_refs
from checkpoint_git.tools.report.blocks import Board, Items, Page, Section
from checkpoint_git.tools.report.facts import Facts, Lives
from checkpoint_git.tools.report.html import render
from checkpoint_git.tools.report.page import make_page
from tests.support.samples import checkpoint
from tests.support.verbs import NOON, seconds
from tests.tools.report.test_markup import Reader

NOW = seconds(NOON)


def make_facts(*values: dict[str, Any], drift: list[Finding] | None = None, lives: Lives | None = None) -> Facts:
    """Facts as they would be gathered, of a project outside git."""
    files = [(f".checkpoints/{value.get('skill')}.checkpoint.json", json.dumps(value).encode()) for value in values]
    documents: list[Document] = check_files(files, NOW)
    states = find_states(documents, NOW)
    return Facts(
        place=Place("/srv/tidepool", "/srv/tidepool/.checkpoints", None, None),
        now=NOW,
        branch="main",
        documents=documents,
        states=states,
        decisions=find_decisions(states),
        queue=plan_queue(documents, now=NOW),
        drift=drift,
        broken=[],
        refs=find_refs(documents),
        lives=lives or Lives({}),
        workflow=None,
        runs=[],
        points=[],
        trouble=[],
    )


def find_section(page: Page, anchor: str) -> Section:
    return next(section for section in page.sections if section.anchor == anchor)


def test_a_skill_stands_in_the_column_of_what_matters_most_about_it() -> None:
    question = {"id": "b", "description": "Which?", "needs": "user_decision"}
    rows = [{"id": "a", "label": "A", "status": "not_started"}]
    page = make_page(
        make_facts(
            checkpoint(skill="a", blockers=[question]),
            checkpoint(skill="b", status="failed"),
            checkpoint(skill="c", progress_table=rows),
            checkpoint(skill="d"),
            checkpoint(skill="e", status="complete", next_actions=[]),
        )
    )
    board = find_section(page, "board").blocks[0]
    assert isinstance(board, Board)
    assert [(column.title, [card.title for card in column.cards]) for column in board.columns] == [
        ("Waits on you", ["a"]),
        ("Failed or broken", ["b"]),
        ("In progress", ["d"]),
        ("Not started", ["c"]),
        ("Complete", ["e"]),
    ]


def test_what_a_blocker_blocks_is_told_by_the_rows_name() -> None:
    question = {"id": "b", "description": "Which?", "needs": "user_decision", "blocking": "sprint-2"}
    block = find_section(make_page(make_facts(checkpoint(blockers=[question]))), "decisions").blocks[0]
    assert isinstance(block, Items)
    assert [note.text for note in block.items[0].notes] == ["Blocks: Sprint 2: notes"]


def test_many_findings_are_folded_by_their_code() -> None:
    findings = [Finding(f"drift/{'ab'[at % 2]}", "warning", f"number {at}") for at in range(20)]
    section = find_section(make_page(make_facts(checkpoint(), drift=findings)), "drift")
    assert len(section.blocks) == 2
    assert section.note.startswith("20 warnings")
    assert len(find_section(make_page(make_facts(checkpoint(), drift=findings[:3])), "drift").blocks) == 1


def test_a_short_history_makes_a_lane_for_each_skill_that_has_one() -> None:
    commit = Commit("a" * 40, (), NOW, NOW, "Ada", "Start")
    lives = Lives({"build": [Entry("p", commit, [Event("started", "", "tidepool")])], "deploy": []})
    page = make_page(make_facts(checkpoint(), checkpoint(skill="deploy"), lives=lives))
    assert "started: tidepool" in render(page)
    assert "timeline" not in [section.anchor for section in make_page(make_facts(checkpoint())).sections]


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(("<b>", "complete")),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(("id", "label", "status", "text", "description", "url", "needs")), inner)
    ),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from(sorted(checkpoint())), JSON, max_size=6))
def test_whatever_a_checkpoint_holds_there_is_a_page_without_its_markup(changes: dict[str, Any]) -> None:
    page = render(make_page(make_facts({**checkpoint(), **changes, "skill": "build"})))
    reader = Reader()
    reader.feed(page)
    assert "b" not in {name for name, _ in reader.elements}
    assert page.endswith("</body></html>\n")


def test_a_card_of_what_cannot_be_read_says_why() -> None:
    facts = make_facts(checkpoint())
    documents = check_files([(".checkpoints/build.checkpoint.json", b'{"skill": ')], NOW)
    page = make_page(facts._replace(documents=documents, states=find_states(documents, NOW)))
    board = find_section(page, "board").blocks[0]
    assert isinstance(board, Board)
    assert [card.text for column in board.columns for card in column.cards] == [documents[0].findings[0].message]


def test_a_card_of_what_is_not_started_does_not_say_that_it_is_in_progress() -> None:
    rows = [{"id": "a", "label": "A", "status": "not_started"}]
    facts = make_facts(checkpoint(status="in_progress", progress_table=rows, blockers=[]))
    board = find_section(make_page(facts), "board").blocks[0]
    assert isinstance(board, Board)
    assert [(column.title, column.cards[0].badges) for column in board.columns] == [("Not started", [])]


def test_where_nothing_is_the_page_says_how_to_begin() -> None:
    text = render(make_page(make_facts()))
    assert "there is no checkpoint yet" in text
    assert "checkpoint update build" in text


def test_a_row_without_a_name_has_a_header_that_can_be_read_aloud() -> None:
    page = make_page(make_facts(checkpoint(progress_table=[{"status": "complete"}])))
    assert '<th class="short" scope="row">(no name)</th>' in render(page)
