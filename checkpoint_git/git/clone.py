"""What a clone lacks: the merge driver, older history, files of ours that are not checked out."""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import Hint, command
from checkpoint_git.core.outcome import Invocation, Line, Outcome
from checkpoint_git.core.terminal_text import join_some, plain_path, plural
from checkpoint_git.git.own_files import (
    find_common_dir,
    find_unmerged,
    has_nested_folders,
    read_start,
)

if TYPE_CHECKING:
    from checkpoint_git.git.leases import Claim

_LONGEST_CONFIG = 1 << 20  # bytes
_MOST_PACKED = 1 << 25  # bytes of packed refs that are read here rather than by git
# How the call begins that driver_settings writes. git writes a configuration's value in quotes,
# with escapes, where it holds ";", as ours does.
_DRIVER = b"\n\tdriver = \"test -x '"
_SPARSE = rb"(?im)^[ \t]*sparsecheckout[ \t]*=[ \t]*true\s*$"
# What is in the git directory while an operation waits for its conflicts; the first that is there
# counts.
_OPERATIONS = (
    ("rebase-apply/applying", "am"),
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("MERGE_HEAD", "merge"),
)
_NESTED = "clone/nested"


WorkTree = tuple[str | None, str | None]  # its top and its git directory


class Gap(NamedTuple):
    """code: of the doctor's finding about the same. fix: a command."""

    code: str
    message: str
    fix: Hint

    @property
    def line(self) -> Line:
        """Return the line for a person."""
        what = "to fix it"
        if self.code == _NESTED:
            what = "to see them"
        steps = [step._replace(text=what) for step in self.fix.steps]
        return Line(self.message, "warn", hint=Hint(*steps))


def add_gaps(
    outcome: Outcome, tree: WorkTree, invocation: Invocation, claims: "list[Claim] | None" = None
) -> Outcome:
    """Return an outcome with what this clone lacks, and what is claimed.

    claims: None has them looked up.
    """
    where = (*tree, invocation.env)
    gaps = [*find_gaps(*where), *find_nested(*where, invocation.cwd)]
    if claims is None:
        claims = find_claims(*where, invocation.now)
    # a finding with the same command says as much of each of these files
    marked = sum(finding.code == "json/conflict-markers" for finding in outcome.findings)
    summary = f"with {plural(marked, 'checkpoint')} to resolve"
    lines = [gap.line._replace(hang=2) for gap in gaps if summary not in gap.message]
    lines += [Line(claim.line, "dim", hang=2) for claim in claims]
    data = {
        **outcome.data,
        "clone": [gap._asdict() for gap in gaps],
        "claims": [claim.data for claim in claims],
    }
    return outcome._replace(data=data, summary=[*outcome.summary, *lines])


def find_claims(
    work_tree: str | None, git_dir: str | None, env: Mapping[str, str], now: int
) -> "list[Claim]":
    """Return the claims that are not over, each holder's once, as last seen.

    Git is started only where there may be any.
    """
    if work_tree is None or git_dir is None:
        return []
    if not _may_be_claimed(find_common_dir(git_dir)):
        return []
    from checkpoint_git.git.leases import read_claims

    found: dict[tuple[str, str], Claim] = {}
    with suppress(OSError, CheckpointError):  # a damaged ref: `claim` says so
        claims = read_claims(work_tree, env)
        found = {(claim.name, claim.holder): claim for claim in claims if now < claim.ends}
    return list(found.values())


def _may_be_claimed(common: str) -> bool:
    if any(os.path.isdir(os.path.join(common, name)) for name in ("refs/checkpoint", "reftable")):
        return True
    packed = read_start(os.path.join(common, "packed-refs"), _MOST_PACKED)
    return len(packed) == _MOST_PACKED or b" refs/checkpoint/" in packed


# Every look at where the work is asks this, so it reads git's files first, and starts git only
# where those leave a doubt.
def find_gaps(work_tree: str | None, git_dir: str | None, env: Mapping[str, str]) -> list[Gap]:
    """Return what this clone lacks; [] outside git. git_dir: of this worktree."""
    if git_dir is None or work_tree is None:
        return []
    common = find_common_dir(git_dir)
    config = read_start(os.path.join(common, "config"), _LONGEST_CONFIG)
    gaps = list(find_conflicts(work_tree, git_dir, env))
    gaps += _find_missing_driver(work_tree, config, env)
    if os.path.exists(os.path.join(common, "shallow")):
        message = "this clone is shallow: what was merged before it begins is unknown"
        fix = command("git", "fetch", "--unshallow")
        gaps.append(Gap("drift/history-partial", message, fix))
    config += read_start(f"{git_dir}/config.worktree", _LONGEST_CONFIG)
    gaps += _find_hidden(work_tree, config, env)
    return gaps


def read_operation(git_dir: str) -> str:
    """Return the operation that waits here, "" if none does.

    It is "merge", "rebase", "cherry-pick", "revert" or "am".
    """
    for file, name in _OPERATIONS:
        if os.path.exists(os.path.join(git_dir, file)):
            return name
    if not os.path.isdir(os.path.join(find_common_dir(git_dir), "reftable")):
        return ""
    from checkpoint_git.git.run import run_git

    # such a repository (git 2.45) keeps what is a file elsewhere in its table. rev-parse would also
    # find a branch or a tag of that name, which anybody may have pushed.
    words = ["--git-dir", git_dir, "show-ref", "--exists"]
    for file, name in _OPERATIONS:
        if file.isupper() and run_git([*words, file], git_dir, check=False).code == 0:
            return name
    return ""


def find_nested(
    work_tree: str | None, git_dir: str | None, env: Mapping[str, str], cwd: str
) -> Iterator[Gap]:
    """Yield what a look from the top of a repository does not show."""
    if work_tree is None or git_dir is None:
        return
    if os.path.realpath(cwd) != os.path.realpath(work_tree) or not has_nested_folders(git_dir):
        return
    from checkpoint_git.git.worktree import list_roots

    roots = list_roots(work_tree, env, tracked=True)
    folders = [os.path.relpath(root, work_tree) for root in roots if root != work_tree]
    if folders:
        fix = command("checkpoint", "-C", plain_path(folders[0]), "status")
        yield Gap(_NESTED, f"there are checkpoints below: {join_some(folders)}", fix)


def find_conflicts(
    work_tree: str | None, git_dir: str | None, env: Mapping[str, str]
) -> Iterator[Gap]:
    if git_dir is None or work_tree is None:
        return
    from checkpoint_git.protocols.registry import is_merged

    count = sum(map(is_merged, find_unmerged(work_tree, git_dir, env)))
    if not count:
        return
    operation = read_operation(git_dir)
    if operation == "am":
        state = "git is in the middle of an am"
    elif operation:
        state = f"git is in the middle of a {operation}"
    else:
        state = "git stopped at a conflict"
    message = f"{state}, with {plural(count, 'checkpoint')} to resolve"
    yield Gap("merge/unresolved", message, command("checkpoint", "resolve"))


def _find_missing_driver(work_tree: str, config: bytes, env: Mapping[str, str]) -> Iterator[Gap]:
    # Python and the driver, in quotes: to compile a pattern takes longer than all the rest here.
    # What is written otherwise is at no such path.
    python, _, driver, *_ = [*config.partition(_DRIVER)[2].split(b"'"), b"", b""]
    is_sound = b"\0" not in python + driver
    if is_sound and os.access(python, os.X_OK) and os.path.isfile(driver):
        return
    from checkpoint_git.git.repository import read_all_settings
    from checkpoint_git.git.run import clean_env

    try:
        driver_command = read_all_settings(work_tree, clean_env(env)).get(
            "merge.checkpoint.driver", ""
        )
    except CheckpointError:  # without git nobody merges; what needs git says so
        return

    if not driver_command:
        message = (
            "this clone is not set up: git merges checkpoints as text, and no hook checks them"
        )
        yield Gap("install/missing", message, command("checkpoint", "init"))
        return

    from checkpoint_git.git.driver_settings import read_driver_command

    installed = read_driver_command(driver_command)
    if installed and not (
        os.access(installed.python, os.X_OK) and os.path.isfile(installed.driver)
    ):
        message = f"the merge driver's Python is gone: {installed.python}"
        yield Gap("driver/broken", message, command("checkpoint", "init"))


def _find_hidden(work_tree: str, config: bytes, env: Mapping[str, str]) -> Iterator[Gap]:
    if b"sparse" not in config.lower() or not re.search(_SPARSE, config):
        return
    from checkpoint_git.git.run import clean_env, read_names
    from checkpoint_git.git.staged import pathspecs

    listed = read_names(
        ["ls-files", "-t", "-z", "--", *pathspecs()], work_tree, env=clean_env(env), check=False
    )
    hidden = [line[2:] for line in listed if line.startswith("S ")]
    if hidden:
        folders = sorted({os.path.dirname(path) for path in hidden})
        files = plural(len(hidden), "file")
        message = f"the sparse checkout leaves out {files} of ours, in {folders[0]}"
        yield Gap("clone/sparse", message, command("git", "sparse-checkout", "add", *folders))
