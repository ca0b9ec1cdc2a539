"""What a merge by lines did, as findings."""

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Line
from checkpoint_git.git.merges.merges import Versions
from checkpoint_git.tools.doctor.catalog import find_code
from checkpoint_git.tools.merges.audit import make_outcome
from checkpoint_git.tools.merges.audit_range import AuditResult
from checkpoint_git.tools.merges.audited_file import AuditedFile, Hit
from checkpoint_git.tools.merges.findings import (
    CODES,
    MOST_TOLD,
    NOT_AUDITED,
    NOT_REPAIRED,
    AuditedMerge,
    Event,
    list_hit_findings,
)

MADE = Event("4f1c2ab90d3e" + "0" * 28, ("main", "topic"), "Merge\nit")
FORESEEN = Event("", ("origin/main", "topic"))
HIT = Hit(
    "lost",
    ".checkpoints/build.checkpoint.json",
    "/blockers",
    "blockers[b1]",
    "blockers[b1]: gone",
    "second",
)


def findings_of(event: Event, hits: list[Hit]) -> list[Finding]:
    audited = AuditedFile(Versions(HIT.path, "", (), None, None, None, (1, 2)), {})
    audited.hits = hits
    return list_hit_findings(AuditedMerge(event, [audited]))


def test_what_is_foreseen_and_what_was_made_is_said_in_its_own_tense() -> None:
    (foreseen,) = findings_of(FORESEEN, [HIT])
    assert (
        foreseen.message
        == "a text merge of topic into origin/main loses an entry: blockers[b1]: gone"
    )
    (made,) = findings_of(MADE, [HIT._replace(line=7)])
    assert made.message.startswith("merge 4f1c2ab90d3e of main and topic (")
    assert made.message.endswith("lost an entry: blockers[b1]: gone")
    assert (made.code, made.level, made.where, made.line, str(made.hint)) == (
        "merge/lost-entry",
        "error",
        "/blockers",
        7,
        "checkpoint audit --all 4f1c2ab90d3e shows all that it did",
    )
    (squash,) = findings_of(MADE._replace(squash=True, parents=("1" * 40, "2" * 40)), [HIT])
    assert squash.message.startswith("squash 4f1c2ab90d3e of main and topic")


def test_what_seems_to_be_meant_is_a_note() -> None:
    (found,) = findings_of(MADE, [HIT._replace(is_meant=True)])
    assert (found.level, found.message.endswith("it seems to be meant")) == ("note", True)


def test_many_of_one_kind_in_one_file_are_counted() -> None:
    hits = [HIT._replace(where=f"/blockers/{number}") for number in range(MOST_TOLD + 5)]
    found = findings_of(MADE, [*hits, HIT._replace(kind="duplicated")])
    assert len(found) == MOST_TOLD + 2
    assert "5 more of this kind here" in found[-1].message
    assert found[-1].level == "error"


def test_every_code_has_a_rule_for_reports() -> None:
    rules = [find_code(code) for code in (*CODES.values(), NOT_AUDITED, NOT_REPAIRED)]
    assert all(rule is not None and rule.remedy for rule in rules)


def test_a_summary_counts_what_was_not_checked() -> None:
    lacking = AuditedMerge(MADE, [], reason="git has no object 4f1c2ab9; git fsck")
    summary = make_outcome(AuditResult(2, set(), [lacking], 0, ""), False).summary
    assert summary == [Line("2 merges, no damage, 1 not checked", "warn")]
