"""Pages and printed texts have the numbers that the code has, and the site's page of limits has
every one.
"""

import re

import pytest

from checkpoint_git.core import jsontext, yamltext
from checkpoint_git.git.merges.merges import DAYS, MOST_MERGES
from checkpoint_git.git.settings import SETTINGS, STALE_DAYS
from checkpoint_git.protocols.limits import BLOCKED_DAYS, COMPLETE_DAYS
from checkpoint_git.protocols.skill.rotation import KEPT_DECISIONS, KEPT_RUNS
from checkpoint_git.protocols.skill.rules import MAX_DECISIONS, MAX_SIZE, MAX_SUMMARY
from docs import reference
from docs.reference import list_limits, read_limits, write_number
from tests.architecture.imports import ROOT
from tests.support.rows import rows

CODES = "checkpoint_git/core/codes.py"
CHECKS = "checkpoint_git/protocols/skill/drift/checks.py"
SKILL = "docs/skill-checkpoints.md"
WORDS = {"three": 3, "five": 5, "seven": 7}
STALE = int(SETTINGS[STALE_DAYS].default)
# what a page or a printed text says in a sentence: the sentence, and the number that holds
SENTENCES = [
    (CHECKS, r"not updated for more than checkpoint.staleDays days \(default: N\)", STALE),
    (CHECKS, r"Blocked for more than blocked_days days \(default: N\)", BLOCKED_DAYS),
    (CHECKS, r"Complete for more than complete_days days \(default: N\)", COMPLETE_DAYS),
    (CHECKS, "A file over N KB", MAX_SIZE // 1024),
    ("docs/doctor.md", r"in_progress_days = \d+ +# N", STALE),
    ("docs/doctor.md", r"blocked_days = \d+ +# N", BLOCKED_DAYS),
    ("docs/doctor.md", r"complete_days = \d+ +# N", COMPLETE_DAYS),
    ("docs/doctor.md", "checks the latest N merges", MOST_MERGES),
    ("docs/doctor.md", "merges of the last N days", DAYS),
    (SKILL, "in progress, and written within N days", STALE),
    ("docs/workflow.md", "started N or more days ago", STALE),
    ("docs/report.md", "open for more than N days", BLOCKED_DAYS),
    ("docs/glossary.md", "N days for work in progress", STALE),
    ("checkpoint_git/protocols/skill/verbs/resume.py", "updated within the last N days", STALE),
    (SKILL, "all but the N newest runs", KEPT_RUNS),
    (SKILL, "`key_decisions`: all but the last N", KEPT_DECISIONS),
    (SKILL, r"`skill/summary-too-long` \(N characters\)", MAX_SUMMARY),
    (SKILL, r"`skill/too-many-decisions` \(N\)", MAX_DECISIONS),
    (SKILL, r"`skill/file-too-big` \(N KB\)", MAX_SIZE // 1024),
    (SKILL, r"`json/too-deep` \(N levels\)", jsontext.MAX_DEPTH),
    (SKILL, r"`json/too-large` \(N MB\)", jsontext.MAX_BYTES >> 20),
    ("docs/workflow.md", r"`workflow/stale` \(N days, `checkpoint.staleDays`\)", STALE),
    ("docs/memory.md", r"`memory/outdated` \(N days, `checkpoint.staleDays`\)", STALE),
    ("docs/pipeline.md", r"`yaml/too-large` \(N MB", yamltext.MAX_BYTES >> 20),
    ("docs/pipeline.md", r"`yaml/too-deep` \(N levels\)", yamltext.MAX_DEPTH),
    (CODES, r"Older than checkpoint.staleDays days \(default: N\)", STALE),
    (CODES, r"Not saved for checkpoint.staleDays days \(default: N\)", STALE),
    (CODES, "A summary of more than N characters", MAX_SUMMARY),
    (CODES, "More than N key decisions", MAX_DECISIONS),
    (CODES, "A file over N KB", MAX_SIZE // 1024),
    (CODES, '"json/too-deep", "Nested more than N levels', jsontext.MAX_DEPTH),
    (CODES, '"json/too-large", "Larger than N MB', jsontext.MAX_BYTES >> 20),
    (CODES, '"yaml/too-deep", "Nested more than N levels', yamltext.MAX_DEPTH),
    (CODES, "Larger than N MB, or more than 50,000 values", yamltext.MAX_BYTES >> 20),
    (CODES, "Larger than 1 MB, or more than N values", yamltext.MAX_VALUES),
]

PAGE = (ROOT / "docs/limits.md").read_text()
SHOWN = re.findall(r"`([\w.]+)\.(\w+)` ([\d,.]*\d)", PAGE)
SHOWN_LIMIT = re.compile(r"`[a-z_]+(?:\.[a-z_]+)*\.[A-Z_]+`")


def test_a_limit_on_the_page_and_in_the_reference_has_the_number_of_the_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limits = read_limits()
    numbers = {f"{module}.{name}": write_number(limits[module][name]) for module, name, _ in SHOWN}
    assert len(SHOWN) > 30
    assert {f"{module}.{name}": number for module, name, number in SHOWN} == numbers

    monkeypatch.setattr(reference, "read_limits", lambda: limits)
    page = "\n".join(list_limits())
    assert sum(len(names) for names in limits.values()) > 150
    assert {"_LONGEST_REASON", "_LONGEST_BRANCH"} <= limits["git.remotes"].keys()
    assert all(
        f"`{name}` {write_number(value)}" in page
        for names in limits.values()
        for name, value in names.items()
    )


def test_no_other_page_repeats_the_limits() -> None:
    pages = [page for page in (ROOT / "docs").rglob("*.md") if page.parent.name != "generated"]
    shown = {page.name for page in pages if len(SHOWN_LIMIT.findall(page.read_text())) > 2}
    assert shown == {"limits.md"}


@rows(("file", "sentence", "number"), SENTENCES)
def test_a_sentence_has_the_number_of_the_code(file: str, sentence: str, number: int) -> None:
    text = " ".join((ROOT / file).read_text("utf-8").split())
    pattern = re.sub(r"\bN\b", lambda _: r"(\d[\d,]*|three|five|seven)", sentence)
    found = re.search(pattern, text)
    assert found, "the sentence is not there: change it here, too"
    shown = found[1].replace(",", "")
    assert (int(shown) if shown.isdigit() else WORDS[shown]) == number
