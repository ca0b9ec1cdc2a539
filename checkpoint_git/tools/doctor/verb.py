"""`checkpoint doctor`: check whether checkpoints are still true, and whether git merges and guards
them.
"""

import argparse
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import LEVELS, Finding
from checkpoint_git.core.hint import (
    AnyHint,
    Argv,
    Blank,
    Hint,
    advise,
    command,
    join_hints,
    steps_of,
)
from checkpoint_git.core.outcome import Block, Digest, Invocation, Line, Outcome, Style
from checkpoint_git.core.progress import show_progress
from checkpoint_git.core.terminal_text import escape_controls, join_some, plural
from checkpoint_git.disk.discover import Place, find_place, find_repository, relative_path
from checkpoint_git.git.history.log import has_commits
from checkpoint_git.git.repository import Repository, may_be_bare, read_repository
from checkpoint_git.git.staged import read_committed
from checkpoint_git.git.worktree import list_roots
from checkpoint_git.protocols.check import Check, Context, run_checks
from checkpoint_git.protocols.contract import find_files, find_project
from checkpoint_git.protocols.digest import fold, is_elsewhere, is_fixed_by_name, list_causes
from checkpoint_git.protocols.typed_hints import type_hints
from checkpoint_git.protocols.validate import iterate_checked
from checkpoint_git.tools.doctor.catalog import SAFE, find_option, list_checks
from checkpoint_git.tools.doctor.diagnose import Diagnosis, diagnose
from checkpoint_git.tools.doctor.listing import find_wanted_checks, list_code_meanings, show_checks
from checkpoint_git.tools.doctor.settings import Suppressed
from checkpoint_git.tools.setup.checks import SetupFacts
from checkpoint_git.tools.setup.survey import read_installation

HELP = """\
compare checkpoints with git history and the file system, and test the merge driver

examples:
  checkpoint doctor                            everything; run it before you push
  checkpoint doctor --all                      every .checkpoints folder of the repository
  checkpoint doctor build                      only this checkpoint, and the installation
  checkpoint doctor --full                     every finding, ungrouped
  checkpoint doctor --list                     all checks and their fixes
  checkpoint doctor --list --check sync        what a code, or each code of a group, means
  checkpoint doctor --check drift              the checks whose codes start with drift/
  checkpoint doctor --fix --dry-run            what would be fixed, as a diff
  checkpoint doctor --fix                      apply the safe fixes, after a backup
  checkpoint doctor --fix=drift/project-dir    also apply this one, which may be wrong
  checkpoint doctor --online                   also ask the deployed server: \
git config checkpoint.healthUrl URL
  checkpoint doctor --fail-on-warnings --format github

exit 1: errors (with --fail-on-warnings warnings too)
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("skill", metavar="NAME", nargs="?", help="check only this checkpoint")
    add("--all", action="store_true", help="check every .checkpoints folder of this repository")
    add("--list", action="store_true", help="list the checks without running them")
    add(
        "--check",
        metavar="CODE",
        action="append",
        default=[],
        help="run only this check or group; repeatable",
    )
    add(
        "--fix",
        metavar="CODE",
        nargs="?",
        const=SAFE,
        action="append",
        default=[],
        help="apply safe fixes, or CODE's",
    )
    add("--dry-run", action="store_true", help="show what --fix would change, and change nothing")
    add(
        "--online",
        action="store_true",
        help="compare the server at checkpoint.healthUrl (git config) with HEAD",
    )
    add("--full", action="store_true", help="show every finding, ungrouped")
    add("--fail-on-warnings", action="store_true", help="exit with 1 on warnings too")


class _Scope(NamedTuple):
    """places: to check, none if there are no checkpoints. others: folders that are not checked, as
    they are shown.
    """

    places: list[Place]
    others: list[str]


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    if args.list and args.check:
        return list_code_meanings(args.check)
    if args.list:
        return show_checks()
    checks = find_wanted_checks(args.check, online=args.online)
    if not args.online and any(check.when == "online" for check in checks):
        raise CheckpointError("the checks online/... ask a server", "add --online")

    words = args.fix
    if args.dry_run and not words:
        words = [SAFE]
    skill, words = _split_fix_words(args.skill, words)
    bare = _read_bare(invocation)
    if bare is not None:
        return _diagnose_bare(bare, args, checks, invocation)
    scope = _find_scope(args, skill, invocation)
    if not scope.places:
        data = {"checks": [], "documents": 0}
        return _conclude("no checkpoints in this repository", data, [], [], args)

    def look(place: Place) -> Diagnosis:
        with show_progress(invocation) as tell:
            return diagnose(place, invocation.now, skill, checks, env=invocation.env, tell=tell)

    found = [look(place) for place in scope.places]
    if words:
        return _fix(found, look, words, skill, args, invocation)
    outcome = _report(_join(found), args, invocation.cwd)
    if scope.others:
        text = (
            f"{len(scope.others)} more in {escape_controls(join_some(scope.others))}, not checked"
        )
        line = Line(text, "warn", hint=command("checkpoint", "doctor", "--all"), hang=2)
        data = {**outcome.data, "not_looked_at": scope.others}
        outcome = outcome._replace(data=data, summary=[*outcome.summary, line])

    return outcome


def _read_bare(invocation: Invocation) -> Repository | None:
    if not may_be_bare(invocation.cwd):
        return None
    repository = read_repository(invocation.cwd, invocation.env)
    if repository is None or not repository.bare:
        return None
    return repository


def _find_scope(args: argparse.Namespace, skill: str | None, invocation: Invocation) -> _Scope:
    """Return what the doctor checks. Raises CheckpointError outside of any project."""
    cwd = invocation.cwd
    if args.all and skill:
        folder = Blank("folder", "FOLDER")
        name = Blank("name", "NAME")
        hint = advise("name one with", "checkpoint", "-C", folder, "doctor", name)
        raise CheckpointError("--all looks at every folder", hint)
    if args.all:
        return _Scope(_find_all_places(cwd, invocation.env), [])

    if skill:
        return _Scope([find_place(cwd)], [])

    place = find_project(cwd)
    repository = find_repository(cwd)
    if not repository or repository[0] != os.path.abspath(cwd):
        return _Scope([place], [])
    others = [root for root in list_roots(repository[0], invocation.env) if root != place.root]
    return _Scope([place], [relative_path(root, place.top) for root in others])


def _find_all_places(cwd: str, env: Mapping[str, str]) -> list[Place]:
    repository = find_repository(cwd)
    if repository:
        top = repository[0]
        roots = list_roots(top, env)
        if roots:
            return [find_project(root) for root in roots]
        if not find_files(top) and not os.path.isdir(os.path.join(top, ".checkpoints")):
            return []
    return [find_project(cwd)]


def _fix(
    found: list[Diagnosis],
    look: Callable[[Place], Diagnosis],
    words: Sequence[str],
    skill: str | None,
    args: argparse.Namespace,
    invocation: Invocation,
) -> Outcome:
    """Fix what was found, or show how, and report what remains. words: codes, or SAFE."""
    # imported here: a run that fixes nothing needs neither init's plans nor the lock
    from checkpoint_git.tools.doctor import fix

    codes = fix.choose_codes(words, skill, invocation.env)
    fixes: list[fix.Fixes] = []
    remaining: list[Diagnosis] = []
    for diagnosis in found:
        if args.dry_run:
            fixes.append(fix.show(diagnosis, codes, invocation))
            remaining.append(diagnosis)
            continue
        place = diagnosis.context.place
        if fixes:
            # the place before has fixed findings about the repository
            diagnosis = look(place)
        applied, after = fix.fix(diagnosis, codes, invocation, partial(look, place))
        fixes.append(applied)
        remaining.append(after)

    joined = _join(remaining)
    findings = list(joined.findings)
    data: dict[str, Any] = {"dry_run": args.dry_run}
    blocks: dict[Block, None] = {}  # without repetition of those about the repository
    for applied in fixes:
        findings += applied.findings
        blocks.update(dict.fromkeys(applied.blocks))
        for name, items in applied.data.items():
            if name != "dry_run":
                data.setdefault(name, []).extend(items)

    outcome = _report(joined._replace(findings=findings), args, invocation.cwd)
    return outcome._replace(data={**outcome.data, "fix": data}, blocks=[*blocks, *outcome.blocks])


def _join(found: Sequence[Diagnosis]) -> Diagnosis:
    """Return the diagnoses of several places as one; findings about the repository appear once."""
    findings: dict[Finding, None] = {}
    suppressed: dict[Suppressed, None] = {}
    count = 0
    over = frozenset[str]()
    for diagnosis in found:
        findings.update(dict.fromkeys(diagnosis.findings))
        suppressed.update(dict.fromkeys(diagnosis.suppressed))
        count += diagnosis.documents
        over |= diagnosis.over
    return found[0]._replace(
        documents=count, findings=list(findings), suppressed=list(suppressed), over=over
    )


def _split_fix_words(skill: str | None, words: Sequence[str]) -> tuple[str | None, list[str]]:
    """Return the skill, and the codes to fix: in `--fix build` argparse takes the skill for a
    code, but every code has a slash.
    """
    strays = [word for word in words if _is_stray(word)]
    if skill is not None or len(strays) != 1:
        return skill, list(words)
    return strays[0], [SAFE if word == strays[0] else word for word in words]


def _is_stray(word: str) -> bool:
    if word == SAFE or "/" in word:
        return False
    return not any(check.matches(word) for check in list_checks())


def _diagnose_bare(
    bare: Repository, args: argparse.Namespace, checks: Sequence[Check], invocation: Invocation
) -> Outcome:
    if args.skill or args.fix or args.dry_run or args.online:
        hint = join_hints(
            advise("without options", "checkpoint", "doctor"), command("checkpoint", "init")
        )
        raise CheckpointError("a bare repository has no work tree", hint)

    chosen = [check for check in checks if check.in_bare]
    codes = [check.code for check in chosen]
    folder = bare.git_dir
    place = Place(folder, os.path.join(folder, ".checkpoints"), folder, folder)
    context = Context(place, invocation.now, invocation.env)
    facts = context.facts(SetupFacts)
    facts.installation = installation = read_installation(bare, invocation.env)
    facts.merge_attributes = {".checkpoints/example.checkpoint.json": installation.merge_attribute}
    facts.shared_attributes = {}
    # committed attributes are checked in the clones that commit them
    facts.has_commits = False
    facts.default_branch = None
    findings = run_checks([check for check in chosen if check.code != "schema"], context)
    count = 0
    if "schema" in codes and has_commits(folder):
        files = read_committed(folder, "HEAD").files
        count = len(files)
        for document in iterate_checked(files, invocation.now):
            for finding in document.findings:
                findings.append(finding._replace(hint=_in_clone(finding.hint)))

    data = {"bare": folder, "checks": codes, "documents": count}
    title = f"a bare repository, {plural(count, 'checkpoint')} at HEAD"
    return _conclude(title, data, findings, [], args)


def _report(found: Diagnosis, args: argparse.Namespace, cwd: str) -> Outcome:
    data = {"checks": [check.code for check in found.checks], "documents": found.documents}
    suppressed = [{**row.finding._asdict(), "reason": row.reason} for row in found.suppressed]
    title = f"{plural(found.documents, 'checkpoint')}, {plural(len(found.checks), 'check')}"
    over = found.over
    if args.skill:
        # somebody who names a skill wants to know all about it
        over = frozenset()
    return _conclude(title, data, type_hints(found.findings, cwd), suppressed, args, over)


def _in_clone(hint: AnyHint) -> AnyHint:
    """Return a hint that says that it is for a clone, because a bare repository has no files."""
    if not hint:
        return ""
    first, *others = steps_of(hint)
    text = f"in a clone: {first.text}" if first.text else "in a clone"
    return Hint(first._replace(text=text), *others)


def _conclude(
    title: str,
    data: Mapping[str, Any],
    findings: Sequence[Finding],
    suppressed: Sequence[Mapping[str, Any]],
    args: argparse.Namespace,
    over: frozenset[str] = frozenset(),
) -> Outcome:
    count = {level: sum(finding.level == level for finding in findings) for level in LEVELS}
    failed = bool(count["error"] or (args.fail_on_warnings and count["warning"]))
    counts = {f"{level}s": number for level, number in count.items()}

    parts = [plural(number, level) for level, number in count.items() if number]
    if not parts:
        parts.append("no problems found")
    if suppressed:
        parts.append(f"{len(suppressed)} suppressed")
    text = f"{title}: {', '.join(parts)}"
    groups = dict.fromkeys(code.partition("/")[0] for code in data["checks"])
    if groups and not findings:
        text += f" ({', '.join(groups)})"

    style: Style = "good"
    if count["warning"]:
        style = "warn"
    if failed:
        style = "bad"
    digest = None
    if not args.full:
        digest = _digest(findings, over, args)
    answer = {**data, **counts, "suppressed": suppressed}
    return Outcome(answer, (), findings, int(failed), [Line(text, style, hang=2)], digest=digest)


def _digest(findings: Sequence[Finding], over: frozenset[str], args: argparse.Namespace) -> Digest:
    """Fold the findings, each entry with the command that shows all of it."""
    words = [f"--{name}" for name in ("all", "online") if getattr(args, name)]
    if args.skill:
        words.append(args.skill)
    command: Argv = ("checkpoint", "doctor", "--full", *words)
    checks = [f"--check={code}" for code in args.check]

    def name_all(code: str) -> Argv:
        return (*command, *find_option(code))

    offer = Line("")
    if not args.fix:
        offer = _offer_fix(findings, args)
    return Digest(
        fold(findings, over, name_all),
        (*command, *checks),
        list_causes(findings, over, name_all),
        offer,
    )


def _offer_fix(findings: Sequence[Finding], args: argparse.Namespace) -> Line:
    """Return a line with the command that fixes all that can be fixed safely; an empty line for
    fewer than two findings.
    """
    safe = {check.code for check in list_checks() if check.fix == "safe"}
    fixed = [finding for finding in findings if finding.code in safe and is_fixed_by_name(finding)]
    if len(fixed) < 2:
        return Line("")

    words = []
    if args.all or is_elsewhere(fixed):
        words.append("--all")
    elif args.skill:
        words.append(args.skill)
    words += [f"--check={code}" for code in args.check]
    text = f"{len(fixed)} of {plural(len(findings), 'finding')} can be fixed safely"
    hint = advise("all at once", "checkpoint", "doctor", *words, "--fix")
    return Line(text, "strong", hint=hint)
