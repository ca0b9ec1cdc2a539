"""Facts that the doctor gets by trying: the hooks run by git, the deployed server asked. Nothing is judged here.

The network is loaded inside the one function that needs it, and that one runs only for `doctor --online`.
"""

from collections.abc import Mapping

from checkpoint_git.disk.discover import Place
from checkpoint_git.git import driver_settings
from checkpoint_git.git.repository import read_all_settings
from checkpoint_git.git.run import clean_env
from checkpoint_git.tools.doctor import deployed
from checkpoint_git.tools.doctor.context import Deployed, HookFailure, World
from checkpoint_git.tools.setup.survey import Installation


def read_hook_failures(world: World, place: Place, env: Mapping[str, str]) -> World:
    """The world with what is wrong with the hooks that git reaches."""
    from checkpoint_git.tools.doctor import hook_trial  # what makes a trial repository is for those who make one

    setup = world.git.setup if world.git else Installation()
    failures = hook_trial.read_broken_scripts(setup.hooks)
    scripts = hook_trial.read_own_scripts(setup.hooks, place.top)
    if scripts:
        values = {driver_settings.PYTHON: setup.hooks_python, driver_settings.PACKAGE: setup.package}
        failures += hook_trial.prove_hooks(scripts, values, clean_env(env))
    return world._replace(hook_failures=[HookFailure(*failure) for failure in failures])


def read_deployed(world: World, place: Place, env: Mapping[str, str]) -> World:
    """The world with what the configured server answers. Only git's configuration names it: no branch can."""
    from checkpoint_git.git.refs import read_standing
    from checkpoint_git.net.health import read_health

    url = read_all_settings(place.top, clean_env(env)).get(deployed.SETTING.lower(), "")
    if not url:
        return world._replace(deployed=Deployed(trouble="not-configured"))
    answer = read_health(url, env)
    told = Deployed(answer.url, answer.trouble, answer.detail)
    claims = deployed.find_claims(answer.value)
    if not claims and not told.trouble:
        told = told._replace(trouble="bad-answer", detail=deployed.describe_answer(answer.value))
    standings = []
    for claim in claims:
        standing = read_standing(place.top, claim.id, claim.tags)
        standings.append((claim, standing))
        if standing.id:
            break
    if standings:  # the first word that this clone knows, else the first one at all
        claim, standing = standings[-1] if standings[-1][1].id else standings[0]
        named = told._replace(field=claim.field, version=claim.text, dirty=claim.dirty)
        told = named._replace(**standing._asdict())
    return world._replace(deployed=told)
