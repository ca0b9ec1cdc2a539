"""Take, renew and give up claims: compare and swap on a ref, here and on the remote that the
clones share.
"""

import random
import time
from collections.abc import Mapping
from typing import NamedTuple

from checkpoint_git.core.clock import write_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.git.leases import FETCHED, SEEN, Claim, read_claims
from checkpoint_git.git.objects import find_commit
from checkpoint_git.git.private_objects import write_commit
from checkpoint_git.git.remotes import PushReply, UnreachableError, fetch, push_commit
from checkpoint_git.git.run import NO_HOOKS, run_git
from checkpoint_git.tools.sync.run import backoff

_TRIES = 60
_PATIENCE = 60.0  # seconds for one question
_LOCAL = "--remote . claims it between the work trees of this clone"


def swap_claim(
    top: str,
    remote: str,
    wish: Claim,
    now: int,
    env: Mapping[str, str],
    *,
    force: bool = False,
) -> Claim | None:
    """Claim a name, renew the claim, or give it up if the wish ends now.

    Return another session's claim that prevents it, None for none.
    remote: "" for this clone alone. env: for git.
    Raises CheckpointError if the remote does not answer, or does not take claims.
    """
    if run_git(["check-ref-format", wish.ref], top, check=False).code != 0:
        message = f"{escape_controls(wish.name)} cannot be claimed: it cannot be a ref"
        raise CheckpointError(message, "rename it")

    commit = ""
    if wish.until > now:
        commit = _write_claim(top, wish, now, env)
    swap = _Swap(top, remote, wish, commit, env)
    for attempt in range(_TRIES):
        began = time.monotonic()
        claims = _read_claims(swap)
        if not force:
            for claim in claims.values():
                if claim.holder != wish.holder and now < claim.ends:
                    return claim
        if _try_swap(swap, claims, attempt):
            return None
        elapsed = time.monotonic() - began
        time.sleep(backoff(min(attempt, 2), elapsed, random.random()))  # noqa: S311 (no secret)

    message = f"the claim on {wish.name} changed at every attempt"
    raise CheckpointError(message, "try again in a moment")


class _Swap(NamedTuple):
    """A change of a claim."""

    top: str
    remote: str
    wish: Claim
    commit: str  # of the new claim, "" to give it up
    env: Mapping[str, str]


def _write_claim(top: str, wish: Claim, now: int, env: Mapping[str, str]) -> str:
    """Write the commit of a claim, and return its id."""
    date = f"@{now} +0000"
    dates = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
    subject = f"claimed until {write_instant(wish.until)} by {wish.holder}"
    return write_commit(top, {}, subject, (), {**env, **dates})


def _read_claims(swap: _Swap) -> dict[str, Claim]:
    """Return the present claims on the name by their refs, here and on the remote."""
    if swap.remote:
        try:
            fetch(swap.top, swap.remote, [FETCHED], swap.env, _PATIENCE)
        except UnreachableError as error:
            raise CheckpointError(error.message, _LOCAL) from error
    claims = {}
    for claim in read_claims(swap.top, swap.env):
        if claim.name == swap.wish.name:
            claims[claim.ref] = claim
    return claims


def _try_swap(swap: _Swap, claims: Mapping[str, Claim], attempt: int) -> bool:
    """Change the claim here and on the remote, and return whether that worked: both refs change,
    or neither. A kill in between leaves a claim that ends by itself, and that its holder can
    renew.

    claims: the present ones. Raises CheckpointError if trying again is useless.
    """
    top, env = swap.top, swap.env
    ref = swap.wish.ref
    seen_ref = f"{SEEN}{swap.wish.name}"
    ours = claims[ref].commit if ref in claims else ""
    theirs = claims[seen_ref].commit if seen_ref in claims else ""
    # a ref that does not change and cannot be written is not contended: git's error shows why
    is_stuck = attempt > 5 and find_commit(top, ref, env) == ours
    if not _swap(top, ref, swap.commit, ours, env, check=is_stuck):
        return False

    reply = PushReply("arrived", "")
    if swap.remote and (swap.commit or theirs):
        reply = push_commit(top, swap.remote, ref, swap.commit, theirs, env, _PATIENCE)
    if reply.kind == "arrived":
        if swap.remote:
            _swap(top, seen_ref, swap.commit, theirs, env)
        return True

    _swap(top, ref, ours, swap.commit, env)
    if reply.kind == "refused" or (reply.kind == "unknown" and attempt > 3):
        message = f"{escape_controls(swap.remote)} does not take claims: {reply.reason}"
        raise CheckpointError(message, _LOCAL)

    return False


def _swap(
    top: str, ref: str, new: str, old: str, env: Mapping[str, str], *, check: bool = False
) -> bool:
    """Set a ref if it names `old`, and return whether it did; "" is for no ref."""
    if new == old:
        return True
    change = ["-d", ref, old]
    if new:
        change = [ref, new, old or "0" * len(new)]
    words = [*NO_HOOKS, "update-ref", "--no-deref", *change]
    return run_git(words, top, env=env, check=check).code == 0
