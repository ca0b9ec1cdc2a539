"""All checks of the doctor, as a table and in its page."""

import re
from pathlib import Path

from checkpoint_git.core.finding import Finding
from checkpoint_git.protocols.check import locate_all, run_checks
from checkpoint_git.protocols.skill.drift.document_summary import summarize_document
from checkpoint_git.protocols.skill.drift.facts import SkillFacts
from checkpoint_git.protocols.validate import check_document
from checkpoint_git.tools.doctor.catalog import choose_checks, list_checks
from tests.support.contexts import give, make_context
from tests.support.samples import checkpoint_text

PATH = ".checkpoints/build.checkpoint.json"
PAGE = Path(__file__).parents[3] / "docs/doctor.md"


def test_every_check_has_a_code_of_its_own_and_says_what_it_does() -> None:
    assert len({check.code for check in list_checks()}) == len(list_checks()) > 40
    for check in list_checks():
        assert re.fullmatch(r"[a-z]+(/[a-z-]+)?", check.code)
        assert check.looks_at
        assert check.remedy
        assert check.fix in ("safe", "by name", "no")


def test_the_checks_of_a_group_are_together() -> None:
    groups = [check.group for check in list_checks()]
    starts = [group for at, group in enumerate(groups) if not at or groups[at - 1] != group]
    assert starts == list(dict.fromkeys(groups))


def test_a_group_stands_for_its_checks() -> None:
    assert {check.group for check in choose_checks(["drift"])} == {"drift"}
    assert [check.code for check in choose_checks(["driver/proof", "schema"])] == [
        "schema",
        "driver/proof",
    ]
    assert {check.when for check in choose_checks([])} == {"always"}
    assert choose_checks(["drif", "nothing"]) == []
    assert {check.group for check in choose_checks(["schema"], online=True)} == {"schema", "online"}


def test_findings_carry_their_line_and_come_in_the_order_of_the_text() -> None:
    text = checkpoint_text(
        skill_state={"merged_prs": [{"number": at} for at in range(51)]}, superseded=[{"step": "x"}]
    )
    summary = summarize_document(check_document(PATH, text.encode(), now=0))
    context = give(make_context(), SkillFacts, summaries=[summary])
    checks = choose_checks(["content/unreviewed", "content/rotation-due"])
    found = locate_all([Finding("x", "note", "x"), *run_checks(checks, context)], {PATH: text}.get)
    assert [finding.code for finding in found] == [
        "content/rotation-due",
        "content/unreviewed",
        "x",
    ]
    assert all(finding.line > 1 and finding.path == PATH for finding in found[:2])
