"""Find what keeps a set-up of init from working."""

from collections.abc import Mapping

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import advise, join_hints
from checkpoint_git.disk.discover import Place
from checkpoint_git.disk.installation import advise_installation, is_temporary
from checkpoint_git.git import attributes
from checkpoint_git.git.repository import read_all_settings
from checkpoint_git.git.run import clean_env
from checkpoint_git.protocols.check import REPOSITORY
from checkpoint_git.tools.setup.driven_files import find_unreadable, report_unreadable
from checkpoint_git.tools.setup.survey import Survey, read_merge_attribute
from checkpoint_git.tools.setup.team_schema import find_unaccepted


def find_obstacles(
    survey: Survey,
    place: Place,
    env: Mapping[str, str],
    *,
    is_done: bool,
    checks_files: bool,
) -> list[Finding]:
    """Return what keeps a set-up from working.

    survey: as it was before the steps. is_done: False on a dry run. checks_files: whether to look
    for other JSON files that the driver cannot read.
    """
    findings = list[Finding]()
    git_env = clean_env(env)
    if survey.ignored:
        findings.append(_find_ignored(survey.ignored))

    if is_done:
        findings += _find_overruled(read_merge_attribute(place.root, git_env))
        settings = read_all_settings(survey.place.work_tree, git_env)
        for finding in find_unaccepted(survey.place, settings):
            findings.append(finding._replace(level="note"))

    if is_done and checks_files:
        findings += report_unreadable(find_unreadable(survey.place, git_env))
    if is_temporary():
        named = "hooks and the merge driver name a Python in a cache of uvx or pipx"
        message = f"{named}, and stop when it is emptied"
        hint = join_hints(
            advise_installation("install checkpoint-git permanently, for example"),
            advise("then", "checkpoint", "init"),
        )
        findings.append(Finding("driver/temporary", "warning", message, REPOSITORY, hint=hint))

    return findings


def _find_ignored(rule: str) -> Finding:
    """Return a finding about the rule that hides checkpoints, given as "file:line: pattern"."""
    path, line, pattern = (*rule.split(":", 2), "", "")[:3]
    keeps_out = f"the pattern{pattern} keeps .checkpoints out of git"
    message = f"{keeps_out}, so checkpoints do not survive this clone"
    hint = "remove the pattern: this folder should be committed"
    number = int(line) if line.isdecimal() else 0
    return Finding("git/checkpoints-ignored", "warning", message, path, line=number, hint=hint)


def _find_overruled(attribute: str) -> list[Finding]:
    """Return a finding if checkpoints have another merge attribute than ours."""
    if attribute in (attributes.DRIVER, attributes.OTHER_DRIVER):
        return []
    answer = f"git still answers merge={attribute} for checkpoints"
    message = f"{answer}, so the merge driver is not used"
    look = ("git", "check-attr", "--all", ".checkpoints/x.checkpoint.json")
    hint = join_hints("remove the line that overrides it", advise("to see it", *look))
    return [Finding("git/attribute-overruled", "warning", message, attributes.FILE, hint=hint)]
