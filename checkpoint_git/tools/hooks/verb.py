"""`checkpoint hook NAME`: check checkpoints for git's hooks; the scripts in hooks/ start it."""

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
from checkpoint_git.git.pushed import (
    parse_pushes,
    read_commit_changes,
    read_pushed,
    read_pushed_losses,
)
from checkpoint_git.git.settings import DRIFT_BLOCKS, read_flag
from checkpoint_git.protocols.contract import find_files, find_hooks, open_room
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.registry import (
    append_only_patterns,
    find_kind,
    is_fixed,
    with_siblings,
)
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
_APPEND_ONLY = append_only_patterns()[0]


class HookSubject(NamedTuple):
    """The files that a hook checks together. title: their name in the report.

    losses: files that may only be added, and were changed or removed.
    findings: what is wrong whatever the files contain.
    """

    title: str
    files: staged.Staged = staged.Staged(staged.Files(""))
    losses: Sequence[staged.Loss] = ()
    findings: Sequence[Finding] = ()


class Hook(NamedTuple):
    """read: returns the subjects, maybe one by one. stops: an error ends the operation; otherwise
    it is reported and let through.
    """

    read: Callable[[list[str], Invocation], Iterable[HookSubject]]
    check: Callable[[HookSubject, Invocation], list[Finding]]
    stops: bool
    advice: Line


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", choices=sorted(_HOOKS), help="the hook that git runs")
    parser.add_argument("words", nargs="*", help="what git passed to the hook")


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """Check what git passed to a hook, and stop the operation if the hook may do that."""
    hook = _HOOKS[args.name]
    if args.name in ("post-commit", "post-merge"):
        for after_commit in find_hooks("after_commit"):
            after_commit(invocation.cwd, invocation.env)

    answers = _ask_all(hook, args.words, invocation)

    blocks = list[Block]()
    found = list[Finding]()
    for title, findings in answers.items():
        found += findings
        if findings:
            blocks.append(_describe(args.name, title, findings))

    advice = []
    if has_errors(found):
        advice.append(hook.advice)
    advice += _check_installation(args.name, invocation)
    if len(found) > _MOST_SHOWN:
        advice.append(Line(f"There may be more: these are the first {_MOST_SHOWN}."))
    # a hook that stops nothing answers 0 whatever it finds
    code = None if hook.stops else 0
    # errors first: warnings, however many, let none of them through
    found.sort(key=lambda finding: finding.level != "error")
    return Outcome({"hook": args.name}, blocks, found[:_MOST_SHOWN], code, advice)


def _ask_all(hook: Hook, words: list[str], invocation: Invocation) -> dict[str, list[Finding]]:
    """Return what is wrong by the titles of questions, until more errors than can be shown."""
    answers: dict[str, list[Finding]] = {}
    count = 0
    for question in hook.read(words, invocation):
        findings = hook.check(question, invocation)
        answers.setdefault(question.title, []).extend(findings)
        count += sum(finding.level == "error" for finding in findings)
        if count > _MOST_SHOWN:
            break
    return answers


def _describe(hook_name: str, title: str, findings: list[Finding]) -> Line:
    if has_errors(findings):
        return Line(f"checkpoint-git, {hook_name}: errors in {title}", "bad")
    what = "errors"
    if all(finding.code.startswith("drift/") for finding in findings):
        what = "drift"
    return Line(f"checkpoint-git, {hook_name}: {what} in {title}; not blocked", "warn")


def _check_installation(hook_name: str, invocation: Invocation) -> list[Line]:
    """Clean up after killed merge drivers, and return lines about a broken one."""
    work_tree, git_dir = find_repository(invocation.cwd) or (None, None)
    if work_tree:
        # the merge driver writes its files beside git's, and it may be killed
        remove_stray_files(work_tree)
    if hook_name == "post-commit":
        # pre-commit has reported it
        return []
    # a broken driver is reported before the next merge needs it
    gaps = find_gaps(work_tree, git_dir, invocation.env)
    return [gap.line for gap in gaps if gap.code == "driver/broken"]


def check_validity(question: HookSubject, invocation: Invocation) -> list[Finding]:
    """Return the errors in a question's files; warnings are for `checkpoint validate`."""
    files = question.files
    findings, paths = _check_documents(question, invocation.now)
    findings += _find_twins(paths, invocation.cwd)
    findings += map(describe_unmerged, files.unmerged)
    findings += _check_links(files.links)
    for loss in question.losses:
        findings.append(describe_loss("pipeline/append-only", loss.path, loss.how))

    return [finding for finding in [*findings, *question.findings] if _is_our_error(finding)]


def _is_our_error(finding: Finding) -> bool:
    return finding.level == "error" and _is_ours(finding.path)


def _is_ours(path: str) -> bool:
    # a name like one of ours is not enough: a pipeline record is recognized by its folder too
    kind = find_kind(path)
    return kind is not None and bool(open_room(kind.name).layout.find_skill(path))


def _check_documents(question: HookSubject, now: int) -> tuple[list[Finding], list[str]]:
    """Return the errors in a question's files, and their paths.

    After more errors than can be shown no further file is read.
    """
    findings = list[Finding]()
    fixed = list[Document]()
    paths = list[str]()
    for document in iterate_checked(question.files.files, now):
        findings += filter(_is_our_error, document.findings)
        paths.append(document.path)
        if is_fixed(document.path):
            fixed.append(document)
        if len(findings) > _MOST_SHOWN:
            break

    findings += check_together(fixed)
    return findings, paths


def _find_twins(paths: Sequence[str], cwd: str) -> list[Finding]:
    """Return findings about checkpoints that the work tree has under another spelling."""
    roots = {os.path.join(cwd, os.path.dirname(os.path.dirname(path))) for path in paths}
    present = set[str]()
    for root in roots:
        present.update(relative_path(path, cwd) for path in find_files(root))
    twins = find_twins([*sorted(present.difference(paths)), *paths])
    return [twin for twin in twins if twin.path in paths]


def _check_links(links: Iterable[tuple[str, bytes | OSError]]) -> Iterator[Finding]:
    """Yield errors for symbolic links that lead out of the repository. links: (path, target)."""
    for path, target in links:
        if isinstance(target, OSError):
            shown = str(target)
        elif _leads_out(path, target):
            shown = os.fsdecode(target)
        else:
            continue
        message = "the file is a symbolic link out of the repository, to "
        message += escape_controls(shorten(shown, 500))
        hint = "put a real file in its place"
        yield Finding("file/link-outside", "error", message, path, hint=hint)


def _leads_out(path: str, target: bytes) -> bool:
    goal = os.path.normpath(os.path.join(os.fsencode(os.path.dirname(path)), target))
    return goal.startswith((b"/", b"../")) or goal == b".."


def check_push(question: HookSubject, invocation: Invocation) -> list[Finding]:
    """Return the errors in a question's files, and drift: as warnings, or as errors if
    checkpoint.driftBlocks is true.
    """
    drift = list[Finding]()
    for find_drift in find_hooks("check_push"):
        drift += find_drift(question.files.files, invocation.cwd, invocation.now, invocation.env)
    if drift and read_flag(DRIFT_BLOCKS, invocation.cwd):
        drift = [finding._replace(level="error") for finding in drift]
    return check_validity(question, invocation) + drift


def _ask_staged(words: list[str], invocation: Invocation) -> list[HookSubject]:
    losses = staged.read_losses(invocation.cwd, _APPEND_ONLY, staged=True, env=invocation.env)
    return [HookSubject("the staged files", staged.read_staged_changes(invocation.cwd), losses)]


def _ask_pushed(words: list[str], invocation: Invocation) -> list[HookSubject]:
    remote = words[0] if words else ""
    return [
        HookSubject(
            f"{escape_controls(push.local_ref)} ({push.local_id[:12]})",
            read_pushed(invocation.cwd, push, remote),
            read_pushed_losses(invocation.cwd, push, remote, _APPEND_ONLY),
        )
        for push in parse_pushes(invocation.stdin.read())
    ]


def _ask_received(words: list[str], invocation: Invocation) -> Iterator[HookSubject]:
    """Yield what a push brings to a server. words: ref, old and new for the hook update; none for
    pre-receive, which gets them on standard input.
    """
    from checkpoint_git.git import received  # no clone needs it

    if words and len(words) != 3:
        message = "update is called with a ref and two ids"
        raise CheckpointError(message, "it is called by git, and not for typing")
    if words:
        ref, old, new = words
        lines = received.parse_received(f"{old} {new} {ref}")
    else:
        lines = received.parse_received(invocation.stdin.read())

    # the hook runs in quarantine: pushed objects are only found with the variables that git sets
    place = invocation.cwd
    env = received.server_env(invocation.env)
    titles = {line: f"{escape_controls(line.ref)} ({line.new[:12]})" for line in lines}
    tips = received.read_tips(place, lines, env)
    pushed = [line for line in lines if line.new in tips]
    names = {tips[line.new]: titles[line] for line in reversed(pushed)}
    for tip, arrivals in received.read_arrivals(place, [tips[line.new] for line in pushed], env):
        # findings about a file before it is read
        refused: list[Finding] = []
        entries: list[IndexEntry] = []
        for arrival in arrivals:
            if arrival.size >= 0:
                entries.append(IndexEntry(arrival.path, arrival.mode, arrival.blob, 0))
            else:
                refused.append(_refuse_submodule(arrival.path))

        # new files may contradict those that are here already
        arrived = {arrival.path for arrival in arrivals}
        siblings = sorted(with_siblings(arrived) - arrived)
        if siblings:
            for path, entry in read_tree(place, tip, env, siblings).items():
                entries.append(IndexEntry(path, *entry, 0))
        yield HookSubject(names[tip], staged.sort_out(place, entries, env), findings=refused)

    for line, losses in received.read_received_losses(place, lines, tips, _APPEND_ONLY, env):
        yield HookSubject(titles[line], losses=losses)


def _refuse_submodule(path: str) -> Finding:
    message = "a checkpoint's path is a submodule"
    hint = "put a real file in its place"
    return Finding("file/not-a-file", "error", message, path, hint=hint)


def _ask_committed(words: list[str], invocation: Invocation) -> list[HookSubject]:
    return _ask_commits([read_commit(invocation.cwd, "HEAD")], "the new commit", invocation.cwd)


def _ask_rewritten(words: list[str], invocation: Invocation) -> list[HookSubject]:
    # git gives a line `OLD NEW` for each commit
    commits = []
    for line in invocation.stdin.read().split("\n"):
        ids = line.split()
        if len(ids) > 1:
            commits.append(ids[1])
    return _ask_commits(commits, "the rewritten commits", invocation.cwd)


def _ask_commits(commits: list[str], title: str, work_tree: str) -> list[HookSubject]:
    changed = read_commit_changes(work_tree, commits)
    if not changed:
        return []
    return [HookSubject(title, staged.read_committed(work_tree, "HEAD", changed))]


def _ask_merged(words: list[str], invocation: Invocation) -> list[HookSubject]:
    files = staged.read_staged_changes(invocation.cwd, "ORIG_HEAD")
    return [HookSubject("what the merge brought", files)]


_FIX = Line(
    "Fix the files, add them and commit again",
    hint=advise("to check them", "checkpoint", "validate", "--staged"),
)
_FIX_IN_COMMIT = Line(
    "Fix the files in a new commit and push again; --no-verify pushes them as they are."
)
_FIX_LATER = Line(
    "The commit was made. Fix the files before you push: the pre-push hook rejects them."
)
_FIX_AND_PUSH = Line(
    "Fix the files in a new commit and push again",
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
