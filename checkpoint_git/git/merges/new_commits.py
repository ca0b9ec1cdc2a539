"""New commits made beside index and work tree: one that repairs a few files on HEAD, and merges
made of a tree.
"""

import os
import re
from collections.abc import Mapping
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import advise
from checkpoint_git.git.isolated_dir import open_sealed
from checkpoint_git.git.merges.conflicts import find_top
from checkpoint_git.git.merges.trees import write_blobs, write_tree
from checkpoint_git.git.objects import TreeEntry, find_commit, read_blob, read_commit, read_tree
from checkpoint_git.git.run import Env, run_git

# For an environment without a configured name, as a job of a forge mostly has none.
FALLBACK_NAME, FALLBACK_EMAIL = "checkpoint-git", "checkpoint-git@localhost"
TRAILER = "Checkpoint-Repairs"
_TRAILERS = re.compile(rf"^{TRAILER}: ([0-9a-f]{{40}}(?:[0-9a-f]{{24}})?)$", re.MULTILINE)

# The message is written in UTF-8, whatever is configured.
_COMMIT = ("-c", "i18n.commitEncoding=UTF-8", "commit-tree")


class Site(NamedTuple):
    work_tree: str  # "" in a bare repository
    git_dir: str  # absolute
    head: str  # a full id


def read_site(cwd: str, env: Env = None) -> Site:
    top = find_top(cwd, env)
    head = find_commit(cwd, "HEAD", env)
    if not head:
        raise CheckpointError("HEAD has no commit yet", "there is nothing to repair")
    return Site(top.work_tree, top.git_dir, head)


# It writes objects, its files' entries in the index, the files, then HEAD: what is staged stays
# staged, and who is cut off in between has the repair staged. Which merges it repaired is read
# from its message, where git itself would look for trailers.
def write_repair(site: Site, contents: Mapping[str, bytes], message: str, env: Env = None) -> str:
    """Commit contents of files on top of HEAD; return the commit's id.

    The files must be as HEAD has them. Raises CheckpointError: git refuses, HEAD moved.
    """
    cwd = site.work_tree or site.git_dir
    known = read_tree(cwd, site.head, env, list(contents))
    with open_sealed(cwd, env=env) as sealed:
        blobs = zip(contents, write_blobs(sealed, list(contents.values())), strict=True)
        files = {
            path: TreeEntry(known[path].mode if path in known else "100644", blob)
            for path, blob in blobs
        }
        tree = write_tree(sealed, site.head, files)

    words = ["config", "--type=bool", "--get", "commit.gpgSign"]
    signed = run_git(words, cwd, env=env, check=False).out.strip()
    words = [*_COMMIT, "-p", site.head, "-F", "-"]
    if signed == b"true":
        words.append("-S")
    stdin = message.encode("utf-8", "replace")
    commit = run_git([*words, tree], cwd, stdin=stdin, env=env).out.decode().strip()
    if site.work_tree:
        names = b"".join(os.fsencode(path) + b"\0" for path in contents)
        entries = "".join(f"{mode} {blob} 0\t{path}\0" for path, (mode, blob) in files.items())
        run_git(["update-index", "-z", "--index-info"], cwd, stdin=os.fsencode(entries), env=env)
        run_git(["checkout-index", "-f", "-u", "-z", "--stdin"], cwd, stdin=names, env=env)

    subject = message.partition("\n")[0]
    words = ["update-ref", "-m", f"checkpoint audit: {subject}", "HEAD", commit, site.head]
    if run_git(words, cwd, env=env, check=False).code != 0:
        show = ("git", "diff", "--cached")
        hint = advise("check what is staged", *show, more=", then commit or unstage it")
        raise CheckpointError("HEAD moved during the repair, so it was not committed", hint)

    return commit


def read_repaired(cwd: str, rev: str) -> list[str]:
    """Return the merges that a commit says it repaired, as full ids; [] for any other commit."""
    commit = read_blob(cwd, read_commit(cwd, rev)) or b""
    message = commit.partition(b"\n\n")[2].decode("utf-8", "replace")
    trailers = message.rstrip("\n").rpartition("\n\n")[2]
    return list(dict.fromkeys(_TRAILERS.findall(trailers)))


# It touches no ref, index or work tree, and runs no hook.
def write_merge_commit(
    cwd: str, tree: str, parents: tuple[str, str], message: str, env: Mapping[str, str]
) -> str:
    """Write a merge commit and return its id.

    The names in it are those that git is configured with, else the fallback's.
    """
    named_env = dict(env)
    for who in ("AUTHOR", "COMMITTER"):  # git would guess from the machine what is not configured
        words = ["-c", "user.useConfigOnly=true", "var", f"GIT_{who}_IDENT"]
        if run_git(words, cwd, env=env, check=False).code != 0:
            named_env[f"GIT_{who}_NAME"] = FALLBACK_NAME
            named_env[f"GIT_{who}_EMAIL"] = FALLBACK_EMAIL

    words = [*_COMMIT, "--no-gpg-sign", tree]
    for parent in parents:
        words += ["-p", parent]
    stdin = message.encode("utf-8", "replace")
    return run_git([*words, "-F", "-"], cwd, env=named_env, stdin=stdin).out.decode().strip()
