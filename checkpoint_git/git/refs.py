"""Read branches, tags and remotes from refs and settings, without a walk through the history."""

import os
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.jsontext import MAX_BYTES
from checkpoint_git.core.references import repository_path
from checkpoint_git.git.history.log import environment
from checkpoint_git.git.objects import Blobs, has_commit, read_commit, read_headers
from checkpoint_git.git.run import offline_env, run_git, stream_git

_REMOTE = r"^(?:\w[\w+.-]*+://(?!/)(?P<site>[^/]+)/|(?P<name>[^/\s]+):(?!//))/*+(?P<path>.+)"
# what a forge's host has in its name -> the part of a commit's address before its id
_COMMIT_PAGES = {
    "gitlab": "-/commit",
    "bitbucket": "commits",
    "github": "commit",
    "codeberg": "commit",
    "gitea": "commit",
    "forgejo": "commit",
    "sr.ht": "commit",
}
_ID = re.compile(r"[0-9a-f]{7,64}")
_TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+/-]*")


def read_own_names(work_tree: str) -> frozenset[str]:
    """Return what the remotes call this repository.

    {"acme/app"} for github.com/acme/app.git, see repository_path.
    """
    return frozenset(repository_path(path) for _, path in _read_remotes(work_tree))


def read_commit_address(work_tree: str) -> str:
    """Return the address at which the forge of the first remote shows commits; "" if unknown.

    Such as https://github.com/acme/app/commit/.
    """
    for host, path in _read_remotes(work_tree):
        for name, page in _COMMIT_PAGES.items():
            if name in host:
                return f"https://{host}/{path}/{page}/"
    return ""


def _read_remotes(work_tree: str) -> list[tuple[str, str]]:
    """Return host and path of every remote: ("github.com", "acme/app")."""
    words = ["config", "--get-regexp", "-z", r"^remote\..*\.url$"]
    try:
        out = b"".join(stream_git(words, work_tree, env=environment()))
    except CheckpointError:  # there is no such setting
        return []

    found = []
    for record in out.split(b"\0"):
        url = record.partition(b"\n")[2].decode("utf-8", "replace")
        match = re.match(_REMOTE, url)
        if match is None:
            continue
        host = (match["site"] or match["name"]).rpartition("@")[2]
        if not url.startswith("http"):  # ssh has another port
            host = host.partition(":")[0]
        found.append((host, match["path"].rstrip("/").removesuffix(".git")))

    return found


class DefaultBranch(NamedTuple):
    name: str
    attributes: bytes | None


def read_default_branch(work_tree: str, file: str, env: Mapping[str, str]) -> DefaultBranch | None:
    """Return the default branch with one of its files, None if there is none.

    It is the branch that the remote calls its own, else init.defaultBranch, main or master.
    """
    out = run_git(["config", "--get", "init.defaultBranch"], work_tree, env=env, check=False).out
    wished = os.fsdecode(out).rstrip("\n")
    names = ["main", "master"]
    if wished and wished.isprintable():
        names.insert(0, wished)
    refs = ["refs/remotes/origin/HEAD"]
    refs += [f"refs/heads/{name}" for name in dict.fromkeys(names)]

    with Blobs(work_tree, env, MAX_BYTES) as blobs:
        for ref in refs:
            if blobs.read(f"{ref}^{{tree}}") is not None:
                name = ref.removeprefix("refs/heads/").removeprefix("refs/remotes/")
                data = blobs.read(f"{ref}:{file}")
                if isinstance(data, bytes):
                    return DefaultBranch(name, data)
                return DefaultBranch(name, None)

    return None


class Standing(NamedTuple):
    head: str  # HEAD's commit, "" for none yet
    id: str = ""  # the commit that was meant, "" if this clone knows none
    behind: int = 0  # how many commits only HEAD has
    ahead: int = 0  # and only the other
    ambiguous: bool = False  # several commits begin with those digits


# Names of versions come from untrusted files, so none of them reaches git as an expression.
def read_standing(work_tree: str, start: str, tags: Sequence[str]) -> Standing:
    """Return where HEAD stands beside a commit that is known by its id or by a tag.

    start: 7 digits or more that the id begins with, or "". tags: full names, looked for after
    that.
    """
    env = {**offline_env(os.environ), "LC_ALL": "C"}
    if not has_commit(work_tree, "HEAD", env):
        return Standing("")
    head = read_commit(work_tree, "HEAD", env)
    commits = []
    if _ID.fullmatch(start):
        # `--disambiguate` knows ids only: a branch with such a name is not asked
        found = run_git(["rev-parse", f"--disambiguate={start}"], work_tree, env=env)
        headers = read_headers(work_tree, found.out.decode().split(), env)
        commits = [header.id for header in headers if header.kind == "commit"]

    if len(commits) > 1:
        return Standing(head, ambiguous=True)
    names = [
        f"refs/tags/{tag}^{{commit}}" for tag in tags if _TAG.fullmatch(tag) and ".." not in tag
    ]
    commits += [header.id for header in read_headers(work_tree, names, env) if header.id]
    if not commits:
        return Standing(head)
    words = ["rev-list", "--left-right", "--count", f"{head}...{commits[0]}"]
    behind, ahead = run_git(words, work_tree, env=env).out.split()
    return Standing(head, commits[0], int(behind), int(ahead))
