"""Findings folded for a person: one line for one cause, and what helps most comes first."""

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
# what does not matter of a checkpoint that is over
_WORK_IN_PROGRESS = (
    "drift",
    "skill",
    "content/rotation-due",
)


def fold(
    findings: Sequence[Finding], over: frozenset[str], name_all: Callable[[str], Argv]
) -> list[tuple[Finding, int]]:
    """Entries with their counts. over: paths of checkpoints completed long ago. name_all: what
    shows all of a code.
    """
    groups, aside = _group(findings, over)
    for chosen, singly in (
        (groups, _SMALL),
        (_join_causes(groups), _SMALL),
        (_join_causes(groups), 1),
    ):
        entries = [entry for group in chosen for entry in _fold_group(group, singly, name_all)]
        if len(entries) <= _MOST:
            break

    return [*entries, *_fold_over(aside)]


def list_causes(
    findings: Sequence[Finding], over: frozenset[str], name_all: Callable[[str], Argv]
) -> list[Cause]:
    """Return one cause for each group of findings: fewer than the entries of `fold`, which is
    called the same way.
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
    """Return the findings by their causes, each group with a heading in words; what helps most
    comes first.
    """
    groups, _ = _group(findings, frozenset())
    return [(_summarize(group), group) for group in _join_causes(groups)]


def _group(
    findings: Sequence[Finding], over: frozenset[str]
) -> tuple[list[list[Finding]], list[Finding]]:
    """Return the findings by their causes, what helps most first, and those that matter only if
    work continues.
    """
    together: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in findings:
        together.setdefault(
            (finding.level, "" if finding.cause else finding.code, finding.cause), []
        ).append(finding)

    aside = list[Finding]()
    for key, group in together.items():
        current = [one for one in group if not _is_over(one, over)]
        if not (current and _shared_fix(group)):
            aside += [one for one in group if _is_over(one, over)]
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
    """Small groups of one code as one, apart from what --fix does."""
    joined: dict[tuple[str, str, str], list[Finding]] = {}
    for group in groups:
        one = group[0]
        own = one.cause if len(group) > _SMALL else str(is_fixed_by_name(one))
        joined.setdefault((one.level, one.code, own), []).extend(group)
    return list(joined.values())


def _is_over(finding: Finding, over: frozenset[str]) -> bool:
    is_past = finding.path in over and finding.level != "error"
    return is_past and any(_begins(finding.code, each) for each in _WORK_IN_PROGRESS)


def _begins(code: str, start: str) -> bool:
    return code == start or code.startswith(f"{start}/")


def rank(finding: Finding) -> tuple[int, int]:
    """The smaller, the more it matters."""
    order = next(
        (at for at, start in enumerate(_ORDER) if _begins(finding.code, start)), _ORDER.index("")
    )
    return 0 if any(_begins(finding.code, each) for each in _SETUP) else LEVELS.index(
        finding.level
    ), order


def _fold_group(
    group: Sequence[Finding],
    singly: int,
    name_all: Callable[[str], Argv],
) -> Iterator[tuple[Finding, int]]:
    """Yield (finding, how many it counts for): one for the group, or each by itself.

    singly: so many are not folded, unless one fix settles them.
    """
    shared: AnyHint = _shared_fix(group) if len(group) > 1 else ""
    if len(group) == 1 or (not shared and len(group) <= singly):
        for finding in group:
            yield finding, 1
        return

    first = group[0]
    hint = shared or advise("for the hint of each", *name_all(first.code))
    yield Finding(_shared_code(group), first.level, _summarize(group), hint=hint), len(group)


def _shared_code(group: Sequence[Finding]) -> str:
    code = group[0].code
    return code if all(finding.code == code for finding in group) else ""


def _summarize(group: Sequence[Finding]) -> str:
    """Return the message for a group of findings."""
    first = group[0]
    names = _name_files(group)
    words = _find_words(group)
    if words:
        return f"{words} ({join_some(names, 3)})" if names else words

    message = first.message
    if names and not message.startswith(names[0]):
        message = f"{names[0]}: {message}"
    others = f": {join_some(names[1:], 3)}" if names[1:] else ""
    return f"{message} (and {len(group) - 1} like it{others})"


def _find_words(group: Sequence[Finding]) -> str:
    """Return the words that are true of all of a group, "" if there are none."""
    first = group[0]
    number = len(group)
    if first.code in _ABOUT_NAMES:
        number = len({finding.message for finding in group})

    if number == 1:  # of which several checkpoints say the same
        return first.message
    if first.cause and all(finding.cause == first.cause for finding in group):
        return f"{number} {first.cause}"  # words that a number goes before
    return ""


def _shared_fix(group: Sequence[Finding]) -> AnyHint:
    """Return the hint that settles them all, "" if there is none."""
    hint = group[0].hint
    if all(_resolves(finding) for finding in group):
        return command("checkpoint", "resolve")
    if all(finding.hint == hint for finding in group):
        return hint
    if not all(is_fixed_by_name(finding) for finding in group):
        return ""
    every = ("--all",) if is_elsewhere(group) else ()
    return advise(steps_of(hint)[0].text, "checkpoint", "doctor", *every, f"--fix={group[0].code}")


def _resolves(finding: Finding) -> bool:
    steps = steps_of(finding.hint)
    return (
        bool(steps)
        and not steps[0].text
        and any(argv[:2] == ("checkpoint", "resolve") for argv in steps[0].commands)
    )


def is_elsewhere(findings: Sequence[Finding]) -> bool:
    """Return whether a hint's command goes to another folder."""
    return any(argv[1:2] == ("-C",) for finding in findings for argv in commands_of(finding.hint))


def is_fixed_by_name(finding: Finding) -> bool:
    """Return whether the hint is nothing but `doctor --fix=CODE`."""
    commands = commands_of(finding.hint)
    return len(commands) == 1 and commands[0][-1] == f"--fix={finding.code}"


def _fold_over(aside: Sequence[Finding]) -> Iterator[tuple[Finding, int]]:
    names = _name_files(aside)
    if len(aside) == 1:
        yield aside[0], 1
    elif aside:
        which = (
            f"{names[0]}, which was" if len(names) == 1 else f"{len(names)} checkpoints that were"
        )
        message = f"{plural(len(aside), 'finding')} in {which} complete long ago"
        listed = f" ({join_some(names, 3)})" if len(names) > 1 else ""
        what = "they matter only if that work continues; to archive one"
        hint = advise(what, "checkpoint", "reset", names[0])
        yield Finding("", "note", f"{message}{listed}", hint=hint), len(aside)


def _name_files(findings: Sequence[Finding]) -> list[str]:
    """Checkpoints by their skills, other files by their paths; each once."""
    find_skill = skill_layout().find_skill
    return list(
        dict.fromkeys(
            find_skill(os.path.basename(one.path)) or one.path for one in findings if one.path
        )
    )
