"""Claims taken, renewed and given up: compare and swap on a ref, here and on the remote that the clones share."""

import random
import time
from collections.abc import Mapping

from checkpoint_git.core.clock import write_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.git.leases import FETCHED, SEEN, Claim, read_claims
from checkpoint_git.git.objects import find_commit
from checkpoint_git.git.private_objects import write_commit
from checkpoint_git.git.remotes import Reply, UnreachableError, fetch, push_commit
from checkpoint_git.git.run import NO_HOOKS, run_git
from checkpoint_git.tools.sync.run import backoff

_TRIES, _PATIENCE = 60, 60.0  # seconds for one question
_LOCAL = "--remote . claims it between the work trees of this clone"


# Both refs change or neither. A kill in between leaves a claim that ends by itself, and that its holder can renew.
def swap_claim(
    top: str, remote: str, wish: Claim, now: int, env: Mapping[str, str], *, force: bool = False
) -> Claim | None:
    """Claims a name, renews it, or gives it up where the wish ends now; returns the claim of another that prevents it.
    remote: "" for this clone alone. env: for git. Raises CheckpointError where the remote does not answer or take it.
    """
    ref, seen, commit = wish.ref, f"{SEEN}{wish.name}", ""
    if run_git(["check-ref-format", ref], top, check=False).code != 0:
        raise CheckpointError(f"{escape_controls(wish.name)} cannot be claimed: it cannot be a ref", "rename it")
    if wish.until > now:
        dates = {f"GIT_{role}_DATE": f"@{now} +0000" for role in ("AUTHOR", "COMMITTER")}
        subject = f"claimed until {write_instant(wish.until)} by {wish.holder}"
        commit = write_commit(top, {}, subject, (), {**env, **dates})
    for attempt in range(_TRIES):
        began = time.monotonic()
        try:
            _ = remote and fetch(top, remote, [FETCHED], env, _PATIENCE)
        except UnreachableError as error:
            raise CheckpointError(error.message, _LOCAL) from error
        held = {one.ref: one for one in read_claims(top, env) if one.name == wish.name}
        others = [one for one in held.values() if one.holder != wish.holder and now < one.ends]
        if others and not force:
            return others[0]
        ours, theirs = (held[one].commit if one in held else "" for one in (ref, seen))
        # a ref that nobody changes and that cannot be written is not contention: git says why
        if _swap(top, ref, commit, ours, env, check=attempt > 5 and find_commit(top, ref, env) == ours):
            reply = Reply("arrived", "")
            if remote and (commit or theirs):
                reply = push_commit(top, remote, ref, commit, theirs, env, _PATIENCE)
            if reply.kind == "arrived":
                _swap(top, seen, commit if remote else theirs, theirs, env)
                return None
            _swap(top, ref, ours, commit, env)
            if reply.kind == "refused" or (reply.kind == "unknown" and attempt > 3):
                raise CheckpointError(f"{escape_controls(remote)} does not take claims: {reply.said}", _LOCAL)
        time.sleep(backoff(min(attempt, 2), time.monotonic() - began, random.random()))  # noqa: S311 (no secret)
    raise CheckpointError(f"the claim on {wish.name} changed at every attempt", "try again in a moment")


def _swap(top: str, ref: str, new: str, old: str, env: Mapping[str, str], *, check: bool = False) -> bool:
    # "" is no ref. False, nothing changed, where it names something else than old
    what = [ref, new, old or "0" * len(new)] if new else ["-d", ref, old]
    words = [*NO_HOOKS, "update-ref", "--no-deref", *what]
    return new == old or run_git(words, top, env=env, check=check).code == 0
