"""`checkpoint doctor`: do the checkpoints still tell the truth, and would git merge and guard them?"""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding, Level
from checkpoint_git.core.outcome import Invocation, Line, Outcome, Rule, Style, Table
from checkpoint_git.core.progress import make_teller
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.disk.discover import find_place
from checkpoint_git.git.objects import read_commit
from checkpoint_git.git.repository import may_be_bare, read_repository
from checkpoint_git.tools.doctor.examine import Diagnosis, diagnose
from checkpoint_git.tools.doctor.table import ALL, CHECKS, ONLINE, Check, choose_checks, is_meant

if TYPE_CHECKING:
    from checkpoint_git.tools.doctor.fix import Fixes

SAFE = "safe"  # what a bare --fix asks for

SUMMARY = "compare checkpoints with git's history and the file system, and prove that the merge driver works"
EXAMPLES = """\
  checkpoint doctor                            everything; run it before you push
  checkpoint doctor build                      one skill's checkpoint, and the installation
  checkpoint doctor --list                     the checks: what they look at, how it is mended
  checkpoint doctor --check drift              all checks whose code begins with drift/
  checkpoint doctor --fix --dry-run            what would be mended, as a diff
  checkpoint doctor --fix                      mend what needs no judgement, after a backup
  checkpoint doctor --fix=drift/project-dir    mend this too, which could be wrong
  checkpoint doctor --since v2.1               judge every merge since then, not the latest only
  checkpoint doctor --online                   ask the deployed server too: git config checkpoint.healthUrl URL
  checkpoint doctor --fail-on-warnings --format github"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """[SKILL] [--list] [--check CODE]... [--fix[=CODE]]... [--dry-run] [--online] [--since COMMIT] and more."""
    parser.add_argument("skill", metavar="SKILL", nargs="?", help="look at this skill's checkpoint only")
    parser.add_argument("--list", action="store_true", help="show the checks, and run none")
    help_text = "run only this check, or a group such as drift; may be given several times"
    parser.add_argument("--check", metavar="CODE", action="append", default=[], help=help_text)
    help_text = "mend what is safe to mend, or only what CODE finds; may be given several times"
    parser.add_argument("--fix", metavar="CODE", nargs="?", const=SAFE, action="append", default=[], help=help_text)
    parser.add_argument("--dry-run", action="store_true", help="show what --fix would change, and change nothing")
    help_text = "also ask the server at checkpoint.healthUrl (git config) what it runs, and compare that with HEAD"
    parser.add_argument("--online", action="store_true", help=help_text)
    help_text = "look at every merge after this commit, instead of those of the last 90 days"
    parser.add_argument("--since", metavar="COMMIT", help=help_text)
    parser.add_argument("--fail-on-warnings", action="store_true", help="exit with 1 on warnings too")


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """The verb: exit code 1 on errors, with --fail-on-warnings on warnings too."""
    if args.list:
        return _list_checks(find_wanted_checks(args.check) if args.check else ALL)
    checks = find_wanted_checks(args.check, online=args.online)
    if not args.online and any(check in ONLINE for check in checks):
        raise CheckpointError("the checks online/... ask a server", "add --online")
    skill, words = _split_fix_words(args.skill, args.fix or ([SAFE] if args.dry_run else []))
    if may_be_bare(invocation.cwd):
        from checkpoint_git.tools.doctor import bare as served  # with all that makes trial repositories

        repository = read_repository(invocation.cwd, invocation.env)
        if repository is not None and repository.bare:
            return served.diagnose_bare(repository, args, checks, invocation)
    place = find_place(invocation.cwd)
    since = read_commit(place.top, args.since) if args.since is not None else ""
    tell = make_teller(invocation)

    def look() -> Diagnosis:
        try:
            return diagnose(
                place,
                invocation.now,
                skill,
                checks,
                env=invocation.env,
                tell=lambda what: tell(f"looking at {what}"),
                since=since,
            )
        finally:
            tell("")

    if not words:
        return _tell_diagnosis(look(), args.fail_on_warnings)
    from checkpoint_git.tools.doctor import fix  # who only looks needs neither init's plans nor the lock

    codes = fix.choose_codes(words, skill, invocation.env)
    found = look()
    if args.dry_run:
        return _add_fixes(_tell_diagnosis(found, args.fail_on_warnings), fix.show(place, found, codes, invocation))
    fixes, left = fix.fix(place, found, codes, invocation, look)
    return _add_fixes(_tell_diagnosis(left, args.fail_on_warnings), fixes)


def _split_fix_words(skill: str | None, words: Sequence[str]) -> tuple[str | None, list[str]]:
    """Of `--fix build`, which argparse takes for a code, the skill: no code is without a slash."""
    strays = [
        word for word in words if word != SAFE and "/" not in word and not any(is_meant(one, word) for one in CHECKS)
    ]
    if skill is not None or len(strays) != 1:
        return skill, list(words)
    return strays[0], [SAFE if word == strays[0] else word for word in words]


def _add_fixes(outcome: Outcome, fixes: "Fixes") -> Outcome:
    """The outcome of a look with what was, or would be, mended before it."""
    return outcome._replace(
        data={**outcome.data, "fix": fixes.data},
        blocks=[*fixes.blocks, *outcome.blocks],
        findings=[*outcome.findings, *fixes.findings],
    )


def find_wanted_checks(codes: Sequence[str], *, online: bool = False) -> list[Check]:
    """The checks of some codes or groups, all for none; online: those that ask a server as well.

    Raises CheckpointError for a code that no check has.
    """
    for code in codes:
        if not any(is_meant(check, code) for check in ALL):
            shown = escape_controls(shorten(code, 60))
            raise CheckpointError(f'there is no check "{shown}"', "`checkpoint doctor --list` shows them")
    chosen = choose_checks(codes)
    return chosen + [check for check in ONLINE if online and check not in chosen]


def _list_checks(checks: Sequence[Check]) -> Outcome:
    rows = [(check.code, check.level, check.looks_at, check.mend, check.fix) for check in checks]
    names = ("code", "level", "looks_at", "mend", "fix")
    data = {"checks": [dict(zip(names, row, strict=True)) for row in rows]}
    return Outcome(data, [Table(("check", "at worst", "looks at", "mend", "--fix"), rows, (0, 1, 4))])


def _tell_diagnosis(found: Diagnosis, fail_on_warnings: bool) -> Outcome:
    counts = {f"{level}s": _count_level(found.findings, level) for level in _LEVELS}
    failed = bool(counts["errors"] or (fail_on_warnings and counts["warnings"]))
    documents, silent = len(found.world.sheets), len(found.suppressed)
    data: dict[str, Any] = {"checks": [check.code for check in found.checks], "documents": documents, **counts}
    data["suppressed"] = [{**one.finding._asdict(), "reason": one.reason} for one in found.suppressed]
    told = [_plural(counts[f"{level}s"], level) for level in _LEVELS if counts[f"{level}s"]] or ["all is well"]
    told += [f"{silent} suppressed"] if silent else []
    text = f"{_plural(documents, 'checkpoint')}, {_plural(len(found.checks), 'check')}: {', '.join(told)}"
    style: Style = "bad" if failed else "warn" if counts["warnings"] else "good"
    rules = [Rule(check.code, check.level, check.looks_at, check.mend) for check in ALL]
    return Outcome(data, (), found.findings, int(failed), [Line(text, style)], rules)


_LEVELS: tuple[Level, ...] = ("error", "warning", "note")


def _count_level(findings: Sequence[Finding], level: Level) -> int:
    return sum(finding.level == level for finding in findings)


def _plural(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"
