"""`checkpoint init`: a repository made ready for checkpoints. Run again, it adds what is
missing.
"""

import argparse
import compileall
import hashlib
import os
import sys
from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple, get_args

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import AnyHint, Blank, advise, command, join_hints
from checkpoint_git.core.outcome import Invocation, Line, Outcome
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.disk.discover import Place, check_way, find_or_plan_place, find_repository
from checkpoint_git.disk.installation import (
    advise_installation,
    find_start_trouble,
    is_temporary,
    starts_on_path,
)
from checkpoint_git.git import attributes, driver_settings
from checkpoint_git.git.repository import Repository, read_all_settings, read_repository
from checkpoint_git.git.run import check_git_version, clean_env
from checkpoint_git.protocols.check import REPOSITORY
from checkpoint_git.tools.agents import plan as agents
from checkpoint_git.tools.agents.table import Moment
from checkpoint_git.tools.setup import forge_files, plan, schema
from checkpoint_git.tools.setup.driven_files import find_unreadable, report_unreadable
from checkpoint_git.tools.setup.hook_files import PACKAGE
from checkpoint_git.tools.setup.steps import (
    PRIVATE,
    SetupStep,
    apply_steps,
    describe_steps,
    leave_hidden,
    setup_lock,
    steps_data,
    write_step,
)
from checkpoint_git.tools.setup.survey import (
    CONFIGURED_HOOKS,
    Survey,
    read_file,
    read_merge_attribute,
    read_survey,
)
from checkpoint_git.tools.setup.team_schema import PATTERN, find_unaccepted, write_agreement

HELP = """\
set this repository up for checkpoints; safe to run again

examples:
  checkpoint init                        detect and set up everything
  checkpoint init --dry-run              only show what would be done
  checkpoint init --hooks none           no hooks
  checkpoint init --hooks config         hooks in git's configuration, no files (git 2.54)
  checkpoint init --narrative conflict   ask whenever both sides changed phase, step, status or summary
  checkpoint init --adopt                take over from the merge driver opchain-checkpoint
  checkpoint init --agent auto           also set up the coding agents used here
  checkpoint init --ci github            also write jobs that check and merge pull requests
  checkpoint init --schemas              also let editors check checkpoints
  checkpoint init 'data/**/*.json' --schema tasks.schema.json    also merge other JSON files
"""


class Options(NamedTuple):
    """None keeps what an earlier init chose."""

    hooks: plan.HookChoice = "auto"
    narrative: driver_settings.Narrative | None = None
    schema: str | None = None  # a path, "" to forget an earlier one
    adopt: bool = False
    dry_run: bool = False
    ci: tuple[str, ...] = ()  # of forge_files.FORGES
    agents: tuple[str, ...] = ()  # of agents.CHOICES
    moments: tuple[Moment, ...] = ()  # at which the agents call us besides
    patterns: tuple[str, ...] = ()  # of other JSON files to merge
    json_schema: str | None = None  # by which those merge, a path


class InitResult(NamedTuple):
    root: str  # the folder that holds .checkpoints, or the bare repository
    work_tree: str | None  # None outside git and in a bare repository
    steps: list[SetupStep]
    findings: list[Finding]
    bare: bool = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    help_text = "git's own (native; in a bare repository: pre-receive, or update), the same in git's configuration "
    help_text += "(config, git 2.54), the pre-commit framework, or none"
    add("--hooks", choices=get_args(plan.HookChoice), default="auto", help=help_text)
    help_text = "when both sides changed phase, step, status or summary: take the newer side's and keep the other's in "
    help_text += "superseded (newest), only while phase and status agree (auto, the default), or never (conflict)"
    add("--narrative", choices=get_args(driver_settings.Narrative), help=help_text)
    add(
        "--merge-schema",
        metavar="PATH",
        help="a JSON Schema with x-merge rules for skill_state; empty: remove it",
    )
    names = ", ".join(agents.CHOICES)
    help_text = (
        f"set up a coding agent: {names} (auto, or no name: every agent found here); repeatable"
    )
    add("--agent", metavar="AGENT", action="append", nargs="?", const=agents.AUTO, help=help_text)
    add(
        "--agent-guard",
        action="store_true",
        help="with --agent: keep what git sees before tool calls, and block what cannot be undone",
    )
    add(
        "--agent-points",
        action="store_true",
        help="with --agent: take a restore point before tool calls and after turns; block nothing",
    )
    add("--adopt", action="store_true", help="replace the merge driver opchain-checkpoint")
    add(
        "--schemas",
        action="store_true",
        help="write JSON Schemas to .checkpoints/schemas, for editors",
    )
    add(
        "--ci",
        choices=forge_files.FORGES,
        action="append",
        help="write jobs for pull requests; repeatable",
    )
    add(
        "patterns",
        metavar="PATTERN",
        nargs="*",
        help="other JSON files to merge; as in .gitattributes",
    )
    add(
        "--schema",
        metavar="FILE",
        help="with PATTERN: a JSON Schema with x-merge rules; this clone keeps a copy",
    )
    add("--dry-run", action="store_true", help="show what would be done, and change nothing")
    add("-v", "--verbose", action="store_true", help="show every step")


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    moments: tuple[Moment, ...] = ("guard",) if args.agent_guard else ()
    moments += ("point", "point_end") if args.agent_points else ()
    options = Options(
        hooks=args.hooks,
        narrative=args.narrative,
        schema=args.merge_schema,
        adopt=args.adopt,
        dry_run=args.dry_run,
        ci=tuple(args.ci or ()),
        agents=tuple(agents.check_agents(args.agent or (), moments)),
        moments=moments,
        patterns=tuple(args.patterns),
        json_schema=args.schema,
    )
    result = init(invocation.cwd, options, invocation.env)
    if args.schemas and not result.bare:
        result.steps.extend(
            schema.add_schemas(find_or_plan_place(invocation.cwd), invocation, dry_run=args.dry_run)
        )

    steps = steps_data(result.steps)
    data = {
        "root": result.root,
        "work_tree": result.work_tree,
        "bare": result.bare,
        "dry_run": options.dry_run,
    }
    lines = _describe(result, options, in_full=args.verbose or args.dry_run)
    return Outcome({**data, "steps": steps}, lines, result.findings)


def init(cwd: str, options: Options, env: Mapping[str, str]) -> InitResult:
    """Set up a repository, or a folder outside git, and return what was done."""
    repository = read_repository(cwd, env)
    is_bare = repository is not None and repository.bare
    _refuse_misplaced(options, repository)
    with setup_lock(None if options.dry_run else repository):
        place = None if is_bare else find_or_plan_place(cwd)
        survey = None
        steps = list[SetupStep]()
        if place:
            steps += _plan_place(place, options, env)
        if repository:
            survey = read_survey(repository, env, place.root if place else "")
            steps += _plan_repository(survey, options, cwd)
        if survey and not is_bare:
            work_tree = survey.place.work_tree
            steps += forge_files.plan_forges(work_tree, options.ci, env)
            steps = leave_hidden(steps, work_tree, env)
        if not options.dry_run:
            if repository:
                _check_start(env)
            apply_steps(steps, repository)

    if survey and not options.dry_run:
        # Some installers write no compiled modules, and git starts the driver once for every file.
        compileall.compile_dir(PACKAGE, quiet=2)

    if survey and place:
        findings = _check_result(survey, place, env, options)
        return InitResult(place.root, survey.place.work_tree, steps, findings)

    return InitResult(_find_root(survey, place, cwd), None, steps, [], bare=is_bare)


def _find_root(survey: Survey | None, place: Place | None, cwd: str) -> str:
    """Return what was set up: a bare repository, or a folder outside git."""
    if survey:
        return survey.place.git_dir
    return place.root if place else cwd


def _plan_place(place: Place, options: Options, env: Mapping[str, str]) -> list[SetupStep]:
    """Return the steps for the folder of checkpoints, and for coding agents."""
    check_way(place.directory, place.top)
    steps = [plan.plan_folder(place)]
    if options.agents:
        steps += agents.read_agent_steps(place, options.agents, env, options.moments)
    return steps


def _plan_repository(survey: Survey, options: Options, cwd: str) -> list[SetupStep]:
    """Return the steps for a repository.

    A bare one gets what a server needs: the drivers, their attributes and one hook that checks
    pushes.
    """
    copies = _plan_schema(survey, options, cwd)
    wanted = find_wanted(survey, options, cwd, copies)
    steps = list(copies)
    for plan_part in _REPAIRS["install/missing"]:
        steps += plan_part(survey, wanted)
    return steps + plan.plan_leftovers(survey.place)


def _refuse_misplaced(options: Options, repository: Repository | None) -> None:
    _check_patterns(options)
    if repository is None:
        if options.ci:
            raise CheckpointError(
                "--ci: this is not a git repository", advise("first", "git", "init")
            )
    elif repository.bare:
        _check_bare(options)

    if options.hooks == "config" and repository:
        check_git_version(repository.work_tree, CONFIGURED_HOOKS)
    if options.hooks == "update" and not (repository and repository.bare):
        hint = "here: native, pre-commit or none"
        raise CheckpointError("--hooks update is for bare repositories", hint)


def _check_patterns(options: Options) -> None:
    message = ""
    if options.json_schema is not None and not options.patterns:
        message = "--schema needs a PATTERN"
    for pattern in options.patterns:
        if not PATTERN.fullmatch(pattern):
            message = f'"{escape_controls(pattern)}" is not a pattern of JSON files'
            break

    if message:
        hint = join_hints(
            advise("name files as .gitattributes does", "checkpoint", "init", "data/**/*.json"),
            advise("to start a checkpoint", "checkpoint", "update", Blank("its name", "NAME")),
        )
        raise CheckpointError(message, hint)


def _check_bare(options: Options) -> None:
    if options.ci or options.agents:
        option = "--ci" if options.ci else "--agent"
        message = f"{option} writes files into a work tree; a bare repository has none"
        raise CheckpointError(message, "run it in a clone")


def find_wanted(
    survey: Survey, options: Options, cwd: str, copies: Sequence[SetupStep] = ()
) -> plan.WantedSetup:
    """Where the options say nothing, an earlier init's choices stay. copies: of the schema of other
    JSON files.
    """
    installed = driver_settings.read_driver_command(survey.settings.get(driver_settings.DRIVER, ""))
    earlier = installed.choices if installed else driver_settings.Choices()
    own_schema = earlier.schema if options.schema is None else _check_schema(options.schema, cwd)
    choices = driver_settings.Choices(options.narrative or earlier.narrative, own_schema)
    schemas, driver = driver_settings.find_schemas(survey.settings), attributes.DRIVER
    for copy in copies:
        driver = driver_settings.JSON_DRIVER + os.path.basename(copy.what)[:12]
        schemas[driver] = os.path.join(survey.place.common_dir, copy.what)

    settings = driver_settings.plan_settings(_find_interpreter(), PACKAGE, choices, schemas)
    agreed = _find_agreement(survey, options, cwd) if copies else ""
    return plan.WantedSetup(
        settings, options.hooks, options.adopt, options.patterns, driver, agreed
    )


def _find_agreement(survey: Survey, options: Options, cwd: str) -> str:
    """Return what .gitattributes is to say of the schema; "" for one that is not in the work
    tree.
    """
    path = os.path.realpath(os.path.join(cwd, os.path.expanduser(options.json_schema or "")))
    top = os.path.realpath(survey.place.work_tree)
    data = read_file(path).data
    if survey.place.bare or data is None or not path.startswith(top + os.sep):
        return ""
    if path.startswith(os.path.realpath(survey.place.git_dir) + os.sep):
        return ""
    return write_agreement(data, os.path.relpath(path, top).replace(os.sep, "/"))


def _plan_schema(survey: Survey, options: Options, cwd: str) -> list[SetupStep]:
    # A copy named by its content, in the git directory: a branch can change the file that was named
    if options.json_schema is None:
        return []
    from checkpoint_git.tools.merges.merge_file import read_schema

    data = read_schema("--schema", os.path.join(cwd, os.path.expanduser(options.json_schema)))
    name = f"checkpoint/schemas/{hashlib.sha256(data).hexdigest()}.json"
    path = os.path.join(survey.place.common_dir, name)
    return [write_step(name, path, read_file(path).data, data, f"a copy of {options.json_schema}")]


def _check_schema(path: str, cwd: str) -> str:
    # The schema's absolute path. A branch could change a file in a work tree, and with it how it is
    # merged
    if not path:
        return ""
    full = os.path.realpath(os.path.join(cwd, os.path.expanduser(path)))
    from checkpoint_git.protocols.merge_schema import load_merge_schema
    from checkpoint_git.tools.merges.merge_file import read_schema

    read_schema("--merge-schema", full, load_merge_schema(".checkpoints/x.checkpoint.json"))
    if find_repository(os.path.dirname(full)):
        message = (
            f"--merge-schema: {full} is in a work tree, where a branch can change how it is merged"
        )
        raise CheckpointError(
            message, "put the schema outside any repository, such as in ~/.config/checkpoint"
        )

    return full


def _find_interpreter() -> str:
    # The running interpreter by its most lasting name: "python3" may be another one after an
    # upgrade
    if not sys.executable:
        raise CheckpointError(
            "this Python does not know its own path", "start checkpoint with an ordinary Python"
        )
    path = os.path.abspath(sys.executable)
    exact = os.path.join(
        os.path.dirname(path), f"python{sys.version_info.major}.{sys.version_info.minor}"
    )
    return exact if os.path.exists(exact) and os.path.samefile(exact, path) else path


def _check_start(env: Mapping[str, str]) -> None:
    """Raise CheckpointError if git's hooks could start neither this package by its path nor
    `checkpoint` on PATH.
    """
    trouble = find_start_trouble(_find_interpreter(), PACKAGE)
    if trouble and not starts_on_path(env):
        message = f"git's hooks cannot start checkpoint-git: {trouble}"
        hint = join_hints(
            advise_installation("install it, so that it is on PATH"),
            advise("then", "checkpoint", "init"),
        )
        raise CheckpointError(message, hint)


# what fixes a finding of checks.py, in the order of the steps
_REPAIRS = {
    "install/missing": (plan.plan_settings, plan.plan_attributes, plan.plan_hooks),
    "driver/inert": (plan.plan_settings, plan.plan_attributes),
    "driver/broken": (plan.plan_settings,),
    "hooks/unreachable": (plan.plan_settings, plan.plan_hooks),
}


def plan_repairs(
    root: str, codes: Set[str], env: Mapping[str, str]
) -> tuple[list[SetupStep], Repository | None]:
    """The steps of init that fix findings of these codes; nobody else's settings, lines or hooks
    are taken over.
    """
    parts = dict.fromkeys(
        part for code, parts in _REPAIRS.items() if code in codes for part in parts
    )
    repository = read_repository(root, env) if parts else None
    if repository is None:
        return [], None
    survey = read_survey(repository, env, root)
    wanted = find_wanted(survey, Options(), root)
    steps = [step for part in parts for step in part(survey, wanted)]
    steps = steps if repository.bare else leave_hidden(steps, repository.work_tree, env)
    return [step for step in steps if step.change is not None], repository


def _check_result(
    survey: Survey, place: Place, env: Mapping[str, str], options: Options
) -> list[Finding]:
    findings = list[Finding]()
    if survey.ignored:
        path, line, pattern = (*survey.ignored.split(":", 2), "", "")[:3]
        message = f"the pattern{pattern} keeps .checkpoints out of git, so checkpoints do not survive this clone"
        hint: AnyHint = "remove the pattern: this folder should be committed"
        number = int(line) if line.isdecimal() else 0
        findings.append(
            Finding("git/checkpoints-ignored", "warning", message, path, line=number, hint=hint)
        )

    answer = (
        attributes.DRIVER if options.dry_run else read_merge_attribute(place.root, clean_env(env))
    )
    if answer not in (attributes.DRIVER, attributes.OTHER_DRIVER):
        message = (
            f"git still answers merge={answer} for checkpoints, so the merge driver is not used"
        )
        look = ("git", "check-attr", "--all", ".checkpoints/x.checkpoint.json")
        hint = join_hints("remove the line that overrides it", advise("to see it", *look))
        findings.append(
            Finding("git/attribute-overruled", "warning", message, attributes.FILE, hint=hint)
        )

    if not options.dry_run:
        settings = read_all_settings(survey.place.work_tree, clean_env(env))
        findings += [one._replace(level="note") for one in find_unaccepted(survey.place, settings)]

    if options.patterns and not options.dry_run:
        findings += report_unreadable(find_unreadable(survey.place, clean_env(env)))
    if is_temporary():
        message = "hooks and the merge driver name a Python in a cache of uvx or pipx, and stop when it is emptied"
        hint = join_hints(
            advise_installation("install checkpoint-git to stay, for example"),
            advise("then", "checkpoint", "init"),
        )
        findings.append(Finding("driver/temporary", "warning", message, REPOSITORY, hint=hint))

    return findings


def _describe(result: InitResult, options: Options, *, in_full: bool) -> list[Line]:
    shown = (
        result.steps
        if in_full
        else [step for step in result.steps if step.deed in ("skip", "advise")]
    )
    shared = [step.what for step in result.steps if step.change and not PRIVATE.match(step.what)]
    is_done = not any(step.change for step in result.steps)
    own = [] if result.work_tree is None and not result.bare else ["this clone (.git)"]
    done = "already set up" if is_done else f"set up: {', '.join([*shared, *own])}"
    lines = [] if in_full else [Line(done, "good")]
    lines += describe_steps(shown, dry_run=options.dry_run)
    if result.bare:
        lines.append(
            Line(
                "This is a bare repository: it merges and checks what is pushed to it, and has no files."
            )
        )
    elif result.work_tree is None:
        text = "this is not a git repository: no merge driver, no hooks; run `git init`, then this again"
        lines.append(Line(text, "warn"))
    elif not options.dry_run and shared:
        lines += _describe_next(result, options)

    return lines


def _describe_next(result: InitResult, options: Options) -> list[Line]:
    source = forge_files.describe_source() if options.ci else ""
    lines = [Line(source, "warn")] if source else []
    lines.append(Line("Commit these files so that other clones have them too."))
    if result.steps[0].deed == "add":
        lines.append(
            Line(
                "Start a checkpoint, such as",
                hint=command("checkpoint", "update", "build", "--next", "Write the first test"),
            )
        )
    return lines
