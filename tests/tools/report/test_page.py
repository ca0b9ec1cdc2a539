import re
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import checkpoint_git
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Line, Table
from checkpoint_git.core.page import PageParts, Section, show
from checkpoint_git.protocols.contract import Summary
from checkpoint_git.tools.report.page import make_page, render
from tests.support.html import Reader, main_part, read
from tests.support.rows import rows

TEMPLATES = sorted(Path(checkpoint_git.__file__).parent.rglob("*.html"))
EMPTY: dict[str, Any] = {
    "message": "",
    "tone": "",
    "first": [],
    "later": [],
    "left": 0,
    "skipped": [],
    "skipped_left": 0,
}


def page_of(*summaries: Summary, drift: list[Finding] | None = None) -> PageParts:
    return make_page("tidepool", "main", 0, summaries, drift, ["no git"])


def section_of(anchor: str, **values: Any) -> Section:
    return Section("protocols/skill/brief/page.html", anchor, anchor.title(), {**EMPTY, **values})


def drawn(page: PageParts) -> str:
    return main_part(render(page))


def read_page_of(text: str) -> Reader:
    """Return a page that has this text in each place that can hold one."""
    page = PageParts(
        text, [text], [(text, "good")], [section_of("next", message=text)], notes=[text]
    )
    return read(render(page))


def test_any_text_stays_text() -> None:
    plain, empty = len(read_page_of("x").elements), len(read_page_of("").elements)
    assert empty == plain - 2

    @given(st.text(min_size=1, max_size=300))
    def try_text(text: str) -> None:
        reader = read_page_of(text)
        assert len(reader.elements) == plain
        assert "".join(reader.texts).count(show(text)) >= 4

    try_text()


@given(st.text(max_size=100))
def test_any_attribute_stays_one_attribute(text: str) -> None:
    blocks = [Table((text, text), [("a", text)])]
    cells = [
        dict(found)
        for name, found in read(drawn(page_of(Summary(blocks=blocks)))).elements
        if name == "td"
    ]
    assert [set(cell) - {"class"} for cell in cells] == [{"data-head"}]
    assert cells[0]["data-head"] == show(text.capitalize())


@rows("template", TEMPLATES)
def test_no_template_turns_the_escaping_off_and_every_attribute_is_quoted(template: Path) -> None:
    source = template.read_text("utf-8")
    assert not re.search(r"\bsafe\b|autoescape|forceescape|Markup|=\{\{|=\{%", source)


def test_many_findings_are_folded_by_their_cause_under_a_heading_in_words() -> None:
    causes = ("files are missing", "files moved: a/ -> b/")
    findings = [
        Finding(f"drift/{at % 2}", "warning", f"number {at}", cause=causes[at % 2])
        for at in range(20)
    ]
    page = page_of(drift=findings)
    assert page.sections[0].note.startswith("20 warnings")
    headings = re.findall('<span class="title">([^<]*)', drawn(page))
    assert headings == ["10 files are missing", "10 files moved: a/ -&gt; b/"]
    assert "<details" not in drawn(page_of(drift=findings[:3]))


def test_without_the_doctor_the_broken_files_are_shown() -> None:
    assert "cut off" in drawn(page_of(Summary(findings=[Finding("json/x", "error", "cut off")])))


def test_findings_beyond_the_most_are_counted() -> None:
    findings = [Finding("drift/a", "warning", f"number {at}") for at in range(130)]
    assert "and 10 more: " in drawn(page_of(drift=findings))


def test_what_a_protocol_shows_in_status_is_on_the_page_where_it_has_no_parts_for_it() -> None:
    rows = [("first <b>", Line("open"))]
    page = page_of(
        Summary(lead=[Line("2 notes"), Line("")], blocks=[Table(("note", "state"), rows)])
    )
    reader = read(render(page))
    assert [section.anchor for section in page.sections] == ["drift", "beside"]
    assert {"2 notes", "first <b>", "open", "State"} <= set(reader.texts)


def test_what_matters_now_comes_before_what_is_out_of_date_and_details_after_it() -> None:
    parts = PageParts(sections=[section_of("next")], details=[section_of("skills")])
    assert [section.anchor for section in page_of(Summary(page=parts)).sections] == [
        "next",
        "drift",
        "skills",
    ]


def test_a_page_is_one_document_with_a_skip_link_and_a_place_for_each_section() -> None:
    section = section_of("next", message="two\nlines")._replace(note="a note", tone="info")
    text = render(PageParts("Title", ["fact"], [("chip", "good")], [section], notes=["footnote"]))
    assert text.startswith('<!DOCTYPE html>\n<html lang="en">')
    assert text.index('href="#content"') < text.index("<header>") < text.index('id="content"')
    assert text.index('charset="utf-8"') < 100
    assert "two\nlines" in text
    assert '<section id="next" aria-labelledby="next-title" class="info">' in text


def test_the_same_page_is_the_same_bytes() -> None:
    assert render(PageParts("Title")) == render(PageParts("Title"))
