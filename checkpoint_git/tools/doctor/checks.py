"""Check what only a trial shows: the merge driver at work, and the deployed server."""

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from checkpoint_git.core.finding import Finding, Level
from checkpoint_git.core.hint import (
    AnyHint,
    Argv,
    Blank,
    Output,
    Word,
    advise,
    chain,
    command,
    join_hints,
)
from checkpoint_git.core.terminal_text import plural, shorten
from checkpoint_git.git import driver_settings
from checkpoint_git.git.history.history import is_shallow
from checkpoint_git.git.refs import Standing
from checkpoint_git.git.settings import HEALTH_URL
from checkpoint_git.protocols.check import REPOSITORY, Context, check, fact
from checkpoint_git.tools.doctor.deployed import (
    FIELDS,
    LONGEST_SHOWN,
    Deployed,
    VersionClaim,
    read_deployed,
)
from checkpoint_git.tools.setup.checks import SetupFacts, find_broken_driver, replace_driver

if TYPE_CHECKING:
    from checkpoint_git.tools.doctor.driver_trial import Proof

_SHORT = 12  # digits of a commit id


class TrialFacts:
    def __init__(self, context: Context) -> None:
        self.context = context

    @fact("the merge driver at work", None)
    def proof(self) -> "Proof | None":
        """Return what the trial showed, None without a driver that could be tried."""
        setup = self.context.facts(SetupFacts).installation
        if setup is None or not setup.settings.get(driver_settings.DRIVER) or self._is_driver_gone:
            return None
        from checkpoint_git.tools.doctor.driver_trial import prove_driver

        return prove_driver(setup.settings, self.context.env)

    @property
    def _is_driver_gone(self) -> bool:
        # driver/broken reports that its interpreter or file is gone
        findings = find_broken_driver(self.context.facts(SetupFacts))
        return any(finding.level == "error" for finding in findings)


@check("driver/proof", "error", remedy="`checkpoint init`", in_bare=True)
def find_failed_proof(facts: TrialFacts) -> Iterator[Finding]:
    """A trial merge failed.

    Real git merges in a temporary repository, with the configured driver, a minimal PATH and 10
    seconds.
    """
    proof = facts.proof
    if proof is None:
        return

    commands: tuple[Argv, ...] = (("checkpoint", "init"),)
    setup = facts.context.facts(SetupFacts).installation
    if setup:
        commands = replace_driver(setup)
    hint = chain("set it up again", commands)

    troubles = [proof.clean, proof.conflict]
    if proof.crossed:
        troubles.append(f"in a merge whose common past is a merge itself, {proof.crossed}")
    for trouble in dict.fromkeys(filter(None, troubles)):
        message = f"the merge driver failed a trial merge: {trouble}"
        if proof.printed:
            message = f"{message} (it printed: {proof.printed})"
        yield Finding("driver/proof", "error", message, REPOSITORY, hint=hint)


class DeployedFacts:
    def __init__(self, context: Context) -> None:
        self.context = context

    @fact("what is deployed", None)
    def deployed(self) -> Deployed | None:
        return read_deployed(self.context.place, self.context.env)

    @cached_property
    def compared(self) -> tuple[str, VersionClaim, Standing] | None:
        """Return what the server runs in words, the claim behind that, and how it compares with
        HEAD.
        """
        deployed = self.deployed
        if deployed is None or deployed.claim is None or not deployed.standing.head:
            return None
        claim, standing = deployed.claim, deployed.standing
        version = f"{claim.field} {shorten(claim.text, LONGEST_SHOWN)}"
        if standing.id and not standing.id.startswith(claim.text):
            version = f"{version} ({standing.id[:_SHORT]})"
        return f"what {deployed.url} runs, {version},", claim, standing


@check("online/behind", "warning", remedy="deploy", when="online")
def find_behind(facts: DeployedFacts) -> Iterator[Finding]:
    """What is deployed is older than HEAD.

    See [what is deployed](#what-is-deployed).
    """
    if facts.compared is None:
        return
    running, _, standing = facts.compared
    if standing.behind and not standing.ahead:
        behind = plural(standing.behind, "commit")
        message = f"{running} is {behind} behind HEAD ({standing.head[:_SHORT]})"
        hint = "deploy it, or remember that it is not live yet"
        yield Finding("online/behind", "warning", message, REPOSITORY, hint=hint)


@check("online/elsewhere", "warning", remedy="`git fetch --tags`", when="online")
def find_elsewhere(facts: DeployedFacts) -> Iterator[Finding]:
    """What is deployed is not in HEAD's history.

    It has diverged, is unknown to this clone, or was built with uncommitted changes; as a note:
    ahead of HEAD.
    """
    if facts.compared is None:
        return
    running, claim, standing = facts.compared

    def describe(level: Level, text: str, hint: AnyHint) -> Finding:
        return Finding("online/elsewhere", level, f"{running} {text}", REPOSITORY, hint=hint)

    head = f"HEAD ({standing.head[:_SHORT]})"
    ahead = plural(standing.ahead, "commit")
    if standing.ambiguous:
        whole = "have the server report the whole commit id"
        yield describe("warning", "names several commits of this clone", whole)
    elif not standing.id:
        cut = is_shallow(facts.context.place.top)
        hint = command("git", "fetch", "--tags", more=", then ask again")
        if cut:
            hint = command("git", "fetch", "--tags", "--unshallow")
        yield describe("warning", "is not a commit or tag of this clone", hint)
    elif standing.ahead and standing.behind:
        text = f"has diverged from {head}: {ahead} ahead, {standing.behind} behind"
        yield describe("warning", text, "was the branch rewritten, or is another one deployed?")
    elif standing.ahead:
        hint = command("git", "pull", more=", if HEAD should have them")
        yield describe("note", f"is {ahead} ahead of {head}", hint)

    if claim.dirty:
        text = "was built with uncommitted changes"
        yield describe("warning", text, "deploy from a clean checkout")


@check("online/bad-answer", "warning", remedy="have the server report its version", when="online")
def find_bad_answers(facts: DeployedFacts) -> Iterator[Finding]:
    """The health URL answers, but names no version.

    It is not status 200 (a redirect, for one), not a JSON object, or too long.
    """
    hint = join_hints(
        f"a JSON object with one of {', '.join(FIELDS)} is expected",
        command("git", "config", HEALTH_URL, more=" names the address"),
    )
    return _find_trouble(facts, "bad-answer", "{} does not report a version", hint)


@check(
    "online/unreachable", "warning", remedy="start the server, or correct the URL", when="online"
)
def find_unreachable(facts: DeployedFacts) -> Iterator[Finding]:
    """The health URL does not answer within 10 seconds.

    The host is unknown, the connection is refused, or TLS fails.
    """
    address = Word((Output(("git", "config", HEALTH_URL)),))
    hint = advise(
        "is the server up, and the address right? try it", "curl", "--max-time", "10", address
    )
    return _find_trouble(facts, "unreachable", "no answer from {}", hint)


@check("online/bad-url", "warning", remedy="`git config checkpoint.healthUrl URL`", when="online")
def find_bad_url(facts: DeployedFacts) -> Iterator[Finding]:
    """The health URL is not allowed."""
    hint = join_hints(
        command("git", "config", HEALTH_URL, Blank("its address", "https://YOUR-SERVER")),
        "/api/health is asked where it has no path",
    )
    return _find_trouble(facts, "bad-url", f"{HEALTH_URL} is not asked", hint)


def _find_trouble(
    facts: DeployedFacts, trouble: str, message: str, hint: AnyHint
) -> Iterator[Finding]:
    deployed = facts.deployed
    if deployed and deployed.trouble == trouble:
        text = f"{message.format(deployed.url)}: {deployed.detail}"
        yield Finding(f"online/{trouble}", "warning", text, REPOSITORY, hint=hint)


@check(
    "online/not-configured", "note", remedy="`git config checkpoint.healthUrl URL`", when="online"
)
def find_unconfigured(facts: DeployedFacts) -> Iterator[Finding]:
    """No health URL is configured."""
    deployed = facts.deployed
    if deployed and deployed.trouble == "not-configured":
        message = "no health URL is configured, so nothing was compared with what is deployed"
        hint = command("git", "config", HEALTH_URL, Blank("its address", "https://YOUR-SERVER"))
        yield Finding("online/not-configured", "note", message, REPOSITORY, hint=hint)
