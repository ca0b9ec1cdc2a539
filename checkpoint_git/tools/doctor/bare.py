"""`checkpoint doctor` in a bare repository: would it merge and check what is pushed to it, and is what it has valid?"""

import argparse
import os
from collections.abc import Sequence

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.outcome import Invocation, Line, Outcome, Style
from checkpoint_git.core.terminal_text import plural
from checkpoint_git.disk.discover import Place
from checkpoint_git.git.history.log import has_commits
from checkpoint_git.git.repository import Repository
from checkpoint_git.git.staged import read_committed
from checkpoint_git.protocols.check import Check, Context, run_checks
from checkpoint_git.protocols.validate import check_document
from checkpoint_git.tools.setup.checks import SetupFacts
from checkpoint_git.tools.setup.survey import read_installation


def diagnose_bare(
    bare: Repository, args: argparse.Namespace, checks: Sequence[Check], invocation: Invocation
) -> Outcome:
    if args.skill or args.fix or args.dry_run or args.since or args.online:
        hint = "`checkpoint doctor` looks at it, `checkpoint init` fixes it"
        raise CheckpointError("a bare repository has no work tree for that", hint)
    chosen = [check for check in checks if check.in_bare]
    findings = run_checks([check for check in chosen if check.code != "schema"], _make_context(bare, invocation))
    codes = [check.code for check in chosen]
    has_files = "schema" in codes and has_commits(bare.git_dir)
    files = read_committed(bare.git_dir, "HEAD").files if has_files else []
    findings += [one for path, data in files for one in check_document(path, data, now=invocation.now).findings]
    count = {level: sum(one.level == level for one in findings) for level in ("error", "warning", "note")}
    failed = bool(count["error"] or (args.fail_on_warnings and count["warning"]))
    data = {"bare": bare.git_dir, "checks": codes, "documents": len(files), "suppressed": []}
    data |= {f"{level}s": number for level, number in count.items()}
    summary = ", ".join(plural(number, level) for level, number in count.items() if number) or "all is well"
    style: Style = "bad" if failed else "warn" if count["warning"] else "good"
    line = Line(f"a bare repository, {plural(len(files), 'checkpoint')} at HEAD: {summary}", style)
    return Outcome(data, (), findings, int(failed), [line])


def _make_context(bare: Repository, invocation: Invocation) -> Context:
    folder = bare.git_dir
    place = Place(folder, os.path.join(folder, ".checkpoints"), folder, folder)
    context = Context(place, invocation.now, invocation.env)
    facts = context.facts(SetupFacts)
    installation = read_installation(bare, invocation.env)
    facts.installation = installation
    facts.merge_attributes = {".checkpoints/example.checkpoint.json": installation.merge_attribute}
    facts.shared_attributes = {}
    facts.has_commits, facts.default_branch = False, None  # what is committed is the business of who commits
    return context
