"""Make the page of a report: one HTML file without network and without other scripts than its own.

Every protocol makes its parts of the page; here they are put together, with the doctor's findings.
"""

import os
import re
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from checkpoint_git.core.clock import read_instant, write_instant
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Block
from checkpoint_git.core.page import PageParts, Section, Tone, find_link, show, words
from checkpoint_git.core.terminal_text import plural, quote_word, shorten
from checkpoint_git.disk.read import read_own
from checkpoint_git.protocols.contract import Summary
from checkpoint_git.protocols.digest import group_in_words

_MOST_FINDINGS = 120
_FEW_FINDINGS = 8  # that need no grouping
_TONES: dict[str, Tone] = {"error": "bad", "warning": "warn", "note": ""}
_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_SECTIONS = "tools/report/sections.html"


def make_page(
    name: str,
    branch: str,
    now: int,
    summaries: Sequence[Summary],
    drift: Sequence[Finding] | None,
    trouble: Sequence[str],
) -> PageParts:
    """Return one page of all parts.

    name: of the project. drift: None without the doctor. trouble: what failed.
    """
    parts = [summary.page or PageParts() for summary in summaries]
    chips = list[tuple[str, Tone]]()
    facts = list[str]()
    notes = list[str]()
    sections = list[Section]()
    details = list[Section]()
    for part in parts:
        chips += part.chips
        facts += part.facts
        notes += part.notes
        sections += part.sections
        details += part.details

    if drift:
        has_errors = any(finding.level == "error" for finding in drift)
        chips.append((plural(len(drift), "issue"), "bad" if has_errors else "warn"))

    broken = list[Finding]()
    for summary in summaries:
        broken += summary.findings
    sections.append(_drift(broken if drift is None else drift, is_asked=drift is not None))
    sections += details
    blocks = _list_other_blocks(summaries)
    if blocks:
        values = {"blocks": blocks}
        sections.append(Section(_SECTIONS, "beside", "Beside the checkpoints", values))

    title = next((part.title for part in parts if part.title), name)
    made = f"generated {write_instant(now)[:16].replace('T', ' at ')} UTC"
    lead = next((part.lead for part in parts if part.lead), "")
    return PageParts(
        title=f"{title}: status of all work",
        facts=[made, branch and f"branch {shorten(branch, 80)}", *facts],
        chips=chips,
        sections=sections,
        notes=[*notes, *trouble],
        lead=lead[:1].upper() + lead[1:],
    )


def _list_other_blocks(summaries: Sequence[Summary]) -> list[Block]:
    """Return what `status` shows of protocols that have no parts for a page."""
    blocks = list[Block]()
    for summary in summaries:
        if summary.page is None:
            blocks += [*summary.lead, *summary.blocks]
    return blocks


def _drift(findings: Sequence[Finding], *, is_asked: bool) -> Section:
    """Return the section about drift. is_asked: the doctor ran."""
    source = "broken files only: the doctor did not run (--no-doctor)"
    good = "No checkpoint is broken."
    if is_asked:
        source = "by checkpoint doctor"
        good = "History, files and installation agree with the checkpoints."
    if findings:
        good = ""

    levels = [*_TONES]
    ordered = sorted(findings, key=lambda finding: levels.index(finding.level))
    shown = ordered[:_MOST_FINDINGS]
    groups = [("", shown)]
    if len(shown) > _FEW_FINDINGS:
        groups = group_in_words(shown)

    parts = []
    for level in levels:
        count = sum(finding.level == level for finding in findings)
        if count:
            parts.append(plural(count, level))
    parts.append(source)
    values = {
        "groups": groups,
        "tones": _TONES,
        "left": len(findings) - len(shown),
        "good": good,
    }
    return Section(_SECTIONS, "drift", "Out of date", values, ", ".join(parts))


def render(page: PageParts) -> str:
    """Return the page as HTML. Texts are untrusted: secrets are redacted, control characters
    shown, long texts cut, and all of it escaped.

    The page's frame, style and script are beside this module; style and script are allowed by
    their hashes alone.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    def finish(value: Any) -> Any:
        if isinstance(value, Markup):
            return value
        return show(str(value))

    environment = Environment(
        autoescape=True,
        finalize=finish,
        loader=FileSystemLoader(_PACKAGE),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(
        shorten=shorten, find_link=find_link, instant=_instant, quote=quote_word, words=words
    )
    rules = make_policy(read_own(__file__, "page.css"), read_own(__file__, "page.js"))
    policy = Markup(rules)  # noqa: S704  our own, and hashes look like secrets
    text = environment.get_template("tools/report/page.html").render(page=page, policy=policy)
    # the log of a forge's job would obey a line that begins with "::"
    return re.sub(r"(?m)^([^\S\n]*)::", r"\1&#58;:", text)


def _instant(value: int | str) -> str:
    """Return an instant as text, "" for an invalid one. value: seconds or a timestamp."""
    if isinstance(value, int):
        return write_instant(value)
    found = read_instant(value)
    if found is None:
        return ""
    return write_instant(found[0])


def make_policy(style: str, script: str) -> str:
    """Return the content security policy: nothing is loaded, and only this style and this script
    are allowed.
    """
    rules = (
        "default-src 'none'",
        f"style-src {_hash(style)}",
        f"script-src {_hash(script)}",
        "base-uri 'none'",
        "form-action 'none'",
    )
    return "; ".join(rules)


def _hash(text: str) -> str:
    digest = b64encode(sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
