"""What this work tree remembers of a branch it syncs with: refs of its own, which no push and no
fetch touches.
"""

import os
from collections.abc import Mapping
from typing import NamedTuple

from checkpoint_git.git.merges.bases import is_ancestor, read_base_ids
from checkpoint_git.git.objects import find_commit
from checkpoint_git.git.run import run_git
from checkpoint_git.git.stale_locks import OWN_REFS

Env = Mapping[str, str]

_HOME = OWN_REFS
SENT, WAITING = "checkpoint sync: sent, not confirmed", "checkpoint sync: waiting to be sent"
TAKEN_IN = "checkpoint sync: taken in"
# behind a path in a record: what waits, where the work tree holds another version by now
QUEUED = ".queued"
_MOST_OLDER = 16


class Names(NamedTuple):
    theirs: str
    synced: str
    partial: str
    queue: str
    head: str
    made: str


class Queued(NamedTuple):
    """record: the queue's commit. expected: the remote's then. since: since 1970. was_sent: a push
    was begun.
    """

    record: str
    expected: str
    since: int
    was_sent: bool
    older: tuple[str, ...]


class Memory(NamedTuple):
    """head: HEAD's commit. local: the ref it names. was_at: HEAD's commit after the last sync. ""
    is none.
    """

    head: str
    local: str
    theirs: str
    synced: str
    partial: str
    partial_of: str
    queue: Queued | None
    was_at: str = ""
    made: str = ""

    @property
    def met(self) -> str:
        return self.partial_of or self.synced


# They are below refs/worktree/, so that every linked work tree has its own while all share the
# objects. `theirs` is the tip as last fetched. `synced` is the last commit whose checkpoints this
# work tree has taken in; `partial` is used in its place where some file was left undecided: its
# tree says, file by file, which version was taken in, its parent is the commit that was met. `head`
# is where HEAD was then. `queue` is what is on its way: its tree is what the work tree held, its
# first parent the commit to send, more parents are older ones that may still arrive. `made` keeps
# the other commits of a sync while it runs.
def name_refs(remote: str, branch: str) -> Names:
    # Refs whose names cannot block each other, whatever the branch is called
    remote, branch = (name.replace("%", "%25").replace("/", "%2f") for name in (remote, branch))
    return Names(*(f"{_HOME}/{kind}/{remote}/{branch}" for kind in Names._fields))


def read_memory(cwd: str, names: Names, local: str, env: Env) -> Memory:
    form = "--format=%(refname)%00%(objectname)%00%(parent)%00%(committerdate:unix)%00%(contents:subject)"
    asked = [form, *names, *([local] if local else [])]
    lines = os.fsdecode(run_git(["for-each-ref", *asked], cwd, env=env).out).split("\n")
    rows = {row[0]: row[1:] for row in (line.split("\0") for line in lines) if len(row) == 5}
    commits = {name: row[0] for name, row in rows.items()}
    head = commits.get(local, "") if local else find_commit(cwd, "HEAD", env)
    partial_of = rows[names.partial][1].split(" ")[0] if names.partial in rows else ""
    queue = None
    if names.queue in rows:
        record, parents, since, subject = rows[names.queue]
        sent, *older = parents.split(" ")
        expected = find_commit(cwd, f"{sent}^1", env) if sent else ""
        queue = Queued(record, expected, int(since or 0), subject == SENT, tuple(older))

    seen, synced, partial, was_at = (
        commits.get(name, "") for name in (names.theirs, names.synced, names.partial, names.head)
    )
    return Memory(
        head, local, seen, synced, partial, partial_of, queue, was_at, commits.get(names.made, "")
    )


def list_older(queue: Queued | None, tip: str) -> tuple[str, ...]:
    """The records that a new one must remember: sent, and able to arrive as long as the tip is what
    they expect.
    """
    if queue is None or queue.expected != tip:
        return ()
    return (*([queue.record] if queue.was_sent else []), *queue.older)[:_MOST_OLDER]


def find_arrived(cwd: str, queue: Queued | None, tip: str, env: Env) -> str:
    if queue is None or not tip:
        return ""
    for record in (queue.record, *queue.older):
        sent = find_commit(cwd, f"{record}^1", env)
        if sent and is_ancestor(cwd, sent, tip, env):
            return record
    return ""


class SyncBase(NamedTuple):
    """commit: of the files' base versions. of_head: the tip's merge base with HEAD, if asked for.
    "" for none.
    """

    commit: str
    of_head: str


def find_base(cwd: str, memory: Memory, tip: str, env: Env) -> SyncBase:
    # what the work tree has in common with the tip: it counts as a child of HEAD and of what it
    # last took in
    met, head = memory.met, memory.head
    if tip and met and not (head and is_ancestor(cwd, met, head, env)):
        bases = read_base_ids(cwd, [tip, *filter(None, [head]), met], env)
        return SyncBase(memory.partial or memory.synced if met in bases else (*bases, "")[0], "")
    common = find_common(cwd, tip, head, env) if tip and head else ""
    return SyncBase(common, common)


def find_common(cwd: str, one: str, other: str, env: Env) -> str:
    return one if one == other else (*read_base_ids(cwd, [one, other], env), "")[0]


def write_memory(cwd: str, updates: Mapping[str, str], env: Env) -> None:
    """Sets refs, or removes them where the new value is "": all of them or none."""
    lines = [
        f"update {name} {value}\n" if value else f"delete {name}\n"
        for name, value in updates.items()
    ]
    run_git(["update-ref", "--no-deref", "--stdin"], cwd, stdin="".join(lines).encode(), env=env)
