"""What the doctor says about the installation, as values."""

import os
import shlex
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git.core.finding import Finding
from checkpoint_git.disk.discover import find_place
from checkpoint_git.git import driver_settings
from checkpoint_git.git.refs import DefaultBranch
from checkpoint_git.protocols.check import Context, run_checks
from checkpoint_git.tools.doctor.catalog import choose_checks
from checkpoint_git.tools.setup.checks import (
    SetupFacts,
    find_broken_driver,
    find_inert_driver,
    find_missing_installation,
    find_sparse_checkout,
    find_stale_locks,
    find_unreachable_hooks,
)
from checkpoint_git.tools.setup.driven_files import Unreadable
from checkpoint_git.tools.setup.hook_files import HookFile, State
from checkpoint_git.tools.setup.init import Options, init
from checkpoint_git.tools.setup.survey import HooksFolder, Installation
from tests.support.contexts import PLACE, found, give, make_context
from tests.support.killed_git import update_ref_killed
from tests.support.repos import GitRepo
from tests.support.rows import rows
from tests.support.samples import checkpoint_text

PATH = ".checkpoints/build.checkpoint.json"
NOW = 1_772_443_800
CHECKS = [
    check
    for check in choose_checks(["install", "driver", "diff", "hooks"])
    if not check.code.endswith("/proof")
]
NAMES = ("pre-commit", "pre-push", "post-merge")
HEALTHY = Installation(
    settings=driver_settings.plan_settings("/usr/bin/python3", "/lib", driver_settings.Choices()),
    attributes=frozenset({"work tree", "HEAD", "info"}),
    folder=HooksFolder("/repo/.git/hooks", "repository", True),
    hooks=tuple(HookFile(name, f"/repo/.git/hooks/{name}", "ours") for name in NAMES),
)


def world(*, facts: dict[str, Any] | None = None, **setup: Any) -> Context:
    healthy: dict[str, Any] = {
        "installation": HEALTHY._replace(**setup),
        "merge_attributes": {PATH: "checkpoint"},
        "shared_attributes": {},
        "has_commits": True,
        "default_branch": None,
        "unreadable": Unreadable({}),
        "unaccepted": (),
    }
    return give(make_context(NOW), SetupFacts, **{**healthy, **(facts or {})})


def changed(**new: str) -> dict[str, str]:
    """As init writes them, but for some; "_" is a dot."""
    return {**HEALTHY.settings, **{key.replace("_", "."): value for key, value in new.items()}}


NOT_IN_HEAD, NOT_IN_INFO = frozenset({"work tree", "info"}), frozenset({"work tree", "HEAD"})
MOVED = changed(checkpoint_install_python="/gone/python3")


def told(findings: list[Finding]) -> list[tuple[str, str]]:
    return [(finding.level, finding.code) for finding in findings]


def test_a_healthy_clone_has_no_findings() -> None:
    assert run_checks(CHECKS, world()) == []


def test_a_default_branch_without_our_lines_is_a_note() -> None:
    facts = {"default_branch": DefaultBranch("main", None)}
    assert told(found(find_inert_driver, world(facts=facts))) == [("note", "driver/inert")]


# installation


def test_a_clone_without_installation_gets_one_finding() -> None:
    hooks = tuple(HookFile(name, name, "missing") for name in NAMES)
    for attributes in (True, False):
        facts = world(
            facts={"merge_attributes": {PATH: "checkpoint" if attributes else "unspecified"}},
            settings={},
            hooks=hooks,
            attributes=frozenset({"work tree", "HEAD"} if attributes else {"HEAD"}),
        )
        assert told(run_checks(CHECKS, facts)) == [("warning", "install/missing")]


def test_outside_git_nothing_is_said_about_git() -> None:
    outside = Context(PLACE._replace(work_tree=None, git_dir=None), NOW, {})
    assert run_checks(CHECKS, outside) == []
    assert [(one.level, one.code) for one in outside.troubles] == [("note", "doctor/not-looked-at")]


@rows(
    ("value", "says"),
    [
        ("union", "not JSON"),
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
    facts = {"merge_attributes": {PATH: value}}
    (finding,) = found(
        find_inert_driver, world(facts=facts, settings=changed(merge_other_driver="other %A"))
    )
    assert (finding.level, finding.path) == ("error", PATH)
    assert says in finding.message


def test_attributes_that_are_not_committed_are_a_note_unless_there_are_no_commits() -> None:
    assert told(found(find_inert_driver, world(attributes=NOT_IN_HEAD))) == [
        ("note", "driver/inert")
    ]
    assert (
        found(find_inert_driver, world(attributes=NOT_IN_HEAD, facts={"has_commits": False})) == []
    )


def test_missing_settings_are_told() -> None:
    assert told(found(find_inert_driver, world(attributes=NOT_IN_INFO))) == [
        ("warning", "driver/inert")
    ]
    assert told(
        found(find_inert_driver, world(settings=changed(merge_checkpoint_recursive="")))
    ) == [("warning", "driver/inert")]
    assert ("error", "driver/inert") in told(
        found(find_inert_driver, world(settings=changed(merge_checkpoint_driver="")))
    )
    assert (
        found(find_missing_installation, world(settings=changed(merge_checkpoint_driver=""))) == []
    )


def test_a_driver_whose_interpreter_or_file_is_gone_is_an_error_said_once() -> None:
    gone = world(gone=frozenset({"/usr/bin/python3", "/lib/driver.py"}))
    assert told(found(find_broken_driver, gone)) == [("error", "driver/broken")]


def test_anothers_driver_under_our_name_is_a_warning() -> None:
    assert told(
        found(find_broken_driver, world(settings=changed(merge_checkpoint_driver="other %A")))
    ) == [("warning", "driver/broken")]


# hooks


@rows("state", ["missing", "foreign", "not-executable", "outdated", "damaged"])
def test_hooks_that_git_does_not_run_are_told_together(state: State) -> None:
    hooks = (*HEALTHY.hooks[:1], *(hook._replace(state=state) for hook in HEALTHY.hooks[1:]))
    (finding,) = found(find_unreachable_hooks, world(hooks=hooks))
    assert finding.level == "warning"
    assert "pre-push" in finding.message
    assert "pre-commit" not in finding.message


def test_a_hook_that_init_leaves_alone_gets_the_line_to_add() -> None:
    script = HookFile(
        "pre-push", "/repo/.git/hooks/pre-push", "foreign", b"#!/usr/bin/python3\n", runs=True
    )
    (finding,) = found(find_unreachable_hooks, world(hooks=(*HEALTHY.hooks[:1], script)))
    assert 'checkpoint hook pre-push "$@"' in str(finding.hint)


@pytest.mark.parametrize("state", ["ours", "block", "moved"])
def test_hooks_that_git_runs_are_fine(state: State) -> None:
    assert (
        found(
            find_unreachable_hooks,
            world(hooks=tuple(hook._replace(state=state) for hook in HEALTHY.hooks)),
        )
        == []
    )


def test_a_hook_that_calls_us_or_the_frameworks_entry_counts() -> None:
    foreign = tuple(
        hook._replace(state="foreign", calls_us=hook.name != "pre-commit") for hook in HEALTHY.hooks
    )
    assert told(found(find_unreachable_hooks, world(hooks=foreign))) == [
        ("warning", "hooks/unreachable")
    ]
    assert found(find_unreachable_hooks, world(hooks=foreign, framework_entry=True)) == []


@pytest.mark.parametrize("state", ["no-interpreter", "passed-over"])
def test_words_of_ours_that_never_run_do_not_count_as_a_call(state: State) -> None:
    hooks = tuple(hook._replace(state=state, calls_us=True) for hook in HEALTHY.hooks)
    assert told(found(find_unreachable_hooks, world(hooks=hooks))) == [
        ("warning", "hooks/unreachable")
    ]


def test_a_hooks_path_outside_is_told_once_and_not_where_its_hooks_call_us() -> None:
    missing = tuple(hook._replace(state="missing") for hook in HEALTHY.hooks)
    (finding,) = found(
        find_unreachable_hooks,
        world(hooks=missing, folder=HooksFolder("/elsewhere", "outside", True)),
    )
    assert "/elsewhere" in finding.message
    calling = tuple(hook._replace(state="foreign", calls_us=True) for hook in HEALTHY.hooks)
    assert (
        found(
            find_unreachable_hooks,
            world(hooks=calling, folder=HooksFolder("/elsewhere", "outside", True)),
        )
        == []
    )
    assert told(
        found(find_unreachable_hooks, world(hooks=(), folder=HooksFolder("", "nowhere", False)))
    ) == [("warning", "hooks/unreachable")]


def test_hooks_whose_interpreter_is_gone_are_told() -> None:
    (finding,) = found(
        find_unreachable_hooks, world(settings=MOVED, gone=frozenset({"/gone/python3"}))
    )
    assert "/gone/python3" in finding.message
    assert finding.level == "warning"


def test_an_interpreter_that_is_gone_for_driver_and_hooks_is_one_finding() -> None:
    gone = world(gone=frozenset({"/usr/bin/python3", "/lib/driver.py"}))
    assert found(find_unreachable_hooks, gone) == []
    (finding,) = found(find_broken_driver, gone)
    assert "git merges checkpoints as text" in finding.message


def test_where_checkpoint_is_on_path_hooks_without_an_interpreter_are_a_note(
    tmp_path: Path,
) -> None:
    (tmp_path / "checkpoint").write_text("#!/bin/sh\n")
    (tmp_path / "checkpoint").chmod(0o755)
    context = world(settings=MOVED, gone=frozenset({"/gone/python3"}))
    context.env = {"PATH": str(tmp_path)}
    assert told(found(find_unreachable_hooks, context)) == [("note", "hooks/unreachable")]


def test_what_a_sparse_checkout_leaves_out_is_a_note_and_goes_with_its_hint(repo: GitRepo) -> None:
    repo.write(PATH, checkpoint_text())
    repo.write("pkg/.checkpoints/api.checkpoint.json", checkpoint_text(skill="api"))
    repo.commit()
    repo.git("sparse-checkout", "init", "--cone")  # the default since git 2.37
    repo.git("sparse-checkout", "set", ".checkpoints")

    def look() -> list[Finding]:
        return found(find_sparse_checkout, Context(find_place(str(repo.path)), NOW, os.environ))

    [finding] = look()
    assert (finding.level, finding.code) == ("note", "clone/sparse")
    repo.git(*shlex.split(str(finding.hint))[1:])
    assert look() == []


def test_a_lock_of_a_git_that_was_killed_is_named_and_one_of_a_git_that_runs_is_not(
    repo: GitRepo,
) -> None:
    repo.write(PATH, checkpoint_text())
    repo.commit()
    repo.git("worktree", "add", "-q", str(repo.path.parent / "beside"))

    def look() -> list[Finding]:
        return found(find_stale_locks, Context(find_place(str(repo.path)), NOW, os.environ))

    def make_older(lock: Path) -> None:
        time = lock.stat().st_mtime - 420
        os.utime(lock, (time, time))

    ref = update_ref_killed(repo, "refs/heads/side")
    assert look() == []  # it is new
    make_older(ref)

    # a commit that waits for its editor holds the lock of the index as long as it likes
    index = repo.path / ".git/worktrees/beside/index.lock"
    repo.write("../beside/new.txt", "new\n")
    beside = repo.path.parent / "beside"
    subprocess.run(["git", "add", "new.txt"], cwd=beside, check=True)
    with subprocess.Popen(
        [
            "sh",
            "-c",
            "git commit --include new.txt; :",
        ],  # what this process starts itself is not counted
        cwd=beside,
        env={**os.environ, "GIT_EDITOR": "echo ready; cat; :"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as commit:
        assert commit.stdout
        assert commit.stdout.readline() == b"ready\n"
        make_older(index)
        assert look() == []
        os.killpg(commit.pid, signal.SIGKILL)

    findings = look()
    assert [(finding.level, finding.code) for finding in findings] == [
        ("warning", "clone/stale-lock")
    ] * 2
    for finding, lock in zip(findings, (ref, index), strict=True):
        assert f"git left {lock} 7m ago" in finding.message
        assert lock.exists()
        repo.run(*shlex.split(str(finding.hint).removeprefix("remove it: ")))
        assert not lock.exists()
    assert look() == []


def test_attributes_that_a_sparse_checkout_leaves_out_count_as_committed(repo: GitRepo) -> None:
    init(str(repo.path), Options(hooks="none"), os.environ)
    repo.write("src/a", "a")
    repo.commit()
    repo.git("sparse-checkout", "set", "--no-cone", "/src/", "/.checkpoints/")
    assert not (repo.path / ".gitattributes").exists()
    assert found(find_inert_driver, Context(find_place(str(repo.path)), NOW, os.environ)) == []
