"""Read who works on what.

A claim is a commit without files below refs/checkpoint, whose subject has its end and holder.
"""

import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from checkpoint_git.core import platform
from checkpoint_git.core.clock import DAY, read_instant, write_instant
from checkpoint_git.core.outcome import Invocation
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.git.run import clean_env, stream_git

# what the work trees of a clone share; on a remote, what its clones share
OURS = "refs/checkpoint/claims/"
SEEN = "refs/checkpoint/seen/"  # the remote's, as last fetched
FETCHED = f"+{OURS}*:{SEEN}*"
LONGEST = 7 * DAY
# the year 9999 ends a week later, and no later time can be written
_LAST = 253_402_300_799 - LONGEST
_MARGIN = 60  # seconds by which two clocks may differ
_FORM = "--format=%(refname)%00%(objectname)%00%(committerdate:unix)%00%(contents:subject)"
_SUBJECT = r"claimed until (\S+) by (.+)"


class Claim(NamedTuple):
    """ref: its full name. since, until: seconds since 1970. holder: untrusted, as the name is."""

    ref: str
    commit: str
    since: int
    until: int
    holder: str

    @property
    def name(self) -> str:
        return self.ref.removeprefix(OURS).removeprefix(SEEN)

    @property
    def ends(self) -> int:
        """Return the second since 1970 from which others may take it."""
        return self.until + min(_MARGIN, (self.until - self.since) // 10)

    @property
    def data(self) -> dict[str, Any]:
        times = {"since": write_instant(self.since), "until": write_instant(self.until)}
        return {"name": self.name, "holder": self.holder, **times}

    @property
    def line(self) -> str:
        return "{name} is claimed by {holder} since {since}, until {until}".format(**self.data)


def find_holder(work_tree: str, invocation: Invocation) -> str:
    """Return a name for one session in one work tree on one machine."""
    # the same in a hook, whose environment may name none
    user = platform.find_user_name(invocation.env)
    holder = f"{user}@{platform.find_host_name()}:{os.path.realpath(work_tree)}"
    if invocation.session:
        holder += f" session {invocation.session}"
    return escape_controls(holder)


def read_claims(work_tree: str, env: Mapping[str, str]) -> list[Claim]:
    out = b"".join(stream_git(["for-each-ref", _FORM, OURS, SEEN], work_tree, env=clean_env(env)))
    return [
        _parse(*line.decode("utf-8", "replace").split("\0"))
        for line in out.splitlines()
        if line.count(b"\0") == 3
    ]


def _parse(ref: str, commit: str, date: str, subject: str) -> Claim:
    # fail closed: what is not understood lasts as long as a claim can
    since = min(int(date or 0), _LAST)
    until = since + LONGEST
    holder = "an unknown holder"
    match = re.match(_SUBJECT, subject)
    if match:
        holder = shorten(match[2], 1_000)
        instant = read_instant(match[1])
        if instant:
            until = min(instant[0], until)
    return Claim(ref, commit, since, until, holder)
