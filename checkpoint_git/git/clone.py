"""What a clone lacks: the merge driver, older history, files of ours that are not checked out."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.outcome import Invocation, Line, Outcome
from checkpoint_git.core.terminal_text import join_some, plural, quote_path, quote_word
from checkpoint_git.git.leases import Claim, find_claims
from checkpoint_git.git.run import clean_env, find_common_dir, read_names, run_git

_LONGEST_CONFIG = 1 << 20  # bytes
# The call that driver_settings writes: what it starts, in quotes. git writes a configuration's value in quotes, with
# escapes, where it holds ";", as ours does.
_DRIVER = rb"(?m)^[ \t]*driver = \"test -x '([^'\"\\%]+)' && test -f '([^'\"\\%]+)' "
_SPARSE = rb"(?im)^[ \t]*sparsecheckout[ \t]*=[ \t]*true\s*$"
# What is in the git directory while an operation waits for its conflicts; the first that is there counts.
_OPERATIONS = (
    ("rebase-apply/applying", "am"),
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("MERGE_HEAD", "merge"),
)
_LONGEST_INDEX = 1 << 28  # bytes
_NESTED = "clone/nested"


WorkTree = tuple[str | None, str | None]  # its top and its git directory


class Gap(NamedTuple):
    """code: of the doctor's finding about the same. fix: a command."""

    code: str
    message: str
    fix: str

    @property
    def line(self) -> str:
        return f"{self.message} ({'see' if self.code == _NESTED else 'fix'}: {self.fix})"


def add_gaps(outcome: Outcome, tree: WorkTree, invocation: Invocation, claims: list[Claim] | None = None) -> Outcome:
    """And what is claimed."""
    where = (*tree, invocation.env)
    gaps = [*find_gaps(*where), *find_nested(*where, invocation.cwd)]
    claims = find_claims(*where, invocation.now) if claims is None else claims
    # a finding with the same command says as much of each of these files
    marked = sum(finding.code == "json/conflict-markers" for finding in outcome.findings)
    told = f"with {plural(marked, 'checkpoint')} to resolve"
    lines = [Line(gap.line, "warn", hang=2) for gap in gaps if told not in gap.message]
    lines += [Line(claim.line, "dim", hang=2) for claim in claims]
    data = {**outcome.data, "clone": [gap._asdict() for gap in gaps], "claims": [claim.data for claim in claims]}
    return outcome._replace(data=data, summary=[*outcome.summary, *lines])


# Every look at where the work is asks this, so it reads git's files first, and starts git only where those leave a
# doubt.
def find_gaps(work_tree: str | None, git_dir: str | None, env: Mapping[str, str]) -> list[Gap]:
    """[] outside git. git_dir: of this worktree."""
    if git_dir is None or work_tree is None:
        return []
    common = find_common_dir(git_dir)
    config = _read(os.path.join(common, "config"))
    message = "this clone is shallow: what was merged before it begins is unknown"
    cut = Gap("drift/history-partial", message, "git fetch --unshallow")
    return [
        *find_conflicts(work_tree, git_dir, env),
        *_find_missing_driver(work_tree, config, env),
        *([cut] if os.path.exists(os.path.join(common, "shallow")) else []),
        *_find_hidden(work_tree, config + _read(os.path.join(git_dir, "config.worktree")), env),
    ]


def read_operation(git_dir: str) -> str:
    """Which operation waits here: "merge", "rebase", "cherry-pick", "revert", "am" or ""."""
    found = next((name for file, name in _OPERATIONS if os.path.exists(os.path.join(git_dir, file))), "")
    if found or not os.path.isdir(os.path.join(find_common_dir(git_dir), "reftable")):
        return found
    # such a repository (git 2.45) keeps what is a file elsewhere in its table
    words = ["--git-dir", git_dir, "rev-parse", "--quiet", "--verify"]
    asked = ((file, name) for file, name in _OPERATIONS if file.isupper())
    return next((name for file, name in asked if run_git([*words, file], git_dir, check=False).code == 0), "")


def find_unmerged(work_tree: str, git_dir: str, env: Mapping[str, str]) -> list[str]:
    """Files of ours that a merge, or what merges as it does (a stash, a patch), left unresolved in git's index."""
    if not _may_be_unmerged(_read(os.path.join(git_dir, "index"), _LONGEST_INDEX)):
        return []
    from checkpoint_git.git.worktree import read_unmerged

    return read_unmerged(work_tree, clean_env(env))


def has_nested_folders(git_dir: str) -> bool:
    """Whether git's index lists checkpoints below the top: to start git takes as long as all the rest of a run."""
    return b"/.checkpoints/" in _read(os.path.join(git_dir, "index"), _LONGEST_INDEX)


def find_nested(work_tree: str | None, git_dir: str | None, env: Mapping[str, str], cwd: str) -> Iterator[Gap]:
    """What a look from the top of a repository does not show."""
    if work_tree is None or git_dir is None or os.path.realpath(cwd) != os.path.realpath(work_tree):
        return
    if has_nested_folders(git_dir):
        from checkpoint_git.git.worktree import list_roots

        roots = list_roots(work_tree, env, tracked=True)
        folders = [os.path.relpath(root, work_tree) for root in roots if root != work_tree]
        if folders:
            fix = f"checkpoint -C {quote_path(folders[0])} status"
            yield Gap(_NESTED, f"there are checkpoints below: {join_some(folders)}", fix)


def find_unlisted(git_dir: str, paths: Sequence[str]) -> list[str]:
    """The paths that git's index does not seem to list; asking git is sure, and takes a process."""
    # a name in the index has its length in the 12 bits before it, and a NUL behind it (gitformat-index, versions 2, 3)
    index = _read(os.path.join(git_dir, "index"), _LONGEST_INDEX)
    names = {path: os.fsencode(path) for path in paths}
    entries = {path: min(len(name), 0xFFF).to_bytes(2, "big") + name + b"\0" for path, name in names.items()}
    return [path for path, entry in entries.items() if entry not in index]


def read_tag(work_tree: str | None, git_dir: str | None, path: str) -> str:
    """The letter that git has for a path: H in the index, M unmerged, S left out by a sparse checkout, else ""."""
    if not (work_tree and git_dir and find_unlisted(git_dir, [path])):
        return "H" if git_dir else ""
    words = ["--literal-pathspecs", "ls-files", "-t", "-z", "--", path]
    with suppress(CheckpointError):  # git is missing: what needs it says so
        return run_git(words, work_tree, env=clean_env(os.environ), check=False).out[:1].decode()
    return ""


def _read(path: str, limit: int = _LONGEST_CONFIG) -> bytes:
    with suppress(OSError), open(path, "rb") as stream:
        return stream.read(limit)
    return b""


def find_conflicts(work_tree: str | None, git_dir: str | None, env: Mapping[str, str]) -> Iterator[Gap]:
    if git_dir is None or work_tree is None:
        return
    from checkpoint_git.protocols.registry import is_merged

    count = sum(map(is_merged, find_unmerged(work_tree, git_dir, env)))
    if count:
        operation = read_operation(git_dir)
        article = "an" if operation == "am" else "a"
        state = f"git is in the middle of {article} {operation}" if operation else "git stopped at a conflict"
        yield Gap("merge/unresolved", f"{state}, with {plural(count, 'checkpoint')} to resolve", "checkpoint resolve")


def _may_be_unmerged(index: bytes) -> bool:
    """Whether an entry of ours may have a stage; asking git is sure, and takes a process."""
    from checkpoint_git.protocols.registry import KINDS

    if index[4:8] == b"\0\0\0\4":  # names are shortened by what they share with the one before
        return True
    for ending in {kind.parts[-1] for kind in KINDS}:
        tail, found = ending.encode() + b"\0", -1
        while (found := index.find(tail, found + 1)) >= 0:
            # backwards to where the two bytes before hold the stage and, in 12 bits, the length of the name from there
            end = at = found + len(tail) - 1
            while at > 2 and index[at - 1] and end - at < 0xFFF:
                at -= 1
                if index[at - 2] & 0x30 and (index[at - 2] & 0xF) << 8 | index[at - 1] == end - at:
                    return True
    return False


def _find_missing_driver(work_tree: str, config: bytes, env: Mapping[str, str]) -> Iterator[Gap]:
    found = re.search(_DRIVER, config) if b"driver = " in config else None
    if found and os.access(found[1], os.X_OK) and os.path.isfile(found[2]):
        return
    from checkpoint_git.git.repository import read_all_settings

    try:
        command = read_all_settings(work_tree, clean_env(env)).get("merge.checkpoint.driver", "")
    except CheckpointError:  # without git nobody merges; what needs git says so
        return
    if not command:
        message = "this clone is not set up: git merges checkpoints as text, and no hook checks them"
        yield Gap("install/missing", message, "checkpoint init")
        return
    from checkpoint_git.git.driver_settings import read_driver_command

    installed = read_driver_command(command)
    if installed and not (os.access(installed.python, os.X_OK) and os.path.isfile(installed.driver)):
        message = f"the merge driver's Python is gone: {installed.python}"
        yield Gap("driver/broken", message, "checkpoint init")


def _find_hidden(work_tree: str, config: bytes, env: Mapping[str, str]) -> Iterator[Gap]:
    if b"sparse" not in config.lower() or not re.search(_SPARSE, config):
        return
    from checkpoint_git.git.staged import pathspecs

    listed = read_names(["ls-files", "-t", "-z", "--", *pathspecs()], work_tree, env=clean_env(env), check=False)
    hidden = [line[2:] for line in listed if line.startswith("S ")]
    if hidden:
        folders = sorted({os.path.dirname(path) for path in hidden})
        message = f"the sparse checkout leaves out {plural(len(hidden), 'file')} of ours, in {folders[0]}"
        yield Gap("clone/sparse", message, f"git sparse-checkout add {' '.join(map(quote_word, folders))}")
