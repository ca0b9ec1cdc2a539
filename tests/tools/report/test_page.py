from checkpoint_git.core.finding import Finding
from checkpoint_git.core.html import PageParts, Section, badge, prose
from checkpoint_git.core.outcome import Line, Table
from checkpoint_git.protocols.contract import Summary
from checkpoint_git.tools.report.page import make_page, render
from tests.core.test_html import read


def page_of(*summaries: Summary, drift: list[Finding] | None = None) -> PageParts:
    return make_page("tidepool", "main", 0, summaries, drift, ["no git"])


def test_many_findings_are_folded_by_their_code() -> None:
    findings = [Finding(f"drift/{'ab'[at % 2]}", "warning", f"number {at}") for at in range(20)]
    (section,) = page_of(drift=findings).sections
    assert len(section.parts) == 2
    assert section.note.startswith("20 warnings")
    assert len(page_of(drift=findings[:3]).sections[0].parts) == 1


def test_without_the_doctor_the_broken_files_are_shown() -> None:
    (section,) = page_of(Summary(findings=[Finding("json/x", "error", "cut off")])).sections
    assert "cut off" in section.parts[0]


def test_what_a_protocol_shows_in_status_is_on_the_page_where_it_has_no_parts_for_it() -> None:
    rows = [("first <b>", Line("open"))]
    page = page_of(Summary(lead=[Line("2 notes"), Line("")], blocks=[Table(("note", "state"), rows)]))
    reader = read(render(page))
    assert [section.anchor for section in page.sections] == ["drift", "beside"]
    assert {"2 notes", "first <b>", "open", "State"} <= set(reader.texts)


def test_what_matters_now_comes_before_what_is_out_of_date_and_details_after_it() -> None:
    parts = PageParts(sections=[Section("next", "Next", [])], details=[Section("skills", "Skills", [])])
    assert [section.anchor for section in page_of(Summary(page=parts)).sections] == ["next", "drift", "skills"]


def test_a_page_is_one_document_with_a_skip_link_and_a_place_for_each_section() -> None:
    section = Section("board", "Board", [prose("two\nlines")], "a note", "info")
    text = render(PageParts("Title", ["fact"], [badge("chip")], [section], notes=["footnote"]))
    assert text.startswith('<!DOCTYPE html>\n<html lang="en">')
    assert text.index('href="#content"') < text.index("<header>") < text.index('id="content"')
    assert text.index('charset="utf-8"') < 100
    assert "two\nlines" in text
    assert '<section id="board" aria-labelledby="board-title" class="info">' in text


def test_the_same_page_is_the_same_bytes() -> None:
    assert render(PageParts("Title")) == render(PageParts("Title"))
