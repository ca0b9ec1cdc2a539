"""The page of a report as one HTML file that needs nothing else: no network, no script but its own."""

import os
from base64 import b64encode
from collections.abc import Iterator, Sequence
from hashlib import sha256

from checkpoint_git.core import html as h
from checkpoint_git.core.clock import write_instant
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.html import Markup, PageParts, Section, Tone
from checkpoint_git.core.outcome import Table
from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.protocols.contract import Summary

_MOST_FINDINGS = 120
_FEW_FINDINGS = 8  # that need no grouping
_LEVELS: dict[str, Tone] = {"error": "bad", "warning": "warn", "note": ""}
_HERE = os.path.dirname(os.path.abspath(__file__))
_SECTION = """\
<section id="{}" aria-labelledby="{}-title"{}><div class="heading"><h2 id="{}-title">{}</h2>{}</div>{}</section>"""


def make_page(
    name: str,
    branch: str,
    now: int,
    summaries: Sequence[Summary],
    drift: Sequence[Finding] | None,
    trouble: Sequence[str],
) -> PageParts:
    """The parts of all protocols as those of one page. name: of the project, where no protocol says it. drift: None
    where the doctor was not asked. trouble: what could not be read, and why.
    """
    parts = [summary.page or PageParts(beside=[*_draw_blocks(summary)]) for summary in summaries]
    broken = [finding for summary in summaries for finding in summary.findings]
    at = write_instant(now)
    facts = [f"generated {at[:10]} at {at[11:16]} UTC", f"branch {shorten(branch, 80)}" if branch else ""]
    chips = [chip for part in parts for chip in part.chips]
    if drift:
        worst: Tone = "bad" if any(one.level == "error" for one in drift) else "warn"
        chips.append(h.badge(h.count_of(len(drift), "issue"), worst))
    sections = [section for part in parts for section in part.sections]
    sections.append(_drift(broken if drift is None else drift, is_asked=drift is not None))
    sections += [section for part in parts for section in part.details]
    beside = [piece for part in parts for piece in part.beside]
    if beside:
        sections.append(Section("beside", "Beside the checkpoints", beside))
    return PageParts(
        title=f"{next((part.title for part in parts if part.title), name)}: status of all work",
        facts=[*facts, *(fact for part in parts for fact in part.facts)],
        chips=chips,
        sections=sections,
        notes=[*(note for part in parts for note in part.notes), *trouble],
    )


def _draw_blocks(summary: Summary) -> Iterator[Markup]:
    """What `status` shows of a protocol that has no parts of its own for a page."""
    for block in (*summary.lead, *summary.blocks):
        if isinstance(block, Table):
            rows = [[cell if isinstance(cell, str) else cell.text for cell in row] for row in block.rows]
            headers = [header.capitalize() for header in block.headers]
            yield h.grid(headers[0], headers, rows)
        elif block.text:
            yield h.prose(block.text)


def _drift(findings: Sequence[Finding], *, is_asked: bool) -> Section:
    source = "by checkpoint doctor" if is_asked else "the doctor was not asked; broken files only"
    if not findings:
        text = "No checkpoint is broken."
        if is_asked:
            text = "Nothing differs: history, files and installation agree with the checkpoints."
        return Section("drift", "Out of date", [h.prose(text, "good")], source)
    shown = sorted(findings, key=lambda one: [*_LEVELS].index(one.level))[:_MOST_FINDINGS]
    more = len(findings) - len(shown)
    counts = [(sum(one.level == level for one in findings), level) for level in _LEVELS]
    counted = ", ".join(h.count_of(*each) for each in counts if each[0])
    if len(shown) <= _FEW_FINDINGS:
        parts = [h.items([_finding(one) for one in shown], more=more)]
    else:
        parts = []
        for each in dict.fromkeys(one.code for one in shown):
            members = [one for one in shown if one.code == each]
            label = h.badge(f"{len(members)} x {members[0].level}", _LEVELS[members[0].level])
            parts.append(h.fold(each, [h.items([_finding(one) for one in members])], [label]))
        parts += [h.prose(f"and {more} more: checkpoint doctor", "dim")] if more else []
    return Section("drift", "Out of date", parts, f"{counted}, {source}")


def _finding(finding: Finding) -> Markup:
    place = f"{finding.path}:{finding.line}" if finding.path and finding.line else finding.path
    notes = [h.code(shorten(place, 300)), shorten(finding.hint, 500), h.code(finding.code)]
    return h.item(shorten(finding.message, 800), h.badge(finding.level, _LEVELS[finding.level]), notes)


# Every protocol makes its own parts; here they are put together, with what the doctor found. The page's frame, style
# and script are beside this module; style and script are allowed by their hashes alone.
def render(page: PageParts) -> str:
    style, script = _read_own("page.css"), _read_own("page.js")
    sections = []
    for one in page.sections:
        note = h.html('<p class="note">{}</p>', one.note) if one.note else None
        anchor = one.anchor
        sections.append(h.html(_SECTION, anchor, anchor, h.classes(one.tone), anchor, one.title, note, one.parts))
    return h.html(
        _read_own("page.html"),
        h.own_text(make_policy(style, script)), page.title, h.own_content(style),
        page.title, [h.html("<span>{}</span>", fact) for fact in page.facts if fact],
        [h.html("<li>{}</li>", chip) for chip in page.chips],
        [h.html('<li><a href="#{}">{}</a></li>', one.anchor, one.title) for one in page.sections],
        sections, [h.html("<p>{}</p>", note) for note in page.notes], h.own_content(script),
    )  # fmt: skip


def make_policy(style: str, script: str) -> str:
    """The content security policy: nothing is loaded, and of styles and scripts these two alone are taken."""
    hashes = (f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in (style, script))
    rules = ("default-src 'none'", "style-src {}", "script-src {}", "base-uri 'none'", "form-action 'none'")
    return "; ".join(rules).format(*hashes)


def _read_own(name: str) -> str:
    with open(os.path.join(_HERE, name), encoding="utf-8") as stream:
        return stream.read()
