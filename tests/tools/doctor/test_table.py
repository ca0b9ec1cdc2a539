"""The doctor's table, and what it says about git, as values."""

import re
from typing import Any

import pytest

from checkpoint_git.core.finding import Finding
from checkpoint_git.protocols.skill.document_summary import make_sheet
from checkpoint_git.protocols.validate import check_document
from checkpoint_git.tools.doctor.context import GitFacts, Proof, World
from checkpoint_git.tools.doctor.table import CHECKS, choose_checks, find_all, locate_all
from checkpoint_git.tools.setup.checks import (
    find_broken_driver,
    find_failed_proof,
    find_inert_driver,
    find_missing_installation,
    find_unreachable_hooks,
    find_unresolved,
)
from checkpoint_git.tools.setup.hook_files import HookFile, State
from checkpoint_git.tools.setup.survey import Installation
from tests.support.samples import checkpoint, checkpoint_text

PATH = ".checkpoints/build.checkpoint.json"
NOW = 1_772_443_800
NAMES = ("pre-commit", "pre-push", "post-merge")
HEALTHY = Installation(
    driver="'python' -I -S 'driver.py' ...",
    base_driver="x",
    recursive="checkpoint-base",
    textconv="x",
    ours=True,
    driver_python="/usr/bin/python3",
    driver_python_exists=True,
    hooks_python="/usr/bin/python3",
    hooks_python_exists=True,
    driver_file="/lib/driver.py",
    driver_exists=True,
    attributes_in_work_tree=True,
    attributes_in_head=True,
    attributes_in_info=True,
    hooks_path="/repo/.git/hooks",
    hooks=tuple(HookFile(name, f"/repo/.git/hooks/{name}", "ours") for name in NAMES),
)


def world(
    text: str | None = None, *, proof: Proof | None = None, facts: dict[str, Any] | None = None, **setup: Any
) -> World:
    sheet = make_sheet(check_document(PATH, (text or checkpoint_text()).encode(), now=NOW))
    git = GitFacts(
        merge_attributes={PATH: "checkpoint"},
        defined_drivers=frozenset({"checkpoint"}),
        has_commits=True,
        setup=HEALTHY._replace(**setup),
    )
    return World([sheet], NOW, git=git._replace(**(facts or {})), proof=proof)


def told(findings: list[Finding]) -> list[tuple[str, str]]:
    return [(finding.level, finding.code) for finding in findings]


# the table


def test_every_check_has_a_code_of_its_own_and_says_what_it_does() -> None:
    assert len({check.code for check in CHECKS}) == len(CHECKS)
    for check in CHECKS:
        assert re.fullmatch(r"[a-z]+(/[a-z-]+)?", check.code)
        assert check.looks_at
        assert check.mend
        assert check.fix in ("safe", "by name", "no")
        assert set(check.needs.split()) <= set(World._fields)


def test_a_group_stands_for_its_checks() -> None:
    assert {check.code.partition("/")[0] for check in choose_checks(["drift"])} == {"drift"}
    assert [check.code for check in choose_checks(["driver/proof", "schema"])] == ["schema", "driver/proof"]
    assert choose_checks([]) == list(CHECKS)
    assert choose_checks(["drif", "nothing"]) == []


def test_a_healthy_world_has_no_findings() -> None:
    assert find_all(CHECKS, world(proof=Proof("", ""))) == []


def test_findings_carry_their_line_and_come_in_the_order_of_the_text() -> None:
    text = checkpoint_text(skill_state={"merged_prs": [{"number": at} for at in range(51)]}, superseded=[{"step": "x"}])
    found = locate_all(find_all(CHECKS, world(text)), {PATH: text}.get)
    assert [finding.code for finding in found] == ["content/rotation-due", "content/unreviewed"]
    assert all(finding.line > 1 and finding.path == PATH for finding in found)


def test_what_validate_says_is_not_said_twice() -> None:
    text = checkpoint_text(progress_summary="x", skill_state={"big": "x" * 40_000}, project_dir="here")
    facts = world(text)._replace(absent_dirs=frozenset({"here"}))
    codes = [finding.code for finding in find_all(CHECKS, facts)]
    assert sorted(codes) == ["skill/file-too-big", "skill/relative-project-dir"]
    codes = [finding.code for finding in find_all(choose_checks(["content", "drift"]), facts)]
    assert sorted(codes) == ["content/rotation-due", "drift/project-dir"]


def test_a_reviewed_narrative_is_no_finding() -> None:
    entries = [{"step": "x", "reviewed": True}, {"step": "y", "reviewed_at": "2026-03-02T09:30:00Z"}]
    assert find_all(CHECKS, world(checkpoint_text(superseded=entries))) == []


@pytest.mark.parametrize(
    "value", [checkpoint(superseded=3), checkpoint(skill_state=[1]), checkpoint(blockers={"a": 1})]
)
def test_values_that_break_the_schema_do_no_harm(value: dict[str, Any]) -> None:
    import json

    found = find_all(CHECKS, world(json.dumps(value)))
    assert all(finding.code.startswith("skill/") for finding in found)


# unfinished merges


def test_unmerged_files_and_markers_are_errors_and_an_operation_a_note() -> None:
    assert told(find_unresolved(world(facts={"unmerged": (PATH,), "operation": "merge"}))) == [
        ("error", "merge/unresolved"),
        ("note", "merge/unresolved"),
    ]
    marked = "<<<<<<< ours\n{}\n=======\n{}\n>>>>>>> theirs\n"
    assert told(find_unresolved(world(marked))) == [("error", "merge/unresolved")]
    assert told(find_unresolved(world(marked, facts={"unmerged": (PATH,)}))) == [("error", "merge/unresolved")]
    assert find_unresolved(world()) == []


# installation


def test_a_clone_without_installation_gets_one_finding() -> None:
    bare: dict[str, Any] = {
        "driver": "",
        "base_driver": "",
        "recursive": "",
        "textconv": "",
        "ours": False,
        "hooks_python": "",
    }
    hooks = tuple(HookFile(name, name, "missing") for name in NAMES)
    for attributes in (True, False):
        facts = world(
            facts={"merge_attributes": {PATH: "checkpoint" if attributes else "unspecified"}},
            **bare,
            hooks=hooks,
            attributes_in_work_tree=attributes,
            attributes_in_info=False,
            driver_python_exists=False,
            driver_exists=False,
        )
        assert told(find_all(CHECKS, facts)) == [("warning", "install/missing")]


def test_outside_git_nothing_is_said_about_git() -> None:
    assert find_all(CHECKS, world()._replace(git=None)) == []


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("union", "no JSON"),
        ("unspecified", "as text"),
        ("unset", "our side"),
        ("binary", "our side"),
        ("text", "never sees"),
        ("set", "never sees"),
        ("gone", "no configuration defines"),
        ("other", "another driver"),
    ],
)
def test_an_attribute_that_leads_elsewhere_is_an_error(value: str, says: str) -> None:
    facts = {"merge_attributes": {PATH: value}, "defined_drivers": frozenset({"checkpoint", "other"})}
    (finding,) = find_inert_driver(world(facts=facts))
    assert (finding.level, finding.path) == ("error", PATH)
    assert says in finding.message


def test_attributes_that_are_not_committed_are_a_note_unless_there_are_no_commits() -> None:
    assert told(find_inert_driver(world(attributes_in_head=False))) == [("note", "driver/inert")]
    assert find_inert_driver(world(attributes_in_head=False, facts={"has_commits": False})) == []


def test_missing_settings_are_told() -> None:
    assert told(find_inert_driver(world(attributes_in_info=False))) == [("warning", "driver/inert")]
    assert told(find_inert_driver(world(recursive="", textconv=""))) == [("warning", "driver/inert")]
    assert ("error", "driver/inert") in told(find_inert_driver(world(driver="")))
    assert find_missing_installation(world(driver="")) == []


def test_a_driver_whose_interpreter_or_file_is_gone_is_an_error_said_once() -> None:
    gone = world(driver_python_exists=False, driver_exists=False, proof=Proof("bad", "bad"))
    assert told(find_broken_driver(gone)) == [("error", "driver/broken")] * 2
    assert find_failed_proof(gone) == []


def test_anothers_driver_under_our_name_is_a_warning() -> None:
    assert told(find_broken_driver(world(ours=False, driver_exists=False))) == [("warning", "driver/broken")]


def test_a_failed_proof_is_an_error_with_what_was_said() -> None:
    (finding,) = find_failed_proof(world(proof=Proof("it lost something", "", "oops")))
    assert finding.level == "error"
    assert "it lost something" in finding.message
    assert "oops" in finding.message
    assert len(find_failed_proof(world(proof=Proof("same", "same")))) == 1


# hooks


@pytest.mark.parametrize("state", ["missing", "foreign", "not-executable", "outdated", "damaged"])
def test_hooks_that_git_does_not_run_are_told_together(state: State) -> None:
    hooks = (*HEALTHY.hooks[:1], *(hook._replace(state=state) for hook in HEALTHY.hooks[1:]))
    (finding,) = find_unreachable_hooks(world(hooks=hooks))
    assert finding.level == "warning"
    assert "pre-push" in finding.message
    assert "pre-commit" not in finding.message


@pytest.mark.parametrize("state", ["ours", "block", "moved"])
def test_hooks_that_git_runs_are_fine(state: State) -> None:
    assert find_unreachable_hooks(world(hooks=tuple(hook._replace(state=state) for hook in HEALTHY.hooks))) == []


def test_a_hook_that_calls_us_or_the_frameworks_entry_counts() -> None:
    foreign = tuple(hook._replace(state="foreign", calls_us=hook.name != "pre-commit") for hook in HEALTHY.hooks)
    assert told(find_unreachable_hooks(world(hooks=foreign))) == [("warning", "hooks/unreachable")]
    assert find_unreachable_hooks(world(hooks=foreign, framework_entry=True)) == []


@pytest.mark.parametrize("state", ["no-interpreter", "passed-over"])
def test_words_of_ours_that_never_run_do_not_count_as_a_call(state: State) -> None:
    hooks = tuple(hook._replace(state=state, calls_us=True) for hook in HEALTHY.hooks)
    assert told(find_unreachable_hooks(world(hooks=hooks))) == [("warning", "hooks/unreachable")]


def test_a_hooks_path_outside_is_told_once_and_not_where_its_hooks_call_us() -> None:
    missing = tuple(hook._replace(state="missing") for hook in HEALTHY.hooks)
    (finding,) = find_unreachable_hooks(world(hooks=missing, hooks_place="outside", hooks_path="/elsewhere"))
    assert "/elsewhere" in finding.message
    calling = tuple(hook._replace(state="foreign", calls_us=True) for hook in HEALTHY.hooks)
    assert find_unreachable_hooks(world(hooks=calling, hooks_place="outside")) == []
    assert told(find_unreachable_hooks(world(hooks=(), hooks_place="nowhere", hooks_path=""))) == [
        ("warning", "hooks/unreachable")
    ]


def test_hooks_whose_interpreter_is_gone_are_told() -> None:
    (finding,) = find_unreachable_hooks(world(hooks_python_exists=False))
    assert "/usr/bin/python3" in finding.message
