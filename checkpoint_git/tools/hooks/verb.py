"""`checkpoint hook NAME`: what git's hooks ask about checkpoints; the scripts in hooks/ hand over to it."""

import argparse
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding, has_errors
from checkpoint_git.core.hint import advise
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.disk.atomic import remove_stray_files
from checkpoint_git.disk.discover import find_repository, relative_path
from checkpoint_git.git import staged
from checkpoint_git.git.clone import find_gaps
from checkpoint_git.git.objects import IndexEntry, read_commit, read_tree
from checkpoint_git.git.pushed import parse_pushes, read_commit_changes, read_pushed, read_pushed_losses
from checkpoint_git.git.settings import DRIFT_BLOCKS, read_flag
from checkpoint_git.protocols.contract import find_files, find_hooks, open_room
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.registry import append_only_patterns, find_kind, is_fixed, with_siblings
from checkpoint_git.protocols.validate import (
    check_together,
    describe_loss,
    describe_unmerged,
    find_twins,
    iterate_checked,
)

HELP = """\
called by git's hooks; not meant to be typed

examples:
  checkpoint hook pre-commit             check what is staged, as the hook does
"""

_MOST_SHOWN = 100  # findings of one run
_MOST_READ = 10_000  # findings of all levels, after which no further file is read
_APPEND_ONLY = append_only_patterns()[0]


class Question(NamedTuple):
    title: str  # what they are, for the report
    files: staged.Staged = staged.Staged(staged.Files(""))
    losses: Sequence[staged.Loss] = ()  # files that may only be added, and are changed or gone
    findings: Sequence[Finding] = ()  # what is wrong whatever the files hold


class Hook(NamedTuple):
    read: Callable[[list[str], Invocation], Iterable[Question]]  # the questions, which may come one by one
    check: Callable[[Question, Invocation], list[Finding]]
    stops: bool  # an error ends the operation; else it is reported and let through
    advice: Line


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", choices=sorted(_HOOKS), help="the hook that git runs")
    parser.add_argument("words", nargs="*", help="what git passed to the hook")


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    hook = _HOOKS[args.name]
    if args.name == "post-commit":
        for after_commit in find_hooks("after_commit"):
            after_commit(invocation.cwd, invocation.env)
    answers: dict[str, list[Finding]] = {}
    for question in hook.read(args.words, invocation):
        answers.setdefault(question.title, []).extend(hook.check(question, invocation))
        if sum(map(len, answers.values())) > _MOST_SHOWN:
            break
    blocks, found = list[Block](), list[Finding]()
    for title, findings in answers.items():
        found += findings
        if has_errors(findings):
            blocks.append(Line(f"checkpoint-git, {args.name}: errors in {title}", "bad"))
        elif findings:
            what = "drift" if all(finding.code.startswith("drift/") for finding in findings) else "errors"
            blocks.append(Line(f"checkpoint-git, {args.name}: {what} in {title}; not blocked", "warn"))
    advice = [hook.advice] if has_errors(found) else []
    work_tree, git_dir = find_repository(invocation.cwd) or (None, None)
    if work_tree:
        remove_stray_files(work_tree)  # the merge driver writes where git has put its files, and it may be killed
    gaps = find_gaps(work_tree, git_dir, invocation.env) if args.name != "post-commit" else []  # pre-commit has said it
    broken = [gap for gap in gaps if gap.code == "driver/broken"]
    advice += [gap.line for gap in broken]  # before a merge meets it
    if len(found) > _MOST_SHOWN:
        advice.append(Line(f"There may be more: these are the first {_MOST_SHOWN}."))
    # A hook that stops nothing answers 0 whatever it finds.
    return Outcome({"hook": args.name}, blocks, found[:_MOST_SHOWN], None if hook.stops else 0, advice)


def check_validity(question: Question, invocation: Invocation) -> list[Finding]:
    """The errors in a question's files; warnings are for `checkpoint validate`."""
    files, findings, fixed, paths = question.files, list[Finding](), list[Document](), list[str]()
    for document in iterate_checked(files.files, invocation.now):
        findings += document.findings
        paths.append(document.path)
        fixed += [document] if is_fixed(document.path) else []
        if len(findings) > _MOST_READ:
            break
    findings += check_together(fixed)
    roots = {os.path.join(invocation.cwd, os.path.dirname(os.path.dirname(path))) for path in paths}
    there = {relative_path(path, invocation.cwd) for root in roots for path in find_files(root)}
    findings += [twin for twin in find_twins([*sorted(there.difference(paths)), *paths]) if twin.path in paths]
    findings += map(describe_unmerged, files.unmerged)
    for path, target in files.links:
        if isinstance(target, OSError) or _leads_out(path, target):
            shown = escape_controls(shorten(str(target) if isinstance(target, OSError) else os.fsdecode(target), 500))
            message = f"the file is a symbolic link out of the repository, to {shown}"
            findings.append(Finding("file/link-outside", "error", message, path, hint="put a real file in its place"))
    findings += [describe_loss("pipeline/append-only", loss.path, loss.how) for loss in question.losses]
    errors = []
    for finding in [*findings, *question.findings]:
        kind = find_kind(finding.path)
        # a name like one of ours is not enough: a pipeline record is recognised by its folder too
        if finding.level == "error" and kind and open_room(kind.name).layout.find_skill(finding.path):
            errors.append(finding)
    return errors


def _leads_out(path: str, target: bytes) -> bool:
    way = os.path.normpath(os.path.join(os.fsencode(os.path.dirname(path)), target))
    return way.startswith((b"/", b"../")) or way == b".."


def check_push(question: Question, invocation: Invocation) -> list[Finding]:
    """Errors, and drift: warnings, or errors where checkpoint.driftBlocks is true."""
    drift = list[Finding]()
    for find_drift in find_hooks("check_push"):
        drift += find_drift(question.files.files, invocation.cwd, invocation.now, invocation.env)
    if drift and read_flag(DRIFT_BLOCKS, invocation.cwd):
        drift = [finding._replace(level="error") for finding in drift]
    return check_validity(question, invocation) + drift


def _ask_staged(words: list[str], invocation: Invocation) -> list[Question]:
    losses = staged.read_losses(invocation.cwd, _APPEND_ONLY, staged=True, env=invocation.env)
    return [Question("what is staged", staged.read_staged_changes(invocation.cwd), losses)]


def _ask_pushed(words: list[str], invocation: Invocation) -> list[Question]:
    remote = words[0] if words else ""
    return [
        Question(
            f"{escape_controls(push.local_ref)} ({push.local_id[:12]})",
            read_pushed(invocation.cwd, push, remote),
            read_pushed_losses(invocation.cwd, push, remote, _APPEND_ONLY),
        )
        for push in parse_pushes(invocation.stdin.read())
    ]


def _ask_received(words: list[str], invocation: Invocation) -> Iterator[Question]:
    """What a push brings to a server. update gets ref, old and new as its words, pre-receive on standard input."""
    from checkpoint_git.git import received  # no clone needs it

    if words and len(words) != 3:
        raise CheckpointError("update is called with a ref and two ids", "it is called by git, and not for typing")
    lines = received.parse_received(f"{words[1]} {words[2]} {words[0]}" if words else invocation.stdin.read())
    # The hook runs in quarantine: what is pushed is only found with the variables that git has set.
    place, env = invocation.cwd, received.server_env(invocation.env)
    titles = {line: f"{escape_controls(line.ref)} ({line.new[:12]})" for line in lines}
    tips = received.read_tips(place, lines, env)
    names = {tips[line.new]: titles[line] for line in reversed(lines) if line.new in tips}
    for tip, arrivals in received.read_arrivals(place, [tips[line.new] for line in lines if line.new in tips], env):
        # what is wrong with a file before it is read
        refused = list[Finding]()
        for one in arrivals:
            if one.size < 0:  # a submodule
                message, hint = "a checkpoint's path is a submodule", "put a real file in its place"
                refused.append(Finding("file/not-a-file", "error", message, one.path, hint=hint))
        entries = [IndexEntry(one.path, one.mode, one.blob, 0) for one in arrivals if one.size >= 0]
        brought = {one.path for one in arrivals}
        if siblings := sorted(with_siblings(brought) - brought):  # they may contradict what is here already
            entries += [IndexEntry(path, *one, 0) for path, one in read_tree(place, tip, env, siblings).items()]
        yield Question(names[tip], staged.sort_out(place, entries, env), findings=refused)
    for line, losses in received.read_received_losses(place, lines, tips, _APPEND_ONLY, env):
        yield Question(titles[line], losses=losses)


def _ask_committed(words: list[str], invocation: Invocation) -> list[Question]:
    return _ask_commits([read_commit(invocation.cwd, "HEAD")], "the new commit", invocation.cwd)


def _ask_rewritten(words: list[str], invocation: Invocation) -> list[Question]:
    # git gives a line `OLD NEW` for each commit
    lines = (line.split() for line in invocation.stdin.read().split("\n"))
    return _ask_commits([words[1] for words in lines if len(words) > 1], "the rewritten commits", invocation.cwd)


def _ask_commits(commits: list[str], title: str, work_tree: str) -> list[Question]:
    changed = read_commit_changes(work_tree, commits)
    return [Question(title, staged.read_committed(work_tree, "HEAD", changed))] if changed else []


def _ask_merged(words: list[str], invocation: Invocation) -> list[Question]:
    return [Question("what the merge brought", staged.read_staged_changes(invocation.cwd, "ORIG_HEAD"))]


_FIX = Line(
    "Fix the files, add them and commit again", hint=advise("to check them", "checkpoint", "validate", "--staged")
)
_FIX_IN_COMMIT = Line("Fix the files in a commit of their own and push again; --no-verify pushes them as they are.")
_FIX_LATER = Line("Nothing was undone. Fix the files and commit before you push: the pre-push hook stops them.")
_FIX_AND_PUSH = Line(
    "Fix the files in a commit of their own and push again",
    hint=advise("to see the same", "checkpoint", "validate"),
)

_HOOKS = {
    "pre-commit": Hook(_ask_staged, check_validity, True, _FIX),
    "pre-merge-commit": Hook(_ask_staged, check_validity, True, _FIX),
    "pre-push": Hook(_ask_pushed, check_push, True, _FIX_IN_COMMIT),
    "pre-receive": Hook(_ask_received, check_validity, True, _FIX_AND_PUSH),
    "update": Hook(_ask_received, check_validity, True, _FIX_AND_PUSH),
    "post-commit": Hook(_ask_committed, check_validity, False, _FIX_LATER),
    "post-merge": Hook(_ask_merged, check_validity, False, _FIX_LATER),
    "post-rewrite": Hook(_ask_rewritten, check_validity, False, _FIX_LATER),
}
