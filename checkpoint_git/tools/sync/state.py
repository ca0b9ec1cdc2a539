"""What this work tree remembers about a branch it syncs with: refs that no push and no fetch
touches.
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
# subjects of records
SENT = "checkpoint sync: sent, not confirmed"
WAITING = "checkpoint sync: waiting to be sent"
TAKEN_IN = "checkpoint sync: taken in"
# behind the path of a file that waits in a record, if the work tree has another version by now
QUEUED = ".queued"
_MOST_OLDER = 16


class Names(NamedTuple):
    """The refs of one branch. They are below refs/worktree/, so that every linked work tree has
    its own while all share the objects.

    theirs: the tip as last fetched.
    synced: the last commit whose checkpoints this work tree has taken in.
    partial: used in place of `synced` if some file was left undecided: its tree says, file by
    file, which version was taken in; its parent is the commit that was met.
    queue: what is being sent: its tree is what the work tree had, its first parent the commit to
    send; more parents are older ones that may still arrive.
    head: HEAD's commit after the last sync. made: keeps the other commits of a sync while it runs.
    """

    theirs: str
    synced: str
    partial: str
    queue: str
    head: str
    made: str


class Queued(NamedTuple):
    """record: the queue's commit. expected: the remote's commit then. since: seconds since 1970.
    was_sent: a push was begun.
    """

    record: str
    expected: str
    since: int
    was_sent: bool
    older: tuple[str, ...]


class Memory(NamedTuple):
    """head: HEAD's commit. local: the ref that HEAD names. was_at: HEAD's commit after the last
    sync. All: "" for none.
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


def name_refs(remote: str, branch: str) -> Names:
    """Return refs whose names cannot block each other, whatever the branch is called."""
    remote_part, branch_part = (
        name.replace("%", "%25").replace("/", "%2f") for name in (remote, branch)
    )
    return Names(*(f"{_HOME}/{kind}/{remote_part}/{branch_part}" for kind in Names._fields))


class _Record(NamedTuple):
    """One ref as git lists it. parents: ids, separated by spaces. since: seconds, as text."""

    commit: str
    parents: str
    since: str
    subject: str


_FIELDS = ("refname", "objectname", "parent", "committerdate:unix", "contents:subject")


def _read_records(cwd: str, refs: list[str], env: Env) -> dict[str, _Record]:
    form = "%00".join(f"%({field})" for field in _FIELDS)
    output = run_git(["for-each-ref", f"--format={form}", *refs], cwd, env=env).out
    records = {}
    for line in os.fsdecode(output).split("\n"):
        fields = line.split("\0")
        if len(fields) == len(_FIELDS):
            records[fields[0]] = _Record(*fields[1:])
    return records


def read_memory(cwd: str, names: Names, local: str, env: Env) -> Memory:
    """Return what this work tree remembers. local: the ref that HEAD names, "" for none."""
    refs = [*names]
    if local:
        refs.append(local)
    records = _read_records(cwd, refs, env)
    commits = {name: record.commit for name, record in records.items()}

    partial_of = ""
    if names.partial in records:
        partial_of = records[names.partial].parents.split(" ")[0]
    queue = None
    if names.queue in records:
        queue = _read_queue(cwd, records[names.queue], env)
    head = commits.get(local, "")
    if not local:
        head = find_commit(cwd, "HEAD", env)

    return Memory(
        head=head,
        local=local,
        theirs=commits.get(names.theirs, ""),
        synced=commits.get(names.synced, ""),
        partial=commits.get(names.partial, ""),
        partial_of=partial_of,
        queue=queue,
        was_at=commits.get(names.head, ""),
        made=commits.get(names.made, ""),
    )


def _read_queue(cwd: str, record: _Record, env: Env) -> Queued:
    sent, *older = record.parents.split(" ")
    expected = ""
    if sent:
        expected = find_commit(cwd, f"{sent}^1", env)
    since = int(record.since or 0)
    return Queued(record.commit, expected, since, record.subject == SENT, tuple(older))


def list_older(queue: Queued | None, tip: str) -> tuple[str, ...]:
    """Return the records that a new one must remember: they were sent, and can arrive as long as
    the tip is the commit that they expect.
    """
    if queue is None or queue.expected != tip:
        return ()
    if queue.was_sent:
        return (queue.record, *queue.older)[:_MOST_OLDER]
    return queue.older[:_MOST_OLDER]


def find_arrived(cwd: str, queue: Queued | None, tip: str, env: Env) -> str:
    """Return the record whose commit is part of the tip; "" for none."""
    if queue is None or not tip:
        return ""
    for record in (queue.record, *queue.older):
        sent = find_commit(cwd, f"{record}^1", env)
        if sent and is_ancestor(cwd, sent, tip, env):
            return record
    return ""


class SyncBase(NamedTuple):
    """commit: has the files' base versions. of_head: the tip's merge base with HEAD, if it was
    needed. Both: "" for none.
    """

    commit: str
    of_head: str


def find_base(cwd: str, memory: Memory, tip: str, env: Env) -> SyncBase:
    """Return the commit that the work tree has in common with the tip: it counts as a child of
    HEAD and of the commit that it last took in.
    """
    met, head = memory.met, memory.head
    if tip and met and not (head and is_ancestor(cwd, met, head, env)):
        commits = [tip, head, met] if head else [tip, met]
        bases = read_base_ids(cwd, commits, env)
        if met in bases:
            return SyncBase(memory.partial or memory.synced, "")
        return SyncBase(bases[0] if bases else "", "")

    if not tip or not head:
        return SyncBase("", "")
    common = find_common(cwd, tip, head, env)
    return SyncBase(common, common)


def find_common(cwd: str, commit: str, other: str, env: Env) -> str:
    """Return a merge base of two commits; "" for none."""
    if commit == other:
        return commit
    bases = read_base_ids(cwd, [commit, other], env)
    return bases[0] if bases else ""


def write_memory(cwd: str, updates: Mapping[str, str], env: Env) -> None:
    """Set refs, or remove those whose new value is "": all of them or none."""
    lines = []
    for name, value in updates.items():
        if value:
            lines.append(f"update {name} {value}\n")
        else:
            lines.append(f"delete {name}\n")
    run_git(["update-ref", "--no-deref", "--stdin"], cwd, stdin="".join(lines).encode(), env=env)
