import re

from checkpoint_git.core.clock import DAY
from checkpoint_git.tools.report.blocks import (
    Bar,
    Block,
    Board,
    Card,
    Column,
    Fold,
    Grid,
    Item,
    Items,
    Lane,
    Mark,
    Page,
    Prose,
    Section,
    Text,
    Timeline,
)
from checkpoint_git.tools.report.html import draw, render
from checkpoint_git.tools.report.markup import Markup
from tests.tools.report.test_markup import Reader, read


def draw_block(block: Block) -> Reader:
    return read(draw(block, 3))


def count(markup: Markup, name: str) -> int:
    return markup.html.count(f"<{name}")


def card(name: str) -> Card:
    return Card(
        name, "#skill-1", [Text("blocked", "warn", is_badge=True)], ["build / sprint-1", ""], Bar(1, 3, "rows"), ""
    )


def test_progress_is_said_in_words_and_in_numbers() -> None:
    reader = draw_block(Grid("Tasks", ("Name", "Done"), [["a", Bar(1, 3, "rows complete")]]))
    progress = next(dict(found) for name, found in reader.elements if name == "progress")
    assert (progress["value"], progress["max"], progress["aria-label"]) == ("1", "3", "1 of 3 rows complete")
    assert "1/3" in reader.texts


def test_a_table_has_a_caption_and_headers_of_columns_and_rows() -> None:
    reader = draw_block(Grid("Tickets", ("Ticket", "Role"), [["AB-1", "source"]], more=3))
    assert [(name, dict(found).get("scope")) for name, found in reader.elements if name == "th"] == [
        ("th", "col"),
        ("th", "col"),
        ("th", "row"),
    ]
    assert "Tickets" in reader.texts
    assert "and 3 more, which this page leaves out" in reader.texts


def test_headings_go_down_one_level_in_what_is_folded() -> None:
    inner = Items("Inner", [Item("x", Text("label", "bad", is_badge=True), [Text("note", is_code=True)])])
    markup = draw(Fold("skill-1", "Outer", [], [inner], is_open=True, is_heading=True), 3)
    assert (count(markup, "h3"), count(markup, "h4"), count(markup, "details")) == (1, 1, 1)
    assert ("id", "skill-1") in dict(read(markup).elements)["details"]


def test_few_columns_and_tall_ones_are_laid_in_rows() -> None:
    three = [Column(name, "", [card(name)]) for name in "abc"]
    tall = [Column("a", "", [card(str(at)) for at in range(5)]), *three[1:]]
    shapes = [dict(draw_block(Board(columns)).elements[0][1])["class"] for columns in (three, tall, three[:2])]
    assert shapes == ["board", "board rows", "board rows"]


def test_marks_stand_at_their_share_of_the_time_and_near_ones_are_one() -> None:
    marks = [Mark(0, "other", "first"), Mark(50 * DAY, "progress", "one"), Mark(50 * DAY + 60, "blocker", "two"),
             Mark(100 * DAY, "decision", "last")]  # fmt: skip
    reader = draw_block(Timeline("Timeline", "words", [Lane("build", marks)]))
    places = [dict(found)["x"] for name, found in reader.elements if name == "svg" and "x" in dict(found)]
    assert places == ["1.50%", "50.00%", "98.50%"]
    shapes = [str(dict(found)["class"]) for name, found in reader.elements if name == "path"]
    assert shapes[:3] == ["mark other", "mark blocker", "mark decision"]
    assert "one\ntwo" in reader.texts
    days = [text for text in reader.texts if re.fullmatch(r"\d{4}-\d\d-\d\d", text)]
    assert (days[0], days[-1]) == ("1970-01-01", "1970-04-11")


def test_a_short_time_is_told_with_hours_and_no_time_at_all_is_no_trouble() -> None:
    reader = draw_block(Timeline("Timeline", "", [Lane("build", [Mark(9 * DAY, "other", "x")])]))
    days = [text for text in reader.texts if re.fullmatch(r"\d\d-\d\d \d\d:\d\d", text)]
    assert (days[0], days[-1]) == ("01-09 00:00", "01-10 00:00"), "up to the last mark, and not beyond"
    assert draw_block(Timeline("Timeline", "", [])).elements


def test_a_page_is_one_document_with_a_skip_link_and_a_place_for_each_section() -> None:
    section = Section("board", "Board", [Prose("two\nlines")], "a note", "info")
    text = render(Page("Title", ["fact"], [Text("chip", is_badge=True)], [section], ["footnote"]))
    assert text.startswith('<!DOCTYPE html>\n<html lang="en">')
    assert text.index('href="#content"') < text.index("<header>") < text.index('id="content"')
    assert text.index('charset="utf-8"') < 100
    assert "two\nlines" in text
    assert '<section id="board" aria-labelledby="board-title" class="info">' in text


def test_the_same_page_is_the_same_bytes() -> None:
    page = Page("Title", [], [], [], [])
    assert render(page) == render(page)
