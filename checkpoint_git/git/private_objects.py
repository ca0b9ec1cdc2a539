"""Content kept in git's object database under a ref of its own, away from index, work tree,
branches and stash.
"""

import os
import tempfile
from collections.abc import Mapping, Sequence

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import command, join_hints
from checkpoint_git.git.objects import TreeEntry
from checkpoint_git.git.run import (
    NO_HOOKS,
    GitResult,
    clean_env,
    git_error,
    quote_path,
    read_names,
    run_git,
)

# in git's own words, LC_ALL=C; the last three where a prune removes what was written, or the
# folder to write to
_UNSTABLE = (
    b"unstable object",
    b"short read",
    b"could not open",
    b": No such file or directory",
    b"nonexistent object",
    b"not a valid object",
)
_BUS_ERROR = -7  # the signal that a process gets when what it has mapped is not there any more
# What is written is on the disk before the ref that needs it: a power cut leaves no point without
# its content. Compressing costs most of the time, and `git gc` does it for all that lasts.
_LASTING = ("-c", "core.fsync=all", "-c", "core.looseCompression=0")
_AUTHOR = {
    f"GIT_{role}_{what}": "checkpoint"
    for role in ("AUTHOR", "COMMITTER")
    for what in ("NAME", "EMAIL")
}


class CutShortError(Exception):
    """A file became shorter while git read it, which ends git; or a prune removed what git was
    writing.
    """


def quiet_env(env: Mapping[str, str]) -> dict[str, str]:
    """Return an environment for work that leaves no trace in the user's index.

    A hook's own variables are removed.
    """
    quiet = {
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "LC_ALL": "C",
    }
    return {**clean_env(env), **quiet}


def write_files(work_tree: str, paths: Sequence[str], env: Mapping[str, str]) -> list[str]:
    """Store files (absolute paths, no links) byte by byte; return the ids of their blobs.

    Raises CheckpointError, CutShortError.
    """
    if not paths:
        return []
    words = ["hash-object", "-w", "--no-filters", "--stdin-paths"]
    stdin = b"".join(quote_path(os.fsencode(path)) + b"\n" for path in paths)
    ids = _write(words, work_tree, stdin, quiet_env(env)).split()
    if len(ids) != len(paths):
        raise CheckpointError(
            "git did not keep every file",
            join_hints("try again", command("git", "fsck", more=" looks at the repository")),
        )

    return ids


def _write(words: Sequence[str], work_tree: str, stdin: bytes, env: Mapping[str, str]) -> str:
    result = run_git([*_LASTING, *NO_HOOKS, *words], work_tree, stdin=stdin, env=env, check=False)
    if result.code != 0:
        raise _explain(words, result, work_tree)
    return result.out.decode("ascii").strip()


def _explain(words: Sequence[str], result: GitResult, work_tree: str) -> Exception:
    is_cut_short = result.code == _BUS_ERROR or any(sign in result.err for sign in _UNSTABLE)
    if is_cut_short:
        return CutShortError()
    return git_error(words, result, work_tree)


def write_contents(work_tree: str, contents: Sequence[bytes], env: Mapping[str, str]) -> list[str]:
    # for content that is in no file, such as the target of a symbolic link
    with tempfile.TemporaryDirectory(prefix="checkpoint-") as folder:
        paths = [os.path.join(folder, str(number)) for number in range(len(contents))]
        for path, content in zip(paths, contents, strict=True):
            with open(path, "wb") as stream:
                stream.write(content)
        return write_files(work_tree, paths, env)


def write_commit(
    work_tree: str,
    files: Mapping[str, TreeEntry],
    message: str,
    parents: Sequence[str],
    env: Mapping[str, str],
) -> str:
    # Git may prune it until a ref names it, and what it names meanwhile: the caller looks
    # afterwards
    with tempfile.TemporaryDirectory(prefix="checkpoint-index-") as folder:
        private = {**quiet_env(env), **_AUTHOR, "GIT_INDEX_FILE": os.path.join(folder, "index")}
        lines = (f"{mode} {blob}\t{path}\0" for path, (mode, blob) in files.items())
        stage = [*NO_HOOKS, "update-index", "-z", "--index-info"]
        run_git(stage, work_tree, stdin=os.fsencode("".join(lines)), env=private)
        tree = _write(["write-tree", "--missing-ok"], work_tree, b"", private)

    words = ["commit-tree", "--no-gpg-sign"]
    for parent in parents:
        words += ["-p", parent]
    words.append(tree)
    stdin = message.encode("utf-8", "replace")
    return _write(words, work_tree, stdin, {**quiet_env(env), **_AUTHOR})


def create_ref(work_tree: str, ref: str, commit: str, env: Mapping[str, str]) -> bool:
    """Create a ref; return False, nothing changed, where it is there already."""
    words = [*_LASTING, *NO_HOOKS, "update-ref", "--no-deref", ref, commit, "0" * len(commit)]
    result = run_git(words, work_tree, env={**quiet_env(env), **_AUTHOR}, check=False)
    if result.code == 0:
        return True
    if read_ref(work_tree, ref, env):
        return False
    raise _explain(["update-ref"], result, work_tree)


def remove_ref(work_tree: str, ref: str, commit: str, env: Mapping[str, str]) -> bool:
    """Remove a ref; return False if it names another commit, or is gone."""
    words = [*_LASTING, *NO_HOOKS, "update-ref", "--no-deref", "-d", ref, commit]
    return run_git(words, work_tree, env=quiet_env(env), check=False).code == 0


def read_ref(work_tree: str, ref: str, env: Mapping[str, str]) -> str:
    """Return the id that a ref names, even where that object is gone; "" if there is no ref."""
    words = ["rev-parse", "--verify", "--quiet", "--end-of-options", ref]
    return run_git(words, work_tree, env=quiet_env(env), check=False).out.decode().strip()


def read_refs(work_tree: str, prefix: str, env: Mapping[str, str]) -> dict[str, str]:
    """Return name without the prefix -> commit. prefix: ends in "/"."""
    words = ["for-each-ref", "--format=%(objectname) %(refname)", prefix]
    refs = {}
    for line in run_git(words, work_tree, env=quiet_env(env)).out.splitlines():
        commit, _, name = line.decode("utf-8", "replace").partition(" ")
        refs[name.removeprefix(prefix)] = commit
    return refs


def read_ignored(work_tree: str, env: Mapping[str, str]) -> list[str]:
    words = ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"]
    words.append("--full-name")
    return read_names(words, work_tree, env=quiet_env(env))


def read_changed(work_tree: str, env: Mapping[str, str]) -> list[str]:
    words = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=all"]
    words.append("--ignore-submodules=all")
    return [record[3:] for record in read_names(words, work_tree, env=quiet_env(env))]


def read_tracked(work_tree: str, paths: Sequence[str], env: Mapping[str, str]) -> frozenset[str]:
    """Return those of the paths that are in the index."""
    if not paths:
        return frozenset()
    words = ["ls-files", "-z", "--full-name", "--", *(f":(top,literal){path}" for path in paths)]
    return frozenset(read_names(words, work_tree, env=quiet_env(env)))
