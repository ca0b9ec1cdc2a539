"""`checkpoint init`: set a repository up for checkpoints. Run again, it adds what is missing."""

import argparse
import compileall
import hashlib
import os
import sys
from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple, get_args

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import Blank, advise, command, join_hints
from checkpoint_git.core.outcome import Invocation, Line, Outcome
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.disk.discover import Place, check_way, find_or_plan_place, find_repository
from checkpoint_git.disk.installation import (
    advise_installation,
    find_start_trouble,
    starts_on_path,
)
from checkpoint_git.git import attributes, driver_settings
from checkpoint_git.git.repository import Repository, read_repository
from checkpoint_git.git.run import check_git_version
from checkpoint_git.tools.agents import plan as agents
from checkpoint_git.tools.agents.table import Moment
from checkpoint_git.tools.setup import forge_files, plan, schema
from checkpoint_git.tools.setup.hook_files import PACKAGE
from checkpoint_git.tools.setup.obstacles import find_obstacles
from checkpoint_git.tools.setup.plan_hooks import plan_hooks
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
from checkpoint_git.tools.setup.survey import CONFIGURED_HOOKS, Survey, read_file, read_survey
from checkpoint_git.tools.setup.team_schema import PATTERN, write_agreement

HELP = """\
set this repository up for checkpoints; safe to run again

examples:
  checkpoint init                        detect and set up everything
  checkpoint init --dry-run              only show what would be done
  checkpoint init --hooks none           no hooks
  checkpoint init --hooks config         hooks in git's configuration, no files (git 2.54)
  checkpoint init --narrative conflict   ask whenever both sides changed \
phase, step, status or summary
  checkpoint init --adopt                take over from the merge driver opchain-checkpoint
  checkpoint init --agent auto           also set up the coding agents used here
  checkpoint init --ci github            also write jobs that check and merge pull requests
  checkpoint init --schemas              also let editors check checkpoints
  checkpoint init 'data/**/*.json' --schema tasks.schema.json    also merge other JSON files
"""


class Options(NamedTuple):
    """None keeps what an earlier init chose.

    schema: a path, "" to forget an earlier one. ci: of forge_files.FORGES. agents: of
    agents.CHOICES. moments: at which the agents call us, beyond the usual ones.
    patterns: of other JSON files to merge. json_schema: the path of the schema for those.
    """

    hooks: plan.HookChoice = "auto"
    narrative: driver_settings.Narrative | None = None
    schema: str | None = None
    adopt: bool = False
    dry_run: bool = False
    ci: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    moments: tuple[Moment, ...] = ()
    patterns: tuple[str, ...] = ()
    json_schema: str | None = None


class InitResult(NamedTuple):
    root: str  # the folder that holds .checkpoints, or the bare repository
    work_tree: str | None  # None outside git and in a bare repository
    steps: list[SetupStep]
    findings: list[Finding]
    bare: bool = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    help_text = "git's own (native; in a bare repository: pre-receive, or update), "
    help_text += "the same in git's configuration (config, git 2.54), "
    help_text += "the pre-commit framework, or none"
    add("--hooks", choices=get_args(plan.HookChoice), default="auto", help=help_text)
    help_text = "when both sides changed phase, step, status or summary: "
    help_text += "take the newer side's and keep the other's in superseded (newest), "
    help_text += "only while phase and status agree (auto, the default), or never (conflict)"
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
    add(
        "--adopt",
        action="store_true",
        help="take over from an older merge driver, opchain-checkpoint",
    )
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
    moments: tuple[Moment, ...] = ()
    if args.agent_guard:
        moments += ("guard",)
    if args.agent_points:
        moments += ("point", "point_end")
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
        place = find_or_plan_place(invocation.cwd)
        result.steps.extend(schema.add_schemas(place, invocation, dry_run=args.dry_run))

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
        # some installers write no compiled modules, and git starts the driver once for each file
        compileall.compile_dir(PACKAGE, quiet=2)

    if survey and place:
        checks_files = bool(options.patterns)
        findings = find_obstacles(
            survey, place, env, is_done=not options.dry_run, checks_files=checks_files
        )
        return InitResult(place.root, survey.place.work_tree, steps, findings)

    return InitResult(_find_root(survey, place, cwd), None, steps, [], bare=is_bare)


def _find_root(survey: Survey | None, place: Place | None, cwd: str) -> str:
    """Return what was set up: a bare repository, or a folder outside git."""
    if survey:
        return survey.place.git_dir
    if place:
        return place.root
    return cwd


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
            hint = advise("first", "git", "init")
            raise CheckpointError("--ci: this is not a git repository", hint)
    elif repository.bare:
        _check_bare(options)

    if options.hooks == "config" and repository:
        check_git_version(repository.work_tree, CONFIGURED_HOOKS)
    if options.hooks == "update" and not (repository and repository.bare):
        message = "--hooks update is for bare repositories"
        raise CheckpointError(message, "here: native, pre-commit or none")


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
    """Return the set-up that the options ask for; where they say nothing, an earlier init's
    choices stay. copies: the steps that copy the schema of other JSON files.
    """
    command_line = survey.settings.get(driver_settings.DRIVER, "")
    installed = driver_settings.read_driver_command(command_line)
    earlier = driver_settings.Choices()
    if installed:
        earlier = installed.choices
    merge_schema = earlier.schema
    if options.schema is not None:
        merge_schema = _check_schema(options.schema, cwd)
    choices = driver_settings.Choices(options.narrative or earlier.narrative, merge_schema)

    schemas = driver_settings.find_schemas(survey.settings)
    others_driver = attributes.DRIVER
    agreed = ""
    for copy in copies:
        others_driver = driver_settings.JSON_DRIVER + os.path.basename(copy.what)[:12]
        schemas[others_driver] = os.path.join(survey.place.common_dir, copy.what)
    if copies:
        agreed = _find_agreement(survey, options, cwd)

    return plan.WantedSetup(
        settings=driver_settings.plan_settings(_find_interpreter(), PACKAGE, choices, schemas),
        hooks=options.hooks,
        adopt=options.adopt,
        others=options.patterns,
        others_driver=others_driver,
        agreed=agreed,
    )


def _find_agreement(survey: Survey, options: Options, cwd: str) -> str:
    """Return the schema as .gitattributes names it; "" for one that is not in the work tree."""
    path = os.path.realpath(os.path.join(cwd, os.path.expanduser(options.json_schema or "")))
    top = os.path.realpath(survey.place.work_tree)
    data = read_file(path).data
    if survey.place.bare or data is None or not path.startswith(top + os.sep):
        return ""
    if path.startswith(os.path.realpath(survey.place.git_dir) + os.sep):
        return ""
    return write_agreement(data, os.path.relpath(path, top).replace(os.sep, "/"))


def _plan_schema(survey: Survey, options: Options, cwd: str) -> list[SetupStep]:
    """Return the step that copies the schema of other JSON files into the git directory, where no
    branch can change it.
    """
    if options.json_schema is None:
        return []
    from checkpoint_git.tools.merges.merge_file import read_schema

    data = read_schema("--schema", os.path.join(cwd, os.path.expanduser(options.json_schema)))
    name = f"checkpoint/schemas/{hashlib.sha256(data).hexdigest()}.json"
    path = os.path.join(survey.place.common_dir, name)
    return [write_step(name, path, read_file(path).data, data, f"a copy of {options.json_schema}")]


def _check_schema(path: str, cwd: str) -> str:
    """Return the schema's absolute path, "" for none. Raises CheckpointError for one in a work
    tree: a branch could change it, and with it how it is merged.
    """
    if not path:
        return ""
    from checkpoint_git.protocols.merge_schema import load_merge_schema
    from checkpoint_git.tools.merges.merge_file import read_schema

    full = os.path.realpath(os.path.join(cwd, os.path.expanduser(path)))
    read_schema("--merge-schema", full, load_merge_schema(".checkpoints/x.checkpoint.json"))
    if find_repository(os.path.dirname(full)):
        trouble = f"{full} is in a work tree, where a branch can change how it is merged"
        hint = "put the schema outside any repository, such as in ~/.config/checkpoint"
        raise CheckpointError(f"--merge-schema: {trouble}", hint)

    return full


def _find_interpreter() -> str:
    """Return the running interpreter by its most lasting name: after an upgrade, "python3" may be
    another one. Raises CheckpointError if it is unknown.
    """
    if not sys.executable:
        message = "this Python does not know its own path"
        raise CheckpointError(message, "start checkpoint with an ordinary Python")

    path = os.path.abspath(sys.executable)
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    exact = os.path.join(os.path.dirname(path), name)
    if os.path.exists(exact) and os.path.samefile(exact, path):
        return exact
    return path


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


# the plans that fix a finding of checks.py, in the order of their steps
_REPAIRS = {
    "install/missing": (plan.plan_settings, plan.plan_attributes, plan_hooks),
    "driver/inert": (plan.plan_settings, plan.plan_attributes),
    "driver/broken": (plan.plan_settings,),
    "hooks/unreachable": (plan.plan_settings, plan_hooks),
}


def plan_repairs(
    root: str, codes: Set[str], env: Mapping[str, str]
) -> tuple[list[SetupStep], Repository | None]:
    """Return the steps of init that fix findings of these codes, and the repository; no other
    tool's settings, lines or hooks are taken over.
    """
    parts = dict.fromkeys(
        part for code, parts in _REPAIRS.items() if code in codes for part in parts
    )
    if not parts:
        return [], None
    repository = read_repository(root, env)
    if repository is None:
        return [], None

    survey = read_survey(repository, env, root)
    wanted = find_wanted(survey, Options(), root)
    steps = [step for part in parts for step in part(survey, wanted)]
    if not repository.bare:
        steps = leave_hidden(steps, repository.work_tree, env)
    return [step for step in steps if step.change is not None], repository


def _describe(result: InitResult, options: Options, *, in_full: bool) -> list[Line]:
    shared = [step.what for step in result.steps if step.change and not PRIVATE.match(step.what)]
    if in_full:
        lines = describe_steps(result.steps, dry_run=options.dry_run)
    else:
        lines = [Line(_summarize(result, shared), "good")]
        open_steps = [step for step in result.steps if step.deed in ("skip", "advise")]
        lines += describe_steps(open_steps, dry_run=options.dry_run)

    if result.bare:
        does = "it merges and checks what is pushed to it, and has no files"
        lines.append(Line(f"This is a bare repository: {does}."))
    elif result.work_tree is None:
        text = "this is not a git repository: no merge driver, no hooks"
        hint = command("git", "init", more=", then run this again")
        lines.append(Line(text, "warn", hint=hint))
    elif not options.dry_run and shared:
        lines += _describe_next(result, options)

    return lines


def _summarize(result: InitResult, shared: Sequence[str]) -> str:
    """Return what was set up. shared: the files that were changed and that other clones get."""
    if not any(step.change for step in result.steps):
        return "already set up"
    parts = [*shared]
    if result.bare or result.work_tree is not None:
        parts.append("this clone (.git)")
    return f"set up: {', '.join(parts)}"


def _describe_next(result: InitResult, options: Options) -> list[Line]:
    """Return what the user does next."""
    lines = []
    source = forge_files.describe_source()
    if options.ci and source:
        lines.append(Line(source, "warn"))
    lines.append(Line("Commit these files so that other clones have them too."))
    if result.steps[0].deed == "add":
        start = command("checkpoint", "update", "build", "--next", "Write the first test")
        lines.append(Line("Start a checkpoint, such as", hint=start))
    return lines
