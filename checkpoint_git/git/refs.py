"""Branches, tags and remotes as refs and settings name them, without a walk through the history."""

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
    "gitlab": "-/commit", "bitbucket": "commits", "github": "commit", "codeberg": "commit", "gitea": "commit",
    "forgejo": "commit", "sr.ht": "commit",
}  # fmt: skip
_ID = re.compile(r"[0-9a-f]{7,64}")
_TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+/-]*")


def read_own_names(work_tree: str) -> frozenset[str]:
    """{"acme/app"} for github.com/acme/app.git, see repository_path."""
    return frozenset(repository_path(path) for _, path in _read_remotes(work_tree))


def read_commit_address(work_tree: str) -> str:
    """Where the forge of the first remote shows commits, such as
    https://github.com/acme/app/commit/; "" if unknown.
    """
    for host, path in _read_remotes(work_tree):
        page = next((page for name, page in _COMMIT_PAGES.items() if name in host), "")
        if page:
            return f"https://{host}/{path}/{page}/"
    return ""


def _read_remotes(work_tree: str) -> list[tuple[str, str]]:
    """Host and path of every remote: ("github.com", "acme/app")."""
    words = ["config", "--get-regexp", "-z", r"^remote\..*\.url$"]
    try:
        out = b"".join(stream_git(words, work_tree, env=environment()))
    except CheckpointError:  # there is no such setting
        return []

    urls = (
        record.partition(b"\n")[2].decode("utf-8", "replace")
        for record in out.split(b"\0")
        if record
    )
    found = []
    for match in filter(None, (re.match(_REMOTE, url) for url in urls)):
        host = (match["site"] or match["name"]).rpartition("@")[2]
        # ssh has another port
        host = host if match.string.startswith("http") else host.partition(":")[0]
        found.append((host, match["path"].rstrip("/").removesuffix(".git")))

    return found


class DefaultBranch(NamedTuple):
    name: str
    attributes: bytes | None


def read_default_branch(work_tree: str, file: str, env: Mapping[str, str]) -> DefaultBranch | None:
    """The branch that the remote calls its own, else init.defaultBranch, main or master; with one
    of its files.
    """
    out = run_git(["config", "--get", "init.defaultBranch"], work_tree, env=env, check=False).out
    wished = os.fsdecode(out).rstrip("\n")
    names = [wished] if wished and "\n" not in wished and wished.isprintable() else []
    refs = [
        "refs/remotes/origin/HEAD",
        *(f"refs/heads/{name}" for name in dict.fromkeys([*names, "main", "master"])),
    ]
    with Blobs(work_tree, env, MAX_BYTES) as blobs:
        for ref in refs:
            if blobs.read(f"{ref}^{{tree}}") is not None:
                data = blobs.read(f"{ref}:{file}")
                name = ref.removeprefix("refs/heads/").removeprefix("refs/remotes/")
                return DefaultBranch(name, data if isinstance(data, bytes) else None)

    return None


class Standing(NamedTuple):
    head: str  # HEAD's commit, "" for none yet
    id: str = ""  # the commit that was meant, "" if this clone knows none
    behind: int = 0  # how many commits only HEAD has
    ahead: int = 0  # and only the other
    ambiguous: bool = False  # several commits begin with those digits


# Names of versions come from untrusted files, so none of them reaches git as an expression.
def read_standing(work_tree: str, start: str, tags: Sequence[str]) -> Standing:
    """start: 7 digits or more that a commit's id begins with, or "". tags: their full names, looked
    for after that.
    """
    env = {**offline_env(os.environ), "LC_ALL": "C"}
    if not has_commit(work_tree, "HEAD", env):
        return Standing("")
    head = read_commit(work_tree, "HEAD", env)
    commits = []
    if _ID.fullmatch(start):
        # `--disambiguate` knows ids only: a branch with such a name is not asked
        found = run_git(["rev-parse", f"--disambiguate={start}"], work_tree, env=env, check=False)
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
