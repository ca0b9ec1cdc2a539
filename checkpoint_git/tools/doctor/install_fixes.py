"""Which steps of `checkpoint init` mend a broken installation: the same plan as init's, cut to what was found."""

from collections.abc import Mapping

from checkpoint_git.disk.discover import Place
from checkpoint_git.git.repository import Repository, read_repository
from checkpoint_git.tools.setup.init import Options, find_wanted
from checkpoint_git.tools.setup.plan import (
    Wanted,
    plan_attributes,
    plan_hooks,
    plan_install,
    plan_settings,
)
from checkpoint_git.tools.setup.steps import Step
from checkpoint_git.tools.setup.survey import Survey, read_survey


def plan_installation(place: Place, codes: set[str], env: Mapping[str, str]) -> tuple[list[Step], Repository | None]:
    """The steps that change something for these codes of findings; nobody else's settings, lines or hooks are taken."""
    parts = [_PARTS[code] for code in _PARTS if code in codes]
    repository = read_repository(place.root, env) if parts else None
    if repository is None:
        return [], None
    survey = read_survey(repository, env, place.root)
    wanted = find_wanted(survey, Options(), place.root)
    steps = [step for part in parts for step in part(survey, wanted)]
    unique = [step for at, step in enumerate(steps) if step.change is not None and step not in steps[:at]]
    return unique, repository


def _plan_driver(survey: Survey, wanted: Wanted) -> list[Step]:
    return [*plan_settings(survey, wanted), *plan_attributes(survey, wanted)]


def _plan_hooks(survey: Survey, wanted: Wanted) -> list[Step]:
    return [*plan_settings(survey, wanted), *plan_hooks(survey, wanted)]


_PARTS = {
    "install/missing": plan_install,
    "driver/inert": _plan_driver,
    "driver/broken": plan_settings,
    "hooks/unreachable": _plan_hooks,
}
