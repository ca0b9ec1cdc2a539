"""What a deployed server says of itself, against HEAD: which of its words name a version, and what follows. Pure.

The words are a stranger's: what is looked up in git is a commit id or the name of a tag, and nothing that git could
take for more.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from checkpoint_git.core.finding import Finding, Level
from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.tools.doctor.context import Deployed, World

FIELDS = ("commit", "sha", "git_sha", "git_commit", "revision", "version")
SETTING = "checkpoint.healthUrl"
_WHERE = ".checkpoints"  # what a finding about the repository and not about one file points at
_SHORT = 12  # digits of a commit id
_SHOWN = 80  # characters of a server's words

_ID = r"[0-9a-f]{7,64}"
_DIRTY = re.compile(r"[-.+]dirty\b")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+/-]{0,99}")
# `git describe` writes NAME-5-gabc1234, and what follows a plus sign in a version tells of the build.
_ID_IN_NAME = re.compile(rf".*?(?:-\d+-g|\+(?:[\w.]*?\.)??g?)({_ID})(?:[.+-].*)?")


class Claim(NamedTuple):
    """One word of the server's that may name what runs there. id: digits a commit's id begins with, or "". tags: names
    of tags that could be meant, likeliest first. dirty: built with changes that no commit holds.
    """

    field: str
    text: str
    id: str
    tags: tuple[str, ...]
    dirty: bool = False


def find_claims(answer: Mapping[str, Any]) -> list[Claim]:
    """The words that may name a version, the plainest first; what git should not see is left out."""
    claims = (_read_claim(field, answer[field]) for field in FIELDS if field in answer)
    return [claim for claim in claims if claim]


def _read_claim(field: str, value: object) -> Claim | None:
    text = value.strip() if isinstance(value, str) else ""
    name = _DIRTY.sub("", text)
    if re.fullmatch(_ID, name.lower()):
        return Claim(field, text, name.lower(), _tags(name), name != text)
    if not _is_tag_name(name):
        return None
    built = _ID_IN_NAME.fullmatch(name)
    return Claim(field, text, built[1] if built else "", _tags(name), name != text)


def _is_tag_name(name: str) -> bool:
    """Whether a name is safe to look up below refs/tags: none that git would refuse, none that asks for more."""
    parts = name.split("/")
    refused = ".." in name or any(not part or part[0] in ".-" or part.endswith((".", ".lock")) for part in parts)
    return _NAME.fullmatch(name) is not None and not refused


def _tags(name: str) -> tuple[str, ...]:
    return (name,) if name.startswith("v") else (name, f"v{name}")


def describe_answer(answer: Mapping[str, Any]) -> str:
    """Why an answer without a usable claim says nothing, as half a sentence."""
    present = [field for field in FIELDS if field in answer]
    if not present:
        return f"its answer has none of the fields {', '.join(FIELDS)}"
    said = shorten(str(answer[present[-1]]), _SHOWN)
    return f'its {present[-1]} is "{said}", which is neither a commit nor the name of a tag'


# findings


def find_unconfigured(world: World) -> list[Finding]:
    """Nobody said which server to ask."""
    if world.deployed is None or world.deployed.trouble != "not-configured":
        return []
    message = "no health URL is configured, so nothing was compared with what is deployed"
    hint = f"git config {SETTING} https://YOUR-SERVER"
    return [Finding("online/not-configured", "note", message, _WHERE, hint=hint)]


def find_bad_url(world: World) -> list[Finding]:
    """The setting is no address that may be asked."""
    hint = f"git config {SETTING} https://YOUR-SERVER; /api/health is asked where it has no path"
    return _tell_trouble(world, "online/bad-url", "bad-url", f"{SETTING} is not asked", hint)


def find_unreachable(world: World) -> list[Finding]:
    """There was no answer."""
    hint = "is the server up, and the address right? try it: curl --max-time 10 URL"
    return _tell_trouble(world, "online/unreachable", "unreachable", "no answer from {}", hint)


def find_bad_answers(world: World) -> list[Finding]:
    """There was an answer, but nothing in it names a version."""
    hint = f"a JSON object with one of {', '.join(FIELDS)} is expected; git config {SETTING} names the address"
    return _tell_trouble(world, "online/bad-answer", "bad-answer", "{} does not say what runs there", hint)


def _tell_trouble(world: World, code: str, trouble: str, message: str, hint: str) -> list[Finding]:
    deployed = world.deployed
    if deployed is None or deployed.trouble != trouble:
        return []
    text = f"{message.format(deployed.url)}: {deployed.detail}"
    return [Finding(code, "warning", text, _WHERE, hint=hint)]


def find_behind(world: World) -> list[Finding]:
    """What runs there is older than HEAD."""
    return [
        Finding("online/behind", "warning", f"{_runs(deployed)} is {_commits(deployed.behind)} behind HEAD"
                f" ({deployed.head[:_SHORT]})", _WHERE, hint="deploy it, or go on knowing that it is not out yet")
        for deployed in _compared(world)
        if deployed.behind and not deployed.ahead
    ]  # fmt: skip


def find_elsewhere(world: World) -> list[Finding]:
    """What runs there is not in HEAD's history, or is nothing that this clone can name."""
    return [
        Finding("online/elsewhere", level, f"{_runs(deployed)} {text}", _WHERE, hint=hint)
        for deployed in _compared(world)
        for level, text, hint in _tell_elsewhere(deployed, world.shallow)
    ]


def _tell_elsewhere(deployed: Deployed, shallow: bool) -> Iterator[tuple[Level, str, str]]:
    head = f"HEAD ({deployed.head[:_SHORT]})"
    fetch = "git fetch --tags --unshallow" if shallow else "git fetch --tags, then ask again"
    if not deployed.id:
        many = deployed.ambiguous
        why = "names several commits of this clone" if many else "names no commit and no tag of this clone"
        yield "warning", why, "have the server tell the whole commit id" if many else fetch
    elif deployed.ahead and deployed.behind:
        yield (
            "warning",
            f"is on another line than {head}: {_commits(deployed.ahead)} that HEAD lacks, {deployed.behind} it lacks",
            "was the branch rewritten, or is another one deployed?",
        )
    elif deployed.ahead:
        yield "note", f"is {_commits(deployed.ahead)} ahead of {head}", "git pull, if HEAD should have them"
    if deployed.dirty:
        yield "warning", "was built with changes that no commit holds", "deploy from a clean checkout"


def _compared(world: World) -> Sequence[Deployed]:
    return [world.deployed] if world.deployed and world.deployed.head and not world.deployed.trouble else []


def _runs(deployed: Deployed) -> str:
    known = f" ({deployed.id[:_SHORT]})" if deployed.id and not deployed.id.startswith(deployed.version) else ""
    return f"what {deployed.url} runs, {deployed.field} {shorten(deployed.version, _SHOWN)}{known},"


def _commits(count: int) -> str:
    return f"{count} commit{'' if count == 1 else 's'}"
