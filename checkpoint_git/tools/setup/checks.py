"""What is wrong with git around the checkpoints: an unfinished merge, a driver or hooks out of reach. Pure."""

from collections.abc import Iterator, Sequence

from checkpoint_git.core.finding import Finding, Level
from checkpoint_git.core.terminal_text import quote_word, shorten
from checkpoint_git.tools.doctor.context import GitFacts, HookFailure, World
from checkpoint_git.tools.setup.hook_files import HookFile
from checkpoint_git.tools.setup.survey import Installation

REPOSITORY = ".checkpoints"  # what a finding about the repository and not about one file points at
_DRIVER = "checkpoint"
_INSTALL = "run `checkpoint init`"


# an unfinished merge


def find_unresolved(world: World) -> list[Finding]:
    """What a merge left behind: unmerged files, markers, an operation that waits to be finished."""
    git = world.git or GitFacts()
    findings = [_tell_unmerged(path) for path in git.unmerged]
    for sheet in world.sheets:
        if sheet.has_markers and sheet.path not in git.unmerged:
            message = "conflict markers were left in the file, and git takes it for resolved"
            hint = "edit them away, or take one side: git checkout --ours / --theirs, or restore it from git"
            findings.append(Finding("merge/unresolved", "error", message, sheet.path, hint=hint))
    if git.operation:
        message = f"git is in the middle of a {git.operation}"
        hint = f"finish it (git {git.operation} --continue) or leave it (--abort)"
        findings.append(Finding("merge/unresolved", "note", message, REPOSITORY, hint=hint))
    return findings


def _tell_unmerged(path: str) -> Finding:
    message = "a merge left this file unresolved: the index holds both sides"
    hint = (
        f"resolve it and `git add` it; `git checkout --merge -- {quote_word(path)}` runs the merge driver on it again"
    )
    return Finding("merge/unresolved", "error", message, path, hint=hint)


# the merge driver


def find_missing_installation(world: World) -> list[Finding]:
    """The clone never saw `checkpoint init`. Nothing else is said about driver and hooks then."""
    if world.git is None or world.git.setup.is_there:
        return []
    setup = world.git.setup
    message = "checkpoint-git is not set up in this clone: no merge driver, no hooks"
    if setup.attributes_in_work_tree:
        message = "this clone does not know the merge driver that .gitattributes names: git copies no configuration"
    return [Finding("install/missing", "warning", message, REPOSITORY, hint=_INSTALL)]


def find_inert_driver(world: World) -> list[Finding]:
    """Checkpoints that would not reach our driver, by their attributes or for want of a definition."""
    if world.git is None or not world.git.setup.is_there:
        return []
    return [*_check_attributes(world.git), *_check_attribute_files(world.git), *_check_settings(world.git.setup)]


def _check_attributes(git: GitFacts) -> Iterator[Finding]:
    for path, value in sorted(git.merge_attributes.items()):
        trouble = "" if value == _DRIVER else _tell_attribute(value, git.defined_drivers)
        if trouble:
            hint = "see what says so: git check-attr --all -- PATH; then `checkpoint init` (--adopt takes over)"
            yield Finding("driver/inert", "error", trouble, path, hint=hint)


def _tell_attribute(value: str, defined: frozenset[str]) -> str:
    if value in _ATTRIBUTES:
        return _ATTRIBUTES[value]
    if value in defined:
        return f"its attribute is merge={value}, so another driver merges it"
    return f"its attribute is merge={value}, and no configuration defines that driver: git merges it as text"


_ATTRIBUTES = {
    "union": "its attribute is merge=union, which glues both sides' lines together: the result is no JSON",
    "unspecified": "no attribute gives it to the merge driver: git merges it as text",
    "set": "its attribute is merge (as text), so the merge driver never sees it",
    "text": "its attribute is merge=text, so the merge driver never sees it",
    "unset": "its attribute is -merge: git keeps our side of every conflict",
    "binary": "its attribute is merge=binary: git keeps our side of every conflict",
}


def _check_attribute_files(git: GitFacts) -> Iterator[Finding]:
    setup = git.setup
    overruled = list(_tell_overruled(git))
    if overruled:
        yield from overruled
    elif not setup.attributes_in_work_tree:
        message = ".gitattributes lacks our lines, so other clones merge checkpoints as text"
        yield Finding("driver/inert", "warning", message, ".gitattributes", hint=_INSTALL)
    elif git.has_commits and not setup.attributes_in_head:
        message = ".gitattributes gives checkpoints to the merge driver, but HEAD does not have those lines yet"
        yield Finding("driver/inert", "note", message, ".gitattributes", hint="commit .gitattributes")
    elif git.default_branch and not git.attributes_in_default:
        message = f"the default branch ({git.default_branch}) does not give checkpoints to the merge driver yet"
        hint = f"bring .gitattributes to it: who works on {git.default_branch} merges checkpoints as text until then"
        yield Finding("driver/inert", "note", message, ".gitattributes", hint=hint)
    if setup.driver and not setup.attributes_in_info:
        message = "info/attributes lacks our lines: on branches older than them, git merges checkpoints as text"
        yield Finding("driver/inert", "warning", message, REPOSITORY, hint=_INSTALL)


def _tell_overruled(git: GitFacts) -> Iterator[Finding]:
    """Checkpoints that reach our driver in this clone alone: what is committed gives them to something else."""
    by_value: dict[str, list[str]] = {}
    for path, value in sorted(git.shared_attributes.items()):
        if value not in (_DRIVER, "unspecified") and git.merge_attributes.get(path) == _DRIVER:
            by_value.setdefault(value, []).append(path)
    for value, paths in by_value.items():
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        trouble = _tell_attribute(value, git.defined_drivers)
        message = f"other clones merge {shorten(paths[0], 120)}{more} otherwise: {trouble}"
        by_hand = "take the line that says so out of .gitattributes, or put it above ours"
        hint = by_hand if git.setup.attributes_in_work_tree else _INSTALL
        yield Finding("driver/inert", "warning", message, ".gitattributes", hint=hint)


def _check_settings(setup: Installation) -> Iterator[Finding]:
    if not setup.driver:
        message = "merge.checkpoint.driver is not configured: git merges checkpoints as text"
        yield Finding("driver/inert", "error", message, REPOSITORY, hint=_INSTALL)
        return
    missing = [key for key, value in _settings_of(setup) if not value]
    if missing:
        message = f"git's configuration lacks {', '.join(missing)}: criss-cross merges and diffs are poorer for it"
        yield Finding("driver/inert", "warning", message, REPOSITORY, hint=_INSTALL)


def _settings_of(setup: Installation) -> list[tuple[str, str]]:
    return [
        ("merge.checkpoint.recursive", setup.recursive),
        ("merge.checkpoint-base.driver", setup.base_driver),
        ("diff.checkpoint.textconv", setup.textconv),
    ]


def find_broken_driver(world: World) -> list[Finding]:
    """A driver command whose interpreter or file is gone, or that somebody else wrote."""
    setup = world.git.setup if world.git else Installation()
    if not setup.driver:
        return []
    return [Finding("driver/broken", level, message, REPOSITORY, hint=hint) for level, message, hint in _breaks(setup)]


def _breaks(setup: Installation) -> Iterator[tuple[Level, str, str]]:
    if not setup.ours:
        hint = "git config --unset merge.checkpoint.driver, then `checkpoint init`, unless you mean it so"
        yield "warning", "merge.checkpoint.driver is a command that checkpoint-git did not write", hint
        return
    again = "run `checkpoint init` again with a Python that stays, such as one installed with pipx"
    if not setup.driver_python_exists:
        yield "error", f"the driver's interpreter is gone or cannot be run: {setup.driver_python}", again
    if not setup.driver_exists:
        yield "error", f"the driver's file is gone: {setup.driver_file}", again


def find_failed_proof(world: World) -> list[Finding]:
    """What the driver got wrong in a real merge. Silent where its interpreter or file is known to be gone."""
    if world.proof is None or any(finding.level == "error" for finding in find_broken_driver(world)):
        return []
    said = f" (it said: {world.proof.said})" if world.proof.said else ""
    hint = f"{_INSTALL} again; git config merge.checkpoint.driver shows the command"
    crossed = f"in a merge whose common past is a merge itself, {world.proof.crossed}" if world.proof.crossed else ""
    troubles = dict.fromkeys(trouble for trouble in (world.proof.clean, world.proof.conflict, crossed) if trouble)
    findings = [
        Finding(
            "driver/proof", "error", f"the merge driver failed a trial merge: {trouble}{said}", REPOSITORY, hint=hint
        )
        for trouble in troubles
    ]
    if world.proof.shown:
        hint = f"{_INSTALL} again; git config diff.checkpoint.textconv shows the command"
        findings.append(Finding("driver/proof", "warning", world.proof.shown, REPOSITORY, hint=hint))
    return findings


# the hooks

_HOOK_STATES = {
    "missing": "not there",
    "foreign": "another's script, without ours",
    "not-executable": "not executable, so git skips it",
    "no-interpreter": "its first line names a program that is not there",
    "passed-over": "a line above ours ends the script",
    "outdated": "of another version",
    "damaged": "with broken marks",
}


def find_unreachable_hooks(world: World) -> list[Finding]:
    """Hooks of ours that git would not run."""
    if world.git is None or world.git.setup.without_hooks or not world.git.setup.is_there:
        return []
    setup = world.git.setup
    out_of_reach = [hook for hook in setup.hooks if not _is_reached(hook, setup)]
    return [*_tell_hooks(out_of_reach, setup), *_tell_interpreter(setup)]


def find_failing_hooks(world: World) -> list[Finding]:
    """Hooks of ours that git runs, and that do not do their work; those with one trouble are told together."""
    together: dict[str, list[HookFailure]] = {}
    for failure in world.hook_failures:
        together.setdefault(failure.trouble, []).append(failure)
    return [_tell_failures(failures) for failures in together.values()]


def _tell_failures(failures: Sequence[HookFailure]) -> Finding:
    hooks = ", ".join(failure.hook for failure in failures)
    which = f"the {hooks} hook" if len(failures) == 1 else f"the hooks {hooks}"
    said = f" (it said: {shorten(failures[0].said, 200)})" if failures[0].said else ""
    message = f"{which} failed a trial with real git: {failures[0].trouble}{said}"
    hint = f"{_INSTALL} again; where other lines stand in the hook, see that its line ends are plain"
    return Finding("hooks/proof", "error", message, REPOSITORY, hint=hint)


def _is_reached(hook: HookFile, setup: Installation) -> bool:
    by_framework = hook.name == "pre-commit" and setup.framework_entry and hook.state != "missing"
    calls_us = hook.calls_us and hook.state not in ("no-interpreter", "passed-over")
    return hook.state not in _HOOK_STATES or calls_us or by_framework


def _tell_hooks(hooks: list[HookFile], setup: Installation) -> Iterator[Finding]:
    if setup.hooks_place in ("outside", "nowhere") and (hooks or not setup.hooks):
        where = setup.hooks_path or "nowhere"
        message = f"core.hooksPath leads to {where}, outside this repository: git runs none of our hooks"
        hint = 'call `checkpoint hook NAME "$@"` from the hooks there, or unset core.hooksPath'
        yield Finding("hooks/unreachable", "warning", message, REPOSITORY, hint=hint)
        return
    if hooks:
        told = ", ".join(f"{hook.name} ({_HOOK_STATES[hook.state]})" for hook in hooks)
        message = f"git does not run {len(hooks)} of our hooks in {setup.hooks_path}: {told}"
        by_framework = setup.framework_entry and [hook.name for hook in hooks] == ["pre-commit"]
        hint = "run `pre-commit install`" if by_framework else _INSTALL
        yield Finding("hooks/unreachable", "warning", message, REPOSITORY, hint=hint)


def _tell_interpreter(setup: Installation) -> Iterator[Finding]:
    ours = any(hook.state in ("ours", "block", "moved") for hook in setup.hooks)
    if ours and setup.hooks_python and not setup.hooks_python_exists:
        message = f"the hooks' interpreter is gone: {setup.hooks_python}; they only work where `checkpoint` is on PATH"
        yield Finding("hooks/unreachable", "warning", message, REPOSITORY, hint=_INSTALL)
