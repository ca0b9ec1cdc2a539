"""Findings folded for a person: what shares a cause is one line, what helps most comes first, and
nothing is lost.
"""

import pytest

from checkpoint_git.core.finding import Finding, Level
from checkpoint_git.core.hint import AnyHint, Argv, advise, command
from checkpoint_git.protocols.digest import fold, list_causes
from checkpoint_git.tools.doctor.catalog import find_option

ALL = "checkpoint doctor --full"


def name_all(code: str) -> Argv:
    return ("checkpoint", "doctor", "--full", *find_option(code))


def finding(
    code: str,
    skill: str = "build",
    message: str = "wrong",
    level: Level = "warning",
    hint: AnyHint = "",
    cause: str = "",
) -> Finding:
    path = f".checkpoints/{skill}.checkpoint.json" if skill else ".checkpoints"
    return Finding(code, level, message, path, hint=hint, cause=cause)


def moved(skill: str, at: int) -> Finding:
    hint = advise("write the new name", "checkpoint", "doctor", skill, "--fix=drift/file-missing")
    return finding(
        "drift/file-missing",
        skill,
        f"a/{at} is now called b/{at}",
        hint=hint,
        cause="files moved: a/ -> b/",
    )


def over(*skills: str) -> frozenset[str]:
    return frozenset(f".checkpoints/{skill}.checkpoint.json" for skill in skills)


def said(findings: list[Finding], closed: frozenset[str] = frozenset()) -> list[tuple[str, str]]:
    return [(entry.message, str(entry.hint)) for entry, _ in fold(findings, closed, name_all)]


def test_a_single_finding_is_shown_as_it_is() -> None:
    one = finding("drift/stale-blocked", hint="ask", cause="blocked checkpoints")
    assert fold([one], frozenset(), name_all) == [(one, 1)]
    assert fold([], frozenset(), name_all) == []


def test_one_cause_that_one_command_fixes_is_one_line_with_that_command() -> None:
    found = [moved("build", 1), moved("build", 2), moved("bob's api", 3)]
    fix = "write the new name: checkpoint doctor --fix=drift/file-missing"
    assert said(found) == [("3 files moved: a/ -> b/ (build, bob's api)", fix)]
    assert said(found[:2]) == [("2 files moved: a/ -> b/ (build)", str(found[0].hint))]


def test_conflicts_are_one_line_with_the_command_that_decides_them_all() -> None:
    found = [
        finding("merge/unresolved", each, hint=command("checkpoint", "resolve", each))
        for each in "abcde"
    ]
    assert [hint for _, hint in said(found)] == ["checkpoint resolve"]


def test_one_command_for_several_folders_goes_to_all_of_them() -> None:
    code = "drift/project-dir"
    folders = ((), ("-C", "it's"))
    hints = [
        advise("if so", "checkpoint", *folder, "doctor", "build", f"--fix={code}")
        for folder in folders
    ]
    found = [
        finding(code, "build", str(at), hint=hint, cause="wrong") for at, hint in enumerate(hints)
    ]
    assert [hint for _, hint in said(found)] == [f"if so: checkpoint doctor --all --fix={code}"]


def test_what_each_has_its_own_command_for_is_folded_from_the_fourth_on() -> None:
    found = [
        finding("drift/stale-blocked", f"s{at}", hint=f"ask {at}", cause="wait") for at in range(4)
    ]
    assert [hint for _, hint in said(found[:3])] == ["ask 0", "ask 1", "ask 2"]
    command = f"for the hint of each: {ALL} --check=drift/stale-blocked"
    assert said(found) == [("4 wait (s0, s1, s2 and 1 more)", command)]


def test_without_words_for_a_cause_the_first_finding_speaks_for_all() -> None:
    found = [finding("skill/no-progress-table", f"s{at}", "none", hint=f"{at}") for at in range(5)]
    expected = "s0: none (and 4 like it: s1, s2, s3 and 1 more)"
    assert said(found) == [(expected, f"for the hint of each: {ALL} --check=schema")]


@pytest.mark.parametrize(
    ("code", "option"),
    [
        ("workflow/lost", "--check=workflow"),
        ("drift/stale-blocked", "--check=drift/stale-blocked"),
        ("doctor/x", ""),
    ],
)
def test_the_command_for_the_rest_names_a_check_that_there_is(code: str, option: str) -> None:
    ((_, hint),) = said([finding(code, f"s{at}", hint=f"{at}") for at in range(4)])
    assert hint == f"for the hint of each: {ALL} {option}".rstrip()


def test_one_hint_for_all_is_printed_once() -> None:
    found = [
        finding("doctor/not-looked-at", "", str(at), hint="trust it", cause="not seen")
        for at in range(2)
    ]
    assert said(found) == [("2 not seen (.checkpoints)", "trust it")]


def test_setup_and_errors_come_first_then_merged_work_then_housekeeping() -> None:
    ranked = [
        finding("install/missing", ""),
        finding("driver/inert", "", level="note"),
        finding("skill/timestamp", level="error"),
        finding("merge/lost-entry"),
        finding("drift/action-shipped"),
        finding("drift/stale-blocked"),
        finding("workflow/stale"),
        finding("drift/project-dir"),
        finding("skill/summary-too-long"),
        finding("content/rotation-due"),
        finding("drift/action-shipped", level="note"),
    ]
    for step in (1, 3, 7, 9):  # coprime to their number: each an order of its own
        order = [ranked[at * step % len(ranked)] for at in range(len(ranked))]
        assert [(one.level, one.code) for one, _ in fold(order, frozenset(), name_all)] == [
            (one.level, one.code) for one in ranked
        ]


def test_checkpoints_that_are_over_are_one_line_at_the_end() -> None:
    found = [
        finding(code, "old")
        for code in ("drift/file-changed", "skill/summary-too-long", "drift/commit-unknown")
    ]
    found += [finding("drift/file-changed", "older"), finding("drift/stale-in-progress", "build")]
    folded = fold(found, over("old", "older"), name_all)
    assert [(one.code, count) for one, count in folded] == [("drift/stale-in-progress", 1), ("", 4)]
    assert (
        folded[-1][0].message
        == "4 findings in 2 checkpoints that were complete long ago (old, older)"
    )
    assert str(folded[-1][0].hint).endswith(": checkpoint reset old")


def test_of_a_checkpoint_that_is_over_errors_and_merges_are_told() -> None:
    found = [
        finding("json/syntax", "old", level="error"),
        finding("merge/lost-entry", "old"),
        finding("content/unreviewed", "old"),
        finding("git/ignored", "old"),
    ]
    assert {one.code for one, _ in fold(found, over("old"), name_all)} == {
        one.code for one in found
    }


def test_one_command_counts_what_it_fixes_in_those_that_are_over_too() -> None:
    found = [moved("build", 1), moved("old", 2)]
    assert [count for _, count in fold(found, over("old"), name_all)] == [2]
    assert [count for _, count in fold(found[1:] * 2, over("old"), name_all)] == [2]


def test_a_thousand_checkpoints_are_a_screen_and_every_finding_is_counted() -> None:
    codes = ("skill/a", "skill/b", "drift/stale-in-progress", "drift/file-missing", "git/ignored")
    found = [
        finding(code, f"s{at}", f"{code} {at}", hint=f"{at}")
        for at in range(1000)
        for code in codes
    ]
    folded = fold(found, over(*(f"s{at}" for at in range(0, 1000, 2))), name_all)
    assert len(folded) <= 20
    assert sum(count for _, count in folded) == len(found)


def test_a_file_that_several_checkpoints_list_counts_once_and_a_checkpoint_for_itself() -> None:
    found = [moved(skill, at) for skill in ("api", "web") for at in (1, 2)]
    assert [message for message, _ in said(found)] == ["2 files moved: a/ -> b/ (api, web)"]
    found = [
        finding("drift/project-dir", skill, hint="it", cause="elsewhere")
        for skill in ("api", "web")
    ]
    assert [message for message, _ in said(found)] == ["2 elsewhere (api, web)"]


def test_a_file_that_several_checkpoints_list_is_told_in_its_own_words() -> None:
    found = [
        finding("drift/file-missing", one, "a.py was deleted", cause="listed files were deleted")
        for one in "abcd"
    ]
    assert [message for message, _ in said(found)] == ["a.py was deleted (a, b, c and 1 more)"]


def test_one_cause_of_several_codes_is_one_line_without_a_code() -> None:
    codes = ("drift/commit-unknown", "drift/file-missing", "drift/history-partial")
    found = [
        finding(code, message=code, level="note", hint="git fetch --unshallow", cause="cut")
        for code in codes
    ]
    ((one, count),) = fold(found, frozenset(), name_all)
    assert (one.code, one.message, str(one.hint), count) == (
        "",
        "3 cut (build)",
        "git fetch --unshallow",
        3,
    )


def test_causes_that_are_too_many_for_a_screen_share_a_line_with_the_command_that_fixes_them() -> (
    None
):
    code = "drift/action-shipped"
    fix = advise("mark it done", "checkpoint", "doctor", "build", f"--fix={code}")
    found = [finding(code, message=f"#{at}", hint=fix, cause=f"ask for #{at}") for at in range(15)]
    found += [
        finding(
            code,
            "web",
            f"#{at}",
            hint=command("checkpoint", "done", "web", str(at)),
            cause=f"ask for {at}",
        )
        for at in range(15)
    ]
    found += [finding("install/missing", "")]
    assert [(message, hint) for message, hint in said(found)[1:]] == [
        ("build: #0 (and 14 like it)", str(fix)),
        ("web: #0 (and 14 like it)", f"for the hint of each: {ALL} --check={code}"),
    ]
    assert len(said(found[20:])) == 11


def causes(
    findings: list[Finding], closed: frozenset[str] = frozenset()
) -> list[tuple[str, int, tuple[str, ...], str]]:
    listed = list_causes(findings, closed, name_all)
    return [
        (cause.finding.message, cause.number, cause.files, str(cause.finding.hint))
        for cause in listed
    ]


def test_a_cause_has_its_words_its_files_and_one_command() -> None:
    found = [moved("build", 1), moved("api", 2)]
    found += [
        finding("drift/stale-blocked", f"s{at}", hint=f"ask {at}", cause="wait") for at in range(2)
    ]
    found += [
        finding("content/unreviewed", skill, f"{skill} is new", hint=skill)
        for skill in ("build", "api")
    ]
    found += [finding("skill/timestamp", "web", "no time", hint="edit it")]
    assert causes(found) == [
        ("2 wait", 2, ("s0", "s1"), f"for the hint of each: {ALL} --check=drift/stale-blocked"),
        (
            "2 files moved: a/ -> b/",
            2,
            ("build", "api"),
            "write the new name: checkpoint doctor --fix=drift/file-missing",
        ),
        ("no time", 1, ("web",), "edit it"),
        (
            "2 like this: build is new",
            2,
            ("build", "api"),
            f"for the hint of each: {ALL} --check=content/unreviewed",
        ),
    ]


def test_causes_count_every_finding_and_are_a_screen() -> None:
    codes = [f"skill/kind-{at}" for at in range(15)]
    found = [
        finding(code, f"s{at}", "wrong", hint=f"{at}", cause=f"{code} {at // 4}")
        for at in range(40)
        for code in codes
    ]
    listed = causes(found, over("s1", "s2"))
    assert len(listed) == 16
    assert sum(number for _, number, _, _ in listed) == len(found)
    assert listed[-1][0] == "30 findings in 2 checkpoints that were complete long ago (s1, s2)"
