"""`checkpoint doctor` in a bare repository: would it merge and check what is pushed to it, and is what it has valid?"""

import argparse
from collections.abc import Iterator

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.outcome import Invocation, Line, Outcome, Style
from checkpoint_git.git import driver_settings
from checkpoint_git.git.repository import Repository
from checkpoint_git.git.run import clean_env
from checkpoint_git.git.staged import read_committed
from checkpoint_git.protocols.validate import check_document
from checkpoint_git.tools.doctor import driver_trial, hook_trial
from checkpoint_git.tools.doctor.context import GitFacts, HookFailure, Proof, World
from checkpoint_git.tools.doctor.gather import read_drivers
from checkpoint_git.tools.doctor.table import Check
from checkpoint_git.tools.setup import checks as installed
from checkpoint_git.tools.setup.survey import Installation, read_installation

_EXAMPLE = ".checkpoints/example.checkpoint.json"
# check -> what finds it; the others look at a work tree, at its history or at other clones
_FINDERS = {
    "install/missing": installed.find_missing_installation,
    "driver/inert": installed.find_inert_driver,
    "driver/broken": installed.find_broken_driver,
    "driver/proof": installed.find_failed_proof,
    "hooks/unreachable": installed.find_unreachable_hooks,
    "hooks/proof": installed.find_failing_hooks,
}


def diagnose_bare(bare: Repository, args: argparse.Namespace, checks: list[Check], invocation: Invocation) -> Outcome:
    """What is wrong with a bare repository, by those of the checks that have a meaning there."""
    if args.skill or args.fix or args.dry_run or args.since or args.online:
        hint = "`checkpoint doctor` looks at it, `checkpoint init` mends it"
        raise CheckpointError("a bare repository has no work tree for that", hint)
    codes = [check.code for check in checks if check.code in _FINDERS or check.code == "schema"]
    world = _read_world(bare, codes, invocation)
    findings = [finding for code in codes if code in _FINDERS for finding in _FINDERS[code](world)]
    files = read_committed(bare.git_dir, "HEAD").files if "schema" in codes and _has_head(bare) else []
    findings += [one for path, data in files for one in check_document(path, data, now=invocation.now).findings]
    count = {level: sum(one.level == level for one in findings) for level in ("error", "warning", "note")}
    failed = bool(count["error"] or (args.fail_on_warnings and count["warning"]))
    data = {"bare": bare.git_dir, "checks": codes, "documents": len(files), "suppressed": []}
    data |= {f"{level}s": number for level, number in count.items()}
    return Outcome(data, (), findings, int(failed), [_summarize(count, len(files), failed)])


def _summarize(count: dict[str, int], files: int, failed: bool) -> Line:
    told = [f"{number} {level}{'' if number == 1 else 's'}" for level, number in count.items() if number]
    style: Style = "bad" if failed else "warn" if count["warning"] else "good"
    head = f"a bare repository, {files} checkpoint{'' if files == 1 else 's'} at HEAD"
    return Line(f"{head}: {', '.join(told) or 'all is well'}", style)


def _read_world(bare: Repository, codes: list[str], invocation: Invocation) -> World:
    env = clean_env(invocation.env)
    installation = read_installation(bare, invocation.env)
    facts = GitFacts(
        merge_attributes={_EXAMPLE: installation.merge_attribute},
        defined_drivers=read_drivers(bare.git_dir, env),
        setup=installation,
    )
    world = World([], invocation.now, git=facts)
    if "driver/proof" in codes and installation.driver:
        keys = (
            driver_settings.DRIVER,
            driver_settings.RECURSIVE,
            driver_settings.BASE_DRIVER,
            driver_settings.TEXTCONV,
        )
        values = (installation.driver, installation.recursive, installation.base_driver, installation.textconv)
        proof = driver_trial.prove_driver(dict(zip(keys, values, strict=True)), env)
        world = world._replace(proof=Proof(*proof))
    if "hooks/proof" in codes:
        failures = [HookFailure(*failure) for failure in _try_hooks(bare, installation, invocation)]
        world = world._replace(hook_failures=failures)
    return world


def _try_hooks(
    bare: Repository, installation: Installation, invocation: Invocation
) -> Iterator[hook_trial.HookFailure]:
    yield from hook_trial.read_broken_scripts(installation.hooks)
    scripts = hook_trial.read_own_scripts(installation.hooks, bare.git_dir)
    if scripts:
        values = {driver_settings.PYTHON: installation.hooks_python, driver_settings.PACKAGE: installation.package}
        yield from hook_trial.prove_hooks(scripts, values, clean_env(invocation.env))


def _has_head(bare: Repository) -> bool:
    from checkpoint_git.git.history.history import has_commits

    return has_commits(bare.git_dir)
