"""Check an installation for the doctor: whether git reaches the merge driver and the hooks."""

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from checkpoint_git.core.clock import ago_text
from checkpoint_git.core.finding import Finding, Level
from checkpoint_git.core.hint import AnyHint, Argv, Hint, Output, Word, advise, chain, join_hints
from checkpoint_git.core.terminal_text import escape_controls, plain_path, shorten
from checkpoint_git.disk.discover import find_common_dir, relative_path
from checkpoint_git.disk.process import is_program_running
from checkpoint_git.git import attributes, driver_settings, refs
from checkpoint_git.git.clone import find_gaps
from checkpoint_git.git.history import log
from checkpoint_git.git.repository import Repository, read_repository
from checkpoint_git.git.run import clean_env
from checkpoint_git.git.stale_locks import Lock, find_locks, list_git_dirs, list_work_folders
from checkpoint_git.protocols.check import REPOSITORY, Context, check, fact
from checkpoint_git.protocols.registry import is_merged
from checkpoint_git.tools.setup.driven_files import Unreadable, find_unreadable, report_unreadable
from checkpoint_git.tools.setup.hook_files import (
    HookFile,
    is_own_script,
    why_not_extend,
    write_recipe,
)
from checkpoint_git.tools.setup.survey import Installation, read_installation
from checkpoint_git.tools.setup.team_schema import find_unaccepted

_COMMIT = (
    ("git", "add", f":/{attributes.FILE}"),
    ("git", "commit", "-m", "Merge checkpoints by meaning", "--", f":/{attributes.FILE}"),
)
_HOOKS_FOLDER = Word(
    (Output(("git", "rev-parse", "--path-format=absolute", "--git-common-dir")), "/hooks")
)
_OWN_HOOKS: tuple[Argv, ...] = (
    ("git", "config", "core.hooksPath", _HOOKS_FOLDER),
    ("checkpoint", "init"),
)
_INSTALL = advise("set it up", "checkpoint", "init")


class SetupFacts:
    def __init__(self, context: Context) -> None:
        self.context = context

    @cached_property
    def repository(self) -> Repository | None:
        """Return the repository; None outside git. Raises CheckpointError as read_repository does:
        each fact that needs it reports that under its own name.
        """
        return read_repository(self.context.place.top, clean_env(self.context.env))

    @fact("the installation", None)
    def installation(self) -> Installation | None:
        if self.repository is None:
            return None
        return read_installation(self.repository, clean_env(self.context.env))

    @fact("the attributes of the checkpoints", {})
    def merge_attributes(self) -> Mapping[str, str]:
        place = self.context.place
        folder = relative_path(place.directory, place.top)
        paths = self._list_checkpoints(folder)
        if not paths:
            paths = [f"{folder}/example.checkpoint.json"]
        return attributes.read_attribute("merge", place.top, paths, clean_env(self.context.env))

    def _list_checkpoints(self, folder: str) -> list[str]:
        """Return the paths of the checkpoints, or of those of the skill that was asked for."""
        directory = self.context.place.directory
        if not os.path.isdir(directory):
            return []
        prefix = f"{folder}/"
        if self.context.skill:
            prefix = f"{folder}/{self.context.skill}."
        paths = [f"{folder}/{name}" for name in sorted(os.listdir(directory))]
        return [path for path in paths if is_merged(path) and path.startswith(prefix)]

    @fact("the attributes of other clones", {})
    def shared_attributes(self) -> Mapping[str, str]:
        paths = sorted(self.merge_attributes)
        env = clean_env(self.context.env)
        return attributes.read_shared_merge_attributes(self.context.place.top, paths, env)

    @fact("the files of other patterns", Unreadable({}))
    def unreadable(self) -> Unreadable:
        if not self.repository:
            return Unreadable({})
        return find_unreadable(self.repository, clean_env(self.context.env))

    @fact("the schemas that the team agreed on", ())
    def unaccepted(self) -> Sequence[Finding]:
        setup = self.installation
        if self.repository is None or setup is None:
            return []
        return list(find_unaccepted(self.repository, setup.settings))

    @fact("the locks of git", ())
    def stale_locks(self) -> Sequence[Lock]:
        """Return the old locks of a repository in which no git runs, as far as can be known."""
        common_dir = find_common_dir(self.context.place.git_dir or "")
        locks = find_locks(list_git_dirs(common_dir))
        if not locks or is_program_running("git", list_work_folders(common_dir)):
            return ()
        return locks

    @fact("the history", False)
    def has_commits(self) -> bool:
        return log.has_commits(self.context.place.top)

    @fact("the default branch", None)
    def default_branch(self) -> refs.DefaultBranch | None:
        top, env = self.context.place.top, clean_env(self.context.env)
        return refs.read_default_branch(top, attributes.FILE, env)


def _advise_init(facts: SetupFacts) -> Hint:
    """Return the hint to set it up; plain init leaves a repository of the JavaScript original as
    it is.
    """
    if attributes.OTHER_DRIVER not in facts.merge_attributes.values():
        return _INSTALL
    text = f"set it up in place of {attributes.OTHER_DRIVER}"
    return advise(text, "checkpoint", "init", "--adopt")


@check("install/missing", "warning", remedy="`checkpoint init`", fix="by name", in_bare=True)
def find_missing_installation(facts: SetupFacts) -> Iterator[Finding]:
    """A clone in which `checkpoint init` was never run."""
    setup = facts.installation
    # the other checks of driver and hooks report nothing then
    if setup is not None and not setup.is_there:
        message = "checkpoint-git is not set up in this clone: no merge driver, no hooks"
        place = facts.context.place
        # a bare repository has no .gitattributes
        if "work tree" in setup.attributes and place.work_tree != place.git_dir:
            unknown = "this clone does not know the merge driver that .gitattributes names"
            message = f"{unknown}: git copies no configuration"
        yield Finding("install/missing", "warning", message, REPOSITORY, hint=_advise_init(facts))


@check("clone/sparse", "note", remedy="`git sparse-checkout add FOLDER`")
def find_sparse_checkout(facts: SetupFacts) -> Iterator[Finding]:
    """Our files that a sparse checkout leaves out, so they are not checked."""
    place = facts.context.place
    for gap in find_gaps(place.work_tree, place.git_dir, facts.context.env):
        if gap.code == "clone/sparse":
            yield Finding(gap.code, "note", gap.message, REPOSITORY, hint=gap.fix)


@check("clone/stale-lock", "warning", remedy="`rm FILE`", in_bare=True)
def find_stale_locks(facts: SetupFacts) -> Iterator[Finding]:
    """A lock file that a killed git left: git's commands fail until it is removed.

    It is older than a minute, and no git of yours runs in this repository or its worktrees. The
    doctor never removes one.
    """
    for lock in facts.stale_locks:
        shown = f"git left {escape_controls(lock.path)} {ago_text(lock.age)}"
        message = f"{shown}, and no git runs here: its commands fail until it is removed"
        hint = advise("remove it", "rm", plain_path(lock.path))
        yield Finding("clone/stale-lock", "warning", message, REPOSITORY, hint=hint)


@check("driver/inert", "error", remedy="`checkpoint init`", fix="safe", in_bare=True)
def find_inert_driver(facts: SetupFacts) -> Iterator[Finding]:
    """Attributes or configuration that do not lead to the merge driver.

    `merge=union` is among them. As a warning, what `.gitattributes` alone gives to other clones;
    as a note, our lines are missing in HEAD's or the default branch's `.gitattributes`.
    """
    setup = facts.installation
    if setup is None or not setup.is_there:
        return

    for path, value in sorted(facts.merge_attributes.items()):
        if value == attributes.DRIVER:
            continue
        hint: AnyHint = _advise_init(facts)
        # init leaves lines of other drivers alone
        if {"work tree", "info"} <= setup.attributes and value != attributes.OTHER_DRIVER:
            remove = "remove it from .git/info/attributes, or from .gitattributes"
            hint = f"a line below ours overrides it: {remove}"
        message = _describe_attribute(value, facts)
        yield Finding("driver/inert", "error", message, path, hint=hint)

    yield from _check_attribute_files(facts, setup)
    yield from _check_settings(setup)


# value of the attribute merge -> what git does then
_ATTRIBUTES = {
    "union": (
        "its attribute is merge=union, which keeps the lines of both sides: the result is not JSON"
    ),
    "unspecified": "no attribute gives it to the merge driver: git merges it as text",
    "set": "its attribute is merge (as text), so the merge driver never sees it",
    "text": "its attribute is merge=text, so the merge driver never sees it",
    "unset": "its attribute is -merge: git keeps our side of every conflict",
    "binary": "its attribute is merge=binary: git keeps our side of every conflict",
}


def _describe_attribute(value: str, facts: SetupFacts) -> str:
    if value in _ATTRIBUTES:
        return _ATTRIBUTES[value]
    if facts.installation and f"merge.{value}.driver" in facts.installation.settings:
        return f"its attribute is merge={value}, so another driver merges it"
    undefined = "and no configuration defines that driver"
    return f"its attribute is merge={value}, {undefined}: git merges it as text"


def _check_attribute_files(facts: SetupFacts, setup: Installation) -> Iterator[Finding]:
    branch = facts.default_branch
    overruled = list(_find_overruled(facts, setup))
    if overruled:
        yield from overruled
    elif "work tree" not in setup.attributes:
        message = ".gitattributes lacks our lines, so other clones merge checkpoints as text"
        hint: AnyHint = _advise_init(facts)
        yield Finding("driver/inert", "warning", message, ".gitattributes", hint=hint)
    elif facts.has_commits and "HEAD" not in setup.attributes:
        given = ".gitattributes gives checkpoints to the merge driver"
        message = f"{given}, but HEAD does not have those lines yet"
        hint = chain("commit them", _COMMIT)
        yield Finding("driver/inert", "note", message, ".gitattributes", hint=hint)
    elif branch and not attributes.has_attributes(branch.attributes or b""):
        name = f"the default branch ({branch.name})"
        message = f"{name} does not give checkpoints to the merge driver yet"
        merge = "merge this branch into it, or commit .gitattributes there"
        hint = f"{merge}: {branch.name} merges as text until then"
        yield Finding("driver/inert", "note", message, ".gitattributes", hint=hint)

    if setup.settings.get(driver_settings.DRIVER) and "info" not in setup.attributes:
        older = "on branches older than them, git merges checkpoints as text"
        message = f"info/attributes lacks our lines: {older}"
        yield Finding("driver/inert", "warning", message, REPOSITORY, hint=_advise_init(facts))


def _find_overruled(facts: SetupFacts, setup: Installation) -> Iterator[Finding]:
    """Yield a finding for each value that committed attributes give to checkpoints which reach our
    driver in this clone alone.
    """
    by_value: dict[str, list[str]] = {}
    for path, value in sorted(facts.shared_attributes.items()):
        is_driven_here = facts.merge_attributes.get(path) == attributes.DRIVER
        if is_driven_here and value not in (attributes.DRIVER, "unspecified"):
            by_value.setdefault(value, []).append(path)

    for value, paths in by_value.items():
        names = shorten(paths[0], 120)
        if len(paths) > 1:
            names = f"{names} and {len(paths) - 1} more"
        result = _describe_attribute(value, facts)
        message = f"other clones merge {names} otherwise: {result}"
        hint: AnyHint = "remove that line from .gitattributes, or put it above ours"
        if "work tree" not in setup.attributes:
            hint = _advise_init(facts)
        yield Finding("driver/inert", "warning", message, ".gitattributes", hint=hint)


def _check_settings(setup: Installation) -> Iterator[Finding]:
    if not setup.settings.get(driver_settings.DRIVER):
        message = "merge.checkpoint.driver is not configured: git merges checkpoints as text"
        yield Finding("driver/inert", "error", message, REPOSITORY, hint=_INSTALL)
        return
    wanted = (driver_settings.RECURSIVE, driver_settings.BASE_DRIVER)
    missing = ", ".join(key for key in wanted if not setup.settings.get(key))
    if missing:
        result = "criss-cross merges may conflict more often"
        message = f"git's configuration lacks {missing}: {result}"
        yield Finding("driver/inert", "warning", message, REPOSITORY, hint=_INSTALL)


@check("driver/unreadable", "note", remedy="make them plain JSON")
def find_unreadable_files(facts: SetupFacts) -> Iterator[Finding]:
    """Files of an `init PATTERN` that the driver cannot read, so that git merges them as text.

    Comments, a repeated key, not UTF-8, larger than 8 MB, not JSON. At most 2,000 files are tried.
    """
    yield from report_unreadable(facts.unreadable)


@check("driver/schema", "warning", remedy="`checkpoint init PATTERN --schema FILE`")
def find_unaccepted_schemas(facts: SetupFacts) -> Iterator[Finding]:
    """A schema that the team agreed on, and that this clone has not accepted or whose file has
    changed.

    See [a schema for a team](json-merge.md#a-schema-for-a-team).
    """
    yield from facts.unaccepted


@check("driver/broken", "error", remedy="`checkpoint init`", fix="safe", in_bare=True)
def find_broken_driver(facts: SetupFacts) -> Iterator[Finding]:
    """The driver's interpreter or file is gone."""
    setup = facts.installation
    if setup is None or not setup.settings.get(driver_settings.DRIVER):
        return
    driver = setup.driver
    if driver is None:
        message = "merge.checkpoint.driver is a command that checkpoint-git did not write"
        hint = chain("unless this is intended", replace_driver(setup))
        yield Finding("driver/broken", "warning", message, REPOSITORY, hint=hint)
        return

    if driver.python in setup.gone:
        gone = f"the driver's interpreter is gone or cannot be run: {driver.python}"
    elif driver.driver in setup.gone:
        gone = f"the driver's file is gone: {driver.driver}"
    else:
        return

    result = "git merges checkpoints as text, and hooks refuse them"
    if _is_on_path(facts):
        result = "merges and hooks only work where `checkpoint` is on PATH"
    text = "install checkpoint-git permanently, such as with pipx, then"
    hint = advise(text, "checkpoint", "init")
    yield Finding("driver/broken", "error", f"{gone}; {result}", REPOSITORY, hint=hint)


def replace_driver(setup: Installation) -> tuple[Argv, ...]:
    """Return the commands that put our merge drivers in the place of others, which init leaves
    alone.
    """
    commands: list[Argv] = []
    for prefix in driver_settings.foreign_sections(setup.settings):
        if prefix.startswith("merge."):
            commands.append(("git", "config", "--remove-section", prefix.rstrip(".")))
    return (*commands, ("checkpoint", "init"))


def _is_on_path(facts: SetupFacts) -> bool:
    return shutil.which("checkpoint", path=facts.context.env.get("PATH", "")) is not None


# states in which git does not run a hook of ours
_HOOK_STATES = {
    "missing": "not there",
    "foreign": "another tool's script, without ours",
    "not-executable": "not executable, so git skips it",
    "no-interpreter": "its first line names a program that is not there",
    "line-ends": "with CRLF line ends, which no shell reads",
    "passed-over": "a line above ours ends the script",
    "outdated": "changed, or of another version",
    "damaged": "with broken marks",
}


@check("hooks/unreachable", "warning", remedy="`checkpoint init`", fix="safe", in_bare=True)
def find_unreachable_hooks(facts: SetupFacts) -> Iterator[Finding]:
    """Hooks of ours that git would not run.

    They are missing, changed, not executable, replaced, below a line that ends the script, have
    CRLF line ends or a first line (`#!`) that names nothing on this machine, or are elsewhere than
    `core.hooksPath`. Also hooks whose Python or package is gone, not configured, or not the merge
    driver's; as a note: if `checkpoint` is on PATH.
    """
    setup = facts.installation
    if setup is None or not setup.is_there:
        return
    choice = setup.settings.get(driver_settings.HOOKS)
    if choice == "none":
        return
    hooks = [hook for hook in setup.hooks if not _is_reached(hook, setup)]
    in_config = choice == "config"
    is_elsewhere = not in_config and setup.folder.place in ("outside", "nowhere")
    if is_elsewhere and (hooks or not setup.hooks):
        yield _describe_elsewhere(setup)
    elif hooks:
        yield _describe_unreached(hooks, setup)

    if in_config or any(hook.state in ("ours", "block", "moved") for hook in setup.hooks):
        yield from _check_hook_settings(setup, facts)


def _describe_elsewhere(setup: Installation) -> Finding:
    where = setup.folder.path or "nowhere"
    message = (
        f"core.hooksPath leads to {where}, outside this repository: git runs none of our hooks"
    )
    what = "call our hooks from the hooks there, or use this clone's own"
    hint = chain(what, _OWN_HOOKS)
    return Finding("hooks/unreachable", "warning", message, REPOSITORY, hint=hint)


def _describe_unreached(hooks: list[HookFile], setup: Installation) -> Finding:
    described = ", ".join(f"{hook.name} ({_HOOK_STATES[hook.state]})" for hook in hooks)
    where = setup.folder.path
    message = (
        f"git does not run {len(hooks)} of our hooks as init wrote them, in {where}: {described}"
    )

    hint: AnyHint = _INSTALL
    if setup.framework_entry and [hook.name for hook in hooks] == ["pre-commit"]:
        hint = advise("as the framework's configuration says", "pre-commit", "install")
    for hook in hooks:
        # init leaves these alone
        by_hand = _describe_work_by_hand(hook)
        if by_hand:
            hint = by_hand
            break

    return Finding("hooks/unreachable", "warning", message, REPOSITORY, hint=hint)


def _check_hook_settings(setup: Installation, facts: SetupFacts) -> Iterator[Finding]:
    driver = setup.driver
    if driver and (driver.python in setup.gone or driver.driver in setup.gone):
        return  # driver/broken reports it

    trouble = _describe_hook_settings(setup)
    if trouble:
        message = f"{trouble}; they only work where `checkpoint` is on PATH"
        level: Level = "note" if _is_on_path(facts) else "warning"
        yield Finding("hooks/unreachable", level, message, REPOSITORY, hint=_INSTALL)
        return

    python = setup.settings[driver_settings.PYTHON]
    if driver and python != driver.python:
        # init writes both at once; the hooks do not check that their interpreter has this package
        message = f"the hooks' interpreter is {python}, but the merge driver's is {driver.python}"
        yield Finding("hooks/unreachable", "warning", message, REPOSITORY, hint=_INSTALL)


def _describe_hook_settings(setup: Installation) -> str:
    """Return why the hooks find no Python of ours in git's configuration, "" if they find one."""
    nouns = {driver_settings.PYTHON: "interpreter", driver_settings.PACKAGE: "package"}
    for key, noun in nouns.items():
        path = setup.settings.get(key, "")
        if not path:
            return f"the hooks' {noun} is not configured: {key} is missing"
        if path in setup.gone:
            return f"the hooks' {noun} is gone: {path}"
    return ""


def _describe_work_by_hand(hook: HookFile) -> AnyHint:
    """Return what the user has to do about a hook that init leaves alone; "" for nothing."""
    if hook.state == "damaged":
        what = f"remove our lines from {hook.path}, beginning and end marks too"
        return join_hints(what, advise("then", "checkpoint", "init"))
    if hook.state == "line-ends" and not is_own_script(hook.data or b"") and why_not_extend(hook):
        return advise("convert it", "perl", "-pi", "-e", "s/\\r$//", plain_path(hook.path))
    if hook.state == "foreign" and why_not_extend(hook):
        return write_recipe(hook.name, hook.path, hook.data)
    return ""


def _is_reached(hook: HookFile, setup: Installation) -> bool:
    """Whether git runs our part of a hook, by the file, another tool or the framework."""
    if hook.state not in _HOOK_STATES:
        return True
    if hook.name == "pre-commit" and setup.framework_entry and hook.state != "missing":
        return True
    never_runs = hook.state in ("no-interpreter", "line-ends", "passed-over", "outdated")
    return hook.calls_us and not never_runs
