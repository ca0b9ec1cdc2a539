"""The files of a forge's jobs that check and merge pull requests: made from templates, planned,
and removed again.
"""

import os
import re
from collections.abc import Mapping, Sequence
from typing import Literal, get_args

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.disk.discover import find_link
from checkpoint_git.disk.installation import find_pinned_source
from checkpoint_git.disk.read import read_own
from checkpoint_git.git.attributes import FILE as ATTRIBUTES
from checkpoint_git.git.refs import read_default_branch
from checkpoint_git.git.run import clean_env, run_git
from checkpoint_git.tools.agents.table import read_stamped, render_stamped
from checkpoint_git.tools.setup.steps import RemoveFile, SetupStep, write_step
from checkpoint_git.tools.setup.survey import read_file
from checkpoint_git.version import __version__

Forge = Literal["github", "gitlab"]
FORGES: tuple[Forge, ...] = get_args(Forge)

# Name -> the words after `checkpoint`. A shell reads them, so untrusted text comes in as a quoted
# variable. All commands are in one table, so that a test can parse each as the command line would.
COMMANDS = {
    "validate": "validate --strict",
    "doctor": (
        "doctor --all --check content --check merge --check pipeline --check drift/action-shipped "
        "--check drift/blocker-shipped --check drift/file-missing"
    ),
    "verify": 'ci verify --base "origin/$BASE" --head HEAD',
    "premerge": (
        'ci merge --base "origin/$BASE" --head "origin/$HEAD" --branch="refs/heads/$HEAD" '
        "--push --retries 2"
    ),
}
_CHECKOUT = "actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1"  # (2026-11-28)

UNKNOWN = "git+https://HOST/OWNER/checkpoint-git@COMMIT"  # which fails until somebody edits it

_INCLUDED = ".gitlab/checkpoints.gitlab-ci.yml"
# forge -> path in the work tree -> its template
_TEMPLATES: dict[Forge, dict[str, str]] = {
    "github": {
        ".github/workflows/checkpoints.yml": "github-checkpoints.yml",
        ".github/workflows/checkpoint-premerge.yml": "github-premerge.yml",
    },
    "gitlab": {_INCLUDED: "gitlab-checkpoints.yml", ".gitlab-ci.yml": "gitlab-ci.yml"},
}
_TRACKED = "commit it: the forge reads it from there"
_FOREIGN = "it is a file of your own; move it away and run this again to get a new one"
# what can be in a forge's list of branches, where some letters mean more than themselves
PLAIN_BRANCH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]{0,200}")


def forge_files(forge: Forge, base: str, version: str, source: str = "") -> dict[str, bytes]:
    """Return the contents of a forge's files by path; each ends in the stamp by which an unedited
    one is recognized.

    source: what the jobs install, "" if that is unknown: no job installs a name that anybody
    could take.
    """
    values = {
        "BASE": base,
        "VERSION": version,
        "SOURCE": source or UNKNOWN,
        "CHECKOUT": _CHECKOUT,
        **COMMANDS,
    }
    files = {}
    for path, name in _TEMPLATES[forge].items():
        template = read_own(__file__, "templates", name)
        text = re.sub(r"@([A-Za-z]+)@", lambda found: values[found[1]], template)
        owner = f"Written by `checkpoint init --ci {forge}`."
        updates = "`checkpoint init` updates it and `checkpoint uninstall` removes it"
        first = f"# {owner} As long as it is unedited, {updates}.\n"
        files[path] = render_stamped(path, first + text, path.count("/"))

    return files


def describe_source() -> str:
    """Return a sentence about where the jobs install from, "" if that is an index."""
    unpublished = "checkpoint-git is not on PyPI yet"
    source = find_pinned_source()
    if not source:
        where = "write into CHECKPOINT_GIT of the jobs where they can install it from"
        return f"{unpublished}: {where}"
    if source.startswith("git+"):
        return f"{unpublished}: the jobs install {source}"
    return ""


def is_unedited(data: bytes) -> bool:
    return read_stamped(data).state == "ours"


def plan_forges(work_tree: str, wanted: Sequence[str], env: Mapping[str, str]) -> list[SetupStep]:
    """Return the steps that write the files of the wanted forges, and update unedited ones of the
    others. Raises CheckpointError for a default branch that no forge's list can name.
    """
    asked = [forge for forge in FORGES if forge in wanted]
    others = [forge for forge in FORGES if forge not in asked and _find_unedited(work_tree, forge)]
    if not asked and not others:
        return []

    base = _read_base(work_tree, clean_env(env))
    if not PLAIN_BRANCH.fullmatch(base):
        name = f"the default branch {escape_controls(shorten(base, 100))}"
        hint = "give it a name of plain letters, or write the jobs yourself: docs/forges.md"
        raise CheckpointError(f"--ci: {name} cannot be in a forge's list of branches", hint)

    steps = []
    for forge in (*asked, *others):
        files = forge_files(forge, base, __version__, find_pinned_source())
        planned = [_plan_file(work_tree, path, data) for path, data in files.items()]
        steps += [step for step in planned if forge in asked or step.deed == "update"]

    return steps


def plan_forges_removal(work_tree: str) -> list[SetupStep]:
    steps = []
    for forge in FORGES:
        for path in _find_unedited(work_tree, forge):
            change = RemoveFile(os.path.join(work_tree, path), folders=path.count("/"))
            steps.append(SetupStep("remove", path, "", change))
    return steps


def _find_unedited(work_tree: str, forge: Forge) -> list[str]:
    found = []
    for path in _TEMPLATES[forge]:
        data = read_file(os.path.join(work_tree, path)).data
        if is_unedited(data or b""):
            found.append(path)
    return found


def _plan_file(work_tree: str, name: str, data: bytes) -> SetupStep:
    path = os.path.join(work_tree, *name.split("/"))
    found = read_file(path)
    instead = _FOREIGN
    needs_include = name == ".gitlab-ci.yml"
    if needs_include:
        # another file of that name can include ours
        instead = f"add to it: include: [{{local: {_INCLUDED}}}]"
    # a symbolic link in the path would lead somewhere else
    if found.blocked or find_link(os.path.dirname(name), work_tree):
        reason = found.blocked or "its folder is a symbolic link"
        return SetupStep("skip", name, f"{reason}; {instead}")
    if found.data is None or found.data == data or is_unedited(found.data):
        return write_step(name, path, found.data, data, _TRACKED)
    if needs_include and _INCLUDED.encode() in found.data:
        return SetupStep("keep", name)
    return SetupStep("skip", name, instead)


def _read_base(work_tree: str, env: Mapping[str, str]) -> str:
    default = read_default_branch(work_tree, ATTRIBUTES, env)
    if default:
        return default.name.removeprefix("origin/")
    head = run_git(["symbolic-ref", "--short", "-q", "HEAD"], work_tree, env=env, check=False).out
    return os.fsdecode(head).rstrip("\n") or "main"
