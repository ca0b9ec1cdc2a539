"""What `checkpoint doctor` does before it reports: run the checks over a place, and apply the
project's settings.
"""

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from checkpoint_git.core import jsontext
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.progress import Tell
from checkpoint_git.disk.discover import Place, relative_path
from checkpoint_git.disk.read import read_content
from checkpoint_git.protocols.check import Check, Context, locate_all, run_checks
from checkpoint_git.protocols.contract import find_hooks
from checkpoint_git.tools.doctor.catalog import choose_checks, is_code
from checkpoint_git.tools.doctor.settings import (
    BAD,
    MAX_BYTES,
    Settings,
    Suppressed,
    find_unused,
    read_settings_text,
    split_findings,
)


class Diagnosis(NamedTuple):
    """documents: how many. suppressed: by the project's settings. over: paths of those that were
    complete long ago.
    """

    checks: list[Check]
    documents: int
    findings: list[Finding]
    suppressed: list[Suppressed]
    context: Context
    over: frozenset[str]


def diagnose(
    place: Place,
    now: int,
    skill: str | None = None,
    checks: Sequence[Check] | None = None,
    *,
    env: Mapping[str, str],
    tell: Tell = lambda what: None,
) -> Diagnosis:
    """Run checks (default: those that always run) on a place or one skill. now, env, tell: see
    Context.
    """
    chosen = choose_checks(()) if checks is None else list(checks)
    settings = _read_settings(place)
    context = Context(
        place,
        now,
        env,
        skill=skill or "",
        codes=[check.code for check in chosen],
        limits=settings.limits,
        is_complete=all(check in chosen for check in choose_checks(())),
        tell=tell,
    )
    # read before any check: a skill without a checkpoint ends the run
    opened = [open_documents(context) for open_documents in find_hooks("open_documents")]

    def read_text(path: str) -> str | None:
        return next((text for _, read, _ in opened if (text := read(path)) is not None), None)

    located = locate_all(run_checks(chosen, context), read_text)
    shown, suppressed, used = split_findings(
        [*located, *context.troubles], settings.suppressions, now
    )
    unused: list[Finding] = []
    if skill is None and context.is_complete:
        # of a check that did not run nothing is known
        for at, suppression in enumerate(settings.suppressions):
            if not any(check.matches(suppression.code) for check in chosen):
                used.add(at)
        unused = find_unused(settings.suppressions, used, now, _settings_path(place)[1])

    over = frozenset[str]().union(*(paths for _, _, paths in opened))
    documents = sum(count for count, _, _ in opened)
    return Diagnosis(
        chosen, documents, [*shown, *settings.findings, *unused], suppressed, context, over
    )


def _settings_path(place: Place) -> tuple[str, str]:
    path = os.path.join(place.directory, "doctor.toml")
    return path, relative_path(path, place.top)


def _read_settings(place: Place) -> Settings:
    path, shown = _settings_path(place)
    if not os.path.lexists(path):
        return Settings()
    content = read_content(path, place.top, MAX_BYTES)
    trouble = (
        f"it cannot be read: {content.strerror or content}" if isinstance(content, OSError) else ""
    )
    try:
        if isinstance(content, bytes) and not trouble:
            return read_settings_text(
                jsontext.decode(content).removeprefix("\ufeff"), shown, is_code
            )
    except jsontext.JsonTextError as error:
        trouble = error.message

    return Settings(findings=[Finding(BAD, "warning", trouble, shown, hint="the file is ignored")])
