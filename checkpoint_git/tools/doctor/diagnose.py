"""Run the doctor's checks over a place, and apply the project's settings to what they find."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.progress import Tell
from checkpoint_git.disk import project_file
from checkpoint_git.disk.discover import Place, relative_path
from checkpoint_git.protocols.check import Check, Context, locate_all, run_checks
from checkpoint_git.protocols.contract import find_hooks
from checkpoint_git.tools.doctor.catalog import choose_checks, is_code
from checkpoint_git.tools.doctor.settings import (
    BAD,
    Settings,
    Suppressed,
    find_unused,
    read_settings_text,
    split_findings,
)


class Diagnosis(NamedTuple):
    """documents: how many were checked. suppressed: by the project's settings. over: the paths of
    checkpoints that were complete long ago.
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
        is_complete=all(check in chosen for check in choose_checks(())),
        tell=tell,
    )
    # read before any check: a skill without a checkpoint ends the run
    opened = [open_documents(context) for open_documents in find_hooks("open_documents")]

    def read_text(path: str) -> str | None:
        for _, read, _ in opened:
            text: str | None = read(path)
            if text is not None:
                return text
        return None

    located = locate_all(run_checks(chosen, context), read_text)
    shown, suppressed, used = split_findings(
        [*located, *context.troubles], settings.suppressions, now
    )
    unused: list[Finding] = []
    if skill is None and context.is_complete:
        # a suppression of a check that did not run may be in use
        for index, suppression in enumerate(settings.suppressions):
            if not any(check.matches(suppression.code) for check in chosen):
                used.add(index)
        unused = find_unused(settings.suppressions, used, now, _find_shown_path(place))

    over = frozenset[str]().union(*(paths for _, _, paths in opened))
    documents = sum(count for count, _, _ in opened)
    return Diagnosis(
        chosen, documents, [*shown, *settings.findings, *unused], suppressed, context, over
    )


def _find_shown_path(place: Place) -> str:
    """Return the path of the settings file as findings have it."""
    return relative_path(project_file.find_path(place), place.top)


def _read_settings(place: Place) -> Settings:
    shown = _find_shown_path(place)
    try:
        text = project_file.read_text(place)
    except project_file.ProjectFileError as error:
        finding = Finding(BAD, "warning", error.message, shown, hint="the file is ignored")
        return Settings(findings=[finding])
    return read_settings_text(text, shown, is_code) if text else Settings()
