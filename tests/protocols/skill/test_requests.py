"""What sentences of checkpoints ask for: the line between "land it" and "it is mentioned"."""

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoint_git.core.references import find_references, spell_ranges
from checkpoint_git.protocols.skill.requests import (
    Use,
    find_resolution,
    find_shipped,
    find_supports,
    find_uses,
    read_request,
)

SENTENCES = json.loads(Path(__file__).with_name("requests.json").read_text("utf-8"))
# Kinds of sentences that people wrote elsewhere, in our words. The engine is tuned on one half; the other only judges.
LABELLED = json.loads(Path(__file__).with_name("request_labels.json").read_text("utf-8"))
# Met once before anything was changed for them; docs/doctor.md has the figures of that first sight.
FIRST_SIGHT = json.loads(Path(__file__).with_name("request_first_sight.json").read_text("utf-8"))

# What requests are, what may be said behind them, and what more may be asked for: every combination is tried.
GRID = json.loads(Path(__file__).with_name("request_grid.json").read_text("utf-8"))

EVIDENCE = {reference: f"proof of {reference}" for reference in ("#12", "#13", "!12", "ABC-12", "acme/app#12")}


@pytest.mark.parametrize(
    "text",
    [
        "Merge #12",
        "merge PR #12",
        "Merge PR 12 into main",
        "Please merge pull request #12.",
        "TODO: land #12",
        "1. Review #12",
        "- finish #12",
        "- [ ] Merge #12",
        "[ ] Review PR #12",
        "Finish ABC-12",
        "Open a PR for ABC-12",
        "Open PR #12",
        "Review https://github.com/acme/app/pull/12",
        "Review the open PR #12 (feat: search)",
        "Get #12 merged",
        "Get PR #12 reviewed and merged",
        "Squash-merge #12 once CI is green",
        "Ship #12 today!",
        "Complete the review of #12",
        "Address review comments on PR #12",
        "Resume v1.4 PR 1 (ABC-12)",
        "Work on ABC-12",
        "Implement ABC-12",
        "Merge #12 and #13",
        "Merge #12, #13",
        "Rebase and merge #12",
        "Merge `#12`",
        "Add retries to the client (#12)",
        "Implement search and sorting (ABC-12)",
        "The owner merges #12 when the checks are green",
        "Drive #12 to green",
        "Merge #12 or close it",
        "Finish PR #12: repair the parser, rename the flag",
        "Finish the review and CI on PR #12",
        "Merge #12 — JSON output, after #13 lands",
        "Validate and merge #12",
        "Merge PR #12; unblocks the remaining tests",
        "Merge PR #12 (release was cut from the branch)",
        "Code review PR #12",
        "User decision: merge PR #12 or hold for review",
        "Watch PR #12 until it merges or needs me",
        "Watch PR #12 and take CI to green",
        "Review PR #12, decide merge vs changes",
        "Check PR #12 CI/CD status",
        "Review search PRs (#12, #13)",
        "Land PR #12 - open, behind main, needs rebase",
        "Monitor PR #12 for a re-review",
        "Fix PR #12 test failures",
        "Review PR #12; do not merge or deploy it",
        "Merge PR #12 if every check holds; otherwise stop and report the blocker",
        "Merge the search PR (#12)",
        "Merge search (#12)",
        "Get the search PR (#12) merged",
        "Land the auth refactor, PR #12",
        "Ops-Skripte in `main` mergen (PR #12)",
        "Make sure #12 gets merged",
        "See that #12 gets merged",
        "merge pull/12",
        "Nudge reviewers on #12",
        "Get PR #12 merge-ready",
        "Ready to merge (PR #12) \u2014 waiting on you.",
        "Relire la PR #12 et la merger si conforme",
        "Address review feedback on PR #12 <!-- id: 19 -->",
        "Check PR #12 mergeability, rebase if needed",
        "PR #12 needs review/merge.",
        "Fusionar PR #12 después de confirmar sus checks",
        "Mergear PR #12 depois que a CI passar",
        "Confirm PR #12 required checks passed before merge",
        "Mark PR #12 ready, then the explicit merge approval",
        "Land #12, then immediately rebase/merge #13",
        "PR #12 \ucd5c\uc885 \ud310\ub2e8",
    ],
)
def test_an_action_that_asks_to_land_something_is_shipped_once_that_is_merged(text: str) -> None:
    assert find_shipped(text, EVIDENCE), find_uses(text)


@pytest.mark.parametrize(
    "text",
    [
        "Follow up on #12",
        "Review the fallout of #12",
        "Review #12's fallout",
        "Fix the regression from #12",
        "Fix #12 regression",
        "after #12 merges do the docs",
        "Once PR #12 is merged, hand off to the user",
        "Write release notes for #12",
        "Revert #12",
        "Backport #12 to 1.x",
        "Cut the branch from main (includes #12 and #13)",
        "Deploy #12",
        "Ship #12 to production",
        "Do not merge #12",
        "Don't merge #12 yet",
        "Never merge #12",
        "Rebase onto #12",
        "Document the search API (#12)",
        "Add tests for search (follow-up to #12)",
        "Add docs for search (#12)",
        "PR 12: write the parser",
        "Read #12",
        "Continue from #12",
        "Test #12 on Windows",
        "Finish the rest of ABC-12",
        "step #12",
        "Verify the fix (#12)",
        "User merged #12 by mistake",
        "Drive #12 to production",
        "Review #12's new CI run logs and dashboards",
        "Merge main into the search PR (#12)",
        "Never review, approve, or merge #12",
        "Implement #12",
        "Fix #12",
        "Close #12",
        "Next: PR #12",
        "Next step: PR #12 - the parser",
        "Continue where PR #12 left off",
        "Ask Ada why PR #12 was merged",
        "Tell Ada PR #12 is merged",
        "Wait for PR #12 (write docs in the meantime)",
        "Create a ticket for #12",
        "Follow up on PR #12 with a test",
        "Wait for PR #12, meanwhile write the docs",
        "\u5408\u5e76 #12\u3001\u66f4\u65b0\u6587\u6863",
        "Merge #12 is cancelled",
        "Merge #12: cancelled",
        "",
    ],
)
def test_an_action_that_only_mentions_merged_work_is_not_shipped(text: str) -> None:
    assert find_shipped(text, EVIDENCE) is None
    assert not {Use("#12", "asked"), Use("ABC-12", "asked")} & {*find_uses(text)}


@pytest.mark.parametrize(
    "text",
    [
        "Merge #12, then deploy",
        "Rebase #12, then run its production-chain validation and the independent review",
        "Confirm PR #12 is merged - and the import if it ran",
        "Fusionar #12 después desplegar",
        "Merge #12 (copy the plan over, then renumber it)",
        "Merge #12, fix the comment in notes.yaml",
        "Merge #12, rebase the other branches if needed",
        "Merge #12 and deploy to staging",
        "Write the docs, then merge #12",
        "Merge #12. Tell the team.",
        "Merge #12; tag 1.2",
        "Merge #12 and #99",
        "Review #12 and write the report",
        "Update the changelog and merge #12",
        "The owner merges #12, then tests it on a phone",
        "Merge #12 or close it and tell the team",
        "Finish PR #12: repair the parser, tag 1.2",
        "Merge #12 — DEPLOY, after #13 lands",
        "Land #12 timeline data model",
        "Merge #12 additions (the gate, the markers)",
        "Monitor PR #12 for any fix",
        "Review PR #12 diff, decide merge vs changes, hardware-validate the timing",
        "Review PR #12 while tracking the evidence for ABC-13",
        "Merge PR #12 after review, then keep the gates as they are",
        "Merge #12 by Monday and mail Ada",
        "Review PR #12 for security, paint the fence",
        "Merge #12 now disable v1",
        "Merge #12. Preserve a backup of the database first.",
        "Merge the search PR (#12) and deploy",
        "Merge PR #12 \u00b7 write the release notes",
        "Merge #12, updating the changelog",
        "Merge #12, tagging 1.2",
        "Merge #12, making sure to rotate the signing key",
        "Merge #12 while you migrate the users table",
        "Merge #12 in tandem with updating the wiki",
        "Merge #12 to main and to release/1.2",
        "Merge #12 today, docs tomorrow",
        "Merge #12 (rotate the tokens too)",
        "Merge #12 (needs docs)",
        "Merge #12 (docs still missing)",
        "Merge #12 (first: back up the database)",
        "Merge #12? No.",
        "Merge #12. Keys should be rotated.",
        "Merge #12. Key rotation is still open.",
        "Merge #12. Worker restart required.",
        "Merge #12. This requires a manual restart of the worker.",
        "Merge #12. The reply to Ada is due.",
        "Merge #12 again after the revert",
        "Merge #12 now, docs later",
        "Merge #12 this week, docs next week",
        "Address comments on #12 in a new PR",
        "Hand off #12 to Ada and brief her",
        "Merge #12. The exporter hasn't been ported",
        "Merge #12. The exporter port is next",
        "Review #12 after it merged",
        "Merge #12 \u2014 up next the parser",
        "Merge #12 \u274c",
        "\u5408\u5e76 PR #12 \u4e4b\u524d\u5199\u6587\u6863",
        "Merge #12 \u279c write the docs",
        "Merge #12 \u25ba write the docs",
        "Merge #12 \u21e2 write the docs",
        "Merge #12 \u23ed write the docs",
        "Merge #12 \u2b95 write the docs",
        "Merge #12 \u2026 write the docs",
        "Merge #12 \U0001f680 write the docs",
        "Merge #12 \u2705 write the docs",
        "Merge #12 \u2023 write the docs",
        "Merge #12 \u25aa write the docs",
    ],
)
def test_an_action_that_asks_for_more_is_not_shipped_as_a_whole(text: str) -> None:
    assert Use("#12", "asked") in find_uses(text)
    assert find_shipped(text, EVIDENCE) is None


@pytest.mark.parametrize(
    "text",
    [
        "After #12 lands, deploy",
        "Wait for #12, then deploy",
        "Once #12 is in: tag it",
        "blocked by #12",
        "Waiting on PR #12 for the cache",
        "waiting on #12 merge + Engineer rebase",
    ],
)
def test_an_action_that_waits_for_merged_work_says_so(text: str) -> None:
    assert [(use.reference, use.role) for use in find_uses(text)] == [("#12", "waits")]


def test_a_heading_is_told_from_a_plans_step() -> None:
    assert [use.role for use in find_uses("ABC-12: write the parser")] == ["about"]
    assert [use.role for use in find_uses("[ABC-12] write the parser")] == ["about"]
    assert [use.role for use in find_uses("[x] Merge #12")] == ["mentioned"]
    assert find_uses("PR 2: write the parser") == []
    assert [use.reference for use in find_uses("PR 2 (ABC-12): write the parser")] == ["ABC-12"]


@pytest.mark.parametrize(
    "text",
    [
        "Merge #12",
        "Fixed by #12",
        "resolved in PR #12",
        "Wait for #12",
        "#12 fixes this",
        "Lands with #12",
        "Once #12 is merged, retry",
    ],
)
def test_a_resolution_that_rests_on_something_names_it(text: str) -> None:
    assert find_supports(text) == ["#12"]


@pytest.mark.parametrize("text", ["Do as in #12", "Revert #12", "Not the fix from #12", "Ask about #12"])
def test_a_resolution_that_only_mentions_something_does_not_rest_on_it(text: str) -> None:
    assert find_supports(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "PR #12 and PR #13",
        "Wait for #12 and #13",
        "Merge #12, then #13",
        "#12, #13",
        "Merge #12, ask legal or finance, merge #13",
    ],
)
def test_a_resolution_that_rests_on_two_needs_both(text: str) -> None:
    assert find_resolution(text, {"#12": "a merge"}) is None
    assert find_resolution(text, {"#13": "a merge"}) is None
    assert find_resolution(text, {"#13": "a merge", "#12": "a merge"}) == "#12"


@pytest.mark.parametrize("text", ["PR #12 or PR #13", "Land #12 or #13", "Merge #12 oder #13"])
def test_one_of_two_is_enough_if_the_resolution_leaves_a_choice(text: str) -> None:
    assert find_resolution(text, {"#13": "a merge"}) == "#13"


def test_what_a_resolution_only_mentions_need_not_be_merged() -> None:
    assert find_resolution("Fixed by #12 (see also #13)", {"#12": "a merge"}) == "#12"


@pytest.mark.parametrize("sentence", SENTENCES, ids=lambda sentence: sentence["text"][:40])
def test_a_sentence_as_people_write_it_is_read(sentence: dict[str, Any]) -> None:
    merged = dict.fromkeys(find_references(spell_ranges(sentence["text"])), "a merge")
    assert bool(find_shipped(sentence["text"], merged)) is sentence["shipped"], read_request(sentence["text"])


def is_shipped(text: str) -> bool:
    return find_shipped(text, dict.fromkeys(find_references(spell_ranges(text)), "a merge")) is not None


@pytest.mark.parametrize("half", ["tune", "report"])
def test_what_is_skipped_is_done_and_most_of_what_is_done_is_skipped(half: str) -> None:
    rows = [row for row in LABELLED if row["half"] == half and row["label"] != "unsure"]
    done = {row["text"] for row in rows if row["label"] == "done"}
    skipped = {row["text"] for row in rows if is_shipped(row["text"])}
    assert len(rows) > 150
    assert len(skipped & done) >= 0.98 * len(skipped), skipped - done
    assert len(skipped & done) >= 0.90 * len(done), done - skipped


LEAST_RECALL = {1: 0.83, 2: 0.90, 3: 0.95, 4: 0.85, 5: 0.85, 6: 0.92, 7: 0.75}
LEAST_RECALL |= {8: 0.92, 9: 0.90, 10: 0.80, 11: 0.72, 12: 0.82, 13: 0.72}


@pytest.mark.parametrize(("run", "least"), LEAST_RECALL.items())
def test_what_was_first_met_in_a_test_is_skipped_only_if_done(run: int, least: float) -> None:
    rows = [row for row in FIRST_SIGHT if row["run"] == run and row["label"] != "unsure"]
    done = {row["text"] for row in rows if row["label"] == "done"}
    skipped = {row["text"] for row in rows if is_shipped(row["text"])}
    assert skipped - done == set()
    assert len(skipped & done) >= least * len(done), done - skipped


@pytest.mark.parametrize("request_text", GRID["requests"])
@pytest.mark.parametrize("reference", ["PR #12", "#12"])
def test_work_that_is_joined_to_a_request_remains(request_text: str, reference: str) -> None:
    asked = request_text.format(reference)
    joined = [asked + joint.format(work) for joint in GRID["joined"] for work in GRID["deeds"]]
    if "once" not in request_text:  # a condition goes on with nouns
        joints = (" and {}", ", {}", " + {}", " as well as {}")
        joined += [asked + joint.format(thing) for joint in joints for thing in GRID["things"]]
    assert [text for text in joined if find_shipped(text, {"#12": "a merge"})] == []


@pytest.mark.parametrize("request_text", GRID["requests"])
def test_what_is_said_to_be_left_behind_a_request_remains(request_text: str) -> None:
    joints = ("; {}", ". {}.", " \u2014 {}", " ({})", ": {}", " - {}")
    texts = [request_text.format("PR #12") + joint.format(left) for joint in joints for left in GRID["left"]]
    assert [text for text in texts if find_shipped(text, {"#12": "a merge"})] == []


@pytest.mark.parametrize(
    ("request_text", "joints", "works"),
    [
        ("PR #12 mergen", (" und {}", ", dann {}", "; {}"), ("die Doku aktualisieren", "Kunden informieren")),
        ("PR #12 mergen", (" en {}", ", daarna {}", "; {}"), ("de docs bijwerken", "het team informeren")),
        ("Fusionner la PR #12", (" et {}", ", puis {}", "; {}"), ("tester sur mobile", "prévenir l'équipe")),
        ("Mergear PR #12", (" y {}", ", luego {}", "; {}"), ("avisar al equipo", "probar en un móvil")),
        (
            "等待 PR #12 CI",
            ("\uff0c{}", "并{}", "\uff1b{}"),
            ("更新文档", "通知团队"),
        ),
        (
            "PR #12 리뷰 후 머지",
            ("하고 {}", "한 뒤 {}"),
            ("문서 업데이트",),
        ),
    ],
)
def test_work_that_is_joined_to_a_request_remains_in_every_language(
    request_text: str, joints: tuple[str, ...], works: tuple[str, ...]
) -> None:
    assert is_shipped(request_text)
    assert [text for joint in joints for work in works if is_shipped(text := request_text + joint.format(work))] == []


def test_a_plain_request_is_read_whatever_it_says_of_when_and_why() -> None:
    asked = [each.format(named) for each in GRID["requests"] for named in ("PR #12", "#12", "!12")]
    texts = [f"{each} {tail}" for each in asked for tail in GRID["tails"]]
    assert len([text for text in texts if not is_shipped(text)]) <= 0.03 * len(texts)


WRAPS = ["**{}**", "- {}", "1. {}", "- [ ] {}", "* {}.", "TODO: {}", "Next: {}", "  {}  ", "Please {}"]


@pytest.mark.parametrize("row", [row for row in SENTENCES if row["shipped"]], ids=lambda row: row["text"][:40])
def test_markdown_around_a_request_does_not_change_the_answer(row: dict[str, Any]) -> None:
    assert [wrap for wrap in WRAPS if not is_shipped(wrap.format(row["text"].rstrip(".")))] == []


@pytest.mark.parametrize("row", LABELLED, ids=lambda row: row["text"][:40])
def test_other_numbers_do_not_change_the_answer(row: dict[str, Any]) -> None:
    renumbered = re.sub(r"(?<=#)\d{3}(?!\d)", lambda number: f"{int(number[0]) + 4000}", row["text"])
    assert is_shipped(renumbered) is is_shipped(row["text"])


@pytest.mark.parametrize(
    "text",
    [
        "Land #12 (then tag)",
        "Merge #12 before starting the import",
        "Merge #12, after that deploy",
        "Merge PR #12 auf keinen Fall",
        "Decide on PR #12 vs #13",
        "Monitor PR #12 - rebase PR #13 once it lands",
        "Watch PR #12 for a lasting fix - revisit only then",
        "Complete PR #12 monitoring",
        "Finish #12 testing on a phone",
        "Resume ABC-12 (parser phase 2)",
        "Merge #12. PR of the core #13",
        "Wait for PR #12 or replicate it from #13",
        "Get PR #12's follow-on merged",
        "Review #12 to see what it covers",
        "Merge PR #12. Otherwise useful: export the figures",
        "Should we merge #12?",
        "Merge #12 and this PR",
        "Merge #12 plus its companion PR",
        "Merge #12, the docs PR and the schema PR",
        "Merge PR #12 together with the backend counterpart",
        "Finish PR #12 CI and accessibility checks",
        "Fix what PR #12 left open",
        "#12 landed but the docs are missing",
        "Review PR #12 as an example",
        "Review #12 for reusable parts",
        "Review PR #12's cache design",
        "Update ticket ABC-12",
        "Create ABC-12",
        "Auf #12 rebasen",
        "Na de merge van #12 de docs bijwerken",
        "Watch PR #12 CI and re-check the downstream stack",
        "Resolve PR #12 ordering and any collisions",
        "Land #12. Commit the notes after the merge",
        "Review #12. Deployment verification remains pending",
        "Merge #12. The migration has not been run yet.",
        "Merge #12. Nobody has told the customers.",
        "Merge #12. Don't forget to bump the version.",
        "Merge #12. Half of it is done.",
        "Merge #12. Ada asks for a demo.",
        "Review PR #12; phase 2 starts after that.",
        "Merge #12. Doku steht aus.",
        "Merge #12 — then the import",
        "Merge #12 — the docs are outstanding",
        "Merge #12 — once it is in, ping ops",
        "Finish #12 docs, then continue the splits behind their gates",
        "Merge #12 so that main has it. Create `develop`",
        "Approve PR #12 is not part of this",
        "Merge #12 (and deploy)",
        "Land #12 (backport to 2.x)",
        "Merge #12 (also tag it)",
        "Merge #12 (und deployen)",
        "Fusionner #12 (et déployer)",
        "Undo the merge of #12",
        "Back out the merge of #12",
        "Reverse the merge of #12",
        "Cancel the merge of #12",
        "Block the merge of #12",
        "Prevent the merge of #12",
        "Land #12, next dark mode",
        "Land #12, later dark mode",
        "Merge #12, followed by backfill",
        "Merge #12, the other one too",
        "Watch CI after merge, merge #12",
        "Review #12 and rerun CI after merge",
        "Merge #12 \u2014 please deploy",
        "Merge #12: just tag it",
        "Wait until PR #12 is live",
        "Awaiting PR #12 merge and final review",
        "The parity gate \u2014 needs PR #12 merged first",
        "Rebase PR #12 and add the missing tests",
        "Finish ABC-12 and demo it",
        "Merge #12 or deploy it",
        "Leave PR #12 open for reference",
        "Deploy and merge PR #12",
        "Copy the fixtures from PR #12",
        "Read PR #12",
        "Merge #12, not only in the API but also port it to the SDK",
        "Merge #12, but not without telling support and updating the runbook",
        "Merge #12, not to forget: update the changelog",
        "Either merge #12 or close it, then update the roadmap",
        "Either merge #12 or #13, and write the migration guide",
        "#12 mergen, erst danach die Doku schreiben",
        "Fusionner #12 en mettant à jour la documentation",
        "Merge #12 (Notify Legal)",
        "Merge #12 (+ deploy to prod)",
        "Merge #12 \u2192 develop onboarding",
        "Merge #12 fix(ui): dark mode - deploy it",
        "Revert and land #12",
        "Backport and merge #12",
        "Review #12; cancel the vendor review",
        "Write the docs, check the links, and merge PR #12",
        "Tell the team, update the tracker, and merge PR #12",
        "Run the migration and merge PR #12",
        "Wait for PR #12 to merge to run the backfill",
        "Aguardar merge do PR #12 para executar o deploy",
        "Attendre le merge de #12 pour lancer la migration",
        "Review #12, answer the customer's comments",
        "Merge #12, not #13 - write its tests instead",
        "Document and merge #12 rollout notes",
        "Phase 9 does not: publish it; merge #12",
        "Update PR #12 merge log after the merge",
        "Merge #12 so we can deploy",
        "Next: ABC-12 is blocked by the vendor",
        "Finish PR #12 controlled-release gates",
        "Aguardar PR #12 antes de documentar",
        "Continue ABC-12; docs are left",
        "Rebase #12. Update ABC-13 Jira \u2192 Done. Review+merge #14.",
        "Merge #12. Ada needs to port the exporter.",
        "Merge #12 \u2014 Ada to port the exporter",
        "Let Ada know PR #12 is merged",
        "Add a link to PR #12",
        "Add PR #12 to the changelog",
        "Exporter must wait for PR #12",
        "PR #12 has a regression",
        "PR #12 needs to be deployed to staging",
    ],
)
def test_work_beside_a_request_remains(text: str) -> None:
    assert not is_shipped(text)


@pytest.mark.parametrize(
    "text",
    [
        "Monitor CI on PR #12",
        "Re-run CI on PR #12",
        "Rerun the flaky job on PR #12",
        "Queue PR #12 for merge",
        "CI green on PR #12",
        "Merge #12, then #13 in order",
        "Merge #12 (approved and green)",
        "Merge #12 (and #13)",
        "Merge #12 then #13 in that order",
        "PR #12 contains the parser; review and merge it",
        "Squash-merge #12 after tests, lint, and review pass",
        "Wait for PR #12 `node`, `python` and `web` checks",
        "Auf Review von PR #12 warten",
        "CI von PR #12 abwarten",
        "Konflikte in PR #12 auflösen",
        "PR #12 nach Review mergen",
        "PR #12 rebasen und mergen",
        "ABC-12 fertigstellen",
        "Attendre la revue de la PR #12",
        "Résoudre les conflits de la PR #12",
        "Fusionner #12 une fois la CI verte, puis supprimer la branche",
        "Esperar la revisión del PR #12",
        "Resolver los conflictos del PR #12",
        "Aguardar a revisão do PR #12",
        "Resolver conflitos do PR #12",
        "Decisión sobre PR #12",
        "等待 PR #12 CI 与 Owner 合并授权。未经授权不合并",
        "PR #12 리뷰 대기",
        "Wait until #12 is merged",
        "Babysit the merge queue until PR #12 is through",
        "The human owner must review and explicitly approve PR #12 before merge.",
        "Retitle and merge PR #12",
        "Path: rebase PR #12",
        "R1. Merge PR #12",
        "Finish #12 feat: proactive scans",
        "Merge PR #12 as a proposal, not accepted work",
        "Either merge PR #12, or set the deploy branch to another",
        "Rebase PR #12 on main and remove any duplicate commit",
        "Drop the debug commit from PR #12 and merge it",
        "The search PR #12 still needs review",
        "PR #12 mergen, damit die Suche live geht",
        "Wachten tot PR #12 gemerged is",
        "Répondre aux commentaires de la PR #12",
        "Corrección: fusionar el PR #12 en `main`",
        "Ответить на замечания в PR #12",
        "解决 PR #12 的冲突",
        "PR #12 のコンフリクトを解消する",
        "Push the CI correction, wait for every check to pass, and merge PR #12",
        "Inspect the exact jobs and the count, then squash-merge PR #12",
        "Wait for CI on PR #12 to run",
        "Next: ABC-12 (a title)",
        "Next up: ABC-12 \u2014 a title [high]",
        "Finish #12 retry budget for uploads",
        "Resolve merge conflicts (PR #12 conflicts with main)",
        "Rerun CI gate on #12",
        "Hand off PR #12 for review",
        "Re-request review from Grace on PR #12",
        "Blocked on review of PR #12",
        "CI is running on PR #12; merge when it passes",
        "Monitor PR #12 exact head 2791b63 until checks pass",
        "Revisar los comentarios de la PR #12 y aprobarla",
        "PR #12 をレビューしてマージ",
        "Merge PR #12; it is green and clean.",
        "Retarget PR #12 to `main` and rebase.",
        "Merge #12 and #13 back to back",
        "Ada to merge #12",
        "Next ticket: ABC-12 \u2014 the parser",
        "Verify #12 is merged or coordinated",
        "Ask the owner to merge #12 \u2014 or confirm it's already merged.",
        "Update PR #12 body to include the counts, a list of files and the open items.",
        "Rebase PR #12 and reduce it to one commit",
        "Rerun CI gate \u2460\u2013\u2465 on #12",
        "Prove the tree, close the reviewer loop, and merge PR #12.",
        "Verify PR #12, then merge if green and review-clean.",
        "Ada will review PR #12",
        "Merge the docs PR #12",
    ],
)
def test_a_request_in_other_words_or_another_language_is_read(text: str) -> None:
    assert is_shipped(text)


@pytest.mark.parametrize(
    "text",
    [
        "Merge #12 and {}",
        "Merge #12; {}",
        "Merge #12 before Friday and {}",
        "Merge #12 by Monday and {}",
        "Merge #12 by Monday, {}",
        "Merge #12 once CI is green and {}",
        "Merge #12 after review, {}",
        "Merge #12 unless Ada objects and {}",
        "Merge #12 with Ada and {}",
        "Merge #12 (and {})",
        "Merge #12 today {}",
        "Merge #12 carefully {}",
        "Merge #12 into main {}",
        "Merge #12 and delete the branch, {}",
        "Get #12 merged, {}",
        "Review PR #12 for security, {}",
        "Review PR #12's diff and {}",
        "Wait for PR #12 CI and {}",
        "Update PR #12's description and {}",
        "User decision on #12, {}",
    ],
)
def test_a_verb_that_no_table_knows_is_work_that_remains(text: str) -> None:
    work = ("paint fence", "mail Ada", "knit the flags", "weld new servers", "juggle its remaining docs")
    assert [one for one in work if is_shipped(text.format(one))] == []


@pytest.mark.parametrize(
    "text",
    [
        "Refuse to merge #12",
        "Decline to merge #12",
        "Pretend to merge #12",
        "Update PR #12's issue list",
        "Merge #12 — Docs bijwerken",
        "Merge #12: Kunden informieren",
        "Merger #12 — prévenir le client",
        "Fusionar #12 — avisar al equipo",
        "Merge #12 — обновить документацию",
        "合并 #12 — 通知客户",
        "Merge #12 — email the customers",
    ],
)
def test_what_may_be_another_request_is_not_taken_for_a_name_or_a_title(text: str) -> None:
    assert not is_shipped(text)


@pytest.mark.parametrize(
    "text",
    [
        "Wait for CI on #12 \u2192 green (lint and types)",
        "Wait for CI on #12. Auto-merge is enabled and lands it.",
        "Review PR #12 opened by the release bot.",
        "Review this PR (#12) and merge",
        "Review and merge #12 \u2014 it is the only action left",
        "Merge #12 \u2014 independent of the others.",
        "Merge Pull Request: once CI is green, merge PR #12",
        "Watch CI workflows on PR #12",
        "Watch #12's CI, then address anything reported",
        "Verify #12 merged; if the queue stalled, check its run",
        "Wait for the checks of #12 to start",
        "Fix PR #12's broken link before it counts as mergeable",
        "Merge #12, in any order",
        "(awaiting the merge of #12)",
        "Wait for explicit user approval to merge PR #12",
        "Confirm PR #12 merge completion",
        "Review and merge PR #12 (types) \u23f3 PENDING",
        "Phase 3 \u2014 wait for the merge of PR #12",
        "Backend CI green on PR #12",
        "Aguardar merge dos PRs #12 e #13",
        "\u0414\u043e\u0436\u0434\u0430\u0442\u044c\u0441\u044f \u043c\u0435\u0440\u0436\u0430 #12",
        "Rebase or update PR #12 onto main",
        "Finish PR #12 docs and tests",
        "Mark PR #12 merge-ready after the last rerun",
        "PR #12 \uba38\uc9c0 \ud655\uc778",
        "Poll CI on PR #12 and merge",
        "Let CI finish on #12, then merge it",
        "#12 needs approval from Ada",
        "Get two approvals on #12",
        "Rendere pronta e mergiare PR #12",
        "Crear PR #12 para la b\u00fasqueda",
        "\u5be9\u67e5 PR #12",
    ],
)
def test_what_is_said_around_a_merge_is_over_with_it(text: str) -> None:
    assert find_shipped(text, EVIDENCE)


@pytest.mark.parametrize(
    "text",
    [
        "Monitor #12 after deploy",
        "Merge #12 \u2014 verify prod",
        "Sync the branch with #12",
        "Rebase onto #12 before merge",
        "The importer \u2014 waits for #12",
        "Promote #12 to the next milestone",
        "Fix PR #12's leftovers",
        "Finish PR #12 rollout",
        "Create a follow-up issue for the parser (PR #12)",
        "Wait for approval to merge #12 and deploy it",
        "CI green on PR #12, deploy",
        "Review PR #12 opened by Ada and port it",
        "Merge #12. Self-merge is allowed only after QA",
        "Finish ABC-12 docs",
        "Monitor PR #12 when it lands",
        "Fix PR #12's regression",
        "Fix PR #12's parser and write the docs",
        "PR #12 needs review as an honest report",
        "Merge #12. Auto-merge is enabled, but the docs must be written",
        "Merge #12 \u2014 it is the only action left, then deploy",
    ],
)
def test_what_comes_behind_a_merge_or_uses_it_is_left(text: str) -> None:
    assert find_shipped(text, EVIDENCE) is None


@pytest.mark.parametrize("text", ["Fix #12", "Implement #12", "Close #12", "Resolve issue #12", "Close #12: a crash"])
def test_to_fix_or_close_an_issue_is_done_once_a_commit_closed_it(text: str) -> None:
    assert find_shipped(text, EVIDENCE, ["#12"])
    assert find_shipped(text, EVIDENCE) is None


@pytest.mark.parametrize(
    "text",
    ["Fix #12 on Windows", "Fix #12 and mail Ada", "Close #12 once verified", "Reopen #12", "Close #12 and #13"],
)
def test_a_commit_that_closed_an_issue_proves_no_more_than_that(text: str) -> None:
    assert find_shipped(text, EVIDENCE, ["#12"]) is None


def test_an_action_is_not_shipped_while_one_of_its_references_is_open() -> None:
    assert find_shipped("Merge #12 and #99", EVIDENCE) is None
    assert find_shipped("merge #12, then #99", EVIDENCE) is None
    assert find_shipped("Merge #12/#99", EVIDENCE) is None
    assert find_shipped("Merge #12-#14", EVIDENCE) is None
    assert find_shipped("Merge #12-#13", EVIDENCE) == "proof of #12"
    assert find_shipped("Merge #12 once #99 is green", EVIDENCE) == "proof of #12"


@pytest.mark.parametrize(
    "piece",
    [
        "merge #1 ",
        "#1, ",
        "(",
        "merge the ",
        "a/",
        "once ",
        "1. ",
        "and ",
        "(#1) ",
        "[a](",
        "review/",
        "->",
        "#1-",
        "to ",
    ],
)
def test_a_hostile_action_is_read_in_bounded_time(piece: str) -> None:
    started = time.process_time()
    read_request("#1 " + piece * (300_000 // len(piece)))
    read_request(("#1 " + piece * 4_000)[:4_000])
    assert time.process_time() - started < 10


@pytest.mark.parametrize("text", ["#12", "PR #12", "#12: write the parser"])
def test_a_reference_alone_is_reported_and_never_skipped(text: str) -> None:
    assert [use.role for use in find_uses(text)] == ["about"]
    assert find_shipped(text, {"#12": "merged"}) is None


@pytest.mark.parametrize(
    "text",
    [
        "#12 needs a follow-up test",
        "#12 broke the build",
        "Write docs for #12",
        "Ping ops about #12",
        "Merge #12 and slack the team",
        "Merge #12 timeline into the roadmap",
        "Merge #12 slack the team",
    ],
)
def test_what_comes_after_a_pull_request_is_not_about_landing_it(text: str) -> None:
    assert [use.role for use in find_uses(text)] == ["mentioned"]


WORDS = "Merge #12 ABC-14 ( ) [ ] 's : ; . , — → main then and to after before not get the user CI finish `x` is 合并"


@given(st.lists(st.sampled_from(WORDS.split()), max_size=12))
def test_whatever_words_stand_together_something_is_answered(words: list[str]) -> None:
    request = read_request(" ".join(words))
    assert {*request.asked, *request.waits, *request.about} <= {"#12", "ABC-14"}


@pytest.mark.parametrize("text", ["- revisar #12 \x01", "\x01 #12 \u201c changes while", "\x02 merge #12 \x01\x01"])
def test_control_characters_of_a_text_are_not_taken_for_marks(text: str) -> None:
    assert all(use.reference == "#12" for use in find_uses(text))


@pytest.mark.parametrize("count", [15, 120, 200])
def test_an_action_that_names_many_references_needs_each_of_them(count: int) -> None:
    names = [f"#{number}" for number in range(100, 100 + count)]
    text = f"Merge {' then '.join(names)}"
    assert is_shipped(text)
    assert find_shipped(text, dict.fromkeys(names[:-1], "a merge")) is None
