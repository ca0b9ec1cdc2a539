"""Fold findings for the user: one line for each cause, the most helpful first."""

import os
from collections.abc import Callable, Iterator, Sequence

from checkpoint_git.core.finding import LEVELS, Finding
from checkpoint_git.core.hint import AnyHint, Argv, advise, command, commands_of, steps_of
from checkpoint_git.core.outcome import Cause
from checkpoint_git.core.terminal_text import join_some, plural
from checkpoint_git.protocols.contract import skill_layout

_MOST = 20  # entries that are not folded further
_SMALL = 3  # findings of one cause that have a line each, if there is room
# the cause is about files, and several may list one
_ABOUT_NAMES = (
    "drift/file-missing",
    "drift/commit-unknown",
)
# Codes, or the groups they begin with, by how much they help. Others rank where the blank is.
_SETUP = ("install", "driver", "hooks")  # first whatever their level: the rest relies on it
_ORDER = (
    *("doctor", *_SETUP, "diff", "merge", "drift/action-shipped", "drift/blocker-shipped"),
    *(
        "drift/stale-blocked",
        "upstream",
        "drift/stale-in-progress",
        "drift/file-missing",
        "drift/commit-unknown",
    ),
    *("", "drift/project-dir", "skill", "content"),
)
# codes that do not matter for a checkpoint that is complete
_WORK_IN_PROGRESS = (
    "drift",
    "skill",
    "content/rotation-due",
)


def fold(
    findings: Sequence[Finding], over: frozenset[str], name_all: Callable[[str], Argv]
) -> list[tuple[Finding, int]]:
    """Return the entries, each with the number of findings that it stands for.

    over: paths of checkpoints that were completed long ago. name_all: code -> the command that
    shows all its findings.
    """
    groups, aside = _group(findings, over)
    joined = _join_causes(groups)
    entries = _fold_groups(groups, _SMALL, name_all)
    if len(entries) > _MOST:
        entries = _fold_groups(joined, _SMALL, name_all)
    if len(entries) > _MOST:
        entries = _fold_groups(joined, 1, name_all)
    return [*entries, *_fold_over(aside)]


def list_causes(
    findings: Sequence[Finding], over: frozenset[str], name_all: Callable[[str], Argv]
) -> list[Cause]:
    """Return one cause for each group of findings: fewer than the entries of `fold`.

    The arguments are those of `fold`.
    """
    groups, aside = _group(findings, over)
    groups = _join_causes(groups)
    if len(groups) > _MOST:
        groups = _join_codes(groups)

    causes = list[Cause]()
    for group in groups:
        first = group[0]
        if len(group) == 1:
            causes.append(Cause(first, 1, tuple(_name_files(group))))
            continue
        message = _find_words(group) or f"{len(group)} like this: {first.message}"
        hint = _shared_fix(group) or advise("for the hint of each", *name_all(first.code))
        finding = Finding(_shared_code(group), first.level, message, hint=hint)
        causes.append(Cause(finding, len(group), tuple(_name_files(group))))

    return causes + [Cause(finding, count) for finding, count in _fold_over(aside)]


def group_in_words(findings: Sequence[Finding]) -> list[tuple[str, list[Finding]]]:
    """Return the findings by their causes, each group with a heading; the most helpful first."""
    groups, _ = _group(findings, frozenset())
    return [(_summarize(group), group) for group in _join_causes(groups)]


def _group(
    findings: Sequence[Finding], over: frozenset[str]
) -> tuple[list[list[Finding]], list[Finding]]:
    """Return the findings by their causes, the most helpful first, and those that matter only if
    work continues.
    """
    together: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in findings:
        code = finding.code
        if finding.cause:
            code = ""
        together.setdefault((finding.level, code, finding.cause), []).append(finding)

    aside = list[Finding]()
    for key, group in together.items():
        current = [finding for finding in group if not _is_over(finding, over)]
        if not (current and _shared_fix(group)):
            aside += [finding for finding in group if _is_over(finding, over)]
            together[key] = current

    groups = [group for group in together.values() if group]
    return sorted(groups, key=lambda group: (rank(group[0]), -len(group))), aside


def _join_codes(groups: Sequence[Sequence[Finding]]) -> list[list[Finding]]:
    """Return the groups of one code as one, whatever their causes."""
    joined: dict[tuple[str, str], list[Finding]] = {}
    for group in groups:
        joined.setdefault((group[0].level, group[0].code), []).extend(group)
    return list(joined.values())


def _join_causes(groups: Sequence[Sequence[Finding]]) -> list[list[Finding]]:
    """Return the small groups of one code as one group; those that --fix settles stay apart."""
    joined: dict[tuple[str, str, str], list[Finding]] = {}
    for group in groups:
        first = group[0]
        name = str(is_fixed_by_name(first))
        if len(group) > _SMALL:
            name = first.cause
        joined.setdefault((first.level, first.code, name), []).extend(group)
    return list(joined.values())


def _is_over(finding: Finding, over: frozenset[str]) -> bool:
    """Whether a finding is about a checkpoint of over, and does not matter for it."""
    if finding.path not in over or finding.level == "error":
        return False
    return any(_begins(finding.code, start) for start in _WORK_IN_PROGRESS)


def _begins(code: str, start: str) -> bool:
    return code == start or code.startswith(f"{start}/")


def rank(finding: Finding) -> tuple[int, int]:
    """Return the rank of a finding: a smaller one is more helpful."""
    order = _ORDER.index("")
    for index, start in enumerate(_ORDER):
        if _begins(finding.code, start):
            order = index
            break
    if any(_begins(finding.code, start) for start in _SETUP):
        return 0, order
    return LEVELS.index(finding.level), order


def _fold_groups(
    groups: Sequence[Sequence[Finding]], singly: int, name_all: Callable[[str], Argv]
) -> list[tuple[Finding, int]]:
    return [entry for group in groups for entry in _fold_group(group, singly, name_all)]


def _fold_group(
    group: Sequence[Finding],
    singly: int,
    name_all: Callable[[str], Argv],
) -> Iterator[tuple[Finding, int]]:
    """Yield each finding and the number that it stands for: one for the group, or every one.

    singly: so many findings are not folded, unless one fix settles them.
    """
    shared: AnyHint = ""
    if len(group) > 1:
        shared = _shared_fix(group)
    if len(group) == 1 or (not shared and len(group) <= singly):
        for finding in group:
            yield finding, 1
        return

    first = group[0]
    hint = shared or advise("for the hint of each", *name_all(first.code))
    yield Finding(_shared_code(group), first.level, _summarize(group), hint=hint), len(group)


def _shared_code(group: Sequence[Finding]) -> str:
    code = group[0].code
    if any(finding.code != code for finding in group):
        return ""
    return code


def _summarize(group: Sequence[Finding]) -> str:
    """Return the message for a group of findings."""
    first = group[0]
    names = _name_files(group)
    words = _find_words(group)
    if words and names:
        return f"{words} ({join_some(names, 3)})"
    if words:
        return words

    message = first.message
    if names and not message.startswith(names[0]):
        message = f"{names[0]}: {message}"
    others = f"and {len(group) - 1} like it"
    if names[1:]:
        others += f": {join_some(names[1:], 3)}"
    return f"{message} ({others})"


def _find_words(group: Sequence[Finding]) -> str:
    """Return a message that is true of all findings of a group, "" if there is none."""
    first = group[0]
    number = len(group)
    if first.code in _ABOUT_NAMES:
        number = len({finding.message for finding in group})

    if number == 1:  # in several checkpoints
        return first.message
    if first.cause and all(finding.cause == first.cause for finding in group):
        return f"{number} {first.cause}"
    return ""


def _shared_fix(group: Sequence[Finding]) -> AnyHint:
    """Return the hint that settles all findings of a group, "" if there is none."""
    hint = group[0].hint
    if all(_resolves(finding) for finding in group):
        return command("checkpoint", "resolve")
    if all(finding.hint == hint for finding in group):
        return hint
    if not all(is_fixed_by_name(finding) for finding in group):
        return ""
    options = ("--all",) if is_elsewhere(group) else ()
    fix = f"--fix={group[0].code}"
    return advise(steps_of(hint)[0].text, "checkpoint", "doctor", *options, fix)


def _resolves(finding: Finding) -> bool:
    """Whether the hint is nothing but `checkpoint resolve`."""
    steps = steps_of(finding.hint)
    if not steps or steps[0].text:
        return False
    return any(argv[:2] == ("checkpoint", "resolve") for argv in steps[0].commands)


def is_elsewhere(findings: Sequence[Finding]) -> bool:
    """Whether a hint's command goes to another folder."""
    return any(argv[1:2] == ("-C",) for finding in findings for argv in commands_of(finding.hint))


def is_fixed_by_name(finding: Finding) -> bool:
    """Whether the hint is nothing but `doctor --fix=CODE`."""
    commands = commands_of(finding.hint)
    return len(commands) == 1 and commands[0][-1] == f"--fix={finding.code}"


def _fold_over(aside: Sequence[Finding]) -> Iterator[tuple[Finding, int]]:
    """Yield one note, or the only finding, for checkpoints that were completed long ago."""
    if len(aside) == 1:
        yield aside[0], 1
        return
    if not aside:
        return

    names = _name_files(aside)
    count = plural(len(aside), "finding")
    if len(names) == 1:
        message = f"{count} in {names[0]}, which was complete long ago"
    else:
        listed = join_some(names, 3)
        message = f"{count} in {len(names)} checkpoints that were complete long ago ({listed})"
    what = "they matter only if that work continues; to archive one"
    hint = advise(what, "checkpoint", "reset", names[0])
    yield Finding("", "note", message, hint=hint), len(aside)


def _name_files(findings: Sequence[Finding]) -> list[str]:
    """Return each file of findings once: the skill of a checkpoint, else the path."""
    find_skill = skill_layout().find_skill
    paths = [finding.path for finding in findings if finding.path]
    return list(dict.fromkeys(find_skill(os.path.basename(path)) or path for path in paths))
