"""A throwaway GIT_DIR that borrows a repository's objects, and ignores its settings, attributes,
hooks and refs.
"""

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git.run import Env, GitResult, clean_env, git_error, run_git

OBJECTS, OTHER_OBJECTS = "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES"

# A hook's new objects lie in a folder of their own, the first of these names the others.
_KEPT_VARIABLES = (OTHER_OBJECTS, "GIT_EXEC_PATH")
_KEPT_SETTINGS = r"^(core\.sharedrepository|extensions\.partialclone|remote\..*\.promisor)$"
_CONFIG = """\
[core]
	repositoryformatversion = 1
	bare = true
	attributesFile = /dev/null
	excludesFile = /dev/null
	hooksPath = /dev/null
	logAllRefUpdates = false
	sharedRepository = {shared}
[extensions]
	objectFormat = {format}
[gc]
	auto = 0
[maintenance]
	auto = false
"""
_NO_ATTRIBUTES = (
    "* !merge !conflict-marker-size !diff !text !eol !crlf !ident !filter !working-tree-encoding\n"
)


class Sealed(NamedTuple):
    cwd: str  # an empty folder in the sealed git directory
    env: Mapping[str, str]  # in which git works there
    folder: str  # for temporary files; the sealed directory goes with it
    # the repository lacks objects on purpose, and what is sealed asks no server for them
    partial: bool


@contextmanager
def open_sealed(
    cwd: str,
    attributes: Sequence[str] = (),
    settings: Mapping[str, str] | None = None,
    env: Env = None,
) -> Iterator[Sealed]:
    """Make a sealed git directory for the repository around cwd, and remove it afterwards.

    New objects go to the repository. attributes: lines of gitattributes; nothing else gives any
    file an attribute. settings: git settings by their keys. env: of the repository; a hook's
    quarantine is kept. Raises CheckpointError outside a repository.
    """
    words = ["rev-parse", "--path-format=absolute", "--show-object-format"]
    words += ["--git-path", "objects", "--git-path", "shallow"]
    lines = os.fsdecode(run_git(words, cwd, env=env).out).split("\n")
    if len(lines) != 4:
        raise CheckpointError(
            "the repository's path contains a line break", "move it to another folder"
        )

    object_format, objects, shallow, _ = lines
    known = _read_kept_settings(cwd, env)
    with tempfile.TemporaryDirectory(prefix="checkpoint-", ignore_cleanup_errors=True) as folder:
        git_dir = os.path.join(folder, "sealed")
        work = os.path.join(git_dir, "work")
        for name in ("info", "objects", "refs/heads", "work"):
            os.makedirs(os.path.join(git_dir, name))
        shared = known.get("core.sharedrepository", "umask")
        if not shared.isalnum():
            shared = "umask"
        files = {
            "HEAD": "ref: refs/heads/nothing\n",
            "config": _CONFIG.format(format=object_format, shared=shared),
            "info/attributes": _NO_ATTRIBUTES + "".join(f"{line}\n" for line in attributes),
        }
        for name, text in files.items():
            with open(os.path.join(git_dir, name), "w", encoding="utf-8") as stream:
                stream.write(text)
        surroundings = _keep_variables(env)
        if os.path.exists(shallow):
            surroundings["GIT_SHALLOW_FILE"] = shallow
        surroundings |= {
            "GIT_DIR": git_dir,
            OBJECTS: objects,
            "GIT_INDEX_FILE": os.path.join(folder, "index"),
            "HOME": folder,
            "XDG_CONFIG_HOME": folder,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_CONFIG_COUNT": str(len(settings or {})),
        }
        for number, (key, value) in enumerate((settings or {}).items()):
            surroundings |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
        yield Sealed(work, surroundings, folder, bool(known.keys() - {"core.sharedrepository"}))


def _read_kept_settings(cwd: str, env: Env) -> dict[str, str]:
    """Return the settings of a repository that count in the sealed directory too."""
    words = ["config", "-z", "--get-regexp", _KEPT_SETTINGS]
    out = run_git(words, cwd, env=env, check=False).out
    known = {}
    for record in os.fsdecode(out).split("\0"):
        name, _, value = record.partition("\n")
        if name:
            known[name] = value
    return known


def _keep_variables(env: Env) -> dict[str, str]:
    """Return the variables that are not git's, and those of git's that are needed."""
    if env is None:
        env = os.environ
    kept = {}
    for name, value in clean_env(env).items():
        if not name.startswith("GIT_"):
            kept[name] = value
    for name in _KEPT_VARIABLES:
        if name in env:
            kept[name] = env[name]
    return kept


def list_folders(first: str, others: str | None) -> str:
    """Return a folder of objects before others, as OTHER_OBJECTS names them.

    others: what that variable holds already.
    """
    quoted = '"' + first.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return os.pathsep.join(filter(None, [quoted, others]))


def name_commits(sealed: Sealed, commits: Mapping[str, str]) -> None:
    # Git writes such names beside conflicts. commits: a plain word -> a full id
    for name, commit in commits.items():
        with open(
            os.path.join(sealed.env["GIT_DIR"], "refs", "heads", name), "w", encoding="ascii"
        ) as stream:
            stream.write(f"{commit}\n")


def run_sealed(
    sealed: Sealed, words: Sequence[str], stdin: bytes = b"", answers: Sequence[int] = (0,)
) -> GitResult:
    result = run_git(words, sealed.cwd, stdin=stdin, env=sealed.env, check=False)
    if result.code not in answers:
        error = git_error(words, result, "a merge in memory")
        if b"invalid path" in result.err:
            error.hint = (
                "one of the commits has a path that git never checks out; it was made by hand"
            )
        raise error
    return result
