"""What the doctor finds by trying: the merge driver and the hooks in trial repositories, and the deployed server."""

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from checkpoint_git.core.clock import DAY
from checkpoint_git.core.finding import Finding, Level
from checkpoint_git.core.terminal_text import plural, shorten
from checkpoint_git.disk.cache import load_cache, make_digest, mark_file, package_digest, write_cache
from checkpoint_git.git import driver_settings
from checkpoint_git.git.history.history import is_shallow
from checkpoint_git.git.refs import Standing
from checkpoint_git.git.run import clean_env
from checkpoint_git.protocols.check import REPOSITORY, Context, check, fact
from checkpoint_git.tools.doctor.deployed import FIELDS, LONGEST_SHOWN, SETTING, Claim, Deployed, read_deployed
from checkpoint_git.tools.setup.checks import SetupFacts, find_broken_driver, replace_driver

if TYPE_CHECKING:
    from checkpoint_git.tools.doctor.driver_trial import Proof
    from checkpoint_git.tools.doctor.hook_trial import HookFailure

_SHORT = 12  # digits of a commit id


class TrialFacts:
    def __init__(self, context: Context) -> None:
        self.context = context

    @fact("the merge driver at work", None)
    def proof(self) -> "Proof | None":
        setup = self.context.facts(SetupFacts).installation
        if setup is None or not setup.settings.get(driver_settings.DRIVER):
            return None
        keys = (driver_settings.DRIVER, driver_settings.RECURSIVE, driver_settings.BASE_DRIVER)
        commands = {key: setup.settings.get(key, "") for key in keys}
        ours = setup.driver
        python, package = (ours.python, os.path.dirname(ours.driver)) if ours else ("", "")
        digest = self._make_digest(commands.values(), python, package)
        if ours and self._has_passed("driver", digest):
            return None
        from checkpoint_git.tools.doctor.driver_trial import prove_driver

        proof = prove_driver(commands, self.context.env)
        if proof.holds:
            self._remember("driver", digest)
        return proof

    @fact("the hooks at work", ())
    def hook_failures(self) -> "Sequence[HookFailure]":
        setup = self.context.facts(SetupFacts).installation
        if setup is None:
            return []
        from checkpoint_git.tools.doctor import hook_trial

        scripts = hook_trial.read_own_scripts(setup.hooks)
        words = [f"{name} {script.decode('utf-8', 'surrogateescape')}" for name, script in scripts.items()]
        settings = {key: setup.settings.get(key, "") for key in (driver_settings.PYTHON, driver_settings.PACKAGE)}
        digest = self._make_digest(words, *settings.values())
        if not scripts or self.is_driver_gone or self._has_passed("hooks", digest):
            return []
        env = clean_env(self.context.env)
        failed = hook_trial.prove_hooks(scripts, settings, env)
        if not failed:
            self._remember("hooks", digest)
            return []
        failures = hook_trial.prove_hooks(scripts, settings, env, is_bare_path=False)
        if settings[driver_settings.PYTHON] in setup.gone:  # hooks/unreachable says that they need PATH
            return failures
        broken = {failure.hook for failure in failures}
        return failures + [one._replace(needs_path=True) for one in failed if one.hook not in broken]

    @cached_property
    def is_driver_gone(self) -> bool:
        # its interpreter or file, which are the hooks' too: driver/broken says so
        return any(one.level == "error" for one in find_broken_driver(self.context.facts(SetupFacts)))

    # A trial takes most of the time of a run, so one that passed is remembered by what its outcome depends on. A day
    # later it is made again, for what no digest sees (packages beside ours, a system's update).

    def _make_digest(self, words: Iterable[str], python: str, package: str) -> str:
        git, home = shutil.which("git", path=self.context.env.get("PATH")), self.context.env.get("HOME", "")
        ours = package if os.path.basename(package) == "checkpoint_git" else ""  # nobody's whole disk
        return make_digest([*words, mark_file(git or ""), home, mark_file(python), package_digest(ours)])

    @cached_property
    def _passed(self) -> dict[str, Any]:
        """Trial -> the digest with which it passed, and when."""
        found = load_cache(self._cache, package_digest()) if self.context.is_complete else None
        return found if isinstance(found, dict) else {}

    @property
    def _cache(self) -> str:
        return os.path.join(self.context.place.git_dir or "", "checkpoint", "trials.json")

    def _has_passed(self, trial: str, digest: str) -> bool:
        before, when = self._passed.get(trial, ("", 0))
        return bool(before == digest and 0 <= self.context.now - when < DAY)

    def _remember(self, trial: str, digest: str) -> None:
        if self.context.is_complete:
            self._passed[trial] = digest, self.context.now
            write_cache(self._cache, package_digest(), self._passed)


@check("driver/proof", "error", remedy="`checkpoint init`", in_bare=True)
def find_failed_proof(facts: TrialFacts) -> Iterator[Finding]:
    """A trial merge failed.

    See [the trial](#the-trial).
    """
    proof = None if facts.is_driver_gone else facts.proof
    if proof is None:
        return
    said = f" (it said: {proof.said})" if proof.said else ""
    setup = facts.context.facts(SetupFacts).installation
    command = replace_driver(setup) if setup else "checkpoint init"
    hint = f"set it up again (git config merge.checkpoint.driver shows the command): {command}"
    crossed = f"in a merge whose common past is a merge itself, {proof.crossed}" if proof.crossed else ""
    for trouble in dict.fromkeys(trouble for trouble in (proof.clean, proof.conflict, crossed) if trouble):
        message = f"the merge driver failed a trial merge: {trouble}{said}"
        yield Finding("driver/proof", "error", message, REPOSITORY, hint=hint)


@check("hooks/proof", "error", remedy="`checkpoint init`", in_bare=True)
def find_failing_hooks(facts: TrialFacts) -> Iterator[Finding]:
    """A hook fails a trial commit, merge or push.

    As a note: hooks that work only with your PATH. See [the trial](#the-trial).
    """
    together: dict[str, list[HookFailure]] = {}
    for failure in facts.hook_failures:
        together.setdefault("" if failure.needs_path else failure.trouble, []).append(failure)
    for trouble, failures in together.items():
        hooks = ", ".join(failure.hook for failure in failures)
        which = f"the {hooks} hook" if len(failures) == 1 else f"the hooks {hooks}"
        if not trouble:
            message = f"{which} found `checkpoint` on your PATH only, which a graphical program may not have"
            yield Finding("hooks/proof", "note", message, REPOSITORY, hint="set it up again: checkpoint init")
            continue
        said = f" (it said: {shorten(failures[0].said, 200)})" if failures[0].said else ""
        message = f"{which} failed a trial with real git: {trouble}{said}"
        hint = "check the hook for CRLF line ends, then renew our lines: checkpoint init"
        yield Finding("hooks/proof", "error", message, REPOSITORY, hint=hint)


class DeployedFacts:
    def __init__(self, context: Context) -> None:
        self.context = context

    @fact("what is deployed", None)
    def deployed(self) -> Deployed | None:
        return read_deployed(self.context.place, self.context.env)

    @cached_property
    def compared(self) -> tuple[str, Claim, Standing] | None:
        """What runs there in words, the claim behind it, and how that compares with HEAD."""
        deployed = self.deployed
        if deployed is None or deployed.claim is None or not deployed.standing.head:
            return None
        claim, standing = deployed.claim, deployed.standing
        known = f" ({standing.id[:_SHORT]})" if standing.id and not standing.id.startswith(claim.text) else ""
        return f"what {deployed.url} runs, {claim.field} {shorten(claim.text, LONGEST_SHOWN)}{known},", claim, standing


@check("online/behind", "warning", remedy="deploy", when="online")
def find_behind(facts: DeployedFacts) -> Iterator[Finding]:
    """What is deployed is older than HEAD.

    See [what is deployed](#what-is-deployed).
    """
    running, _, standing = facts.compared or (None, None, None)
    if standing and standing.behind and not standing.ahead:
        message = f"{running} is {plural(standing.behind, 'commit')} behind HEAD ({standing.head[:_SHORT]})"
        hint = "deploy it, or remember that it is not live yet"
        yield Finding("online/behind", "warning", message, REPOSITORY, hint=hint)


@check("online/elsewhere", "warning", remedy="`git fetch --tags`", when="online")
def find_elsewhere(facts: DeployedFacts) -> Iterator[Finding]:
    """What is deployed is not in HEAD's history.

    It has diverged, is unknown to this clone, or was built with uncommitted changes; as a note: ahead of HEAD.
    """
    if facts.compared is None:
        return
    running, claim, standing = facts.compared

    def describe(level: Level, text: str, hint: str) -> Finding:
        return Finding("online/elsewhere", level, f"{running} {text}", REPOSITORY, hint=hint)

    head, ahead = f"HEAD ({standing.head[:_SHORT]})", plural(standing.ahead, "commit")
    if standing.ambiguous:
        hint = "have the server report the whole commit id"
        yield describe("warning", "names several commits of this clone", hint)
    elif not standing.id:
        cut = is_shallow(facts.context.place.top)
        hint = "git fetch --tags --unshallow" if cut else "git fetch --tags, then ask again"
        yield describe("warning", "is not a commit or tag of this clone", hint)
    elif standing.ahead and standing.behind:
        text = f"has diverged from {head}: {ahead} ahead, {standing.behind} behind"
        yield describe("warning", text, "was the branch rewritten, or is another one deployed?")
    elif standing.ahead:
        yield describe("note", f"is {ahead} ahead of {head}", "git pull, if HEAD should have them")
    if claim.dirty:
        yield describe("warning", "was built with uncommitted changes", "deploy from a clean checkout")


@check("online/bad-answer", "warning", remedy="have the server report its version", when="online")
def find_bad_answers(facts: DeployedFacts) -> Iterator[Finding]:
    """The health URL answers, but names no version.

    It is not status 200 (a redirect, for one), not a JSON object, or too long.
    """
    hint = f"a JSON object with one of {', '.join(FIELDS)} is expected; git config {SETTING} names the address"
    return _find_trouble(facts, "bad-answer", "{} does not say what runs there", hint)


@check("online/unreachable", "warning", remedy="start the server, or correct the URL", when="online")
def find_unreachable(facts: DeployedFacts) -> Iterator[Finding]:
    """The health URL does not answer within 10 seconds.

    The host is unknown, the connection is refused, or TLS fails.
    """
    hint = 'is the server up, and the address right? try it: curl --max-time 10 "$(git config checkpoint.healthUrl)"'
    return _find_trouble(facts, "unreachable", "no answer from {}", hint)


@check("online/bad-url", "warning", remedy="`git config checkpoint.healthUrl URL`", when="online")
def find_bad_url(facts: DeployedFacts) -> Iterator[Finding]:
    """The health URL is not allowed."""
    hint = f"git config {SETTING} https://YOUR-SERVER; /api/health is asked where it has no path"
    return _find_trouble(facts, "bad-url", f"{SETTING} is not asked", hint)


def _find_trouble(facts: DeployedFacts, trouble: str, message: str, hint: str) -> Iterator[Finding]:
    deployed = facts.deployed
    if deployed and deployed.trouble == trouble:
        text = f"{message.format(deployed.url)}: {deployed.detail}"
        yield Finding(f"online/{trouble}", "warning", text, REPOSITORY, hint=hint)


@check("online/not-configured", "note", remedy="`git config checkpoint.healthUrl URL`", when="online")
def find_unconfigured(facts: DeployedFacts) -> Iterator[Finding]:
    """No health URL is configured."""
    deployed = facts.deployed
    if deployed and deployed.trouble == "not-configured":
        message = "no health URL is configured, so nothing was compared with what is deployed"
        hint = f"git config {SETTING} https://YOUR-SERVER"
        yield Finding("online/not-configured", "note", message, REPOSITORY, hint=hint)
