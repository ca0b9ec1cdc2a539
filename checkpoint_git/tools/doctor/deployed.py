"""The version that a deployed server reports, looked up in this clone.

The answer is untrusted: what is looked up in git is a commit id or the name of a tag, and nothing
that git could take for more.
"""

import re
from collections.abc import Mapping
from itertools import chain
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
    with, or "". tags: names of tags that could be meant, likeliest first. dirty: built with changes
    that no commit holds.
    """

    field: str
    text: str
    id: str
    tags: tuple[str, ...]
    dirty: bool = False


class Deployed(NamedTuple):
    """What a health URL answered, compared with HEAD. url: without secrets. trouble:
    "not-configured", or see net.health; detail: why. claim: the first one that this clone knows,
    else the first one.
    """

    url: str = ""
    trouble: str = ""
    detail: str = ""
    claim: VersionClaim | None = None
    standing: Standing = Standing("")


def read_deployed(place: Place, env: Mapping[str, str]) -> Deployed:
    """What the configured server answers. Only git's configuration names it: no branch can."""
    # no network code is loaded before somebody asks for it
    from checkpoint_git.net.health import (
        read_health,
    )

    url = find_setting(read_all_settings(place.top, clean_env(env)), HEALTH_URL)
    if not url:
        return Deployed(trouble="not-configured")
    answer = read_health(url, env)
    claims = find_claims(answer.value)
    if answer.trouble or not claims:
        trouble, detail = (
            answer.trouble or "bad-answer",
            answer.detail or describe_answer(answer.value),
        )
        return Deployed(answer.url, trouble, detail)

    standings = ((claim, read_standing(place.top, claim.id, claim.tags)) for claim in claims)
    first = next(standings)
    claim, standing = next((one for one in chain([first], standings) if one[1].id), first)
    return Deployed(answer.url, claim=claim, standing=standing)


def find_claims(answer: Mapping[str, Any]) -> list[VersionClaim]:
    """What may name a version, the plainest first; what git should not see is left out."""
    claims = []
    for field in FIELDS:
        value = answer.get(field)
        text = value.strip() if isinstance(value, str) else ""
        name = _DIRTY.sub("", text)
        tags = (name,) if name.startswith("v") else (name, f"v{name}")
        if re.fullmatch(_ID, name.lower()):
            claims.append(VersionClaim(field, text, name.lower(), tags, name != text))
        elif _is_tag_name(name):
            built = _ID_IN_NAME.fullmatch(name)
            claims.append(VersionClaim(field, text, built[1] if built else "", tags, name != text))

    return claims


def _is_tag_name(name: str) -> bool:
    # no name that git would refuse or take for more
    parts = name.split("/")
    refused = ".." in name or any(
        not part or part[0] in ".-" or part.endswith((".", ".lock")) for part in parts
    )
    return _NAME.fullmatch(name) is not None and not refused


def describe_answer(answer: Mapping[str, Any]) -> str:
    """Why an answer without a usable claim says nothing, as half a sentence."""
    present = [field for field in FIELDS if field in answer]
    if not present:
        return f"its answer has none of the fields {', '.join(FIELDS)}"
    version = shorten(str(answer[present[-1]]), LONGEST_SHOWN)
    return f'its {present[-1]} is "{version}", which is neither a commit nor the name of a tag'
