"""The version that a deployed server reports, looked up in this clone.

The answer is untrusted: what is looked up in git is a commit id or the name of a tag, and nothing
that git could take for more.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.disk.discover import Place
from checkpoint_git.git.refs import Standing, read_standing
from checkpoint_git.git.repository import read_all_settings
from checkpoint_git.git.run import clean_env
from checkpoint_git.git.settings import HEALTH_URL, find_setting

FIELDS = ("commit", "sha", "git_sha", "git_commit", "revision", "version")
LONGEST_SHOWN = 80  # characters of a server's words

_ID = r"[0-9a-f]{7,64}"
_DIRTY = re.compile(r"[-.+]dirty\b")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+/-]{0,99}")
# `git describe` writes NAME-5-gabc1234, and the build follows a plus sign in a version.
_ID_IN_NAME = re.compile(rf".*?(?:-\d+-g|\+(?:[\w.]*?\.)??g?)({_ID})(?:[.+-].*)?")


class VersionClaim(NamedTuple):
    """One field of the answer that may name what runs there. id: digits that a commit's id begins
    with, or "". tags: names of tags that could be meant, likeliest first. dirty: built with
    changes that no commit holds.
    """

    field: str
    text: str
    id: str
    tags: tuple[str, ...]
    dirty: bool = False


class Deployed(NamedTuple):
    """The answer of a health URL, compared with HEAD. url: without secrets. trouble:
    "not-configured", or as net.health names it; detail: the reason. claim: the first one that this
    clone knows, or the first one if it knows none.
    """

    url: str = ""
    trouble: str = ""
    detail: str = ""
    claim: VersionClaim | None = None
    standing: Standing = Standing("")


def read_deployed(place: Place, env: Mapping[str, str]) -> Deployed:
    """Ask the configured server. Only git's configuration names it: no branch can."""
    # imported here: no other command needs network code
    from checkpoint_git.net.health import read_health

    url = find_setting(read_all_settings(place.top, clean_env(env)), HEALTH_URL)
    if not url:
        return Deployed(trouble="not-configured")
    answer = read_health(url, env)
    claims = find_claims(answer.value)
    if answer.trouble or not claims:
        trouble = answer.trouble or "bad-answer"
        detail = answer.detail or describe_answer(answer.value)
        return Deployed(answer.url, trouble, detail)

    found: list[Deployed] = []
    for claim in claims:
        standing = read_standing(place.top, claim.id, claim.tags)
        found.append(Deployed(answer.url, claim=claim, standing=standing))
        if standing.id:
            return found[-1]
    return found[0]


def find_claims(answer: Mapping[str, Any]) -> list[VersionClaim]:
    """Return the members that may name a version, the plainest first, without those that are not
    safe to give to git.
    """
    claims = []
    for field in FIELDS:
        value = answer.get(field)
        if not isinstance(value, str):
            continue
        text = value.strip()
        name = _DIRTY.sub("", text)
        tags = (name,) if name.startswith("v") else (name, f"v{name}")
        if re.fullmatch(_ID, name.lower()):
            claims.append(VersionClaim(field, text, name.lower(), tags, name != text))
        elif _is_tag_name(name):
            built = _ID_IN_NAME.fullmatch(name)
            commit = built[1] if built else ""
            claims.append(VersionClaim(field, text, commit, tags, name != text))

    return claims


def _is_tag_name(name: str) -> bool:
    """Whether git takes a name for a tag, and for nothing else."""
    if _NAME.fullmatch(name) is None or ".." in name:
        return False
    for part in name.split("/"):
        if not part or part[0] in ".-" or part.endswith((".", ".lock")):
            return False
    return True


def describe_answer(answer: Mapping[str, Any]) -> str:
    """Return why an answer names no version, as half a sentence."""
    present = [field for field in FIELDS if field in answer]
    if not present:
        return f"its answer has none of the fields {', '.join(FIELDS)}"
    version = shorten(str(answer[present[-1]]), LONGEST_SHOWN)
    return f'its {present[-1]} is "{version}", which is neither a commit nor the name of a tag'
