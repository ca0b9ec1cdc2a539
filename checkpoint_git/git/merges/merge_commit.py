"""A merge commit made of a tree and two commits; no ref, index or work tree is touched, and no hook runs."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from tempfile import TemporaryDirectory

from checkpoint_git.git.isolated_dir import OBJECTS, OTHER_OBJECTS, Env, list_folders
from checkpoint_git.git.run import run_git

# Whoever runs this without a name of their own, as a job of a forge mostly does.
FALLBACK_NAME, FALLBACK_EMAIL = "checkpoint-git", "checkpoint-git@localhost"


def write_merge_commit(cwd: str, tree: str, parents: tuple[str, str], message: str, env: Mapping[str, str]) -> str:
    """A merge commit's id. The names in it are those that git is configured with, else the fallback's."""
    words = ["-c", "i18n.commitEncoding=UTF-8", "commit-tree", "--no-gpg-sign", tree]
    words += [word for parent in parents for word in ("-p", parent)]
    surroundings = {**env, **_read_identity(cwd, env)}
    stdin = message.encode("utf-8", "replace")
    return run_git([*words, "-F", "-"], cwd, env=surroundings, stdin=stdin).out.decode().strip()


def _read_identity(cwd: str, env: Mapping[str, str]) -> dict[str, str]:
    """What has to be said of author and committer, because nobody configured it: git would guess from the machine."""
    said: dict[str, str] = {}
    for who in ("AUTHOR", "COMMITTER"):
        words = ["-c", "user.useConfigOnly=true", "var", f"GIT_{who}_IDENT"]
        if run_git(words, cwd, env=env, check=False).code != 0:
            said |= {f"GIT_{who}_NAME": FALLBACK_NAME, f"GIT_{who}_EMAIL": FALLBACK_EMAIL}
    return said


@contextmanager
def open_aside(cwd: str, env: Env = None) -> Iterator[dict[str, str]]:
    """Surroundings in which new objects go to a temporary folder: the repository gets none. env: of the repository."""
    own = dict(os.environ if env is None else env)
    words = ["rev-parse", "--path-format=absolute", "--git-path", "objects"]
    objects = os.fsdecode(run_git(words, cwd, env=own).out).removesuffix("\n")
    with TemporaryDirectory(prefix="checkpoint-", ignore_cleanup_errors=True) as folder:
        yield {**own, OBJECTS: folder, OTHER_OBJECTS: list_folders(objects, own.get(OTHER_OBJECTS))}
